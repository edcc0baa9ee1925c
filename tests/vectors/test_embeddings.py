from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from psdvec.errors import InputError, MissingWordError, PSDVecError
from psdvec.vectors import lookup, neighbours
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.lookup import INSTEAD
from psdvec.vectors.neighbours import (
    Interval,
    largest_columns,
    lengths_of,
    nearest_rows,
    neighbour_intervals,
    sparse_vectors,
)


def compass() -> Embeddings:
    """Four directions and their mixtures, whose cosines everyone knows."""
    vectors = [[0, 2], [1, 0], [0, -1], [-3, 0], [1, 1], [-1, 1]]
    return Embeddings(
        ("north", "east", "south", "west", "northeast", "northwest"), np.array(vectors, dtype=np.float32)
    )


def random_embeddings(n: int = 500, dim: int = 20, seed: int = 0) -> Embeddings:
    vectors = np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)
    return Embeddings(tuple(f"w{i}" for i in range(n)), vectors)


def test_a_word_gives_its_row_and_a_list_gives_a_matrix():
    e = compass()
    assert e["north"].tolist() == [0, 2]
    assert e[["east", "west"]].tolist() == [[1, 0], [-3, 0]]
    assert e.get_vector("west", norm=True).tolist() == [-1, 0]


def test_vectors_handed_out_cannot_be_written_to():
    e = compass()
    with pytest.raises(ValueError, match="read-only"):
        e["north"][0] = 1


def test_ids_and_words_are_each_others_inverse():
    e = compass()
    assert [e.index_to_key[e.key_to_index[word]] for word in e] == list(e.words)
    assert "north" in e
    assert "up" not in e


def test_a_missing_word_is_a_key_error_that_names_the_closest_spellings():
    with pytest.raises(KeyError) as caught:
        compass()["nroth"]
    assert isinstance(caught.value, PSDVecError)
    assert str(caught.value) == "there is no vector for 'nroth'; did you mean 'north'?"


def test_spellings_with_the_same_first_letter_come_first():
    e = Embeddings(("been", "seen", "queen"), np.eye(3, dtype=np.float32))
    assert e.closest_spellings("qeen") == ["queen", "been", "seen"]


def test_another_case_of_a_missing_word_is_suggested_first():
    e = Embeddings(("North", "South"), np.eye(2, dtype=np.float32))
    with pytest.raises(MissingWordError, match="did you mean 'North'"):
        e["north"]


def test_a_missing_word_like_nothing_says_so():
    with pytest.raises(MissingWordError, match="no word in the vocabulary is spelled like it"):
        compass()["qqqqqqqq"]


def test_get_returns_the_default_for_a_missing_word():
    e = compass()
    assert e.get("up") is None
    assert e.get("up", 0) == 0
    assert e.get("north").tolist() == [0, 2]


def test_an_id_has_a_default_as_a_vector_has():
    e = compass()
    assert (e.get_index("east"), e.get_index("up", -1), e.get_index("up", default="none")) == (1, -1, "none")
    with pytest.raises(MissingWordError, match="no vector for 'up'"):
        e.get_index("up")


def test_norms_are_the_lengths_of_the_vectors_and_zero_where_there_is_none(monkeypatch):
    calls = []
    monkeypatch.setattr(lookup, "norms_of", lambda vectors: calls.append(1) or neighbours.norms_of(vectors))
    vectors = np.array([[3, 4], [0, 0]], np.float32)
    e = Embeddings(("a", "b"), vectors)
    assert not calls
    e.fill_norms()
    assert (e.norms.tolist(), e.lengths.tolist(), len(calls)) == ([5, 0], [5, 1], 1)
    vectors[1] = [1, 0]
    e.fill_norms()
    assert e.norms.tolist() == [5, 0]
    e.fill_norms(force=True)
    assert (e.norms.tolist(), e.lengths.tolist(), len(calls)) == ([5, 1], [5, 1], 2)


