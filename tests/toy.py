"""Small count stores for the solver's tests: real counts of drawn sentences, so that every path is the product's."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from psdvec.counts.count import count_pairs
from psdvec.counts.matrix import Cooccurrence
from psdvec.options import Recipe
from psdvec.solver import rounds
from psdvec.solver.devices import Device, open_device
from psdvec.solver.devices.cpu_pairs import layout_of
from psdvec.solver.fit import fit
from psdvec.solver.pmi import WordScales, margins, measure_constants, word_scales
from psdvec.solver.rounds import Problem, Round, build_problem
from psdvec.vectors.model import Constants, Model


def drawn_counts(
    *, words: int = 60, sentences: int = 400, topics: int = 6, seed: int = 0, **options
) -> Cooccurrence:
    """Count sentences in which each topic prefers its own words, some words being more frequent than others."""
    rng = np.random.default_rng(seed)
    frequency = 1 / np.arange(1, words + 1)
    topic_of = np.arange(words) % topics
    lines = []
    for _ in range(sentences):
        chance = frequency * np.where(topic_of == rng.integers(topics), 6.0, 1.0)
        lines.append([f"w{i}" for i in rng.choice(words, size=12, p=chance / chance.sum())])
    return count_pairs(lines, **{"min_count": 1, "window": 4, **options})


def measured(counts: Cooccurrence, recipe: Recipe, words: int | None = None) -> tuple[Constants, WordScales]:
    """Measure the constants of ``recipe`` on ``counts``, and the scales of the first ``words`` words, or of all."""
    rows, columns = margins(counts)
    constants = measure_constants(counts, rows, columns, recipe=recipe)
    return constants, word_scales(rows[:words], columns[:words], constants)


def scales_of(model: Model) -> WordScales:
    """Return the scales of the core words of ``model``."""
    return word_scales(model.row_sums, model.column_sums, model.constants)


def problem_of(
    counts: Cooccurrence, recipe: Recipe, words: int | None = None, device: Device | None = None
) -> Problem:
    """Build the problem of the first ``words`` words of ``counts``, or of all."""
    constants, scales = measured(counts, recipe, words)
    return build_problem(device or open_device(), counts, scales, constants, recipe=recipe)


def fit_recipe(counts: Cooccurrence, recipe: Recipe, **options) -> Model:
    """Fit ``counts`` by a recipe that has no name."""
    return fit(counts, changes=asdict(recipe), **options)


def dense_widths(counts: Cooccurrence, words: int) -> np.ndarray:
    """Return how many of the first columns of each row the CPU keeps dense, (n,)."""
    return np.concatenate([np.full(extent.rows, extent.width) for extent in layout_of(counts, words)])


def rounds_of(problem: Problem, **options: Any) -> list[Round]:
    """Return every round of a fit, as it would be kept."""
    found: list[Round] = []
    keep = mock.patch.multiple(rounds, KEPT_AFTER=0, write_round=lambda _, state: found.append(state))
    with keep:
        rounds.solve(problem, **options, file=Path("no such file"))
    return found
