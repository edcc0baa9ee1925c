"""Whether the tests and intervals of an evaluation hold: type I error, power and coverage, by simulation.

python -m benchmarks.bench.bench_statistics [--draws 2000] [--only correlations unlike analogies coverage family]

correlations: two models are noisy copies of one signal, and human scores are rounded, so that they tie. Under the null
hypothesis the models are equally good, and a test at 5 % should find a difference in 5 of 100 sets; otherwise the
second is so much worse that tests find it about half of the time. The test that is used stands beside a paired
bootstrap, and beside what one gets from products of ranks, or from Pearson's influence values of ranks. unlike: the
second model is equally good on the whole but sure of similar pairs and vague about others. analogies: questions share
pairs of words, as those of Google and MSR do, and pairs have effects. coverage: how often the interval of a share of
such questions holds the true share. family: eleven equal models, and how often one of them is taken for worse than
the best.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy import stats

from psdvec.evaluation.scores import holm
from psdvec.evaluation.statistics import (
    cluster_interval,
    paired_cluster_test,
    paired_spearman_test,
    paired_test,
    spearman,
)

LEVEL = 0.05
SIZES = (65, 200, 400, 1000, 3000)
PARTS = ("correlations", "unlike", "analogies", "coverage", "family")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    options = parser.parse_args()
    for part in options.only:
        print(f"\n{part}")
        start = time.perf_counter()
        globals()[f"show_{part}"](options.draws)
        print(f"  {time.perf_counter() - start:.0f} s")


# Rank correlations


def alike(rng, n, first, second, shared):
    """Return rounded human scores and two models' cosines that correlate with them; their errors are partly shared."""
    gold, error = rng.standard_normal((2, n))
    models = [
        a * gold
        + np.sqrt(1 - a**2) * (np.sqrt(shared) * error + np.sqrt(1 - shared) * rng.standard_normal(n))
        for a in (first, second)
    ]
    return np.round(2 * gold) / 2, *models


def unlike(rng, n, first, vague, shared):
    """Return the same, but the second model errs the more the less similar a pair is."""
    gold, error = rng.standard_normal((2, n))
    noise = [np.sqrt(shared) * error + np.sqrt(1 - shared) * rng.standard_normal(n) for _ in range(2)]
    one = first * gold + np.sqrt(1 - first**2) * noise[0]
    return np.round(2 * gold) / 2, one, gold + vague * np.exp(-gold / 2) * noise[1]


def equally_good(first, shared):
    """Return how vague the second of two unlike models must be to correlate with human scores as the first does."""
    low, high = 0.01, 20.0
    for _ in range(20):
        middle = np.sqrt(low * high)
        gold, one, other = unlike(np.random.default_rng(5), 400_000, first, middle, shared)
        low, high = (middle, high) if spearman(gold, other) > spearman(gold, one) else (low, middle)
    return middle


def standard_ranks(values):
    return stats.zscore(stats.rankdata(values, axis=-1), axis=-1)


def by_products(gold, one, other):
    """Test the difference of products of standardised ranks, as psdvec did before."""
    z, x, y = (standard_ranks(values) for values in (gold, one, other))
    return t_test(z * x - z * y)


def by_pearson(gold, one, other):
    """Test the difference of Pearson's influence values of ranks."""
    z, x, y = (standard_ranks(values) for values in (gold, one, other))
    r, s = (z * x).mean(), (z * y).mean()
    values = (z * x - r * (z**2 + x**2) / 2 + r) - (z * y - s * (z**2 + y**2) / 2 + s)
    return t_test(values)


def by_bootstrap(gold, one, other, rng, resamples=199):
    """Test the difference by a paired percentile bootstrap."""
    chosen = rng.integers(len(gold), size=(resamples, len(gold)))
    z, x, y = (standard_ranks(values[chosen]) for values in (gold, one, other))
    differences = (z * x - z * y).mean(axis=1)
    tail = min((differences <= 0).sum(), (differences >= 0).sum())
    return 2 * (tail + 1) / (resamples + 1)


def t_test(values):
    n = len(values)
    return 2 * stats.t.sf(abs(values.mean()) / (values.std(ddof=1) / np.sqrt(n)), n - 1)


