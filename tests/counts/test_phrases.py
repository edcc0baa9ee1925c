"""Phrases are found as the reference finds them, and joined while counting, the same however the work is split."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import psdvec
from psdvec import Phrases
from psdvec.counts import phrases as module
from psdvec.counts.count import count_pairs
from psdvec.counts.merge import merge_counts
from psdvec.counts.phrases import find_phrases
from psdvec.errors import InputError, InputWarning, PSDVecError
from psdvec.text.corpus import read_corpus
from tests.helpers import Watched, cells, contents
from tests.reference import phrases as reference

SENTENCES = st.lists(st.lists(st.sampled_from("abcdef"), max_size=10), min_size=2, max_size=20).filter(any)
CITIES = ["the new york times", "a new york city council", "new york is new", "the city of new york"] * 3


def drawn_text(seed: int, lines: int = 300) -> list[str]:
    """Words that follow Zipf's law and know nothing of each other, with *hong kong* and *bank of x* among them."""
    rng = np.random.default_rng(seed)
    words = [[f"w{i}" for i in rng.zipf(1.3, 30).clip(max=200)] for _ in range(lines)]
    for line in words[::3]:
        line.insert(int(rng.integers(30)), "hong kong")
    for line in words[::4]:
        line.insert(int(rng.integers(30)), "bank w1 america")
    return [" ".join(line) for line in words]


@pytest.mark.slow
@settings(deadline=None)
@given(
    SENTENCES, st.integers(1, 3), st.sampled_from([0.0, 0.3]), st.sampled_from([1.0, 0.05]), st.integers(2, 5)
)
def test_phrases_are_those_of_the_reference(sentences, min_count, min_score, fdr, max_length):
    options = {"min_count": min_count, "min_score": min_score, "fdr": fdr, "max_length": max_length}
    found = find_phrases(sentences, connectors=["a", "b"], workers=2, **options)
    expected = reference.find_phrases(sentences, connectors=frozenset("ab"), **options)
    numbers = zip(found.counts.tolist(), found.scores.tolist(), strict=True)
    assert dict(zip(found.phrases, numbers, strict=True)) == expected


def test_planted_phrases_are_found_and_chance_is_not():
    found = find_phrases(drawn_text(0), min_score=0.1)
    assert set(found.phrases) == {"hong kong", "bank w1 america"}
    assert "connectors w1 " in found.made


def test_a_shuffled_text_has_no_phrases():
    words = " ".join(drawn_text(1)).split()
    np.random.default_rng(2).shuffle(words)
    lines = [" ".join(words[i : i + 30]) for i in range(0, len(words), 30)]
    assert len(find_phrases(lines, min_score=-1, connectors=[], fdr=0.05)) == 0


def test_neither_threads_nor_memory_change_what_is_found(monkeypatch, tmp_path):
    text = drawn_text(3)
    whole = find_phrases(text, min_score=0, fdr=0.5, workers=1)
    monkeypatch.setattr(module, "_BYTES_PER_GRAM", 1 << 12)
    split = find_phrases(text, min_score=0, fdr=0.5, workers=3, memory=10**6)
    assert len(whole) >= 2
    assert whole.text() == split.text()
    (tmp_path / "text.txt").write_text("\n".join(text), encoding="utf-8")
    assert find_phrases(tmp_path / "text.txt", min_score=0, fdr=0.5).text() == whole.text()


def test_no_phrase_begins_or_ends_with_a_connector_or_holds_an_underscore():
    text = ["bank of america", "of america", "snake_case name", "the bank"] * 9 + ["some other words"] * 30
    found = find_phrases(text, connectors=["of", "the"], min_score=0)
    assert "bank of america" in found.phrases
    assert not [p for p in found.phrases if {p.split()[0], p.split()[-1]} & {"of", "the"} or "_" in p]


@pytest.mark.slow
@settings(deadline=None)
@given(SENTENCES, st.integers(1, 2))
def test_connectors_are_those_of_the_reference(sentences, min_count):
    found = find_phrases(sentences, min_count=min_count)
    said = found.made.partition("connectors")[2].replace("none", "").split()
    assert set(said) == reference.find_connectors(sentences, min_count=min_count)


