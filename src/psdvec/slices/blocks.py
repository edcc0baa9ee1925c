"""A word's contexts as vectors, added up over blocks of documents: all that tests and intervals of change need.

The contexts of an occurrence are the words up to ``window`` places away. Its vector is the sum of their vectors, the
more frequent ones counting less, put through one matrix that makes such sums lie where the model has the word itself
(Khodak et al. 2018). All of this is linear, so that a word's vector in any set of documents is a sum over the blocks
that the documents are dealt to, divided by how much was added up (docs/how-to/change.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.errors import InputError
from psdvec.kernels import kernel
from psdvec.progress import Progress
from psdvec.slices.reading import CountedSlice, Sliced
from psdvec.topic_model.documents import Documents
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.sentences import word_shares

# The share of the text at which a word's vector counts half as a context, as in SIF (Arora et al. 2017).
DAMPED = 1e-3
RIDGES = 10.0 ** np.arange(-6, 2)
BLOCKS = 48  # that all documents are dealt to, at least
FEWEST, MOST = 8, 120  # blocks of the smallest slice, and of all of them
CHUNK = 256  # words that are taken together
_PARTS = 8  # that the blocks are joined to, where only their sum is wanted
ROOM = 1 << 29  # bytes of the sums that are held at once


@kernel
def add_contexts(tokens, starts, documents, features, window, rows, sums):
    """Add the features around every occurrence of some words to ``sums``.

    ``tokens`` int32 are the words of all documents, -1 for unknown ones, those of a document between two ``starts``;
    ``features`` float32[n, d]; ``rows`` int32[n] says which row of ``sums`` float64[words, d] a word has, -1 for none.
    What lies around a place is carried from place to place.
    """
    size = features.shape[1]
    around = np.zeros(size)
    for document in documents:
        begin, end = starts[document], starts[document + 1]
        around[:] = 0.0
        for place in range(begin, min(begin + window, end)):
            if tokens[place] >= 0:
                for k in range(size):
                    around[k] += features[tokens[place], k]
        for place in range(begin, end):
            comes, goes = place + window, place - window - 1
            if comes < end and tokens[comes] >= 0:
                for k in range(size):
                    around[k] += features[tokens[comes], k]
            if goes >= begin and tokens[goes] >= 0:
                for k in range(size):
                    around[k] -= features[tokens[goes], k]
            word = tokens[place]
            if word >= 0 and rows[word] >= 0:
                for k in range(size):
                    sums[rows[word], k] += around[k] - features[word, k]


@kernel
def count_contexts(tokens, starts, documents, window, rows, counts):
    """Add how often each word stands within the window of some words to ``counts`` int64[words, n].

    ``tokens``, ``starts`` and ``rows`` are those of :func:`add_contexts`.
    """
    for document in documents:
        begin, end = starts[document], starts[document + 1]
        for place in range(begin, end):
            word = tokens[place]
            if word >= 0 and rows[word] >= 0:
                for other in range(max(begin, place - window), min(end, place + window + 1)):
                    if other != place and tokens[other] >= 0:
                        counts[rows[word], tokens[other]] += 1


@dataclass(frozen=True, eq=False)
class Blocks:
    """Documents dealt to blocks: ``members`` are the documents of each, ``slices`` says which slice it is of."""

    documents: Documents
    members: tuple[Int64s, ...]
    slices: Int64s
    counted: Mapping[int, CountedSlice]
    seed: int
    features: Float32s  # (n, d + 1): the vector of a word as a context, and how much it counts
    window: int
    workers: int

    def sums(self, words: Int64s) -> Float64s:
        """Return what the blocks add up to around these words, (K, words, d + 1), alike for any number of threads."""
        found: Float64s = np.zeros((len(self.members), len(words), self.features.shape[1]))
        rows = np.full(len(self.features), -1, np.int32)
        rows[words] = np.arange(len(words))

        def add(block: int) -> None:
            add_contexts(
                self.documents.tokens, self.documents.starts, self.members[block], self.features, self.window, rows,
                found[block],
            )  # fmt: skip

        with ThreadPoolExecutor(self.workers) as pool:
            list(pool.map(add, range(len(self.members))))
        for number, own in self.counted.items():
            is_own = self.slices == number
            found[is_own] = own.sums(words, self.features, blocks=int(is_own.sum()), seed=self.seed)
        return found

    def totals(self, *, room: int) -> Float64s:
        """Return what all blocks together add up to around every word, (n, d + 1)."""
        n, width = self.features.shape
        found: Float64s = np.zeros((n, width))
        joined = tuple(np.concatenate(self.members[k::_PARTS]) for k in range(min(_PARTS, len(self.members))))
        parts = replace(self, members=joined, counted={})
        for words in parts.strips(np.arange(n), room=room):
            found[words] = parts.sums(words).sum(axis=0)
        for own in self.counted.values():
            found += own.matrix @ self.features
        return found

    def strips(self, words: Int64s, *, room: int) -> list[Int64s]:
        """Return the words in parts whose sums take up ``room`` bytes, in whole chunks and at least one."""
        step = max(room // (8 * len(self.members) * self.features.shape[1] * CHUNK), 1) * CHUNK
        return [words[begin : begin + step] for begin in range(0, len(words), step)]


@dataclass(frozen=True, eq=False)
class Uses:
    """The uses of words in blocks of documents, on the axes of a model: see :func:`find_uses`.

    ``occurrences`` (n, slices), 0 for words without contexts. ``squares`` (n,): the squared length of the mean use.
    """

    blocks: Blocks
    matrix: Float64s
    occurrences: Int64s
    squares: Float64s

    @property
    def slices(self) -> Int64s:
        """The slice of each block."""
        return self.blocks.slices

    def of(self, words: Int64s) -> tuple[Float64s, Float64s]:
        """Return sums (K, words, d) and amounts (K, words): a word is their quotient, in any set of blocks."""
        sums = self.blocks.sums(words)
        amounts = sums[..., -1].copy()
        for begin in range(0, len(words), CHUNK):  # the last bits are the same however words are strewn
            part = sums[:, begin : begin + CHUNK, :-1]
            part[...] = part @ self.matrix
        return sums[..., :-1], amounts


def find_uses(
    embeddings: Embeddings,
    sliced: Sliced,
    *,
    window: int,
    seed: int,
    workers: int,
    room: int = ROOM,
    progress: Progress,
) -> Uses:
    """Deal documents to blocks, and find the matrix that takes contexts to where the model has the words."""
    n = len(embeddings)
    occurrences = sliced.occurrences(n)
    if not occurrences.sum():
        raise InputError("no document has a word with a vector; give vectors of the same language")
    members, slices = deal(sliced, seed=seed)
    blocks = Blocks(
        sliced.documents, members, slices, sliced.counted, seed, context_features(embeddings), window, workers
    )
    with progress.stage("contexts", total=1, unit="pass") as stage:
        totals = blocks.totals(room=room)
        stage.advance(1)
    means = totals[:, :-1] / np.maximum(totals[:, -1:], 1e-12)
    matrix = induction_matrix(means, embeddings, occurrences.sum(axis=1))
    return Uses(blocks, matrix, occurrences * (totals[:, -1:] > 0), ((means @ matrix) ** 2).sum(axis=1))


def context_features(embeddings: Embeddings) -> Float32s:
    """Return the vector of each word as a context and its weight, (n, d + 1); without counts, by Zipf's law."""
    vectors = np.asarray(embeddings.vectors, np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    weights = (DAMPED / (DAMPED + word_shares(embeddings)))[:, None]
    return np.hstack([vectors / np.where(lengths > 0, lengths, 1) * weights, weights]).astype(np.float32)


def deal(sliced: Sliced, *, seed: int) -> tuple[tuple[Int64s, ...], Int64s]:
    """Deal the units of each slice to blocks of about the same size at random; return documents, and slices."""
    if sliced.counted:
        each = max(BLOCKS // len(sliced.names), FEWEST)
        return (np.zeros(0, np.int64),) * each * len(sliced.names), np.repeat(
            np.arange(len(sliced.names)), each
        )
    slices = [np.flatnonzero(sliced.owners == number) for number in range(len(sliced.names))]
    units = [np.unique(sliced.units[documents]) for documents in slices]
    sizes = [len(own) for own in units]
    size = min(sum(sizes) / BLOCKS, min(sizes) / FEWEST)
    size = max(size, sum(sizes) / MOST, 1.0)
    generator = np.random.default_rng(seed)
    members: list[Int64s] = []
    owners: list[int] = []
    for number, (documents, own) in enumerate(zip(slices, units, strict=True)):
        blocks = min(max(round(len(own) / size), 2), len(own))
        members += [
            documents[np.isin(sliced.units[documents], part)]
            for part in np.array_split(generator.permutation(own), blocks)
        ]
        owners += [number] * blocks
    return tuple(members), np.array(owners)


def induction_matrix(means: Float64s, embeddings: Embeddings, occurrences: Int64s) -> Float64s:
    """Return the (d, d) matrix that takes mean contexts nearest to the words' own vectors, by ridge regression.

    Among ``RIDGES``, relative to the mean square of what it is fitted to, generalised cross-validation chooses: where
    there are hardly more words than dimensions, a small ridge would fit chance.
    """
    weights = np.sqrt(np.log1p(occurrences))[:, None]
    left, right = weights * means, weights * np.asarray(embeddings.vectors, np.float64)
    squares, axes = np.linalg.eigh(left.T @ left)
    squares = np.maximum(squares, 0)
    cross = axes.T @ (left.T @ right)
    n, total = int(np.count_nonzero(occurrences)), float((right**2).sum())
    least, best = np.inf, cross
    for ridge in RIDGES.tolist():
        shrunk = squares + ridge * squares.mean() + 1e-300
        found = cross / shrunk[:, None]
        missed: float = total - 2 * float((found * cross).sum()) + float((squares[:, None] * found**2).sum())
        free = max(1 - float((squares / shrunk).sum()) / max(n, 1), 1e-6)
        score = missed / free**2
        if score < least:
            least, best = score, found
    return np.asarray(axes @ best)
