"""Sentence vectors: the mean of the words' vectors, plain or weighted by smooth inverse frequency (SIF).

Sentences are lists of words, and each becomes one row, zeros if none of its words has a vector; :func:`make_tokenizer`
cuts texts into words as the text of the vectors was cut. SIF (Arora, Liang and Ma 2017) weights a word by
``a / (a + p)``, where p is its share of all words, and removes the direction that all sentences have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.text.tokenizers import choose_tokenizer, is_custom, split_words, words_of
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.subwords import Subwords, UnseenInText, need_subwords, wants_spelling

Tokenizer = Callable[[str], list[str]]
Weighting: TypeAlias = Literal["mean", "sif"]
DocumentWeighting: TypeAlias = Literal["mean", "sif", "tfidf"]


def make_tokenizer(embeddings: Embeddings, tokenizer: str | Tokenizer | None = None) -> Tokenizer:
    """Return a function that cuts a text into words: the vectors' own, or the ``tokenizer`` given by name or itself.

    >>> e = Embeddings(("a",), np.ones((1, 2), dtype=np.float32))
    >>> make_tokenizer(e)("It's A test!"), make_tokenizer(e, "whitespace")("It's A test!")
    (["it's", 'a', 'test'], ["It's", 'A', 'test!'])
    """
    if tokenizer is None:
        return embeddings.tokenize
    own = choose_tokenizer(tokenizer)  # refuses an unknown one before any work
    # Words that were cut elsewhere may hold blanks.
    if callable(tokenizer) and not is_custom(embeddings.tokenizer):
        return lambda text: words_of(tokenizer(text), own, joined=False)
    return partial(split_words, tokenizer=own)


def sif_weights(embeddings: Embeddings, *, a: float = 1e-3) -> Float32s:
    """Return ``a / (a + p)`` for every word.

    p comes from the counts; without counts it follows Zipf's law, ``p ∝ 1 / rank``.

    >>> e = Embeddings(("the", "cat"), np.eye(2, dtype=np.float32), np.array([999, 1]))
    >>> sif_weights(e).round(3).tolist()
    [0.0010000000474974513, 0.5]
    """
    return np.asarray(a / (a + word_shares(embeddings)), dtype=np.float32)


def word_shares(embeddings: Embeddings) -> Float64s:
    """Return how much of all text each word is: by its counts or, without any, by Zipf's law."""
    counts = embeddings.counts
    is_known = counts is not None and counts.any()
    shares = np.asarray(counts if is_known else 1 / np.arange(1, len(embeddings) + 1), np.float64)
    return np.asarray(shares / shares.sum())


def mean_vectors(
    embeddings: Embeddings,
    sentences: Iterable[Sequence[str]],
    *,
    weights: Float32s | None = None,
    unseen: UnseenInText = "ignore",
) -> Float32s:
    """Return the mean of the (weighted) vectors of each sentence's words, (m, d).

    Words without a vector are left out. With ``unseen="spelling"`` they have the vector of their spelling, and of
    ``weights``, which hold one number for each word of ``embeddings``, the weight 1: that of SIF for a word never seen.

    >>> e = Embeddings(("a", "b"), np.eye(2, dtype=np.float32))
    >>> mean_vectors(e, [["a", "b"], ["a", "x"], []]).tolist()
    [[0.5, 0.5], [1.0, 0.0], [0.0, 0.0]]
    """
    return average(embeddings, sentences, weights=weights, unseen=unseen).vectors


@dataclass(frozen=True)
class Averages:
    """The ``vectors`` (m, d) of m sentences, and how many words of each, (m,), were ``known`` or only ``spelled``.

    ``deviations`` (m,): the standard deviation of each coordinate, as far as those of words tell; None without them.
    """

    vectors: Float32s
    deviations: Float32s | None
    known: Int64s
    spelled: Int64s


def average(
    embeddings: Embeddings,
    sentences: Iterable[Sequence[str]],
    *,
    weights: Float32s | None,
    unseen: UnseenInText,
) -> Averages:
    """Return what :func:`mean_vectors` does, and how many words had a vector of their own or one by spelling."""
    numbers: dict[str, int] = {}
    lengths, columns = [], []
    for words in sentences:
        lengths.append(len(words))
        columns += [numbers.setdefault(word, len(numbers)) for word in words]
    starts = np.cumsum([0, *lengths], dtype=np.int64)
    ids = embeddings.key_to_index
    places = np.array([ids.get(word, -1) for word in numbers], np.int64)
    return average_numbered(
        embeddings, np.array(columns, np.int64), starts, places, lambda missing: [list(numbers)[i] for i in missing],
        weights=weights, unseen=unseen,
    )  # fmt: skip


