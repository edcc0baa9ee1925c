"""Spelling for any vectors: what stays as it was, what every string gets, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import psdvec
from psdvec.errors import InputError, MissingWordError
from psdvec.methods.spelling import seen_about, spell
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.neighbours import sparse_vectors
from psdvec.vectors.subwords import Subwords
from tests.spelled import DIM, WORDS, drawn, vocabulary

LONELY = "ψω"  # shares no n-gram with the others


def given(**more) -> Embeddings:
    """Return vectors of lengths about 3, with a common part, as other programs make them."""
    words = (*WORDS, LONELY)
    units, _ = drawn(words)
    return Embeddings(words, 3 * units + np.arange(DIM, dtype=np.float32), **more)


def test_words_dimensions_and_the_distance_of_each_from_the_mean_are_kept():
    before = given(tokenizer="unicode")
    after = spell(before, quiet=True)
    assert (after.words, after.dim, after.tokenizer) == (before.words, before.dim, "unicode")
    mean = before.vectors.mean(axis=0)
    distances = [np.linalg.norm(e.vectors - mean, axis=1) for e in (before, after)]
    np.testing.assert_allclose(*distances, rtol=1e-5)
    assert not np.allclose(before.vectors, after.vectors, rtol=0.001)


def test_a_word_without_a_known_n_gram_keeps_its_vector():
    before = given()
    np.testing.assert_allclose(spell(before, quiet=True)[LONELY], before[LONELY], rtol=1e-5)


def test_every_string_with_a_known_n_gram_gets_a_vector_near_the_others():
    after = spell(given(), quiet=True)
    vector = after.vector("replayings", unseen="spelling")
    assert vector.shape == (DIM,)
    mean = given().vectors.mean(axis=0)
    assert np.linalg.norm(vector - mean) < 3
    assert "replayings" in after.with_spelled(["replayings"])
    with pytest.raises(MissingWordError):
        after.vector("ζζζ", unseen="spelling")


def test_adding_the_same_vector_to_all_changes_nothing_else():
    before = given()
    moved = spell(replace(before, vectors=before.vectors + np.float32(2)), quiet=True)
    np.testing.assert_allclose(moved.vectors, spell(before, quiet=True).vectors + 2, atol=1e-3)


def test_letters_of_other_words_are_hardly_trusted_however_much_vectors_have_in_common():
    rng = np.random.default_rng(1)
    words = tuple(f"{a}{b}" for a in ("play", "read", "walk", "sing") for b in range(100, 250))
    vectors = rng.standard_normal((len(words), 20)).astype(np.float32) + 5
    after = spell(Embeddings(words, vectors), quiet=True)
    assert np.linalg.norm(after.vectors - vectors) < 0.1 * np.linalg.norm(vectors - vectors.mean(axis=0))


def test_spelled_vectors_are_the_same_after_saving_and_loading(tmp_path):
    after = spell(given(), quiet=True)
    psdvec.save(after, tmp_path / "better")
    again = psdvec.load(tmp_path / "better")
    assert again == after
    unseen = [e.vector("replayings", unseen="spelling") for e in (after, again)]
    assert unseen[0].tobytes() == unseen[1].tobytes()


def test_the_same_bytes_come_from_one_thread_and_from_four():
    one, four = (spell(given(), workers=number, quiet=True) for number in (1, 4))
    assert one.vectors.tobytes() == four.vectors.tobytes()
    assert one == four


def test_counts_are_used_where_they_are_known_and_ranks_where_not():
    counts = np.arange(len(WORDS) + 1, 0, -1)
    assert seen_about(given(counts=counts)) is not None
    assert seen_about(given(counts=counts)).tolist() == counts.tolist()
    by_rank = seen_about(given())
    assert by_rank[-1] == 5
    assert by_rank[0] == 5 * by_rank.size
    assert spell(given(counts=counts), quiet=True) != replace(spell(given(), quiet=True), counts=counts)


def test_deviations_shrink_as_the_part_of_the_contexts_does():
    deviations = np.full(len(WORDS) + 1, 0.5, np.float32)
    after = spell(given(deviations=deviations), quiet=True)
    assert after.deviations is not None
    assert after.deviations[-1] == pytest.approx(0.5)  # of the word without n-grams
    assert (after.deviations > 0).all()


def test_a_model_without_spelling_becomes_vectors_with_it():
    sentences = [["plays", "played", "reads", "reader"], ["playing", "player", "reading", "read"]] * 9
    model = psdvec.fit(
        psdvec.count_pairs(sentences, min_count=1), dim=3, changes={"spelling": "off"}, quiet=True
    )
    after = spell(model, quiet=True)
    assert type(after) is Embeddings
    assert isinstance(after.subwords, Subwords)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (lambda: vocabulary(), "have learned spelling already"),
        (lambda: Embeddings(("a", "b"), np.eye(2, dtype=np.float32)), "no two words have three letters"),
        (lambda: Embeddings((), np.empty((0, 3), np.float32)), "nothing to learn from"),
        (lambda: Embeddings(("plays", "player"), np.full((2, 2), np.nan, np.float32)), "too large"),
    ],
)
def test_vectors_that_spelling_cannot_help_are_refused_in_one_sentence(vectors, message):
    with pytest.raises(InputError, match=message):
        spell(vectors(), quiet=True)


def test_sparse_vectors_are_refused():
    from scipy import sparse

    rows = sparse_vectors(sparse.csr_array(np.eye(2, dtype=np.float32)))
    with pytest.raises(InputError, match="sparse vectors"):
        spell(Embeddings(("plays", "player"), rows), quiet=True)


def test_what_is_no_embeddings_is_refused():
    with pytest.raises(InputError):
        spell("vectors.txt")  # type: ignore[arg-type]
