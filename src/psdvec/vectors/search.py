"""Rankings of all words by a search: what :class:`~psdvec.vectors.embeddings.Embeddings` answers.

:class:`Searchable` finds the vectors of the words that it is given, and the functions after it rank on plain arrays. A
search is a set of :class:`~psdvec.vectors.queries.Terms`. Its cosines with every word are either added (3CosAdd, the
default wherever an analogy is asked) or multiplied (3CosMul, Levy and Goldberg 2014). Vectors are (n, d) float32 with
their lengths (n,), of all words or of the first n only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property, partial
from typing import Literal, TypeAlias, overload

import numpy as np

from psdvec.arrays import Float32s
from psdvec.errors import InputError, MissingWordError, checked, demand_positive, demand_words
from psdvec.vectors.neighbours import largest_columns, lengths_of, nearest_rows
from psdvec.vectors.queries import Queries, Terms, read_query, unit_vector
from psdvec.vectors.subwords import Subwords, Unseen, need_subwords, wants_spelling
from psdvec.vectors.words import WordIndex

Ranking: TypeAlias = list[tuple[str, float]]
AnalogyMethod: TypeAlias = Literal["3cosadd", "3cosmul"]

ANALOGY: AnalogyMethod = "3cosadd"  # how an analogy is answered unless another way is asked for
COSMUL_EPSILON = 1e-6


class Searchable(WordIndex):
    """Words with their (n, d) ``vectors``: finding those of given words, and searching among all of them.

    Where a question takes ``unseen``, a word without a vector is an error or, with ``unseen="spelling"``, gets the one
    that its spelling tells. Only the words of the vocabulary are ever answers.
    """

    vectors: Float32s
    subwords: Subwords | None

    @property
    def dim(self) -> int:
        """Dimensions of each vector."""
        return int(self.vectors.shape[1])

    @cached_property
    def lengths(self) -> Float32s:
        """The Euclidean length of every vector, 1 for a vector of zeros."""
        lengths = lengths_of(self.vectors)
        if not np.isfinite(lengths).all():
            word = self.words[int(np.flatnonzero(~np.isfinite(lengths))[0])]
            raise InputError(
                f"the vector of '{word}' holds numbers too large to compute with; divide all vectors by the same number"
            )
        return lengths

    def get_vector(self, word: str, *, norm: bool = False) -> Float32s:
        """Return the vector of ``word``, scaled to length 1 if ``norm``; it is read-only."""
        index = self.get_index(word)
        vector = np.asarray(self.vectors[index] / self.lengths[index] if norm else self.vectors[index]).view()
        vector.setflags(write=False)
        return vector

    def vector(self, word: str, *, unseen: Unseen = "error") -> Float32s:
        """Return the vector of ``word``; of a word without one, that of its spelling if ``unseen`` is "spelling".

        A word that was fitted or placed has its own vector either way. One that is neither is a ``KeyError`` unless
        its spelling is asked for, and a word of whose letters nothing is known is one then too.
        """
        if word in self:
            return self.get_vector(word)
        vector: Float32s = self.vectors_of([word], unseen=unseen)[0]
        vector.setflags(write=False)
        return vector

    def vectors_of(self, words: Sequence[str], *, unseen: Unseen = "error") -> Float32s:
        """Return the vectors (m, d) of ``words``, each as :meth:`vector` finds it."""
        if not isinstance(words, (list, tuple)):
            words = demand_words(words)
        spell, ids = wants_spelling(unseen), self.key_to_index
        try:
            missing = [word for word in words if word not in ids]
        except TypeError:
            demand_words(words)  # says which of them is no word
            raise
        if not missing:
            return np.asarray(self.vectors[[ids[word] for word in words]])
        demand_words(words)
        spelled = need_subwords(self.subwords).vectors_of(missing) if spell else np.zeros((1, self.dim))
        untold = np.flatnonzero(~spelled.any(axis=1))
        if untold.size:
            raise MissingWordError(missing[untold[0]], self.closest_spellings)
        found = np.empty((len(words), self.dim), np.float32)
        own = np.array([word in ids for word in words])
        found[own] = np.asarray(self.vectors[[ids[word] for word in words if word in ids]])
        found[~own] = spelled
        return found

    @overload
    def most_similar(
        self,
        positive: Queries = ...,
        negative: Queries = ...,
        *,
        topn: int = ...,
        restrict_vocab: int | None = ...,
        unseen: Unseen = ...,
    ) -> Ranking: ...
    @overload
    def most_similar(
        self,
        positive: Queries = ...,
        negative: Queries = ...,
        *,
        topn: None,
        restrict_vocab: int | None = ...,
        unseen: Unseen = ...,
    ) -> Float32s: ...

    @checked
    def most_similar(
        self,
        positive: Queries = (),
        negative: Queries = (),
        *,
        topn: int | None = 10,
        restrict_vocab: int | None = None,
        unseen: Unseen = "error",
    ) -> Ranking | Float32s:
        """Return the words nearest to the mean of the ``positive`` minus the ``negative`` ones (3CosAdd).

        Parameters
        ----------
        positive, negative : a word, a vector, a pair of one and its weight, or a list of these
        topn : how many words; None returns the cosines of all words as an array
        restrict_vocab : search only this many words, from the first
        unseen : "error", or "spelling", which gives a word without a vector the one that its spelling tells

        Returns
        -------
        A list of ``(word, cosine)``, nearest first, without the given words.
        """
        terms = self._read(positive, negative, unseen)
        return rank_by_sum(terms, self.words, *self._searched(restrict_vocab), topn=topn)

    @overload
    def most_similar_cosmul(
        self,
        positive: Queries = ...,
        negative: Queries = ...,
        *,
        topn: int = ...,
        restrict_vocab: int | None = ...,
        unseen: Unseen = ...,
    ) -> Ranking: ...
    @overload
    def most_similar_cosmul(
        self,
        positive: Queries = ...,
        negative: Queries = ...,
        *,
        topn: None,
        restrict_vocab: int | None = ...,
        unseen: Unseen = ...,
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
        return rank_by_product(terms, self.words, *self._searched(restrict_vocab), topn=topn)

    @checked
    def analogy(
        self,
        a: str,
        b: str,
        c: str,
        *,
        method: AnalogyMethod = ANALOGY,
        topn: int = 10,
        restrict_vocab: int | None = None,
        unseen: Unseen = "error",
    ) -> Ranking:
        """Return the words that are to ``c`` as ``b`` is to ``a``, with their scores, best first.

        ``method`` is ``"3cosadd"``, which is ``most_similar([b, c], [a])``, or ``"3cosmul"``, which is
        ``most_similar_cosmul([b, c], [a])``.

        >>> from psdvec.vectors.embeddings import Embeddings
        >>> vectors = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1]], dtype=np.float32)
        >>> Embeddings(("man", "king", "woman", "queen"), vectors).analogy("man", "king", "woman")[0][0]
        'queen'
        """
        ways = {"3cosadd": self.most_similar, "3cosmul": self.most_similar_cosmul}
        if method not in ways:
            raise InputError(f'the method is \'{method}\'; choose method="3cosadd" or method="3cosmul"')
        return ways[method]([b, c], [a], topn=topn, restrict_vocab=restrict_vocab, unseen=unseen)

    @checked
    def similar_by_word(self, word: str, topn: int = 10, restrict_vocab: int | None = None) -> Ranking:
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
        words: Sequence[str],
        *,
        topn: int = 10,
        restrict_vocab: int | None = None,
        unseen: Unseen = "error",
    ) -> list[Ranking]:
        """Return ``most_similar(word)`` for each of ``words``; matrix products make it much faster than a loop.

        >>> from psdvec.vectors.embeddings import Embeddings
        >>> e = Embeddings(("north", "east", "both"), np.array([[1, 0], [0, 1], [1, 1]], dtype=np.float32))
        >>> [ranking[0][0] for ranking in e.most_similar_many(["north", "east"], topn=1)]
        ['both', 'both']
        """
        words = listed(words)
        units = self._units_of(words, unseen)
        own = [self.key_to_index.get(word, -1) for word in words]
        return rank_each(own, units, self.words, *self._searched(restrict_vocab), topn=topn)

    def _read(self, positive: Queries, negative: Queries, unseen: Unseen) -> Terms:
        wants_spelling(unseen)  # refuses anything else, also where no word is unseen
        find = partial(self.vector, unseen=unseen)
        return read_query(positive, negative, ids=self.key_to_index, vector_of=find, dim=self.dim)

    def _units_of(self, words: Sequence[str], unseen: Unseen) -> Float32s:
        vectors = self.vectors_of(words, unseen=unseen)
        return np.asarray(vectors / lengths_of(vectors)[:, None])

    def _searched(self, restrict_vocab: int | None) -> tuple[Float32s, Float32s]:
        first = slice(demand_positive(restrict_vocab, "restrict_vocab"))
        return self.vectors[first], self.lengths[first]


def listed(words: Iterable[str]) -> Sequence[str]:
    """Return ``words`` as they are if they can be read twice, or else a list of them; whoever looks them up checks."""
    return words if isinstance(words, (list, tuple)) else demand_words(words)


def rank_by_sum(
    terms: Terms, words: Sequence[str], vectors: Float32s, lengths: Float32s, *, topn: int | None
) -> Ranking | Float32s:
    """Return the words nearest to the weighted mean of ``terms``; if ``topn`` is None, the cosines of all words."""
    weights = terms.weights
    mean = unit_vector((weights[:, None] * terms.vectors).sum(axis=0) / np.abs(weights).sum())
    if topn is None:
        return cosines_to(mean, vectors, lengths)
    found = nearest_rows(vectors, lengths, mean[None, :], topn=topn + len(terms.ids) if topn > 0 else 0)
    return _ranking(words, found.ids[0], found.cosines[0], terms.ids, topn)


def rank_by_product(
    terms: Terms, words: Sequence[str], vectors: Float32s, lengths: Float32s, *, topn: int | None
) -> Ranking | Float32s:
    """Return the words with the largest product of cosines, moved to [0, 1]; if ``topn`` is None, all products."""
    products: list[Float32s] = [np.ones(1, dtype=np.float32)] * 2
    for vector, weight in zip(terms.vectors, terms.weights, strict=True):
        side = int(weight < 0)
        products[side] = np.asarray(products[side] * (1 + cosines_to(vector, vectors, lengths)) / 2)
    scores = np.asarray(products[0] / (products[1] + COSMUL_EPSILON), dtype=np.float32)
    if topn is None:
        return scores
    best = largest_columns(scores[None, :], topn + len(terms.ids) if topn > 0 else 0)[0]
    return _ranking(words, best, scores[best], terms.ids, topn)


def rank_each(
    ids: Sequence[int],
    units: Float32s,
    words: Sequence[str],
    vectors: Float32s,
    lengths: Float32s,
    *,
    topn: int,
) -> list[Ranking]:
    """Return the neighbours of words whose vectors of length 1 are ``units``.

    A word is no neighbour of itself: ``ids`` says which row it is, -1 if it is none.
    """
    found = nearest_rows(vectors, lengths, units, topn=topn + 1 if topn > 0 else 0)
    rows = zip(found.ids, found.cosines, ids, strict=True)
    return [_ranking(words, row, cosines, {own}, topn) for row, cosines, own in rows]


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


def _ranking(
    words: Sequence[str], ids: Iterable[int], scores: Float32s, given: Collection[int], topn: int
) -> Ranking:
    pairs = [(words[i], float(score)) for i, score in zip(ids, scores, strict=True) if i not in given]
    return pairs[:topn]
