"""Counts: what the value holds, what its options mean, what is refused."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import psdvec
from psdvec.counts import pairs as out_of_core
from psdvec.counts import segments as numbering
from psdvec.counts.count import count_pairs, count_words
from psdvec.counts.matrix import UNIT, pair_weights
from psdvec.errors import InputError, ResourceError
from psdvec.text import corpus as corpus_module
from psdvec.text.corpus import read_corpus
from tests.helpers import cells, contents

HAMLET = [["to", "be", "or", "not", "to", "be"]]


def test_any_number_of_workers_gives_the_same_bytes(tmp_path, workers, monkeypatch):
    monkeypatch.setattr(corpus_module, "BLOCK_BYTES", 1000)
    rng = np.random.default_rng(0)
    lines = [" ".join(f"w{i}" for i in rng.zipf(1.3, 20).clip(max=300)) for _ in range(200)]
    (tmp_path / "text").write_text("\n".join(lines))
    options = {"min_count": 2, "window": 5}
    count_pairs(read_corpus(tmp_path / "text"), **options, workers=1, output=tmp_path / "one")
    count_pairs(read_corpus(tmp_path / "text"), **options, workers=workers, output=tmp_path / "many")
    assert contents(tmp_path / "one") == contents(tmp_path / "many")


@pytest.mark.parametrize("memory", ["212M", "4G"])
def test_any_memory_gives_the_same_bytes(tmp_path, memory, monkeypatch):
    """The smaller budget leaves room for less than half of the text, so there are runs to merge."""
    monkeypatch.setattr(out_of_core, "memory_in_use", lambda: 160_000_000)
    chosen = []
    choose_portions = out_of_core.choose_portions
    monkeypatch.setattr(
        out_of_core, "choose_portions", lambda *a, **k: chosen.append(choose_portions(*a, **k)) or chosen[-1]
    )
    rng = np.random.default_rng(0)
    sentences = [[f"w{i}" for i in rng.zipf(1.3, 1000).clip(max=300)] for _ in range(700)]
    count_pairs(sentences, output=tmp_path / "default")
    count_pairs(sentences, memory=memory, workers=2, output=tmp_path / "bounded")
    assert (chosen[-1].ids <= chosen[-1].chunk) == (memory == "4G")
    assert contents(tmp_path / "default") == contents(tmp_path / "bounded")


def test_too_little_memory_is_said_with_what_would_do(tmp_path):
    with pytest.raises(
        ResourceError,
        match=r'counting 4 words with 1 worker does not fit into 1\.0 MB of memory; give memory="',
    ):
        count_pairs(HAMLET, min_count=1, memory="1M", workers=1, output=tmp_path / "counts")
    assert not (tmp_path / "counts").exists()


def test_counts_are_loaded_from_where_they_were_written(tmp_path):
    counted = count_pairs(HAMLET, min_count=1, window=2, output=tmp_path / "counts")
    loaded = psdvec.load(tmp_path / "counts")
    assert cells(loaded) == cells(counted) == cells(count_pairs(HAMLET, min_count=1, window=2))
    assert loaded.vocabulary.words == ("be", "to", "not", "or")
    assert loaded.vocabulary.counts.tolist() == [2, 2, 1, 1]
    assert loaded.parameters["window"] == 2
    assert loaded.tally.tokens == 6
    assert (tmp_path / "counts" / "vocabulary.tsv").read_text() == "be\t2\nto\t2\nnot\t1\nor\t1\n"
    assert [path.name for path in tmp_path.iterdir()] == ["counts"]


def test_rows_are_contexts_and_columns_follow_them():
    counts = count_pairs([["first", "then"]], min_count=1)
    assert cells(counts) == {("first", "then"): UNIT}


def test_gaps_are_kept_or_closed():
    sentences = [["a", "x", "b"], ["a", "b"]]
    options = {"vocabulary": ["a", "b"], "window": 2}
    assert count_pairs(sentences, **options).row("a") == {"b": 1.5}
    assert count_pairs(sentences, **options, gaps="close").row("a") == {"b": 2.0}


def test_kept_gaps_make_a_pair_independent_of_the_other_words():
    """With gaps kept, the counts of a smaller vocabulary are a part of those of a larger one."""
    rng = np.random.default_rng(1)
    sentences = [[f"w{i}" for i in rng.zipf(1.5, 15).clip(max=40)] for _ in range(50)]
    large, small = count_pairs(sentences, min_count=1), count_pairs(sentences, min_count=1, max_words=5)
    kept = set(small.vocabulary.words)
    assert cells(small) == {pair: n for pair, n in cells(large).items() if set(pair) <= kept}


def test_a_given_vocabulary_is_counted_whole_also_where_it_does_not_occur():
    counts = count_pairs(HAMLET, vocabulary=["be", "absent", "to"])
    assert counts.vocabulary.words == ("be", "to", "absent")
    assert counts.vocabulary.counts.tolist() == [2, 2, 0]
    assert counts.row("absent") == {}


def test_the_vocabulary_is_ordered_by_count_then_by_word():
    words = [["b", "a", "ä", "z", "c", "c"]]
    assert count_words(words, min_count=1).words == ("c", "a", "b", "z", "ä")
    assert count_words(words, min_count=1, max_words=2).words == ("c", "a")


def test_words_with_blanks_can_come_from_python(tmp_path):
    counts = count_pairs([["New York", "back\\slash", "no\u00a0break"]], min_count=1, output=tmp_path / "c")
    assert set(counts.vocabulary.words) == {"New York", "back\\slash", "no\u00a0break"}
    again = count_pairs(
        [["New York"]], vocabulary=psdvec.counts.vocabulary.read_word_list(tmp_path / "c" / "vocabulary.tsv")
    )
    assert set(again.vocabulary.words) == set(counts.vocabulary.words)


@pytest.mark.slow
def test_sets_are_counted_alike_in_every_run():
    code = (
        "from psdvec.counts.count import count_pairs\n"
        "baskets = [{'salt', 'bread', 'milk', 'tea', 'jam'}, frozenset(['tea', 'milk', 'egg', 'oil']), ['b', 'a']]\n"
        "counts = count_pairs(baskets, min_count=1, window=2, quiet=True)\n"
        "print(counts.vocabulary.words, counts.indices.tolist(), counts.values.tolist())\n"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    ]  # fmt: skip
    assert runs[0] == runs[1]
    sets = count_pairs([{"b", "a", "c"}], min_count=1, window=1)
    assert cells(sets) == cells(count_pairs([["a", "b", "c"]], min_count=1, window=1))


def test_weights_are_whole_units():
    assert pair_weights(4, "flat").tolist() == [UNIT] * 4
    assert pair_weights(16, "harmonic").tolist() == [UNIT // d for d in range(1, 17)]
    assert pair_weights(4, "linear").tolist() == [UNIT, UNIT * 3 // 4, UNIT // 2, UNIT // 4]
    assert pair_weights(3, "power:2").tolist() == [UNIT, UNIT // 4, UNIT // 9]
    assert len(pair_weights(100, "power:10")) < 100, "weights that round to nothing shorten the window"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 0}, "the window is 0; give a number from 1 to 1000"),
        ({"weighting": "cubic"}, "there is no weighting 'cubic'; choose harmonic, flat, linear or power:P"),
        ({"weighting": "power:x"}, "there is no weighting 'power:x'"),
        ({"gaps": "maybe"}, "gaps='maybe' is unknown; choose keep or close"),
        ({"min_count": 0}, "min_count is 0; give 1 or more"),
        ({"max_words": 0}, "max_words is 0; give 1 or more"),
        ({"workers": 0}, "the number of workers is 0; give one from 1 to 256"),
        ({"memory": "lots"}, "'lots' is not a size; write a number and a unit, such as 512M or 4G"),
        ({"min_count": 3}, "no word occurs 3 times or more among 6 words; try min_count=1"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        count_pairs(HAMLET, **({"min_count": 1} | options))


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ([], "the iterable gave no words"),
        (
            [["a"], "to be"],
            "sentence 1 is a string, 'to be', but the first was a list of words; give texts only",
        ),
        ([["a"], None], "sentence 1 is None, not a list of words"),
        ([["a"], ["b", ""]], "sentence 1 holds '', which is not a word"),
        ([["a", 7]], "sentence 0 holds 7, which is not a word"),
        ([["a", "\ud800"]], "cannot be written as UTF-8"),
        (
            [["a"], ["b", " "]],
            "the sentences hold ' ', which begins, ends or is cut by white space; leave such",
        ),
        ([["a", "b "]], "the sentences hold 'b '"),
        ([["a", "new\nline"]], r"the sentences hold 'new\\nline'"),
        ([["a", "tab\there"]], r"the sentences hold 'tab\\there'"),
    ],
)
def test_sentences_that_make_no_sense_are_refused(sentences, message):
    with pytest.raises(InputError, match=message):
        count_pairs(sentences, min_count=1)


def test_a_generator_that_was_read_before_is_noticed():
    generator = (sentence for sentence in HAMLET)
    count_words(generator, min_count=1)
    with pytest.raises(InputError, match="a generator can be read only once"):
        count_pairs(generator, min_count=1)


def test_an_empty_corpus_is_refused_and_leaves_no_output(tmp_path):
    (tmp_path / "empty").write_text("\n \n")
    with pytest.raises(InputError, match="the corpus holds no words"):
        count_pairs(read_corpus(tmp_path / "empty"), output=tmp_path / "counts")
    assert not (tmp_path / "counts").exists()


def test_words_that_are_all_too_long_are_not_called_too_rare(tmp_path):
    (tmp_path / "text").write_text("x" * 1025 + "\n")
    for corpus in (read_corpus(tmp_path / "text"), [["x" * 1025]]):
        with pytest.raises(InputError, match=r"every word \(1 in all\) is longer than 1,024 bytes") as info:
            count_pairs(corpus, min_count=1)
        assert "min_count" not in str(info.value)


def test_a_vocabulary_without_words_is_refused():
    with pytest.raises(InputError, match="the vocabulary given holds no word"):
        count_pairs([["a", "b"]], vocabulary=[])


@pytest.mark.parametrize(("text", "min_count"), [("", 1), ("\n \n", 1), ("each word once", 2)])
def test_a_corpus_that_is_refused_leaves_nothing_beside_it(tmp_path, text, min_count):
    (tmp_path / "text").write_text(text)
    with pytest.raises(InputError):
        count_pairs(read_corpus(tmp_path / "text"), min_count=min_count, output=tmp_path / "counts")
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


@pytest.mark.parametrize("change", ["grow", "touch"])
def test_text_that_changes_while_it_is_read_is_refused_and_read_anew(tmp_path, monkeypatch, change):
    text = tmp_path / "text"
    text.write_text("to be or not to be\n" * 3)
    number_block = numbering.number_block

    def changing(corpus, block):
        text.write_text(text.read_text() * (2 if change == "grow" else 1))
        os.utime(text, ns=(1, 1))
        return number_block(corpus, block)

    with monkeypatch.context() as patch:
        patch.setattr(numbering, "number_block", changing)
        with pytest.raises(InputError, match="changed while it was read; run the same command again"):
            count_pairs(read_corpus(text), min_count=1, output=tmp_path / "counts")
    assert [path.name for path in tmp_path.iterdir()] == ["text"]
    count_pairs(read_corpus(text), min_count=1, output=tmp_path / "counts")
    count_pairs(read_corpus(text), min_count=1, output=tmp_path / "undisturbed")
    assert contents(tmp_path / "counts") == contents(tmp_path / "undisturbed")
