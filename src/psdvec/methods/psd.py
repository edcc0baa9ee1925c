"""Our own solver as methods: the default recipe, the paper's with and without regularisation, and the original's.

Each takes counts and returns a :class:`~psdvec.vectors.model.Model`, made by :func:`psdvec.solver.fit.fit`.
"""

from __future__ import annotations

from typing import Any

from psdvec.counts.matrix import Cooccurrence
from psdvec.options import RECIPES
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


def fit_default(
    counts: Cooccurrence,
    *,
    dim: int = 300,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress = LogProgress(),
    **changes: Any,
) -> Model:
    """Fit all words together by the default recipe; ``changes`` replace some of its numbers."""
    return fit(counts, dim=dim, changes=changes, seed=seed, workers=workers, progress=progress)


def fit_paper(
    counts: Cooccurrence,
    *,
    dim: int = 300,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress = LogProgress(),
    core: int | None = None,
    **changes: Any,
) -> Model:
    """Fit the first ``core`` words together by the paper's recipe, and place the others by ridge.

    If ``core`` is None, it is :func:`paper_core`. ``changes`` replace numbers of the recipe; see
    :class:`psdvec.options.Recipe`.
    """
    centre = paper_core(len(counts)) if core is None else core
    return fit(
        counts, dim=dim, recipe="paper", changes=changes, core=centre, seed=seed, workers=workers,
        progress=progress,
    )  # fmt: skip


def fit_unregularised(
    counts: Cooccurrence,
    *,
    dim: int = 300,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress = LogProgress(),
    core: int | None = None,
    **changes: Any,
) -> Model:
    """Fit as :func:`fit_paper` does, but without a ridge."""
    return fit_paper(
        counts, dim=dim, seed=seed, workers=workers, progress=progress, core=core, **{"ridge": "0", **changes}
    )


def fit_original(
    counts: Cooccurrence,
    *,
    dim: int = 300,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress = LogProgress(),
    core: int | None = None,
    **changes: Any,
) -> Model:
    """Fit as :func:`fit_paper` does, but weigh the pairs of the other words as the original program did."""
    original = {name: getattr(RECIPES["original"], name) for name in ("own_cap", "damping")}
    return fit_paper(
        counts, dim=dim, seed=seed, workers=workers, progress=progress, core=core, **{**original, **changes}
    )
