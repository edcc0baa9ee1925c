"""Embeddings: words with their vectors, and the questions to ask them.

:class:`Embeddings` holds words, an (n, d) matrix that may be mapped from disk and, where known, the words' counts and
how uncertain each vector is. It compares words, and finds neighbours and analogies, with gensim's names and return
values; words are looked up by :mod:`psdvec.vectors.lookup`, and the exact search itself is in
:mod:`psdvec.vectors.neighbours`. Files are read and written by :mod:`psdvec.formats`; vectors are evaluated by
:mod:`psdvec.evaluation.evaluate`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict, Unpack, cast, overload

import numpy as np

from psdvec.arrays import Bools, Float32s, Float64s, Int64s, as_numbers
from psdvec.counts.vocabulary import TEXT_KEYS, Key, demand_keys, key_text
from psdvec.errors import InputError, checked, demand_positive, demand_words
from psdvec.vectors.lookup import Lexicon, listed
from psdvec.vectors.neighbours import (
    TAIL,
    Interval,
    csr_of,
    is_wrapped,
    largest_columns,
    least_distance,
    lengths_of,
    may_point_elsewhere,
    name_rows,
    nearest_rows,
    need_deviations,
    neighbour_intervals,
    similarity_interval,
    unit_vector,
)
from psdvec.vectors.subwords import Unseen, need_subwords, wants_spelling

Query: TypeAlias = Key | Float32s | tuple[Key | Float32s, float]
Queries: TypeAlias = Query | Iterable[Query] | None
Ranking: TypeAlias = list[tuple[Key, float]]
Format: TypeAlias = Literal["model", "text", "glove", "binary", "npz", "model2vec"]
AnalogyMethod: TypeAlias = Literal["3cosadd", "3cosmul"]

ANALOGY: AnalogyMethod = "3cosadd"  # how an analogy is answered unless another way is asked for
COSMUL_EPSILON = 1e-6


class _How(TypedDict, total=False):
    """How a search is made, apart from the number of its answers."""

    restrict_vocab: int | None
    unseen: Unseen


class _HowClipped(_How, total=False):
    """How a search is made among words whose ids begin with one and end before another."""

    clip_start: int
    clip_end: int | None


class _Terms(NamedTuple):
    """The terms of a search.

    ``vectors``: (k, d) float32, those of words scaled to length 1. ``weights``: (k,) float32, negative for terms to
    stay away from. ``given``: the ids of the words among them, which are left out of the answer.
    """

    vectors: Float32s
    weights: Float32s
    given: frozenset[int]


@dataclass(frozen=True, eq=False, repr=False)
class Embeddings(Lexicon):
    """Words and their vectors, most frequent word first where counts are known.

    Where a question takes ``unseen``, a word without a vector is an error or, with ``unseen="spelling"``, gets the one
    that its spelling tells. Only the words of the vocabulary are ever answers.

    Parameters
    ----------
    words : n different strings; of items, they may all be whole numbers or all be tuples
    vectors : (n, d) float32, perhaps mapped, never changed; sparse or eight-bit rows of ``psdvec.vectors.neighbours``
    counts : (n,) int64 or None; how often each word was seen
    deviations : (n,) float32 or None; the standard deviation of each coordinate of a word's vector
    subwords : what makes vectors of the spelling of words that have none, or None
    tokenizer : how the vectors' text was cut into words, one of :data:`~psdvec.text.tokenizers.TOKENIZERS`; or None, if
        that is not known
    phrases : those that were joined in the vectors' text, each a word such as ``new_york``; or None

    Examples
    --------
    >>> e = Embeddings(("north", "east", "both"), np.array([[1, 0], [0, 1], [1, 1]], dtype=np.float32))
    >>> e.most_similar("north", topn=1)
    [('both', 0.7071067690849304)]
    """

    def __eq__(self, other: object) -> bool:
        """Say whether both hold the same words, numbers and, where there are any, scales."""
        if not isinstance(other, Embeddings):
            return NotImplemented
        mine, theirs = self._values(), other._values()
        return len(mine) == len(theirs) and all(map(_same, mine, theirs))

    __hash__ = None  # type: ignore[assignment]

    def _values(self) -> tuple[Any, ...]:
        m = csr_of(self.vectors)
        vectors = (np.asarray(self.vectors),) if m is None else (m.data, m.indices, m.indptr, self.dim)
        spelling = () if self.subwords is None else self.subwords.parts()
        phrases = () if self.phrases is None else (self.phrases.digest,)
        return (tuple(self.words), *vectors, self.counts, self.deviations, *spelling, *phrases)

    def __deepcopy__(self, memo: object) -> Embeddings:
        return self  # a value that never changes need not be copied

    # The vectors of several words, and of other ones

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
        if not isinstance(keys, (list, tuple)):
            if isinstance(keys, str | bytes | Mapping) or not isinstance(keys, Iterable):
                raise InputError(f"the words are {keys!r:.60}; give a list of words or vectors")
            keys = list(keys)
        if not keys:
            raise InputError(
                "there are no words to take the mean of; give a list of at least one word or vector"
            )
        shares: Float64s = as_numbers(
            "weights", [1.0] * len(keys) if weights is None else weights, np.float64
        )
        if shares.shape != (len(keys),):
            raise InputError(f"{shares.size} weights were given for {len(keys)} words; give one for each")
        if not np.isfinite(shares).all():
            raise InputError("a weight is not a finite number; give finite weights")
        total, size = np.zeros(self.dim, dtype=np.float32), 0.0
        for key, weight in zip(keys, shares.tolist(), strict=True):
            if self._is_key(key) and ignore_missing and self._id_of(key) < 0:
                continue
            vector = self.get_vector(key, norm=pre_normalize) if self._is_key(key) else self._vector_of(key)
            total += np.float32(weight) * vector
            size += abs(weight)
        mean = np.asarray(total / (size or 1), dtype=np.float32)
        return unit_vector(mean) if post_normalize else mean

    def select(self, words: Iterable[Key]) -> Embeddings:
        """Return the embeddings of ``words`` only, in the order given.

        >>> Embeddings(("a", "b"), np.eye(2, dtype=np.float32)).select(["b"]).words
        ('b',)
        """
        return self.take(np.array([self.get_index(word) for word in listed(words)], dtype=np.int64))

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
            phrases=self.phrases,
            subwords=self.subwords,
        )

    def with_spelled(self, words: Iterable[Key]) -> Embeddings:
        """Return these embeddings with a vector for each of ``words`` that lacks one, made of its spelling.

        The new words come last, in the order given; a word of whose letters nothing is known stays without a vector.
        """
        missing = [word for word in dict.fromkeys(demand_words(words)) if word not in self]
        if not missing:
            return self
        subwords = need_subwords(self.subwords)
        spelled = subwords.vectors_of(missing)
        told = np.flatnonzero(spelled.any(axis=1))
        new, vectors = [missing[i] for i in told.tolist()], spelled[told]
        return append_words(self, new, vectors, np.zeros(len(new), np.int64), subwords.deviations_of(vectors))

    def with_text_keys(self) -> Embeddings:
        """Return these embeddings with the texts of their keys in place of numbers and tuples, as files hold them.

        >>> Embeddings((7, 12), np.eye(2, dtype=np.float32)).with_text_keys().words
        ('7', '12')
        """
        if self._kind == TEXT_KEYS:
            return self
        return replace(self, words=tuple(key_text(key) for key in self.words))

    # Comparing given words

    @overload
    def similarity(self, a: Key, b: Key, *, confidence: float = ..., unseen: Unseen = ...) -> float: ...
    @overload
    def similarity(
        self, a: Key, b: Key, *, interval: Literal[True], confidence: float = ..., unseen: Unseen = ...
    ) -> Interval: ...
    @overload
    def similarity(
        self, a: Key, b: Key, *, interval: bool, confidence: float = ..., unseen: Unseen = ...
    ) -> float | Interval: ...

    def similarity(
        self, a: Key, b: Key, *, interval: bool = False, confidence: float = 0.95, unseen: Unseen = "error"
    ) -> float | Interval:
        """Return the cosine of the vectors of ``a`` and ``b``; with ``interval``, its bounds as well.

        The bounds follow from the deviations of the two words, to first order
        (:func:`psdvec.vectors.neighbours.similarity_interval`): they hold while d s² is small compared with |v|². A
        deviation that is not known counts as 0;
        docs/results/intervals.md says how often the bounds hold. A word that has only its spelling
        (``unseen="spelling"``) has the deviation of such words. For words that were chosen for being near, see
        :meth:`most_similar_intervals`.
        """
        rows = self.vectors_of([a, b], unseen=unseen)
        value = cosine(rows[0], rows[1])
        if not interval:
            return value
        return similarity_interval(
            value,
            (self._form_of(a), self._form_of(b)),
            deviations=self._deviations_of([a, b], rows),
            lengths=lengths_of(rows),
            confidence=confidence,
        )

    @checked
    def relative_cosine_similarity(self, wa: Key, wb: Key, topn: int = 10) -> float:
        """Return the cosine of ``wa`` and ``wb`` as a share of the sum of those of the ``topn`` neighbours of ``wa``.

        Of two synonyms it tends to be more than 1 / ``topn``, as Leeuwenberg et al. (2016) found.
        """
        total = sum(cosine for _, cosine in self.most_similar(wa, topn=topn))
        if not total:
            raise InputError(
                f"the cosines of the {topn} words nearest to '{wa}' add up to 0, and nothing is a share of that; give "
                "another topn, or other words"
            )
        return self.similarity(wa, wb) / total

    @staticmethod
    def cosine_similarities(vector_1: Float32s, vectors_all: Float32s) -> Float32s:
        """Return the cosine (n,) of the vector ``vector_1`` (d,) with each row of ``vectors_all`` (n, d); of zeros, 0.

        >>> Embeddings.cosine_similarities(np.ones(2), np.array([[2, 2], [1, -1]])).round(4).tolist()
        [1.0, 0.0]
        """
        wanted = "give a vector, and a matrix whose rows are as long"
        try:
            one: Float32s = as_numbers("vector_1", vector_1, np.float32)
            rows = (
                vectors_all if is_wrapped(vectors_all) else as_numbers("vectors_all", vectors_all, np.float32)
            )
        except ValueError as error:
            raise InputError(f"a matrix was given as lists of several lengths; {wanted}") from error
        if one.ndim != 1 or rows.ndim != 2 or rows.shape[1] != len(one):
            raise InputError(f"vector_1 has shape {one.shape} and vectors_all {rows.shape}; {wanted}")
        lengths = lengths_of(rows)
        if not (np.isfinite(one).all() and np.isfinite(lengths).all()):
            raise InputError("a vector holds numbers that are not finite, or too large; give finite numbers")
        return cosines_to(unit_vector(one), rows, lengths)

    def distance(self, a: Key, b: Key, *, unseen: Unseen = "error") -> float:
        """Return 1 minus the cosine of ``a`` and ``b``."""
        return 1 - self.similarity(a, b, unseen=unseen)

    def n_similarity(self, first: Sequence[Key], second: Sequence[Key], *, unseen: Unseen = "error") -> float:
        """Return the cosine of the mean vectors of two sets of words."""
        first, second = listed(first), listed(second)
        if not first or not second:
            raise InputError("one of the two sets of words is empty; give at least one word in each")
        means = [self.vectors_of(words, unseen=unseen).mean(axis=0) for words in (first, second)]
        return cosine(*means)

    @checked
    def wmdistance(self, first: Sequence[Key], second: Sequence[Key], *, norm: bool = True) -> float:
        """Return the Word Mover's Distance of two lists of words, whose vectors have length 1 if ``norm``.

        Words without a vector are left out, and the distance from a text that has no other is infinite;
        :func:`psdvec.vectors.neighbours.least_distance` says more.
        """
        texts = [Counter(i for i in map(self._id_of, text) if i >= 0) for text in (first, second)]
        if not all(texts):
            return float("inf")
        counts = [np.array([*text.values()], dtype=np.float64) for text in texts]
        vectors = [np.array([self.get_vector(self.words[i], norm) for i in text]) for text in texts]
        return least_distance(
            (vectors[0], vectors[1]), (counts[0] / counts[0].sum(), counts[1] / counts[1].sum())
        )

    def doesnt_match(self, words: Sequence[Key], *, unseen: Unseen = "error") -> Key:
        """Return the word that is farthest from the mean of them all."""
        return self.rank_by_centrality(words, unseen=unseen)[-1][1]

    def rank_by_centrality(
        self, words: Sequence[Key], *, unseen: Unseen = "error"
    ) -> list[tuple[float, Key]]:
        """Return ``(cosine to the mean, word)`` of each word, nearest first."""
        words = listed(words)
        if not words:
            raise InputError("there are no words to compare; give two or more")
        rows = self.vectors_of(words, unseen=unseen)
        rows = np.asarray(rows / lengths_of(rows)[:, None])
        cosines = rows @ unit_vector(rows.mean(axis=0))
        return sorted(zip(cosines.tolist(), words, strict=True), reverse=True)

    def rank(self, a: Key, b: Key) -> int:
        """Return the place of ``b`` among the neighbours of ``a``; the nearest has place 1."""
        return len(self.closer_than(a, b)) + 1

    def closer_than(self, a: Key, b: Key) -> list[Key]:
        """Return all words nearer to ``a`` than ``b`` is, most frequent first."""
        i, j = self._known_id_of(a), self._known_id_of(b)
        cosines = cosines_to(unit_vector(self.vectors[i]), self.vectors, self.lengths)
        return [self.words[k] for k in np.flatnonzero(cosines > cosines[j]).tolist() if k != i]

    def thin_evidence(self, words: Sequence[Key] | None = None) -> Bools:
        """Say of each word, or of each of ``words``, whether its vector rests on so little that it may point elsewhere.

        It does where the cosine with the word's true vector may well be below 0.5, as far as its deviation and count
        tell (:func:`psdvec.vectors.neighbours.may_point_elsewhere`). Without deviations, no word is thin.
        """
        words = None if words is None else demand_keys(words)
        rows = slice(None) if words is None else [self._known_id_of(word) for word in words]
        if self.deviations is None:
            return np.zeros(len(self if words is None else words), dtype=bool)
        counts = None if self.counts is None else self.counts[rows]
        return may_point_elsewhere(self.deviations[rows], self.lengths[rows], counts, dim=self.dim)

    # Searching among all words

    @overload
    def most_similar(
        self, positive: Queries = ..., negative: Queries = ..., *, topn: int = ..., **how: Unpack[_HowClipped]
    ) -> Ranking: ...
    @overload
    def most_similar(
        self, positive: Queries = ..., negative: Queries = ..., *, topn: None, **how: Unpack[_HowClipped]
    ) -> Float32s: ...

    @checked
    def most_similar(
        self,
        positive: Queries = (),
        negative: Queries = (),
        *,
        topn: int | None = 10,
        clip_start: int = 0,
        clip_end: int | None = None,
        restrict_vocab: int | None = None,
        unseen: Unseen = "error",
    ) -> Ranking | Float32s:
        """Return the words nearest to the mean of the ``positive`` minus the ``negative`` ones (3CosAdd).

        Parameters
        ----------
        positive, negative : a word, a vector, a pair of one and its weight, or a list of these
        topn : how many words; None returns the cosines of all words as an array
        clip_start, clip_end : search only words with ids from the one up to, but without, the other
        restrict_vocab : search only this many words, from the first, whatever is clipped
        unseen : "error", or "spelling", which gives a word without a vector the one that its spelling tells

        Returns
        -------
        A list of ``(word, cosine)``, nearest first, without the given words.
        """
        terms = self._read(positive, negative, unseen)
        vectors, lengths = self._searched(restrict_vocab, clip_start, clip_end)
        first = clip_start if restrict_vocab is None else 0
        total = (terms.weights[:, None] * terms.vectors).sum(axis=0)
        mean = unit_vector(total / np.abs(terms.weights).sum())
        if topn is None:
            return cosines_to(mean, vectors, lengths)
        found = nearest_rows(vectors, lengths, mean[None, :], topn=max(topn, 0) + len(terms.given))
        return name_rows(self.words, found.ids[0] + first, found.cosines[0], without=terms.given, topn=topn)

    @overload
    def most_similar_cosmul(
        self, positive: Queries = ..., negative: Queries = ..., *, topn: int = ..., **how: Unpack[_How]
    ) -> Ranking: ...
    @overload
    def most_similar_cosmul(
        self, positive: Queries = ..., negative: Queries = ..., *, topn: None, **how: Unpack[_How]
    ) -> Float32s: ...

    @checked
    def most_similar_cosmul(
        self,
        positive: Queries = (),
        negative: Queries = (),
        *,
        topn: int | None = 10,
        restrict_vocab: int | None = None,
        unseen: Unseen = "error",
    ) -> Ranking | Float32s:
        """Return the words whose cosines, moved to [0, 1] and multiplied, are largest (3CosMul)."""
        terms = self._read(positive, negative, unseen)
        vectors, lengths = self._searched(restrict_vocab)
        products: list[Float32s] = [np.ones(1, dtype=np.float32)] * 2
        for vector, weight in zip(terms.vectors, terms.weights, strict=True):
            side = int(weight < 0)
            products[side] = np.asarray(products[side] * (1 + cosines_to(vector, vectors, lengths)) / 2)
        scores = np.asarray(products[0] / (products[1] + COSMUL_EPSILON), dtype=np.float32)
        if topn is None:
            return scores
        best = largest_columns(scores[None, :], max(topn, 0) + len(terms.given))[0]
        return name_rows(self.words, best, scores[best], without=terms.given, topn=topn)

    @checked
    def analogy(
        self,
        a: Key,
        b: Key,
        c: Key,
        *,
        method: AnalogyMethod = ANALOGY,
        topn: int = 10,
        restrict_vocab: int | None = None,
        unseen: Unseen = "error",
    ) -> Ranking:
        """Return the words that are to ``c`` as ``b`` is to ``a``, with their scores, best first.

        ``method`` is ``"3cosadd"``, which is ``most_similar([b, c], [a])``, or ``"3cosmul"``, which is
        ``most_similar_cosmul([b, c], [a])``.

        >>> vectors = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1]], dtype=np.float32)
        >>> Embeddings(("man", "king", "woman", "queen"), vectors).analogy("man", "king", "woman")[0][0]
        'queen'
        """
        ways: dict[str, Callable[..., Ranking]] = {
            "3cosadd": self.most_similar,
            "3cosmul": self.most_similar_cosmul,
        }
        if method not in ways:
            raise InputError(f'the method is \'{method}\'; choose method="3cosadd" or method="3cosmul"')
        return ways[method]([b, c], [a], topn=topn, restrict_vocab=restrict_vocab, unseen=unseen)

    @checked
    def similar_by_word(self, word: Key, topn: int = 10, restrict_vocab: int | None = None) -> Ranking:
        """Return ``most_similar(word)``, by gensim's other name."""
        return self.most_similar([word], topn=topn, restrict_vocab=restrict_vocab)

    @checked
    def similar_by_vector(
        self, vector: Float32s, topn: int = 10, restrict_vocab: int | None = None
    ) -> Ranking:
        """Return the words nearest to a ``vector``, which need not be that of a word."""
        return self.most_similar([vector], topn=topn, restrict_vocab=restrict_vocab)

    @checked
    def most_similar_many(
        self,
        words: Sequence[Key],
        *,
        topn: int = 10,
        restrict_vocab: int | None = None,
        unseen: Unseen = "error",
    ) -> list[Ranking]:
        """Return ``most_similar(word)`` for each of ``words``; matrix products make it much faster than a loop.

        >>> e = Embeddings(("north", "east", "both"), np.array([[1, 0], [0, 1], [1, 1]], dtype=np.float32))
        >>> [ranking[0][0] for ranking in e.most_similar_many(["north", "east"], topn=1)]
        ['both', 'both']
        """
        asked = self.vectors_of(words, unseen=unseen)
        vectors, lengths = self._searched(restrict_vocab)
        units = np.asarray(asked / lengths_of(asked)[:, None])
        found = nearest_rows(vectors, lengths, units, topn=max(topn, 0) + 1)
        return [
            name_rows(self.words, ids, cosines, without={self._id_of(word)}, topn=topn)
            for word, ids, cosines in zip(words, *found, strict=True)
        ]

    @checked
    def most_similar_intervals(
        self,
        word: Key,
        *,
        topn: int = 10,
        restrict_vocab: int | None = None,
        confidence: float = 0.95,
        unseen: Unseen = "error",
    ) -> list[tuple[Key, Interval]]:
        """Return ``most_similar(word)`` with the bounds of each cosine, which allow for the choice of the nearest.

        Of many words those are nearest that are near, and those that seem nearer than they are. The bounds therefore
        reach further down than up (:func:`psdvec.vectors.neighbours.neighbour_intervals`). A deviation that is not
        known counts as 0.

        >>> vectors = np.array([[1, 0], [1, 0.5], [1, 1], [0, 1]], np.float32)
        >>> e = Embeddings(("east", "almost", "between", "north"), vectors, deviations=np.full(4, 0.05))
        >>> word, (value, low, high) = e.most_similar_intervals("east", topn=1)[0]
        >>> word, round(value, 2), high - value < value - low
        ('almost', 0.89, True)
        """
        need_deviations(self.deviations)
        how: _How = {"restrict_vocab": restrict_vocab, "unseen": unseen}
        ranking = self.most_similar(word, topn=TAIL * max(topn, 0), **how)
        names = [word, *(other for other, _ in ranking[: max(topn, 0)])]
        rows = self.vectors_of(names, unseen=unseen)
        with np.errstate(over="ignore"):
            spreads = np.nan_to_num(need_deviations(self._deviations_of(names, rows))) / lengths_of(rows)
        cosines = np.array([cosine for _, cosine in ranking], np.float64)
        bounds = neighbour_intervals(
            cosines, float(spreads[0]), spreads[1:].astype(np.float64), confidence=confidence
        )
        return list(zip(names[1:], bounds, strict=True))

    # Saving

    def save(
        self,
        path: str | Path,
        *,
        format: Format | None = None,
        spaces: str | None = None,
        overwrite: bool = False,
    ) -> None:
        """Write the vectors to ``path``, as :func:`psdvec.save` does, whose options these are."""
        from psdvec.formats import save

        save(self, path, format=format, spaces=spaces, overwrite=overwrite)

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

    # Helpers

    def _deviations_of(self, words: Sequence[Key], rows: Float32s) -> Float32s | None:
        """Return the deviations of ``words``, whose vectors are ``rows``, also of words that have only a spelling."""
        if self.deviations is None:
            return None
        ids = np.array([self._id_of(word) for word in words])
        is_spelled = ids < 0
        deviations: Float32s = self.deviations[ids]
        if is_spelled.any():
            deviations[is_spelled] = need_subwords(self.subwords).deviations_of(rows[is_spelled])
        return deviations

    def _read(self, positive: Queries, negative: Queries, unseen: Unseen) -> _Terms:
        """Read the terms of a search from the forms that gensim accepts."""
        wants_spelling(unseen)  # refuses anything else, also where no word is unseen
        terms: list[Float32s] = []
        weights: list[float] = []
        given: set[int] = set()
        for side, sign in ((positive, 1.0), (negative, -1.0)):
            for item in self._as_list(side):
                key, weight = cast("tuple[Any, float]", item) if self._is_weighted(item) else (item, sign)
                if self._is_key(key):
                    terms.append(unit_vector(self.vector(key, unseen=unseen)))
                    if self._id_of(key) >= 0:
                        given.add(self._id_of(key))
                else:
                    terms.append(self._vector_of(key))
                weights.append(float(weight))
        if not np.isfinite(weights).all():
            raise InputError("a weight is not a finite number; give numbers, such as 1 and -1")
        if not any(weights):
            raise InputError("nothing to search for; give at least one word or vector")
        return _Terms(np.stack(terms), np.array(weights, dtype=np.float32), frozenset(given))

    def _as_list(self, side: Queries) -> list[Query]:
        """Read one side of a query: a tuple of a key and a number is one weighted key, not two; None is nothing."""
        if side is None or (isinstance(side, tuple) and not side):
            return []
        if isinstance(side, np.ndarray) or self._is_key(side) or self._is_weighted(side):
            return [cast(Query, side)]
        if isinstance(side, bytes | Mapping) or not isinstance(side, Iterable):
            raise InputError(
                f"nothing can be searched for by a {type(side).__name__}; give a word, a vector, or a list of these"
            )
        return list(cast("Sequence[Query]", side))

    def _is_weighted(self, item: object) -> bool:
        """Tell whether ``item`` is a key or a vector with a weight; two whole numbers may be two keys."""
        number = float if self._kind == "int" else Real
        if not isinstance(item, tuple) or len(item) != 2 or not isinstance(item[1], number):
            return False
        if self._kind == "tuple":
            return isinstance(item[0], tuple | np.ndarray)
        return self._is_key(item[0]) or np.ndim(item[0]) == 1

    def _vector_of(self, given: object) -> Float32s:
        """Return a vector that was given among words; refuse what is no vector of as many finite numbers."""
        try:
            found: Float32s = as_numbers("the numbers of a vector", given, np.float32)
        except ValueError as error:  # lists of several lengths
            raise InputError(
                "a vector was given as lists of several lengths; give one list of numbers"
            ) from error
        if found.shape != (self.dim,):
            raise InputError(
                f"a vector has shape {found.shape} where words have {self.dim} dimensions; give {self.dim} numbers"
            )
        if not np.isfinite(found).all():
            raise InputError("a vector holds a number that is not finite; give finite numbers")
        return found

    def _searched(
        self, restrict_vocab: int | None, clip_start: int = 0, clip_end: int | None = None
    ) -> tuple[Float32s, Float32s]:
        """Return the vectors to search, and their lengths."""
        part = slice(0, demand_positive(restrict_vocab, "restrict_vocab"))
        if restrict_vocab is None and (clip_start or clip_end is not None):
            part = slice(clip_start, demand_positive(clip_end, "clip_end"))
            if not 0 <= clip_start < min(part.stop or len(self), len(self)):
                raise InputError(
                    f"clip_start {clip_start} and clip_end {clip_end} leave none of the {len(self):,} words to search; "
                    "give a clip_start from 0 on that is below both"
                )
        return self.vectors[part], self.lengths[part]


