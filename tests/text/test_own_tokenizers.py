"""Tokenizers of one's own, stop words and numbers: what is counted, what is recorded, and who must give it again."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import psdvec
from psdvec.counts.count import count_pairs, count_words
from psdvec.errors import InputError, PSDVecError
from psdvec.text.corpus import read_corpus
from psdvec.text.tokenizers import choose_tokenizer, split_words, tokenizer_of, words_of
from psdvec.vectors.model import write_model
from psdvec.vectors.sentences import mean_vectors
from tests.helpers import cells

TEXTS = ["Zur Sache, bitte.", "zur  Sache der New York", "der Sache", "1999 Sachen und 3.5 Sachen"] * 3


def letters(text: str) -> list[str]:
    """Cut a text into its letters, as a segmenter of Chinese would into words."""
    return [letter for letter in text if not letter.isspace()]


class Token:
    def __init__(self, text):
        self.text = text


class Doc:
    """A document of spaCy, as far as it matters here."""

    def __init__(self, text):
        self.text = text

    def __iter__(self):
        return map(Token, self.text.split(" "))


class Document:
    """A document of Stanza, as far as it matters here."""

    def __init__(self, text):
        self.words = text.split(" ")

    def iter_tokens(self):
        return map(Token, self.words)


class Pipeline:
    meta = {"lang": "de", "name": "tiny"}

    def __init__(self, kind=Doc):
        self.kind = kind

    def __call__(self, text):
        return self.kind(text)


def everything(counts):
    return counts.vocabulary.words, counts.vocabulary.counts.tolist(), cells(counts)


@pytest.mark.slow
@given(st.lists(st.text(alphabet="ab .\n漢", max_size=12), min_size=1, max_size=6))
def test_a_function_counts_as_if_it_had_been_called_before(texts):
    lines = [letters(line) for text in texts for line in text.split("\n")]
    if any(lines):
        found = count_pairs(texts, tokenizer=letters, window=2, min_count=1)
        assert everything(found) == everything(count_pairs(lines, window=2, min_count=1))


def test_a_file_is_cut_as_texts_are_by_any_number_of_threads(tmp_path, workers):
    (tmp_path / "a.txt").write_text("\n".join(TEXTS))
    found = count_pairs(tmp_path / "a.txt", tokenizer=str.split, min_count=1, workers=workers)
    assert everything(found) == everything(count_pairs(TEXTS, tokenizer="whitespace", min_count=1))
    assert found.parameters["tokenizer"] == "custom:str.split"


@pytest.mark.parametrize(
    ("tokenizer", "name"),
    [
        (letters, "tests.text.test_own_tokenizers.letters"),
        (partial(letters), "tests.text.test_own_tokenizers.letters"),
        (Pipeline(), "de_tiny"),
        (Pipeline(Document), "de_tiny"),
        (" ".split, "str.split"),
    ],
)
def test_a_function_is_recorded_by_its_name(tokenizer, name):
    assert choose_tokenizer(tokenizer) == f"custom:{name}"


def test_functions_without_a_name_are_told_apart_by_what_they_do():
    first, same, other = (
        choose_tokenizer(f) for f in (lambda t: t.split(), lambda t: t.split(), lambda t: t.split(","))
    )
    assert first == same
    assert first != other
    assert "<lambda>-" in first


def test_pipelines_and_documents_are_taken_for_their_words():
    expected = count_words([text.split() for text in TEXTS], min_count=1)
    for kind in (Doc, Document):
        assert count_words(TEXTS, tokenizer=Pipeline(kind), min_count=1) == expected
        assert count_words([kind(text) for text in TEXTS], min_count=1) == expected
        vectors = psdvec.Embeddings(["Sache", "der"], np.eye(2, dtype=np.float32), tokenizer="whitespace")
        one, other = (
            psdvec.topics(vectors, documents, 1, min_documents=1, quiet=True)
            for documents in (TEXTS, [kind(text) for text in TEXTS])
        )
        assert np.array_equal(one.lengths, other.lengths)


def test_blanks_inside_words_become_underscores():
    assert words_of(["New  York", "\n", "a\tb", "é\u00a0f", "__init__"], "mine") == [
        "New_York",
        "a_b",
        "é_f",
        "__init__",
    ]
    assert count_words(["x"], tokenizer=lambda text: ["New York"], min_count=1).words == ("New_York",)


def failing(text):
    if "der" in text:
        raise ValueError("der is too much")
    return text.split()


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        (
            failing,
            r"failing' failed at row 1, 'zur  Sache der New York' \(ValueError: der is too much\); mend it, or",
        ),
        (
            str.upper,
            r"str.upper' returned 'ZUR SACHE, BITTE.'; let it return a list of words \(row 0: 'Zur Sache",
        ),
        (
            lambda text: [1],
            r"<lambda>-\w{8}' returned 1 among the words; let it return strings \(row 0: 'Zur Sache",
        ),
        (lambda text: None, r"<lambda>-\w{8}' returned None; let it return a list of words \(row 0"),
        ("nonsense", "there is no tokenizer 'nonsense'; choose one of"),
        (
            "custom:nonsense",
            r"tokenizer of your own, 'nonsense', .* give it again as the tokenizer, or register it",
        ),
        (7, "there is no tokenizer '7'; choose one of"),
    ],
)
def test_what_goes_wrong_is_a_sentence_that_names_the_row(tokenizer, message):
    with pytest.raises(InputError, match=message):
        count_pairs(TEXTS, tokenizer=tokenizer, min_count=1)


def test_an_error_in_a_file_names_the_file_and_the_line(tmp_path):
    (tmp_path / "a.txt").write_text("Sache\n")
    (tmp_path / "b.txt").write_text("\n".join(TEXTS))
    with pytest.raises(
        InputError, match=r"failing' failed at line 2 of '.*b.txt', 'zur  Sache der New York'"
    ):
        count_pairs(tmp_path, tokenizer=failing, min_count=1)


def test_case_is_left_to_the_function():
    with pytest.raises(
        InputError, match="case='keep' was given with a tokenizer of your own; let that do it"
    ):
        count_pairs(TEXTS, tokenizer=letters, case="keep")


@pytest.fixture
def model(tmp_path):
    return psdvec.train(TEXTS, tokenizer=letters, min_count=1, dim=3, output=tmp_path / "model")


def test_the_model_that_was_made_cuts_as_its_text_was(model):
    assert model.tokenizer == "custom:tests.text.test_own_tokenizers.letters"
    assert model.tokenize("Die Sache") == letters("Die Sache")
    assert psdvec.topics(model, TEXTS, 1, min_documents=1, quiet=True).transform(["Sache"]).shape == (1, 1)


def test_a_model_that_was_loaded_asks_for_the_function_and_never_takes_another(model, tmp_path, monkeypatch):
    monkeypatch.setattr("psdvec.text.tokenizers._REGISTERED", {})
    loaded = psdvec.load(tmp_path / "model")
    assert loaded == model
    assert loaded.look_up("S") == "S"  # words can be asked for as they are
    (tmp_path / "lines.txt").write_text("Sache\nSachen\n")
    again = "which is not kept with the model; in Python, give it again as the tokenizer"
    for use in (
        lambda: loaded.tokenize("Sache"),
        lambda: psdvec.topics(loaded, TEXTS, 1, min_documents=1, quiet=True),
        lambda: psdvec.vectorize_file(loaded, tmp_path / "lines.txt", tmp_path / "rows.npy"),
    ):
        with pytest.raises(InputError, match=again):
            use()
    topics = psdvec.topics(loaded, TEXTS, 1, tokenizer=letters, min_documents=1, quiet=True)
    topics.save(tmp_path / "topics")
    with pytest.raises(InputError, match=again):
        psdvec.load(tmp_path / "topics").transform(["Sache"])
    psdvec.vectorize_file(loaded, tmp_path / "lines.txt", tmp_path / "rows.npy", tokenizer=letters)
    assert np.array_equal(np.load(tmp_path / "rows.npy")[0], mean_vectors(model, [letters("Sache")])[0])
    psdvec.register_tokenizer("tests.text.test_own_tokenizers.letters", letters)
    assert loaded.tokenize("Sache") == letters("Sache")


def test_a_registered_name_is_used_and_recorded(monkeypatch, tmp_path):
    monkeypatch.setattr("psdvec.text.tokenizers._REGISTERED", {})
    psdvec.register_tokenizer("letters", letters)
    by_name = count_pairs(TEXTS, tokenizer="letters", min_count=1)
    assert by_name.parameters == count_pairs(TEXTS, tokenizer=letters, min_count=1).parameters
    assert by_name.parameters["tokenizer"] == "custom:letters"
    by_name.save(tmp_path / "counts")
    assert (
        json.loads((tmp_path / "counts" / "meta.json").read_text())["parameters"]["tokenizer"]
        == "custom:letters"
    )
    assert tokenizer_of(psdvec.load(tmp_path / "counts").parameters) == "custom:letters"
    for name in ("unicode", "none", "a b", "", "custom:x"):
        with pytest.raises(InputError, match="choose a name without blanks that is none of psdvec's own"):
            psdvec.register_tokenizer(name, letters)
    with pytest.raises(InputError, match="'mine' is 7; give a function from a text to its words"):
        psdvec.register_tokenizer("mine", 7)


def test_counts_of_another_tokenizer_are_refused(model):
    with pytest.raises(
        InputError, match=r"counted with tokenizer custom:tests\..*letters, these counts with unicode"
    ):
        psdvec.extend(model, count_pairs(TEXTS, min_count=1))
    larger = psdvec.extend(
        model, count_pairs(["Sache xyz Sache xyz"], tokenizer=letters, min_count=1), min_contexts=1
    )
    assert set(larger.learned) == {"x", "y"}


# Stop words and numbers.


def without(texts, stop_words, numbers):
    """Cut texts into words, and leave out or replace some; None where a gap stays."""
    rows = [split_words(text, tokenizer="unicode") for text in texts]
    rows = [[None if word in stop_words else word for word in row] for row in rows]
    is_number = {"1999": True, "3.5": True}
    new = {"keep": None, "drop": None, "merge": "#"}[numbers]
    return [[new if numbers != "keep" and is_number.get(word) else word for word in row] for row in rows]


@pytest.mark.parametrize("numbers", ["keep", "drop", "merge"])
@pytest.mark.parametrize("gaps", ["keep", "close"])
def test_words_that_are_left_out_leave_gaps_or_not(numbers, gaps):
    stop_words = ["der", "ZUR"]
    found = count_pairs(TEXTS, stop_words=stop_words, numbers=numbers, gaps=gaps, min_count=1, window=3)
    rows = without(TEXTS, {"der", "zur"}, numbers)
    kept = [[word or "GAP" for word in row if word or gaps == "keep"] for row in rows]
    vocabulary = sorted({word for row in kept for word in row} - {"GAP"})
    expected = count_pairs(kept, vocabulary=vocabulary, gaps=gaps, min_count=1, window=3)
    assert everything(found) == everything(expected)


def test_they_are_recorded_and_must_agree(tmp_path):
    counts = count_pairs(TEXTS, stop_words=["der", "Zur"], numbers="merge", min_count=1)
    assert counts.parameters["stop_words"] == ["der", "zur"]
    assert counts.parameters["numbers"] == "merge"
    plain = count_pairs(TEXTS, min_count=1)
    assert not {"stop_words", "numbers"} & set(plain.parameters)
    with pytest.raises(
        InputError, match=r"store 1 was counted with (stop_words|numbers) .*; count them all in the same way"
    ):
        psdvec.merge_counts([counts, plain])
    model = psdvec.fit(counts, dim=3, output=tmp_path / "model")
    with pytest.raises(
        InputError, match=r"the model was counted with stop_words .*, these counts with None; count again"
    ):
        psdvec.extend(model, plain)
    for one in (model, psdvec.load(tmp_path / "model")):
        assert one.tokenize("Der Sache 7") == ["sache", "#"]
    topics = psdvec.topics(model, TEXTS, 1, min_documents=1, quiet=True)
    topics.save(tmp_path / "topics")
    new = psdvec.load(tmp_path / "topics").transform(["1999 und 3.5"])
    assert np.array_equal(new, topics.transform(["# und #".replace("#", "12")]))


@pytest.mark.parametrize("as_file", [False, True])
def test_words_are_counted_as_their_lemmas(tmp_path, as_file):
    lemmas = {"Sachen": "Sache", "der": "d", "york": "new york"}
    (tmp_path / "lemmas.tsv").write_text("".join(f"{word}\t{lemma}\n" for word, lemma in lemmas.items()))
    given = tmp_path / "lemmas.tsv" if as_file else lemmas
    found = count_pairs(TEXTS, lemmas=given, stop_words=["d"], min_count=1)
    rows = without(TEXTS, {"der"}, "keep")
    folded = {"sachen": "sache", "york": "new_york", None: "GAP"}
    rows = [[folded.get(word, word) for word in row] for row in rows]
    vocabulary = sorted({word for row in rows for word in row} - {"GAP"})
    assert everything(found) == everything(count_pairs(rows, vocabulary=vocabulary, min_count=1))
    assert found.parameters["lemmas"] == {"der": "d", "sachen": "sache", "york": "new_york"}
    assert psdvec.fit(found, dim=2).tokenize("Der Sachen York") == ["sache", "new_york"]
    (tmp_path / "lemmas.tsv").write_text("mice mouse\n")
    with pytest.raises(
        InputError, match="has the line 'mice mouse' without one tab; write: word, tab, lemma"
    ):
        count_pairs(TEXTS, lemmas=tmp_path / "lemmas.tsv")


def test_punctuation_is_dropped_where_a_tokenizer_has_it():
    texts = ["to be , or not to be ... 😀 -"]
    assert len(count_words(texts, tokenizer="whitespace", min_count=1)) == 8
    kept = count_words(texts, tokenizer="whitespace", punctuation="drop", min_count=1)
    assert set(kept.words) == {"to", "be", "or", "not", "😀"}


@pytest.mark.parametrize(
    "told", [{"stop_words": 7}, {"stop_words": [7]}, {"lemmas": {"a": 1}}, {"numbers": "all"}]
)
def test_a_folder_that_tells_what_cannot_be_is_damaged(tmp_path, told):
    vectors = psdvec.Embeddings(["a", "b"], np.eye(2, dtype=np.float32))
    write_model(vectors, tmp_path / "model", parameters={"tokenizer": "unicode", **told})
    with pytest.raises(PSDVecError, match="is damaged"):
        psdvec.load(tmp_path / "model")


def test_a_corpus_yields_the_words_that_are_counted(tmp_path):
    (tmp_path / "a.txt").write_text("The cat saw 3 dogs\nThe 7\n")
    corpus = read_corpus(tmp_path / "a.txt", stop_words="en", numbers="drop")
    assert list(corpus) == [["cat", "saw", "dogs"]]


def test_on_the_command_line(tmp_path, run):
    (tmp_path / "a.txt").write_text("The cat saw 3 dogs\n" * 5)
    (tmp_path / "stop.txt").write_text("cat\nsaw\n")
    for stop_words, words in (
        ("en", {"cat", "saw", "#", "dogs"}),
        (tmp_path / "stop.txt", {"the", "#", "dogs"}),
    ):
        options = ("--stop-words", stop_words, "--numbers", "merge", "--overwrite", "-q")
        assert run("count", tmp_path / "a.txt", "-o", tmp_path / "counts", *options)[0] == 0
        assert set(psdvec.load(tmp_path / "counts").vocabulary.words) == words
    assert "stop words 2, numbers merge" in run("info", tmp_path / "counts")[1]
    code, _, errors = run("count", tmp_path / "a.txt", "-o", tmp_path / "x", "--numbers", "all")
    assert code == 1
    assert "--numbers all is unknown; choose one of keep, drop, merge" in errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stop_words": "de"}, "there are no stop words 'de', and no such file; give en, a file or a list"),
        ({"lemmas": {"a": 7}}, r"lemmas\['a'\] is 7; give a string"),
        ({"lemmas": "nowhere.tsv"}, "cannot read 'nowhere.tsv'"),
        ({"punctuation": "all"}, "punctuation='all' is unknown; choose one of keep, drop"),
        ({"stop_words": ["a", 7]}, r"stop_words\[1\] is 7; give a string"),
        ({"numbers": "all"}, "numbers='all' is unknown; choose one of keep, drop, merge"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        count_pairs(TEXTS, **options)
    with pytest.raises(InputError, match="cut into words already"):
        count_pairs([["a"]], stop_words=["b"])