def test_what_occurs_only_within_a_longer_phrase_is_none():
    text = ["in new york city", "new york", "to new york city", "from new york"] * 9 + [
        "some other words here"
    ] * 50
    found = find_phrases(text, min_score=0.2, connectors=["in", "to", "from"])
    assert {"new york", "new york city"} <= set(found.phrases)
    assert "york city" not in found.phrases
    assert found.counts[found.phrases.index("new york")] == 18


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"min_count": 0}, "min_count is 0; give 1 or more"),
        ({"min_score": 2.0}, "min_score is 2.0; give a number from -1 to 1"),
        ({"fdr": 0.0}, "fdr is 0.0; give a share"),
        ({"max_length": 1}, "max_length is 1; give a number of words from 2 to 16"),
        ({"connectors": "of"}, "connectors"),
    ],
)
def test_wrong_options_of_finding_are_refused(options, said):
    with pytest.raises(InputError, match=said):
        find_phrases(CITIES, **options)


@pytest.mark.parametrize("kind", ["texts", "sentences", "file"])
def test_counts_of_joined_phrases_equal_counts_of_text_joined_before(tmp_path, kind):
    phrases = Phrases.of(["New York", "new york city", "city council", "york times"])
    joined = [phrases.cut_by("unicode").join(text.split()) for text in CITIES]
    source = CITIES
    if kind == "file":
        (tmp_path / "text.txt").write_text("\n".join(CITIES), encoding="utf-8")
        source = tmp_path / "text.txt"
    elif kind == "sentences":
        source, phrases = [text.split() for text in CITIES], phrases.cut_by("unicode")
    found = count_pairs(source, phrases=phrases, min_count=1)
    expected = count_pairs(joined, min_count=1)
    assert cells(found) == cells(expected)
    assert found.vocabulary == expected.vocabulary
    assert found.tally.tokens == expected.tally.tokens
    assert found.vocabulary.ids.keys() >= {"new_york", "city_council"}


def test_threads_and_small_blocks_give_the_same_counts(tmp_path, monkeypatch):
    (tmp_path / "text.txt").write_text("\n".join(drawn_text(4)), encoding="utf-8")
    phrases = Phrases.of(["hong kong", "bank w1 america", "w1 w2"])
    for name, workers, size in (("one", 1, 1 << 23), ("three", 3, 1 << 12)):
        monkeypatch.setattr("psdvec.text.corpus.BLOCK_BYTES", size)
        count_pairs(tmp_path / "text.txt", phrases=phrases, workers=workers, output=tmp_path / name)
    assert contents(tmp_path / "one") == contents(tmp_path / "three")


def test_auto_finds_the_phrases_of_the_text_itself(tmp_path):
    text = drawn_text(5)
    (tmp_path / "text.txt").write_text("\n".join(text), encoding="utf-8")
    auto = count_pairs(text, phrases="auto")
    assert cells(auto) == cells(count_pairs(text, phrases=find_phrases(text)))
    assert cells(auto) == cells(count_pairs(tmp_path / "text.txt", phrases="auto"))
    assert "hong_kong" in auto.vocabulary
    with pytest.raises(InputError, match="can be read only once"):
        count_pairs(iter(text), phrases="auto")


def test_a_text_without_phrases_can_be_counted_with_those_it_has(tmp_path):
    counts = count_pairs(["a b", "c d"], phrases="auto", min_count=1, output=tmp_path / "counts")
    assert len(psdvec.load(tmp_path / "counts").phrases) == 0 == len(counts.phrases)


def test_words_written_like_phrases_are_counted_with_them_and_reported():
    heard = Watched()
    counts = count_pairs(
        ["new york and new_york", "the york"], phrases=["new york"], min_count=1, progress=heard
    )
    assert counts.vocabulary.counts[counts.vocabulary.ids["new_york"]] == 2
    assert counts.tally.written_phrases == 1
    assert [text for text in heard.heard if "writes like phrases" in text]


