"""Sentence vectors: the mean of the words' vectors, plain or weighted by smooth inverse frequency (SIF).

Sentences are lists of words, and each becomes one row, zeros if none of its words has a vector; :func:`make_tokenizer`
cuts texts into words as the text of the vectors was cut. SIF (Arora, Liang and Ma 2017) weights a word by
``a / (a + p)``, where p is its share of all words, and removes the direction that all sentences have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.errors import InputError
from psdvec.progress import LogProgress, Progress
from psdvec.storage.files import replaced_file
from psdvec.text.corpus import report_damage
from psdvec.text.readers import Choice, Reader, find_encoding, make_where
from psdvec.text.streams import STANDARD_INPUT, file_status
from psdvec.text.tokenizers import choose_tokenizer, is_custom, split_words, words_of
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.subwords import UnseenInText, need_subwords, wants_spelling

Tokenizer = Callable[[str], list[str]]


def make_tokenizer(embeddings: Embeddings, tokenizer: str | Tokenizer | None = None) -> Tokenizer:
    """Return a function that cuts a text into words: the vectors' own, or the ``tokenizer`` given by name or itself.

    >>> e = Embeddings(("a",), np.ones((1, 2), dtype=np.float32))
    >>> make_tokenizer(e)("It's A test!"), make_tokenizer(e, "whitespace")("It's A test!")
    (["it's", 'a', 'test'], ["It's", 'A', 'test!'])
    """
    if tokenizer is None:
        return embeddings.tokenize
    own = choose_tokenizer(tokenizer)  # refuses an unknown one before any work
    if callable(tokenizer) and not is_custom(
        embeddings.tokenizer
    ):  # words that were cut elsewhere may hold blanks
        return lambda text: words_of(tokenizer(text), own, joined=False)
    return partial(split_words, tokenizer=own)


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
    """The ``vectors`` (m, d) of m sentences, and how many words of each, (m,), were ``known`` or only ``spelled``."""

    vectors: Float32s
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
    from scipy import sparse  # slow to import, and the command line imports this module

    sentences = list(sentences)
    ids, n = embeddings.key_to_index, len(embeddings)
    spelled = np.zeros((0, embeddings.dim), np.float32)
    more: dict[str, int] = {}
    if wants_spelling(unseen, otherwise="ignore"):
        missing = list(dict.fromkeys(word for words in sentences for word in words if word not in ids))
        found = need_subwords(embeddings.subwords).vectors_of(missing)
        told = np.flatnonzero(found.any(axis=1))
        more = {missing[i]: n + k for k, i in enumerate(told.tolist())}
        spelled = found[told]
    places = [
        [ids[word] if word in ids else more[word] for word in words if word in ids or word in more]
        for words in sentences
    ]
    lengths = np.array([len(found) for found in places], dtype=np.int64)
    columns = np.fromiter(chain.from_iterable(places), np.int64, lengths.sum())
    shares = np.repeat(1 / np.maximum(lengths, 1), lengths).astype(np.float32)
    if weights is not None:
        shares *= np.concatenate([weights, np.ones(len(more), np.float32)])[columns]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    used, ranks = np.unique(columns, return_inverse=True)
    mixing = sparse.csr_array((shares, ranks, starts), shape=(len(sentences), len(used)))
    owners = np.repeat(np.arange(len(sentences)), lengths)
    by_spelling = np.bincount(owners[columns >= n], minlength=len(sentences))
    rows = embeddings.vectors[used[used < n]]  # those beyond the vocabulary, spelled, come last
    vectors = mixing @ (np.concatenate([rows, spelled]) if len(spelled) else rows)
    return Averages(np.asarray(vectors, np.float32), lengths - by_spelling, by_spelling)


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


# From a text file of any length to a matrix of sentence vectors on disk, one row per line.

Weighting: TypeAlias = Literal["mean", "sif"]

_LINES = 4096
_HEADER = 128


@dataclass(frozen=True)
class Summary:
    """What was vectorised: lines, words, known words, lines without any word that has a vector (``empty``).

    ``spelled`` are the words beside the known ones that had a vector by their spelling.
    """

    lines: int
    words: int
    known: int
    empty: int
    spelled: int = 0


def vectorize_file(
    embeddings: Embeddings,
    text: str | Path,
    target: str | Path,
    *,
    weighting: Weighting = "mean",
    tokenizer: str | Tokenizer | None = None,
    unseen: UnseenInText = "ignore",
    column: str | None = None,
    where: Mapping[str, Any] | None = None,
    encoding: str = "utf-8",
    overwrite: bool = False,
    progress: Progress = LogProgress(),
) -> Summary:
    """Write the vector of each line of ``text`` as a row of the ``.npy`` file ``target``.

    Lines are cut into words as the vectors' own text was, or by ``tokenizer``: ``"unicode"``,
    ``"unicode-cased"``, ``"paper"``, ``"whitespace"``, or a function from a text to a list of words. With
    ``weighting="sif"`` a second pass over ``target`` removes the direction that all lines have in common. Words without
    a vector are left out, or have one by their spelling with ``unseen="spelling"``.

    Records of JSON lines and rows of CSV, TSV and Parquet are lines, too; ``column`` names what holds their text,
    ``"text"`` by default, and ``where`` which of them to read. ``encoding`` is that of the file.
    """
    reader = Reader(column, Choice(make_where(where)), encoding=find_encoding(encoding))
    tokenize = make_tokenizer(embeddings, tokenizer)
    if wants_spelling(unseen, otherwise="ignore"):
        need_subwords(embeddings.subwords)
    weights = sif_weights(embeddings) if weighting == "sif" else None
    lines = words = known = empty = spelled = position = 0
    with replaced_file(Path(target), overwrite=overwrite) as file:
        size = None if str(text) == STANDARD_INPUT else file_status(str(text)).bytes
        file.write(b"\0" * _HEADER)
        with progress.stage("vectorizing", total=size, unit="B") as stage:
            read = reader.texts(str(text))
            while block := [tokenize(line) for line in islice(read, _LINES)]:
                found = average(embeddings, block, weights=weights, unseen=unseen)
                file.write(found.vectors.data)
                lines += len(block)
                words += sum(map(len, block))
                known += int(found.known.sum())
                spelled += int(found.spelled.sum())
                empty += int((found.known + found.spelled == 0).sum())
                stage.advance(reader.raw_bytes - position, lines=len(block))
                position = reader.raw_bytes
        if not lines and reader.choice.where:
            raise InputError(reader.choice.why_none())
        file.seek(0)
        shape = (lines, embeddings.dim)
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
        if weighting == "sif" and lines:
            file.flush()
            _remove_common_direction(Path(file.name))
    report_damage(
        replaced=reader.replaced,
        words=words,
        files=reader.damaged,
        encoding=reader.encoding,
        progress=progress,
    )
    return Summary(lines, words, known, empty, spelled)


def _remove_common_direction(path: Path) -> None:
    """Remove the common direction from the matrix at ``path``, in place and block by block."""
    matrix = np.load(path, mmap_mode="r+")
    moment = np.zeros((matrix.shape[1], matrix.shape[1]))
    for start in range(0, len(matrix), _LINES):
        block = matrix[start : start + _LINES].astype(np.float64)
        moment += block.T @ block
    direction = common_direction(moment)
    for start in range(0, len(matrix), _LINES):
        matrix[start : start + _LINES] = without_direction(matrix[start : start + _LINES], direction)
    matrix.flush()
