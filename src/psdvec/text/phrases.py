"""Phrases: expressions of several words, such as *new york*, that count as one word, ``new_york``.

:class:`Phrases` are found in a text by :func:`psdvec.find_phrases`, or given as a list. A sentence is cut into pieces,
phrases and single words, such that the sum over its phrases of score × (words - 1) is largest; where two cuts are
equally good, the longer phrase counts. The loops are in :mod:`psdvec.text.phrase_kernels`.

A phrase is written with ``_`` for its blanks. No word of a phrase holds ``_`` itself, so that two phrases are never
written alike; a word of a text that is written like a phrase, as texts that were joined before hold them, is that
phrase.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from psdvec.arrays import Float64s, Int32s, Int64s, UInt64s
from psdvec.errors import InputError, StoreError, check_fields, checked, demand_words
from psdvec.progress import Shown, count_of
from psdvec.storage.artefact import Artefact
from psdvec.storage.files import replaced_file
from psdvec.storage.workspace import digest_of
from psdvec.text.readers import read_lines
from psdvec.text.tokenizers import find_tokenizer, split_spaced

JOINT = "_"
PHRASES = "phrases.txt"  # in the folder of counts or of a model
MAX_BYTES = 1024  # of a phrase, as of a word
STEPS = 10_000  # scores are multiples of 1/10,000, so that sums of them are exact
_LARGEST = 1000.0  # score
_SHOWN = 3  # phrases that a glance shows
_ONE, _SHIFT = np.uint64(1), np.uint64(32)


class Trie(NamedTuple):
    """Phrases as paths of words: ``first`` int32[w] holds the node of each first word, -1 if no phrase begins so.

    ``slots`` uint64[2^k, 2] is an open hash table of steps: (node << 32 | word) + 1, and the node that it leads to.
    ``values`` int64[nodes] is what the phrase that ends at a node adds to a cut, 0 if none does, and ``numbers``
    int32[nodes] is its place among the phrases.
    """

    first: Int32s
    slots: UInt64s
    values: Int64s
    numbers: Int32s


@dataclass(frozen=True, eq=False, repr=False)
class Phrases(Shown):
    """Phrases, best first, with the words of each separated by single blanks.

    ``counts`` int64[n]: how often each was joined in the text that it was found in, 0 if that is not known.
    ``scores`` float64[n]: how much each counts in a cut, above 0. ``made`` says in a line how they were found.

    >>> phrases = Phrases.of(["new york", "new york city", "city council"])
    >>> phrases.join(["the", "new", "york", "city", "council"])
    ['the', 'new_york', 'city_council']
    """

    phrases: tuple[str, ...]
    counts: Int64s
    scores: Float64s
    made: str = ""

    @classmethod
    def of(cls, phrases: Iterable[str]) -> Phrases:
        """Return a list of phrases, each with the score 1."""
        listed = tuple(demand_words(phrases, "phrases"))
        return cls(listed, np.zeros(len(listed), np.int64), np.ones(len(listed)))

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "phrases", tuple(demand_words(self.phrases, "phrases")))
        for name, kinds, dtype in (("counts", "iu", np.int64), ("scores", "iuf", np.float64)):
            numbers = np.asarray(getattr(self, name))
            if numbers.dtype.kind not in kinds or numbers.shape != (len(self.phrases),):
                raise InputError(f"{name} of phrases must be one number for each; give an array of them")
            object.__setattr__(self, name, numbers.astype(dtype))
        for number, phrase in enumerate(self.phrases):
            if fault := _fault(phrase):
                raise InputError(f"phrase {number + 1}, {str(phrase)[:80]!r}, {fault}")
        if len(set(self.phrases)) < len(self.phrases):
            twice = next(phrase for i, phrase in enumerate(self.phrases) if phrase in self.phrases[:i])
            raise InputError(f"the phrase {twice!r} is there twice; leave one of them out")
        if not ((self.scores >= 1 / STEPS) & (self.scores <= _LARGEST)).all():
            raise InputError(f"a score of a phrase is not a number from 0.0001 to {_LARGEST:g}; correct it")
        object.__setattr__(self, "scores", np.rint(self.scores * STEPS) / STEPS)

    def __len__(self) -> int:
        return len(self.phrases)

    def _facts(self) -> dict[str, str]:
        facts = {"size": count_of(len(self), "phrase")}
        return facts | ({"first": ", ".join(self.phrases[:_SHOWN])} if self.phrases else {})

    @cached_property
    def digest(self) -> str:
        """What tells these phrases from others that would cut a text differently; their order does not matter."""
        return digest_of(sorted(zip(self.phrases, self.steps.tolist(), strict=True)))[:16]

    @cached_property
    def steps(self) -> Int64s:
        """The scores in steps of 1/10,000."""
        return np.rint(self.scores * STEPS).astype(np.int64)

    @cached_property
    def written(self) -> tuple[str, ...]:
        """The phrases as words of a text."""
        return tuple(phrase.replace(" ", JOINT) for phrase in self.phrases)

    @cached_property
    def words(self) -> dict[str, int]:
        """The words that phrases are made of, with a number each."""
        return {
            word: i for i, word in enumerate(dict.fromkeys(w for p in self.phrases for w in p.split(" ")))
        }

    @cached_property
    def trie(self) -> Trie:
        """The phrases in numbers of their words, for the kernels."""
        ids = self.words
        parts = [[ids[word] for word in phrase.split(" ")] for phrase in self.phrases]
        table = np.full((len(parts), max(map(len, parts), default=2)), -1, np.int32)
        for row, part in zip(table, parts, strict=True):
            row[: len(part)] = part
        return make_trie(table, self.steps, len(ids))

    @checked
    def join(self, words: Sequence[str]) -> list[str]:
        """Return the words of a sentence with its phrases joined."""
        from psdvec.text.phrase_kernels import best_cut

        ids = np.fromiter((self.words.get(word, -1) for word in words), np.int32, len(words))
        sizes = best_cut(ids, *self.trie[:3])
        pieces = ((i, size) for i, size in enumerate(sizes.tolist()) if size)
        return [JOINT.join(words[i : i + size]) for i, size in pieces]

    def cut_by(self, tokenizer: str) -> Phrases:
        """Return the phrases as ``tokenizer`` writes them; those that it does not tell apart are one.

        >>> Phrases.of(["New York"]).cut_by("unicode").phrases
        ('new york',)
        """
        spaced = find_tokenizer(tokenizer)("\n".join(self.phrases).encode("utf-8", "replace"))
        lines = map(split_spaced, spaced.tobytes().decode("utf-8").split("\n"))
        places: dict[str, int] = {}
        for i, (phrase, words) in enumerate(zip(self.phrases, lines, strict=False)):
            if len(words) < 2:
                raise InputError(
                    f"the tokenizer {tokenizer} does not take {phrase!r} for several words, but for {words}; leave "
                    "this phrase out, or use another tokenizer"
                )
            places.setdefault(" ".join(words), i)
        cut, ids = tuple(places), list(places.values())
        return self if cut == self.phrases else Phrases(cut, self.counts[ids], self.scores[ids], self.made)

    @checked
    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write a file that people can read and change, and :func:`read_phrases` reads."""
        with replaced_file(Path(path), overwrite=overwrite) as file:
            file.write(self.text().encode("utf-8"))

    def text(self) -> str:
        """Return what :meth:`save` writes: a line that says how they were made, then phrase, count and score."""
        rows = zip(self.phrases, self.counts.tolist(), self.scores.tolist(), strict=True)
        lines = (f"{phrase}\t{count}\t{score:.4f}\n" for phrase, count, score in rows)
        return "".join([f"# {self.made or 'phrases'}\n", *lines])


