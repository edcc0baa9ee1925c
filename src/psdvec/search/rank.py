"""Ranking: BM25, widened by near words, and fused with the cosine of vectors; equations in ``docs/how-to/search.md``.

A question is a list of words, each with the words of documents that may stand for it: itself, its neighbours by the
collection's vectors, or, if no document has it, words that are spelled alike. The BM25 of a question word is that of
its *soft* count, in which a word that stands for it counts by its weight. To it comes the cosine of question and
document, scaled to the spread of BM25. Every score is a sum that can be told: which word met which, and what it gave.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from psdvec.arrays import Bools, Float32s, Float64s, Int64s
from psdvec.errors import InputError
from psdvec.search.segments import Segment, as_unit
from psdvec.text.concordance import word_places
from psdvec.text.readers import Where
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.subwords import one_slip_away

K1, B = 1.2, 0.75  # of BM25: how soon counts saturate, and how much long documents are held against
NEAR = 0.6  # cosine from which on a word may stand for another
SHARE = 0.3  # of its cosine, which a near word counts
SPELLED = 0.8  # what a word counts that is spelled like one that no document has
MEANING = 0.6  # weight of the cosine beside BM25, both in standard deviations
_MOST = 10  # words that may stand for one
_LOOKED_AT = 50  # neighbours among which these are found
_COMMON = 0.2  # share of documents from which on a word has no neighbours: it tells little
_LETTERS_FROM = 2000  # words whose letters may be wrong in others
_SHORTEST = 4  # letters of a word that is taken for misspelt
_LITTLE = 0.05  # of what the first word gave: a word that gave less is not shown
_SHOWN = 30  # words of a snippet
_QUOTED = re.compile(r'"([^"]*)"')


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
    why: tuple[Met, ...]
    meaning: float
    snippet: str
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Term:
    """A word of a question: how often it is there, its idf, and what each word that ``stands`` for it counts."""

    word: str
    times: int
    idf: float
    stands: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Documents:
    """All documents of an index, by their segments, and the vectors of their words.

    ``weights`` (n,): what a word counts in vectors of documents; ``direction`` (d,): what is taken out of them.
    """

    segments: Sequence[Segment]
    model: Embeddings
    weights: Float32s
    direction: Float32s

    @cached_property
    def bases(self) -> Int64s:
        """The number of the first document of each segment, and of all documents, (s + 1,)."""
        return np.cumsum([0, *map(len, self.segments)])

    @cached_property
    def lengths(self) -> Float64s:
        """The words of each document in BM25: ``k1 (1 - b + b length / mean length)``, (N,)."""
        lengths = np.concatenate([segment.lengths for segment in self.segments])
        return np.asarray(K1 * (1 - B + B * lengths / lengths.mean()))

    @cached_property
    def letters(self) -> list[str]:
        """The letters of the frequent words."""
        return sorted(set().union(*self.model.words[:_LETTERS_FROM]))

    def __len__(self) -> int:
        return int(self.bases[-1])

    def postings(self, word: str) -> tuple[Int64s, Int64s]:
        """Return which documents of all segments have a word, and how often."""
        found = [segment.postings(word) for segment in self.segments]
        documents = [base + one for base, (one, _) in zip(self.bases[:-1], found, strict=True)]
        return np.concatenate(documents), np.concatenate([counts for _, counts in found])

    def frequency(self, word: str) -> int:
        """Return how many documents have a word."""
        return sum(len(segment.postings(word)[0]) for segment in self.segments)

    def place_of(self, document: int) -> tuple[Segment, int]:
        """Return the segment of a document, and its number there."""
        number = int(np.searchsorted(self.bases, document, side="right")) - 1
        return self.segments[number], document - int(self.bases[number])

    # From a question to its words

    def terms(self, words: Sequence[str], *, exact: bool) -> list[Term]:
        """Return what is searched for; words that stand for nothing in the documents are left out."""
        found = []
        for word, times in Counter(words).items():
            many = self.frequency(word)
            stands = {word: 1.0} if many else {}
            if not exact:
                stands |= self._near(word, many) if many else self._spelled_like(word)
            if stands:
                first = many or self.frequency(next(iter(stands)))
                found.append(Term(word, times, idf(first, len(self)), stands))
        return found

    def _near(self, word: str, many: int) -> dict[str, float]:
        """Return the neighbours of a word that some document has, each with ``share · cosine``."""
        if word not in self.model or many > _COMMON * len(self):
            return {}
        near = self.model.most_similar(word, topn=_LOOKED_AT)
        found = {other: SHARE * cosine for other, cosine in near if cosine > NEAR and self.frequency(other)}
        return dict(list(found.items())[:_MOST])

    def _spelled_like(self, word: str) -> dict[str, float]:
        """Return words of documents that differ from ``word`` in a letter, the most frequent first.

        If there are none, those whose vectors are nearest to that of its spelling.
        """
        if len(word) < _SHORTEST:
            return {}
        slips = {other: self.frequency(other) for other in set(one_slip_away(word, self.letters))}
        known = sorted((other for other, many in slips.items() if many), key=lambda one: (-slips[one], one))
        if known:
            return dict.fromkeys(known[:_MOST], SPELLED)
        if self.model.subwords is None or not self.model.subwords.predict([word]).any():
            return {}
        near = self.model.most_similar(word, topn=_MOST, unseen="spelling")
        return {other: SHARE * cosine for other, cosine in near if cosine > NEAR and self.frequency(other)}

    # Scores

    def soft_counts(self, term: Term) -> tuple[Int64s, Float64s]:
        """Return the documents that have a term or what stands for it, and Σ weight · count there."""
        found = [(*self.postings(word), weight) for word, weight in term.stands.items()]
        if len(found) == 1:
            return found[0][0], np.asarray(found[0][1] * found[0][2], np.float64)
        documents, places = np.unique(np.concatenate([one for one, _, _ in found]), return_inverse=True)
        weighted = np.concatenate([weight * counts for _, counts, weight in found])
        return documents, np.bincount(places, weighted, minlength=len(documents)).astype(np.float64)

    def bm25(self, terms: Sequence[Term]) -> Float64s:
        """Return ``Σ times · idf · (k1 + 1) c / (c + k1 (1 - b + b length / mean length))`` of all documents, (N,)."""
        scores = np.zeros(len(self))
        for term in terms:
            documents, counts = self.soft_counts(term)
            scores[documents] += _part(term, counts, self.lengths[documents])
        return scores

    def question_vector(self, words: Sequence[str]) -> Float32s:
        """Return the vector of a question, made as those of documents are; of a word without one, by its spelling."""
        counts, total = Counter(words), np.zeros(self.model.dim, np.float32)
        known, rarest = self.model.key_to_index, np.float32(idf(1, len(self)))
        for word, times in counts.items():
            amount = np.float32(1 + np.log(times))
            if word in known:
                total += amount * self.weights[known[word]] * self.model.get_vector(word, norm=True)
            elif self.model.subwords is not None:
                total += amount * rarest * as_unit(self.model.subwords.vectors_of([word]))[0]
        mean = as_unit(total)
        return as_unit(mean - (mean @ self.direction) * self.direction)

    def meaning(self, words: Sequence[str], spread: float) -> Float64s:
        """Return what vectors give each document, (N,): its cosine, standardised, times the ``spread`` of BM25."""
        vector = self.question_vector(words)
        cosines = np.concatenate([segment.vectors @ vector for segment in self.segments]).astype(np.float64)
        own = float(cosines.std())
        return MEANING * (spread or 1.0) * (cosines - cosines.mean()) / own if own > 1e-9 else 0.0 * cosines

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
                raise InputError(
                    f"the index has no field '{name}'; make it with this field: keep=\"{name}\", or check where"
                )
            kept &= np.concatenate(columns)
        return kept

    def have_all(self, phrases: Sequence[Sequence[str]]) -> Bools:
        """Return which documents have all words of all phrases, (N,), in whatever order."""
        kept = np.ones(len(self), bool)
        for word in {word for phrase in phrases for word in phrase}:
            has = np.zeros(len(self), bool)
            has[self.postings(word)[0]] = True
            kept &= has
        return kept

    def has_phrases(self, document: int, phrases: Sequence[Sequence[str]]) -> bool:
        """Tell whether the words of each phrase stand in a document, one after the other."""
        segment, number = self.place_of(document)
        words = self.model.tokenize(segment.text_of(number))
        return all(_stands_in(phrase, words) for phrase in phrases)

    # Why

    def explain(self, document: int, terms: Sequence[Term], score: float) -> Hit:
        """Return a document as a hit, with what each word gave it."""
        segment, number = self.place_of(document)
        met: list[Met] = []
        for term in terms:
            counts = {word: weight * _count_in(segment, word, number) for word, weight in term.stands.items()}
            total = sum(counts.values())
            if total:
                part = float(_part(term, np.array(total), self.lengths[document]))
                met += [
                    Met(term.word, word, round(term.stands[word], 4), part * count / total)
                    for word, count in counts.items()
                    if count
                ]
        met.sort(key=lambda one: -one.score)
        rest = score - sum(one.score for one in met)
        text = segment.text_of(number)
        gave = {one.document: one.score for one in met if one.score > _LITTLE * met[0].score}
        snippet = cut_snippet(text, self.model.tokenize(text), gave)
        return Hit(segment.id_of(number), score, tuple(met), rest, snippet, segment.fields_of(number))


def idf(having: int, documents: int) -> float:
    """Return ``log (1 + (N - n + ½) / (n + ½))``, which is never below 0.

    >>> round(idf(1, 2), 4)
    0.6931
    """
    return float(np.log1p((documents - having + 0.5) / (having + 0.5)))


def _part(term: Term, counts: Float64s, lengths: Float64s) -> Float64s:
    return np.asarray(term.times * term.idf * (K1 + 1) * counts / (counts + lengths))


def _count_in(segment: Segment, word: str, document: int) -> int:
    documents, counts = segment.postings(word)
    place = int(np.searchsorted(documents, document))
    return int(counts[place]) if place < len(documents) and documents[place] == document else 0


def _stands_in(phrase: Sequence[str], words: Sequence[str]) -> bool:
    size = len(phrase)
    return any(list(words[i : i + size]) == list(phrase) for i in range(len(words) - size + 1))


def quoted_in(question: str) -> list[str]:
    """Return what stands in quotes in a question.

    >>> quoted_in('the mayor of "New York"')
    ['New York']
    """
    return [one for one in _QUOTED.findall(question) if one.strip()]


def best_first(scores: Float64s, topn: int) -> Iterator[int]:
    """Yield the places of scores, the highest first, and of equal ones the first; those that are -inf are left out.

    A few more than ``topn`` are sorted at first, and all only if that was not enough.

    >>> list(best_first(np.array([1.0, -np.inf, 2.0, 1.0]), 1))
    [2, 0, 3]
    """
    given, many = 0, min(4 * topn, len(scores))
    while True:
        least = (
            np.partition(scores, len(scores) - many)[len(scores) - many] if many < len(scores) else -np.inf
        )
        near = np.flatnonzero((scores >= least) & (scores > -np.inf))
        order = near[np.argsort(-scores[near], kind="stable")]
        yield from order[given:].tolist()
        if many == len(scores):
            return
        given, many = len(order), len(scores)


def cut_snippet(text: str, words: Sequence[str], gave: Mapping[str, float]) -> str:
    """Return the part of a text in which words that gave most stand together, these words between ``**``.

    >>> cut_snippet("The cat sat.", ["the", "cat", "sat"], {"cat": 1.0})
    'The **cat** sat.'
    """
    first = _best_window(words, gave)
    last = min(first + _SHOWN, len(words))
    places = word_places(text, list(words))
    known = [place for place in places[first:last] if place is not None]
    if not known:
        return " ".join(f"**{word}**" if word in gave else word for word in words[first:last])
    begin, end = known[0][0] if first else 0, known[-1][1] if last < len(words) else len(text)
    pieces, at = [], begin
    for word, place in zip(words[first:last], places[first:last], strict=True):
        if place is not None and word in gave:
            pieces += [text[at : place[0]], "**", text[slice(*place)], "**"]
            at = place[1]
    shown = " ".join("".join([*pieces, text[at:end]]).split())
    return f"{'… ' if first else ''}{shown}{' …' if last < len(words) else ''}"


def _best_window(words: Sequence[str], gave: Mapping[str, float]) -> int:
    """Return where the window begins whose different words gave most; a little before the first of them."""
    places = [i for i, word in enumerate(words) if word in gave]
    best, first = 0.0, 0
    for i in places:
        worth = sum(
            gave[word] for word in {words[j] for j in range(i, min(i + _SHOWN, len(words)))} & gave.keys()
        )
        if worth > best + 1e-12:
            best, first = worth, i
    return max(0, min(first - 3, len(words) - _SHOWN))
