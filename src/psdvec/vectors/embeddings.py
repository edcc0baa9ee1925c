"""Embeddings: words and their vectors, and the questions one asks them.

Goes in: words, an (n, d) matrix that may be mapped from disk, and what is known beside it (counts, how far
off each vector may be). Comes out: lookups, cosines, neighbours and analogies under gensim's names and in its
return shapes. Reading and writing files is in :mod:`psdvec.formats`, judging vectors in
:mod:`psdvec.evaluation.evaluate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from statistics import NormalDist
from typing import Literal, NamedTuple, TypeAlias, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt

from psdvec.errors import InputError, MissingWordError
from psdvec.vectors.neighbours import largest_columns, lengths_of, nearest_rows
from psdvec.vectors.sparse import csr_of
from psdvec.vectors.spelling import closest_spellings

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]
Query: TypeAlias = "str | Floats | tuple[str | Floats, float]"
Ranking: TypeAlias = "list[tuple[str, float]]"
T = TypeVar("T")

COSMUL_EPSILON = 1e-6


class Interval(NamedTuple):
    """A similarity, and the bounds between which it lies with the confidence asked for."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Words and their vectors, most frequent word first where counts are known.

    Parameters
    ----------
    words : sequence of n strings, all different
    vectors : (n, d) float32; may be memory-mapped, is never changed; or :class:`~psdvec.vectors.sparse.SparseRows`
    counts : (n,) int64 or None; how often each word was seen
    deviations : (n,) float32 or None; the standard deviation of every coordinate of a word's vector

    Examples
    --------
    >>> e = Embeddings(("north", "east", "both"), np.array([[1, 0], [0, 1], [1, 1]], dtype=np.float32))
    >>> e.most_similar("north", topn=1)
    [('both', 0.7071067690849304)]
    """

    words: Sequence[str]
    vectors: Floats
    counts: Ids | None = None
    deviations: Floats | None = None

    def __post_init__(self) -> None:
        sparse = csr_of(self.vectors) is not None
        vectors = self.vectors if sparse else np.asarray(self.vectors, dtype=np.float32)
        if vectors.ndim != 2 or len(vectors) != len(self.words):
            raise InputError(
                f"vectors must be a matrix with one row a word; found shape {vectors.shape} "
                f"for {len(self.words)} words"
            )
        object.__setattr__(self, "vectors", vectors)
        for name, dtype in (("counts", np.int64), ("deviations", np.float32)):
            values = getattr(self, name)
            if values is None:
                continue
            if np.shape(values) != (len(self.words),):
                raise InputError(
                    f"{name} must hold one number a word; found shape {np.shape(values)} "
                    f"for {len(self.words)} words"
                )
            object.__setattr__(self, name, np.asarray(values, dtype=dtype))

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.key_to_index

    def __getitem__(self, word: str | Sequence[str]) -> Floats:
        """Return the vector of a word, or the (m, d) matrix of a list of words."""
        if isinstance(word, str):
            return self.get_vector(word)
        return np.asarray(self.vectors[[self.get_index(one) for one in word]])

    def __deepcopy__(self, memo: object) -> Embeddings:
        return self  # a value that never changes need not be copied

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return int(self.vectors.shape[1])

    @property
    def index_to_key(self) -> Sequence[str]:
        """The words in the order of their ids."""
        return self.words

    @cached_property
    def key_to_index(self) -> dict[str, int]:
        """The id of every word."""
        ids = {word: i for i, word in enumerate(self.words)}
        if len(ids) < len(self.words):
            twice = next(word for i, word in enumerate(self.words) if ids[word] != i)
            raise InputError(f"the word '{twice}' has two vectors; keep one, for example with psdvec convert")
        return ids

    @cached_property
    def lengths(self) -> Floats:
        """The Euclidean length of every vector, 1 for a vector of zeros."""
        return lengths_of(self.vectors)

    # Looking up

    def get_index(self, word: str) -> int:
        """Return the id of ``word``; a :class:`MissingWordError` names the closest spellings."""
        try:
            return self.key_to_index[word]
        except KeyError:
            raise MissingWordError(word, self.closest_spellings) from None

    def get_vector(self, word: str, *, norm: bool = False) -> Floats:
        """Return the vector of ``word``, scaled to length 1 if ``norm``; it cannot be written to."""
        index = self.get_index(word)
        vector = np.asarray(self.vectors[index] / self.lengths[index] if norm else self.vectors[index]).view()
        vector.setflags(write=False)
        return vector

    def get(self, word: str, default: T | None = None) -> Floats | T | None:
        """Return the vector of ``word``, or ``default``."""
        return self.get_vector(word) if word in self else default

    def closest_spellings(self, word: str) -> list[str]:
        """Return words that are spelled like ``word``."""
        return closest_spellings(word, self.words, self.key_to_index)

    def select(self, words: Iterable[str]) -> Embeddings:
        """Return the embeddings of ``words`` alone, in their order.

        >>> Embeddings(("a", "b"), np.eye(2, dtype=np.float32)).select(["b"]).words
        ('b',)
        """
        return self.take(np.array([self.get_index(word) for word in words], dtype=np.int64))

    def take(self, ids: Ids | slice) -> Embeddings:
        """Return the embeddings of the words with these ``ids``; a slice of mapped vectors stays mapped.

        >>> Embeddings(("a", "b"), np.eye(2, dtype=np.float32)).take(slice(1)).words
        ('a',)
        """
        words = self.words[ids] if isinstance(ids, slice) else [self.words[i] for i in ids.tolist()]
        return Embeddings(
            tuple(words),
            self.vectors[ids],
            None if self.counts is None else self.counts[ids],
            None if self.deviations is None else self.deviations[ids],
        )

    # Comparing given words

    @overload
    def similarity(self, a: str, b: str, *, confidence: float = ...) -> float: ...
    @overload
    def similarity(self, a: str, b: str, *, interval: Literal[True], confidence: float = ...) -> Interval: ...
    @overload
    def similarity(self, a: str, b: str, *, interval: bool, confidence: float = ...) -> float | Interval: ...

    def similarity(
        self, a: str, b: str, *, interval: bool = False, confidence: float = 0.95
    ) -> float | Interval:
        """Return the cosine of the vectors of ``a`` and ``b``; with ``interval``, and its bounds.

        The bounds follow from the words' deviations s_a, s_b by the delta method. The angle θ between the
        vectors varies by ``Var θ = s_a² / |a|² + s_b² / |b|²``, and the bounds are ``cos(θ ± z √Var θ)``,
        which never leave [-1, 1]. This is right to first order, while d s² is small beside |v|². A core word, against
        which others were placed, counts as fixed; see docs/theory.md for how often the bounds hold.
        """
        i, j = self.get_index(a), self.get_index(b)
        cosine = _cosine(self.vectors[i], self.vectors[j])
        if not interval:
            return cosine
        if not 0 < confidence < 1:
            raise InputError(f"a confidence of {confidence} cannot be; give one between 0 and 1, as 0.95")
        if self.deviations is None:
            raise InputError(
                "these embeddings hold no deviations, which an interval needs; fit them with psdvec"
            )
        deviations = self.deviations[[i, j]]
        if np.isnan(deviations).all():
            raise InputError(
                f"'{a}' and '{b}' were fitted together and have no deviation; only words placed against fixed ones, by "
                "extend or as noncore words, have one; ask for the similarity without an interval"
            )
        if i == j:
            return Interval(cosine, cosine, cosine)
        angle = np.arccos(np.clip(cosine, -1, 1))
        spread = float(np.hypot(*(np.nan_to_num(deviations) / self.lengths[[i, j]])))
        reach = NormalDist().inv_cdf((1 + confidence) / 2) * spread
        return Interval(
            cosine, float(np.cos(min(angle + reach, np.pi))), float(np.cos(max(angle - reach, 0.0)))
        )

    def distance(self, a: str, b: str) -> float:
        """Return 1 minus the cosine of ``a`` and ``b``."""
        return 1 - self.similarity(a, b)

    def n_similarity(self, first: Sequence[str], second: Sequence[str]) -> float:
        """Return the cosine of the mean vectors of two sets of words."""
        if not first or not second:
            raise InputError("n_similarity compares two sets of words, and one of them is empty; give both")
        return _cosine(self[list(first)].mean(axis=0), self[list(second)].mean(axis=0))

    def doesnt_match(self, words: Sequence[str]) -> str:
        """Return the word that is farthest from the mean of all of them."""
        return self.rank_by_centrality(words)[-1][1]

    def rank_by_centrality(self, words: Sequence[str]) -> list[tuple[float, str]]:
        """Return ``(cosine to the mean, word)`` of each word, nearest first."""
        if not words:
            raise InputError("no words were given to compare; give two or more")
        rows = self._unit_rows([self.get_index(word) for word in words])
        cosines = rows @ _unit(rows.mean(axis=0))
        return sorted(zip(cosines.tolist(), words, strict=True), reverse=True)

    def rank(self, a: str, b: str) -> int:
        """Return the place of ``b`` among the neighbours of ``a``; the nearest has place 1."""
        return len(self.closer_than(a, b)) + 1

    def closer_than(self, a: str, b: str) -> list[str]:
        """Return all words nearer to ``a`` than ``b`` is, most frequent first."""
        i, j = self.get_index(a), self.get_index(b)
        cosines = self._cosines(_unit(self.vectors[i]))
        return [self.words[k] for k in np.flatnonzero(cosines > cosines[j]).tolist() if k != i]

    # Searching all words

    @overload
    def most_similar(
        self,
        positive: Query | Sequence[Query] = ...,
        negative: Query | Sequence[Query] = ...,
        *,
        topn: int = ...,
        restrict_vocab: int | None = ...,
    ) -> Ranking: ...
    @overload
    def most_similar(
        self,
        positive: Query | Sequence[Query] = ...,
        negative: Query | Sequence[Query] = ...,
        *,
        topn: None,
        restrict_vocab: int | None = ...,
    ) -> Floats: ...

    def most_similar(
        self,
        positive: Query | Sequence[Query] = (),
        negative: Query | Sequence[Query] = (),
        *,
        topn: int | None = 10,
        restrict_vocab: int | None = None,
    ) -> Ranking | Floats:
        """Return the words nearest to the mean of the ``positive`` minus the ``negative`` ones (3CosAdd).

        Parameters
        ----------
        positive, negative : a word, a vector, a pair of one and its weight, or a list of these
        topn : how many words; None returns the cosines of all words as an array
        restrict_vocab : search the first words only

        Returns
        -------
        A list of ``(word, cosine)``, nearest first, the given words left out.
        """
        terms, weights, given = self._read_query(positive, negative)
        mean = _unit((weights[:, None] * terms).sum(axis=0) / np.abs(weights).sum())
        if topn is None:
            return self._cosines(mean, restrict_vocab)
        found = nearest_rows(
            self.vectors[:restrict_vocab],
            self.lengths[:restrict_vocab],
            mean[None, :],
            topn=topn + len(given) if topn > 0 else 0,
        )
        return self._ranking(found.ids[0], found.cosines[0], given, topn)

    @overload
    def most_similar_cosmul(
        self,
        positive: Query | Sequence[Query] = ...,
        negative: Query | Sequence[Query] = ...,
        *,
        topn: int = ...,
        restrict_vocab: int | None = ...,
    ) -> Ranking: ...
    @overload
    def most_similar_cosmul(
        self,
        positive: Query | Sequence[Query] = ...,
        negative: Query | Sequence[Query] = ...,
        *,
        topn: None,
        restrict_vocab: int | None = ...,
    ) -> Floats: ...

    def most_similar_cosmul(
        self,
        positive: Query | Sequence[Query] = (),
        negative: Query | Sequence[Query] = (),
        *,
        topn: int | None = 10,
        restrict_vocab: int | None = None,
    ) -> Ranking | Floats:
        """Return the words whose cosines, moved to [0, 1] and multiplied, are largest (3CosMul)."""
        terms, weights, given = self._read_query(positive, negative)
        products: list[Floats] = [np.ones(1, dtype=np.float32)] * 2
        for term, weight in zip(terms, weights, strict=True):
            side = int(weight < 0)
            products[side] = np.asarray(products[side] * (1 + self._cosines(term, restrict_vocab)) / 2)
        scores = np.asarray(products[0] / (products[1] + COSMUL_EPSILON), dtype=np.float32)
        if topn is None:
            return scores
        best = largest_columns(scores[None, :], topn + len(given) if topn > 0 else 0)[0]
        return self._ranking(best, scores[best], given, topn)

    def most_similar_many(
        self, words: Sequence[str], *, topn: int = 10, restrict_vocab: int | None = None
    ) -> list[Ranking]:
        """Return ``most_similar(word)`` for each of ``words``, by matrix products and so much faster.

        >>> e = Embeddings(("north", "east", "both"), np.array([[1, 0], [0, 1], [1, 1]], dtype=np.float32))
        >>> [ranking[0][0] for ranking in e.most_similar_many(["north", "east"], topn=1)]
        ['both', 'both']
        """
        ids = [self.get_index(word) for word in words]
        found = nearest_rows(
            self.vectors[:restrict_vocab],
            self.lengths[:restrict_vocab],
            self._unit_rows(ids),
            topn=topn + 1 if topn > 0 else 0,
        )
        rows = zip(found.ids, found.cosines, ids, strict=True)
        return [self._ranking(row, cosines, {own}, topn) for row, cosines, own in rows]

    def thin_evidence(self, *, limit: float = 0.5) -> npt.NDArray[np.bool_]:
        """Say for every word whether its vector rests on little: d s² > ``limit`` |v|².

        None is thin where no deviations are known.
        """
        if self.deviations is None:
            return np.zeros(len(self), dtype=bool)
        return np.asarray(self.dim * self.deviations**2 > limit * self.lengths**2)

    # Helpers

    def _unit_rows(self, ids: Sequence[int]) -> Floats:
        return np.asarray(self.vectors[ids] / self.lengths[ids][:, None])

    def _cosines(self, unit: Floats, restrict_vocab: int | None = None) -> Floats:
        return np.asarray(self.vectors[:restrict_vocab] @ unit / self.lengths[:restrict_vocab])

    def _read_query(
        self, positive: Query | Sequence[Query], negative: Query | Sequence[Query]
    ) -> tuple[Floats, Floats, set[int]]:
        """Return a query's vectors (those of words scaled to length 1), weights, and the ids of its words."""
        terms: list[Floats] = []
        weights: list[float] = []
        given: set[int] = set()
        for side, sign in ((positive, 1.0), (negative, -1.0)):
            for item in _as_list(side):
                key, weight = item if isinstance(item, tuple) else (item, sign)
                if isinstance(key, str):
                    given.add(self.get_index(key))
                    key = _unit(self.vectors[self.get_index(key)])
                terms.append(np.asarray(key, dtype=np.float32))
                weights.append(weight)
        if not any(weights):
            raise InputError("nothing to search for; give at least one word or vector")
        return np.stack(terms), np.array(weights, dtype=np.float32), given

    def _ranking(self, ids: Iterable[int], scores: Floats, given: set[int], topn: int) -> Ranking:
        pairs = [
            (self.words[i], float(score)) for i, score in zip(ids, scores, strict=True) if i not in given
        ]
        return pairs[:topn]


def _as_list(side: Query | Sequence[Query]) -> list[Query]:
    """Read one side of a query: a tuple of a key and a number is one weighted key, not two keys."""
    if isinstance(side, (str, np.ndarray)) or _is_weighted(side):
        return [cast(Query, side)]
    return list(cast("Sequence[Query]", side))


def _is_weighted(item: object) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], Real)


def _unit(vector: Floats) -> Floats:
    length = np.linalg.norm(vector)
    return np.asarray(vector / length if length else vector, dtype=np.float32)


def _cosine(a: Floats, b: Floats) -> float:
    return float(_unit(a) @ _unit(b))