def _fault(phrase: str) -> str:
    """Say what is wrong with a phrase; nothing, if it can be used."""
    if not isinstance(phrase, str) or phrase.split() != phrase.split(" ") or len(phrase.split()) < 2:
        return "is not several words; separate its words by single blanks"
    if JOINT in phrase:
        return f"holds '{JOINT}', which joins the words of a phrase; write a blank instead"
    if len(phrase.encode("utf-8", "replace")) > MAX_BYTES:
        return f"is longer than {MAX_BYTES} bytes; leave it out"
    return ""


def read_phrases(path: str | Path) -> Phrases:
    """Read phrases that :meth:`Phrases.save` wrote, or a list with one phrase a line.

    Each line is a phrase and, after tabs, may hold its count and its score, 1 by default. Lines that begin with ``#``
    and empty ones are passed over; of the first, what it says is kept.
    """
    phrases: list[str] = []
    numbers: list[tuple[int, float]] = []
    made = ""
    for number, line in enumerate(read_lines(path), 1):
        if line.startswith("#"):
            made = made or line[1:].strip()
            continue
        phrase, *others = line.split("\t")
        if not phrase.strip():
            continue
        where = f"line {number} of '{path}', {phrase[:80]!r}"
        phrase = " ".join(phrase.split())
        if fault := _fault(phrase):
            raise InputError(f"{where}, {fault}")
        try:
            count, score = (*others, *("0", "1")[len(others) :])
            numbers.append((int(count), float(score)))
        except ValueError:
            raise InputError(
                f"{where}, is not followed by a count and a score; write them after tabs, or leave them out"
            ) from None
        if not (0 <= numbers[-1][0] < 2**63 and 1 / STEPS <= numbers[-1][1] <= _LARGEST):
            raise InputError(f"{where}, has a count or a score that cannot be; correct it, or leave it out")
        phrases.append(phrase)
    if not phrases and not made:
        raise InputError(f"'{path}' holds no phrases; write one a line, its words separated by blanks")
    counts, scores = ([pair[i] for pair in numbers] for i in range(2))
    return Phrases(tuple(phrases), np.array(counts, np.int64), np.array(scores, np.float64), made)


