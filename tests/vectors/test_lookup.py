"""Every word of a model, written into a text, is found again by everything that reads text with the model."""

from __future__ import annotations

import json
import pickle
import string
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psdvec.counts.count import count_pairs, count_words
from psdvec.documents.vectorize import vectorize_file
from psdvec.errors import MissingWordError
from psdvec.formats import load, save
from psdvec.formats.model2vec import unreachable_words
from psdvec.methods.run import fit_method
from psdvec.solver.fit import fit
from psdvec.text.corpus import read_corpus
from psdvec.text.tokenizers import TOKENIZERS
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.model import Model
from tests.formats.read_tokenizer_json import read_tokenizer

TEXT = """\
Die größte Straße der Stadt kostet 3.5 Millionen, STRASSE und Straße
The U.S. doesn't grow by 1,000.50; don't ask rock'n'roll or O’Brien_2
東京タワーは高い 漢字 ภาษา Οδυσσεύς ΟΔΥΣΣΕΥΣ naïve e\u0301tude ﬁne İzmir
צה"ל ג'ירפה ר' שָׁלוֹם a_b _x user@mail.org http://x.y x2y C++ 🇩🇪 😀
"""
SCRIPTS = "abZ1٣ _-.,:;·'\"’éßİσςΣſﬁᎠꭰアカあ漢กא\u05b0\u0301\u00ad\u200d🇩😀\u212a\n"
TEXTS = st.text(alphabet=SCRIPTS, max_size=40) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=40
)
SENTENCES = "{} {} . ({})! „{}“"  # how a word may stand in a text


def vectors_of(words: tuple[str, ...], tokenizer: str | None) -> Embeddings:
    vectors = np.random.default_rng(0).standard_normal((len(words), 5)).astype(np.float32)
    return Embeddings(words, vectors, tokenizer=tokenizer)


def counted(text: str, tokenizer: str, folder: Path) -> tuple[str, ...]:
    (folder / "corpus.txt").write_text(text, encoding="utf-8", newline="")
    corpus = read_corpus(folder / "corpus.txt", tokenizer=tokenizer)
    return tuple(count_words(corpus, min_count=1).words)


def vectorized(e: Embeddings, texts: list[str], folder: Path) -> np.ndarray:
    (folder / "text").write_text("\n".join(texts) + "\n", encoding="utf-8")
    vectorize_file(e, folder / "text", folder / "rows.npy", overwrite=True)
    return np.load(folder / "rows.npy")


def check_every_door(e: Embeddings, folder: Path) -> None:
    """Write each word into a text of its own; every door must give the word's vector for it."""
    texts = list(e.words)
    assert [e.tokenize(text) for text in texts] == [[word] for word in e.words]
    assert [e.look_up(text) for text in texts] == list(e.words)
    assert np.array_equal(vectorized(e, texts, folder), e.vectors)
    save(e, folder / "static", format="model2vec", overwrite=True)
    there = read_tokenizer(folder / "static" / "tokenizer.json")
    assert [there(text) for text in texts] == [[word] for word in e.words]
    assert load(folder / "static").tokenizer == e.tokenizer
    assert unreachable_words(e.words, e.tokenizer) == []
    word_vectors = pytest.importorskip("psdvec.sklearn").WordVectors
    assert np.array_equal(word_vectors(e).fit_transform(texts), e.vectors)


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_every_word_of_a_real_text_is_found_by_every_door(tokenizer: str, tmp_path: Path):
    e = vectors_of(counted(TEXT, tokenizer, tmp_path), tokenizer)
    if tokenizer == "unicode":
        assert {"grösste", "strasse", "u.s", "3.5", "don't", "東", "οδυσσευσ", 'צה"ל', "ר'"} <= set(e.words)
    check_every_door(e, tmp_path)


