"""Sentence vectors: the mean of the words' vectors, plain or weighted by smooth inverse frequency (SIF).

Sentences are lists of words, and each becomes one row, zeros if none of its words is known; :func:`make_tokenizer` cuts
texts into words as the text of the vectors was cut. SIF (Arora, Liang and Ma
2017) weights a word by ``a / (a + p)``, where p is its share of all words, and removes the direction that all sentences
have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from psdvec.arrays import Float32s, Float64s
from psdvec.text.tokenizers import find_tokenizer, split_words
from psdvec.vectors.embeddings import Embeddings

Tokenizer = Callable[[str], list[str]]


def make_tokenizer(embeddings: Embeddings, tokenizer: str | Tokenizer | None = None) -> Tokenizer:
    """Return a function that cuts a text into words: the vectors' own, or the ``tokenizer`` given by name or itself.

    >>> e = Embeddings(("a",), np.ones((1, 2), dtype=np.float32))
    >>> make_tokenizer(e)("It's A test!"), make_tokenizer(e, "whitespace")("It's A test!")
    (["it's", 'a', 'test'], ["It's", 'A', 'test!'])
    """
    if tokenizer is None:
        return embeddings.tokenize
    if callable(tokenizer):
        return tokenizer
    find_tokenizer(tokenizer)  # refuses an unknown one before any work
    return partial(split_words, tokenizer=tokenizer)


def sif_weights(embeddings: Embeddings, *, a: float = 1e-3) -> Float32s:
    """Return ``a / (a + p)`` for every word.

    p comes from the counts; without counts it follows Zipf's law, ``p ∝ 1 / rank``.

    >>> e = Embeddings(("the", "cat"), np.eye(2, dtype=np.float32), np.array([999, 1]))
    >>> sif_weights(e).round(3).tolist()
    [0.0010000000474974513, 0.5]
    """
    counts = embeddings.counts
    if counts is None or not counts.sum():
        shares = 1 / np.arange(1, len(embeddings) + 1)
    else:
        shares = counts.astype(np.float64)
    return np.asarray(a / (a + shares / shares.sum()), dtype=np.float32)


def mean_vectors(
    embeddings: Embeddings, sentences: Iterable[Sequence[str]], *, weights: Float32s | None = None
) -> Float32s:
    """Return the mean of the (weighted) vectors of each sentence's known words, (m, d).

    >>> e = Embeddings(("a", "b"), np.eye(2, dtype=np.float32))
    >>> mean_vectors(e, [["a", "b"], ["a", "x"], []]).tolist()
    [[0.5, 0.5], [1.0, 0.0], [0.0, 0.0]]
    """
    from scipy import sparse  # slow to import, and the command line imports this module

    ids = embeddings.key_to_index
    known = [[ids[word] for word in sentence if word in ids] for sentence in sentences]
    lengths = np.array([len(words) for words in known], dtype=np.int64)
    columns = np.array([i for words in known for i in words], dtype=np.int64)
    shares = np.repeat(1 / np.maximum(lengths, 1), lengths).astype(np.float32)
    if weights is not None:
        shares *= weights[columns]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    used, places = np.unique(columns, return_inverse=True)
    mixing = sparse.csr_array((shares, places, starts), shape=(len(known), len(used)))
    return np.asarray(mixing @ embeddings.vectors[used], dtype=np.float32)


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