def test_cosines_of_given_vectors_are_those_of_the_words():
    e = compass()
    found = Embeddings.cosine_similarities(e["north"], e.vectors)
    assert found == pytest.approx(e.most_similar("north", topn=None))
    assert Embeddings.cosine_similarities([1, 0], [[0, 0], [2, 0]]).tolist() == [0, 1]
    matrix = sparse_vectors(sparse.csr_array(e.vectors))
    assert Embeddings.cosine_similarities(e["north"], matrix) == pytest.approx(found)


def test_a_relative_cosine_is_a_share_of_those_of_the_neighbours():
    e = compass()
    shares = [e.relative_cosine_similarity("north", word, topn=2) for word in ("northeast", "northwest")]
    assert shares == pytest.approx([0.5, 0.5])
    assert e.relative_cosine_similarity("north", "south") == pytest.approx(-1 / (np.sqrt(2) - 1))


def test_a_clipped_search_is_that_of_a_part():
    e = random_embeddings()
    part = e.take(slice(100, 300))
    assert e.most_similar(e["w7"], clip_start=100, clip_end=300) == part.most_similar(e["w7"])
    inside = e.most_similar("w150", clip_start=100, clip_end=300)
    assert inside == part.most_similar("w150")
    assert "w150" not in [word for word, _ in inside]


@pytest.mark.parametrize("name", INSTEAD)
def test_a_name_of_gensims_that_is_not_here_says_what_to_write(name: str):
    with pytest.raises(AttributeError) as caught:
        getattr(compass(), name)
    assert str(caught.value) == f"'Embeddings' object has no attribute '{name}'; {INSTEAD[name]}"
    assert not hasattr(compass(), name)


def test_any_other_name_is_missing_as_usual():
    with pytest.raises(
        AttributeError, match=r"^'Embeddings' object has no attribute 'most_similiar'$"
    ) as caught:
        compass().most_similiar  # noqa: B018
    assert (caught.value.name, len(caught.value.obj)) == ("most_similiar", 6)


def test_two_vectors_of_one_word_are_refused():
    e = Embeddings(("a", "b", "a"), np.eye(3, dtype=np.float32))
    with pytest.raises(InputError, match="'a' has two vectors"):
        _ = "a" in e


@pytest.mark.parametrize("fields", [{"counts": [1]}, {"deviations": [0.1]}])
def test_numbers_that_do_not_fit_the_words_are_refused(fields: dict[str, list[float]]):
    with pytest.raises(InputError, match="one number per word"):
        Embeddings(("a", "b"), np.eye(2, dtype=np.float32), **fields)


def test_a_matrix_that_does_not_fit_the_words_is_refused():
    with pytest.raises(InputError, match=r"shape \(3, 3\) for 2 words"):
        Embeddings(("a", "b"), np.eye(3, dtype=np.float32))


def test_similarity_and_distance_are_the_cosine_and_its_complement():
    e = compass()
    assert e.similarity("north", "south") == -1
    assert e.similarity("north", "northeast") == pytest.approx(np.sqrt(0.5))
    assert e.distance("north", "east") == 1


def test_n_similarity_compares_means():
    assert compass().n_similarity(["north", "east"], ["north"]) == pytest.approx(2 / np.sqrt(5))
    with pytest.raises(InputError, match="one of the two sets of words is empty"):
        compass().n_similarity([], ["north"])


def test_the_word_that_does_not_match_is_farthest_from_the_mean():
    assert compass().doesnt_match(["north", "northeast", "northwest", "south"]) == "south"


@pytest.mark.parametrize(
    "ask",
    [
        lambda e: e.vectors_of("ab"),
        lambda e: e.n_similarity("a", "b"),
        lambda e: e.doesnt_match("abc"),
        lambda e: e.most_similar_many("ab"),
        lambda e: e.select("ab"),
        lambda e: e.with_spelled("ab"),
        lambda e: e.thin_evidence("ab"),
    ],
)
def test_the_letters_of_a_string_are_not_taken_for_a_list_of_words(ask):
    letters = Embeddings(("a", "b", "c"), np.eye(3, dtype=np.float32) + 1)
    with pytest.raises(InputError, match=r"(words|first) is one string, .*; give a list of words, such as"):
        ask(letters)