def phrases_in(artefact: Artefact) -> Phrases | None:
    """Return the phrases that counts or vectors on disk were made with, None if there are none."""
    if PHRASES not in artefact.files:
        return None
    try:
        return read_phrases(artefact.file(PHRASES))
    except InputError as error:
        raise StoreError(f"'{artefact.path}' is damaged: {error}; make it again") from error


def make_trie(table: Int32s, steps: Int64s, words: int) -> Trie:
    """Return the trie of phrases given as rows of numbers below ``words``, filled up with -1, and their scores."""
    starts, node_of = np.unique(table[:, 0], return_inverse=True) if len(table) else (np.zeros(0, int),) * 2
    first = np.full(words, -1, np.int32)
    first[starts] = np.arange(len(starts))
    keys, rows, n = [np.zeros(0, np.uint64)], np.arange(len(table)), len(starts)
    ends = node_of.copy()
    for depth in range(1, table.shape[1]):
        rows = rows[table[rows, depth] >= 0]
        step = (ends[rows].astype(np.uint64) << _SHIFT | table[rows, depth].astype(np.uint64)) + _ONE
        new, place = np.unique(step, return_inverse=True)
        ends[rows] = n + place
        keys.append(new)
        n += len(new)
    values, numbers = np.zeros(n, np.int64), np.full(n, -1, np.int32)
    values[ends] = steps * ((table >= 0).sum(axis=1) - 1)
    numbers[ends] = np.arange(len(table))
    return Trie(first, hash_table(np.concatenate(keys), len(starts)), values, numbers)


def hash_table(keys: UInt64s, offset: int = 0) -> UInt64s:
    """Return an open hash table of ``keys``, none of them 0, each with its place among them, from ``offset`` on."""
    from psdvec.text.phrase_kernels import enter_keys

    slots = np.zeros((1 << max(2 * len(keys), 1).bit_length(), 2), np.uint64)
    enter_keys(slots, keys, offset)
    return slots
