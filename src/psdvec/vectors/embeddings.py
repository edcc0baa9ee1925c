"""Embeddings: words with their vectors, and the questions to ask them.

:class:`Embeddings` holds words, an (n, d) matrix that may be mapped from disk and, where known, the words' counts and
how uncertain each vector is. It looks up words, compares them, and finds neighbours and analogies, with gensim's names
and return values; the exact search itself is in :mod:`psdvec.vectors.neighbours`. Files are read and written by
:mod:`psdvec.formats`; vectors are evaluated by :mod:`psdvec.evaluation.evaluate`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar, Unpack, cast, overload

import numpy as np

from psdvec.arrays import Bools, Float32s, Int64s
from psdvec.errors import InputError, MissingWordError, checked, demand_positive, demand_words
from psdvec.progress import Shown, count_of
from psdvec.text.tokenizers import find_tokenizer, split_runs, split_words
from psdvec.vectors.neighbours import (
    Interval,
    Queries,
    Terms,
    VectorOf,
    as_numbers,
    largest_columns,
    lengths_of,
    may_point_elsewhere,
    mean_vector,
    movers_distance,
    nearest_rows,
    one_per_word,
    read_query,
    same,
    similarity_interval,
    unit_vector,
)
from psdvec.vectors.sparse import csr_of
from psdvec.vectors.subwords import Subwords, Unseen, closest_spellings, need_subwords, wants_spelling

Ranking: TypeAlias = list[tuple[str, float]]
AnalogyMethod: TypeAlias = Literal["3cosadd", "3cosmul"]

ANALOGY: AnalogyMethod = "3cosadd"  # how an analogy is answered unless another way is asked for
COSMUL_EPSILON = 1e-6
T = TypeVar("T")


class _How(TypedDict, total=False):
    """How a search is made, apart from the number of its answers."""

    restrict_vocab: int | None
    unseen: Unseen


@dataclass(frozen=True, eq=False, repr=False)
class Embeddings(Shown):
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

    Where a question takes ``unseen``, a word without a vector is an error or, with ``unseen="spelling"``, gets the one
    that its spelling tells. Only the words of the vocabulary are ever answers.

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
        elif self.words and not isinstance(self.words[0], str):  # all would take as long as opening a model
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

    def __deepcopy__(self, memo: object) -> Embeddings:
        return self  # a value that never changes need not be copied

    # Words in their order, and how they are spelled

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        try:
            return word in self.key_to_index
        except TypeError:  # a list, for one, can be no key
            return False

    def __getitem__(self, word: str | Sequence[str]) -> Float32s:
        """Return the vector of a word, or the (m, d) matrix of a list of words."""
        return self.get_vector(word) if isinstance(word, str) else self.vectors_of(word)

    @property
    def index_to_key(self) -> Sequence[str]:
        """The words, in the order of their ids."""
        return self.words

    @cached_property
    def key_to_index(self) -> dict[str, int]:
        """The id of every word."""
        ids = {word: i for i, word in enumerate(self.words)}
        if len(ids) < len(self.words):
            twice = next(word for i, word in enumerate(self.words) if ids[word] != i)
            raise InputError(f"the word '{twice}' has two vectors; keep only one of them")
        return ids

    @property
    def dim(self) -> int:
        """Dimensions of each vector."""
        return int(self.vectors.shape[1])

    @property
    def vector_size(self) -> int:
        """Dimensions of each vector, by gensim's name."""
        return self.dim

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

    def get_index(self, word: str) -> int:
        """Return the id of ``word``; the error for a missing word names the closest spellings."""
        try:
            return self.key_to_index[word]
        except (KeyError, TypeError):
            raise MissingWordError(word, self.closest_spellings) from None

    @checked
    def look_up(self, word: str, *, unseen: Unseen = "error") -> str:
        """Return ``word`` as it is in the vocabulary: as it is written or else as the tokenizer writes it.

        Subscripts and questions such as ``most_similar`` take words as they are written. ``m[m.look_up("King")]`` is
        for words that people type: a model that folds case finds ``king``, and ``u.s`` for ``U.S.``. A word that is in
        the vocabulary in neither form is an error or, with ``unseen="spelling"``, comes back as it would be spelled
        there: as the tokenizer writes it, if it takes it for one word.

        >>> e = Embeddings(("king", "u.s"), np.eye(2, dtype=np.float32), tokenizer="unicode")
        >>> e.look_up("King"), e.look_up("U.S.")
        ('king', 'u.s')
        >>> e.look_up("Kingmaker", unseen="spelling")
        'kingmaker'
        """
        spell, found = wants_spelling(unseen), self._known_form(word)
        if found is None and not spell:
            raise MissingWordError(word, self.closest_spellings)
        return self._only_form(word) if found is None else found

    @checked
    def tokenize(self, text: str) -> list[str]:
        """Return the words of ``text``, cut as the text of the vectors was, whether they have vectors or not.

        Without a ``tokenizer``, words are runs of letters, digits and inner apostrophes, in lower case if no word of
        the vocabulary has a capital.

        >>> vectors = np.ones((1, 2), dtype=np.float32)
        >>> Embeddings(("king",), vectors).tokenize("King of the U.S.")
        ['king', 'of', 'the', 'u', 's']
        >>> Embeddings(("king",), vectors, tokenizer="unicode").tokenize("King of the U.S.")
        ['king', 'of', 'the', 'u.s']
        """
        if self.tokenizer is not None:
            return split_words(text, tokenizer=self.tokenizer)
        return split_runs(text if self.has_capitals else text.lower())

    @cached_property
    def has_capitals(self) -> bool:
        """Whether any word changes when it is put into lower case."""
        return any(word != word.lower() for word in self.words)

    @checked
    def closest_spellings(self, word: str) -> list[str]:
        """Return a few words that are spelled like ``word``, first the one that :meth:`look_up` finds."""
        found = self._known_form(word)
        near = closest_spellings(word, self.words, self.key_to_index)
        return near if found is None else list(dict.fromkeys([found, *near]))[: max(len(near), 1)]

    def _known_form(self, word: str) -> str | None:
        """Return the only word that ``word`` is read as, if it is known."""
        form = word if word in self else self._only_form(word)
        return form if form in self else None

    def _only_form(self, word: str) -> str:
        """Return ``word`` as the tokenizer writes it if it takes it for one word, otherwise as it is."""
        forms = self.tokenize(word)
        return forms[0] if len(forms) == 1 else word

    # Looking up

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
        words, spell, ids = listed(words), wants_spelling(unseen), self.key_to_index
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
            subwords=self.subwords,
        )

    def with_spelled(self, words: Iterable[str]) -> Embeddings:
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

        The bounds follow from the deviations of the two words (:func:`psdvec.vectors.neighbours.cosine_interval`), to
        first order: they hold while d s² is small compared with |v|². A deviation that is not known counts as 0;
        docs/results/intervals.md says how often the bounds hold. A word that has only its spelling
        (``unseen="spelling"``) has the deviation of such words.
        """
        rows = self.vectors_of([a, b], unseen=unseen)
        value = cosine(rows[0], rows[1])
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
        first, second = listed(first), listed(second)
        if not first or not second:
            raise InputError("one of the two sets of words is empty; give at least one word in each")
        means = [self.vectors_of(words, unseen=unseen).mean(axis=0) for words in (first, second)]
        return cosine(*means)

    @checked
    def wmdistance(self, first: Sequence[str], second: Sequence[str], *, norm: bool = True) -> float:
        """Return the Word Mover's Distance of two lists of words, whose vectors have length 1 if ``norm``.

        Words without a vector are left out; :func:`psdvec.vectors.neighbours.movers_distance` says more.
        """
        return movers_distance(first, second, vector_of=self._lookup(norm=norm))

    def doesnt_match(self, words: Sequence[str], *, unseen: Unseen = "error") -> str:
        """Return the word that is farthest from the mean of them all."""
        return self.rank_by_centrality(words, unseen=unseen)[-1][1]

    def rank_by_centrality(
        self, words: Sequence[str], *, unseen: Unseen = "error"
    ) -> list[tuple[float, str]]:
        """Return ``(cosine to the mean, word)`` of each word, nearest first."""
        words = listed(words)
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
        cosines = cosines_to(unit_vector(self.vectors[i]), self.vectors, self.lengths)
        return [self.words[k] for k in np.flatnonzero(cosines > cosines[j]).tolist() if k != i]

    def thin_evidence(self, words: Sequence[str] | None = None) -> Bools:
        """Say of each word, or of each of ``words``, whether its vector rests on so little that it may point elsewhere.

        It does where the cosine with the word's true vector may well be below 0.5, as far as its deviation and count
        tell (:func:`psdvec.vectors.neighbours.may_point_elsewhere`). Without deviations, no word is thin.
        """
        words = None if words is None else demand_words(words)
        rows = slice(None) if words is None else [self.get_index(word) for word in words]
        if self.deviations is None:
            return np.zeros(len(self if words is None else words), dtype=bool)
        counts = None if self.counts is None else self.counts[rows]
        return may_point_elsewhere(self.deviations[rows], self.lengths[rows], counts, dim=self.dim)

    # Searching among all words

    @overload
    def most_similar(
        self, positive: Queries = ..., negative: Queries = ..., *, topn: int = ..., **how: Unpack[_How]
    ) -> Ranking: ...
    @overload
    def most_similar(
        self, positive: Queries = ..., negative: Queries = ..., *, topn: None, **how: Unpack[_How]
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

        >>> e = Embeddings(("north", "east", "both"), np.array([[1, 0], [0, 1], [1, 1]], dtype=np.float32))
        >>> [ranking[0][0] for ranking in e.most_similar_many(["north", "east"], topn=1)]
        ['both', 'both']
        """
        words = listed(words)
        units = self._units_of(words, unseen)
        own = [self.key_to_index.get(word, -1) for word in words]
        found = nearest_rows(*self._searched(restrict_vocab), units, topn=topn + 1 if topn > 0 else 0)
        rows = zip(found.ids, found.cosines, own, strict=True)
        return [_ranking(self.words, ids, cosines, {one}, topn) for ids, cosines, one in rows]

    # Saving

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


def append_words(
    e: Embeddings, words: Iterable[str], vectors: Float32s, counts: Int64s, deviations: Float32s
) -> Embeddings:
    """Return ``e`` with more words after its own, which have counts and deviations if its own have."""
    return Embeddings(
        (*e.words, *words),
        np.concatenate([e.vectors, vectors]),
        None if e.counts is None else np.concatenate([e.counts, counts]),
        None if e.deviations is None else np.concatenate([e.deviations, deviations]),
        tokenizer=e.tokenizer,
        subwords=e.subwords,
    )


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
