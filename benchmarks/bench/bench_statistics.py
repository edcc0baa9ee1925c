"""Whether the tests and intervals of an evaluation hold: type I error, power and coverage, by simulation.

python -m benchmarks.bench.bench_statistics [--draws 2000] [--only PART ...]
python -m benchmarks.bench.bench_statistics --draws 2000 --only words seeds --testsets testsets --record statistics.json

words: two equally good models at the pairs of real sets, where a share of what people say and of what models get wrong
belongs to words, so that pairs with a word in common err together; also of means over sets that share words and pairs.
seeds: two methods, each trained with several seeds, of which some are better than others.

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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.lib.measure import markdown
from benchmarks.lib.records import write_record
from benchmarks.lib.tables import RESULTS
from scipy import stats

from psdvec.evaluation.scores import holm
from psdvec.evaluation.statistics import (
    Parts,
    paired_test,
    share_interval,
    spearman,
    spearman_values,
    variance_of,
)
from psdvec.evaluation.testsets import column_title, find_tasks

LEVEL = 0.05
SIZES = (65, 200, 400, 1000, 3000)
PARTS = ("correlations", "unlike", "words", "seeds", "analogies", "coverage", "family")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument(
        "--testsets", default=None, help="folder of the sets that words and seeds take pairs from"
    )
    parser.add_argument(
        "--record", default=None, help="write words and seeds to this file of benchmarks/results"
    )
    options = parser.parse_args()
    figures: dict[str, Any] = {"draws": options.draws}
    for part in options.only:
        print(f"\n{part}")
        start = time.perf_counter()
        if part in ("words", "seeds"):
            figures[part] = globals()[f"measure_{part}"](options.draws, options.testsets)
        else:
            globals()[f"show_{part}"](options.draws)
        print(f"  {time.perf_counter() - start:.0f} s")
    if options.record:
        write_record(RESULTS / Path(options.record).name, figures)


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


def used_test(first, second, links=None):
    """Test the difference of what items contribute to two scores, as psdvec does."""
    parts = Parts(first - second, links)
    return variance_of(parts).p_value(parts.mean)


def t_test(values):
    n = len(values)
    return 2 * stats.t.sf(abs(values.mean()) / (values.std(ddof=1) / np.sqrt(n)), n - 1)


def rejections(make, arguments, draws, *, bootstrap=False, seed=0):
    """Return how often each test finds a difference: ours, products, Pearson's influence; if asked, the bootstrap."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(draws):
        gold, one, other = make(rng, *arguments)
        p = [used_test(spearman_values(gold, one), spearman_values(gold, other))]
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


# Pairs that share words, sets that share pairs, and seeds

HALVES = ("ws353-similarity", "ws353-relatedness")
SETS = (("rg-65",), (HALVES[0],), ("simlex-999",), ("men",), HALVES, ("rg-65", *HALVES, "simlex-999", "men"))
NOISE = (0.0, 0.3, 0.6)  # share of scores and of errors that belongs to words
SEEDS = ((2, 0.0), (2, 0.1), (3, 0.0), (3, 0.1), (5, 0.0), (5, 0.1))  # how many, and how unequal


