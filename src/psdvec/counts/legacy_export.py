"""Counts for the original PSDVec toolbox, written as its ``top2grams`` (pairs) and ``top1grams`` (words).

:func:`write_grams` takes a :class:`~psdvec.counts.matrix.Cooccurrence` and writes what ``factorize.py`` and
``gramcount.pl`` read. ``docs/formats.md`` describes both formats; :mod:`psdvec.counts.legacy_grams` reads them.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from psdvec.arrays import Array, Int64s
from psdvec.counts.matrix import Cooccurrence
from psdvec.counts.weighting import UNIT
from psdvec.errors import InputError
from psdvec.storage.files import check_file_output, replaced_file

WORDS_PER_LINE, PAIRS_PER_LINE = 10, 5  # as the original writes them


def write_grams(
    counts: Cooccurrence, pairs: str | Path, *, words: str | Path | None = None, overwrite: bool = False
) -> tuple[str, ...]:
    """Write ``counts`` as a ``top2grams`` file, and as a ``top1grams`` file where ``words`` names one.

    Words that the original cannot use are left out of ``top2grams``, with their pairs, and returned: those that never
    follow a word or are never followed by one, and those with a comma or a blank, or a # at the beginning. Counts that
    are not whole numbers are refused.
    """
    for path in (pairs, words):
        if path is not None:
            check_file_output(Path(path), overwrite=overwrite)
    if words is not None and "word_counts" in counts.parameters:
        raise InputError(
            "these counts do not say how often each word occurs, which top1grams hold; import them with words=FILE"
        )
    if not counts.values.all():
        raise InputError("a pair of these counts has the count 0, which top2grams cannot hold; count again")
    if (counts.values % UNIT).any():
        raise InputError(
            f"the top2grams format holds only whole counts, but these were counted with weighting "
            f'{counts.parameters.get("weighting")}; count with weighting="flat"'
        )
    left_out = _write_pairs(counts, Path(pairs), overwrite=overwrite)
    if words is not None:
        _write_words(counts, Path(words), overwrite=overwrite)
    return left_out


def _write_pairs(counts: Cooccurrence, path: Path, *, overwrite: bool) -> tuple[str, ...]:
    """Write ``top2grams``; return the words that it cannot hold."""
    words = counts.vocabulary.words
    kept, sums = _usable(counts)
    if not kept.any():
        raise InputError(
            "there is nothing to write: no word of these counts both follows a word and is followed by one; "
            "count a longer text"
        )
    order = np.flatnonzero(kept)[np.argsort(-sums[kept], kind="stable")]
    rank = np.full(len(words), -1, np.int64)
    rank[order] = np.arange(order.size)
    total = int(sums.sum())
    listed = [f"{words[i]},{sums[i]},{_log(sums[i] / total)}" for i in order.tolist()]
    with replaced_file(path, overwrite=overwrite) as file:
        file.write(f"# {order.size} words, {_occurrences(counts, order)} occurrences\n".encode())
        file.write(f"# {_settings(counts)}\n# {total} bigram occurrences\n".encode("utf-8", "replace"))
        file.write(f"Words:\n{_in_lines(listed, WORDS_PER_LINE, '')}\nBigrams:\n".encode())
        for place, i in enumerate(order.tolist(), 1):
            file.write(_row(counts, i, place, rank).encode())
        file.write(f"# Total kept bigram occurrences: {total}\n".encode())
    return tuple(words[i] for i in np.flatnonzero(~kept))


def _occurrences(counts: Cooccurrence, ids: Int64s) -> int:
    """Return how often the words ``ids`` occur in the text."""
    return (
        counts.tally.tokens
        if "word_counts" in counts.parameters
        else int(counts.vocabulary.counts[ids].sum())
    )


def _settings(counts: Cooccurrence) -> str:
    """Return the line that says how the pairs were counted; the original skips it."""
    dynamic = counts.parameters.get("weighting") == "linear"
    kept = {name: counts.parameters.get(name) for name in ("window", "tokenizer", "gaps")}
    return ", ".join(f"{name}={value}" for name, value in {**kept, "dyn": int(dynamic)}.items())


def _row(counts: Cooccurrence, i: int, place: int, rank: Int64s) -> str:
    """Return the lines of word ``i``: the words that follow it, in the order of their ``rank``."""
    words = counts.vocabulary.words
    cells = slice(int(counts.indptr[i]), int(counts.indptr[i + 1]))
    columns, amounts = counts.indices[cells], counts.values[cells] // UNIT
    order = np.argsort(rank[columns])[np.count_nonzero(rank[columns] < 0) :]
    total = int(amounts[order].sum())
    neighbours = [
        f"{words[j]},{amount},{_log(amount / total)}"
        for j, amount in zip(columns[order].tolist(), amounts[order].tolist(), strict=True)
    ]
    head = f"{place},{words[i]},{len(neighbours)},{total},1\n"
    return head + _in_lines(neighbours, PAIRS_PER_LINE, "\t")


def _usable(counts: Cooccurrence) -> tuple[Array, Int64s]:
    """Return which words can be written, follow a word and are followed by one, and their column sums among these."""
    n = len(counts)
    rows = np.repeat(np.arange(n, dtype=np.int32), np.diff(counts.indptr))
    columns, amounts = np.asarray(counts.indices), counts.values // UNIT
    kept = np.array([_is_writable(word) for word in counts.vocabulary])
    while True:
        inner = kept[rows] & kept[columns]
        rows, columns, amounts = rows[inner], columns[inner], amounts[inner]
        before, after = np.zeros(n, bool), np.zeros(n, bool)
        before[rows] = after[columns] = True
        if (before & after == kept).all():  # else words went, and their pairs with them: look again
            sums = np.zeros(n, np.int64)
            np.add.at(sums, columns, amounts)
            return kept, sums
        kept = before & after


def _write_words(counts: Cooccurrence, path: Path, *, overwrite: bool) -> None:
    """Write ``top1grams``; probabilities are shares of the whole text, also of the words that were not kept."""
    vocabulary = counts.vocabulary
    total = max(counts.tally.tokens, int(vocabulary.counts.sum()))
    found = {
        word: count
        for word, count in zip(vocabulary.words, vocabulary.counts.tolist(), strict=True)
        if count and _is_writable(word)
    }
    with replaced_file(path, overwrite=overwrite) as file:
        file.write(f"# {len(found)} words, {total} occurrences\n".encode())
        file.write(f"# tokenizer={counts.parameters.get('tokenizer')}\n".encode("utf-8", "replace"))
        for word, count in found.items():
            file.write(f"{word}\t{count}\t{_log(count / total)}\n".encode())


def _in_lines(fields: list[str], per_line: int, margin: str) -> str:
    r"""Put so many fields on a line, with tabs between them.

    >>> _in_lines(["a", "b", "c"], 2, "")
    'a\tb\nc\n'
    """
    lines = (fields[begin : begin + per_line] for begin in range(0, len(fields), per_line))
    return "".join(f"{margin}{chr(9).join(line)}\n" for line in lines)


def _is_writable(word: str) -> bool:
    """Say whether a word is safe among commas and tabs; lines that begin with # are comments."""
    return not ("," in word or word.startswith("#") or any(character.isspace() for character in word))


def _log(probability: float) -> str:
    """Return the logarithm as the original writes it: three decimals, without zeros at the end.

    >>> _log(1.0), _log(0.005914)
    ('0', '-5.13')
    """
    written = f"{math.log(probability):.3f}".rstrip("0").rstrip(".")
    return "0" if written == "-0" else written
