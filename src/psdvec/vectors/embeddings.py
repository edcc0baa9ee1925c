"""Embeddings: words with their vectors, and the questions to ask them.

:class:`Embeddings` holds words, an (n, d) matrix that may be mapped from disk and, where known, the words' counts and
how uncertain each vector is. It looks up words, compares them, and finds neighbours and analogies, with gensim's names
and return values. Files are read and written by :mod:`psdvec.formats`; vectors are evaluated by
:mod:`psdvec.evaluation.evaluate`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar, overload

import numpy as np

from psdvec.arrays import Bools, Float32s, Int64s
from psdvec.errors import InputError
from psdvec.vectors.intervals import Interval, cosine_interval
from psdvec.vectors.lookup import Lookup
from psdvec.vectors.neighbours import largest_columns, lengths_of, nearest_rows
from psdvec.vectors.queries import Query, read_query, unit_vector
from psdvec.vectors.sparse import csr_of

Ranking: TypeAlias = "list[tuple[str, float]]"
T = TypeVar("T")

COSMUL_EPSILON = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class Embeddings(Lookup):
    """Words and their vectors, most frequent word first where counts are known.

    Parameters
    ----------
    words : n different strings
    vectors : (n, d) float32, possibly memory-mapped, never changed; or :class:`~psdvec.vectors.sparse.SparseRows`
    counts : (n,) int64 or None; how often each word was seen
    deviations : (n,) float32 or None; the standard deviation of each coordinate of a word's vector
    tokenizer : how the vectors' text was cut into words, ``"unicode"``, ``"paper"`` or ``"whitespace"``; or None, if
        that is not known

    Examples
    --------
    >>> e = Embeddings(("north", "east", "both"), np.array([[1, 0], [0, 1], [1, 1]], dtype=np.float32))
    >>> e.most_similar("north", topn=1)
    [('both', 0.7071067690849304)]
    """

    words: Sequence[str]
    vectors: Float32s
    counts: Int64s | None = None
    deviations: Float32s | None = None
    tokenizer: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        sparse = csr_of(self.vectors) is not None
        vectors = self.vectors if sparse else np.asarray(self.vectors, dtype=np.float32)
        if vectors.ndim != 2 or len(vectors) != len(self.words):
            raise InputError(
                f"vectors must be a matrix with one row per word; found shape {vectors.shape} "
                f"for {len(self.words)} words"
            )
        object.__setattr__(self, "vectors", vectors)
        for name, dtype in (("counts", np.int64), ("deviations", np.float32)):
            values = getattr(self, name)
            if values is None:
                continue
            if np.shape(values) != (len(self.words),):
                raise InputError(
                    f"{name} must hold one number per word; found shape {np.shape(values)} "
                    f"for {len(self.words)} words"
                )
            object.__setattr__(self, name, np.asarray(values, dtype=dtype))

    def __repr__(self) -> str:
        size, *others = self._facts().items()
        facts = ", ".join([size[1], *(f"{name} {value}" for name, value in others)])
        return f"{type(self).__name__}({facts})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>"
            for name, value in self._facts().items()
        )
        return f"<table><caption>{type(self).__name__}</caption>{rows}</table>"

    def _facts(self) -> dict[str, str]:
        """Return what a glance should show, by name; the size comes first."""
        return {"size": f"{len(self):,} {'word' if len(self) == 1 else 'words'} × {self.dim} dimensions"}

    def __eq__(self, other: object) -> bool:
        """Say whether both hold the same words, numbers and, where there are any, scales."""
        if not isinstance(other, Embeddings):
            return NotImplemented
        mine, theirs = self._values(), other._values()
        return len(mine) == len(theirs) and all(map(_same, mine, theirs))

    __hash__ = None  # type: ignore[assignment]

    def _values(self) -> tuple[Any, ...]:
        csr = csr_of(self.vectors)
        vectors = (self.vectors,) if csr is None else (csr.data, csr.indices, csr.indptr, self.dim)
        return (tuple(self.words), *vectors, self.counts, self.deviations)

    def save(self, path: str | Path, **options: Any) -> None:
        """Write the vectors to ``path``, as :func:`psdvec.save` does and with its options."""
        from psdvec.formats import save

        save(self, path, **options)

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __getitem__(self, word: str | Sequence[str]) -> Float32s:
        """Return the vector of a word, or the (m, d) matrix of a list of words."""
        if isinstance(word, str):
            return self.get_vector(word)
        return np.asarray(self.vectors[[self.get_index(one) for one in word]])

    def __deepcopy__(self, memo: object) -> Embeddings:
        return self  # a value that never changes need not be copied

    @property
    def dim(self) -> int:
        """Dimensions of each vector."""
        return int(self.vectors.shape[1])

    @property
    def index_to_key(self) -> Sequence[str]:
        """The words, in the order of their ids."""
        return self.words

    @cached_property
    def lengths(self) -> Float32s:
        """The Euclidean length of every vector, 1 for a vector of zeros."""
        return lengths_of(self.vectors)

    # Looking up

    def get_vector(self, word: str, *, norm: bool = False) -> Float32s:
        """Return the vector of ``word``, scaled to length 1 if ``norm``; it is read-only."""
        index = self.get_index(word)
        vector = np.asarray(self.vectors[index] / self.lengths[index] if norm else self.vectors[index]).view()
        vector.setflags(write=False)
        return vector

    def get(self, word: str, default: T | None = None) -> Float32s | T | None:
        """Return the vector of ``word``, or ``default`` if there is none."""
        return self.get_vector(word) if word in self else default

    def select(self, words: Iterable[str]) -> Embeddings:
        """Return the embeddings of ``words`` only, in the order given.

        >>> Embeddings(("a", "b"), np.eye(2, dtype=np.float32)).select(["b"]).words
        ('b',)
        """
        return self.take(np.array([self.get_index(word) for word in words], dtype=np.int64))

    def take(self, ids: Int64s | slice) -> Embeddings:
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
            tokenizer=self.tokenizer,
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
        """Return the cosine of the vectors of ``a`` and ``b``; with ``interval``, its bounds as well.

        The bounds follow from the deviations of the two words (:func:`psdvec.vectors.intervals.cosine_interval`), to
        first order: they hold while d s² is small compared with |v|². A core word, against which others were placed,
        counts as fixed; docs/theory.md says how often the bounds hold.
        """
        pair = [self.get_index(a), self.get_index(b)]
        cosine = _cosine(self.vectors[pair[0]], self.vectors[pair[1]])
        if not interval:
            return cosine
        if not 0 < confidence < 1:
            raise InputError(f"the confidence is {confidence}; give a number between 0 and 1, such as 0.95")
        if self.deviations is None:
            raise InputError(
                "these vectors have no deviations, which an interval needs; ask for the similarity without an "
                "interval, or fit vectors with psdvec"
            )
        deviations = self.deviations[pair]
        if np.isnan(deviations).all():
            raise InputError(
                f"'{a}' and '{b}' were fitted together and have no deviation; only words placed against fixed ones, by "
                "extend or as noncore words, have one; ask for the similarity without an interval"
            )
        if a == b:
            return Interval(cosine, cosine, cosine)
        return cosine_interval(
            cosine, deviations=deviations, lengths=self.lengths[pair], confidence=confidence
        )

    def distance(self, a: str, b: str) -> float:
        """Return 1 minus the cosine of ``a`` and ``b``."""
        return 1 - self.similarity(a, b)

    def n_similarity(self, first: Sequence[str], second: Sequence[str]) -> float:
        """Return the cosine of the mean vectors of two sets of words."""
        if not first or not second:
            raise InputError("one of the two sets of words is empty; give at least one word in each")
        return _cosine(self[list(first)].mean(axis=0), self[list(second)].mean(axis=0))

    def doesnt_match(self, words: Sequence[str]) -> str:
        """Return the word that is farthest from the mean of them all."""
        return self.rank_by_centrality(words)[-1][1]

    def rank_by_centrality(self, words: Sequence[str]) -> list[tuple[float, str]]:
        """Return ``(cosine to the mean, word)`` of each word, nearest first."""
        if not words:
            raise InputError("there are no words to compare; give two or more")
        rows = self._unit_rows([self.get_index(word) for word in words])
        cosines = rows @ unit_vector(rows.mean(axis=0))
        return sorted(zip(cosines.tolist(), words, strict=True), reverse=True)

    def rank(self, a: str, b: str) -> int:
        """Return the place of ``b`` among the neighbours of ``a``; the nearest has place 1."""
        return len(self.closer_than(a, b)) + 1

    def closer_than(self, a: str, b: str) -> list[str]:
        """Return all words nearer to ``a`` than ``b`` is, most frequent first."""
        i, j = self.get_index(a), self.get_index(b)
        cosines = self._cosines(unit_vector(self.vectors[i]))
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
    ) -> Float32s: ...

    def most_similar(
        self,
        positive: Query | Sequence[Query] = (),
        negative: Query | Sequence[Query] = (),
        *,
        topn: int | None = 10,
        restrict_vocab: int | None = None,
    ) -> Ranking | Float32s:
        """Return the words nearest to the mean of the ``positive`` minus the ``negative`` ones (3CosAdd).

        Parameters
        ----------
        positive, negative : a word, a vector, a pair of one and its weight, or a list of these
        topn : how many words; None returns the cosines of all words as an array
        restrict_vocab : search only this many words, from the first

        Returns
        -------
        A list of ``(word, cosine)``, nearest first, without the given words.
        """
        terms = read_query(positive, negative, vectors=self.vectors, index_of=self.get_index)
        weights = terms.weights
        mean = unit_vector((weights[:, None] * terms.vectors).sum(axis=0) / np.abs(weights).sum())
        if topn is None:
            return self._cosines(mean, restrict_vocab)
        found = nearest_rows(
            self.vectors[:restrict_vocab],
            self.lengths[:restrict_vocab],
            mean[None, :],
            topn=topn + len(terms.ids) if topn > 0 else 0,
        )
        return self._ranking(found.ids[0], found.cosines[0], terms.ids, topn)

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
    ) -> Float32s: ...

    def most_similar_cosmul(
        self,
        positive: Query | Sequence[Query] = (),
        negative: Query | Sequence[Query] = (),
        *,
        topn: int | None = 10,
        restrict_vocab: int | None = None,
    ) -> Ranking | Float32s:
        """Return the words whose cosines, moved to [0, 1] and multiplied, are largest (3CosMul)."""
        terms = read_query(positive, negative, vectors=self.vectors, index_of=self.get_index)
        products: list[Float32s] = [np.ones(1, dtype=np.float32)] * 2
        for vector, weight in zip(terms.vectors, terms.weights, strict=True):
            side = int(weight < 0)
            products[side] = np.asarray(products[side] * (1 + self._cosines(vector, restrict_vocab)) / 2)
        scores = np.asarray(products[0] / (products[1] + COSMUL_EPSILON), dtype=np.float32)
        if topn is None:
            return scores
        best = largest_columns(scores[None, :], topn + len(terms.ids) if topn > 0 else 0)[0]
        return self._ranking(best, scores[best], terms.ids, topn)

    def most_similar_many(
        self, words: Sequence[str], *, topn: int = 10, restrict_vocab: int | None = None
    ) -> list[Ranking]:
        """Return ``most_similar(word)`` for each of ``words``; matrix products make it much faster than a loop.

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

    def thin_evidence(self, words: Sequence[str] | None = None, *, limit: float = 0.5) -> Bools:
        """Say of each word, or of each of ``words``, whether its vector rests on few occurrences.

        It does where d s² > ``limit`` |v|², with s the word's deviation. Without deviations, no word is thin.
        """
        rows = slice(None) if words is None else [self.get_index(word) for word in words]
        if self.deviations is None:
            return np.zeros(len(self if words is None else words), dtype=bool)
        return np.asarray(self.dim * self.deviations[rows] ** 2 > limit * self.lengths[rows] ** 2)

    # Helpers

    def _unit_rows(self, ids: Sequence[int]) -> Float32s:
        return np.asarray(self.vectors[ids] / self.lengths[ids][:, None])

    def _cosines(self, unit: Float32s, restrict_vocab: int | None = None) -> Float32s:
        return np.asarray(self.vectors[:restrict_vocab] @ unit / self.lengths[:restrict_vocab])

    def _ranking(self, ids: Iterable[int], scores: Float32s, given: Collection[int], topn: int) -> Ranking:
        pairs = [
            (self.words[i], float(score)) for i, score in zip(ids, scores, strict=True) if i not in given
        ]
        return pairs[:topn]


def _same(a: Any, b: Any) -> bool:
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return bool(np.all(a is b or a == b))
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f" and b.dtype.kind == "f"))


def _cosine(a: Float32s, b: Float32s) -> float:
    return float(unit_vector(a) @ unit_vector(b))