def test_neighbours_come_nearest_first_without_the_word_itself():
    assert compass().most_similar("north", topn=2) == [
        ("northeast", pytest.approx(np.sqrt(0.5))),
        ("northwest", pytest.approx(np.sqrt(0.5))),
    ]


def test_most_similar_reads_words_vectors_and_weights():
    e = compass()
    nearest = e.most_similar(positive=["north", "east"], topn=1)
    assert nearest[0][0] == "northeast"
    assert e.most_similar(np.array([1, 1], dtype=np.float32), topn=1)[0][0] == "northeast"
    assert e.most_similar([("north", 1.0), ("east", 0.01)], negative="south", topn=1)[0][0] == "northeast"
    assert e.most_similar(("west", 2.0), topn=1)[0][0] == "northwest"
    with pytest.raises(InputError, match="nothing to search for"):
        e.most_similar()


def test_topn_none_returns_all_cosines_and_topn_zero_none():
    e = compass()
    assert e.most_similar("north", topn=None) == pytest.approx([1, 0, -1, 0, np.sqrt(0.5), np.sqrt(0.5)])
    assert e.most_similar("north", topn=0) == []
    assert e.most_similar_cosmul("north", topn=0) == []
    assert len(e.most_similar("north", topn=100)) == 5


def test_restrict_vocab_searches_the_first_words_only():
    assert {word for word, _ in compass().most_similar("north", restrict_vocab=4)} == {
        "east",
        "south",
        "west",
    }


def test_cosmul_multiplies_cosines_moved_to_between_0_and_1():
    e = compass()
    (word, score), *_ = e.most_similar_cosmul(["north", "east"], ["west"])
    shifted = (1 + np.sqrt(0.5)) / 2
    assert word == "northeast"
    assert score == pytest.approx(shifted * shifted / ((1 - np.sqrt(0.5)) / 2 + 1e-6), rel=1e-4)


@given(st.integers(0, 2**32 - 1))
def test_an_analogy_adds_unless_it_is_told_to_multiply(seed: int):
    e = random_embeddings(60, dim=4, seed=seed)
    assert e.analogy("w0", "w1", "w2") == e.most_similar(["w1", "w2"], ["w0"])
    assert e.analogy("w0", "w1", "w2", method="3cosadd") == e.analogy("w0", "w1", "w2")
    options = {"topn": 3, "restrict_vocab": 30}
    assert e.analogy("w0", "w1", "w2", method="3cosmul", **options) == e.most_similar_cosmul(
        ["w1", "w2"], ["w0"], **options
    )


def test_an_unknown_way_to_answer_an_analogy_is_refused():
    with pytest.raises(
        InputError, match='the method is \'add\'; choose method="3cosadd" or method="3cosmul"'
    ):
        compass().analogy("north", "east", "south", method="add")


def test_what_is_known_of_a_word_has_a_name():
    e = Embeddings(("a", "b"), np.eye(2, dtype=np.float32), np.array([5, 3]), np.array([0.5, 0.25]))
    assert e.get_vecattr("b", "count") == 3
    assert e.get_vecattr("b", "deviation") == 0.25
    with pytest.raises(MissingWordError):
        e.get_vecattr("c", "count")
    with pytest.raises(InputError, match="have no sense for each word"):
        e.get_vecattr("a", "sense")
    with pytest.raises(InputError, match="have no count for each word"):
        compass().get_vecattr("north", "count")


def test_the_binary_format_of_word2vec_cannot_do_without_its_header(tmp_path):
    with pytest.raises(InputError, match="has a header"):
        compass().save_word2vec_format(tmp_path / "x", binary=True, write_header=False)
    assert not (tmp_path / "x").exists()


def test_rank_counts_the_nearer_words():
    e = compass()
    assert e.rank("north", "northeast") == 1
    assert e.rank("north", "south") == 5
    assert e.closer_than("east", "north") == ["northeast"]


def test_a_vector_of_zeros_is_like_nothing():
    e = Embeddings(("zero", "one"), np.array([[0, 0], [1, 0]], dtype=np.float32))
    assert e.similarity("zero", "one") == 0
    assert e.most_similar("one") == [("zero", 0.0)]


