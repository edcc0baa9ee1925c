"""Weighted low-rank approximation of the PMI matrix, signed or positive semidefinite: the paper's core solver.

Goes in: a count store and a :class:`~psdvec.solver.recipe.Recipe`. Comes out: a :class:`~psdvec.solver.model.Model`
whose vectors fit the smoothed PMI of all pairs, weighted. The rounds are equation (7) of ``docs/theory.md``, in the
sparse plus low-rank form (8), each over-relaxed and safeguarded so that the objective (6) falls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from psdvec.errors import InputError, ResourceError
from psdvec.progress import LogProgress, Progress
from psdvec.resources import format_size
from psdvec.solver.devices import Backend, Tall, open_backend
from psdvec.solver.eigen import (
    BLOCK,
    Eigenpairs,
    improved_eigenpairs,
    krylov_width,
    leading_eigenpairs,
    nystrom_eigenpairs,
    orthonormal,
    ritz_pairs,
)
from psdvec.solver.model import Model
from psdvec.solver.pmi import Constants, WordScales, margins, measure_constants, word_scales
from psdvec.solver.problem import Problem, Residual, best_multiple, build_problem, residual_of
from psdvec.solver.recipe import RECIPES, Recipe
from psdvec.storage.atomic import whole_file

GUARDS = 8  # pairs iterated beside the wanted ones, at least, so that the last wanted ones converge too
ROUNDING = 1e-6  # a rise of the objective by this share is float32 rounding


@dataclass(frozen=True)
class Round:
    """Where the solver stands after a round: X as eigenpairs, zeros beyond the rank, the X before, the objective."""

    number: int
    low_rank: Eigenpairs
    previous: Eigenpairs | None
    objective: float


def fit(
    counts: Any,
    *,
    dim: int = 300,
    recipe: Recipe = RECIPES["default"],
    max_words: int | None = None,
    seed: int = 0,
    memory: int | None = None,
    device: str = "cpu",
    load_round: Callable[[], Round | None] = lambda: None,
    save_round: Callable[[Round], None] = lambda _: None,
    progress: Progress = LogProgress(),
) -> Model:
    """Fit vectors to ``counts`` (a :class:`~psdvec.counts.count.Cooccurrence`), all words at once.

    Parameters
    ----------
    counts
        The count store; every scale is measured on the whole of it.
    dim
        Numbers a word, d.
    recipe
        Every other number; see :class:`~psdvec.solver.recipe.Recipe`.
    max_words
        Fit only this many of the most frequent words.
    seed
        Of the eigensolver's random start. The same seed and threads give the same bytes.
    memory
        Bytes that may be used; what is available now, if None.
    device
        ``"cpu"``, ``"cuda"``, or ``"auto"``; the vectors are the same to rounding.
    load_round, save_round
        Called before the first and after each round, so that an interrupted fit can go on.

    Returns
    -------
    Model
        Vectors (n, dim) float32, and what is needed to place new words later.
    """
    if dim < 1:
        raise InputError(f"{dim} dimensions cannot hold a vector; give 1 or more")
    n = min(max_words or len(counts.vocabulary), len(counts.vocabulary))
    row_sums, column_sums = margins(counts)
    constants = measure_constants(counts, row_sums, column_sums, recipe=recipe)
    scales = word_scales(row_sums[:n], column_sums[:n], constants)
    backend = open_backend(device)
    needed = predicted_memory(backend, counts, dim=dim, words=n, recipe=recipe)
    limit = backend.available_memory() if memory is None else memory
    check_memory(needed, limit, dim=dim, words=n)
    with progress.stage("weights", total=None, unit="pairs"):
        problem = build_problem(backend, counts, scales, constants, recipe=recipe)
    if problem.constant <= 0:
        raise InputError(
            f"no pair is left to fit, all differ from an unseen one by less than {recipe.negligible}; "
            "give a smaller --negligible"
        )
    last = solve(
        problem, rank=rank_of(dim, n, recipe), recipe=recipe, seed=seed,
        load_round=load_round, save_round=save_round, progress=progress,
    )  # fmt: skip
    low_rank = Eigenpairs(backend.get(last.low_rank.vectors), last.low_rank.values)
    return _to_model(counts, dim, low_rank, constants, scales, recipe)


def solve(
    problem: Problem,
    *,
    rank: int,
    recipe: Recipe,
    seed: int = 0,
    load_round: Callable[[], Round | None] = lambda: None,
    save_round: Callable[[Round], None] = lambda _: None,
    progress: Progress = LogProgress(),
) -> Round:
    """Run the rounds of ``recipe`` and return the last; equation (7)."""

    def done(state: Round) -> None:
        stage.advance(1)
        progress.say(f"round {state.number}: objective {state.objective / problem.constant:.6f}")
        save_round(_moved(state, problem.backend.get))

    with progress.stage("rounds", total=recipe.rounds, unit="rounds") as stage:
        state = load_round()
        if state is None:
            state, residual = _first_round(problem, rank=rank, recipe=recipe, seed=seed)
            done(state)
        else:
            progress.say(f"going on after round {state.number}")
            state = _moved(state, problem.backend.put)
            stage.advance(state.number)
            residual = _go_on(problem, state, recipe)
        while state.number < recipe.rounds:
            state, residual = _next_round(residual, state, rank=rank, recipe=recipe)
            done(state)
    return state


def _moved(state: Round, move: Callable[[Any], Any]) -> Round:
    """Return ``state`` with its blocks brought to the device, or back."""
    old = state.previous
    return replace(
        state,
        low_rank=Eigenpairs(move(state.low_rank.vectors), state.low_rank.values),
        previous=None if old is None else Eigenpairs(move(old.vectors), old.values),
    )


def _first_round(problem: Problem, *, rank: int, recipe: Recipe, seed: int) -> tuple[Round, Residual]:
    """Approximate the first matrix of equation (7), at X = 0 or X = G/2, from a random start."""
    half = recipe.relaxation if recipe.start == "half" else None
    backend, n, count = problem.backend, len(problem), _count(rank, len(problem))
    head = min(recipe.head or n, n)

    def operator(block: Tall) -> Tall:
        return problem.start_times(block, half=half)

    pairs = leading_eigenpairs(
        backend, operator, head, count=min(count, head), spectrum=recipe.spectrum, seed=seed
    )
    if head < n:
        carried = backend.zeros(n, pairs.values.size)
        carried[:head] = pairs.vectors
        basis = orthonormal(backend, operator(carried))
        pairs = ritz_pairs(backend, basis, operator(basis), count=count, spectrum=recipe.spectrum)
    low_rank = _truncated(pairs, rank, recipe)
    if half is None:
        low_rank, residual = best_multiple(problem, low_rank)
    else:
        residual = residual_of(problem, low_rank, with_image=recipe.rounds > 1)
    return Round(1, low_rank, None, residual.objective), residual


def _go_on(problem: Problem, state: Round, recipe: Recipe) -> Residual:
    """Make the residual of a saved round again, bit by bit as it was."""
    if state.previous is not None:
        residual_of(problem, state.previous, with_image=False)
    return residual_of(problem, state.low_rank, previous=state.previous, momentum=recipe.momentum)


def _next_round(residual: Residual, state: Round, *, rank: int, recipe: Recipe) -> tuple[Round, Residual]:
    """One round of equation (7): long and ahead, and again short and safe if that raised the objective."""
    problem, old, number = residual.problem, state.low_rank, state.number + 1
    previous = (
        old if state.number > 1 else None
    )  # the first X is a multiple of another's, no step to go on with
    options: dict[str, Any] = {"count": _count(rank, len(problem)), "spectrum": recipe.spectrum}
    pairs = nystrom_eigenpairs(
        problem.backend, old.vectors, residual.step_image(recipe.relaxation), **options
    )
    for safe in (False, True):
        if safe:
            plain = residual_of(problem, old)
            pairs = improved_eigenpairs(
                problem.backend, plain.times, old.vectors, plain.step_image(1.0), **options
            )
        low_rank = _truncated(pairs, rank, recipe)
        new = residual_of(
            problem, low_rank, previous=previous, momentum=recipe.momentum, with_image=number < recipe.rounds
        )
        if new.objective <= state.objective * (1 + ROUNDING):
            break
    return Round(number, low_rank, previous, new.objective), new


def _truncated(pairs: Eigenpairs, rank: int, recipe: Recipe) -> Eigenpairs:
    """Zero the eigenvalues beyond the rank, and negative ones where the spectrum is positive."""
    values = pairs.values.copy()
    values[rank:] = 0
    return Eigenpairs(pairs.vectors, np.maximum(values, 0) if recipe.spectrum == "positive" else values)


def rank_of(dim: int, words: int, recipe: Recipe) -> int:
    """Rank of X: the dimensions, and one more for the constant direction of a signed spectrum (F5)."""
    return min(dim + (recipe.spectrum == "signed"), words)


def _count(rank: int, words: int) -> int:
    """Pairs to iterate: the rank and its guards, filled up to whole blocks."""
    return min(-(-(rank + GUARDS) // BLOCK) * BLOCK, words)


def predicted_memory(backend: Backend, counts: Any, *, dim: int, words: int, recipe: Recipe) -> int:
    """Predict the largest number of bytes a fit holds at once, the count store itself apart."""
    count = _count(rank_of(dim, words, recipe), words)
    head = min(recipe.head or words, words)
    cold = 2 * min(krylov_width(count), head) * head // words
    return backend.predicted_memory(counts, words, columns=max(cold, 10 * count)) + 100_000_000


def check_memory(needed: int, limit: int, *, dim: int, words: int) -> None:
    """Raise :class:`ResourceError` where ``needed`` bytes are more than the ``limit``."""
    if needed <= limit:
        return
    fewer = int(words * limit / needed * 0.9)
    raise ResourceError(
        f"fitting {words} words in {dim} dimensions needs about {format_size(needed)} of memory, and "
        f"{format_size(limit)} are to be had; fit fewer words at once, --core {max(fewer, 1)}, and leave "
        "the others to the ridge"
    )


def _to_model(
    counts: Any, dim: int, low_rank: Eigenpairs, constants: Constants, scales: WordScales, recipe: Recipe
) -> Model:
    """Split X = V J Vᵀ into vectors, signs and the constant direction, and undo the emphasis."""
    n, values = len(scales), low_rank.values
    kept = np.flatnonzero(values)
    rows = low_rank.vectors[:, kept] * np.sqrt(np.abs(values[kept])).astype(np.float32)
    rows /= scales.emphases[:, None].astype(np.float32)
    signs = np.sign(values[kept])
    constant = np.zeros(n, np.float32)
    if recipe.spectrum == "signed" and (signs < 0).any():
        place = int(np.argmin(values[kept]))
        constant = rows[:, place]
        rows, signs = np.delete(rows, place, axis=1), np.delete(signs, place)
    vectors = np.zeros((n, dim), np.float32)
    vectors[:, : min(dim, rows.shape[1])] = rows[:, :dim]
    all_signs = np.ones(dim, np.float32)
    all_signs[: min(dim, signs.size)] = signs[:dim]
    return Model(
        words=counts.vocabulary.words[:n],
        counts=np.array(counts.vocabulary.counts[:n]),
        vectors=vectors,
        deviations=np.full(n, np.nan, np.float32),
        signs=all_signs,
        constant=np.ascontiguousarray(constant),
        row_sums=scales.row_sums,
        column_sums=scales.column_sums,
        constants=constants,
        recipe=recipe,
        core=n,
        counting=dict(counts.parameters),
        sources=(),
    )


def write_round(path: Path, state: Round) -> None:
    """Save ``state`` as the file ``path``, whole or not at all."""
    old = state.previous
    with whole_file(path) as file:
        np.savez(
            file,
            number=state.number,
            objective=state.objective,
            vectors=state.low_rank.vectors,
            values=state.low_rank.values,
            **({} if old is None else {"old_vectors": old.vectors, "old_values": old.values}),
        )


def read_round(path: Path) -> Round | None:
    """Read what :func:`write_round` saved; None where there is nothing, or nothing whole."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            pairs = Eigenpairs(arrays["vectors"], arrays["values"])
            old = Eigenpairs(arrays["old_vectors"], arrays["old_values"]) if "old_values" in arrays else None
            return Round(int(arrays["number"]), pairs, old, float(arrays["objective"]))
    except (OSError, EOFError, ValueError, KeyError, BadZipFile):
        return None
