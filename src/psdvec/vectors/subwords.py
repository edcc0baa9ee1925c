"""Vectors from spelling: what the letter n-grams of a word say about it, also if nobody has ever seen the word.

:func:`letter_ngrams` cuts words into n-grams, which are known by their hash. A :class:`Subwords` holds one vector per
n-gram; their sum, scaled, is the vector p = z B of a word's spelling. :func:`learn_subwords` takes words with the unit
vectors u of their contexts and returns the n-grams that predict them best, in 8 bits; :func:`mix` makes of a word's
contexts and spelling the vector that is shown. Equations (13) to (18) of ``docs/spelling.md``.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from psdvec.arrays import Array, Bools, Codes, Float32s, Float64s, Int64s, UInt64s
from psdvec.errors import InputError
from psdvec.options import Recipe
from psdvec.progress import LogProgress, Progress
from psdvec.resources import for_each
from psdvec.vectors.neighbours import lengths_of

if TYPE_CHECKING:
    from psdvec.vectors.regression import Solve

# The closest spellings of a missing word, for messages that help.

_SEARCHED = 50_000
_ALPHABET_FROM = 2_000
LONGEST_COMPARED = 100  # letters of a word that is compared; the slips of longer ones take seconds to try
_SUGGESTED = 3  # spellings, at most


def closest_spellings(word: str, words: Sequence[str], ids: Mapping[str, int]) -> list[str]:
    """Return a few words of the vocabulary that are spelled like ``word``; none if it is very long.

    >>> words = ["queen", "king", "kings", "man"]
    >>> closest_spellings("kinng", words, {word: i for i, word in enumerate(words)})
    ['king', 'kings']
    """
    if len(word) > LONGEST_COMPARED:
        return []
    cases = [other for other in (word.lower(), word.capitalize(), word.upper()) if other in ids]
    alphabet = sorted(set().union(*islice(words, _ALPHABET_FROM)))
    slips = sorted(
        {other for other in one_slip_away(word, alphabet) if other in ids},
        key=lambda other: (other[:1] != word[:1], ids[other]),  # the first letter is rarely the wrong one
    )
    found = list(dict.fromkeys(cases + slips))[:_SUGGESTED]
    if len(found) < _SUGGESTED:
        alike = [other for other in islice(words, _SEARCHED) if _may_be_alike(word, other)]
        close = difflib.get_close_matches(word, alike, n=_SUGGESTED)
        found += [other for other in close if other not in found]
    return found[:_SUGGESTED]


def _may_be_alike(word: str, other: str) -> bool:
    return abs(len(word) - len(other)) <= 2 and other[:1] == word[:1]


def one_slip_away(word: str, alphabet: Sequence[str]) -> Iterator[str]:
    """Yield ``word`` with one letter left out, swapped with the next, replaced or inserted."""
    for i in range(len(word) + 1):
        head, tail = word[:i], word[i:]
        if tail:
            yield head + tail[1:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        for letter in alphabet:
            yield head + letter + tail[1:]
            yield head + letter + tail


Unseen: TypeAlias = Literal["error", "spelling"]  # what to do with a word that has no vector
UnseenInText: TypeAlias = Literal["ignore", "spelling"]  # and with one of a text

SHORTEST, LONGEST = 3, 6  # letters of an n-gram, the ends of the word counted
# Chinese characters and Korean syllables, each of which means something.
_SYLLABLES = ((0x3400, 0x9FFF), (0xAC00, 0xD7A3), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))
_BEGIN, _END = 0x110000, 0x110001  # what stands for the ends: beyond Unicode, so that no word contains them
_NULL = 0x110002  # what stands for the letter 0, which leaves no trace in the hash of an n-gram it begins
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # of the hash; odd, and nothing special otherwise
_WORDS = 512  # whose vectors are summed at a time; no result depends on it
_CUT = 2048  # words that a thread cuts into n-grams at a time
_STEPS = 127  # codes run from -127 to 127
_ROWS = 1024  # vectors that are coded or mixed together
_LARGEST = 1e9  # that any of its numbers may be: those of real vectors are near 1
_LONGEST_SQUARE = 0.9  # of p; a prediction is never taken to be certain


@dataclass(frozen=True, eq=False)
class Subwords:
    """The vectors of g n-grams: those of a code c are ``c * step``.

    ``hashes`` (g,) uint64, rising; ``codes`` (g, d) int8; ``steps`` (g,) float32. ``share`` is a of equation (15),
    ``length`` the mean length of the vectors that were learned from, ``leverage`` how strongly one more word that is
    known for certain would draw its own p towards it, equation (17), ``slope`` how much of p comes true for a word that
    it was not learned from, equation (18), and ``size`` how long p is then, in the mean square. ``mean`` (d,) float32
    was taken from the vectors before, if it is given: vectors of other programs often have much in common.
    """

    hashes: UInt64s
    codes: Codes
    steps: Float32s
    share: float
    length: float
    leverage: float
    slope: float = 1.0
    size: float = 0.0
    mean: Float32s | None = None

    def __post_init__(self) -> None:
        g = self.hashes.shape[:1]
        if (
            self.hashes.ndim != 1
            or self.codes.ndim != 2
            or self.codes.shape[:1] != g
            or self.steps.shape != g
            or (self.mean is not None and self.mean.shape != self.codes.shape[1:])
        ):
            raise InputError("the table of n-grams does not hold one vector per n-gram; make the model again")
        types = [np.uint64, np.int8, np.float32, np.float32]
        if any(each.dtype != type for each, type in zip(self.arrays().values(), types, strict=False)):
            raise InputError("the table of n-grams holds numbers of other types; make the model again")
        if (self.hashes[1:] <= self.hashes[:-1]).any():
            raise InputError("the table of n-grams is not in order; make the model again")
        largest = [
            float(np.abs(each).max(initial=0.0)) for each in (self.steps, self.mean) if each is not None
        ]
        for number in (self.share, self.length, self.leverage, self.slope, self.size, *largest):
            if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < _LARGEST:
                raise InputError(
                    f"the table of n-grams holds {str(number)[:20]} where a number should be that one can compute "
                    "with; make the model again"
                )

    @property
    def dim(self) -> int:
        """Dimensions of each vector."""
        return int(self.codes.shape[1])

    def predict(self, words: Sequence[str]) -> Float32s:
        """Return p of each word, (m, d), from those of its n-grams that are known; zeros if none is.

        Its length says how much the spelling tells: learned from vectors of length 1, it is mostly below 1/2. A word
        gets the same bits alone or among others.
        """
        from scipy import sparse  # slow to import, and few programs ask for words that nobody has seen

        found = np.zeros((len(words), self.dim), np.float32)

        def fill(begin: int) -> None:
            starts, places = find_ngrams(words[begin : begin + _WORDS], self.hashes)
            used, columns = np.unique(places, return_inverse=True)
            vectors = self.codes[used].astype(np.float32)
            vectors *= self.steps[used, None]
            Z = sparse.csr_array((ngram_weights(starts), columns, starts), shape=(starts.size - 1, used.size))
            found[begin : begin + _WORDS] = Z @ vectors

        for_each(fill, range(0, len(words), _WORDS))
        return found

    def vectors_of(self, words: Sequence[str]) -> Float32s:
        """Return the vectors (m, d) that ``words`` have if nothing but their spelling is known; zeros if not even that.

        They are what :func:`psdvec.extend` gives a word without contexts: the mean of its prior, equation (16).
        """
        vectors = np.asarray(np.float32(self.share * self.length) * self.predict(words))
        if self.mean is not None:
            vectors[vectors.any(axis=1)] += self.mean
        return vectors

    def deviations_of(self, vectors: Float32s) -> Float32s:
        """Return the standard deviation of each coordinate of ``vectors`` that :meth:`vectors_of` gave.

        If u is b p, b the slope, and something at right angles to it, of length 1 together, then the vector that a word
        would have is as far from ``vectors``, in the mean square, as ``ℓ² (1 - b²|p|²) / (1 + a (a + 2 b) |p|²)``.
        """
        a, b = self.share, self.slope
        rest = vectors if self.mean is None else vectors - self.mean
        lengths = np.linalg.norm(rest, axis=1) / max(a * self.length, 1e-12)
        squares = np.minimum(np.square(lengths, dtype=np.float64), _LONGEST_SQUARE)
        spread = (1 - b * b * squares) / (1 + a * (a + 2 * b) * squares)
        return np.asarray(self.length * np.sqrt(spread / self.dim), np.float32)

    def arrays(self) -> dict[str, Array]:
        """Return its arrays by name."""
        arrays: dict[str, Array] = {"hashes": self.hashes, "codes": self.codes, "steps": self.steps}
        return arrays if self.mean is None else {**arrays, "mean": self.mean}

    def parts(self) -> tuple[Any, ...]:
        """Return everything it is made of, for comparing."""
        return (*self.arrays().values(), self.share, self.length, self.leverage, self.slope, self.size)


def say_weights(share: float, leverage: float, size: float, *, noise: float) -> str:
    """Say how much spelling weighs in vectors: its part of both parts of u + a p = (1 + a h) u + a (1 - h) p'.

    >>> say_weights(4.9, 0.4, 0.2, noise=20)
    'weighs 35 % for a word seen 10 times, 23 % for one seen 1,000 times'
    """
    parts: list[str] = []
    for seen in (10, 1000):
        pull = leverage * seen / (seen + noise)
        spelled, rest = share * size / (1 + pull), 1 + share * pull / (1 + pull)
        parts.append(
            f"{100 * spelled / (spelled + rest):.0f} % for {'one' if parts else 'a word'} seen {seen:,} times"
        )
    return f"weighs {parts[0]}, {parts[1]}"


def wants_spelling(unseen: str, *, otherwise: str = "error") -> bool:
    """Say whether ``unseen`` asks for spelling; refuse what is neither that nor what happens ``otherwise``.

    >>> wants_spelling("spelling"), wants_spelling("error"), wants_spelling("ignore", otherwise="ignore")
    (True, False, False)
    """
    if isinstance(unseen, str) and unseen in ("spelling", otherwise):
        return unseen == "spelling"
    raise InputError(f'unseen is \'{unseen}\'; choose unseen="{otherwise}" or unseen="spelling"')


def need_subwords(subwords: Subwords | None) -> Subwords:
    """Return ``subwords``, or say that there are none."""
    if subwords is None:
        raise InputError(
            "these vectors know nothing of spelling; give a model that learned it, such as one by the default recipe"
        )
    return subwords


def letter_ngrams(words: Sequence[str]) -> tuple[Int64s, UInt64s]:
    """Return the different n-grams of each word as 64-bit hashes, and where those of each word start.

    Word i has ``hashes[starts[i]:starts[i + 1]]``, rising. With a Chinese character or a Korean syllable in it, an
    n-gram may have two letters: most words of Chinese have only two themselves.

    >>> starts, hashes = letter_ngrams(["cat", "at", ""])
    >>> starts.tolist()  # <ca cat at> <cat cat> <cat>; <at at> <at>; none
    [0, 6, 9, 9]
    >>> len(set(hashes.tolist()))  # at> is in both
    8
    """
    lengths = np.fromiter((len(word) + 2 for word in words), np.int64, len(words))
    stops = np.cumsum(lengths)
    letters = np.full(int(lengths.sum()), _END, np.uint64)
    inside = np.ones(letters.size, bool)
    inside[stops - lengths] = inside[stops - 1] = False
    text = "".join(words).encode("utf-32-le", "surrogatepass")
    letters[stops - lengths] = _BEGIN
    letters[inside] = np.frombuffer(text, "<u4")
    letters[letters == 0] = _NULL
    owners = np.repeat(np.arange(len(words)), lengths)
    left = np.repeat(stops, lengths) - np.arange(letters.size)  # letters from here to the end of the word
    is_syllable = np.any([(letters >= low) & (letters <= high) for low, high in _SYLLABLES], axis=0)
    hashes, word_of, rolling = [], [], letters
    for n in range(2, LONGEST + 1):
        rolling = rolling[: letters.size - n + 1] * _MULTIPLIER + letters[n - 1 :]  # modulo 2⁶⁴
        chosen = left[: rolling.size] >= n
        if n < SHORTEST:
            chosen &= is_syllable[:-1] | is_syllable[1:]
        hashes.append(rolling[chosen])
        word_of.append(owners[: rolling.size][chosen])
    all_hashes = np.concatenate(hashes) if hashes else np.empty(0, np.uint64)
    all_words = np.concatenate(word_of) if word_of else np.empty(0, np.int64)
    order = np.lexsort((all_hashes, all_words))
    all_hashes, all_words = all_hashes[order], all_words[order]
    new = np.ones(all_hashes.size, bool)
    new[1:] = (all_hashes[1:] != all_hashes[:-1]) | (all_words[1:] != all_words[:-1])
    return starts_of(all_words[new], len(words)), all_hashes[new]


def _ngrams_by_threads(words: Sequence[str]) -> tuple[Int64s, UInt64s]:
    """Return what :func:`letter_ngrams` does."""
    found: dict[int, tuple[Int64s, UInt64s]] = {}

    def cut(begin: int) -> None:
        found[begin] = letter_ngrams(words[begin : begin + _CUT])

    begins = range(0, max(len(words), 1), _CUT)
    for_each(cut, begins)
    lengths = np.concatenate([np.diff(found[begin][0]) for begin in begins])
    return np.concatenate([[0], np.cumsum(lengths)]), np.concatenate([found[begin][1] for begin in begins])


def find_ngrams(words: Sequence[str], known: UInt64s) -> tuple[Int64s, Int64s]:
    """Return the places of each word's n-grams among the rising hashes ``known``; the others are left out."""
    starts, hashes = letter_ngrams(words)
    places = np.searchsorted(known, hashes)
    is_known = np.zeros(hashes.size, bool)
    inside = places < known.size
    is_known[inside] = known[places[inside]] == hashes[inside]
    owners = np.repeat(np.arange(len(words)), np.diff(starts))
    return starts_of(owners[is_known], len(words)), places[is_known].astype(np.int64)


