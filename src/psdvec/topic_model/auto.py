"""How many topics: as many as foretell best the words of documents that were not used.

Every tenth document is held out. Its proportions are found from every other word, and the rest of its words are
foretold. The smallest number of topics wins whose mean is within one standard error of the best.
"""

from __future__ import annotations

import numpy as np

from psdvec.arrays import Float64s
from psdvec.progress import Progress, SilentProgress
from psdvec.topic_model.documents import Documents
from psdvec.topic_model.learn import Prior, learn, share_out, words_of
from psdvec.topic_model.space import Space
from psdvec.topic_model.start import cluster, document_vectors

_NUMBERS = (2, 5, 10, 15, 20, 30, 40, 50, 75, 100)
_EVERY = 10
_MOST = 4000  # documents that take part


def choose_number(
    documents: Documents,
    space: Space,
    *,
    prior: Prior,
    hold: float,
    seed: int,
    workers: int | None,
    progress: Progress,
) -> int:
    """Return the number of topics that suits ``documents``."""
    places = np.unique(np.linspace(0, len(documents) - 1, min(len(documents), _MOST)).astype(np.int64))
    held = places[:: max(min(_EVERY, len(places) // 2), 1)]
    others = np.setdiff1d(places, held)
    if len(others) < 2:
        return 1
    learned, asked = documents.take(others), documents.take(held)
    known, rest = _halves(asked)
    units = document_vectors(learned, space)
    found: dict[int, Float64s] = {}
    numbers = [number for number in _NUMBERS if number <= max(len(others) // 5, 1)] or [1]
    with progress.stage("choosing the number of topics", total=len(numbers), unit="trials") as stage:
        for number in numbers:
            owners = cluster(units, number, seed=seed)
            begin = words_of(learned, owners, topics=number, words=len(space.words))
            state = learn(
                learned,
                space,
                begin=begin,
                prior=prior,
                hold=hold,
                workers=workers,
                progress=SilentProgress(),
            )
            found[number] = _foretold(known, rest, space, state.tilts, prior, hold, workers)
            stage.note(f"{number} topics: {found[number].mean():.4f} nats a word")
            stage.advance(1)
    return smallest_within_error(found)


def smallest_within_error(found: dict[int, Float64s]) -> int:
    """Return the smallest number whose mean is within one standard error of the best mean.

    >>> smallest_within_error({5: np.array([-2.0, -2.0]), 10: np.array([-1.0, -1.2]), 20: np.array([-1.0, -1.1])})
    10
    """
    best = max(found, key=lambda number: (float(found[number].mean()), -number))
    error = float(found[best].std(ddof=1) / np.sqrt(len(found[best]))) if len(found[best]) > 1 else 0.0
    return min(number for number in found if found[number].mean() >= found[best].mean() - error)


def _halves(documents: Documents) -> tuple[Documents, Documents]:
    """Return every other word of each document, and the rest."""
    owners = np.repeat(np.arange(len(documents)), np.diff(documents.starts))
    odd = (np.arange(len(documents.tokens)) - documents.starts[owners]) % 2 == 1

    def part(chosen: np.ndarray) -> Documents:
        starts = np.concatenate([[0], np.cumsum(np.bincount(owners[chosen], minlength=len(documents)))])
        return Documents(documents.names, documents.tokens[chosen], starts, {}, documents.weights)

    return part(~odd), part(odd)


def _foretold(
    known: Documents,
    rest: Documents,
    space: Space,
    tilts: Float64s,
    prior: Prior,
    hold: float,
    workers: int | None,
) -> Float64s:
    """Return the mean log-probability of the words of each document in ``rest``, given those in ``known``."""
    gamma = share_out(known, space, tilts, prior=prior, hold=hold, workers=workers)
    theta = gamma / gamma.sum(axis=1, keepdims=True)
    chances = np.column_stack([space.chances(tilts), space.shares])
    starts, words, counts = rest.counted
    owners = np.repeat(np.arange(len(rest)), np.diff(starts))
    logs = np.log((theta[owners] * chances[words]).sum(axis=1))
    totals = np.bincount(owners, weights=counts, minlength=len(rest))
    sums = np.bincount(owners, weights=counts * logs, minlength=len(rest))
    return np.asarray(sums[totals > 0] / totals[totals > 0])
