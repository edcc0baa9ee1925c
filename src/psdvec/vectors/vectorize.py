"""From a text file of any length to a matrix of sentence vectors on disk, one row per line.

The text may be compressed, and may be the records of JSON lines or the rows of a table. The matrix, a ``.npy`` file of
shape (lines, d), float32, is written block by block. How a sentence becomes a vector is defined in
:mod:`psdvec.vectors.sentences`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias

import numpy as np

from psdvec.progress import LogProgress, Progress
from psdvec.storage.files import replaced_file
from psdvec.text.corpus import report_damage
from psdvec.text.readers import Reader, find_encoding
from psdvec.text.streams import STANDARD_INPUT, file_status
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.sentences import (
    Tokenizer,
    average,
    common_direction,
    make_tokenizer,
    sif_weights,
    without_direction,
)
from psdvec.vectors.subwords import UnseenInText, need_subwords, wants_spelling

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
    encoding: str = "utf-8",
    overwrite: bool = False,
    progress: Progress = LogProgress(),
) -> Summary:
    """Write the vector of each line of ``text`` as a row of the ``.npy`` file ``target``.

    Lines are cut into words as the vectors' own text was, or by ``tokenizer``: ``"unicode"``, ``"paper"``,
    ``"whitespace"``, or a function from a text to a list of words. With ``weighting="sif"`` a second pass over
    ``target`` removes the direction that all lines have in common. Words without a vector are left out, or have one by
    their spelling with ``unseen="spelling"``.

    Records of JSON lines and rows of CSV, TSV and Parquet are lines, too; ``column`` names what holds their text,
    ``"text"`` by default. ``encoding`` is that of the file.
    """
    reader = Reader(column=column, encoding=find_encoding(encoding), option="column")
    tokenize = make_tokenizer(embeddings, tokenizer)
    if wants_spelling(unseen, otherwise="ignore"):
        need_subwords(embeddings.subwords)
    with replaced_file(Path(target), overwrite=overwrite) as file:
        summary = _write_means(embeddings, str(text), reader, file, tokenize, weighting, unseen, progress)
        if weighting == "sif" and summary.lines:
            file.flush()
            _remove_common_direction(Path(file.name))
    report_damage(
        replaced=reader.replaced,
        words=summary.words,
        files=reader.damaged,
        encoding=reader.encoding,
        progress=progress,
    )
    return summary


def _write_means(
    embeddings: Embeddings,
    text: str,
    reader: Reader,
    file: BinaryIO,
    tokenize: Tokenizer,
    weighting: Weighting,
    unseen: UnseenInText,
    progress: Progress,
) -> Summary:
    weights = sif_weights(embeddings) if weighting == "sif" else None
    lines = words = known = empty = spelled = 0
    size = None if text == STANDARD_INPUT else file_status(text).bytes
    file.write(b"\0" * _HEADER)
    with progress.stage("vectorizing", total=size, unit="B") as stage:
        position = 0
        read = reader.texts(text)
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
    file.seek(0)
    _write_header(file, (lines, embeddings.dim))
    return Summary(lines, words, known, empty, spelled)


def _write_header(file: BinaryIO, shape: tuple[int, int]) -> None:
    np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})


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
