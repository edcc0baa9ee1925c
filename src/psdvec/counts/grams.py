"""Counts of the original PSDVec toolbox, read from its ``top2grams`` (pairs) and ``top1grams`` (words).

:func:`read_grams` takes the files that ``gramcount.pl`` wrote and returns a
:class:`~psdvec.counts.matrix.Cooccurrence`. A row of ``top2grams`` is a word with the words that follow it, and words
that were not counted keep their places in the text: H of ``docs/theory.md`` with flat weights and gaps kept.
``docs/formats.md`` describes both formats; :func:`write_grams` writes them.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.arrays import Array, Int32s, Int64s
from psdvec.counts.matrix import UNIT, Cooccurrence, Tally
from psdvec.counts.vocabulary import MOST, TOO_MANY, Vocabulary, exact_sum
from psdvec.errors import InputError
from psdvec.progress import LogProgress, Progress, Stage
from psdvec.storage.files import check_file_output, replaced_file
from psdvec.text.readers import stream_lines
from psdvec.text.streams import ByteStream, open_stream
from psdvec.text.tokenizers import find_tokenizer

REMEDY = "repair the file, or make it again"
OTHER_WORDS = "give the top1grams that this file was made with"
_SIZE = r"#\s+([0-9]{1,15}) words,\s+([0-9]{1,15}) occurrences"
_SETTING = re.compile(r"[ ,](\w+)=([^,]*)")
_REPLACED = "\N{REPLACEMENT CHARACTER}"


def read_grams(
    pairs: str | Path,
    *,
    words: str | Path | None = None,
    tokenizer: str | None = None,
    progress: Progress = LogProgress(),
) -> Cooccurrence:
    """Read the counts of a ``top2grams`` file, ``pairs``, whose text was cut into words by ``tokenizer``, if known.

    ``words`` is the ``top1grams`` file that it was made with, for how often each word occurs. A ``top2grams`` file only
    says how often each is the second of a pair; without ``words``, that is what words are counted and ordered by.
    """
    if tokenizer is not None:
        find_tokenizer(tokenizer)
    known: dict[str, int] | None = None
    sources = []
    if words is not None:
        with _opened(words, progress) as lines:
            known, tokens = _read_occurrences(lines)
            sources.append(lines.source)
    with _opened(pairs, progress) as lines:
        promised, occurrences = map(int, lines.expect(_SIZE, "# N words, N occurrences").groups())
        settings = _read_settings(lines)
        listed = _read_listed(lines, promised, known)
        rows = _read_rows(lines, listed, known)
        sources.insert(0, lines.source)
    parameters = {
        "tokenizer": tokenizer or settings.get("tokenizer", "unknown"),
        "window": int(settings["window"]),
        "weighting": "flat" if settings.get("dyn", "0") == "0" else "linear",
        "gaps": settings.get("gaps", "keep"),
        "unit": UNIT,
    }
    if known is None:
        parameters["word_counts"] = "second of a pair"
        vocabulary, tokens = Vocabulary.from_counts(listed), occurrences
    else:
        vocabulary = Vocabulary.from_counts({word: known[word] for word in rows.ids})
    return Cooccurrence(
        vocabulary, *_in_order(rows, vocabulary), parameters, Tally(tokens=tokens), tuple(sources)
    )


class _Lines:
    """The lines of a file, one by one; errors name the file and the line."""

    def __init__(self, path: str | Path, stream: ByteStream, stage: Stage) -> None:
        self.path, self.number = path, 0
        self._lines, self._stream, self._stage, self._position = stream_lines(stream), stream, stage, 0

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.number += 1
            if _REPLACED in line:
                raise self.wrong("is not UTF-8", "convert the file, for example with iconv")
            if self._stream.raw_position != self._position:
                self._stage.advance(self._stream.raw_position - self._position)
                self._position = self._stream.raw_position
            yield line

    @property
    def source(self) -> dict[str, Any]:
        """The file as the counts made from it name it."""
        return {"name": Path(self.path).name, "bytes": self._stream.raw_size}

    def expect(self, pattern: str, what: str) -> re.Match[str]:
        """Return the match of the next line, which should be ``what``."""
        match = re.match(pattern, next(iter(self), ""))
        if match is None:
            raise self.wrong(f"should be '{what}'", "give a file as gramcount.pl writes it")
        return match

    def wrong(self, what: str, remedy: str = REMEDY) -> InputError:
        return InputError(f"'{self.path}' line {max(self.number, 1)} {what}; {remedy}")

    def fields(self, text: str, *, before: int, after: int) -> list[str]:
        """Cut ``text`` at commas into so many fields before a word, the word, and so many after it."""
        head = text.split(",", before)
        found = [*head[:-1], *head[-1].rsplit(",", after)]
        if len(found) != before + 1 + after or not found[before]:
            raise self.wrong(f"has '{text[:40]}' where {before + 1 + after} fields with commas should be")
        return found

    def whole(self, text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,12}", text):
            raise self.wrong(f"has '{text[:40]}' where a count should be")
        return int(text)


@contextmanager
def _opened(path: str | Path, progress: Progress) -> Iterator[_Lines]:
    with (
        open_stream(path) as stream,
        progress.stage(f"reading {Path(path).name}", total=stream.raw_size, unit="B") as stage,
    ):
        yield _Lines(path, stream, stage)


def _read_occurrences(lines: _Lines) -> tuple[dict[str, int], int]:
    """Return what a ``top1grams`` file says: the counts of its words, and how many words the whole text has."""
    counts: dict[str, int] = {}
    promised, tokens = map(int, lines.expect(_SIZE, "# N words, N occurrences").groups())
    for line in lines:
        if line.startswith("#") or not line:
            continue
        fields = line.split("\t")
        if len(fields) != 3 or not fields[0]:
            raise lines.wrong("should be a word, its count and a logarithm, with tabs between them")
        if fields[0] in counts:
            raise lines.wrong(f"repeats '{fields[0]}'")
        counts[fields[0]] = lines.whole(fields[1])
    if len(counts) != promised:
        raise lines.wrong(f"is the last, after {len(counts)} words, but line 1 says {promised}")
    return counts, tokens


def _read_settings(lines: _Lines) -> dict[str, str]:
    """Return how the pairs were counted, as the head of ``top2grams`` says; read on to its words."""
    settings = dict(_SETTING.findall(lines.expect("#.*", "# input=FILE, window=N, ...").string))
    if not re.fullmatch("[0-9]{1,9}", settings.get("window", "")):
        raise lines.wrong("does not state the window", "give a file as gramcount.pl writes it")
    lines.expect(r"#\s+\d+ bigram occurrences", "# N bigram occurrences")
    lines.expect("Words:", "Words:")
    return settings


def _read_listed(lines: _Lines, promised: int, known: Mapping[str, int] | None) -> dict[str, int]:
    """Read the words up to an empty line, each with how often it is the second of a pair."""
    listed: dict[str, int] = {}
    for line in lines:
        if not line.strip():
            break
        for field in line.rstrip().split("\t"):
            word, count, _ = lines.fields(field, before=0, after=2)
            if word in listed:
                raise lines.wrong(f"repeats '{word}'")
            if known is not None and word not in known:
                raise lines.wrong(f"has '{word}', which the top1grams lack", OTHER_WORDS)
            listed[word] = lines.whole(count)
    if len(listed) != promised:
        raise lines.wrong(f"ends the list of {len(listed)} words, but line 1 says {promised}")
    lines.expect("Bigrams:", "Bigrams:")
    return listed


def _read_rows(lines: _Lines, listed: Mapping[str, int], known: Mapping[str, int] | None) -> _Rows:
    """Read all rows to the closing line; a neighbour that is not among ``listed`` must be among ``known``."""
    rows = _Rows(lines, listed)
    for line in lines:
        if line.startswith("\t") and rows.word:
            rows.add(line, known)
            continue
        if rows.word:
            rows.end()
        closing = re.match(r"# Total kept bigram occurrences:\s+([0-9]{1,18})\s*$", line)
        if closing is not None:
            if int(closing[1]) != sum(rows.counts):
                raise lines.wrong(f"says {closing[1]} pairs, but the rows hold {sum(rows.counts)}")
            return rows
        rows.begin(line)
    raise lines.wrong(
        "is the last, without '# Total kept bigram occurrences'",
        "the file is cut short; copy or make it again",
    )


class _Rows:
    """Rows as they stand in a file: ``columns`` and ``counts`` end to end, and for each word where its row lies.

    ``word``: the one whose row is being read, with the ``promised`` number of neighbours and pairs.
    """

    def __init__(self, lines: _Lines, words: Mapping[str, int]) -> None:
        self.lines, self.ids = lines, {word: i for i, word in enumerate(words)}
        self.columns, self.counts = array("i"), array("q")
        self.places: dict[int, slice] = {}
        self.word, self.promised, self.start, self.number = "", (0, 0), 0, 0

    def begin(self, line: str) -> None:
        """Begin the row of a line ``id,word,neighbours,occurrences,cut``."""
        _, word, neighbours, occurrences, _ = self.lines.fields(line, before=1, after=3)
        if word not in self.ids:
            raise self.lines.wrong(f"has a row of '{word}', which is not among the Words")
        self.word, self.promised = word, (self.lines.whole(neighbours), self.lines.whole(occurrences))
        self.start, self.number = len(self.columns), self.lines.number
        if self.ids[word] in self.places:
            raise self.lines.wrong(f"is a second row of '{word}'")

    def add(self, line: str, known: Mapping[str, int] | None) -> None:
        """Add a line of neighbours to the row."""
        for field in line[1:].split("\t"):
            word, count, _ = self.lines.fields(field, before=0, after=2)
            place = self.ids.get(word)
            if place is None:  # gramcount.pl without -c does not list words that nothing follows
                if known is None or word not in known:
                    raise self.lines.wrong(
                        f"has the neighbour '{word}', which is not among the Words",
                        OTHER_WORDS if known else "give the top1grams file too, as words=FILE",
                    )
                place = self.ids[word] = len(self.ids)
            amount = self.lines.whole(count)
            if amount == 0:
                raise self.lines.wrong(f"has the neighbour '{word}' with a count of 0")
            self.columns.append(place)
            self.counts.append(amount)

    def end(self) -> None:
        """End the row, which must hold what its first line promised."""
        part = slice(self.start, len(self.columns))
        columns, pairs = self.columns[part], sum(self.counts[part])
        if self.promised != (len(columns), pairs) or len(columns) != len(set(columns)):
            raise InputError(
                f"'{self.lines.path}' line {self.number} promises {self.promised[0]} neighbours of '{self.word}' with "
                f"{self.promised[1]} pairs, but {len(columns)} follow, with {pairs}; {REMEDY}"
            )
        self.places[self.ids[self.word]] = part


def _in_order(rows: _Rows, vocabulary: Vocabulary) -> tuple[Int64s, Int32s, Int64s]:
    """Return indptr, indices and values of the rows, renumbered by ``vocabulary``."""
    columns, counts = np.asarray(rows.columns, np.int32), np.asarray(rows.counts, np.int64)
    if UNIT * exact_sum(counts) > MOST:
        raise InputError(f"{TOO_MANY}; {REMEDY}")
    rank = np.array([vocabulary.ids[word] for word in rows.ids], np.int32)
    places = [rows.places.get(rows.ids[word], slice(0, 0)) for word in vocabulary]
    indptr = np.concatenate([[0], np.cumsum([part.stop - part.start for part in places])]).astype(np.int64)
    indices, values = np.empty(columns.size, np.int32), np.empty(columns.size, np.int64)
    for part, begin, end in zip(places, indptr[:-1].tolist(), indptr[1:].tolist(), strict=True):
        renumbered = rank[columns[part]]
        order = np.argsort(renumbered)
        indices[begin:end], values[begin:end] = renumbered[order], UNIT * counts[part][order]
    return indptr, indices, values


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
    is_known = "word_counts" not in counts.parameters
    occurrences = int(counts.vocabulary.counts[order].sum()) if is_known else counts.tally.tokens
    how = {name: counts.parameters.get(name) for name in ("window", "tokenizer", "gaps")}
    how["dyn"] = int(counts.parameters.get("weighting") == "linear")
    settings = ", ".join(f"{name}={value}" for name, value in how.items())  # the original skips them
    with replaced_file(path, overwrite=overwrite) as file:
        file.write(f"# {order.size} words, {occurrences} occurrences\n".encode())
        file.write(f"# {settings}\n# {total} bigram occurrences\n".encode("utf-8", "replace"))
        file.write(f"Words:\n{_in_lines(listed, WORDS_PER_LINE, '')}\nBigrams:\n".encode())
        for place, i in enumerate(order.tolist(), 1):
            file.write(_row(counts, i, place, rank).encode())
        file.write(f"# Total kept bigram occurrences: {total}\n".encode())
    return tuple(words[i] for i in np.flatnonzero(~kept))


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
