"""From vectors and documents to topics in one call, and the topics: what names them, and how good they are.

:func:`topics` reads, learns and writes; interrupted, the same call goes on after the last round. It returns
:class:`Topics`, which say what was learned of the documents, and take new documents and words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.errors import InputError, checked, demand_positive, demand_seed, import_extra, old_names
from psdvec.formats import load
from psdvec.options import ENCODING
from psdvec.progress import LogProgress, Progress, Shown, SilentProgress, count_of
from psdvec.resources import limit_blas, resolve_workers
from psdvec.storage.workspace import check_resumable, digest_of, open_workspace
from psdvec.text.concordance import cut_snippet
from psdvec.text.phrases import Phrases
from psdvec.text.readers import as_written
from psdvec.text.tokenizers import ENGLISH, choose_tokenizer
from psdvec.topic_model.documents import Documents, Files, Source, choose_words, read_documents, texts_at
from psdvec.topic_model.learn import (
    HOLD,
    PRIOR,
    Prior,
    Space,
    State,
    cluster,
    document_vectors,
    infer_documents,
    learn,
    seeded_centres,
    solve_topics,
    unit,
    unit_rows,
    words_of,
)
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.sentences import make_tokenizer

KIND = "topics"  # of the folder that they are written to

# Words that name topics: what a topic raises, what it has for itself, and what lies near it.

RELEVANCE = 0.1  # λ of Sievert and Shirley 2014: 1 ranks by P(w | t), 0 by how much t raises w
_NAMED = 10  # words that name a topic at least
_SPARE = 1.6  # so many times as many are looked at, and those least like the others are left out
_POOL = 50  # words among which the exclusive ones are looked for


def top_ids(space: Space, log_chances: Float64s, *, topn: int) -> list[Int64s]:
    """Return the numbers of words that name each topic, the most raised first: what it raises, and what is alike.

    Of the words with the highest ``λ log P(w | t) + (1 - λ) log (P(w | t) / P(w))``, the one that is least like the
    others by its vector is left out, again and again; a topic of sport is not named by the month of its finals.
    """
    most = max(topn, _NAMED)
    return [_alike(space, ids, most)[:topn] for ids in _raised(space, log_chances, topn=round(_SPARE * most))]


def _raised(space: Space, log_chances: Float64s, *, topn: int) -> list[Int64s]:
    """Return the words by λ; of words that score alike, the first of the vocabulary comes first."""
    scores = log_chances - (1 - RELEVANCE) * np.log(space.shares)[:, None]
    return [_highest(column, topn) for column in scores.T]


def _highest(scores: Float64s, topn: int) -> Int64s:
    return np.argsort(-scores, kind="stable")[:topn]


def _alike(space: Space, ids: Int64s, most: int) -> Int64s:
    """Return at most ``most`` of the words ``ids``, in their order, without those least like the others."""
    own = unit(space.centred[ids])
    kept = np.arange(len(ids))
    while len(kept) > most:
        likeness = (own[kept] @ own[kept].T).sum(axis=1)
        kept = np.delete(kept, int(likeness.argmin()))
    return np.asarray(ids[kept])


_USUAL = frozenset(ENGLISH.split())


def label_of(space: Space, ids: Int64s) -> str:
    """Return three of the words that name a topic, the first that tell something where there are such.

    Numbers, single letters, stop words, and what more than one in ten documents say come after the others.
    """

    def tells(i: int) -> bool:
        word = space.words[i]
        return (
            space.weights[i] >= 1
            and word not in _USUAL
            and len(word) > 1
            and not any(letter.isdecimal() for letter in word)
        )

    chosen = sorted(ids.tolist(), key=lambda i: not tells(i))  # which leaves all else in its order
    return ", ".join(space.words[i] for i in chosen[:3])


_SHOWN = 10  # topics that a glance shows
_SHORT = 20.0  # words: a shorter document stands for its topic less well
_LEAST = 0.5  # of a word: a topic that has less of a document has nothing of it


@dataclass(frozen=True, eq=False, repr=False)
class Topics(Shown):
    """Topics as vectors in the space of words, and their part in some documents.

    ``space``: the words that topics are made of. ``tilts`` (K, d): the topics t of equation (19). ``expected`` (n, K):
    the expected count of each word in each topic. ``labels``: the name of each topic, from its seed words or its
    own words. ``names``, ``lengths`` (m,), in words by their weights, and ``fields``: of the documents. ``proportions``
    (m, K) float32: the share of each document's words that each topic has; what is missing to 1 belongs to no topic.
    ``coherence`` (K,): NPMI of each topic's words. ``lines``: what tells people which document each is, its title or
    its first words; none in folders of older versions. ``snippets``: by the number of a document that stands for a
    topic, a part of it with words of that topic, these between ``**``; none of what cannot be read twice.
    """

    space: Space
    tilts: Float64s
    expected: Float64s
    labels: tuple[str, ...]
    names: tuple[str, ...]
    lengths: Float64s
    fields: Mapping[str, tuple[str | None, ...]]
    proportions: Float32s
    coherence: Float64s
    bounds: tuple[float, ...]
    tokenizer: str | None
    prior: Prior = PRIOR
    hold: float = HOLD
    sources: tuple[Mapping[str, Any], ...] = ()
    phrases: Phrases | None = None
    lines: tuple[str, ...] = ()
    snippets: Mapping[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.tilts)

    def __repr__(self) -> str:
        return f"Topics({self._facts()['size']})"

    def _facts(self) -> dict[str, str]:
        sizes = ((len(self), "topic"), (len(self.names), "document"), (len(self.space.words), "word"))
        largest = np.argsort(-self.sizes, kind="stable")[:_SHOWN].tolist()
        return {
            "size": ", ".join(count_of(number, thing) for number, thing in sizes),
            **{f"{k}: {self.labels[k]}": f"{100 * self.sizes[k]:.1f} % of all words" for k in largest},
        }

    @cached_property
    def vectors(self) -> Float32s:
        """Where each topic is among the words, (K, d), of length 1; it has cosines with words as they have."""
        return self.space.places(self.tilts).astype(np.float32)

    @cached_property
    def sizes(self) -> Float64s:
        """The share of all words in the documents that each topic has, (K,); the rest belongs to no topic."""
        return sizes_of(self.proportions, self.lengths)

    @cached_property
    def log_chances(self) -> Float64s:
        """How likely each word is under each topic, (n, K), as a logarithm."""
        return self.space.log_chances(self.tilts)

    @cached_property
    def main(self) -> Int64s:
        """The topic that each document has most of, (m,); -1 for one that has none."""
        return np.where((self.proportions > 0).any(axis=1), self.proportions.argmax(axis=1), -1)

    @property
    def diversity(self) -> float:
        """The share of different words among the ten top words of all topics."""
        words = [word for topic in self.top_words() for word in topic]
        return len(set(words)) / max(len(words), 1)

    @checked
    def top_words(self, topn: int = 10) -> list[list[str]]:
        """Return the words that name each topic, the best first."""
        return self._spelled(top_ids(self.space, self.log_chances, topn=max(topn, 0)))

    @checked
    def exclusive_words(self, topn: int = 10) -> list[list[str]]:
        """Return, for each topic, those of its words that other topics have least of."""
        joint = np.exp(self.log_chances) * self.sizes
        surely = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
        pools = _raised(self.space, self.log_chances, topn=_POOL)
        return self._spelled(ids[_highest(surely[ids, k], max(topn, 0))] for k, ids in enumerate(pools))

    @checked
    def nearest_words(self, topn: int = 10) -> list[list[str]]:
        """Return the words whose vectors are nearest to each topic's."""
        cosines = unit(self.space.centred) @ self.vectors.T
        return self._spelled(_highest(column, max(topn, 0)) for column in cosines.T)

    def _spelled(self, chosen: Iterable[Int64s]) -> list[list[str]]:
        return [[self.space.words[i] for i in ids] for ids in chosen]

    @old_names(text="column")
    @checked
    def transform(
        self,
        documents: Source,
        *,
        column: str | None = None,
        where: Mapping[str, Any] | None = None,
        encoding: str = "utf-8",
        tokenizer: str | Callable[[str], Any] | None = None,
        model: Embeddings | None = None,
        workers: int | None = None,
    ) -> Float32s:
        """Return the proportions of new documents, (m, K); the topics stay as they are.

        With ``model``, words that have a vector there but were not in the first documents count too, each by its
        vector: a word that was learned yesterday by ``extend`` needs no new topics.
        """
        space = self.space if model is None else with_words(self.space, model)
        words = Embeddings(space.words, space.vectors, tokenizer=self.tokenizer, phrases=self.phrases)
        read = read_documents(
            documents, words, column=column, where=where, encoding=encoding, tokenizer=tokenizer,
            progress=SilentProgress(),
        )  # fmt: skip
        read = replace(read, weights=space.weights)
        gamma = infer_documents(read, space, self.tilts, prior=self.prior, hold=self.hold, workers=workers)
        return proportions_of(read, gamma, self.prior)

    @checked
    def chance_of(self, word: str, model: Embeddings | None = None) -> Float64s:
        """Return P(word | topic) of each topic, (K,); of a word that is new, by its vector in ``model``."""
        space = self.space if model is None else with_words(self.space, model)
        if word not in space.words:
            raise InputError(
                f"'{word}' is not among the topics' words; give a model that has a vector for it"
            )
        return np.asarray(space.chances(self.tilts)[space.words.index(word)])

    @checked
    def merge(self, first: int, second: int) -> Topics:
        """Return topics of which two are made one; it is learned from the words of both. The others stay."""
        for one in (first, second):
            self._check_topic(one)
        if first == second:
            raise InputError(f"topic {first} was to be merged with itself; name two topics")
        kept = [k for k in range(len(self)) if k != max(first, second)]
        place = kept.index(min(first, second))
        expected, shares = self.expected[:, kept].copy(), self.proportions[:, kept].copy()
        expected[:, place] = self.expected[:, [first, second]].sum(axis=1)
        shares[:, place] = self.proportions[:, [first, second]].sum(axis=1)
        tilts = self.tilts[kept].copy()
        tilts[place] = solve_topics(self.space, expected[:, place : place + 1], hold=self.hold, times=5)[0]
        (own,) = top_ids(self.space, self.space.log_chances(tilts)[:, [place]], topn=_NAMED)
        labels = [self.labels[k] for k in kept]
        labels[place] = label_of(self.space, own)
        unknown = np.full(len(kept), np.nan)
        return replace(
            self, tilts=tilts, expected=expected, proportions=shares, labels=tuple(labels), coherence=unknown
        )

    @checked
    def to_frame(self, *, documents: bool = False, by: str | None = None) -> Any:
        """Return the topics as a pandas data frame, a row each; or the ``documents``, or the sizes ``by`` a field.

        Of a topic: its label, ten words, its share of all words, how many documents have most of it, its coherence, and
        the document that is most about it. Of a document: the topic that it has most of, that topic's share of it, the
        line that tells what it is, and its fields. By a field: the mean share of each topic in documents of each value,
        with its 95 % interval.
        """
        from psdvec.topic_model.page import columns_of_documents, columns_of_sizes, columns_of_topics

        if documents and by is not None:
            raise InputError("a data frame is either of documents or by a field; leave one of the two out")
        pandas = import_extra("pandas", extra="pandas", purpose="a data frame")
        if by is not None:
            return pandas.DataFrame(columns_of_sizes(self, by))
        if not documents:
            return pandas.DataFrame(columns_of_topics(self)).set_index("topic")
        frame = pandas.DataFrame(columns_of_documents(self)).set_index("id")
        return frame.assign(topic=pandas.array(frame["topic"].tolist(), dtype="Int64"))

    @checked
    def plot(
        self, topics: int | Sequence[int] | None = None, *, by: str | None = None, topn: int | None = None
    ) -> Any:
        """Draw how large topics are, with their words, or their sizes ``by`` a field: lines over times, else dots.

        Some ``topics`` by their numbers or, if None, the ``topn`` largest: 30, or 6 by a field.

        Returns
        -------
        matplotlib.figure.Figure
            A notebook shows it; ``figure.savefig("topics.png")`` keeps it, as does ``.svg`` or ``.pdf``.
        """
        from psdvec.topic_model.page import figure_of

        chosen = [int(topics)] if isinstance(topics, int | np.integer) else topics
        for one in chosen or ():
            self._check_topic(one)
        demand_positive(topn, "topn")
        return figure_of(self, chosen, by=by, topn=topn)

    def _check_topic(self, number: int) -> None:
        if not 0 <= number < len(self):
            raise InputError(f"there is no topic {number}; topics are numbered from 0 to {len(self) - 1}")

    @checked
    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write a folder that ``psdvec.load`` opens, with tables and a page in it."""
        from psdvec.topic_model.page import write_topics

        write_topics(self, path, overwrite=overwrite)


def proportions_of(documents: Documents, gamma: Float64s, prior: Prior) -> Float32s:
    """Return the share of each document's known words that each topic has, (m, K); small ones are 0."""
    found = gamma - prior.over(gamma.shape[1] - 1)
    found[found < _LEAST] = 0.0
    total = found.sum(axis=1, keepdims=True)
    shares = found / np.where(total > 0, total, 1.0)
    shares[documents.lengths == 0] = 0.0
    return np.asarray(shares[:, :-1], dtype=np.float32)


