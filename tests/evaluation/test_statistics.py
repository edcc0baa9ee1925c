"""Whether tests and intervals hold: what they claim, checked on made-up sets of which the truth is known.

``benchmarks/bench/bench_statistics.py`` does the same with more draws and over more sizes.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from psdvec.evaluation.scores import holm
from psdvec.evaluation.statistics import (
    Parts,
    Variance,
    correlation_interval,
    f1_values,
    paired_test,
    share_interval,
    spearman,
    spearman_values,
    variance_of,
)

LEVEL = 0.05


def similarity_set(
    rng, n: int, first: float, second: float, shared: float, *, links: np.ndarray | None = None
) -> tuple[np.ndarray, ...]:
    """Human scores with ties, and the cosines of two models that correlate with them and err partly alike.

    Where pairs have words, half of the scores and of the errors is theirs, so that pairs with a word in common err
    together.
    """

    def draw() -> np.ndarray:
        own = rng.standard_normal(n)
        if links is None:
            return own
        return math.sqrt(0.5) * own + 0.5 * rng.standard_normal(links.max() + 1)[links].sum(axis=1)

    gold, error = draw(), draw()
    models = [
        a * gold + math.sqrt(1 - a**2) * (math.sqrt(shared) * error + math.sqrt(1 - shared) * draw())
        for a in (first, second)
    ]
    return np.round(2 * gold) / 2, *models


def pairs_of_words(rng, n: int, words: int) -> np.ndarray:
    """Pairs of different words; of each word as many as chance gives it."""
    first = rng.integers(words, size=n)
    return np.stack([first, (first + rng.integers(1, words, size=n)) % words], axis=1)


def correlation_test(
    gold: np.ndarray, one: np.ndarray, other: np.ndarray, links: np.ndarray | None = None
) -> float:
    return paired(spearman_values(gold, one), spearman_values(gold, other), links)


def paired(first: np.ndarray, second: np.ndarray, links: np.ndarray | None = None) -> float:
    parts = Parts(first - second, links)
    return variance_of(parts).p_value(parts.mean)


def interval_of_share(outcomes: np.ndarray, links: np.ndarray) -> tuple[float, float]:
    share = float(outcomes.mean())
    return share_interval(share, variance_of(Parts(outcomes - share, links)))


def bootstrap_test(rng, gold: np.ndarray, one: np.ndarray, other: np.ndarray) -> float:
    chosen = rng.integers(len(gold), size=(199, len(gold)))
    z, x, y = (stats.zscore(stats.rankdata(values[chosen], axis=1), axis=1) for values in (gold, one, other))
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
    cosines = np.round(3 * one) if ties else one
    left_out = np.arange(0, 2000, 97)
    rho = stats.spearmanr(gold, cosines)[0]
    without = [stats.spearmanr(np.delete(gold, i), np.delete(cosines, i))[0] for i in left_out]
    jackknife = 2000 * rho - 1999 * np.array(without)
    assert spearman_values(gold, cosines)[left_out] == pytest.approx(jackknife, abs=0.01)


@pytest.mark.parametrize(("n", "draws"), [(65, 1000), (400, 1000), (2000, 600)])
@pytest.mark.parametrize("first", [0.3, 0.85])
def test_equal_models_are_told_apart_in_at_most_five_of_a_hundred_sets(n: int, draws: int, first: float):
    rng = np.random.default_rng(0)
    found = np.mean(
        [correlation_test(*similarity_set(rng, n, first, first, 0.8)) <= LEVEL for _ in range(draws)]
    )
    assert found <= LEVEL + 3 * math.sqrt(LEVEL * (1 - LEVEL) / draws)
    assert n < 100 or found == pytest.approx(LEVEL, abs=0.03)  # of few pairs, the test is careful


@pytest.mark.parametrize(("n", "words"), [(2000, 200), (200, 250)])
def test_pairs_that_share_words_tell_equal_models_apart_no_more_often(n: int, words: int):
    rng = np.random.default_rng(1)
    links = pairs_of_words(rng, n, words)
    sets = [similarity_set(rng, n, 0.8, 0.8, 0.5, links=links) for _ in range(400)]
    ours = np.mean([correlation_test(*one, links) <= LEVEL for one in sets])
    alone = np.mean([correlation_test(*one) <= LEVEL for one in sets])
    assert ours == pytest.approx(LEVEL, abs=0.03)
    assert (alone > 0.15) == (n > words)


def test_the_interval_of_a_correlation_holds_the_truth_in_ninety_five_of_a_hundred_sets():
    rng = np.random.default_rng(2)
    links = pairs_of_words(rng, 1500, 300)
    truth = spearman(
        *similarity_set(rng, 400_000, 0.8, 0.8, 0.5, links=rng.integers(400_000, size=(400_000, 2)))[:2]
    )
    held = []
    for _ in range(400):
        values = spearman_values(*similarity_set(rng, 1500, 0.8, 0.8, 0.5, links=links)[:2])
        rho = values.mean()
        low, high = correlation_interval(rho, variance_of(Parts(values - rho, links)))
        assert -1 < low < rho < high < 1
        held.append(low <= truth <= high)
    assert np.mean(held) == pytest.approx(0.95, abs=0.03)


def test_a_perfect_correlation_has_an_interval_without_width():
    values = spearman_values(np.arange(40.0), np.arange(40.0))
    assert correlation_interval(1.0, variance_of(Parts(values - 1.0))) == (1.0, 1.0)


@pytest.mark.slow
def test_the_test_finds_what_a_paired_bootstrap_finds():
    rng = np.random.default_rng(2)
    found = []
    for _ in range(250):
        one = similarity_set(rng, 120, 0.8, 0.7, 0.6)
        found.append((correlation_test(*one), bootstrap_test(rng, *one)))
    ours, theirs = (np.array(found) <= LEVEL).mean(axis=0)
    assert 0.3 < theirs < 0.8
    assert ours == pytest.approx(theirs, abs=0.04)


def test_what_does_not_vary_cannot_be_compared():
    gold, one, other = similarity_set(np.random.default_rng(6), 30, 0.8, 0.7, 0.6)
    assert np.isnan(correlation_test(np.ones(30), one, other))
    assert np.isnan(correlation_test(gold, np.ones(30), other))


# Seeds


def test_seeds_that_score_alike_add_no_variance():
    values = np.random.default_rng(4).standard_normal(100)
    once, thrice = Parts(values, seeds=(np.ones(1),)), Parts(values, seeds=(np.ones(3),))
    assert variance_of(thrice) == variance_of(once)


def test_the_variance_of_the_mean_over_seeds_is_added():
    values, scores = np.random.default_rng(5).standard_normal(100), np.array([0.3, 0.7, 0.5, 0.9])
    items = variance_of(Parts(values))
    both = variance_of(Parts(values, seeds=(scores, np.array([0.4]))))  # of the other model, one is known
    assert both.value == pytest.approx(items.value + scores.var(ddof=1) / 4)
    assert 3 < both.freedom < 3 + items.freedom


def test_two_seeds_of_which_one_is_lucky_prove_nothing():
    """The items all speak for the first method; but the seeds say that it might have been otherwise."""
    values = 0.1 + 0.01 * np.random.default_rng(6).standard_normal(1000)
    assert variance_of(Parts(values)).p_value(0.1) < 1e-6
    seeds = (np.array([0.5, 0.7]), np.array([0.45, 0.55]))
    assert variance_of(Parts(values, seeds=seeds)).p_value(0.1) > LEVEL


@given(st.floats(0.01, 100), st.integers(1, 50), st.floats(0.01, 100), st.integers(1, 50))
def test_a_sum_of_variances_is_known_at_least_as_well_as_the_worse_known(first, m, second, n):
    total = Variance(first, m) + Variance(second, n)
    assert total.value == first + second
    assert min(m, n) - 1e-9 <= total.freedom <= m + n + 1e-9


# Items that hang together


def test_pairs_without_a_word_in_common_are_independent():
    values = np.random.default_rng(0).standard_normal(100)
    apart = variance_of(Parts(values, np.arange(200).reshape(100, 2)))
    assert (apart.value, apart.freedom) == pytest.approx((variance_of(Parts(values)).value, 99))


def test_a_set_that_is_judged_twice_is_worth_no_more_than_once():
    rng = np.random.default_rng(1)
    for words in (40, 400):
        one = Parts(rng.standard_normal(100), pairs_of_words(rng, 100, words))
        twice = variance_of(one, one)
        assert (twice.value, twice.freedom) == pytest.approx(
            (variance_of(one).value, variance_of(one).freedom)
        )


def test_sets_without_a_word_in_common_add_up_as_independent_ones():
    rng = np.random.default_rng(2)
    sets = [Parts(rng.standard_normal(2000), pairs_of_words(rng, 2000, 150) + 150 * k) for k in range(3)]
    apart = sum(variance_of(one).value for one in sets) / 9
    assert variance_of(*sets).value == pytest.approx(apart, rel=0.05)  # but for the mean of fewer words


def test_sets_that_share_half_of_their_pairs_have_a_surer_mean_than_one_and_a_less_sure_one_than_two():
    rng = np.random.default_rng(3)
    links, values = pairs_of_words(rng, 3000, 6000), rng.standard_normal(3000)
    first, second = (Parts(values[k : k + 2000], links[k : k + 2000]) for k in (0, 1000))
    independent = (variance_of(first).value + variance_of(second).value) / 4
    both = variance_of(first, second).value
    assert independent < both < 2 * independent
    assert both == pytest.approx(1.5 * independent, rel=0.15)


def test_independent_items_have_the_variance_of_a_mean():
    values = np.random.default_rng(0).standard_normal(100)
    values -= values.mean()
    assert variance_of(Parts(values)).value == pytest.approx(values.var(ddof=1) / 100)


def test_the_variance_sums_products_over_items_with_a_link_in_common():
    rng = np.random.default_rng(1)
    pairs = rng.integers(12, size=(60, 2))
    values = (rng.standard_normal(12)[pairs]).sum(axis=1)
    values -= values.mean()
    related = [[bool({*p} & {*q}) for q in pairs.tolist()] for p in pairs.tolist()]
    assert variance_of(Parts(values, pairs)).value == pytest.approx(
        12 / 11 * values @ related @ values / 60**2
    )


@pytest.mark.parametrize("effect", [0.0, 0.5])
def test_equal_models_are_told_apart_in_five_of_a_hundred_sets_of_analogies(effect: float):
    rng, pairs = np.random.default_rng(0), all_couples(8, 30)
    tested = [(answers(rng, pairs, effect), answers(rng, pairs, effect)) for _ in range(600)]
    ours = np.mean([paired(one, other, pairs) <= LEVEL for one, other in tested])
    by_question = np.mean([paired_test(one, other, resamples=99) <= LEVEL for one, other in tested[:60]])
    assert ours == pytest.approx(LEVEL, abs=0.025)
    assert (by_question > 0.3) == (effect > 0)


@pytest.mark.parametrize("effect", [0.0, 0.5])
def test_the_interval_of_analogies_holds_the_truth_in_ninety_five_of_a_hundred_sets(effect: float):
    rng, pairs = np.random.default_rng(3), all_couples(8, 30)
    intervals = [interval_of_share(answers(rng, pairs, effect), pairs) for _ in range(500)]
    held = np.mean([low <= 0.5 <= high for low, high in intervals])
    assert held == pytest.approx(0.95, abs=0.03)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans()), min_size=2, max_size=20))
@example([(0, 0, False), (0, 0, False), (0, 0, True)])
def test_an_interval_of_analogies_holds_its_score_and_stays_a_share(questions):
    outcomes = np.array([float(right) for _, _, right in questions])
    low, high = interval_of_share(outcomes, np.array([[p, q] for p, q, _ in questions]))
    assert 0 <= low <= outcomes.mean() + 1e-12
    assert outcomes.mean() - 1e-12 <= high <= 1
    assert high - low > 0.1


def test_three_questions_that_all_speak_for_one_model_prove_nothing():
    pairs = np.array([[0, 1], [0, 2], [0, 3]])
    assert paired(np.ones(3), np.zeros(3), pairs) > LEVEL


# Tagging, means, many comparisons


def test_the_parts_of_the_sentences_average_to_f1():
    table = np.array([[1.0, 2, 3], [2, 2, 2], [0, 1, 4]])
    assert f1_values(table).mean() == pytest.approx(2 * 3 / (5 + 9))


def test_a_difference_of_two_standard_errors_is_just_seen():
    assert Variance(0.01, 30).p_value(0.2) == pytest.approx(2 * stats.t.sf(2, 30))
    assert Variance(0.0, 30).p_value(0.0) == 1.0


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
        p = {str(i): Variance(2.0, 10**9).p_value(one) for i, one in enumerate(differences)}
        wrong += min(holm(p).values()) <= LEVEL
    assert wrong / 400 <= 0.07
