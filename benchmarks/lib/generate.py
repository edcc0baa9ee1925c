"""Text of any size with the statistics of a real one, for measuring at sizes at which no real text is at hand.

    python -m benchmarks.lib.generate CORPUS... -o FILE --words 2.1e9 [--seed 0]

The texts, cut into words by ``paper``, are copied along a random walk over their places. From the place of a word, the
walk goes to another place of the same word with probability :data:`JUMP`, and then to the place after that. This alone
would repeat the words and neighbours that the source has, where real text keeps bringing new ones. So the walk is that
of a language model with absolute discounts (Kneser and Ney 1995), down to words that the source lacks:

- Two neighbours that the source has c times are followed with probability (c - d)/c, where d is the share of its
  different neighbours that it has only once. Otherwise the walk goes on at the second of two neighbours that are drawn
  from all different ones, which leaves each word as frequent as it is in the source.
- A word that it has c times is written with probability (c - d)/c, now with the share d of its words that it has only
  once. Otherwise a made-up word stands there: of rank r with a probability in proportion to r^(-1/d), from the number
  of words of the source on. So the different words of a text grow as its length to the power d (Heaps), as those of the
  source do at its end, and frequencies go on falling as they fall there (Zipf).

A made-up word is spelled by three or four of the :data:`PIECES` sequences of three letters that most words have, of
those with a vowel; no two ranks are spelled alike. Seed, source and number of words give the same bytes, whatever the
number of threads.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from benchmarks.lib.measure import run_script

from psdvec.arrays import Array, Bytes, Int32s, Int64s
from psdvec.counts.segments import WordTable, choose_words, number_text
from psdvec.kernels import kernel
from psdvec.options import Counting
from psdvec.progress import SilentProgress
from psdvec.resources import available_memory, map_ordered, resolve_workers
from psdvec.storage.files import whole_file
from psdvec.text.corpus import read_corpus

JUMP = 0.1
PIECES = 1 << 10
BLOCK = 4_000_000  # words that a thread writes at a time, from a seed of their own
_ROOM = 8  # bytes for a word; where words are longer, a block is written in several parts
_NEWLINE, _SPACE = np.uint8(10), np.uint8(32)
_LONGEST = 12  # letters of a made-up word
_SHORTER = np.int64(1 << 30)  # ranks below have three pieces, those from here on four
_ALL = np.int64(1 << 40)
_SPREAD = np.int64(0x9E3779B1)  # odd, so that its products with all ranks differ, modulo powers of 2
_STEP, _FACTOR, _FACTOR_2 = (
    np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)
_30, _27, _31, _11 = (np.uint64(bits) for bits in (30, 27, 31, 11))


class Source(NamedTuple):
    """A text as the walk needs it: n tokens of V different words, where token 0 is the end of a line.

    ``tokens`` int32[n]; ``places`` int32[n]: those of each token together, from ``starts`` int64[V + 2] on; ``pairs``
    uint16[n]: how often a token and the next are neighbours, at most 65,535; ``heads`` int32: the place of the second
    of each two different neighbours; ``counts`` int64[V + 1]: of each token; ``blob`` uint8, ``offsets`` int64[V + 1]:
    the letters of the words; ``pieces`` uint8[PIECES, 3]. The discounts are those of words and of neighbours.
    """

    tokens: Int32s
    places: Int32s
    starts: Int64s
    pairs: Array
    heads: Int32s
    counts: Int64s
    blob: Bytes
    offsets: Int64s
    pieces: Bytes
    word_discount: float
    pair_discount: float


def read_source(paths: Sequence[str | Path]) -> Source:
    """Read texts as the source of others."""
    workers = resolve_workers(None)
    with tempfile.TemporaryDirectory(prefix="psdvec-") as temporary:
        corpus = read_corpus([Path(path) for path in paths], tokenizer="paper")
        text = number_text(corpus, Path(temporary) / "text", workers=workers, progress=SilentProgress())
        what = Counting(min_count=1, window=1, weighting="flat")
        known = choose_words(text, what, memory=available_memory() // 4, workers=workers)
        table = WordTable.of(known.words)
        tokens = np.concatenate([table.translate(file, close_gaps=True) for file in text.files])
    tokens += 1  # the end of a line was -1
    counts = np.bincount(tokens, minlength=len(known) + 1)
    following = np.roll(tokens, -1)
    starts = np.append(0, np.cumsum(counts))
    order = _sorted_by(tokens, _sorted_by(following, np.arange(tokens.size, dtype=np.int32), starts), starts)
    begins = np.flatnonzero(np.append(True, (np.diff(tokens[order]) | np.diff(following[order])) != 0))
    seen = np.diff(begins, append=tokens.size)
    pairs = np.empty(tokens.size, np.uint16)
    pairs[order] = np.repeat(np.minimum(seen, np.iinfo(np.uint16).max), seen)
    words = table.word_counts.words
    return Source(
        tokens=tokens, places=order, starts=starts, pairs=pairs,
        heads=(order[begins] + 1) % np.int32(tokens.size), counts=counts,
        blob=words.blob, offsets=words.offsets, pieces=_frequent_pieces(known.words),
        word_discount=_once(counts[1:]), pair_discount=_once(seen),
    )  # fmt: skip


def _once(counts: Int64s) -> float:
    """Return the share of counts that are 1, away from 0 and 1, at which nothing new or nothing else would come."""
    return float(np.clip(np.mean(counts == 1), 0.1, 0.9))


def _frequent_pieces(words: Sequence[str]) -> Bytes:
    """Return the sequences of three letters that most words have, and others if these are too few: uint8[PIECES, 3]."""
    found = Counter({"".join(piece): 0 for piece in product("bcdfgklmnprst", "aeiouy", "bdfgklmnprstvz")})
    for word in words:
        found.update({word[i : i + 3] for i in range(len(word) - 2)})
    spoken = [piece for piece in found if piece.isalpha() and not set("aeiouy").isdisjoint(piece)]
    chosen = sorted(spoken, key=lambda piece: (-found[piece], piece))[:PIECES]
    return np.frombuffer("".join(chosen).encode(), np.uint8).reshape(PIECES, 3)


def text_of(source: Source, words: int, *, seed: int = 0, workers: int | None = None) -> Iterator[Bytes]:
    """Yield a text of so many words, in parts of whole words."""
    workers = resolve_workers(workers)
    fresh = source.word_discount / np.maximum(source.counts, 1)
    fresh[0] = 0.0  # lines end where they end
    longest = 1 + max(int(np.diff(source.offsets).max()), _LONGEST)

    def write(block: int) -> list[Bytes]:
        wanted = min(BLOCK, words - block * BLOCK)
        state = np.array([(seed << 32) + block, 0, wanted], np.uint64)
        parts = []
        while state[2]:
            out = np.empty(_ROOM * wanted + 2 * longest, np.uint8)
            parts.append(
                out[: _write_walk(state, *source[:-2], fresh, source.pair_discount, JUMP, longest, out)]
            )
        return parts

    with ThreadPoolExecutor(workers) as pool:
        for parts in map_ordered(pool, write, range(-(-words // BLOCK)), ahead=workers):
            yield from parts


def write_text(paths: Sequence[str | Path], path: Path, *, words: int, seed: int = 0) -> None:
    """Write a text of so many words that is generated from others."""
    source = read_source(paths)
    with whole_file(path) as file:
        for part in text_of(source, words, seed=seed):
            file.write(part.data)


# keys int32[n]; places int32[n], a permutation; starts int64: where those of each key go; returns int32[n]
@kernel
def _sorted_by(keys, places, starts):
    """Return places in the order of their keys, and among equal keys as they are."""
    free, ordered = starts.copy(), np.empty_like(places)
    for place in places:
        ordered[free[keys[place]]] = place
        free[keys[place]] += 1
    return ordered


# state uint64[3], changed: that of the generator, the place, words to write
@kernel(inline="always")
def _random(state):
    """Return a number from 0 to below 1: the next of SplitMix64 (Steele, Lea and Flood 2014)."""
    state[0] += _STEP
    z = state[0]
    z = (z ^ (z >> _30)) * _FACTOR
    z = (z ^ (z >> _27)) * _FACTOR_2
    return np.float64((z ^ (z >> _31)) >> _11) * 2.0**-53


# pieces uint8[PIECES, 3]; out uint8, changed from ``at`` on
@kernel
def _spell(rank, pieces, out, at):
    """Write the made-up word of a rank; return the place after it."""
    number, letters = (rank * _SPREAD) % _SHORTER, 9
    if rank >= _SHORTER:
        number, letters = (rank * _SPREAD) % _ALL, 12
    for i in range(0, letters, 3):
        piece = number % PIECES
        number //= PIECES
        for k in range(3):
            out[at + i + k] = pieces[piece, k]
    return at + letters


# tokens .. pieces: a Source; fresh float64[V + 1]: the probability that a made-up word stands for a word
@kernel
def _write_walk(
    state, tokens, places, starts, pairs, heads, counts, blob, offsets, pieces,
    fresh, pair_discount, jump, longest, out,
):  # fmt: skip
    """Write words until all are written or ``out`` is full; return how many bytes there are."""
    n, v, at = len(tokens), len(counts) - 1, 0
    discount = fresh[1] * counts[1]
    tail = -discount / (1.0 - discount)  # of this power of a random number is a rank over V
    if state[1] == 0:
        state[1] = np.uint64(_random(state) * n)
    p = np.int64(state[1])
    while state[2] and at + 2 * longest < len(out):
        if _random(state) < jump:
            word = tokens[p]
            p = np.int64(places[starts[word] + np.int64(_random(state) * counts[word])])
        if _random(state) * pairs[p] < pair_discount:
            p = np.int64(heads[np.int64(_random(state) * len(heads))])
        else:
            p = p + 1 if p + 1 < n else 0
        word = tokens[p]
        if word == 0:
            if at and out[at - 1] == _SPACE:
                out[at - 1] = _NEWLINE
            continue
        if _random(state) < fresh[word]:
            rank = v * _random(state) ** tail
            at = _spell(np.int64(min(rank, 2.0**39)), pieces, out, at)
        else:
            for k in range(offsets[word - 1], offsets[word]):
                out[at] = blob[k]
                at += 1
        out[at] = _SPACE
        at += 1
        state[2] -= np.uint64(1)
    if state[2] == 0:
        out[at - 1] = _NEWLINE
    state[1] = np.uint64(p)
    return at


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", nargs="+")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--words", type=float, required=True)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    write_text(options.corpus, options.output, words=int(options.words), seed=options.seed)


if __name__ == "__main__":
    run_script(main)