@pytest.mark.slow
@settings(max_examples=30)
@given(text=TEXTS, tokenizer=st.sampled_from(list(TOKENIZERS)))
def test_every_word_of_any_text_is_found_by_every_door(text: str, tokenizer: str, tmp_path: Path):
    # White space that the tokenizer takes for a part of a word, such as U+00A0, is refused by a Model2Vec folder.
    text = "".join(" " if c == "\0" or (c.isspace() and c != "\n") else c for c in text) + " one"
    check_every_door(vectors_of(counted(text, tokenizer, tmp_path), tokenizer), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_a_model2vec_folder_cuts_any_text_as_counting_does(tokenizer: str, tmp_path: Path):
    e = vectors_of(counted(TEXT + SCRIPTS, tokenizer, tmp_path), tokenizer)
    save(e, tmp_path / "static", format="model2vec")
    there = read_tokenizer(tmp_path / "static" / "tokenizer.json")

    @settings(max_examples=300)
    @given(TEXTS)
    def check(text: str):
        known = [word for word in e.tokenize(text) if word in e]
        assert [word for word in there(text) if word in e] == known

    check()


def test_words_are_found_in_the_middle_of_a_sentence(tmp_path: Path):
    e = vectors_of(counted(TEXT, "unicode", tmp_path), "unicode")
    for word in e.words:
        assert [one for one in e.tokenize(SENTENCES.replace("{}", word)) if one == word] == [word] * 4


@pytest.mark.slow
def test_words_that_plain_vectors_cannot_find_are_counted_in_the_folder(tmp_path: Path):
    e = vectors_of(("king", "u.s", "3.5", "don't"), None)
    assert unreachable_words(e.words, None) == ["u.s", "3.5", "don't"]
    save(e, tmp_path / "static", format="model2vec")
    card = (tmp_path / "static" / "README.md").read_text()
    assert "3 of the words cannot be found in a text, such as `u.s`, `3.5`, `don't`." in card
    save(replace(e, tokenizer="unicode"), tmp_path / "other", format="model2vec")
    assert "Every word can be found in a text." in (tmp_path / "other" / "README.md").read_text()


# The tokenizer stays with the model


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "text.txt").write_text("The King of the U.S. met the queen of Spain in 1805.\n" * 20)
    return folder


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_a_model_has_the_tokenizer_of_its_counts_in_memory_and_from_disk(
    tokenizer: str, corpus: Path, tmp_path: Path
):
    m = fit(count_pairs(read_corpus(corpus / "text.txt", tokenizer=tokenizer), min_count=1), dim=3)
    m.save(tmp_path / "model")
    for one in (m, load(tmp_path / "model"), load(tmp_path / "model", limit=4), m.select(m.words[:3])):
        assert one.tokenizer == tokenizer
    load(tmp_path / "model", limit=4).save(tmp_path / "part")
    assert load(tmp_path / "part").tokenizer == tokenizer
    assert pickle.loads(pickle.dumps(m)).tokenizer == tokenizer


@pytest.mark.slow
def test_vectors_of_another_method_have_the_tokenizer_of_the_counts(corpus: Path, tmp_path: Path):
    count_pairs(read_corpus(corpus / "text.txt", tokenizer="paper"), min_count=1, output=tmp_path / "counts")
    made = fit_method("svd", tmp_path / "counts", output=tmp_path / "svd", dim=3)
    assert (made.tokenizer, load(tmp_path / "svd").tokenizer) == ("paper", "paper")


def test_words_of_sentences_from_python_stand_between_blanks(tmp_path: Path):
    m = fit(count_pairs([["New-York", "U.S.", "(c)"], ["U.S.", "a", "New-York"]] * 9, min_count=1), dim=2)
    assert isinstance(m, Model)
    assert m.tokenizer == "whitespace"
    check_every_door(m, tmp_path)


def test_plain_vectors_have_no_tokenizer_and_are_read_as_before(tmp_path: Path):
    e = vectors_of(("the", "king"), None)
    save(e, tmp_path / "model")
    assert load(tmp_path / "model").tokenizer is None
    assert "tokenizer" not in json.loads((tmp_path / "model" / "meta.json").read_text())["parameters"]
    assert e.tokenize("The king's U.S. 3.5") == ["the", "king's", "u", "s", "3", "5"]


# Looking up


def test_a_word_is_looked_up_as_written_or_as_the_tokenizer_writes_it():
    e = vectors_of(("king", "u.s", "strasse"), "unicode")
    assert [e.look_up(word) for word in ("king", "KING", "U.S.", "Straße")] == [
        "king",
        "king",
        "u.s",
        "strasse",
    ]
    cased = vectors_of(("King", "king"), "whitespace")
    assert [cased.look_up(word) for word in ("King", "king")] == ["King", "king"]
    with pytest.raises(MissingWordError):
        cased.look_up("KING")


def test_where_case_is_kept_a_word_is_looked_up_as_written_and_then_in_lower_case():
    e = vectors_of(("Essen", "essen", "gehen", "Straße", "größte", "U.S"), "unicode-cased")
    typed = ("Essen", "essen", "ESSEN", "Gehen", "gehen.", "Straße!", "GRÖßTE", "U.S.")
    assert [e.look_up(word) for word in typed] == [
        "Essen", "essen", "essen", "gehen", "gehen", "Straße", "größte", "U.S",
    ]  # fmt: skip
    for word in ("strasse", "Strasse", "u.s."):
        with pytest.raises(MissingWordError):
            e.look_up(word)
    assert e.look_up("Kochen", unseen="spelling") == "Kochen"