def sizes_of(proportions: Float32s, lengths: Float64s) -> Float64s:
    """Return the share of the words of all documents that each topic has, (K,)."""
    return np.asarray(lengths @ proportions.astype(np.float64) / max(float(lengths.sum()), 1e-12))


def with_words(space: Space, model: Embeddings) -> Space:
    """Return ``space`` and, after its own words, those that ``model`` has besides; nothing changes for its own.

    A new word is as frequent as the model says, but no more than the rarest of the old words.
    """
    known = set(space.words)
    ids = np.array([i for i, word in enumerate(model.words) if word not in known], dtype=np.int64)
    if model.dim != space.vectors.shape[1]:
        raise InputError(
            f"the model has {model.dim} dimensions and the topics {space.vectors.shape[1]}; give the model they were "
            "learned with, or one extended from it"
        )
    rarest = float(space.shares.min())
    counts = None if model.counts is None else model.counts / max(int(model.counts.sum()), 1)
    shares = np.full(len(ids), rarest) if counts is None else np.minimum(counts[ids], rarest)
    return Space(
        (*space.words, *(model.words[i] for i in ids)),
        np.concatenate([space.vectors, unit_rows(model, ids)]),
        np.concatenate([space.shares, np.maximum(shares, rarest / 100)]),
        np.concatenate([space.weights, np.ones(len(ids))]),
        space.core,
    )