def read_sets(names: Sequence[str], folder: str | None) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the two words of each different pair of some sets, and the pairs of each set, both as numbers."""
    words: dict[Any, int] = {}
    pairs: dict[tuple[int, ...], int] = {}
    sets = [
        np.array([pairs.setdefault((*sorted(pair),), len(pairs)) for pair in task.links(words).tolist()])
        for task in find_tasks(names, folder=folder)
    ]
    return np.array([*pairs]), sets


def draw_pairs(rng, links, noise, count):
    """Return so many (n,) variables of the pairs, with a variance of 1, of which a share belongs to their words."""
    words = rng.standard_normal((count, links.max() + 1))
    own = rng.standard_normal((count, len(links)))
    return np.sqrt(noise / 2) * words[:, links].sum(axis=2) + np.sqrt(1 - noise) * own


def measure_words(draws: int, folder: str | None) -> list[dict[str, Any]]:
    """Return, for sets and means of sets, how often tests find a difference between two equally good models."""
    print("type I of tests at 5 %: items alone, used; standard errors, used / items alone")
    rows = []
    for names in SETS:
        links, sets = read_sets(names, folder)
        for noise in NOISE:
            rng = np.random.default_rng(0)
            found = [judge_sets(links, sets, *equal_models(rng, links, noise)) for _ in range(draws)]
            alone, used, ratio = np.mean(found, axis=0).tolist()
            row = {"sets": names, "pairs": sum(map(len, sets)), "words": int(links.max() + 1), "noise": noise}
            rows.append({**row, "alone": alone, "used": used, "ratio": ratio})
            print(f"  {', '.join(names):40s} {noise:.1f}  {alone:.3f} {used:.3f} {ratio:.2f}", flush=True)
    return rows


def equal_models(rng, links, noise, level=0.7):
    """Return rounded human scores of pairs, and the cosines of two models that are equally good."""
    gold, error, first, second = draw_pairs(rng, links, noise, 4)
    models = [level * gold + np.sqrt(1 - level**2) * (error + own) / np.sqrt(2) for own in (first, second)]
    return np.round(2 * gold) / 2, *models


def judge_sets(links, sets, gold, one, other):
    """Return whether a difference in the mean over sets is found, without and with shared words; how errors compare."""
    values = [spearman_values(gold[s], one[s]) - spearman_values(gold[s], other[s]) for s in sets]
    mean = np.mean([own.mean() for own in values])
    alone = np.sqrt(sum(own.var(ddof=1) / len(own) for own in values)) / len(sets)
    used = variance_of(*(Parts(own, links[s]) for own, s in zip(values, sets, strict=True)))
    p = 2 * stats.t.sf(abs(mean) / alone, sum(map(len, sets)) - len(sets))
    return p <= LEVEL, used.p_value(mean) <= LEVEL, used.error / alone


def measure_seeds(draws: int, folder: str | None) -> list[dict[str, Any]]:
    """Return the same for two methods with several seeds, of which some are better than others."""
    print("type I of tests at 5 %: other items only, used")
    rows = []
    for name in (HALVES[0], "men"):
        links, _ = read_sets([name], folder)
        for seeds, unequal in SEEDS:
            rng = np.random.default_rng(0)
            found = []
            for _ in range(draws // 4):
                parts = equal_methods(rng, links, seeds, unequal)
                only = variance_of(Parts(parts.values, links))
                found.append([v.p_value(parts.mean) <= LEVEL for v in (only, variance_of(parts))])
            items, used = np.mean(found, axis=0).tolist()
            rows.append({"set": name, "seeds": seeds, "unequal": unequal, "items": items, "used": used})
            print(f"  {name:10s} {seeds} {unequal:.1f}  {items:.3f} {used:.3f}", flush=True)
    return rows


def equal_methods(rng, links, seeds, unequal, noise=0.5):
    """Return what pairs contribute to the difference of two methods, whose seeds are ``unequal`` on the whole."""
    gold, *own = draw_pairs(rng, links, noise, 3)
    values = []
    for error in own:
        levels = 1 + unequal * rng.standard_normal((seeds, 1))
        cosines = levels * gold + 0.7 * error + 0.2 * draw_pairs(rng, links, noise, seeds)
        values.append(spearman_values(gold, cosines))
    difference = values[0].mean(axis=0) - values[1].mean(axis=0)
    return Parts(difference, links, tuple(one.mean(axis=1) for one in values))


def table(record: dict[str, Any]) -> str:
    """Return type I errors of similarity sets and their means, in percent."""
    titles = ("test of", "pairs", "words", "noise of words", "items alone", "used",
              "its error, by that of items alone")  # fmt: skip
    rows = []
    for row in record["words"]:
        names = [column_title(name) for name in row["sets"]]
        what = names[0] if len(names) == 1 else f"the mean of {', '.join(names)}"
        cells = (f"{100 * row['noise']:.0f} %", f"{100 * row['alone']:.1f}", f"{100 * row['used']:.1f}")
        rows.append((what, f"{row['pairs']:,}", f"{row['words']:,}", *cells, f"{row['ratio']:.2f}"))
    return markdown(titles, rows)


def seed_table(record: dict[str, Any]) -> str:
    """Return type I errors of methods with several seeds, in percent."""
    lines = ["| set | seeds | they differ | other items only | used |", "|---|---:|---|---:|---:|"]
    for row in record["seeds"]:
        differ = "as a whole" if row["unequal"] else "at single words"
        found = f"{100 * row['items']:.1f} | {100 * row['used']:.1f}"
        lines.append(f"| {column_title(row['set'])} | {row['seeds']} | {differ} | {found} |")
    return "\n".join(lines)


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
                    found.append((used_test(one, other, pairs), t_test(one - other)))
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
                    share = float(one.mean())
                    low, high = share_interval(share, variance_of(Parts(one - share, pairs)))
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
