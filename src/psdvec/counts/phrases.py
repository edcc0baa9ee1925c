"""Finding the phrases of a text by exact counts of its n-grams, and joining them while it is counted.

:func:`find_phrases` counts n-grams of two words, then of three and so on. An n-gram cannot occur more often than the
one without its last word, so that each pass only counts what continues a frequent one. The counts of a pass lie in hash
tables, each of a part of the n-grams chosen by hash, in as many parts as the memory requires; so neither threads nor
memory change the result.

An n-gram is scored where it is weakest. Cut in two before any word but a connector, it occurs c times, its two sides a
and b times, and the text has N words. With c' = c - 2 √c, which allows for two standard deviations of chance, its
discounted normalised PMI is ``log(c' N / (a b)) / log(N / c')``, at most 1 for any number of words, and the score is
the lowest over all cuts. Whether c is more than chance, G² of the same 2 × 2 table says, its lowest over the cuts; the
false discovery rate is held by the procedure of Benjamini and Hochberg over all different n-grams that were counted.
An n-gram that has one and the same word before or after it two times out of three is a piece of a longer one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from psdvec.arrays import Bools, Float64s, Int32s, Int64s, UInt64s
from psdvec.counts.items import Baskets
from psdvec.counts.segments import (
    GAP,
    SENTENCE_END,
    NumberedText,
    Segment,
    WordTable,
    choose_words,
    number_text,
    read_segment,
    report_tally,
)
from psdvec.counts.vocabulary import WordList
from psdvec.errors import InputError, checked, demand_words
from psdvec.kernels import kernel, prefetch
from psdvec.options import Counting, Finding
from psdvec.progress import LogProgress, Progress, SilentProgress
from psdvec.resources import available_memory, map_ordered, parse_size, resolve_workers
from psdvec.storage.artefact import map_array
from psdvec.storage.files import check_file_output, replaced_file
from psdvec.text.corpus import Corpus, Input, Sentences, Texts, read_input
from psdvec.text.phrase_kernels import best_cut, find_slot, pair_key, scattered, step
from psdvec.text.phrases import JOINT, MAX_BYTES, STEPS, Phrases, Trie, hash_table, make_trie, read_phrases

AUTO = "auto"
FREQUENT = 400  # a word that is more than one in so many may be a connector
_DEVIATIONS = 2.0  # by which a count may be too high, and is discounted
_PIECE = 2 / 3  # the share of an n-gram within one that is a word longer, from which on it is a piece of that
_BYTES_PER_GRAM = 48  # of a table that may just have doubled
_HALF = np.uint64(32)  # the upper half of a hash tells the part, the lower one the slot
_EMPTY, _ONE = np.uint64(0), np.uint64(1)
_AHEAD = 16  # places, so that a slot is in the cache when it is needed
_NEWLINE, _SPACE = np.uint8(10), np.uint8(32)


class Level(NamedTuple):
    """Frequent n-grams of one length, in the order of their ``keys``: (the n-gram without its last word, that word).

    ``before``, ``last`` int64[m] are these two, as numbers, ``counts`` int64[m], and ``seen`` is how many different
    n-grams there were, frequent or not.
    """

    keys: UInt64s
    before: Int64s
    last: Int64s
    counts: Int64s
    seen: int

    @classmethod
    def of(cls, keys: UInt64s, counts: Int64s, seen: int) -> Level:
        """Return the level with these rising ``keys``, as :func:`~psdvec.text.phrase_kernels.pair_key` makes them."""
        plain = (keys - np.uint64(1)).astype(np.int64)
        return cls(keys, plain >> 32, plain & 0xFFFFFFFF, counts, seen)

    def find(self, before: Int64s, last: Int64s) -> Int64s:
        """Return the numbers of n-grams of this level, -1 where ``before`` is below 0 or there is none."""
        keys = ((np.maximum(before, 0) << 32 | last) + 1).astype(np.uint64)
        place = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
        found = (before >= 0) & (self.keys[place] == keys) if len(self.keys) else np.zeros(len(last), bool)
        return np.where(found, place, -1)


@checked
def find_phrases(
    corpus: Input,
    *,
    tokenizer: str | Callable[[str], Any] | None = None,
    case: str | None = None,
    column: str | None = None,
    where: Mapping[str, Any] | None = None,
    encoding: str | None = None,
    min_count: int = Finding.min_count,
    min_score: float = Finding.min_score,
    fdr: float = Finding.fdr,
    max_length: int = Finding.max_length,
    connectors: Iterable[str] | None = None,
    joined: str | Path | None = None,
    overwrite: bool = False,
    memory: float | str | None = None,
    workers: int | None = None,
    quiet: bool = False,
    progress: Progress = LogProgress(),
) -> Phrases:
    """Find the phrases of a text, such as *new york* or *bank of america*.

    Parameters
    ----------
    corpus, tokenizer, case, column, where, encoding
        The text, and how it is cut into words; see :func:`psdvec.count_pairs`.
    min_count
        How often a phrase must occur, also once sentences were cut into the best phrases.
    min_score
        The lowest score of a phrase. The score is a normalised PMI, discounted for small counts, from -1 to 1.
    fdr
        The false discovery rate: which share of the phrases may be words that met by chance.
    max_length
        The most words of a phrase.
    connectors
        Words that a phrase may hold, but neither begin nor end with. By default, they are the words that are each more
        than one in 400 of all words of the text, among the first √n of n words, and do not stand beside one and the
        same word most of the time; in a text of many subjects, these are function words.
    joined
        A file to write the text to, cut into words, one sentence a line, with its phrases joined.
    memory, workers
        The most memory for n-grams that are being counted, such as ``"4G"``, beside those found to be frequent, and the
        number of threads; neither changes the result.

    Examples
    --------
    >>> text = ["she lives in new york", "new york is a city", "he likes the new city", "york is old"] * 20
    >>> find_phrases(text, max_length=2, connectors=["in", "is", "a", "the", "he", "she"], min_score=0.3).phrases
    ('new york',)
    """
    Finding(min_count, min_score, fdr, max_length)  # refuses what makes no sense before any work
    if joined is not None:
        check_file_output(Path(joined), overwrite=overwrite)
    given = None if connectors is None else frozenset(demand_words(connectors, "connectors"))
    text = read_input(corpus, tokenizer=tokenizer, case=case, column=column, where=where, encoding=encoding)
    progress = SilentProgress() if quiet else progress
    room = available_memory() // 2 if memory is None else parse_size(memory)
    threads = resolve_workers(workers)
    with tempfile.TemporaryDirectory(prefix="psdvec-") as temporary, ThreadPoolExecutor(threads) as pool:
        folder = Path(temporary)
        numbered = number_text(text, folder / "segments", workers=threads, progress=progress)
        report_tally(numbered.tally, text, progress)
        found = _Text.of(
            numbered, folder, pool, min_count=min_count, connectors=given, memory=room, threads=threads
        )
        levels = found.count_levels(min_count, max_length + 1, progress=progress)
        table, steps = _choose(found, levels, min_score=min_score, fdr=fdr)
        for _ in range(2):  # what only occurs within longer phrases leaves; the second time, counts are final
            uses = found.count_pieces(make_trie(table, steps, len(found.words)), len(table))
            table, steps, uses = table[uses >= min_count], steps[uses >= min_count], uses[uses >= min_count]
        named = [" ".join([found.words[i] for i in row if i >= 0]) for row in table.tolist()]
        order = sorted(range(len(named)), key=lambda i: (-steps[i], -uses[i], named[i]))
        made = (
            f"phrases of 2 to {max_length} words, found by psdvec in {numbered.tally.tokens} words with min_count "
            f"{min_count}, min_score {min_score:g}, fdr {fdr:g}, connectors {' '.join(found.connectors()) or 'none'}"
        )
        phrases = Phrases(tuple(named[i] for i in order), uses[order], steps[order] / STEPS, made)
        if joined is not None:
            _write_joined(numbered.files, phrases, Path(joined), pool, overwrite=overwrite)
    return phrases


@dataclass(frozen=True)
class _Text:
    """A text in numbers of its frequent ``words``, in files; which of the words are connectors, ``connects`` says.

    Beside the numbers lie, once n-grams of a length were counted, those that begin at each place.
    """

    words: list[str]
    counts: Int64s
    connects: Bools
    tokens: int
    files: list[Path]
    pool: ThreadPoolExecutor
    parts: int

    @classmethod
    def of(
        cls, numbered: NumberedText, folder: Path, pool: ThreadPoolExecutor,
        *, min_count: int, connectors: frozenset[str] | None, memory: int, threads: int,
    ) -> _Text:  # fmt: skip
        """Number a text anew; what occurs less than ``min_count`` times is a gap, and what no phrase can hold."""
        what = Counting(min_count, None, window=1, weighting="flat")
        chosen = choose_words(numbered, what, memory=memory // 4, workers=threads)
        usable = [i for i, word in enumerate(chosen.words) if JOINT not in word and len(word.split()) == 1]
        words, counts = [chosen.words[i] for i in usable], chosen.counts[usable]
        table, tokens = WordTable.of(words), numbered.tally.tokens

        def translate(file: Path) -> Path:
            place = folder / f"{file.stem}.npy"
            np.save(place, table.translate(file, close_gaps=False))
            return place

        files = list(pool.map(translate, numbered.files))
        if connectors is None:
            connects = _find_connectors(files, counts, tokens)
        else:
            connects = np.array([word in connectors for word in words], bool)
        parts = max(threads, -(-threads * tokens * _BYTES_PER_GRAM // max(memory, 1)))
        return cls(words, counts, connects, tokens, files, pool, parts)

    def connectors(self) -> list[str]:
        """Return the connectors that occur, the most frequent first."""
        return [self.words[i] for i in np.flatnonzero(self.connects)]

    def count_levels(self, min_count: int, max_length: int, *, progress: Progress) -> list[Level]:
        """Count n-grams of two words and more that begin with no connector, and keep those that are frequent."""
        levels: list[Level] = []
        with progress.stage("counting n-grams", total=max_length - 1, unit="lengths") as stage:
            for n in range(2, max_length + 1):
                likely = levels[-1].seen if levels else self.tokens // 8  # of which most tables are near
                count = partial(self._count_part, n, min_count, likely // self.parts)
                parts = list(self.pool.map(count, range(self.parts)))
                keys, counts = (np.concatenate(arrays) for arrays in list(zip(*parts, strict=True))[:2])
                order = np.argsort(keys)
                levels.append(Level.of(keys[order], counts[order], sum(seen for *_, seen in parts)))
                if n < max_length:
                    list(self.pool.map(partial(self._renumber, n, hash_table(keys[order])), self.files))
                stage.advance(1)
        return levels

    def _read(self, file: Path, n: int) -> tuple[Int32s, Int32s]:
        """Return the words of a file, and the frequent n-grams that begin there, -1 where there are none."""
        ids = map_array(file)
        if n > 1:
            return ids, map_array(file.with_suffix(".grams.npy"))
        begins = np.append(~self.connects, [False, False])  # GAP and SENTENCE_END come last
        grams = np.where(begins[ids], ids, np.int32(-1))
        grams.flags.writeable = False  # as mapped arrays are, so that kernels are compiled once
        return ids, grams

    def _renumber(self, n: int, slots: UInt64s, file: Path) -> None:
        """Let each place of a file have the frequent n-gram that begins there, instead of that of n - 1 words."""
        ids, grams = self._read(file, n - 1)
        np.save(file.with_suffix(".grams.npy"), number_grams(ids, grams, n, slots, slots.reshape(-1)))

    def _count_part(self, n: int, min_count: int, likely: int, part: int) -> tuple[UInt64s, Int64s, int]:
        """Count the n-grams of one part; return those that are frequent, their counts, and how many there were."""
        slots, used = np.zeros((2 << likely.bit_length(), 2), np.uint64), 0
        for file in self.files:
            ids, grams = self._read(file, n - 1)
            keys = np.empty(len(ids), np.uint64)
            keys = keys[: gather_keys(ids, grams, n, self.connects, part, self.parts, keys)]
            begin = 0
            while begin < len(keys):
                begin, used = count_keys(keys, begin, slots, slots.reshape(-1), used)
                if begin < len(keys):
                    slots = _grown(slots)
        kept = np.flatnonzero(slots[:, 1] >= np.uint64(min_count))
        return slots[kept, 0], slots[kept, 1].astype(np.int64), used

    def count_pieces(self, trie: Trie, n: int) -> Int64s:
        """Return how often the best cuts of the sentences use each of ``n`` phrases."""

        def count(file: Path) -> Int64s:
            ids, counts = map_array(file), np.zeros(n, np.int64)
            count_phrases(ids, best_cut(ids, *trie[:3]), trie.first, trie.slots, trie.numbers, counts)
            return counts

        return np.asarray(sum(self.pool.map(count, self.files), np.zeros(n, np.int64)))


def _find_connectors(files: Iterable[Path], counts: Int64s, tokens: int) -> Bools:
    """Say which words are connectors: each more than one in 400 of all words, and among the first √n of n words.

    A word that stands beside one and the same word more than half of the time, as *york* does, is none.
    """
    often = (counts * FREQUENT > tokens) & (np.arange(len(counts)) ** 2 < len(counts))
    n = int(often.sum())
    favourites, votes, met = (np.zeros((2, n), np.int64) for _ in range(3))
    for file in files:
        vote_for_neighbours(map_array(file), favourites, votes)
    for file in files:
        count_favourites(map_array(file), favourites, met)
    often[:n] &= (2 * met <= counts[:n]).all(axis=0)
    return np.asarray(often)


def _grown(slots: UInt64s) -> UInt64s:
    new = np.zeros((2 * len(slots), 2), np.uint64)
    move_slots(new, slots)
    return new


def _choose(text: _Text, levels: list[Level], *, min_score: float, fdr: float) -> tuple[Int32s, Int64s]:
    """Return the n-grams that may be phrases, as rows of words filled up with -1, and their scores in steps.

    The last of ``levels`` only says which n-grams of one word less are pieces of longer ones.
    """
    tables, scores, chances, whole = [], [], [], []
    for gram in _look_at(text, levels):
        n, c = gram.table.shape[1], gram.counts
        score, g2 = np.full(len(c), np.inf), np.full(len(c), np.inf)
        for a, b in gram.sides:
            cut = b > 0
            score[cut] = np.minimum(score[cut], discounted_npmi(c[cut], a[cut], b[cut], text.tokens))
            g2[cut] = np.minimum(g2[cut], log_likelihood_ratio(c[cut], a[cut], b[cut], text.tokens))
        kept = ~text.connects[gram.table[:, -1]]
        filled = np.full((int(kept.sum()), len(levels)), -1, np.int32)
        filled[:, :n] = gram.table[kept]
        tables.append(filled)
        scores.append(score[kept])
        chances.append(_chance(g2[kept]))
        whole.append((gram.longer < _PIECE * c)[kept])
    table, score = np.concatenate(tables), np.concatenate(scores)
    lengths = np.array([len(word.encode("utf-8")) + 1 for word in text.words] + [0])
    steps = np.rint(score * STEPS).astype(np.int64)
    found = discoveries(np.concatenate(chances), fdr=fdr, tests=sum(level.seen for level in levels[:-1]))
    found &= np.concatenate(whole) & (score >= min_score) & (steps > 0)
    found &= lengths[table].sum(axis=1) <= MAX_BYTES
    return table[found], steps[found]


class _Grams(NamedTuple):
    """n-grams as rows of words, ``table`` (m, n), with their ``counts``, and how often the commonest ``longer`` occurs.

    ``sides``, for each cut: how often what stands before it and after it occurs, 0 after it if a connector follows.
    """

    table: Int64s
    counts: Int64s
    sides: list[tuple[Int64s, Int64s]]
    longer: Int64s


def _look_at(text: _Text, levels: list[Level]) -> Iterator[_Grams]:
    """Yield the n-grams of each level but the last."""
    table: Int64s = np.arange(len(text.words))[:, None]
    prefixes: list[Int64s] = []  # the number of each n-gram's first word, its first two words, ...
    # The numbers of its words but the first, but the first two, ...; -1 where that is a connector.
    suffixes: list[Int64s] = []
    counts, grams = [text.counts], None
    for n, level in enumerate(levels, 2):
        before, last = level.before, level.last
        prefixes = [prefix[before] for prefix in prefixes] + [before]
        longer = [levels[n - k - 2].find(suffix[before], last) for k, suffix in enumerate(suffixes, 1)]
        suffixes = [*longer, np.where(text.connects[last], -1, last)]
        if grams is not None:
            np.maximum.at(grams.longer, before, level.counts)
            np.maximum.at(grams.longer, suffixes[0][suffixes[0] >= 0], level.counts[suffixes[0] >= 0])
            yield grams
        table = np.concatenate([table[before], last[:, None]], axis=1)
        sides = [
            (counts[k - 1][prefix], np.where(suffix >= 0, counts[n - k - 1][suffix], 0))
            for k, (prefix, suffix) in enumerate(zip(prefixes, suffixes, strict=True), 1)
        ]
        counts.append(level.counts)
        grams = _Grams(table, level.counts, sides, np.zeros(len(table), np.int64))


def discounted_npmi(c: Int64s, a: Int64s, b: Int64s, tokens: int) -> Float64s:
    """Return log(c' N / (a b)) / log(N / c') with c' = c - 2 √c, at least 1/2: for a pair that occurs c times.

    >>> discounted_npmi(np.array([100]), np.array([100]), np.array([100]), 10**6).round(3).tolist()
    [0.953]
    """
    less = np.maximum(c - _DEVIATIONS * np.sqrt(c), 0.5)
    return np.asarray(np.log(less * tokens / (a * b.astype(float))) / np.log(max(tokens, 2) / less))


def log_likelihood_ratio(c: Int64s, a: Int64s, b: Int64s, tokens: int) -> Float64s:
    """Return G² of the 2 × 2 table of two sides that occur a and b times, c of them together; 0 if that is rare.

    >>> log_likelihood_ratio(np.array([10]), np.array([10]), np.array([20]), 100).round(1).tolist()
    [37.3]
    """
    observed = np.stack([c, a - c, b - c, tokens - a - b + c]).astype(float)
    a, b = a.astype(float), b.astype(float)
    expected = np.stack([a, a, tokens - a, tokens - a]) * np.stack([b, tokens - b, b, tokens - b]) / tokens
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(observed > 0, observed * np.log(observed / expected), 0.0)
    return np.where(observed[0] > expected[0], np.maximum(2 * terms.sum(axis=0), 0.0), 0.0)


def _chance(g2: Float64s) -> Float64s:
    """Return the probability of a G² as large by chance, on the side where words meet more often."""
    from scipy.special import erfc

    return np.asarray(erfc(np.sqrt(g2 / 2)) / 2)


def discoveries(chances: Float64s, *, fdr: float, tests: int) -> Bools:
    """Say which of ``tests`` tests, these and others of the chance 1, to call discoveries (Benjamini and Hochberg).

    >>> discoveries(np.array([0.001, 0.04, 0.011]), fdr=0.05, tests=4).tolist()
    [True, False, True]
    """
    ranked = np.sort(chances)
    below = np.flatnonzero(ranked <= fdr * np.arange(1, len(ranked) + 1) / max(tests, 1))
    return np.asarray(chances <= ranked[below[-1]]) if below.size else np.zeros(len(chances), bool)


def _write_joined(
    files: Sequence[Path], phrases: Phrases, output: Path, pool: ThreadPoolExecutor, *, overwrite: bool
) -> None:
    """Write the text of segments, blanks between its words and one sentence a line, with phrases joined."""
    join = Joiner(phrases)

    def spaced(file: Path) -> bytes:
        words, _, ids, *_ = join(read_segment(file))
        sizes = np.append(np.diff(words.offsets) + 1, [0, 1])  # of GAP and SENTENCE_END
        out = np.empty(int(sizes[ids].sum()), np.uint8)
        return out[: spell_out(ids, words.blob, words.offsets, out)].tobytes()

    with replaced_file(output, overwrite=overwrite) as target:
        for text in map_ordered(pool, spaced, files, ahead=2):
            target.write(text)


# ids int32[t] of words with the bytes blob uint8[b], offsets int64[n+1]; out uint8; returns how many bytes
@kernel
def spell_out(ids, blob, offsets, out):
    """Write words with blanks between them and newlines after sentences; gaps are left out."""
    n = 0
    for t in range(len(ids)):
        if ids[t] >= 0:
            begin, end = offsets[ids[t]], offsets[ids[t] + 1]
            out[n : n + end - begin] = blob[begin:end]
            n += end - begin + 1
            out[n - 1] = _SPACE
        elif ids[t] == SENTENCE_END:
            inside = n > 0 and out[n - 1] == _SPACE
            out[n - 1 if inside else n] = _NEWLINE
            n += 0 if inside else 1
    return n


# Connectors: a word that more than half of the neighbours of another are is found by Boyer and Moore's vote.


# ids int32[t]; favourites, votes int64[2, n], changed: of the first n words, those after them and those before them
@kernel
def vote_for_neighbours(ids, favourites, votes):
    """Let each neighbour of the first words vote for itself, or against the favourite so far."""
    for i in range(len(ids) - 1):
        if ids[i] >= 0 and ids[i + 1] >= 0:
            for side in range(2):
                word, other = ids[i + side], ids[i + 1 - side]
                if word < favourites.shape[1]:
                    if votes[side, word] == 0:
                        favourites[side, word] = other
                    votes[side, word] += 1 if favourites[side, word] == other else -1


# ids int32[t]; favourites, met int64[2, n]; met changed
@kernel
def count_favourites(ids, favourites, met):
    """Count how often the first words meet their favourites."""
    for i in range(len(ids) - 1):
        if ids[i] >= 0 and ids[i + 1] >= 0:
            for side in range(2):
                word = ids[i + side]
                if word < favourites.shape[1] and favourites[side, word] == ids[i + 1 - side]:
                    met[side, word] += 1


# n-grams: each is a number for its words but the last, and the last word.


# ids, grams int32[t]: words, and frequent (n-1)-grams that begin there, below 0 where there are none;
# connects bool[w]; keys uint64[t], changed
@kernel
def gather_keys(ids, grams, n, connects, part, parts, keys):
    """Write the keys of the n-grams of one part by hash, if they may be frequent; return how many."""
    found = 0
    for i in range(len(ids) - n + 1):
        last = ids[i + n - 1]
        if grams[i] < 0 or last < 0:
            continue
        if n > 2 and grams[i + 1] < 0 and not connects[ids[i + 1]]:
            continue  # what is left without the first word is not frequent
        key = pair_key(grams[i], last)
        if parts == 1 or np.int64(((scattered(key) >> _HALF) * np.uint64(parts)) >> _HALF) == part:
            keys[found] = key
            found += 1
    return found


# keys uint64[k]; slots uint64[2^m, 2]: keys and counts, changed; flat uint64[2^(m+1)], the same
@kernel
def count_keys(keys, begin, slots, flat, used):
    """Count keys from ``begin`` on; return where half of the slots were used, and how many are."""
    mask = np.uint64(len(slots) - 1)
    for i in range(begin, len(keys)):
        if i + _AHEAD < len(keys):
            prefetch(flat, np.int64((scattered(keys[i + _AHEAD]) & mask) << _ONE))
        at = find_slot(slots, keys[i])
        if slots[at, 0] == _EMPTY:
            if 2 * used >= len(slots):
                return i, used
            slots[at, 0] = keys[i]
            used += 1
        slots[at, 1] += _ONE
    return len(keys), used


# new, old uint64[2^k, 2]; new is empty, and changed
@kernel
def move_slots(new, old):
    """Enter the keys and counts of ``old`` into ``new``."""
    for k in range(len(old)):
        if old[k, 0] != _EMPTY:
            at = find_slot(new, old[k, 0])
            new[at, 0], new[at, 1] = old[k, 0], old[k, 1]


# ids, grams int32[t]; slots uint64[2^k, 2]: keys and numbers of frequent n-grams; flat: the same; returns int32[t]
@kernel
def number_grams(ids, grams, n, slots, flat):
    """Return the frequent n-gram that begins at each place, given those of n - 1 words; -1 where there is none."""
    mask, size = np.uint64(len(slots) - 1), len(ids)
    longer = np.full(size, -1, np.int32)
    for i in range(size):
        later, end = i + _AHEAD, i + n - 1
        if later + n - 1 < size and grams[later] >= 0 and ids[later + n - 1] >= 0:
            key = pair_key(grams[later], ids[later + n - 1])
            prefetch(flat, np.int64((scattered(key) & mask) << _ONE))
        if grams[i] >= 0 and end < size and ids[end] >= 0:
            longer[i] = step(slots, grams[i], ids[end])
    return longer


# Joining: phrases of a segment become words of it.


# ids int32[t], of which a phrase of ``size`` words begins at i; first, slots, numbers: of a Trie
@kernel(inline="always")
def _phrase_at(ids, i, size, first, slots, numbers):
    node = np.int64(first[ids[i]])
    for k in range(1, size):
        node = step(slots, node, ids[i + k])
    return numbers[node]


# ids, sizes int32[t]: see best_cut; counts int64[phrases], changed
@kernel
def count_phrases(ids, sizes, first, slots, numbers, counts):
    """Add to ``counts`` how often a cut uses each phrase."""
    for i in range(len(ids)):
        if sizes[i] > 1:
            counts[_phrase_at(ids, i, sizes[i], first, slots, numbers)] += 1


# ids int32[t], changed; inner int32[t]: the same in numbers of the phrases' words; sizes: see best_cut;
# named int32[phrases]: the id of each phrase, below 0 if it has none, changed
@kernel
def join_ids(ids, inner, sizes, first, slots, numbers, named, n):
    """Replace phrases by their ids, new ones from ``n`` on; return how many ids are left, and how many words."""
    i = t = 0
    while i < len(ids):
        if sizes[i] > 1:
            phrase = _phrase_at(inner, i, sizes[i], first, slots, numbers)
            if named[phrase] < 0:
                named[phrase] = n
                n += 1
            ids[t] = named[phrase]
        else:
            ids[t] = ids[i]
        i += sizes[i]
        t += 1
    return t, n


class Joiner:
    """Joins the phrases of segments; what it needs for that is made once."""

    def __init__(self, phrases: Phrases) -> None:
        self._trie = phrases.trie
        self._words, self._forms = WordTable.of(phrases.words), WordTable.of(phrases.written)

    def __call__(self, segment: Segment) -> Segment:
        """Return ``segment`` with its phrases joined; its ids change in place."""
        first, slots, values, numbers = self._trie
        words, n = segment.words, len(segment.words)
        # GAP and SENTENCE_END have one, too.
        number_of = np.append(self._words.find(words), [GAP, GAP]).astype(np.int32)
        form_of = self._forms.find(words)
        named = np.full(len(self._forms), -1, np.int32)
        is_form = np.flatnonzero(form_of >= 0)  # written like a phrase in the text itself
        named[form_of[is_form]] = is_form
        inner = number_of[segment.ids]
        t, most = join_ids(
            segment.ids, inner, best_cut(inner, first, slots, values), first, slots, numbers, named, n
        )
        new = np.flatnonzero(named >= n)
        forms = self._forms.word_counts.words.take(new[np.argsort(named[new])])
        ids = segment.ids[:t]
        return segment._replace(
            words=WordList.join([words, forms]),
            counts=np.bincount(ids[ids >= 0], minlength=most),
            ids=ids,
            written=int(segment.counts[is_form].sum()),
        )


def resolve_phrases(
    phrases: str | Path | Phrases | Iterable[str] | None,
    corpus: Input | Baskets,
    text: Corpus | Texts | Sentences | Baskets,
    *,
    column: str | None,
    where: Mapping[str, Any] | None,
    **how: Any,
) -> Phrases | None:
    """Return the phrases to join in ``text``, as which ``corpus`` was read: those given, or found if they are "auto".

    ``how`` are options of :func:`find_phrases` that change nothing in its result.
    """
    if phrases is None:
        return None
    if isinstance(text, Baskets):
        raise InputError("phrases were given, but items are no text; leave them out")
    if not isinstance(phrases, str) or phrases != AUTO:
        if isinstance(phrases, str | Path):
            phrases = read_phrases(phrases)
        elif not isinstance(phrases, Phrases):
            phrases = Phrases.of(demand_words(phrases, "phrases"))
        return phrases.cut_by(text.tokenizer) if isinstance(text, Corpus | Texts) else phrases
    if isinstance(text, Corpus) and text.is_restartable:
        return find_phrases(text, **how)
    if isinstance(corpus, Corpus | Texts | Iterator | Baskets):
        raise InputError(
            'phrases="auto" reads the text twice, but this can be read only once; give a file or a list, or the '
            "phrases themselves"
        )
    tokenizer = text.tokenizer if isinstance(text, Texts) else None
    return find_phrases(corpus, tokenizer=tokenizer, column=column, where=where, **how)