# How good topics are: the coherence of their words in the documents.

WINDOW = 10
_NEVER = 1e-12  # added to probabilities, as everyone who publishes this measure does


def coherence(documents: Documents, topics: Sequence[Int64s], *, words: int) -> Float64s:
    """Return the NPMI of each topic, given by the numbers of its top words; ``words`` is the size of the vocabulary."""
    from psdvec.topic_model.kernels import count_windows  # here, so that topics are read without numba

    asked = np.unique(np.concatenate([*topics, np.zeros(0, np.int64)]))
    slots = np.full(words, -1, np.int32)
    slots[asked] = np.arange(len(asked))
    together = np.zeros((len(asked), len(asked)), np.int64)
    windows = count_windows(documents.tokens, documents.starts, slots, together, WINDOW)
    found = npmi(together / max(windows, 1))
    return np.array([_mean_of_pairs(found[np.ix_(slots[ids], slots[ids])]) for ids in topics])


def npmi(joint: Float64s) -> Float64s:
    """Return normalised PMI of all pairs, from the probability of each pair and, on the diagonal, of each word.

    >>> npmi(np.array([[0.5, 0.25], [0.25, 0.5]]))[0, 1].round(6).tolist()
    0.0
    """
    alone = np.maximum(np.diag(joint), _NEVER)
    return np.asarray(np.log((joint + _NEVER) / np.outer(alone, alone)) / -np.log(joint + _NEVER))


