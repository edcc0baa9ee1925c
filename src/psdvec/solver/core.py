"""The rounds of the core solver: weighted low-rank approximation of the PMI matrix, signed or positive semidefinite.

Takes a :class:`~psdvec.solver.problem.Problem` and returns its last :class:`Round`, whose X fits the smoothed PMI of
all pairs, weighted. The rounds are equation (7) of ``docs/theory.md`` in the sparse plus low-rank form (8), each
over-relaxed and safeguarded so that the objective (6) falls.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.options import Recipe
from psdvec.progress import LogProgress, Progress
from psdvec.solver.devices import Device, Tall
from psdvec.solver.eigen import (
    Eigenpairs,
    Operator,
    improved_eigenpairs,
    iterated_pairs,
    leading_eigenpairs,
    leading_of,
    nystrom_eigenpairs,
    orthonormal,
    truncated,
)
from psdvec.solver.problem import Problem, Residual, best_multiple, residual_of
from psdvec.storage.arrays import write_npy
from psdvec.storage.workspace import piece_file

ROUNDING = 1e-6  # a rise of the objective by this share is float32 rounding


@dataclass(frozen=True)
class Round:
    """Where the solver stands after a round: X as eigenpairs, zeros beyond the rank, the X before, the objective.

    After a first round from zero there is the ``image`` of the residual, which no later pass gives to the same bits.
    """

    number: int
    low_rank: Eigenpairs
    previous: Eigenpairs | None
    objective: float
    image: Tall | None = None


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
    """Run the rounds of ``recipe`` and return the last; equation (7).

    ``load_round`` is called before the first round and ``save_round`` after each, so that an interrupted fit can be
    resumed; saved rounds are NumPy arrays, whatever the device.
    """
    with progress.stage("rounds", total=recipe.rounds, unit="rounds") as stage:
        saved = load_round()
        if saved is None:
            state, residual = _first_round(problem, rank=rank, recipe=recipe, seed=seed)
        else:
            progress.say(f"resuming after round {saved.number}")
            stage.advance(saved.number)
            state, residual = _resume(problem, saved, recipe)
        while True:
            if saved is None or state.number > saved.number:
                get, new, old = problem.device.get, state.low_rank, state.previous
                kept = replace(
                    state,
                    low_rank=Eigenpairs(get(new.vectors), new.values),
                    previous=old and Eigenpairs(get(old.vectors), old.values),
                    image=None if state.image is None else get(state.image),
                )
                stage.advance(1)
                progress.say(f"round {state.number}: objective {state.objective / problem.constant:.6f}")
                save_round(kept)
            if state.number >= recipe.rounds:
                return state
            state, residual = _next_round(residual, state, rank=rank, recipe=recipe)


def _first_round(problem: Problem, *, rank: int, recipe: Recipe, seed: int) -> tuple[Round, Residual]:
    """Approximate the first matrix of equation (7), at X = 0 or X = G/2, from a random start."""
    half = recipe.relaxation if recipe.start == "half" else None
    device, n = problem.device, problem.words
    count, head = iterated_pairs(rank, n), min(recipe.head or n, n)
    operator = partial(problem.start_times, half=half)
    pairs = leading_eigenpairs(
        device, operator, head, count=min(count, head), spectrum=recipe.spectrum, seed=seed
    )
    if head < n:
        pairs, image = _carried_over(device, operator, pairs, n, count=count, spectrum=recipe.spectrum)
    else:
        image = operator(pairs.vectors)
    low_rank = truncated(pairs, rank, spectrum=recipe.spectrum)
    if half is None:
        residual = best_multiple(problem, low_rank, image)
        return Round(1, residual.low_rank, None, residual.objective, residual.image), residual
    residual = residual_of(problem, low_rank, with_image=recipe.rounds > 1)
    return Round(1, low_rank, None, residual.objective), residual


def _carried_over(
    device: Device, operator: Operator, pairs: Eigenpairs, n: int, *, count: int, spectrum: str
) -> tuple[Eigenpairs, Tall]:
    """Return eigenpairs of all n words from those of the first ones, and the operator times them."""
    start = device.zeros(n, pairs.values.size)
    start[: pairs.vectors.shape[0]] = pairs.vectors
    product = operator(start)
    del start, pairs  # as large as what follows
    basis = orthonormal(device, product)
    product = operator(basis)
    values, rotation = leading_of(device.gram(basis, product), count=count, spectrum=spectrum)
    return Eigenpairs(device.combine(basis, rotation), values), device.combine(product, rotation)


def _resume(problem: Problem, saved: Round, recipe: Recipe) -> tuple[Round, Residual]:
    """Bring a saved round to the device, with its residual to the same bits."""
    put, new, old = problem.device.put, saved.low_rank, saved.previous
    low_rank = Eigenpairs(put(new.vectors), new.values)
    previous = old and Eigenpairs(put(old.vectors), old.values)
    if saved.image is not None:
        return replace(saved, low_rank=low_rank), Residual(problem, low_rank, (low_rank,), put(saved.image))
    if previous is not None:
        residual_of(problem, previous, with_image=False)
    residual = residual_of(problem, low_rank, previous=previous, momentum=recipe.momentum)
    return replace(saved, low_rank=low_rank, previous=previous), residual


def _next_round(residual: Residual, state: Round, *, rank: int, recipe: Recipe) -> tuple[Round, Residual]:
    """Do one round of equation (7): a long step from ahead, and a short and safe one if that raised the objective."""
    problem, old, number = residual.problem, state.low_rank, state.number + 1
    previous = (
        old if state.number > 1 else None
    )  # the first X is a multiple of another, not the end of a step
    options: dict[str, Any] = {"count": iterated_pairs(rank, problem.words), "spectrum": recipe.spectrum}
    pairs = nystrom_eigenpairs(
        problem.device, old.vectors, residual.into_step_image(recipe.relaxation), **options
    )
    for safe in (False, True):
        if safe:
            plain = residual_of(problem, old)
            pairs = improved_eigenpairs(
                problem.device, plain.times, old.vectors, plain.into_step_image(1.0), **options
            )
        low_rank = truncated(pairs, rank, spectrum=recipe.spectrum)
        new = residual_of(
            problem, low_rank, previous=previous, momentum=recipe.momentum, with_image=number < recipe.rounds
        )
        if new.objective <= state.objective * (1 + ROUNDING):
            break
    return Round(number, low_rank, previous, new.objective), new


def write_round(path: Path, state: Round) -> None:
    """Save ``state`` as the file ``path``, whole or not at all."""
    old = state.previous
    arrays = {
        "vectors": state.low_rank.vectors,
        "values": state.low_rank.values,
        "old_vectors": old and old.vectors,
        "old_values": old and old.values,
        "image": state.image,
    }
    kept = {name: array for name, array in arrays.items() if array is not None}
    record = {"number": state.number, "objective": float(state.objective), "arrays": list(kept)}
    with piece_file(path) as file:
        file.write(json.dumps(record).encode() + b"\n")
        for array in kept.values():
            write_npy(file, array)


def read_round(path: Path) -> Round | None:
    """Read what :func:`write_round` saved; None where there is no file."""
    if not path.exists():
        return None
    with path.open("rb") as file:
        record = json.loads(file.readline())
        arrays = {name: np.load(file, allow_pickle=False) for name in record["arrays"]}
    pairs = Eigenpairs(arrays["vectors"], arrays["values"])
    old = Eigenpairs(arrays["old_vectors"], arrays["old_values"]) if "old_values" in arrays else None
    return Round(record["number"], pairs, old, record["objective"], arrays.get("image"))
