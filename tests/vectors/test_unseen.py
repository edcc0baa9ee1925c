"""Words that nobody has seen, wherever embeddings are asked about words or texts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from psdvec.documents.vectorize import Summary, vectorize_file
from psdvec.errors import InputError, MissingWordError
from psdvec.formats import load, save
from psdvec.vectors import answers
from psdvec.vectors.embeddings import Embeddings, cosine
from psdvec.vectors.sentences import mean_vectors, sif_weights
from tests.spelled import DIM, learned, vocabulary

UNSEEN = ("players", "readings", "walkers")  # of stems and endings that are known
UNTELLABLE = "qqq"  # of letters that are not


@pytest.fixture(scope="module")
def e() -> Embeddings:
    return vocabulary()


def spelled(word: str):
    return learned().vectors_of([word])[0]


def test_a_subscript_and_a_lookup_stay_an_error_for_an_unseen_word(e: Embeddings):
    for ask in (e.__getitem__, e.get_vector, e.vector, e.get_index, e.look_up):
        with pytest.raises(KeyError):
            ask("players")
    assert "players" not in e
    assert e.get("players") is None


def test_a_known_word_has_its_own_vector_whatever_is_asked(e: Embeddings):
    assert np.array_equal(e.vector("play", unseen="spelling"), e["play"])
    assert e.similarity("play", "read", unseen="spelling") == e.similarity("play", "read")
    assert e.most_similar("play", unseen="spelling") == e.most_similar("play")
    assert np.array_equal(e.vectors_of(["play", "read"]), e[["play", "read"]])


def test_an_unseen_word_has_the_vector_of_its_spelling_alone_or_among_others(e: Embeddings):
    words = ["play", "players", "read", "walkers", "players"]
    rows = e.vectors_of(words, unseen="spelling")
    for word, row in zip(words, rows, strict=True):
        assert np.array_equal(row, e[word] if word in e else spelled(word))
        assert np.array_equal(row, e.vector(word, unseen="spelling"))
    with pytest.raises(ValueError, match="read-only"):
        e.vector("players", unseen="spelling")[0] = 1


def test_one_word_of_unknown_letters_is_named(e: Embeddings):
    with pytest.raises(MissingWordError, match=f"no vector for '{UNTELLABLE}'"):
        e.vectors_of(["play", "players", UNTELLABLE], unseen="spelling")


def test_comparisons_take_the_vector_of_the_spelling(e: Embeddings):
    vector = spelled("players")
    expected = cosine(e["play"], vector)
    assert e.similarity("play", "players", unseen="spelling") == pytest.approx(expected)
    assert e.distance("players", "play", unseen="spelling") == pytest.approx(1 - expected)
    mean = (vector + e["read"]) / 2
    assert e.n_similarity(["players", "read"], ["play"], unseen="spelling") == pytest.approx(
        cosine(mean, e["play"])
    )
    group = ["play", "players", "größ"]
    units = [row / np.linalg.norm(row) for row in (e["play"], vector, e["größ"])]
    cosines = [cosine(row, np.mean(units, axis=0)) for row in units]
    assert e.doesnt_match(group, unseen="spelling") == group[int(np.argmin(cosines))]
    for ask in (e.similarity, e.distance):
        with pytest.raises(MissingWordError):
            ask("play", "players")
    for ask in (e.doesnt_match, e.rank_by_centrality):
        with pytest.raises(MissingWordError):
            ask(group)


def test_the_interval_of_an_unseen_word_is_that_of_its_deviation(e: Embeddings):
    core, placed = e.words[0], e.words[-1]
    deviation = float(learned().deviations_of(spelled("players")[None])[0])
    wide = e.similarity(core, "players", interval=True, unseen="spelling")
    assert wide.low < wide.value < wide.high
    assert wide == e.with_spelled(["players"]).similarity(core, "players", interval=True)
    angle = deviation / np.linalg.norm(spelled("players")) * 1.959964
    assert np.arccos(wide.low) - np.arccos(wide.value) == pytest.approx(
        min(angle, np.pi - np.arccos(wide.value)), rel=1e-3
    )
    narrow = e.similarity(core, placed, interval=True)
    assert narrow.high - narrow.low < wide.high - wide.low
    with pytest.raises(InputError, match="no deviations"):
        replace(e, deviations=None).similarity("play", "players", interval=True, unseen="spelling")


def test_a_search_for_an_unseen_word_is_one_for_its_vector(e: Embeddings):
    vector = spelled("players")
    assert e.most_similar("players", unseen="spelling") == e.most_similar([vector / np.linalg.norm(vector)])
    assert e.most_similar("players", topn=1, unseen="spelling")[0][0].startswith("play")
    (many,) = e.most_similar_many(["players"], unseen="spelling")
    assert [word for word, _ in many] == [word for word, _ in e.most_similar("players", unseen="spelling")]
    assert e.most_similar("players", topn=None, unseen="spelling").shape == (len(e),)
    unit = vector / np.linalg.norm(vector)
    found = e.most_similar_cosmul(["players", "read"], ["play"], unseen="spelling")
    assert found == e.most_similar_cosmul([unit, "read"], ["play"])
    added = e.analogy("play", "players", "read", unseen="spelling")
    assert added == e.most_similar([unit, "read"], ["play"])
    assert e.analogy("play", "players", "read", method="3cosmul", unseen="spelling") == found


def test_answers_are_words_of_the_vocabulary_and_none_of_the_question(e: Embeddings):
    everything = len(e) + len(UNSEEN)
    rankings = [
        e.most_similar([*UNSEEN, "play"], topn=everything, unseen="spelling"),
        e.most_similar_cosmul([*UNSEEN, "play"], topn=everything, unseen="spelling"),
        e.analogy("players", "play", "walkers", topn=everything, unseen="spelling"),
    ]
    for ranking in rankings:
        assert {word for word, _ in ranking} == set(e.words) - {"play"}
    for ranking in e.most_similar_many(UNSEEN, topn=everything, unseen="spelling"):
        assert {word for word, _ in ranking} == set(e.words)


def test_with_spelled_adds_the_words_that_lack_a_vector_once_and_last(e: Embeddings):
    larger = e.with_spelled(["players", "play", UNTELLABLE, "walkers", "players"])
    assert larger.words == (*e.words, "players", "walkers")
    assert np.array_equal(larger.vectors[: len(e)], e.vectors)
    assert np.array_equal(larger["players"], spelled("players"))
    assert larger.counts[-2:].tolist() == [0, 0]
    assert larger.deviations[-1] == learned().deviations_of(spelled("walkers")[None])[0]
    assert (larger.tokenizer, larger.subwords) == (e.tokenizer, e.subwords)
    assert e.with_spelled(["play"]) is e


def test_vectors_that_know_nothing_of_spelling_say_so(e: Embeddings, tmp_path: Path):
    bare = replace(e, subwords=None)
    (tmp_path / "text").write_text("play\n")
    for ask in (
        lambda: bare.vector("players", unseen="spelling"),
        lambda: bare.with_spelled(["players"]),
        lambda: bare.most_similar("players", unseen="spelling"),
        lambda: mean_vectors(bare, [["players"]], unseen="spelling"),
        lambda: vectorize_file(bare, tmp_path / "text", tmp_path / "rows.npy", unseen="spelling"),
    ):
        with pytest.raises(InputError, match="know nothing of spelling"):
            ask()
    assert not (tmp_path / "rows.npy").exists()


def test_what_unseen_may_be_is_said(e: Embeddings):
    with pytest.raises(InputError, match='unseen is \'guess\'; choose unseen="error" or unseen="spelling"'):
        e.most_similar("players", unseen="guess")
    with pytest.raises(InputError, match='choose unseen="ignore" or unseen="spelling"'):
        mean_vectors(e, [["players"]], unseen="error")


def test_a_typed_word_is_spelled_as_the_tokenizer_writes_it(e: Embeddings):
    assert e.look_up("Play", unseen="spelling") == "play"
    assert e.look_up("Players", unseen="spelling") == "players"
    assert e.look_up("Players And more", unseen="spelling") == "Players And more"


def test_a_spelled_word_is_described_as_thin_and_spelled(e: Embeddings):
    placed, unseen = answers.describe_words(e, ["play", "players"], unseen="spelling")
    assert placed == answers.describe_words(e, ["play"])[0]
    deviation = float(learned().deviations_of(spelled("players")[None])[0])
    assert unseen == {"word": "players", "count": 0, "deviation": deviation, "thin": True, "spelled": True}


def test_spelling_is_stored_with_the_vectors(e: Embeddings, tmp_path: Path):
    save(e, tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(again.vector("players", unseen="spelling"), spelled("players"))


SENTENCES = [["play", "players", UNTELLABLE], [UNTELLABLE], [], ["walkers", "walkers", "read"]]


def test_a_sentence_takes_unseen_words_by_their_spelling(e: Embeddings):
    rows = mean_vectors(e, SENTENCES, unseen="spelling")
    larger = e.with_spelled(word for words in SENTENCES for word in words)
    assert rows == pytest.approx(mean_vectors(larger, SENTENCES), abs=1e-6)
    assert rows[0] == pytest.approx((e["play"] + spelled("players")) / 2, abs=1e-6)
    assert not rows[1:3].any()
    ignored = mean_vectors(e, SENTENCES)
    assert np.array_equal(ignored, mean_vectors(e, SENTENCES, unseen="ignore"))
    assert np.array_equal(ignored[0], e["play"])


def test_a_word_never_seen_has_the_weight_1(e: Embeddings):
    weights = sif_weights(e)
    found = mean_vectors(e, [["play", "players"]], weights=weights, unseen="spelling")[0]
    own = weights[e.get_index("play")]
    assert found == pytest.approx((own * e["play"] + spelled("players")) / 2, abs=1e-6)


@pytest.mark.parametrize("weighting", ["mean", "sif"])
def test_a_file_is_vectorised_with_unseen_words_and_they_are_counted(
    e: Embeddings, tmp_path: Path, weighting, monkeypatch
):
    (tmp_path / "text").write_text("".join(f"{' '.join(words)}\n" for words in SENTENCES))
    files = {"documents": tmp_path / "text", "weighting": weighting}
    spelling = vectorize_file(e, target=tmp_path / "whole.npy", unseen="spelling", **files)
    assert spelling == Summary(documents=4, words=7, known=2, empty=2, spelled=3, named=("2", "3"))
    assert vectorize_file(e, target=tmp_path / "known.npy", **files) == Summary(4, 7, 2, 2, named=("2", "3"))
    monkeypatch.setattr("psdvec.documents.rows._ROWS", 1)
    vectorize_file(e, target=tmp_path / "blocks.npy", unseen="spelling", **files)
    whole = np.load(tmp_path / "whole.npy")
    assert whole.shape == (4, DIM)
    assert whole == pytest.approx(np.load(tmp_path / "blocks.npy"), abs=1e-5)