def _mean_of_pairs(table: Float64s) -> float:
    size = len(table)
    return float((table.sum() - np.trace(table)) / (size * (size - 1))) if size > 1 else float("nan")


def representatives(topics: Topics, *, topn: int = 3) -> list[list[dict[str, Any]]]:
    """Return, for each topic, the documents most about it: ``name``, ``share`` and, if kept, ``line`` and ``snippet``.

    Of documents of which the topic has as much, the longer ones come first.
    """
    return [
        [
            {"name": topics.names[i], "share": round(float(topics.proportions[i, k]), 4)}
            | ({"line": topics.lines[i]} if topics.lines else {})
            | ({"snippet": topics.snippets[i]} if i in topics.snippets else {})
            for i in first
        ]
        for k, first in enumerate(standing_for(topics, topn=topn))
    ]


def standing_for(topics: Topics, *, topn: int = 3) -> list[list[int]]:
    """Return, for each topic, the numbers of the documents most about it."""
    found = []
    for shares in topics.proportions.T:
        scores = shares * topics.lengths / (topics.lengths + _SHORT)
        found.append([i for i in np.argsort(-scores, kind="stable")[:topn].tolist() if shares[i] > 0])
    return found


def snippets_of(
    topics: Topics, documents: Source, tokenize: Callable[[str], Sequence[str]], **how: Any
) -> dict[int, str]:
    """Return a part of each document that stands for a topic, with words of that topic; read once more for that."""
    owners: dict[int, int] = {}
    for k, first in enumerate(standing_for(topics)):
        for i in first:
            owners.setdefault(i, k)
    places, words = np.array(sorted(owners), np.int64), topics.top_words()
    texts = texts_at([documents], places, **how)
    return {
        i: as_written(cut_snippet(text, tokenize(text), dict.fromkeys(words[owners[i]], 1.0)))
        for i, text in zip(places.tolist(), texts, strict=True)
        if isinstance(text, str)
    }