def test_selection_keeps_rows_counts_and_deviations_together():
    e = Embeddings(("a", "b"), np.eye(2, dtype=np.float32), np.array([5, 3]), np.array([0.1, 0.2]))
    chosen = e.select(["b"])
    assert chosen["b"].tolist() == [0, 1]
    assert chosen.counts.tolist() == [3]
    assert chosen.deviations == pytest.approx([0.2])


def test_many_queries_at_once_answer_as_one_by_one():
    e = random_embeddings(3000)
    words = list(e.words[::7])
    one_by_one = [e.most_similar(word) for word in words]
    for many, one in zip(e.most_similar_many(words), one_by_one, strict=True):
        assert [word for word, _ in many] == [word for word, _ in one]
        assert [score for _, score in many] == pytest.approx([score for _, score in one], abs=1e-6)


def test_read_only_vectors_are_searched_like_others():
    e = random_embeddings(100)
    e.vectors.setflags(write=False)
    assert len(e.most_similar("w3")) == 10


def test_blocks_do_not_change_the_neighbours(monkeypatch: pytest.MonkeyPatch):
    e = random_embeddings(1000)
    whole = nearest_rows(e.vectors, lengths_of(e.vectors), e.vectors[:300], topn=7)
    monkeypatch.setattr("psdvec.vectors.neighbours.ROW_BLOCK", 64)
    monkeypatch.setattr("psdvec.vectors.neighbours.QUERY_BLOCK", 10)
    pieces = nearest_rows(e.vectors, lengths_of(e.vectors), e.vectors[:300], topn=7)
    assert np.array_equal(whole.ids, pieces.ids)


@given(
    st.integers(1, 4),
    st.integers(1, 3000),
    st.integers(0, 12),
    st.integers(0, 2**32 - 1),
    st.sampled_from([3, 10, 10**6]),
)
def test_selecting_the_largest_equals_sorting_everything(rows, columns, k, seed, distinct):
    scores = np.random.default_rng(seed).integers(distinct, size=(rows, columns)).astype(np.float32)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    assert np.array_equal(largest_columns(scores, k), expected)


def test_an_interval_needs_deviations():
    with pytest.raises(InputError, match="have no deviations"):
        compass().similarity("north", "east", interval=True)


def test_an_interval_holds_the_cosine_and_shrinks_to_it():
    e = compass()
    sure = Embeddings(e.words, e.vectors, deviations=np.zeros(6))
    for confidence in (0, 1, -0.5, float("nan")):
        with pytest.raises(InputError, match="between 0 and 1"):
            sure.similarity("north", "east", interval=True, confidence=confidence)
    assert sure.similarity("north", "east", interval=True) == Interval(0.0, *[pytest.approx(0, abs=1e-7)] * 2)
    unsure = Embeddings(e.words, e.vectors, deviations=np.full(6, 0.1))
    value, low, high = unsure.similarity("north", "east", interval=True)
    # Var θ = 0.1² / 2² + 0.1² / 1², and near a right angle cos(θ) moves as θ does
    assert (low, high) == pytest.approx((-np.sin(1.96 * 0.1118), np.sin(1.96 * 0.1118)), abs=1e-3)
    assert low < value < high


@pytest.mark.parametrize("angle", [0.4, 1.2, 2.5])
def test_intervals_hold_the_true_cosine_as_often_as_they_say(angle: float, monkeypatch):
    monkeypatch.setattr(neighbours, "NEAR", 0)  # this noise has no articles
    generator = np.random.default_rng(7)
    dim, deviation, trials = 5, 0.01, 2000
    truth = np.zeros((2, dim))
    truth[0, 0], truth[1, :2] = 1, (np.cos(angle), np.sin(angle))
    hits = 0
    for _ in range(trials):
        seen = truth + deviation * generator.standard_normal(truth.shape)
        e = Embeddings(("a", "b"), seen.astype(np.float32), deviations=np.full(2, deviation))
        _, low, high = e.similarity("a", "b", interval=True, confidence=0.9)
        hits += low <= np.cos(angle) <= high
    assert 0.86 < hits / trials < 0.94