# Every question that takes a word; each must find it as look_up does.
QUESTIONS: dict[str, Callable[[Embeddings, str], Any]] = {
    "subscript": lambda e, word: e[word].tolist(),
    "subscript of a list": lambda e, word: e[["rain", word]].tolist(),
    "get": lambda e, word: e.get(word).tolist(),
    "get_vector": lambda e, word: e.get_vector(word, norm=True).tolist(),
    "word_vec": lambda e, word: e.word_vec(word).tolist(),
    "vector": lambda e, word: e.vector(word).tolist(),
    "get_vecattr": lambda e, word: e.get_vecattr(word, "deviation"),
    "get_mean_vector": lambda e, word: e.get_mean_vector([word, "rain", "no such word"]).tolist(),
    "similarity": lambda e, word: e.similarity(word, "rain"),
    "interval": lambda e, word: [e.similarity(word, other, interval=True) for other in ("rain", "king", "u.s")],
    "distance": lambda e, word: e.distance("rain", word),
    "n_similarity": lambda e, word: e.n_similarity([word], ["rain", word]),
    "wmdistance": lambda e, word: e.wmdistance([word, word, "no such word"], ["rain"]),
    "rank": lambda e, word: (e.rank(word, "rain"), e.rank("rain", word), e.closer_than(word, "rain")),
    "relative": lambda e, word: e.relative_cosine_similarity(word, "rain", topn=2),
    "thin_evidence": lambda e, word: e.thin_evidence([word, "rain"]).tolist(),
    "most_similar": lambda e, word: e.most_similar(word),
    "most_similar of several": lambda e, word: e.most_similar([(word, 0.5), "rain"], [e["sun"]]),
    "most_similar_cosmul": lambda e, word: e.most_similar_cosmul(["rain"], [word]),
    "most_similar_many": lambda e, word: e.most_similar_many(["rain", word]),
    "most_similar_intervals": lambda e, word: e.most_similar_intervals(word, topn=3),
    "similar_by_word": lambda e, word: e.similar_by_word(word),
    "analogy": lambda e, word: e.analogy("rain", word, "sun"),
}  # fmt: skip


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_finds_a_word_as_the_tokenizer_writes_it(question: str):
    words = ("king", "u.s", "strasse", "οδυσσευσ", "rain", "sun")
    e = replace(vectors_of(words, "unicode"), deviations=np.linspace(0.1, 0.6, 6, dtype=np.float32))
    for typed, written in (("King", "king"), ("U.S.", "u.s"), ("Straße", "strasse"), ("Οδυσσευς", words[3])):
        assert QUESTIONS[question](e, typed) == QUESTIONS[question](e, written)


def test_what_is_typed_is_found_as_it_was_counted_in_any_language(tmp_path: Path):
    e = vectors_of(counted(TEXT, "unicode", tmp_path), "unicode")
    for typed in (
        "STRASSE",
        "straße",
        "ΟΔΥΣΣΕΥΣ",
        "Οδυσσεύς",
        "İzmir",
        "i̇zmir",
        "ﬁne",
        "NAÏVE",
        "rock'n'roll",
    ):
        assert np.array_equal(e[typed], e[e.tokenize(typed)[0]])
        assert e.tokenize(typed)[0] not in [word for word, _ in e.most_similar(typed, topn=len(e))]


def test_the_vocabulary_itself_is_asked_exactly():
    e = vectors_of(("king", "rain"), "unicode")
    assert "king" in e
    assert "King" not in e
    assert "King" not in e.key_to_index
    assert e.get_index("King", -1) == -1
    for ask in (e.get_index, lambda word: e.select([word])):
        with pytest.raises(MissingWordError, match="no vector for 'King'; did you mean 'king'"):
            ask("King")


@pytest.mark.parametrize("tokenizer", [None, "unicode-cased", "whitespace"])
def test_a_word_that_is_there_as_it_is_written_is_never_taken_for_another(tokenizer: str | None):
    e = vectors_of(("god", "God", "rain"), tokenizer)
    for word, other in (("God", "god"), ("god", "God")):
        assert np.array_equal(e[word], e.vectors[e.get_index(word)])
        assert [found for found, _ in e.most_similar(word)] in ([other, "rain"], ["rain", other])
        assert e.similarity(word, other) < 0.99


def test_a_word_of_a_vocabulary_without_capitals_and_tokenizer_is_found_in_lower_case():
    e = vectors_of(("god", "rain"), None)
    assert np.array_equal(e["God"], e["god"])
    with pytest.raises(MissingWordError, match="did you mean 'Rain'"):
        vectors_of(("god", "Rain"), None)["rain"]


@given(word=TEXTS, tokenizer=st.sampled_from([None, *TOKENIZERS]))
def test_a_subscript_finds_what_looking_up_finds_and_no_more(word: str, tokenizer: str | None):
    e = vectors_of(("a", "b", "z", "strasse", "é", "あ", "σ"), tokenizer)
    try:
        form = e.look_up(word)
    except MissingWordError:
        assert e.get(word) is None
    else:
        assert np.array_equal(e[word], e[form])
        assert form in e


@given(st.text(string.ascii_letters + ". 漢", min_size=1))
def test_looking_up_finds_a_word_only_where_the_text_is_that_word(word: str):
    e = vectors_of(("a", "b.c", "漢"), "unicode")
    forms = e.tokenize(word)
    if word in e or (len(forms) == 1 and forms[0] in e):
        assert e.look_up(word) in (word, *forms)
    else:
        with pytest.raises(MissingWordError):
            e.look_up(word)
