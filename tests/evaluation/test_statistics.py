"""Whether tests and intervals hold: what they claim, checked on made-up sets of which the truth is known.

``benchmarks/bench/bench_statistics.py`` does the same with more draws and over more sizes.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from psdvec.evaluation.scores import holm
from psdvec.evaluation.statistics import (
    cluster_interval,
    error_of_mean,
    f1_values,
    normal_test,
    paired_cluster_test,
    paired_spearman_test,
    paired_test,
    spearman,
    spearman_values,
)

LEVEL = 0.05


def similarity_set(rng, n: int, first: float, second: float, shared: float) -> tuple[np.ndarray, ...]:
    """Human scores with ties, and the cosines of two models that correlate with them and err partly alike."""
    gold, error = rng.standard_normal((2, n))
    models = [
        a * gold
        + math.sqrt(1 - a**2) * (math.sqrt(shared) * error + math.sqrt(1 - shared) * rng.standard_normal(n))
        for a in (first, second)
    ]
    return np.round(2 * gold) / 2, models[0][None], models[1][None]


def bootstrap_test(rng, gold: np.ndarray, one: np.ndarray, other: np.ndarray) -> float:
    chosen = rng.integers(len(gold), size=(199, len(gold)))
    z, x, y = (
        stats.zscore(stats.rankdata(values[chosen], axis=1), axis=1) for values in (gold, one[0], other[0])
    )
    differences = (z * x - z * y).mean(axis=1)
    return 2 * (min((differences <= 0).sum(), (differences >= 0).sum()) + 1) / 200


def all_couples(sections: int, size: int) -> np.ndarray:
    """The two pairs of words of each question, where a section asks about every couple of its pairs."""
    couples = np.array([(p, q) for p in range(size) for q in range(size) if p != q])
    return np.concatenate([couples + section * size for section in range(sections)])


def answers(rng, pairs: np.ndarray, effect: float) -> np.ndarray:
    """Right and wrong answers, half and half; pairs of words make all their questions easier or harder."""
    ease = effect * rng.standard_normal(pairs.max() + 1)
    return (ease[pairs].sum(axis=1) + rng.standard_normal(len(pairs)) > 0).astype(float)


# Rank correlations


scores = st.lists(st.integers(0, 6), min_size=3, max_size=30)


@given(scores, st.randoms(use_true_random=False))
def test_the_parts_of_the_items_average_to_the_correlation(gold: list[int], random):
    first = np.array(gold, dtype=float)
    second = np.array(random.sample(gold, len(gold)), dtype=float)
    if len(set(gold)) > 1:
        assert spearman_values(first, second).mean() == pytest.approx(spearman(first, second), abs=1e-9)
        assert spearman(first, second) == pytest.approx(stats.spearmanr(first, second)[0], abs=1e-9)


@pytest.mark.parametrize("ties", [False, True])
def test_the_parts_of_the_items_are_those_of_the_jackknife(ties: bool):
    gold, one, _ = similarity_set(np.random.default_rng(0), 2000, 0.7, 0.7, 0.5)
    cosines = np.round(3 * one[0]) if ties else one[0]
    left_out = np.arange(0, 2000, 97)
    rho = stats.spearmanr(gold, cosines)[0]
    without = [stats.spearmanr(np.delete(gold, i), np.delete(cosines, i))[0] for i in left_out]
    jackknife = 2000 * rho - 1999 * np.array(without)
    assert spearman_values(gold, cosines)[left_out] == pytest.approx(jackknife, abs=0.01)


def test_a_small_set_is_tested_by_the_permutation_test_of_scipy():
    gold, one, other = similarity_set(np.random.default_rng(1), 40, 0.8, 0.55, 0.5)

    def statistic(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
        difference = spearman_values(gold, x) - spearman_values(gold, y)
        return difference.mean(axis=axis) / difference.std(axis=axis, ddof=1)

    ranks = tuple(stats.rankdata(values[0]) for values in (one, other))
    expected = stats.permutation_test(
        ranks, statistic, permutation_type="samples", vectorized=True, n_resamples=5000,
        rng=np.random.default_rng(3),
    ).pvalue  # fmt: skip
    assert 0.005 < expected < 0.9
    assert paired_spearman_test(gold, one, other, resamples=5000) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize(("n", "draws"), [(65, 400), (400, 1200), (2000, 600)])
@pytest.mark.parametrize("first", [0.3, 0.85])
def test_equal_models_are_told_apart_in_five_of_a_hundred_sets(n: int, draws: int, first: float):
    rng = np.random.default_rng(0)
    sets = (similarity_set(rng, n, first, first, 0.8) for _ in range(draws))
    found = [paired_spearman_test(*one, resamples=99, seed=i) <= LEVEL for i, one in enumerate(sets)]
    assert np.mean(found) == pytest.approx(LEVEL, abs=3 * math.sqrt(LEVEL * (1 - LEVEL) / draws))


@pytest.mark.slow
def test_the_test_finds_what_a_paired_bootstrap_finds():
    rng = np.random.default_rng(2)
    found = []
    for i in range(250):
        one = similarity_set(rng, 120, 0.8, 0.7, 0.6)
        found.append((paired_spearman_test(*one, resamples=199, seed=i), bootstrap_test(rng, *one)))
    ours, theirs = (np.array(found) <= LEVEL).mean(axis=0)
    assert 0.3 < theirs < 0.8
    assert ours == pytest.approx(theirs, abs=0.04)


def test_what_does_not_vary_cannot_be_compared():
    gold, one, other = similarity_set(np.random.default_rng(6), 30, 0.8, 0.7, 0.6)
    assert np.isnan(paired_spearman_test(np.ones(30), one, other))
    assert np.isnan(paired_spearman_test(gold, np.ones((1, 30)), other))


def test_several_seeds_are_compared_by_their_means():
    gold, one, other = similarity_set(np.random.default_rng(4), 400, 0.8, 0.7, 0.6)
    single = paired_spearman_test(gold, one, other)
    assert paired_spearman_test(gold, np.repeat(one, 3, axis=0), other) == pytest.approx(single)
    noise = np.random.default_rng(5).standard_normal((5, 400)) * 0.5
    values = spearman_values(gold, one + noise)
    assert values.mean() == pytest.approx(np.mean([spearman(gold, row) for row in one + noise]))


# Analogies


def test_independent_items_have_the_error_of_a_mean():
    values = np.random.default_rng(0).standard_normal(100)
    values -= values.mean()
    assert error_of_mean(values) == pytest.approx(values.std() / 10)


def test_the_error_sums_products_over_questions_with_a_pair_in_common():
    rng = np.random.default_rng(1)
    pairs = rng.integers(12, size=(60, 2))
    values = (rng.standard_normal(12)[pairs]).sum(axis=1)
    values -= values.mean()
    related = [[bool({*p} & {*q}) for q in pairs.tolist()] for p in pairs.tolist()]
    assert error_of_mean(values, pairs) == pytest.approx(math.sqrt(12 / 11 * values @ related @ values) / 60)


@pytest.mark.parametrize("effect", [0.0, 0.5])
def test_equal_models_are_told_apart_in_five_of_a_hundred_sets_of_analogies(effect: float):
    rng, pairs = np.random.default_rng(0), all_couples(8, 30)
    tested = [(answers(rng, pairs, effect), answers(rng, pairs, effect)) for _ in range(600)]
    ours = np.mean([paired_cluster_test(one, other, pairs) <= LEVEL for one, other in tested])
    by_question = np.mean([paired_test(one, other, resamples=99) <= LEVEL for one, other in tested[:60]])
    assert ours == pytest.approx(LEVEL, abs=0.025)
    assert (by_question > 0.3) == (effect > 0)


@pytest.mark.parametrize("effect", [0.0, 0.5])
def test_the_interval_of_analogies_holds_the_truth_in_ninety_five_of_a_hundred_sets(effect: float):
    rng, pairs = np.random.default_rng(3), all_couples(8, 30)
    intervals = [cluster_interval(answers(rng, pairs, effect), pairs) for _ in range(500)]
    held = np.mean([low <= 0.5 <= high for low, high in intervals])
    assert held == pytest.approx(0.95, abs=0.03)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans()), min_size=2, max_size=20))
def test_an_interval_of_analogies_holds_its_score_and_stays_a_share(questions):
    outcomes = np.array([float(right) for _, _, right in questions])
    low, high = cluster_interval(outcomes, np.array([[p, q] for p, q, _ in questions]))
    assert 0 <= low <= outcomes.mean() + 1e-12
    assert outcomes.mean() - 1e-12 <= high <= 1
    assert high - low > 0.1


def test_three_questions_that_all_speak_for_one_model_prove_nothing():
    pairs = np.array([[0, 1], [0, 2], [0, 3]])
    assert paired_cluster_test(np.ones(3), np.zeros(3), pairs) > LEVEL


# Tagging, means, many comparisons


def test_the_parts_of_the_sentences_average_to_f1():
    table = np.array([[1.0, 2, 3], [2, 2, 2], [0, 1, 4]])
    assert f1_values(table).mean() == pytest.approx(2 * 3 / (5 + 9))


def test_a_difference_of_two_standard_errors_is_just_seen():
    assert normal_test(0.196, 0.1) == pytest.approx(2 * stats.norm.sf(1.96))
    assert normal_test(0.0, 0.0) == 1.0


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), max_size=8))
def test_adjusting_keeps_the_order_and_never_makes_a_test_surer(p: dict[str, float]):
    adjusted = holm(p)
    assert adjusted.keys() == p.keys()
    assert all(p[name] <= adjusted[name] <= 1 for name in p)
    by_p = sorted(p, key=lambda name: p[name])
    assert [adjusted[name] for name in by_p] == sorted(adjusted.values())


def test_equal_models_are_all_taken_for_equal_in_ninety_five_of_a_hundred_columns():
    rng, models = np.random.default_rng(0), 8
    wrong = 0
    for _ in range(400):
        scores = rng.standard_normal(models)  # of as many models, each with a standard error of 1
        differences = (scores.max() - scores)[scores < scores.max()]
        p = {str(i): normal_test(one, math.sqrt(2)) for i, one in enumerate(differences)}
        wrong += min(holm(p).values()) <= LEVEL
    assert wrong / 400 <= 0.07
