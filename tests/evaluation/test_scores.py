"""Intervals and paired tests: against SciPy's own, against counting all swaps, and made once per report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from psdvec.evaluation import scores
from psdvec.evaluation.statistics import (
    bootstrap_f1,
    bootstrap_mean,
    paired_f1_test,
    paired_test,
)
from psdvec.formats import save
from psdvec.vectors.embeddings import Embeddings

RESAMPLED = (
    "bootstrap_mean", "bootstrap_f1", "paired_test", "paired_f1_test",
    "correlation_interval", "share_interval", "variance_of",
)  # fmt: skip


def right_and_wrong(share: float, *, size: int = 60, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).random(size) < share).astype(float)


def span_table(seed: int, *, sentences: int = 40) -> np.ndarray:
    """Rows (right, found, gold) of made-up sentences."""
    generator = np.random.default_rng(seed)
    gold = generator.integers(1, 5, size=sentences)
    right = generator.binomial(gold, 0.7)
    return np.stack([right, right + generator.integers(0, 2, size=sentences), gold], axis=1).astype(float)


def f1(right: np.ndarray, found: np.ndarray, gold: np.ndarray, axis: int = -1) -> np.ndarray:
    return 2 * right.sum(axis=axis) / (found.sum(axis=axis) + gold.sum(axis=axis))


def interval_of_scipy(data: tuple[np.ndarray, ...], statistic, **options) -> tuple[float, float]:
    found = stats.bootstrap(
        data, statistic, n_resamples=20_000, method="percentile", rng=np.random.default_rng(1), **options
    )
    return found.confidence_interval.low, found.confidence_interval.high


def test_the_interval_of_a_mean_is_that_of_scipy():
    outcomes = right_and_wrong(0.7)
    expected = interval_of_scipy((outcomes,), np.mean)
    assert bootstrap_mean(outcomes, resamples=20_000) == pytest.approx(expected, abs=0.02)


def test_the_interval_of_f1_is_that_of_scipy():
    table = span_table(0)
    expected = interval_of_scipy(tuple(table.T), f1, paired=True, vectorized=True)
    assert bootstrap_f1(table, resamples=20_000) == pytest.approx(expected, abs=0.01)


def test_the_paired_test_is_the_permutation_test_of_scipy():
    first, second = right_and_wrong(0.8, seed=1), right_and_wrong(0.6, seed=2)
    expected = stats.permutation_test(
        (first, second), lambda x, y, axis: x.mean(axis=axis) - y.mean(axis=axis),
        permutation_type="samples", vectorized=True, n_resamples=20_000, rng=np.random.default_rng(3),
    ).pvalue  # fmt: skip
    assert 0.001 < expected < 0.9
    assert paired_test(first, second, resamples=20_000) == pytest.approx(expected, abs=0.015)


def test_the_paired_test_of_f1_equals_counting_all_swaps():
    first, second = span_table(4, sentences=10), span_table(5, sentences=10)
    observed = abs(f1(*first.T) - f1(*second.T))
    swaps = (np.arange(2**10)[:, None] >> np.arange(10)) & 1
    one = np.where(swaps[..., None] == 1, second, first)
    other = np.where(swaps[..., None] == 1, first, second)
    differences = np.abs(f1(*np.moveaxis(one, -1, 0)) - f1(*np.moveaxis(other, -1, 0)))
    expected = (differences >= observed - 1e-12).mean()
    assert paired_f1_test(first, second, resamples=40_000) == pytest.approx(expected, abs=0.01)


def count_resampling(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Return a counter that notes from now on how often each kind of resampling is done."""
    counts: Counter[str] = Counter()

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def count(*arguments: Any, **options: Any) -> Any:
            counts[name] += 1
            return function(*arguments, **options)

        return count

    for name in RESAMPLED:
        monkeypatch.setattr(scores, name, counted(name, getattr(scores, name)))
    return counts


WORDS = tuple(f"w{i}" for i in range(50))
PAIRS = "".join(f"w{i} w{i + 1} {i * 7 % 11}\n" for i in range(40))
CHOICES = "".join(f"w{i} | w{i + 1} | w{i + 2}\n" for i in range(40))
ANALOGIES = "".join(f"w{i} w{i + 1} w{i + 2} w{i + 3}\n" for i in range(40))


@pytest.mark.parametrize("form", [[], ["--json"], ["--csv"], ["--intervals", "--sections"]])
def test_a_report_is_resampled_once_however_many_forms_it_takes(run, tmp_path, monkeypatch, form):
    drawn = count_resampling(monkeypatch)
    generator = np.random.default_rng(0)
    for name in ("one", "two", "three"):
        save(Embeddings(WORDS, generator.standard_normal((50, 4)).astype(np.float32)), tmp_path / name)
    (tmp_path / "pairs.txt").write_text(PAIRS)
    (tmp_path / "analogies.txt").write_text(ANALOGIES)
    (tmp_path / "choices.txt").write_text(CHOICES)
    code, _, _ = run(
        "evaluate", *(tmp_path / name for name in ("one", "two", "three")), "--task", tmp_path / "pairs.txt",
        "--task", tmp_path / "analogies.txt", "--task", tmp_path / "choices.txt",
        "--html", tmp_path / "report.html", "-q", *form,
    )  # fmt: skip
    assert code == 0
    # three models; one column of pairs, two of analogies, one of choices; two models per column are tested against the
    # best
    assert drawn == {
        "correlation_interval": 3, "share_interval": 6, "variance_of": 3 * 5 + 2, "bootstrap_mean": 3, "paired_test": 2,
    }  # fmt: skip
