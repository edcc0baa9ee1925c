"""Embeddings: words with their vectors, and the questions to ask them.

:class:`Embeddings` holds words, an (n, d) matrix that may be mapped from disk and, where known, the words' counts and
how uncertain each vector is. It looks up words, compares them, and finds neighbours and analogies, with gensim's names
and return values; its searches are in :mod:`psdvec.vectors.search`. Files are read and written by
:mod:`psdvec.formats`; vectors are evaluated by :mod:`psdvec.evaluation.evaluate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, overload

import numpy as np

from psdvec.arrays import Bools, Float32s, Int64s
from psdvec.errors import InputError, checked, demand_words
from psdvec.progress import Shown, count_of
from psdvec.text.tokenizers import find_tokenizer
from psdvec.vectors import search
from psdvec.vectors.documents import VectorOf, mean_vector, movers_distance
from psdvec.vectors.intervals import Interval, may_point_elsewhere, similarity_interval
from psdvec.vectors.neighbours import lengths_of
from psdvec.vectors.queries import unit_vector
from psdvec.vectors.search import Searchable
from psdvec.vectors.sparse import csr_of
from psdvec.vectors.subwords import Subwords, Unseen, need_subwords
from psdvec.vectors.values import as_numbers, one_per_word, same

T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class Embeddings(Searchable, Shown):
    """Words and their vectors, most frequent word first where counts are known.

    Parameters
    ----------
    words : n different strings
    vectors : (n, d) float32, possibly memory-mapped, never changed; or :class:`~psdvec.vectors.sparse.SparseRows`
    counts : (n,) int64 or None; how often each word was seen
    deviations : (n,) float32 or None; the standard deviation of each coordinate of a word's vector
    subwords : what makes vectors of the spelling of words that have none, or None
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
    subwords: Subwords | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.words, (list, tuple)):
            object.__setattr__(self, "words", tuple(demand_words(self.words)))
        elif self.words and not isinstance(
            self.words[0], str
        ):  # all of them would take as long as opening a model
            demand_words(self.words)
        if self.tokenizer is not None:
            find_tokenizer(self.tokenizer)
        if self.subwords is not None and not isinstance(self.subwords, Subwords):
            raise InputError(
                "subwords must be what a model has learned of spelling; give those of a model, or None"
            )
        sparse = csr_of(self.vectors) is not None
        vectors = self.vectors if sparse else as_numbers("vectors", self.vectors, np.float32)
        if vectors.ndim != 2 or len(vectors) != len(self.words):
            raise InputError(
                f"vectors must be a matrix with one row per word; found shape {vectors.shape} "
                f"for {len(self.words)} words"
            )
        object.__setattr__(self, "vectors", vectors)
        for name, dtype in (("counts", np.int64), ("deviations", np.float32)):
            object.__setattr__(self, name, one_per_word(name, getattr(self, name), len(self.words), dtype))

    def _facts(self) -> dict[str, str]:
        return {"size": f"{count_of(len(self), 'word')} × {self.dim} dimensions"}

    def __eq__(self, other: object) -> bool:
        """Say whether both hold the same words, numbers and, where there are any, scales."""
        if not isinstance(other, Embeddings):
            return NotImplemented
        mine, theirs = self._values(), other._values()
        return len(mine) == len(theirs) and all(map(same, mine, theirs))

    __hash__ = None  # type: ignore[assignment]

    def _values(self) -> tuple[Any, ...]:
        csr = csr_of(self.vectors)
        vectors = (self.vectors,) if csr is None else (csr.data, csr.indices, csr.indptr, self.dim)
        spelling = () if self.subwords is None else self.subwords.parts()
        return (tuple(self.words), *vectors, self.counts, self.deviations, *spelling)

    def save(self, path: str | Path, **options: Any) -> None:
        """Write the vectors to ``path``, as :func:`psdvec.save` does and with its options."""
        from psdvec.formats import save

        save(self, path, **options)

    @checked
    def save_word2vec_format(
        self, path: str | Path, *, binary: bool = False, write_header: bool = True
    ) -> None:
        """Write word2vec's format, most frequent word first, and replace what is at ``path``, all as gensim does."""
        if binary and not write_header:
            raise InputError(
                "word2vec's binary format has a header, and none was asked for; write the header, or text"
            )
        sorted_already = self.counts is None or bool((np.diff(self.counts) <= 0).all())
        ordered = self if sorted_already else self.take(np.argsort(-cast(Int64s, self.counts), kind="stable"))
        ordered.save(path, format="binary" if binary else "text" if write_header else "glove", overwrite=True)

    def __getitem__(self, word: str | Sequence[str]) -> Float32s:
        """Return the vector of a word, or the (m, d) matrix of a list of words."""
        return self.get_vector(word) if isinstance(word, str) else self.vectors_of(word)

    def __deepcopy__(self, memo: object) -> Embeddings:
        return self  # a value that never changes need not be copied

    @property
    def vector_size(self) -> int:
        """Dimensions of each vector, by gensim's name."""
        return self.dim

    # Looking up

    def get(self, word: str, default: T | None = None) -> Float32s | T | None:
        """Return the vector of ``word``, or ``default`` if there is none."""
        return self.get_vector(word) if word in self else default

    @checked
    def get_vecattr(self, word: str, attr: str) -> int | float:
        """Return how often ``word`` was seen (``attr`` "count"), or the deviation of its vector ("deviation")."""
        values = {"count": self.counts, "deviation": self.deviations}.get(attr)
        if values is None:
            raise InputError(
                f"these vectors have no {attr} for each word; those of psdvec have a count and a deviation"
            )
        return cast("int | float", values[self.get_index(word)].item())

    def get_mean_vector(
        self,
        keys: Sequence[str | Float32s],
        weights: Sequence[float] | Float32s | None = None,
        *,
        pre_normalize: bool = True,
        post_normalize: bool = False,
        ignore_missing: bool = True,
    ) -> Float32s:
        """Return the weighted mean of words, each scaled to length 1 if ``pre_normalize``, and of vectors as they are.

        Words without a vector are left out if ``ignore_missing``. ``post_normalize`` scales the mean to length 1.
        """
        mean = mean_vector(
            keys, weights, vector_of=self._lookup(norm=pre_normalize, strict=not ignore_missing), dim=self.dim
        )
        return unit_vector(mean) if post_normalize else mean

    def select(self, words: Iterable[str]) -> Embeddings:
        """Return the embeddings of ``words`` only, in the order given.

        >>> Embeddings(("a", "b"), np.eye(2, dtype=np.float32)).select(["b"]).words
        ('b',)
        """
        return self.take(np.array([self.get_index(word) for word in search.listed(words)], dtype=np.int64))

    def take(self, ids: Int64s | slice) -> Embeddings:
        """Return the embeddings of the words with these ``ids``; a slice of mapped vectors stays mapped.

        >>> Embeddings(("a", "b"), np.eye(2, dtype=np.float32)).take(slice(1)).words
        ('a',)
        """
        if not isinstance(ids, slice):
            found: Int64s = as_numbers("ids", ids, np.int64).ravel()
            if np.asarray(ids).dtype == bool:
                raise InputError("ids are True and False; give the ids of the words to take, as numbers")
            if found.min(initial=0) < 0 or found.max(initial=-1) >= len(self):
                raise InputError(f"an id is not that of a word; give ids from 0 to {len(self) - 1}")
            ids = found
        words = self.words[ids] if isinstance(ids, slice) else [self.words[i] for i in ids.tolist()]
        return Embeddings(
            tuple(words),
            self.vectors[ids],
            None if self.counts is None else self.counts[ids],
            None if self.deviations is None else self.deviations[ids],
            tokenizer=self.tokenizer,
            subwords=self.subwords,
        )

    def with_spelled(self, words: Iterable[str]) -> Embeddings:
        """Return these embeddings with a vector for each of ``words`` that lacks one, made of its spelling.

        The new words come last, in the order given; a word of whose letters nothing is known stays without a vector.
        """
        missing = [word for word in dict.fromkeys(demand_words(words)) if word not in self]
        if not missing:
            return self
        spelled = need_subwords(self.subwords).vectors_of(missing)
        told = np.asarray(spelled.any(axis=1))
        new = [word for word, tells in zip(missing, told.tolist(), strict=True) if tells]
        deviations = None
        if self.deviations is not None:
            deviations = np.concatenate(
                [self.deviations, need_subwords(self.subwords).deviations_of(spelled[told])]
            )
        return Embeddings(
            (*self.words, *new),
            np.concatenate([self.vectors, spelled[told]]),
            None if self.counts is None else np.concatenate([self.counts, np.zeros(len(new), np.int64)]),
            deviations,
            tokenizer=self.tokenizer,
            subwords=self.subwords,
        )

    # Comparing given words

    @overload
    def similarity(self, a: str, b: str, *, confidence: float = ..., unseen: Unseen = ...) -> float: ...
    @overload
    def similarity(
        self, a: str, b: str, *, interval: Literal[True], confidence: float = ..., unseen: Unseen = ...
    ) -> Interval: ...
    @overload
    def similarity(
        self, a: str, b: str, *, interval: bool, confidence: float = ..., unseen: Unseen = ...
    ) -> float | Interval: ...

    def similarity(
        self,
        a: str,
        b: str,
        *,
        interval: bool = False,
        confidence: float = 0.95,
        unseen: Unseen = "error",
    ) -> float | Interval:
        """Return the cosine of the vectors of ``a`` and ``b``; with ``interval``, its bounds as well.

        The bounds follow from the deviations of the two words (:func:`psdvec.vectors.intervals.cosine_interval`), to
        first order: they hold while d s² is small compared with |v|². A deviation that is not known counts as 0;
        docs/results/intervals.md says how often the bounds hold. A word that has only its spelling
        (``unseen="spelling"``) has the deviation of such words.
        """
        rows = self.vectors_of([a, b], unseen=unseen)
        value = search.cosine(rows[0], rows[1])
        if not interval:
            return value
        return similarity_interval(
            value,
            (a, b),
            deviations=self._deviations_of([a, b], rows),
            lengths=lengths_of(rows),
            confidence=confidence,
        )

    def distance(self, a: str, b: str, *, unseen: Unseen = "error") -> float:
        """Return 1 minus the cosine of ``a`` and ``b``."""
        return 1 - self.similarity(a, b, unseen=unseen)

    def n_similarity(self, first: Sequence[str], second: Sequence[str], *, unseen: Unseen = "error") -> float:
        """Return the cosine of the mean vectors of two sets of words."""
        first, second = search.listed(first), search.listed(second)
        if not first or not second:
            raise InputError("one of the two sets of words is empty; give at least one word in each")
        means = [self.vectors_of(words, unseen=unseen).mean(axis=0) for words in (first, second)]
        return search.cosine(*means)

    @checked
    def wmdistance(self, first: Sequence[str], second: Sequence[str], *, norm: bool = True) -> float:
        """Return the Word Mover's Distance of two lists of words, whose vectors have length 1 if ``norm``.

        Words without a vector are left out; :func:`psdvec.vectors.documents.movers_distance` says more.
        """
        return movers_distance(first, second, vector_of=self._lookup(norm=norm))

    def doesnt_match(self, words: Sequence[str], *, unseen: Unseen = "error") -> str:
        """Return the word that is farthest from the mean of them all."""
        return self.rank_by_centrality(words, unseen=unseen)[-1][1]

    def rank_by_centrality(
        self, words: Sequence[str], *, unseen: Unseen = "error"
    ) -> list[tuple[float, str]]:
        """Return ``(cosine to the mean, word)`` of each word, nearest first."""
        words = search.listed(words)
        if not words:
            raise InputError("there are no words to compare; give two or more")
        rows = self._units_of(words, unseen)
        cosines = rows @ unit_vector(rows.mean(axis=0))
        return sorted(zip(cosines.tolist(), words, strict=True), reverse=True)

    def rank(self, a: str, b: str) -> int:
        """Return the place of ``b`` among the neighbours of ``a``; the nearest has place 1."""
        return len(self.closer_than(a, b)) + 1

    def closer_than(self, a: str, b: str) -> list[str]:
        """Return all words nearer to ``a`` than ``b`` is, most frequent first."""
        i, j = self.get_index(a), self.get_index(b)
        cosines = search.cosines_to(unit_vector(self.vectors[i]), self.vectors, self.lengths)
        return [self.words[k] for k in np.flatnonzero(cosines > cosines[j]).tolist() if k != i]

    def thin_evidence(self, words: Sequence[str] | None = None) -> Bools:
        """Say of each word, or of each of ``words``, whether its vector rests on so little that it may point elsewhere.

        It does where the cosine with the word's true vector may well be below 0.5, as far as its deviation and count
        tell (:func:`psdvec.vectors.intervals.may_point_elsewhere`). Without deviations, no word is thin.
        """
        words = None if words is None else demand_words(words)
        rows = slice(None) if words is None else [self.get_index(word) for word in words]
        if self.deviations is None:
            return np.zeros(len(self if words is None else words), dtype=bool)
        counts = None if self.counts is None else self.counts[rows]
        return may_point_elsewhere(self.deviations[rows], self.lengths[rows], counts, dim=self.dim)

    # Helpers

    def _lookup(self, *, norm: bool, strict: bool = False) -> VectorOf:
        """Return the function that finds the vector of a word, or None for a missing word unless ``strict``."""
        return lambda word: self.get_vector(word, norm=norm) if strict or word in self else None

    def _deviations_of(self, words: Sequence[str], vectors: Float32s) -> Float32s | None:
        """Return the deviations of ``words``, whose vectors are given; None if these embeddings have none."""
        if self.deviations is None:
            return None
        found = np.array([self.deviations[self.key_to_index.get(word, 0)] for word in words], np.float32)
        unseen = np.array([word not in self for word in words])
        if unseen.any():
            found[unseen] = need_subwords(self.subwords).deviations_of(vectors[unseen])
        return found
