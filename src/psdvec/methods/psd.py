"""Our own solver as methods: the default recipe, the paper's with and without regularisation, and the original's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psdvec.counts.matrix import Cooccurrence
from psdvec.progress import LogProgress, Progress
from psdvec.solver.fit import fit
from psdvec.vectors.model import Model

LARGEST_CORE = 25_000


def paper_core(words: int) -> int:
    """Return how many words the paper would fit together: a third of them, but at most 25,000.

    >>> paper_core(46_409), paper_core(180_000)
    (15469, 25000)
    """
    return max(min(words // 3, LARGEST_CORE), 1)


def fit_recipe(
    counts: Cooccurrence,
    *,
    recipe: Mapping[str, Any],
    dim: int = 300,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress = LogProgress(),
    core: int | None = None,
    **changes: Any,
) -> Model:
    """Fit the first ``core`` words together by a recipe, and place the others by ridge.

    ``recipe`` are arguments of :func:`psdvec.options.make_recipe`, and ``changes`` replace its numbers. If ``core`` is
    None, the default recipe fits all words together, and the paper's as many as :func:`paper_core` says.
    """
    own = dict(recipe)
    name = own.pop("name")
    if core is None and name != "default":
        core = paper_core(len(counts))
    return fit(
        counts, dim=dim, recipe=name, changes={**own, **changes}, core=core, seed=seed, workers=workers,
        progress=progress,
    )  # fmt: skip