def test_counts_with_phrases_merge_as_if_counted_together_and_refuse_others(tmp_path):
    a, b = (count_pairs(part, phrases=["new york"], min_count=1) for part in (CITIES[:5], CITIES[5:]))
    merged = merge_counts([a, b], output=tmp_path / "merged")
    assert cells(merged) == cells(count_pairs(CITIES, phrases=["new york"], min_count=1))
    assert psdvec.load(tmp_path / "merged").phrases.phrases == ("new york",)
    with pytest.raises(InputError, match=r"counted with phrases .*, store 2 without phrases; count them all"):
        merge_counts([a, count_pairs(CITIES, min_count=1)])
    with pytest.raises(InputError, match=r"counted with phrases .*, store 2 with phrases"):
        merge_counts([a, count_pairs(CITIES, phrases=["york city"], min_count=1)])


def test_a_model_joins_the_phrases_of_its_counts_wherever_it_reads_text(tmp_path):
    phrases = Phrases.of(["new york", "city council"])
    made = psdvec.train(CITIES, phrases=phrases, min_count=1, dim=3, output=tmp_path / "model", quiet=True)
    model = psdvec.load(tmp_path / "model")
    assert model == made
    assert model.phrases.digest == phrases.digest
    assert model.tokenize("The New York City Council") == ["the", "new_york", "city_council"]
    assert model.look_up("New York") == "new_york"
    assert np.array_equal(model["New York"], model["new_york"])
    assert np.array_equal(model[["new", "New York"]], model[["new", "new_york"]])
    assert model.most_similar("New York") == model.most_similar("new_york")
    with pytest.raises(KeyError):
        model["Old York"]
    topics = psdvec.topics(model, CITIES, 2, min_documents=1, quick=True, quiet=True)
    assert "new_york" in topics.space.words
    topics.save(tmp_path / "topics")
    again = psdvec.load(tmp_path / "topics")
    assert np.array_equal(again.transform(["New York"]), topics.transform(["new_york"]))


def test_new_words_come_from_counts_with_the_same_phrases():
    model = psdvec.train(CITIES, phrases=["new york"], min_count=1, dim=3, quiet=True)
    more = ["new york has a mayor and the mayor a city"] * 5
    larger = psdvec.extend(
        model, count_pairs(more, phrases=model.phrases, min_count=1), min_contexts=1, quiet=True
    )
    assert "mayor" in larger
    assert larger.tokenize("New York") == ["new_york"]
    with pytest.raises(
        PSDVecError, match="other phrases than these counts; count again with those of the model"
    ):
        psdvec.extend(model, count_pairs(more, min_count=1), min_contexts=1, quiet=True)
    plain = psdvec.train(CITIES, min_count=1, dim=3, quiet=True)
    with pytest.raises(PSDVecError, match="counted with no phrases"):
        psdvec.extend(plain, count_pairs(more, phrases=["a city"], min_count=1), min_contexts=1, quiet=True)


def test_damaged_phrases_of_a_folder_are_refused(tmp_path):
    count_pairs(CITIES, phrases=["new york"], min_count=1, output=tmp_path / "counts")
    path = tmp_path / "counts" / "phrases.txt"
    path.write_bytes(path.read_bytes().replace(b"new york", b"new_york"))
    with pytest.raises(PSDVecError, match=r"damaged|new_york"):
        psdvec.load(tmp_path / "counts")


@pytest.mark.parametrize("size", [1 << 23, 1 << 12])
def test_a_text_is_written_with_its_phrases_joined(tmp_path, monkeypatch, size):
    monkeypatch.setattr("psdvec.text.corpus.BLOCK_BYTES", size)
    text = [line.replace("hong", "(Hong").replace("america", "America!\n\n...") for line in drawn_text(6)]
    (tmp_path / "text.txt").write_text("\n".join(text), encoding="utf-8")
    phrases = find_phrases(tmp_path / "text.txt", joined=tmp_path / "joined.txt", max_length=3)
    sentences = [phrases.join(sentence) for sentence in read_corpus(tmp_path / "text.txt")]
    assert (tmp_path / "joined.txt").read_text() == "".join(" ".join(words) + "\n" for words in sentences)
    assert "hong_kong" in (tmp_path / "joined.txt").read_text()


def test_damage_of_a_text_is_told_when_its_phrases_are_found(tmp_path):
    (tmp_path / "text.txt").write_bytes(b"caf\xe9 au lait\n" * 9)
    with pytest.warns(InputWarning, match="latin-1"):
        find_phrases(tmp_path / "text.txt")