def rejections(make, arguments, draws, *, bootstrap=False, resamples=199, seed=0):
    """Return how often each test finds a difference: ours, products, Pearson's influence; if asked, the bootstrap."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(draws):
        gold, one, other = make(rng, *arguments)
        p = [paired_spearman_test(gold, one[None], other[None], resamples=resamples, seed=i)]
        p += [by_products(gold, one, other), by_pearson(gold, one, other)]
        if bootstrap:
            p.append(by_bootstrap(gold, one, other, np.random.default_rng(i)))
        found.append(p)
    return (np.array(found) <= LEVEL).mean(axis=0)


def show_correlations(draws):
    print(
        "   n   corr. shared   type I: used   prod.  Pearson   power: used   prod.  Pearson   boot.  (draws)"
    )
    for n in SIZES:
        few = min(draws, max(100, 200_000 // n))
        for first in (0.3, 0.6, 0.85):
            for shared in (0.3, 0.9):
                worse = first - 2.2 * (1 - first**2) * np.sqrt(2 * (1 - shared) / n)
                equal = rejections(alike, (n, first, first, shared), draws)
                power = rejections(alike, (n, first, worse, shared), few, bootstrap=True, seed=1)
                cells = "  ".join(f"{value:6.3f}" for value in (*equal, *power))
                print(f"{n:5d}  {first:5.2f}  {shared:5.2f}   {cells}   ({few})", flush=True)


def show_unlike(draws):
    print("   n   corr. shared   type I: used  prod.  Pearson")
    for first in (0.3, 0.6, 0.85):
        for shared in (0.3, 0.9):
            vague = equally_good(first, shared)
            for n in SIZES:
                found = rejections(unlike, (n, first, vague, shared), draws)
                cells = "  ".join(f"{value:6.3f}" for value in found)
                print(f"{n:5d}  {first:5.2f}  {shared:5.2f}   {cells}", flush=True)


# Analogies

LAYOUTS = {"Google": (14, 39, None), "MSR": (8, 100, 10), "small": (1, 20, None)}  # sections, pairs, partners


def question_pairs(rng, sections, size, partners):
    """Return the two pairs of words of each question: within a section all couples, or so many partners for each."""
    found = []
    for section in range(sections):
        if partners is None:
            couples = [(p, q) for p in range(size) for q in range(size) if p != q]
        else:
            couples = [
                (p, int(q)) for p in range(size) for q in rng.choice(size, partners, replace=False) if q != p
            ]
        found.append(np.array(couples) + section * size)
    return np.concatenate(found)


def answers(rng, pairs, level, *, effect, shared):
    """Return two models' right and wrong answers; a pair of words makes its questions easier or harder for each."""
    count = pairs.max() + 1
    common = rng.standard_normal(count)
    models = []
    for own in level:
        ease = np.sqrt(shared) * common + np.sqrt(1 - shared) * rng.standard_normal(count)
        latent = own + effect * (ease[pairs[:, 0]] + ease[pairs[:, 1]]) + rng.standard_normal(len(pairs))
        models.append((latent > 0).astype(float))
    return models


def show_analogies(draws):
    print("layout  effect  type I: used  by question   power: used  by question")
    for name, layout in LAYOUTS.items():
        pairs = question_pairs(np.random.default_rng(0), *layout)
        for effect in (0.0, 0.3, 1.0):
            cells = []
            for step, seed in ((0.0, 0), (0.15, 1)):
                rng = np.random.default_rng(seed)
                found = []
                for _ in range(draws // 2):
                    one, other = answers(rng, pairs, (0.0, -step), effect=effect, shared=0.5)
                    found.append((paired_cluster_test(one, other, pairs), t_test(one - other)))
                cells += list((np.array(found) <= LEVEL).mean(axis=0))
            print(f"{name:7s} {effect:5.1f}   " + "  ".join(f"{value:8.3f}" for value in cells), flush=True)


def show_coverage(draws):
    print("layout  effect  level  coverage: used  by question")
    for name, layout in LAYOUTS.items():
        pairs = question_pairs(np.random.default_rng(0), *layout)
        for effect in (0.0, 0.3, 1.0):
            for level in (0.0, 1.5):
                truth = stats.norm.cdf(level / np.sqrt(1 + 2 * effect**2))
                rng = np.random.default_rng(0)
                held = []
                for _ in range(draws // 2):
                    one = answers(rng, pairs, (level,), effect=effect, shared=0.5)[0]
                    low, high = cluster_interval(one, pairs)
                    half = 1.96 * one.std() / np.sqrt(len(one))
                    held.append((low <= truth <= high, abs(one.mean() - truth) <= half))
                cells = "  ".join(f"{value:8.3f}" for value in np.mean(held, axis=0))
                print(f"{name:7s} {effect:5.1f}  {level:5.1f}   {cells}", flush=True)


# Many comparisons


def show_family(draws):
    print("models  none taken for worse, p: unadjusted   Holm over m − 1   used")
    for m in (3, 11):
        rng = np.random.default_rng(0)
        found = []
        for i in range(draws // 4):
            right = (rng.random((m, 400)) < 0.3 + 0.4 * rng.random(400)).astype(float)
            best = int(right.mean(axis=1).argmax())
            p = {
                str(k): paired_test(right[k], right[best], resamples=9999, seed=i)
                for k in range(m)
                if k != best
            }
            lowest = min(p.values())
            found.append((lowest, min(1, lowest * (m - 1)), min(holm(p).values())))
        print(f"{m:6d}   " + "  ".join(f"{value:8.3f}" for value in (np.array(found) > LEVEL).mean(axis=0)))


if __name__ == "__main__":
    main()
