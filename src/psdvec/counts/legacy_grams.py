"""The text formats of the original PSDVec toolbox: ``top1grams`` (words) and ``top2grams`` (pairs).

Both begin with header lines marked ``#``. ``top1grams`` goes on with ``Words:`` and lines
``word,count,log-probability``; ``top2grams`` with ``Bigrams:`` and blocks of a line
``id,word,neighbours,total,cutoff`` and, behind a tab, ``word,count,log-probability`` for each word after it.
The formats hold whole counts, so a store with other weighting than flat cannot be written in them exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from psdvec.counts.matrix import Cooccurrence, Tally
from psdvec.counts.vocabulary import Vocabulary
from psdvec.counts.weighting import UNIT
from psdvec.errors import InputError
from psdvec.storage.atomic import whole_file
from psdvec.text.decompress import open_stream
from psdvec.text.lines import stream_lines


def write_top1grams(vocabulary: Vocabulary, path: str | Path) -> None:
    """Write words with counts and natural logarithms of their probabilities."""
    total = int(vocabulary.counts.sum())
    with whole_file(Path(path)) as file:
        file.write(f"# {len(vocabulary)} words, {total} occurrences\nWords:\n".encode())
        for word, count in zip(vocabulary.words, vocabulary.counts.tolist(), strict=True):
            file.write(f"{_checked(word)},{count},{_log(count / total)}\n".encode())


def write_top2grams(counts: Cooccurrence, path: str | Path) -> None:
    """Write each word with the words that follow it; refused where a count is not whole."""
    parts = np.flatnonzero(counts.values % UNIT)
    if len(parts):
        raise InputError(
            f"the top2grams format holds whole counts only, and these were counted with weighting "
            f"{counts.parameters.get('weighting')}; count with --weighting flat"
        )
    words = counts.vocabulary.words
    with whole_file(Path(path)) as file:
        file.write(f"# {len(words)} words, window {counts.parameters.get('window')}\nBigrams:\n".encode())
        for i, word in enumerate(words):
            cells = slice(int(counts.indptr[i]), int(counts.indptr[i + 1]))
            amounts = (counts.values[cells] // UNIT).tolist()
            total = sum(amounts)
            lines = [f"{i + 1},{_checked(word)},{len(amounts)},{total},0\n"]
            lines += [
                f"\t{words[j]},{amount},{_log(amount / total)}\n"
                for j, amount in zip(counts.indices[cells].tolist(), amounts, strict=True)
            ]
            file.write("".join(lines).encode())


def read_top1grams(path: str | Path) -> Vocabulary:
    """Read words and counts; the order becomes canonical."""
    counts: dict[str, int] = {}
    for number, line in _body(path, "Words:"):
        word, count = _split(line, 3, path, number)[:2]
        if word in counts:
            raise InputError(f"'{path}' line {number} has '{word}' a second time; leave one out")
        counts[word] = _whole(count, path, number)
    return Vocabulary.from_counts(counts)


def read_top2grams(path: str | Path, vocabulary: Vocabulary, *, window: int) -> Cooccurrence:
    """Read pairs over ``vocabulary`` (of the ``top1grams`` beside); the file does not tell its ``window``."""
    ids = vocabulary.ids
    rows: dict[int, dict[int, int]] = {}
    row: dict[int, int] | None = None
    for number, line in _body(path, "Bigrams:"):
        if line.startswith("\t"):
            if row is None:
                raise InputError(
                    f"'{path}' line {number} is a neighbour without a word before it; mend the file"
                )
            word, count = _split(line[1:], 3, path, number)[:2]
            row[_known(word, ids, path, number)] = UNIT * _whole(count, path, number)
        else:
            row = {}
            rows[_known(_split(line, 5, path, number)[1], ids, path, number)] = row
    sizes = [len(rows.get(i, ())) for i in range(len(vocabulary))]
    cells = [cell for i in range(len(vocabulary)) for cell in sorted(rows.get(i, {}).items())]
    return Cooccurrence(
        vocabulary,
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.array([column for column, _ in cells], np.int32),
        np.array([value for _, value in cells], np.int64),
        {"tokenizer": "unknown", "window": window, "weighting": "flat", "gaps": "unknown", "unit": UNIT},
        Tally(tokens=int(vocabulary.counts.sum())),
        ({"name": Path(path).name, "bytes": Path(path).stat().st_size},),
    )


def _body(path: str | Path, opening: str) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines behind the ``opening`` line."""
    is_open = False
    with open_stream(path) as stream:
        for number, line in enumerate(stream_lines(stream), 1):
            if is_open and line:
                yield number, line
            elif line.strip() == opening:
                is_open = True
            elif line and not line.startswith("#"):
                raise InputError(
                    f"'{path}' line {number} should be a comment (#) or '{opening}'; give a file of that format"
                )
    if not is_open:
        raise InputError(f"'{path}' has no line '{opening}'; give a file of that format")


def _split(line: str, fields: int, path: str | Path, number: int) -> list[str]:
    found = line.split(",")
    if len(found) != fields:
        raise InputError(
            f"'{path}' line {number} has {len(found)} fields where {fields} belong ('{line[:40]}'); mend the file"
        )
    return [field.strip() for field in found]


def _whole(text: str, path: str | Path, number: int) -> int:
    if not text.isdecimal():
        raise InputError(f"'{path}' line {number}: '{text}' is not a count; mend the file")
    return int(text)


def _known(word: str, ids: dict[str, int], path: str | Path, number: int) -> int:
    if word not in ids:
        raise InputError(
            f"'{path}' line {number}: '{word}' is not in the vocabulary; give the top1grams that belong to it"
        )
    return ids[word]


def _checked(word: str) -> str:
    if "," in word or word != word.strip() or "\n" in word:
        raise InputError(
            f"the word '{word}' cannot stand in this format, which parts fields by commas; leave it out"
        )
    return word


def _log(probability: float) -> str:
    return f"{math.log(probability):.4f}" if probability > 0 else "-inf"
