"""Learning topics by variational EM: the E-step gives words to topics, the M-step moves topics to their words.

The bound (22) of ``docs/topic-model.md`` rises with every round. Documents are taken in parts of fixed boundaries, each
part by one thread, and what parts add up is added in their order: the same bytes for any number of threads.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.progress import Progress
from psdvec.resources import limit_blas, map_ordered, resolve_workers
from psdvec.storage.workspace import read_piece, write_piece
from psdvec.topic_model.documents import Documents
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.model import Model

# The space that topics live in: the words of the documents, their vectors, and how frequent they are.


@dataclass(frozen=True, eq=False)
class Space:
    """Words as topics see them.

    ``words``: n strings. ``vectors`` (n, d) float32, scaled to length 1. ``shares`` (n,) float64: P(w), how much of all
    text each word is. ``weights`` (n,) float64: how much an occurrence of each word counts. Only the first ``core``
    words say where the middle is and what Z(t) is, so that words which are added later change nothing for the others.
    """

    words: tuple[str, ...]
    vectors: Float32s
    shares: Float64s
    weights: Float64s
    core: int

    @classmethod
    def of(cls, documents: Documents, embeddings: Embeddings, ids: Int64s) -> Space:
        """Return the space of the words ``ids``, in whose numbers ``documents`` are given."""
        assert documents.weights is not None
        _, found, counts = documents.counted
        shares = np.bincount(found, weights=counts, minlength=len(ids))
        words, vectors = tuple(embeddings.words[i] for i in ids), unit_rows(embeddings, ids)
        return cls(words, vectors, shares / shares.sum(), documents.weights, len(ids))

    @cached_property
    def mean(self) -> Float64s:
        """The mean vector of all text, (d,)."""
        return np.asarray(self.shares[: self.core] @ self.vectors[: self.core].astype(np.float64))

    @cached_property
    def centred(self) -> Float64s:
        """The vectors without their mean, (n, d); a topic changes what is said, not that something is said."""
        return self.vectors - self.mean

    @cached_property
    def covariance(self) -> Float64s:
        """The covariance of the vectors under P, (d, d)."""
        own = self.centred[: self.core]
        return np.asarray((own * self.shares[: self.core, None]).T @ own)

    def log_chances(self, tilts: Float64s) -> Float64s:
        """Return log P(w | t) of every word under the topics ``tilts`` (K, d): (n, K), equation (19)."""
        logs = np.log(self.shares)[:, None] + self.centred @ tilts.T
        own = logs[: self.core]
        top = own.max(axis=0)
        return np.asarray(logs - top - np.log(np.exp(own - top).sum(axis=0)))

    def chances(self, tilts: Float64s) -> Float64s:
        """Return P(w | t), (n, K); each column is a distribution over the first ``core`` words."""
        return np.exp(self.log_chances(tilts))

    def places(self, tilts: Float64s) -> Float64s:
        """Return where topics are among the words: the direction from the mean of all text to theirs, (K, d)."""
        return unit(self.chances(tilts)[: self.core].T @ self.centred[: self.core])


def unit(rows: Float64s) -> Float64s:
    """Return the rows scaled to length 1; a row of zeros stays."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))


def unit_rows(embeddings: Embeddings, ids: Int64s) -> Float32s:
    """Return the vectors of some words, scaled to length 1, without spelling: topics are not of words spelled alike."""
    shown = embeddings.unspelled if isinstance(embeddings, Model) else embeddings.vectors
    vectors = np.asarray(shown[ids], np.float32)
    lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return np.asarray(vectors / lengths, dtype=np.float32)


HOLD = 0.02  # ρ: what holds topics near the background; chosen on 20 Newsgroups, see docs/topic-model.md

# The M-step, from expected counts of words to topics: equation (23) of ``docs/topic-model.md``.

_STEPS = 8  # of conjugate gradients
_HALVINGS = 6