def ngram_weights(starts: Int64s) -> Float32s:
    """Return the numbers of z for each n-gram of each word: all the same, so that z has length 1.

    >>> ngram_weights(np.array([0, 4, 4])).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    counts = np.diff(starts)
    return np.repeat(1 / np.sqrt(np.maximum(counts, 1)), counts).astype(np.float32)


def in_eight_bits(vectors: Float32s, *, largest: int = _STEPS) -> tuple[Codes, Float32s]:
    """Return ``vectors`` as codes from -``largest`` to it and, for each, the step that a code stands for.

    >>> in_eight_bits(np.array([[1.27, -0.5], [0, 0]], np.float32))[0].tolist()
    [[127, -50], [0, 0]]
    """
    steps = np.empty(len(vectors), np.float32)
    codes = np.empty(vectors.shape, np.int8)

    def fill(first: int) -> None:
        rows = slice(first, first + _ROWS)
        part = vectors[rows]
        step = np.maximum(part.max(axis=1, initial=0.0), -part.min(axis=1, initial=0.0)) / np.float32(largest)
        step[step < np.finfo(np.float32).tiny] = 0  # smaller ones are too coarse to divide by
        codes[rows] = np.rint(part / np.where(step > 0, step, np.float32(1))[:, None])
        steps[rows] = step

    for_each(fill, range(0, len(vectors), _ROWS))
    return codes, steps


def starts_of(owners: Array, n: int) -> Int64s:
    """Return where the entries of each of ``n`` owners begin, and where the last ones end."""
    return np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=n))]).astype(np.int64)


def feature_matrix(features: Sequence[Any], *, teachers: int) -> Any:
    """Return the features of words as rows z of a sparse array, with a last column of ones.

    Numbers are taken in units of their standard deviation over the first ``teachers`` words, from their mean. Of
    categories, which are strings or the words of one string, those that these words have count alike. What is left of
    z has length 1, of numbers in the mean.

    >>> feature_matrix(["a b c d", ["a"], "e"], teachers=2).toarray().tolist()
    [[0.5, 0.5, 0.5, 0.5, 1.0], [1.0, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0, 1.0]]
    """
    from scipy import sparse

    if all(isinstance(each, str) or _are_strings(each) for each in features):
        each_words = [each.split() if isinstance(each, str) else each for each in features]
        ids = {word: 0 for words in each_words[:teachers] for word in words}
        ids = {word: place for place, word in enumerate(ids)}
        places = [[ids[word] for word in dict.fromkeys(words) if word in ids] for words in each_words]
        starts = np.concatenate([[0], np.cumsum([len(found) for found in places])])
        columns = np.array([place for found in places for place in found], np.int32)
        Z = sparse.csr_array((ngram_weights(starts), columns, starts), shape=(len(features), len(ids)))
    else:
        try:
            numbers = np.array([np.asarray(each, np.float64) for each in features])
        except (TypeError, ValueError):
            numbers = np.zeros(0)
        if numbers.ndim != 2 or not np.isfinite(numbers).all():
            raise InputError(
                "the features are neither all numbers, as many for each name, nor all categories; give lists of "
                "numbers, or strings"
            )
        spread = numbers[:teachers].std(axis=0)
        Z = (numbers - numbers[:teachers].mean(axis=0)) / np.where(spread > 0, spread, 1)
        Z = sparse.csr_array(Z / math.sqrt(max(Z.shape[1], 1)))
    return sparse.hstack([Z, np.ones((len(features), 1))], format="csr", dtype=np.float32)


def _are_strings(each: Any) -> bool:
    return isinstance(each, list | tuple | set | frozenset) and all(isinstance(part, str) for part in each)


FEWEST = 2  # words that must share an n-gram


def stretches(rows: Float32s, emphases: Float64s, *, power: float) -> Float32s:
    """Return t (d,) of equation (13): what the coordinates of factor ``rows`` are multiplied by, 1 in the mean square.

    The eigenvalue of a coordinate is Σ (s v)²; its vectors already have its root.
    """
    parts: dict[int, Float64s] = {}

    def add_up(begin: int) -> None:
        part = slice(begin, begin + _ROWS)
        parts[begin] = emphases[part] ** 2 @ np.square(rows[part], dtype=np.float64)

    begins = range(0, len(rows), _ROWS)
    for_each(add_up, begins)
    values = np.sum([parts[begin] for begin in begins], axis=0)
    if power == 0.5 or not values.any():
        return np.ones(rows.shape[1], np.float32)
    values = np.where(values > 0, values, values.max())  # of dimensions that a small vocabulary left empty
    t = values ** (power - 0.5)
    return np.asarray(t / np.sqrt(np.mean(t**2)), np.float32)


def learn_subwords(
    words: Sequence[str],
    units: Float32s,
    counts: Int64s | Float64s,
    *,
    length: float,
    recipe: Recipe,
    mean: Float32s | None = None,
    most: int | None = None,
    largest: int = _STEPS,
    solve: Solve | None = None,
    workers: int | None = None,
    progress: Progress = LogProgress(),
) -> Subwords | None:
    """Return the n-gram vectors B of equation (14); None where no two words have an n-gram in common.

    ``units`` (n, d) are vectors of length 1, of words that were seen ``counts`` times; ``length`` is the mean length
    that they had, after ``mean`` was taken from them. With ``most``, only so many n-grams are learned, those that the
    most words share, and ``largest`` is that of their codes. The same for any number of ``workers``; ``solve``: see
    :func:`regress`.
    """
    from scipy import sparse

    from psdvec.vectors.regression import regress  # it needs a compiler, and most who use spelling learn none

    starts, hashes = _ngrams_by_threads(words)
    known, places, shared = np.unique(hashes, return_inverse=True, return_counts=True)
    kept = shared >= FEWEST
    if most is not None and kept.sum() > most:
        kept[np.argsort(-shared, kind="stable")[most:]] = False
    if not kept.any():
        return None
    rank = np.cumsum(kept) - 1
    inside = kept[places]
    first = starts_of(np.repeat(np.arange(len(words)), np.diff(starts))[inside], len(words))
    shape = (len(words), int(kept.sum()))
    Z = sparse.csr_array((ngram_weights(first), rank[places[inside]].astype(np.int32), first), shape=shape)
    certain = certainty(counts, noise=recipe.spelling_noise)
    how: dict[str, Any] = {"solve": solve, "workers": workers, "progress": progress}
    B, others = regress(Z, units, certain, ridge=recipe.spelling_ridge, **how)
    codes, steps = in_eight_bits(B, largest=largest)
    return Subwords(
        known[kept], codes, steps, share=others.share(recipe.spelling), length=length,
        leverage=others.own / max(float(np.mean(certain)) * (1 - others.own), 1e-6), slope=others.slope,
        size=math.sqrt(max(others.square, 0.0)), mean=mean,
    )  # fmt: skip


def certainty(counts: Int64s | Float64s, *, noise: float) -> Float32s:
    """Return how much the vector of a word that was seen so often counts, c / (c + c₀), equation (14).

    >>> certainty(np.array([0, 100, 300]), noise=100).tolist()
    [0.0, 0.5, 0.75]
    """
    return np.asarray(counts / np.maximum(counts + float(noise), 1e-12), np.float32)


def unit_rows(rows: Float32s, stretch: Float32s) -> tuple[Float32s, Float32s]:
    """Return u (n, d) of equation (13), and the lengths (n,) that the stretched rows had; rows of zeros stay."""
    units, lengths = np.empty_like(rows), np.empty(len(rows), np.float32)

    def fill(begin: int) -> None:
        part = slice(begin, begin + _ROWS)
        stretched = rows[part] * stretch
        lengths[part] = lengths_of(stretched)
        units[part] = stretched / lengths[part, None]

    for_each(fill, range(0, len(rows), _ROWS))
    return units, lengths


def mix(rows: Float32s, stretch: Float32s, spelled: Float32s | None, *, share: float) -> Float32s:
    """Return the vectors shown, equation (15): of factor ``rows`` (m, d) and p of the words' spelling, ``spelled``.

    Their lengths are those of the stretched rows.
    """
    if spelled is None:
        return rows if (stretch == 1).all() else rows * stretch
    mixed = np.empty(rows.shape, np.float32)

    def fill(begin: int) -> None:
        part = slice(begin, begin + _ROWS)
        stretched = rows[part] * stretch
        lengths = np.linalg.norm(stretched, axis=1, keepdims=True)
        sums = stretched / _safe(lengths) + np.float32(share) * spelled[part]
        mixed[part] = sums * (lengths / _safe(np.linalg.norm(sums, axis=1, keepdims=True)))

    for_each(fill, range(0, len(rows), _ROWS))
    return mixed


def place_spelled(
    subwords: Subwords,
    words: Sequence[str],
    rows: Float32s,
    stretch: Float32s,
    counts: Int64s,
    *,
    noise: float,
    fitted: Bools,
) -> tuple[Float32s, Float32s]:
    """Return the vectors shown of words that were placed at factor ``rows``, and what their deviations are times.

    Each word draws its own p towards its place, equation (17), as those ``fitted`` (m,) did already: the words that the
    n-grams were learned from.
    """
    spelled, units = subwords.predict(words), _units(rows, stretch)
    own = own_pull(subwords, counts, noise=noise)
    spelled += np.where(fitted, 0, own)[:, None] * (units - spelled)
    factors = mixing_factors(rows, stretch, spelled, own, share=subwords.share)
    return mix(rows, stretch, spelled, share=subwords.share), factors


def mixing_factors(
    rows: Float32s, stretch: Float32s, spelled: Float32s, own: Float32s, *, share: float
) -> Float32s:
    """Return what mixing multiplies the deviations of rows by: (1 + a h) / |u + a p|, as p varies with h u.

    A word without a known n-gram has no p, and nothing to draw towards itself.
    """
    factors = np.empty(len(rows), np.float32)
    own = np.where(spelled.any(axis=1), own, np.float32(0))

    def fill(begin: int) -> None:
        part = slice(begin, begin + _ROWS)
        mixed = _units(rows[part], stretch) + np.float32(share) * spelled[part]
        factors[part] = (1 + np.float32(share) * own[part]) / _safe(np.linalg.norm(mixed, axis=1))

    for_each(fill, range(0, len(rows), _ROWS))
    return factors


def own_pull(subwords: Subwords, counts: Int64s | Float64s, *, noise: float) -> Float32s:
    """Return o (m,) of equation (17): how far each word draws the p of its spelling towards its place, from 0 to 1."""
    pull = certainty(counts, noise=noise) * np.float32(subwords.leverage)
    return np.asarray(pull / (1 + pull))


def _units(rows: Float32s, stretch: Float32s) -> Float32s:
    """Return u of equation (13)."""
    stretched = rows * stretch
    return np.asarray(stretched / _safe(np.linalg.norm(stretched, axis=1, keepdims=True)), np.float32)


def _safe(lengths: Array) -> Array:
    return np.maximum(lengths, np.float32(1e-12))
