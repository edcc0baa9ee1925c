"""Topics: what was learned, what it says of the documents, and how new documents and words enter later."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.errors import InputError, checked
from psdvec.progress import Shown, SilentProgress, count_of
from psdvec.topic_model.documents import Documents, Source, read_documents
from psdvec.topic_model.learn import HOLD, PRIOR, Prior, Space, infer_documents, solve_topics, unit
from psdvec.vectors.embeddings import Embeddings

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


_SHOWN = 10  # topics that a glance shows
_LEAST = 0.5  # of a word: a topic that has less of a document has nothing of it


@dataclass(frozen=True, eq=False, repr=False)
class Topics(Shown):
    """Topics as vectors in the space of words, and their part in some documents.

    ``space``: the words that topics are made of. ``tilts`` (K, d): the topics t of equation (19). ``expected`` (n, K):
    the expected count of each word in each topic. ``labels``: the name of each topic, from its seed words or its
    own words. ``names``, ``lengths`` (m,), in words by their weights, and ``fields``: of the documents. ``proportions``
    (m, K) float32: the share of each document's words that each topic has; what is missing to 1 belongs to no topic.
    ``coherence`` (K,): NPMI of each topic's words.
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

    @checked
    def transform(
        self,
        documents: Source,
        *,
        text: str | None = None,
        encoding: str = "utf-8",
        model: Embeddings | None = None,
        workers: int | None = None,
    ) -> Float32s:
        """Return the proportions of new documents, (m, K); the topics stay as they are.

        With ``model``, words that have a vector there but were not in the first documents count too, each by its
        vector: a word that was learned yesterday by ``extend`` needs no new topics.
        """
        space = self.space if model is None else with_words(self.space, model)
        words = Embeddings(space.words, space.vectors, tokenizer=self.tokenizer)
        read = read_documents(documents, words, text=text, encoding=encoding, progress=SilentProgress())
        read = read.weighed(space.weights)
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
            if not 0 <= one < len(self):
                raise InputError(f"there is no topic {one}; topics are numbered from 0 to {len(self) - 1}")
        if first == second:
            raise InputError(f"topic {first} was to be merged with itself; name two topics")
        kept = [k for k in range(len(self)) if k != max(first, second)]
        place = kept.index(min(first, second))
        expected, shares = self.expected[:, kept].copy(), self.proportions[:, kept].copy()
        expected[:, place] = self.expected[:, [first, second]].sum(axis=1)
        shares[:, place] = self.proportions[:, [first, second]].sum(axis=1)
        tilts = self.tilts[kept].copy()
        own = expected[:, place : place + 1]
        tilts[place] = solve_topics(self.space, own, np.zeros_like(tilts[:1]), hold=self.hold, times=5)[0]
        labels = tuple(self.labels[k] for k in kept)
        merged = replace(
            self,
            tilts=tilts,
            expected=expected,
            proportions=shares,
            labels=labels,
            coherence=np.full(len(kept), np.nan),
        )
        names = list(labels)
        names[place] = ", ".join(merged.top_words(3)[place])
        return replace(merged, labels=tuple(names))

    @checked
    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write a folder that ``psdvec.load`` opens, with tables and a page in it."""
        from psdvec.topic_model.folder import write_topics

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
    ids = [i for i, word in enumerate(model.words) if word not in known]
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


def unit_rows(embeddings: Embeddings, ids: Sequence[int]) -> Float32s:
    """Return the vectors of some words, scaled to length 1."""
    chosen = np.asarray(ids, dtype=np.int64)
    lengths = np.maximum(embeddings.lengths[chosen], 1e-12)
    return np.asarray(embeddings.vectors[chosen] / lengths[:, None], dtype=np.float32)
