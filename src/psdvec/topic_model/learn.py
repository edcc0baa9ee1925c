"""Learning topics by variational EM: documents share out their words, topics follow the words, until nothing gains.

The bound (22) of ``docs/topic-model.md`` rises with every round. Documents are taken in parts of fixed boundaries, each
part by one thread, and what parts add up is added in their order: the same bytes for any number of threads.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from psdvec.arrays import Float64s, Int64s
from psdvec.parallel import map_ordered
from psdvec.progress import Progress
from psdvec.resources import limit_blas, resolve_workers
from psdvec.storage.arrays import write_npy
from psdvec.storage.workspace import piece_file
from psdvec.topic_model.documents import Documents
from psdvec.topic_model.solve import solve_topics
from psdvec.topic_model.space import Space

ROUNDS = 30
_GAIN = 2e-4  # nats a word: a round that gains less is the last
_PARTS = 32
_INNER = 12  # steps of a document within a round
_MOVED = 0.01  # share of its words that may still move when it stops sooner


@dataclass(frozen=True, eq=False)
class Prior:
    """What proportions are expected to be: ``topic`` for each topic and ``background`` for none, of a Dirichlet."""

    topic: float = 0.1
    background: float = 0.5

    def over(self, topics: int) -> Float64s:
        """Return the prior over ``topics`` topics and the background, which is last."""
        return np.array([self.topic] * topics + [self.background])


@dataclass(frozen=True, eq=False)
class State:
    """Where learning is after a round.

    ``tilts`` (K, d); ``gamma`` (m, K + 1), of which ``gamma - prior`` are the words that each topic has in each
    document; ``expected`` (n, K), the words of each topic; ``bounds``: the bound after each round, in nats a word.
    """

    tilts: Float64s
    gamma: Float64s
    expected: Float64s
    bounds: tuple[float, ...]

    @property
    def is_finished(self) -> bool:
        """Whether another round would gain nothing."""
        return len(self.bounds) >= ROUNDS or (
            len(self.bounds) > 1 and self.bounds[-1] - self.bounds[-2] < _GAIN
        )


def learn(
    documents: Documents,
    space: Space,
    *,
    begin: Float64s,
    prior: Prior,
    hold: float,
    anchors: Float64s | None = None,
    workers: int | None = None,
    work: Path | None = None,
    progress: Progress,
) -> State:
    """Return the topics that begin with the words ``begin`` (n, K), after the last round that gains something.

    ``anchors`` (n, K) are words that topics have in any case. With a folder ``work``, rounds are kept there, and an
    interrupted call goes on after the last of them.
    """
    over = prior.over(begin.shape[1])
    file = None if work is None else work / "round"
    anchored = begin if anchors is None else begin + anchors
    with limit_blas(1), progress.stage("learning topics", total=ROUNDS, unit="rounds") as stage:
        state = None if file is None else read_state(file)
        if state is None:
            none = np.zeros((begin.shape[1], space.centred.shape[1]))
            tilts = solve_topics(space, anchored, none, hold=hold, times=3)
            state = State(tilts, _evenly(documents, over), anchored, ())
        stage.advance(len(state.bounds))
        while not state.is_finished:
            state = _round(documents, space, state, over, hold, anchors, workers)
            if file is not None:
                write_state(file, state)
            stage.note(f"bound {state.bounds[-1]:.4f}")
            stage.advance(1)
    return state


def share_out(
    documents: Documents,
    space: Space,
    tilts: Float64s,
    *,
    prior: Prior,
    hold: float,
    workers: int | None = None,
) -> Float64s:
    """Return the proportions of documents among topics that stay as they are: gamma, (m, K + 1)."""
    over = prior.over(len(tilts))
    gamma = _evenly(documents, over)
    with limit_blas(1):
        _expect(documents, offers(space, tilts, hold=hold), over, gamma, workers, steps=100)
    return gamma


def offers(space: Space, tilts: Float64s, *, hold: float) -> Float64s:
    """Return what a word gets from each topic and, last, from the background: (n, K + 1), equation (21)."""
    held = space.chances(tilts) * np.exp(-hold / 2 * (tilts**2).sum(axis=1))
    return np.ascontiguousarray(np.column_stack([held, space.shares]))


def _round(
    documents: Documents,
    space: Space,
    state: State,
    over: Float64s,
    hold: float,
    anchors: Float64s | None,
    workers: int | None,
) -> State:
    gamma = state.gamma.copy()
    bound, found = _expect(
        documents, offers(space, state.tilts, hold=hold), over, gamma, workers, steps=_INNER
    )
    expected = np.ascontiguousarray(found[:, :-1])
    if anchors is not None:
        expected += anchors
    tilts = solve_topics(space, expected, state.tilts, hold=hold)
    total = max(float(documents.lengths.sum()), 1.0)
    return State(tilts, gamma, expected, (*state.bounds, bound / total))


def _evenly(documents: Documents, over: Float64s) -> Float64s:
    """Return the proportions of documents whose words nobody has looked at."""
    return np.asarray(over + (documents.lengths / len(over))[:, None])


def _expect(
    documents: Documents,
    offered: Float64s,
    over: Float64s,
    gamma: Float64s,
    workers: int | None,
    *,
    steps: int,
) -> tuple[float, Float64s]:
    """Share out the words of all documents; return the bound and the words of each topic, (n, K + 1)."""
    run = partial(_expect_part, documents, offered, over, gamma, steps)
    threads = resolve_workers(workers)
    total, found = 0.0, np.zeros_like(offered)
    with ThreadPoolExecutor(threads) as pool:
        for bound, part in map_ordered(pool, run, _parts(documents), ahead=threads):
            total += bound
            found += part
    return total, found


def _expect_part(
    documents: Documents, offered: Float64s, over: Float64s, gamma: Float64s, steps: int, part: slice
) -> tuple[float, Float64s]:
    from psdvec.kernels.topics import expect_topics  # here, so that topics are read without numba

    starts, words, counts = documents.counted
    found = np.zeros_like(offered)
    bound = expect_topics(
        starts[part.start : part.stop + 1], words, counts, offered, over, gamma[part], found, steps, _MOVED
    )
    return bound, found


def _parts(documents: Documents) -> Iterator[slice]:
    """Yield parts of about as many words each; where they end, only the documents decide."""
    starts = documents.counted[0]
    ends = np.searchsorted(starts, np.linspace(0, starts[-1], _PARTS + 1)[1:-1])
    edges = np.unique([0, *ends.tolist(), len(documents)])
    for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        yield slice(begin, end)


def write_state(path: Path, state: State) -> None:
    """Keep ``state`` as the piece ``path`` of unfinished work."""
    with piece_file(path) as file:
        file.write(json.dumps(state.bounds).encode() + b"\n")
        for array in (state.tilts, state.gamma, state.expected):
            write_npy(file, array)


def read_state(path: Path) -> State | None:
    """Return what :func:`write_state` kept, or None where there is nothing."""
    if not path.exists():
        return None
    with path.open("rb") as file:
        bounds = json.loads(file.readline())
        tilts, gamma, expected = (np.load(file, allow_pickle=False) for _ in range(3))
    return State(tilts, gamma, expected, tuple(bounds))


def words_of(documents: Documents, owners: Int64s, *, topics: int, words: int) -> Float64s:
    """Return the words of documents that belong to one topic each, (words, topics)."""
    from scipy import sparse

    starts, found, counts = documents.counted
    rows = np.repeat(owners, np.diff(starts))
    return np.asarray(
        sparse.coo_array((counts, (found, rows)), shape=(words, topics)).toarray(), dtype=np.float64
    )