def describe_topics(topics: Topics) -> list[dict[str, Any]]:
    """Return what is known of each topic, the words that name it first."""
    words, exclusive, nearest = topics.top_words(), topics.exclusive_words(), topics.nearest_words()
    stand = representatives(topics)
    return [
        {
            "topic": k,
            "label": topics.labels[k],
            "words": words[k],
            "exclusive": exclusive[k],
            "nearest": nearest[k],
            "size": round(float(topics.sizes[k]), 6),
            "coherence": None if np.isnan(topics.coherence[k]) else round(float(topics.coherence[k]), 4),
            "documents": stand[k],
        }
        for k in range(len(topics))
    ]


# How many topics: as many as give held-out documents the highest likelihood.

_NUMBERS = (2, 5, 10, 15, 20, 30, 40, 50, 75, 100)
_EVERY = 10
_MOST = 4000  # documents that take part


def choose_number(
    documents: Documents, space: Space, *, seed: int, workers: int | None, progress: Progress
) -> int:
    """Return the number of topics that suits ``documents``."""
    places = np.unique(np.linspace(0, len(documents) - 1, min(len(documents), _MOST)).astype(np.int64))
    held = places[:: max(min(_EVERY, len(places) // 2), 1)]
    others = np.setdiff1d(places, held)
    if len(others) < 2:
        return 1
    learned, asked = documents.take(others), documents.take(held)
    known, rest = _halves(asked)
    units = document_vectors(learned, space)
    found: dict[int, Float64s] = {}
    numbers = [number for number in _NUMBERS if number <= max(len(others) // 5, 1)] or [1]
    with progress.stage("choosing the number of topics", total=len(numbers), unit="trials") as stage:
        for number in numbers:
            owners = cluster(units, number, seed=seed)
            begin = words_of(learned, owners, topics=number, words=len(space.words))
            state = learn(learned, space, begin=begin, workers=workers, progress=SilentProgress())
            found[number] = _heldout_likelihood(known, rest, space, state.tilts, workers)
            stage.note(f"{number} topics: {found[number].mean():.4f} nats a word")
            stage.advance(1)
    return smallest_within_error(found)


def smallest_within_error(found: dict[int, Float64s]) -> int:
    """Return the smallest number whose mean is less than the best by at most one standard error of the difference.

    The documents are the same for all numbers, so their differences are taken document by document.

    >>> smallest_within_error({5: np.array([-2.0, -3.0]), 10: np.array([-1.0, -2.1]), 20: np.array([-1.1, -1.9])})
    10
    """
    best = max(found, key=lambda number: (float(found[number].mean()), -number))

    def is_near(lost: Float64s) -> bool:
        error = float(lost.std(ddof=1) / np.sqrt(len(lost))) if len(lost) > 1 else 0.0
        return float(lost.mean()) <= error

    return min(number for number in found if is_near(found[best] - found[number]))


def _halves(documents: Documents) -> tuple[Documents, Documents]:
    """Return every other word of each document, and the rest."""
    owners = np.repeat(np.arange(len(documents)), np.diff(documents.starts))
    odd = (np.arange(len(documents.tokens)) - documents.starts[owners]) % 2 == 1

    def part(chosen: np.ndarray) -> Documents:
        starts = np.concatenate([[0], np.cumsum(np.bincount(owners[chosen], minlength=len(documents)))])
        return Documents(documents.names, documents.tokens[chosen], starts, {}, documents.weights)

    return part(~odd), part(odd)


def _heldout_likelihood(
    known: Documents, rest: Documents, space: Space, tilts: Float64s, workers: int | None
) -> Float64s:
    """Return the mean log-likelihood of the words of each document in ``rest``, given those in ``known``."""
    gamma = infer_documents(known, space, tilts, workers=workers)
    theta = gamma / gamma.sum(axis=1, keepdims=True)
    chances = np.column_stack([space.chances(tilts), space.shares])
    starts, words, counts = rest.counted
    owners = np.repeat(np.arange(len(rest)), np.diff(starts))
    logs = np.log((theta[owners] * chances[words]).sum(axis=1))
    totals = np.bincount(owners, weights=counts, minlength=len(rest))
    sums = np.bincount(owners, weights=counts * logs, minlength=len(rest))
    return np.asarray(sums[totals > 0] / totals[totals > 0])


_ANCHOR = 0.1  # of an average topic: the words that seed words stand for


@old_names(text="column")
@checked
def topics(
    model: Embeddings | str | Path,
    documents: Source,
    topics: int | Literal["auto"] = 50,
    *,
    column: str | None = None,
    where: Mapping[str, Any] | None = None,
    by: str | Sequence[str] = (),
    encoding: str = ENCODING,
    tokenizer: str | Callable[[str], Any] | None = None,
    seed_words: Mapping[str, Sequence[str]] | None = None,
    min_documents: int | None = None,
    quick: bool = False,
    seed: int = 0,
    workers: int | None = None,
    output: str | Path | None = None,
    overwrite: bool = False,
    quiet: bool = False,
    progress: Progress = LogProgress(),
) -> Topics:
    """Find what documents are about: topics that are vectors among the words of ``model``.

    Parameters
    ----------
    model
        Vectors, or the path of some in any format that psdvec reads; best those of the documents' own text.
    documents
        The name of a file (a line of text, a record of JSON lines or a row of CSV, TSV or Parquet is a document), of a
        folder (each text file is one), a glob, or a list of ``Path`` objects; a list of texts or of lists of words; a
        table of pandas, Polars, Arrow or Hugging Face, or a list of records.
    topics
        How many, or ``"auto"``: as many as give held-out documents the highest likelihood.
    column, where, by
        The field or column that holds the text, ``"text"`` by default; which records to read, such as
        ``{"party": "A"}``; and fields to show topics over, such as ``"year"``.
    encoding
        The encoding of files, by any name that Python knows.
    tokenizer
        How to cut texts into words, by name or by a function of your own; as the text of the vectors was, if None.
    seed_words
        Words that some topics are to be about, by the name of the topic: ``{"economy": ["bank", "loan"]}``.
    min_documents
        Leave out words that fewer documents have; by default 5, or one in a thousand.
    quick
        Cluster the documents and stop there: each document has one topic.
    seed
        Of the first clusters. The same seed gives the same bytes.
    workers
        Threads; one per core, if None. The result is the same.
    output
        Folder to write the topics to, with tables and a page. If it is interrupted, the same call continues.

    Examples
    --------
    >>> e = Embeddings(("cat", "dog", "loan", "bank"), np.float32([[1, 0.1], [1, 0], [0, 1], [0.1, 1]]))
    >>> found = topics(e, ["cat dog cat", "dog cat", "bank loan", "loan bank loan"], 2, min_documents=1, quiet=True)
    >>> sorted(sorted(words[:2]) for words in found.top_words())
    [['bank', 'loan'], ['cat', 'dog']]
    """
    progress = SilentProgress() if quiet else progress
    number = None if topics == "auto" else topics
    demand_positive(number, "topics")
    demand_positive(min_documents, "min_documents")
    demand_seed(seed)
    resolve_workers(workers)  # refuses a number that makes no sense before any work
    check_resumable(output, kind=KIND, overwrite=overwrite)
    embeddings = model if isinstance(model, Embeddings) else load(model, progress=progress)
    fields = (by,) if isinstance(by, str) else tuple(by)
    read = read_documents(
        documents, embeddings, column=column, where=where, by=fields, encoding=encoding, tokenizer=tokenizer,
        lines=True, progress=progress,
    )  # fmt: skip
    kept, ids = choose_words(read, embeddings, min_documents)
    empty = int((kept.lengths == 0).sum())
    if empty:
        progress.say(
            f"without a known word, and so without a topic: {empty:,} of {count_of(len(kept), 'document')}"
        )
    space = Space.of(kept, embeddings, ids)
    anchors_of = _seeds(space, seed_words or {}, progress)
    with ExitStack() as stack:
        work = None
        if output is not None:
            plan = {
                "documents": digest_of(kept.tokens, kept.starts), "vectors": digest_of(space.vectors, space.words),
                "topics": topics, "seed": seed, "seed words": {k: list(v) for k, v in (seed_words or {}).items()},
                "quick": quick,
            }  # fmt: skip
            work = stack.enter_context(
                open_workspace(Path(output), plan=plan, progress=progress, overwrite=overwrite)
            )
        stack.enter_context(limit_blas(1))
        if number is None:
            best = choose_number(kept, space, seed=seed, workers=workers, progress=progress)
            number = max(best, len(anchors_of))
            progress.say(f"held-out words are foretold best by {count_of(number, 'topic')}")
        _check_number(number, kept, len(anchors_of))
        state = _learned(
            kept, space, number, list(anchors_of.values()),
            seed=seed, quick=quick, workers=workers, work=work, progress=progress,
        )  # fmt: skip
        found = _summed_up(kept, space, state, tuple(anchors_of), embeddings)
        if tokenizer is not None:
            found = replace(found, tokenizer=choose_tokenizer(tokenizer))
        if _can_be_read_again(documents):
            tokenize = make_tokenizer(embeddings, tokenizer)
            again = {"column": column, "where": where, "encoding": encoding}
            found = replace(found, snippets=snippets_of(found, documents, tokenize, **again))
        if output is not None:
            found.save(output, overwrite=overwrite)
    return found


def _can_be_read_again(documents: Source) -> bool:
    """Say whether documents are still there once they were read: standard input, pipes and iterators are not."""
    if isinstance(documents, Files | str | Path):
        names = documents.names if isinstance(documents, Files) else [documents]
        return all(Path(name).is_file() or Path(name).is_dir() for name in names)
    return not isinstance(documents, Iterator)


def _check_number(number: int, documents: Documents, seeded: int) -> None:
    told = int((documents.lengths > 0).sum())
    if number > told:
        have = "document has" if told == 1 else "documents have"
        raise InputError(
            f"{number} topics were asked for, but only {told} {have} a known word; ask for fewer: topics=N"
        )
    if number < seeded:
        raise InputError(
            f"seed words are given for more topics than were asked for, {seeded} instead of {number}; ask for more: "
            "topics=N"
        )


def _seeds(space: Space, seed_words: Mapping[str, Sequence[str]], progress: Progress) -> dict[str, Float64s]:
    """Return, by the names of seeded topics, how much each word of the space stands for them, (n,)."""
    places = {word: i for i, word in enumerate(space.words)}
    found = {}
    for name, words in seed_words.items():
        known = [places[word] for word in words if word in places]
        unknown = [word for word in words if word not in places]
        if not known:
            are = "are" if len(words) > 1 else "is"
            raise InputError(
                f"none of the seed words of '{name}' ({', '.join(words)}) {are} in enough documents with a vector; "
                "give others"
            )
        if unknown:
            progress.say(f"seed words of '{name}' that too few documents have: {', '.join(unknown)}")
        found[as_written(name)] = np.bincount(known, minlength=len(space.words)) / len(known)
    return found


def _learned(
    documents: Documents,
    space: Space,
    number: int,
    seeds: list[Float64s],
    *,
    seed: int,
    quick: bool,
    workers: int | None,
    work: Path | None,
    progress: Progress,
) -> State:
    units = document_vectors(documents, space)
    given = anchors = None
    if seeds:
        shares = np.array(seeds)
        given = seeded_centres(documents, units, space, shares, clusters=number)
        anchors = np.zeros((len(space.words), number))
        anchors[:, : len(seeds)] = _ANCHOR * float(documents.lengths.sum()) / number * shares.T
    owners = cluster(units, number, seed=seed, given=given)
    begin = words_of(documents, owners, topics=number, words=len(space.words))
    if quick:
        tilts = solve_topics(space, begin, hold=HOLD, times=3)
        gamma = np.tile(PRIOR.over(number), (len(documents), 1))
        gamma[np.arange(len(documents)), owners] += documents.lengths
        return State(tilts, gamma, begin, ())
    return learn(
        documents, space, begin=begin, anchors=anchors, workers=workers, work=work, progress=progress
    )


def _summed_up(
    documents: Documents, space: Space, state: State, seeded: tuple[str, ...], embeddings: Embeddings
) -> Topics:
    """Return the topics with their names, the seeded ones first, the others by their size."""
    shares = proportions_of(documents, state.gamma, PRIOR)
    sizes = sizes_of(shares, documents.lengths)
    others = np.argsort(-sizes[len(seeded) :], kind="stable") + len(seeded)
    order = np.concatenate([np.arange(len(seeded)), others]).astype(np.int64)
    tilts, expected = state.tilts[order], state.expected[:, order]
    chosen = top_ids(space, space.log_chances(tilts), topn=10)
    own = tuple(label_of(space, ids) for ids in chosen)
    origin: dict[str, Any] = getattr(embeddings, "provenance", {"vectors": "in memory"})
    return Topics(
        space=space,
        tilts=tilts,
        expected=expected,
        labels=(*seeded, *own[len(seeded) :]),
        names=documents.names,
        lengths=documents.lengths,
        fields=documents.fields,
        proportions=shares[:, order],
        coherence=coherence(documents, chosen, words=len(space.words)),
        bounds=state.bounds,
        tokenizer=embeddings.tokenizer,
        sources=(origin,),
        phrases=embeddings.phrases,
        lines=documents.lines or (),
    )
