"""The worked example of docs/theory.md, from counts to a new word: the same nine words, the same digits."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from psdvec.counts.count import count_pairs
from psdvec.counts.matrix import UNIT
from psdvec.options import make_recipe
from psdvec.solver.extend import extend
from psdvec.solver.pmi import pmi, weight
from psdvec.solver.ridge import prepare, word_cells
from tests.helpers import cells
from tests.reference.rounds import dense_rows, weights_and_targets
from tests.toy import fit_recipe, measured, problem_of, rounds_of

THEORY = (Path(__file__).parent.parent / "docs" / "theory.md").read_text(encoding="utf-8")
SENTENCES = [line.split() for line in ("the cat sat", "the dog sat", "a cat ran")]
RECIPE = make_recipe(
    unigram=1.0, saturation=1.0, majoriser=0.0, emphasis=0.0, rounds=2, ridge="2", damping=0.0
)
HALF = 2e-3  # the solver keeps pairs in half precision, the page shows three decimals of exact numbers


def counted():
    return count_pairs(SENTENCES, min_count=1, window=2)


def table(name):
    """Return the table of the page whose first heading is ``name``: its other headings, and the cells by row."""
    found = re.search(rf"\n\| {name} \|.*?\n\n", THEORY, re.DOTALL)
    header, _, *rows = (
        [cell.strip() for cell in line[1:-1].split("|")] for line in found[0].strip().splitlines()
    )
    return header[1:], {first: rest for first, *rest in rows}


def numbers(name):
    """Return the same table with its cells as numbers, empty ones as None."""
    headings, rows = table(name)
    return headings, {row: [float(cell) if cell else None for cell in shown] for row, shown in rows.items()}


def as_shown(found):
    """Compare with digits of the page, of which the last is rounded."""
    return pytest.approx(found, abs=5.1e-4)


def test_the_counts_of_the_nine_words():
    counts = counted()
    assert dict(zip(counts.vocabulary.words, counts.vocabulary.counts.tolist(), strict=True)) == {
        "cat": 2, "sat": 2, "the": 2, "a": 1, "dog": 1, "ran": 1,
    }  # fmt: skip
    assert cells(counts) == {
        ("the", "cat"): UNIT, ("the", "dog"): UNIT, ("the", "sat"): UNIT,
        ("cat", "sat"): UNIT, ("cat", "ran"): UNIT, ("dog", "sat"): UNIT,
        ("a", "cat"): UNIT, ("a", "ran"): UNIT // 2,
    }  # fmt: skip


def test_the_page_shows_the_same_counts():
    counts = counted()
    columns, rows = table("H")
    assert tuple(columns) == tuple(rows) == counts.vocabulary.words
    for word, shown in rows.items():
        found = counts.row(word)
        assert [float(cell or 0) for cell in shown] == [found.get(column, 0.0) for column in columns]


def test_the_scales_of_three_words():
    counts = counted()
    constants, scales = measured(counts, RECIPE)
    assert (constants.cap, constants.total) == (1.0, 7.5)
    for word, shown in numbers("scales")[1].items():
        i = counts.vocabulary.ids[word]
        s = scales.take(slice(i, i + 1))
        assert shown == as_shown(
            np.concatenate([s.row_sums, s.column_sums, s.unigrams, s.frequencies, s.rho]).tolist()
        )


def test_the_pmi_and_the_weight_of_each_pair():
    counts = counted()
    constants, s = measured(counts, RECIPE)
    for pair, (H, G, R) in numbers("pair")[1].items():
        first, second = pair.split()
        i, j = counts.vocabulary.ids[first], counts.vocabulary.ids[second]
        assert counts.row(first).get(second, 0.0) == H
        found = pmi(H, s.row_sums[i], s.unigrams[j], smoothing=0.2) if H else np.log(0.2)
        expected = s.frequencies[i] * s.frequencies[j]
        found_weight = weight(H, expected, s.majorisers[i] * s.majorisers[j], constants=constants)
        assert as_shown([found, found_weight]) == [G, R]
        if not H:
            assert as_shown(s.rho[i] * s.rho[j]) == R


def test_the_rounds_of_two_words():
    counts = counted()
    constants, scales = measured(counts, RECIPE, words=2)
    H = dense_rows(counts.indptr, counts.indices, counts.values / UNIT, 2)
    W, T, _, squares = weights_and_targets(H, scales, constants)
    rounds = rounds_of(problem_of(counts, RECIPE, words=2), rank=2, recipe=RECIPE)
    X = [(state.low_rank.vectors * state.low_rank.values) @ state.low_rank.vectors.T for state in rounds]
    objectives = [squares.sum(), *(state.objective for state in rounds)]
    shown = numbers("round")[1]
    found = (W, T, 0 * T, *X)
    assert len(shown) == len(found)
    for row, matrix in zip(shown.values(), found, strict=True):
        assert row[:3] == pytest.approx([matrix[0, 0], matrix[0, 1], matrix[1, 1]], abs=HALF)
    assert [row[3] for row in shown.values()][2:] == pytest.approx(objectives, abs=HALF)
    assert list(shown)[3] == f"X₁ = {float((T * T).sum() / (W * T * T).sum()):.3f} T"
    np.testing.assert_allclose(X[1], X[0] + 1.5 * (T - W * X[0]), atol=HALF)


def test_the_vectors_of_two_words():
    model = fit_recipe(counted(), RECIPE, dim=1, max_words=2)
    assert model.words == ("cat", "sat")
    assert model.signs.tolist() == [-1]
    shown = numbers("eigenpairs")[1]
    for name, found in (("constant", model.constant), ("vector", model.vectors[:, 0])):
        value, *entries = shown[name]
        assert entries == as_shown((found * np.sign(found[0])).tolist())
        assert value == as_shown(-float(found @ found))


def test_the_ridge_of_a_third_word():
    counts = counted()
    model = fit_recipe(counts, RECIPE, dim=1, max_words=2)
    up = np.sign([model.vectors[0, 0], model.constant[0]])  # an eigenvector's sign is arbitrary
    ids = np.array([counts.vocabulary.ids["the"]])
    setting = prepare(
        model, counts, ids, core=None, ridge="2", damping=0.0, unigrams="corpus", min_contexts=1
    )
    both, one = np.arange(2), np.ones(2)
    seen = word_cells(setting.scales, setting.old, setting.constants, both, one, both[:0], one[:0])
    background = 2 * setting.scales.rho * setting.old.rho
    R, Rg = seen.weights + background, seen.targets + background * np.log(0.2)
    F = setting.regressors.features * up
    for row, shown in enumerate(numbers("cell")[1].values()):
        assert shown == as_shown([*F[row].tolist(), R[row], Rg[row]])
    A, b = (F.T * R) @ F + 2 * np.eye(2), F.T @ Rg
    equations = re.findall(r"^ +(\S+) x₁ \+ (\S+) x₂ = +(\S+)$", THEORY, re.MULTILINE)
    assert [[float(number) for number in line] for line in equations] == [
        as_shown([*A[0], b[0]]),
        as_shown([*A[1], b[1]]),
    ]
    x1, x2 = map(float, re.search(r"is x₁ = (\S+); x₂ = (\S+) lies", THEORY).groups())
    assert [x1, x2] == as_shown(np.linalg.solve(A, b).tolist())
    placed = extend(model, counts, words=["the"], min_contexts=1)
    assert as_shown(float(placed.vectors[2, 0] * up[0])) == x1