def solve_topics(
    space: Space, expected: Float64s, tilts: Float64s | None = None, *, hold: float, times: int = 1
) -> Float64s:
    """Return better ``tilts`` (K, d), by ``expected`` (n, K) counts of each word, after ``times`` Newton steps.

    Without ``tilts``, it begins at the background.
    """
    tilts = np.zeros((expected.shape[1], space.centred.shape[1])) if tilts is None else tilts
    sizes = expected.sum(axis=0)
    is_used = sizes > 0
    means = (expected / np.where(is_used, sizes, 1.0)).T @ space.centred
    factor = np.asarray(np.linalg.inv(space.covariance + hold * np.eye(tilts.shape[1])), dtype=np.float64)
    for _ in range(times):
        steps = _newton_steps(space, means, tilts, factor, hold)
        tilts = _climb(space, means, tilts, np.where(is_used[:, None], steps, 0.0), hold)
    return tilts


def topic_values(space: Space, means: Float64s, tilts: Float64s, *, hold: float) -> Float64s:
    """Return, for each topic, what a word of it gains over the background: the maximum of (23) is sought."""
    logs = np.log(space.shares)[:, None] + space.centred @ tilts.T
    top = logs.max(axis=0)
    normaliser = top + np.log(np.exp(logs - top).sum(axis=0))
    return np.asarray((means * tilts).sum(axis=1) - normaliser - hold / 2 * (tilts**2).sum(axis=1))


def _newton_steps(space: Space, means: Float64s, tilts: Float64s, factor: Float64s, hold: float) -> Float64s:
    """Return about H⁻¹ slope of each topic, H = Cov(v | t) + ρ, by preconditioned conjugate gradients."""
    chances = space.chances(tilts)
    own = chances.T @ space.centred
    rest = means - own - hold * tilts  # the slope, of which x explains more and more
    x = np.zeros_like(rest)
    near = rest @ factor
    direction = near.copy()
    power = (rest * near).sum(axis=1)
    for _ in range(_STEPS):
        seen = (chances * (space.centred @ direction.T)).T @ space.centred
        bent = seen - own * (own * direction).sum(1, keepdims=True) + hold * direction
        along = (direction * bent).sum(axis=1)
        length = np.where(along > 0, power / np.where(along > 0, along, 1.0), 0.0)[:, None]
        x += length * direction
        rest -= length * bent
        near = rest @ factor
        new = (rest * near).sum(axis=1)
        turn = np.where(power > 0, new / np.where(power > 0, power, 1.0), 0.0)[:, None]
        direction, power = near + turn * direction, new
    return x


def _climb(space: Space, means: Float64s, tilts: Float64s, steps: Float64s, hold: float) -> Float64s:
    """Return ``tilts + steps``, with shorter steps for topics that would fall."""
    before = topic_values(space, means, tilts, hold=hold)
    for scale in (*[0.5] * _HALVINGS, 0.0):
        falls = topic_values(space, means, tilts + steps, hold=hold) < before
        if not falls.any():
            break
        steps = np.where(falls[:, None], scale * steps, steps)
    return np.asarray(tilts + steps)


# Where topics begin: documents as vectors, clustered on the sphere.

_ROUNDS = 40


def document_vectors(documents: Documents, space: Space) -> Float64s:
    """Return a unit vector for each document, (m, d); zeros for one without any known word."""
    from scipy import sparse

    starts, words, counts = documents.counted
    idf = np.log(len(documents) / np.maximum(documents.document_frequencies(len(space.words)), 1))
    shape = (len(documents), len(space.words))
    mixing = sparse.csr_array((np.log1p(counts) * idf[words], words, starts), shape=shape)
    found = mixing @ space.centred
    found -= found.mean(axis=0)
    found[np.diff(starts) == 0] = 0.0
    return unit(found)