def average_numbered(
    embeddings: Embeddings,
    columns: Int64s,
    starts: Int64s,
    places: Int64s,
    spell: Callable[[Int64s], list[str]],
    *,
    weights: Float32s | None,
    unseen: UnseenInText,
) -> Averages:
    """Return the averages of sentences whose words are numbers: ``columns`` from ``starts[i]`` to ``starts[i + 1]``.

    ``places``: which word of ``embeddings`` each number stands for, below 0 for none; ``spell`` writes some of these. A
    word's errors are the same wherever it stands, and those of different words have nothing to do with each other: with
    the share h of a word in a sentence, times its weight, the variance of each coordinate is the sum of h² s².
    """
    from scipy import sparse  # slow to import, and the command line imports this module

    used = np.unique(columns[columns >= 0])
    own = places[used]
    numbers, own = used[own >= 0][np.argsort(own[own >= 0])], np.sort(own[own >= 0])
    rows = np.asarray(embeddings.vectors[own], np.float32)
    weighed = np.ones(len(own), np.float32) if weights is None else weights[own]
    deviations = embeddings.deviations
    spreads = np.zeros(len(own)) if deviations is None else np.nan_to_num(deviations[own]).astype(np.float64)
    if wants_spelling(unseen, otherwise="ignore"):
        more, vectors, deviating = _spelled(need_subwords(embeddings.subwords), used[places[used] < 0], spell)
        numbers, rows = np.concatenate([numbers, more]), np.concatenate([rows, vectors])
        weighed = np.concatenate([weighed, np.ones(len(more), np.float32)])
        spreads = np.concatenate([spreads, deviating])
    row_of = np.full(len(places), -1)
    row_of[numbers] = np.arange(len(numbers))
    owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))[columns >= 0]
    ranks = row_of[columns[columns >= 0]]
    owners, ranks = owners[ranks >= 0], ranks[ranks >= 0]
    known, spelled = (
        np.bincount(owners[which], minlength=len(starts) - 1)
        for which in (ranks < len(own), ranks >= len(own))
    )
    shares = (1 / np.maximum(known + spelled, 1))[owners].astype(np.float32) * weighed[ranks]
    mixing = sparse.csr_array((shares, (owners, ranks)), shape=(len(starts) - 1, len(rows)))
    found = None
    if deviations is not None:
        found = np.sqrt(mixing.multiply(mixing) @ np.square(spreads)).astype(np.float32)
    return Averages(np.asarray(mixing @ rows, np.float32), found, known, spelled)


def _spelled(
    subwords: Subwords, missing: Int64s, spell: Callable[[Int64s], list[str]]
) -> tuple[Int64s, Float32s, Float64s]:
    """Return those of some words that have a vector by spelling, in the order of the alphabet: vectors, deviations."""
    words = spell(missing)
    order = np.array(sorted(range(len(words)), key=words.__getitem__), np.int64)
    vectors = subwords.vectors_of([words[i] for i in order])
    told = vectors.any(axis=1)
    return missing[order[told]], vectors[told], subwords.deviations_of(vectors[told]).astype(np.float64)


def common_direction(moment: Float64s) -> Float32s:
    """Return the unit vector along which the vectors X have most in common, given their ``moment`` XᵀX.

    >>> common_direction(np.array([[25.0, 0.0], [0.0, 1.0]])).tolist()
    [1.0, 0.0]
    """
    _, directions = np.linalg.eigh(moment)
    direction = directions[:, -1]
    # The sign of an eigenvector is arbitrary: make its largest coordinate positive.
    return np.asarray(direction * np.sign(direction[np.abs(direction).argmax()]), dtype=np.float32)


def without_direction(vectors: Float32s, direction: Float32s) -> Float32s:
    """Return ``vectors`` without their part along the unit vector ``direction``."""
    return np.asarray(vectors - np.outer(vectors @ direction, direction), dtype=np.float32)
