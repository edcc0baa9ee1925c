"""A word's contexts as vectors, added up over blocks of documents: all that tests and intervals of change need.

The contexts of an occurrence are the words up to ``window`` places away. Its vector is the sum of their vectors, the
more frequent ones counting less, put through one matrix that makes such sums lie where the model has the word itself
(Khodak et al. 2018). All of this is linear, so that a word's vector in any set of documents is a sum over the blocks
that the documents are dealt to, divided by how much was added up (docs/how-to/change.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.kernels import kernel
from psdvec.topic_model.documents import Documents
from psdvec.vectors.embeddings import Embeddings

DAMPED = (
    1e-3  # share of the text at which a word's vector counts half as a context, as in SIF (Arora et al. 2017)
)
RIDGE = 1e-6  # of the matrix, relative to the mean square of what it is fitted to
BLOCKS = 48  # that all documents are dealt to, at least
FEWEST, MOST = 8, 120  # blocks of the smallest slice, and of all of them


@kernel
def add_contexts(tokens, starts, documents, features, window, first, sums):
    """Add the features around every occurrence of the words from ``first`` on to their rows of ``sums``.

    ``tokens`` int32 are the words of all documents, -1 for unknown ones, those of a document between two ``starts``;
    ``features`` float32[n, d]; ``sums`` float64[words, d]. What lies around a place is carried from place to place.
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
            if first <= word < first + sums.shape[0]:
                for k in range(size):
                    sums[word - first, k] += around[k] - features[word, k]


@dataclass(frozen=True, eq=False)
class Blocks:
    """Documents dealt to blocks: ``members`` are the documents of each."""

    documents: Documents
    members: tuple[Int64s, ...]
    features: Float32s  # (n, d + 1): the vector of a word as a context, and how much it counts
    window: int
    workers: int

    def sums(self, words: range) -> Float64s:
        """Return what the blocks add up to around these words, (K, words, d + 1), alike for any number of threads."""
        found: Float64s = np.zeros((len(self.members), len(words), self.features.shape[1]))

        def add(block: int) -> None:
            add_contexts(
                self.documents.tokens, self.documents.starts, self.members[block], self.features, self.window,
                words.start, found[block],
            )  # fmt: skip

        with ThreadPoolExecutor(self.workers) as pool:
            list(pool.map(add, range(len(self.members))))
        return found

    def strips(self, words: int, *, room: int) -> Iterator[range]:
        """Yield stretches of all words whose sums take up at most ``room`` bytes."""
        each = 8 * len(self.members) * self.features.shape[1]
        step = max(room // each, 1)
        for begin in range(0, words, step):
            yield range(begin, min(begin + step, words))


def context_features(embeddings: Embeddings) -> Float32s:
    """Return the vector of each word as a context and its weight, (n, d + 1); without counts, by Zipf's law."""
    vectors = np.asarray(embeddings.vectors, np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    counts = embeddings.counts
    shares = 1 / np.arange(1, len(vectors) + 1) if counts is None else np.asarray(counts, np.float64)
    weights = (DAMPED / (DAMPED + shares / shares.sum()))[:, None]
    return np.hstack([vectors / np.where(lengths > 0, lengths, 1) * weights, weights]).astype(np.float32)


def deal(slices: Sequence[Int64s], *, seed: int) -> tuple[tuple[Int64s, ...], Int64s]:
    """Deal the documents of each slice to blocks of about the same size at random; return them, and their slices."""
    sizes = [len(documents) for documents in slices]
    size = min(sum(sizes) / BLOCKS, min(sizes) / FEWEST)
    size = max(size, sum(sizes) / MOST, 1.0)
    generator = np.random.default_rng(seed)
    members: list[Int64s] = []
    owners: list[int] = []
    for number, documents in enumerate(slices):
        blocks = min(max(round(len(documents) / size), 2), len(documents))
        members += [np.sort(part) for part in np.array_split(generator.permutation(documents), blocks)]
        owners += [number] * blocks
    return tuple(members), np.array(owners)


def induction_matrix(means: Float64s, embeddings: Embeddings, occurrences: Int64s) -> Float64s:
    """Return the (d, d) matrix that takes mean contexts nearest to the words' own vectors, by least squares."""
    weights = np.log1p(occurrences)[:, None]
    left = means.T @ (weights * means)
    right = means.T @ (weights * np.asarray(embeddings.vectors, np.float64))
    ridge = RIDGE * np.trace(left) / len(left)
    return np.linalg.solve(left + ridge * np.eye(len(left)), right)
