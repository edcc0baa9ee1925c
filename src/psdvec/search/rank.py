"""Ranking: BM25, widened by near words, and fused with the cosine of vectors; equations in ``docs/how-to/search.md``.

A question is a list of words, each with the words of documents that may stand for it: itself, its neighbours by the
collection's vectors, or, if no document has it, words that are spelled alike. Half of the BM25 of a word is that of its
count, half that of its *soft* count, in which a word that stands for it counts by its weight. To it comes the cosine of
document and question, after that has moved towards the first documents found, scaled to the spread of BM25. Every score
is a sum that can be told: which word met which, and what it gave.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import log1p
from typing import Any, TypeVar

import numpy as np

from psdvec.arrays import Bools, Codes, Float32s, Float64s, Int64s
from psdvec.errors import InputError, StoreError
from psdvec.kernels import kernel
from psdvec.search.segments import Segment, as_unit, coded
from psdvec.text.concordance import cut_snippet
from psdvec.text.readers import Where
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.subwords import LONGEST_COMPARED, one_slip_away

K1, B = 1.2, 0.75  # of BM25: how soon counts saturate, and how much long documents are held against
NEAR = 0.6  # cosine from which on a word may stand for another
SHARE = 0.3  # of its cosine, which a near word counts
OWN = 0.5  # share of a word's score that goes by its own count, where it has near words
SPELLED = 0.8  # what a word counts that is spelled like one that no document has
MEANING = 0.6  # weight of the cosine beside BM25, both in standard deviations
FEW = 100  # documents of which vectors weigh half as much: they are learned from too little
FIRST = 3  # documents towards which the vector of a question moves, half of the way
_MOST = 10  # words that may stand for one
_FIRST_OF = 100  # documents, the best by words, among which the first ones are found
_COMMON = 0.2  # share of documents from which on a word has no neighbours: it tells little
_LETTERS_FROM = 2000  # words whose letters may be wrong in others
_WIDENED = 256  # different words of a question, the first ones, for which others may stand
_SHORTEST = 4  # letters of a word that is taken for misspelt
_LITTLE = 0.05  # of what the first word gave: a word that gave less is not shown
_COARSE = 0.02  # more than a cosine of coded vectors may be off
_ROUNDED = 1e-6  # of a score: as much may be off by rounding
_LARGEST = (1 << 31) - 1  # of the sums of coded products
_KEPT = 1 << 16  # words of questions of which is kept what was looked up
_SORTED_IN = 1000  # best ones are kept in order up to so many; of more, all are sorted
_QUOTED = re.compile('["“”„]([^"“”„]*)["“”]')

Found = TypeVar("Found")


@dataclass(frozen=True)
class Met:
    """A word of the question that met a word of the document: how much that word counts for it, and what it gave."""

    question: str
    document: str
    weight: float
    score: float


@dataclass(frozen=True)
class Hit:
    """A document that was found: ``score`` is the sum of what the words gave and of ``meaning``, what vectors gave."""

    id: str
    score: float
    why: tuple[Met, ...] = ()
    meaning: float = 0.0
    snippet: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Term:
    """A word of a question: how often it is there, its idf, and what each word that ``stands`` for it counts.

    ``own``: the share of its score that goes by its own count, 1 if nothing else stands for it.
    """

    word: str
    times: int
    idf: float
    stands: Mapping[str, float]
    own: float


@dataclass(frozen=True, eq=False)
class Documents:
    """All documents of an index, by their segments, and the vectors of their words.

    ``weights`` (n,): what a word counts in vectors of documents; ``having`` (n,): how many documents have it;
    ``direction`` (d,): what is taken out of vectors of documents.
    """

    segments: Sequence[Segment]
    model: Embeddings
    weights: Float32s
    having: Int64s
    direction: Float32s

    @cached_property
    def bases(self) -> Int64s:
        """The number of the first document of each segment, and of all documents, (s + 1,)."""
        return np.cumsum([0, *map(len, self.segments)])

    @cached_property
    def lengths(self) -> Float32s:
        """The words of each document in BM25: ``k1 (1 - b + b length / mean length)``, (N,)."""
        lengths = np.concatenate([segment.lengths for segment in self.segments])
        return np.asarray(K1 * (1 - B + B * lengths / lengths.mean()), np.float32)

    @cached_property
    def letters(self) -> list[str]:
        """The letters of the frequent words."""
        return sorted(set().union(*self.model.words[:_LETTERS_FROM]))

    @cached_property
    def moments(self) -> tuple[Float64s, Float64s]:
        """The mean of the vectors of documents, (D,), and that of their products, (D, D)."""
        total = np.sum([segment.moments for segment in self.segments], axis=0) / len(self)
        return total[0], total[1:]

    @cached_property
    def _candidates(self) -> tuple[Int64s, Codes, Float32s]:
        """The words of documents that have vectors, these in eight bits, and their steps."""
        ids = np.flatnonzero((self.having > 0) & (self.model.lengths > 0))
        return ids, *coded(self.model.vectors[ids] / self.model.lengths[ids, None])

    @cached_property
    def _looked_up(self) -> tuple[dict[str, Any], ...]:
        return {}, {}, {}

    def __len__(self) -> int:
        return int(self.bases[-1])

    def spans(self, word: str) -> tuple[tuple[int, int], ...]:
        """Return where the postings of a word begin and end in each segment."""
        return _remembered(
            self._looked_up[0], word, lambda word: tuple(segment.span(word) for segment in self.segments)
        )

    def frequency(self, word: str) -> int:
        """Return how many documents have a word."""
        return sum(end - begin for begin, end in self.spans(word))

    def place_of(self, document: int) -> tuple[int, int]:
        """Return the number of the segment of a document, and its own number there."""
        number = int(np.searchsorted(self.bases, document, side="right")) - 1
        return number, document - int(self.bases[number])

    # From a question to its words

    def terms(self, words: Sequence[str], *, exact: bool) -> list[Term]:
        """Return what is searched for; words that stand for nothing in the documents are left out."""
        found = []
        for place, (word, times) in enumerate(Counter(words).items()):
            many = self.frequency(word)
            stands = {word: 1.0} if many else {}
            if not exact and place < _WIDENED:
                stands |= _remembered(self._looked_up[1], word, self._others)
            if stands:
                first = many or self.frequency(next(iter(stands)))
                own = 0.0 if not many else OWN if len(stands) > 1 else 1.0
                found.append(Term(word, times, idf(first, len(self)), stands, own))
        return found

    def _others(self, word: str) -> dict[str, float]:
        """Return the other words that may stand for a word, and what each counts."""
        many = self.frequency(word)
        if not many:
            return self._spelled_like(word)
        if word not in self.model or many > _COMMON * len(self):
            return {}
        own = self.model.get_index(word)
        return self._near(self.model.get_vector(word, norm=True), idf(many, len(self)), besides=own)

    def _near(self, vector: Float32s, rarity: float, *, besides: int = -1) -> dict[str, float]:
        """Return words of documents near a vector of length 1, each with ``share · cosine``, less if it tells less."""
        ids, codes, steps = self._candidates
        query, step = _in_sixteen_bits(vector, codes.shape[1])
        rough = np.zeros(len(ids), np.float32)
        add_cosines(rough, codes, steps, query, step, np.float32(0), np.float32(-np.inf))
        near = ids[rough > NEAR - _COARSE]
        cosines = [float(self.model.vectors[i] @ vector / self.model.lengths[i]) for i in near]
        order = sorted(zip(cosines, near.tolist(), strict=True), key=lambda one: (-one[0], one[1]))
        chosen = [(cosine, i) for cosine, i in order if cosine > NEAR and i != besides][:_MOST]
        tells = [min(1.0, idf(int(self.having[i]), len(self)) / rarity) for _, i in chosen]
        return {
            self.model.words[i]: SHARE * cosine * tell
            for (cosine, i), tell in zip(chosen, tells, strict=True)
        }

    def _spelled_like(self, word: str) -> dict[str, float]:
        """Return words of documents that differ from ``word`` in a letter, the most frequent first.

        If there are none, those whose vectors are nearest to that of its spelling.
        """
        if not _SHORTEST <= len(word) <= LONGEST_COMPARED:
            return {}
        slips = {other: self._count(other) for other in set(one_slip_away(word, self.letters))}
        known = sorted((other for other, many in slips.items() if many), key=lambda one: (-slips[one], one))
        if known:
            return dict.fromkeys(known[:_MOST], SPELLED)
        if self.model.subwords is None or not self.model.subwords.predict([word]).any():
            return {}
        return self._near(as_unit(self.model.subwords.vectors_of([word]))[0], idf(1, len(self)))

    def _count(self, word: str) -> int:
        """Return how many documents have a word, which is not kept."""
        return sum(end - begin for begin, end in (segment.span(word) for segment in self.segments))

    # Scores

    def spans_of(self, terms: Sequence[Term]) -> Int64s:
        """Return where the postings of all k words that stand for terms begin and end in each segment, (s, k, 2)."""
        spans = [self.spans(word) for term in terms for word in term.stands]
        return np.ascontiguousarray(
            np.array(spans, np.int64).reshape(-1, len(self.segments), 2).swapaxes(0, 1)
        )

    def bm25(self, terms: Sequence[Term], spans: Int64s | None = None) -> Float32s:
        """Return ``Σ times · idf · (k1 + 1) c / (c + k1 (1 - b + b length / mean length))`` of all documents, (N,).

        Of a term with other words that stand for it, ``own`` of that, and the rest for its soft count.
        """
        scores, soft = np.zeros(len(self), np.float32), np.zeros(len(self), np.float32)
        factors = np.array([term.times * term.idf * (K1 + 1) for term in terms], np.float32)
        own = np.array([term.own for term in terms], np.float32)
        starts = np.cumsum([0, *(len(term.stands) for term in terms)])
        weights = np.array([weight for term in terms for weight in term.stands.values()], np.float32)
        spans = self.spans_of(terms) if spans is None else spans
        for number, segment in enumerate(self.segments):
            part = slice(*self.bases[number : number + 2])
            is_whole = add_bm25(
                scores[part], soft[part], self.lengths[part], segment.documents, segment.counts,
                starts, spans[number], weights, factors, own,
            )  # fmt: skip
            if not is_whole:
                raise StoreError("the postings of the index are damaged; make it again")
        return scores

    def question_vector(self, words: Sequence[str]) -> Float32s:
        """Return the vector of a question, made as those of documents are; of a word without one, by its spelling."""
        total = np.zeros(self.model.dim, np.float32)
        known = self.model.key_to_index
        for place, (word, times) in enumerate(Counter(words).items()):
            if place >= _WIDENED and word not in known:
                continue
            total += np.float32(1 + np.log(times)) * _remembered(self._looked_up[2], word, self._row)
        mean = as_unit(total)
        return as_unit(mean - (mean @ self.direction) * self.direction)

    def _row(self, word: str) -> Float32s:
        """Return what a word adds to the vector of a question."""
        if word in self.model.key_to_index:
            vector = self.model.get_vector(word, norm=True)
            return np.asarray(self.weights[self.model.key_to_index[word]] * vector)
        if self.model.subwords is None or len(word) > LONGEST_COMPARED:
            return np.zeros(self.model.dim, np.float32)
        return np.asarray(np.float32(idf(1, len(self))) * as_unit(self.model.subwords.vectors_of([word]))[0])

    def add_meaning(
        self, words: Sequence[str], scores: Float32s, *, topn: int | None = None, chosen: Bools | None = None
    ) -> None:
        """Add what vectors say to the scores of BM25, (N,): the cosine, standardised, times their spread.

        The vector of the question moves half of the way to the mean of the first documents found by words and cosine.
        With ``topn``, documents that cannot be among the first ``topn`` of those ``chosen``, whatever their vectors,
        get -1.
        """
        vector = self.question_vector(words).astype(np.float64)
        spread = float(spread_of(scores)) or 1.0
        best = best_of(scores, min(_FIRST_OF, len(scores)))
        rows = self._vectors(best)
        factor, _ = self._standard(vector, spread)
        first = np.argsort(-(scores[best] + factor * (rows * vector).sum(axis=1)), kind="stable")[:FIRST]
        vector = vector + _unit(rows[first].sum(axis=0))
        factor, shift = self._standard(vector, spread)
        if not factor:
            return
        query, step = _in_sixteen_bits(vector.astype(np.float32), self.segments[0].vectors.shape[1])
        weighed = query, np.float32(factor * step), np.float32(shift)
        least = -np.inf
        tried = best if chosen is None else best[chosen[best]]
        if topn is not None and len(tried) >= topn:
            known = scores[tried]
            add_cosines(known, *self._codes(tried), *weighed, np.float32(-np.inf))
            length = (
                1.001 + len(vector) ** 0.5 / 254
            )  # of a vector in eight bits at most, with what sums are rounded by
            most = factor * length * float(np.sqrt((vector * vector).sum())) + shift  # that a cosine can add
            least = float(np.sort(known)[-topn]) - most
        for number, segment in enumerate(self.segments):
            part = slice(*self.bases[number : number + 2])
            add_cosines(scores[part], segment.vectors, segment.steps, *weighed, np.float32(least))

    def _vectors(self, documents: Int64s) -> Float64s:
        """Return the vectors of some documents, (k, d)."""
        codes, steps = self._codes(documents)
        return np.asarray((codes[:, : self.model.dim] * steps[:, None]).astype(np.float64))

    def _codes(self, documents: Int64s) -> tuple[Codes, Float32s]:
        """Return the vectors of some documents in eight bits, (k, D), and their steps, (k,)."""
        codes = np.zeros((len(documents), self.segments[0].vectors.shape[1]), np.int8)
        steps = np.zeros(len(documents), np.float32)
        owners = np.searchsorted(self.bases, documents, side="right") - 1
        for number in np.unique(owners):
            own, segment = documents[owners == number] - self.bases[number], self.segments[number]
            codes[owners == number], steps[owners == number] = segment.vectors[own], segment.steps[own]
        return codes, steps

    def _standard(self, vector: Float64s, spread: float) -> tuple[float, float]:
        """Return the factor and the shift that standardise dot products with documents, to ``weight · spread``."""
        mean, products = self.moments
        padded = np.zeros(len(mean))
        padded[: len(vector)] = vector
        middle = float(mean @ padded)
        variance = float((padded * (products * padded).sum(axis=1)).sum()) - middle**2
        if variance < 1e-12:
            return 0.0, 0.0
        weight = MEANING * len(self) / (len(self) + FEW)
        factor = weight * spread / variance**0.5
        return factor, -factor * middle

    # Which documents may be answers

    def chosen(self, where: Where) -> Bools:
        """Return which documents have one of the values asked for in each field, (N,)."""
        kept = np.ones(len(self), bool)
        for name, values in where:
            columns = []
            for segment in self.segments:
                known = segment.values.get(name, ())
                wanted = [code for code, value in enumerate(known) if value in values]
                codes = segment.codes.get(name, np.full(len(segment), -1, np.int32))
                columns.append(np.isin(codes, wanted))
            if not any(name in segment.values for segment in self.segments):
                kept_ones = sorted({field for segment in self.segments for field in segment.values})
                has = f"it has {', '.join(kept_ones)}" if kept_ones else "none was kept"
                raise InputError(f"the index has no field '{name}' ({has}); keep it when the index is made")
            kept &= np.concatenate(columns)
        return kept

    def have_all(self, phrases: Sequence[Sequence[str]]) -> Bools:
        """Return which documents have all words of all phrases, (N,), in whatever order."""
        kept = np.ones(len(self), bool)
        for word in {word for phrase in phrases for word in phrase}:
            has = np.zeros(len(self), bool)
            for base, segment, span in zip(self.bases[:-1], self.segments, self.spans(word), strict=True):
                has[base + segment.documents[slice(*span)]] = True
            kept &= has
        return kept

    def has_phrases(self, document: int, phrases: Sequence[Sequence[str]]) -> bool:
        """Tell whether the words of each phrase stand in a document, one after the other."""
        number, own = self.place_of(document)
        words = self.model.tokenize(self.segments[number].text_of(own))
        return all(_stands_in(phrase, words) for phrase in phrases)

    # Why

    def hit(self, document: int, score: float) -> Hit:
        """Return a document as a hit without reasons."""
        number, own = self.place_of(document)
        segment = self.segments[number]
        return Hit(segment.id_of(own), score, fields=segment.fields_of(own))

    def explain(
        self,
        document: int,
        terms: Sequence[Term],
        spans: Int64s,
        score: float,
        *,
        quoted: Collection[str] = (),
    ) -> Hit:
        """Return a document as a hit, with what each word gave it; ``spans`` are those of the terms.

        Its snippet is where the ``quoted`` words stand, and else those that gave most.
        """
        number, own = self.place_of(document)
        segment, length = self.segments[number], float(self.lengths[document])
        counts = counts_in(segment.documents, segment.counts, spans[number], own).tolist()
        met: list[Met] = []
        first = 0
        for term in terms:
            last = first + len(term.stands)
            here = [
                (word, weight, weight * count)
                for (word, weight), count in zip(term.stands.items(), counts[first:last], strict=True)
                if count
            ]
            first = last
            if not here:
                continue
            total = sum(soft for _, _, soft in here)
            alone = term.own * _part(term, here[0][2], length) if here[0][0] == term.word else 0.0
            shared = (1 - term.own) * _part(term, total, length) / total
            met += [
                Met(term.word, word, round(weight, 4), shared * soft + (alone if word == term.word else 0.0))
                for word, weight, soft in here
            ]
        met.sort(key=lambda one: -one.score)
        rest = score - sum(one.score for one in met)
        meaning = rest if abs(rest) > _ROUNDED * score else 0.0
        text = segment.text_of(own)
        gave = {one.document: one.score for one in met if one.score > _LITTLE * met[0].score}
        gave |= {word: gave.get(word, 0.0) + sum(gave.values()) for word in quoted}
        snippet = cut_snippet(text, self.model.tokenize(text), gave)
        return Hit(segment.id_of(own), score, tuple(met), meaning, snippet, segment.fields_of(own))


# Loops. All take postings as documents int32[p], counts int32[p], and spans int64[k, 2], where those of words lie.


# scores, soft, norms: float32[m]; starts int64[t + 1], weights float32[k], factors and own float32[t]
@kernel
def add_bm25(scores, soft, norms, documents, counts, starts, spans, weights, factors, own):  # type: ignore[no-untyped-def]
    """Add the BM25 of t terms to ``scores``; ``soft`` is 0 before and after. Tell whether all documents are there."""
    m = len(scores)
    for term in range(len(factors)):
        first, last = starts[term], starts[term + 1]
        if own[term] > 0:
            factor = factors[term] * own[term]
            for p in range(spans[first, 0], spans[first, 1]):
                d = documents[p]
                if d < 0 or d >= m:
                    return False
                scores[d] += factor * counts[p] / (counts[p] + norms[d])
        if own[term] < 1:
            factor = factors[term] * (1 - own[term])
            for k in range(first, last):
                for p in range(spans[k, 0], spans[k, 1]):
                    d = documents[p]
                    if d < 0 or d >= m:
                        return False
                    soft[d] += weights[k] * counts[p]
            for k in range(first, last):
                for p in range(spans[k, 0], spans[k, 1]):
                    d = documents[p]
                    if soft[d] > 0:
                        scores[d] += factor * soft[d] / (soft[d] + norms[d])
                        soft[d] = 0
    return True


# scores float32[m], codes int8[m, D], steps float32[m], query int16[D], factor, shift and least float32
@kernel
def add_cosines(scores, codes, steps, query, factor, shift, least):  # type: ignore[no-untyped-def]
    """Add ``factor · step · code · query + shift`` to every score that is not below ``least``; others become -1.

    The products are summed in whole numbers.
    """
    for i in range(len(scores)):
        if scores[i] < least:
            scores[i] = -1
            continue
        row = codes[i]
        total = np.int32(0)
        for j in range(len(query)):
            total += np.int32(row[j]) * np.int32(query[j])
        scores[i] += factor * (steps[i] * np.float32(total)) + shift


# scores float32[m]
@kernel
def spread_of(scores):  # type: ignore[no-untyped-def]
    """Return the standard deviation of scores."""
    total, squares = 0.0, 0.0
    for score in scores:
        total += score
        squares += np.float64(score) * score
    mean = total / len(scores)
    return np.sqrt(max(squares / len(scores) - mean * mean, 0.0))


# scores float32[m]
@kernel
def best_of(scores, k):  # type: ignore[no-untyped-def]
    """Return the places of the k highest scores above 0, the highest first, and of equal ones the first."""
    places, found = np.empty(k, np.int64), 0
    least = np.float32(0)
    for i in range(len(scores)):
        if scores[i] <= least:
            continue
        at = found if found < k else k - 1
        while at > 0 and scores[places[at - 1]] < scores[i]:
            places[at] = places[at - 1]
            at -= 1
        places[at] = i
        found = min(found + 1, k)
        if found == k:
            least = scores[places[k - 1]]
    return places[:found]


@kernel
def counts_in(documents, counts, spans, document):  # type: ignore[no-untyped-def]
    """Return how often a document has each of k words, int64[k]."""
    found = np.zeros(len(spans), np.int64)
    for k in range(len(spans)):
        begin, end = spans[k]
        place = begin + np.searchsorted(documents[begin:end], document)
        if place < end and documents[place] == document:
            found[k] = counts[place]
    return found


def _in_sixteen_bits(vector: Float32s, size: int) -> tuple[Any, np.float32]:
    """Return a vector as whole numbers, padded to ``size``, small enough that sums fit 32 bits, and their step."""
    most = min((1 << 15) - 1, _LARGEST // (127 * size))
    step = np.float32(np.abs(vector).max(initial=0.0) / most) or np.float32(1)
    codes = np.zeros(size, np.int16)
    codes[: len(vector)] = np.rint(vector / step)
    return codes, step


def _remembered(known: dict[str, Found], key: str, find: Callable[[str], Found]) -> Found:
    """Return what ``find`` gives for a key, found only once; all is forgotten when it becomes too much."""
    found = known.get(key)
    if found is None:
        if len(known) >= _KEPT:
            known.clear()
        found = known[key] = find(key)
    return found


def _unit(vector: Float64s) -> Float64s:
    length = float(np.sqrt((vector * vector).sum()))
    return vector / length if length > 1e-9 else vector


def idf(having: int, documents: int) -> float:
    """Return ``log (1 + (N - n + ½) / (n + ½))``, which is never below 0.

    >>> round(idf(1, 2), 4)
    0.6931
    """
    return log1p((documents - having + 0.5) / (having + 0.5))


def _part(term: Term, count: float, length: float) -> float:
    return term.times * term.idf * (K1 + 1) * count / (count + length)


def _stands_in(phrase: Sequence[str], words: Sequence[str]) -> bool:
    size = len(phrase)
    return any(list(words[i : i + size]) == list(phrase) for i in range(len(words) - size + 1))


def quoted_in(question: str) -> list[str]:
    """Return what stands in double quotes in a question, straight or not, each once.

    >>> quoted_in('the mayor of "New York", “New York” or „Bad Aibling“')
    ['New York', 'Bad Aibling']
    """
    return list(dict.fromkeys(one for one in _QUOTED.findall(question) if one.strip()))


def best_first(scores: Float32s, topn: int) -> Iterator[int]:
    """Yield the places of scores above 0, the highest first, and of equal ones the first.

    Only the ``topn`` highest are sorted, and all if that was not enough.

    >>> list(best_first(np.array([1, 0, 2, 1], np.float32), 1))
    [2, 0, 3]
    """
    given = 0
    if topn <= min(_SORTED_IN, len(scores)):
        best = best_of(scores, topn)
        yield from best.tolist()
        if len(best) < topn:
            return
        given = topn
    above = np.flatnonzero(scores > 0)
    yield from above[np.argsort(-scores[above], kind="stable")][given:].tolist()