def append_words(
    e: Embeddings, words: Iterable[Key], vectors: Float32s, counts: Int64s, deviations: Float32s
) -> Embeddings:
    """Return ``e`` with more words after its own, which have counts and deviations if its own have."""
    return Embeddings(
        (*e.words, *words),
        np.concatenate([e.vectors, vectors]),
        None if e.counts is None else np.concatenate([e.counts, counts]),
        None if e.deviations is None else np.concatenate([e.deviations, deviations]),
        tokenizer=e.tokenizer,
        phrases=e.phrases,
        subwords=e.subwords,
    )


def cosines_to(unit: Float32s, vectors: Float32s, lengths: Float32s) -> Float32s:
    """Return the cosine of every row with ``unit``, a vector of length 1.

    >>> cosines_to(np.float32([1, 0]), np.float32([[3, 4], [0, 2]]), np.float32([5, 2])).round(2).tolist()
    [0.6000000238418579, 0.0]
    """
    return np.asarray(vectors @ unit / lengths)


def cosine(a: Float32s, b: Float32s) -> float:
    """Return the cosine of two vectors.

    >>> cosine(np.float32([2, 0]), np.float32([0, 1]))
    0.0
    """
    return float(unit_vector(a) @ unit_vector(b))


def _same(a: Any, b: Any) -> bool:
    """Say whether two parts are equal; of arrays, every number is, and NaN equals NaN.

    >>> _same(np.array([1, np.nan]), np.array([1, np.nan])), _same(np.ones(2), None)
    (True, False)
    """
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return bool(np.all(a is b or a == b))
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f" and b.dtype.kind == "f"))