def seeded_centres(
    documents: Documents, units: Float64s, space: Space, seeds: Float64s, *, clusters: int
) -> Float64s:
    """Return the centres that ``seeds`` (g, n), shares of seed words, stand for: (g, d), of length 1.

    A centre is the mean of the documents that have most of the seed words and lie nearest to them: half as many as a
    cluster has on average. Words alone lie far from all documents, and others would begin among theirs.
    """
    from scipy import sparse

    directions = unit(seeds @ space.centred)
    starts, words, _ = documents.counted
    has = sparse.csr_array((np.ones(len(words)), words, starts), shape=(len(documents), len(space.words)))
    scores = has @ seeds.T + units @ directions.T
    nearest = np.argsort(-scores, axis=0, kind="stable")[: max(len(documents) // (2 * clusters), 1)]
    return unit(units[nearest].sum(axis=0))


def cluster(units: Float64s, clusters: int, *, seed: int, given: Float64s | None = None) -> Int64s:
    """Return the cluster of each row by spherical k-means, its first centres drawn by greedy k-means++.

    ``given`` (g, d) are the first g centres, where they are known. Where rows are all alike, some clusters are empty.
    """
    centres = _first_centres(units, clusters, seed=seed, given=given)
    owners = np.full(len(units), -1)
    for _ in range(_ROUNDS):
        last, owners = owners, np.argmax(units @ centres.T, axis=1)
        if (owners == last).all():
            break
        sums = np.zeros_like(centres)
        np.add.at(sums, owners, units)
        centres = np.where(sums.any(axis=1, keepdims=True), unit(sums), centres)
    return np.asarray(owners, dtype=np.int64)


def _first_centres(units: Float64s, clusters: int, *, seed: int, given: Float64s | None) -> Float64s:
    """Return rows that are far from one another: of a few that are drawn, the one that leaves the others nearest."""
    draw = np.random.default_rng(seed)
    centres = np.zeros((clusters, units.shape[1]))
    known = 0 if given is None else len(given)
    if given is not None:
        centres[:known] = given
    farness = np.full(len(units), 2.0)
    for k in range(clusters):
        if k >= known:
            total = np.cumsum(np.maximum(farness, 0.0))
            drawn = draw.random(2 + int(np.log(clusters))) * total[-1]
            places = np.minimum(np.searchsorted(total, drawn, side="right"), len(units) - 1)
            left = np.minimum(farness[:, None], 1.0 - units @ units[places].T).sum(axis=0)
            centres[k] = units[places[np.argmin(left)]]
        farness = np.minimum(farness, 1.0 - units @ centres[k])
    return centres


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


PRIOR = Prior()


@dataclass(frozen=True, eq=False)
class State:
    """Where learning is after a round.

    ``tilts`` (K, d); ``gamma`` (m, K + 1), of which ``gamma - prior`` are the words that each topic has in each
    document; ``expected`` (n, K), the expected counts of words; ``bounds``: the bound after each round, in nats a word.
    """

    tilts: Float64s
    gamma: Float64s
    expected: Float64s
    bounds: tuple[float, ...]

    @property
    def is_finished(self) -> bool:
        """Whether another round would gain nothing."""
        gained_little = len(self.bounds) > 1 and self.bounds[-1] - self.bounds[-2] < _GAIN
        return gained_little or len(self.bounds) >= ROUNDS


def learn(
    documents: Documents,
    space: Space,
    *,
    begin: Float64s,
    prior: Prior = PRIOR,
    hold: float = HOLD,
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
    total = max(float(documents.lengths.sum()) + (0.0 if anchors is None else float(anchors.sum())), 1.0)
    with limit_blas(1), progress.stage("learning topics", total=ROUNDS, unit="rounds") as stage:
        if file is not None and file.exists():
            record, arrays = read_piece(file)
            state = State(**arrays, bounds=tuple(record["bounds"]))
        else:
            anchored = begin if anchors is None else begin + anchors
            tilts = solve_topics(space, anchored, hold=hold, times=3)
            state = State(tilts, _evenly(documents, over), anchored, ())
        stage.advance(len(state.bounds))
        while not state.is_finished:
            gamma = state.gamma.copy()
            probabilities = topic_word_probabilities(space, state.tilts, hold=hold)
            bound, found = _e_step(documents, probabilities, over, gamma, workers, steps=_INNER)
            expected = np.ascontiguousarray(found[:, :-1])
            if anchors is not None:
                expected += anchors
                bound += _value_of_anchors(anchors, probabilities)
            tilts = solve_topics(space, expected, state.tilts, hold=hold)
            state = State(tilts, gamma, expected, (*state.bounds, bound / total))
            if file is not None:
                write_piece(file, {"bounds": state.bounds}, tilts=tilts, gamma=gamma, expected=expected)
            stage.note(f"bound {state.bounds[-1]:.4f}")
            stage.advance(1)
    return state


def infer_documents(
    documents: Documents,
    space: Space,
    tilts: Float64s,
    *,
    prior: Prior = PRIOR,
    hold: float = HOLD,
    workers: int | None = None,
) -> Float64s:
    """Return gamma of documents, (m, K + 1), under topics that stay as they are: the E-step alone."""
    over = prior.over(len(tilts))
    gamma = _evenly(documents, over)
    with limit_blas(1):
        _e_step(documents, topic_word_probabilities(space, tilts, hold=hold), over, gamma, workers, steps=100)
    return gamma


def topic_word_probabilities(space: Space, tilts: Float64s, *, hold: float) -> Float64s:
    """Return P(w | t) of each topic, less the price of its length, and P(w), last: (n, K + 1), equation (21)."""
    held = space.chances(tilts) * np.exp(-hold / 2 * (tilts**2).sum(axis=1))
    return np.ascontiguousarray(np.column_stack([held, space.shares]))


def _value_of_anchors(anchors: Float64s, probabilities: Float64s) -> float:
    """Return the term of anchors in the bound, the sum over words of anchors times log b: equation (24)."""
    has = anchors > 0
    return float(anchors[has] @ np.log(probabilities[:, :-1][has]))


def _evenly(documents: Documents, over: Float64s) -> Float64s:
    """Return the proportions of documents whose words nobody has looked at."""
    return np.asarray(over + (documents.lengths / len(over))[:, None])


def _e_step(
    documents: Documents,
    probabilities: Float64s,
    over: Float64s,
    gamma: Float64s,
    workers: int | None,
    *,
    steps: int,
) -> tuple[float, Float64s]:
    """Fit ``gamma`` in place; return the bound and the expected counts of words, (n, K + 1)."""
    from psdvec.topic_model.kernels import expect_topics  # here, so that topics are read without numba

    starts, words, counts = documents.counted
    # Parts of about as many words each; where they end, only the documents decide.
    ends = np.searchsorted(starts, np.linspace(0, starts[-1], _PARTS + 1)[1:-1])
    edges = np.unique([0, *ends.tolist(), len(documents)]).tolist()

    def of_part(part: slice) -> tuple[float, Float64s]:
        own, found = starts[part.start : part.stop + 1], np.zeros_like(probabilities)
        bound = expect_topics(own, words, counts, probabilities, over, gamma[part], found, steps, _MOVED)
        return bound, found

    threads = resolve_workers(workers)
    total, found = 0.0, np.zeros_like(probabilities)
    with ThreadPoolExecutor(threads) as pool:
        for bound, part in map_ordered(pool, of_part, map(slice, edges, edges[1:]), ahead=threads):
            total += bound
            found += part
    return total, found


def words_of(documents: Documents, owners: Int64s, *, topics: int, words: int) -> Float64s:
    """Return the words of documents that belong to one topic each, (words, topics)."""
    from scipy import sparse

    starts, found, counts = documents.counted
    pairs = sparse.coo_array((counts, (found, np.repeat(owners, np.diff(starts)))), shape=(words, topics))
    return np.asarray(pairs.toarray(), dtype=np.float64)