def test_a_word_is_thin_where_its_cosine_with_the_true_vector_may_be_below_a_half():
    """At 8.125 occurrences, 3 s √d / |v| must not exceed √3: with d = 4 and |v| = 2, the limit of s is 0.577."""
    e = Embeddings(
        ("unknown", "sure", "thin", "frequent"),
        np.ones((4, 4), dtype=np.float32),
        counts=np.array([8, 9, 8, 40]),
        deviations=np.array([np.nan, 0.58, 0.58, 9]),
    )
    assert e.thin_evidence().tolist() == [False, False, True, False]
    assert e.thin_evidence(["thin", "sure"]).tolist() == [True, False]
    assert not compass().thin_evidence().any()


def test_the_rarer_of_two_words_with_the_same_deviation_is_the_thinner():
    """At a sixteenth of 130 occurrences the limit of s is half as large; a word never seen counts as seen once."""
    counts = np.array([130, 9, 8, 0])
    deviations = np.array([0.58, 0.58, 0.59, 0.58])
    e = Embeddings(("a", "b", "c", "d"), np.ones((4, 4), np.float32), counts=counts, deviations=deviations)
    assert e.thin_evidence().tolist() == [False, False, True, True]


def test_a_core_word_counts_as_fixed_in_an_interval():
    vectors = np.array([[1, 0], [1, 1], [0, 1]], np.float32)
    e = Embeddings(
        ("core", "placed", "rock"), vectors, deviations=np.array([np.nan, 0.1, np.nan], np.float32)
    )
    value, low, high = e.similarity("core", "placed", interval=True)
    assert value == pytest.approx(0.5**0.5)
    variance = 0.1**2 / 2 + neighbours.NEAR * value * (1 - value)
    angle, reach = np.pi / 4, 1.959964 * variance**0.5
    assert (low, high) == pytest.approx((np.cos(angle + reach), np.cos(angle - reach)), rel=1e-5)
    with pytest.raises(InputError, match="'core' and 'rock' have no deviation"):
        e.similarity("core", "rock", interval=True)


def test_the_intervals_of_the_nearest_words_hold_the_truth_where_those_of_pairs_do_not(monkeypatch):
    """True angles, more and more as exp(λθ), are measured with noise: the smallest seem smaller than they are."""
    monkeypatch.setattr(neighbours, "NEAR", 0)
    generator = np.random.default_rng(3)
    spread, growth, words = 0.08, 12, 20_000
    as_pairs, as_chosen = [], []
    for _ in range(100):
        true = 1.5 - generator.exponential(1 / growth, words)
        seen = true + spread * generator.standard_normal(words)
        order = np.argsort(seen)[:300]
        found = neighbour_intervals(np.cos(seen[order]), spread, np.zeros(10), confidence=0.9)
        for i, (value, low, high) in zip(order, found, strict=False):
            as_chosen.append(low <= np.cos(true[i]) <= high)
            as_pairs.append(abs(true[i] - np.arccos(value)) <= 1.645 * spread)
    assert np.mean(as_pairs) < 0.8
    assert 0.86 < np.mean(as_chosen) < 0.94


def test_the_interval_of_a_neighbour_holds_its_cosine_and_does_not_depend_on_how_many_are_listed():
    vectors = np.random.default_rng(3).standard_normal((400, 20)).astype(np.float32)
    e = Embeddings([f"w{i}" for i in range(400)], vectors, deviations=np.full(400, 0.3))
    listed = e.most_similar_intervals("w0", topn=12)
    assert [(word, bounds.value) for word, bounds in listed] == e.most_similar("w0", topn=12)
    assert all(low <= value <= high for _, (value, low, high) in listed)
    assert e.most_similar_intervals("w0", topn=3) == listed[:3]
    assert e.most_similar_intervals("w0", topn=0) == []
    assert len(e.most_similar_intervals("w0", topn=1000)) == 399


def test_the_nearest_words_have_intervals_only_with_deviations():
    with pytest.raises(InputError, match="have no deviations"):
        compass().most_similar_intervals("north")
    sure = replace(compass(), deviations=np.zeros(6))
    with pytest.raises(InputError, match="between 0 and 1"):
        sure.most_similar_intervals("north", confidence=2)
