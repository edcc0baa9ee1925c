"""The count matrix: how often each ordered pair of words occurs, in memory or as an artefact on disk.

A :class:`Cooccurrence` holds the counts with their vocabulary. :func:`write_counts` writes one row by row, and
:func:`load_counts` opens it again, mapped into memory and checked. Neither needs a compiler;
:mod:`psdvec.counts.count` makes the counts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from psdvec.arrays import Int32s, Int64s
from psdvec.counts.vocabulary import (
    MOST,
    TOO_MANY,
    Key,
    Vocabulary,
    exact_sum,
    read_vocabulary,
    write_vocabulary,
)
from psdvec.errors import InputError, StoreError, checked, demand_whole
from psdvec.options import BASKET
from psdvec.progress import Shown, count_of
from psdvec.storage.artefact import Artefact, create_artefact, open_artefact, release_memory, verify_artefact
from psdvec.storage.workspace import digest_of
from psdvec.text.phrases import PHRASES, Phrases, phrases_in

# What a pair of words counts at a distance, as an integer in a fixed unit (equation (H) of docs/theory.md).

UNIT = 720720  # divisible by 1 to 16, so that harmonic weights are exact that far


def pair_weights(window: int, weighting: str) -> Int64s:
    """Return what a pair counts at distance 1, 2, ... ``window``, in units of 1/720720.

    >>> pair_weights(3, "harmonic").tolist()
    [720720, 360360, 240240]
    """
    window = demand_whole(window, "window")
    if not 1 <= window <= 1000:
        raise InputError(f"the window is {window}; give a number from 1 to 1000")
    name, _, power = weighting.partition(":")
    distances = range(1, window + 1)
    if weighting == BASKET:
        weights = [Fraction(1)]
    elif weighting == "flat":
        weights = [Fraction(1)] * window
    elif weighting == "harmonic":
        weights = [Fraction(1, d) for d in distances]
    elif weighting == "linear":
        weights = [Fraction(window - d + 1, window) for d in distances]
    elif name == "power" and _is_power(power):
        weights = [Fraction(d ** -float(power)) for d in distances]
    else:
        raise InputError(
            f"there is no weighting '{weighting}'; choose harmonic, flat, linear or power:P with P from 0 to 10"
        )
    units = np.array([round(UNIT * weight) for weight in weights], dtype=np.int64)
    return units[units > 0]


def _is_power(text: str) -> bool:
    try:
        return 0 <= float(text) <= 10
    except ValueError:
        return False


KIND = "cooccurrence"
VERSION = 2  # of large files, checksums are made of those of parts
_CHECKED_AT_ONCE = 1 << 18  # cells, so that what is compared stays in the cache
_WRITTEN_AHEAD = 2  # blocks that wait for the disk while others are counted
_TOLD = 100  # files that a model names
_SMALL = MOST >> 34  # values whose sum need not be known: 745 times a pair
_RELEASED_AT_ONCE = 1 << 22  # cells whose memory is given back together


class Rows(NamedTuple):
    """Consecutive rows: ``columns`` int32 and ``values`` int64 end to end, ``sizes`` int64, cells per row."""

    columns: Int32s
    values: Int64s
    sizes: Int64s


@dataclass(frozen=True)
class Tally:
    """What was read: totals that add up over files and merged stores."""

    tokens: int = 0
    sentences: int = 0
    overlong_words: int = 0
    replaced_bytes: int = 0
    written_phrases: int = 0

    def __post_init__(self) -> None:
        for name, number in asdict(self).items():
            if type(number) is not int or abs(number) > MOST:
                raise InputError(f"{name} is {str(number)[:40]}; give a whole number of 64 bits")

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __neg__(self) -> Tally:
        return Tally(*(-getattr(self, f.name) for f in fields(self)))

    def recorded(self) -> dict[str, int]:
        """Return what counts say of themselves; of phrases, only if there were any."""
        return {name: number for name, number in asdict(self).items() if number or name != "written_phrases"}


@dataclass(frozen=True, eq=False, repr=False)
class Cooccurrence(Shown):
    """Counts of ordered pairs, a sparse matrix by rows: rows are contexts, columns the words after them.

    ``indptr`` int64[n + 1], ``indices`` int32[cells], rising within a row, ``values`` int64[cells], all above 0:
    the count of a cell is ``values / 720720``. ``parameters`` say how it was counted, ``tally`` what was read,
    ``sources`` from what. ``origin`` names these counts among the sources of what is made from them. ``phrases`` are
    those that count as words, if any do.
    """

    vocabulary: Vocabulary
    indptr: Int64s
    indices: Int32s
    values: Int64s
    parameters: Mapping[str, Any]
    tally: Tally
    sources: tuple[Mapping[str, Any], ...] = ()
    origin: Mapping[str, Any] = field(default_factory=lambda: {"counts": "in memory"})
    phrases: Phrases | None = None
    wanted: ClassVar[str] = "Cooccurrence, such as Cooccurrence.from_matrix(matrix, names) makes"

    def __post_init__(self) -> None:
        if self.parameters.get("unit") != UNIT or self.values.dtype != np.int64:
            raise InputError(
                f"these counts are not in units of 1/{UNIT}, which their parameters would say; make them with "
                "Cooccurrence.from_matrix(matrix, names), which takes any weights"
            )

    @classmethod
    @checked
    def from_matrix(cls, matrix: Any, names: Iterable[Any], *, symmetric: bool = False) -> Cooccurrence:
        """Return the counts of a matrix of weights: row i and column j say how often name i stood before name j.

        How often a name occurs is its row sum, or its column sum if that is more. Names that stand with none are left
        out. Rows and columns are put in the order of ``vocabulary``, the most frequent name first.

        Parameters
        ----------
        matrix
            A sparse matrix of SciPy, or a square array. Weights are 0 or more; those that are not whole are rounded to
            1/720720, and refused if nothing would be left of them.
        names
            One for each row: strings, whole numbers or tuples of these, all of one kind.
        symmetric
            Whether order means nothing: a triangle is then mirrored, and any other matrix must be symmetric.

        Examples
        --------
        >>> Cooccurrence.from_matrix([[0, 2.5], [0, 0]], ["tea", "milk"], symmetric=True).row("milk")
        {'tea': 2.5}
        """
        from psdvec.counts.graphs import counts_of_matrix

        return counts_of_matrix(matrix, names, symmetric=symmetric, sources=[{"name": "matrix from Python"}])

    @classmethod
    @checked
    def from_edges(cls, edges: Any, *, directed: bool = False) -> Cooccurrence:
        """Return the counts of the edges of a graph; edges that are there twice are added up.

        Parameters
        ----------
        edges
            Pairs of names, or triples with a weight; a table of pandas, Polars or Arrow with the columns ``source``,
            ``target`` and perhaps ``weight``; a graph of networkx; or the name of a file with two names a line and, if
            there is one, a weight, separated by tabs, commas or blanks.
        directed
            Whether an edge leads only from its first name to its second.

        Examples
        --------
        >>> Cooccurrence.from_edges([("tea", "milk", 2), ("tea", "sugar")]).row("tea")
        {'milk': 2.0, 'sugar': 1.0}
        """
        from psdvec.counts.graphs import counts_of_edges

        return counts_of_edges(edges, directed=directed)

    def to_matrix(self) -> Any:
        """Return the counts as a sparse matrix of SciPy, (n, n) float64, its rows in the order of ``vocabulary``.

        >>> Cooccurrence.from_edges([("tea", "milk", 2)]).to_matrix().toarray().tolist()
        [[0.0, 2.0], [2.0, 0.0]]
        """
        from scipy import sparse

        n = len(self)
        return sparse.csr_array((self.values / UNIT, self.indices, self.indptr), shape=(n, n))

    def __len__(self) -> int:
        return len(self.vocabulary)

    @property
    def noun(self) -> str:
        """What is counted: ``"word"``, or of baskets ``"item"``."""
        return str(self.parameters.get("noun", "word"))

    def _facts(self) -> dict[str, str]:
        how = (name for name in ("tokenizer", "window", "weighting", "gaps") if name in self.parameters)
        return {
            "size": f"{count_of(len(self), self.noun)}, {count_of(len(self.values), 'pair')}",
            "read": count_of(self.tally.tokens, self.noun),
            **{name: str(self.parameters[name]) for name in how},
        }

    @property
    def provenance(self) -> dict[str, Any]:
        """What is told of these counts by what is made from them: where they are, and what was ``read`` for them."""
        tokens, sentences = self.tally.tokens, self.tally.sentences
        return {**self.origin, "words": tokens, "sentences": sentences, "read": summed_up(self.sources)}

    @checked
    def row(self, word: Key) -> dict[Key, float]:
        """Return the words that follow ``word``, or the other items of its baskets, with their counts."""
        i = self.vocabulary.ids[word]
        cells = slice(self.indptr[i], self.indptr[i + 1])
        counts = (self.values[cells] / UNIT).tolist()
        is_basket = (
            self.parameters.get("weighting") == BASKET
        )  # where what an item counts beside itself is a sign
        return {
            self.vocabulary.words[j]: count
            for j, count in zip(self.indices[cells].tolist(), counts, strict=True)
            if not (is_basket and i == j)
        }

    def identity(self) -> dict[str, Any]:
        """Return what tells these counts from others: where they are from, and a digest of all that they hold."""
        if "digest" in self.origin:
            return dict(self.origin)
        words = self.vocabulary
        digest = digest_of(tuple(words.words), words.counts, self.indptr, self.indices, self.values)
        return {**self.origin, "digest": digest}

    @checked
    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the counts as an artefact."""
        rows = Rows(self.indices, self.values, np.diff(self.indptr))
        write_counts(
            path, [rows], self.vocabulary, cells=self.indices.size,
            parameters=self.parameters, tally=self.tally, sources=self.sources, overwrite=overwrite,
            phrases=self.phrases,
        )  # fmt: skip


def summed_up(sources: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return ``sources``, those beyond the first hundred as one: a model must not grow with the number of files.

    >>> summed_up([{"name": "a", "bytes": 2}] * 102)[-1]
    {'name': '2 more files', 'bytes': 4}
    """
    kept, more = [dict(source) for source in sources[:_TOLD]], sources[_TOLD:]
    if more:
        kept.append({"name": f"{len(more):,} more files", "bytes": sum(one.get("bytes", 0) for one in more)})
    return kept


def counts_of(counts: Cooccurrence | str | Path) -> Cooccurrence:
    """Return ``counts``, or those in the folder that is named."""
    return counts if isinstance(counts, Cooccurrence) else load_counts(counts)


def load_counts(path: str | Path | Artefact) -> Cooccurrence:
    """Open counts on disk, mapped into memory and checked so that kernels may trust them.

    Whatever opens counts on disk opens them here. All that is on disk is read and compared with its checksums, and the
    pairs with each other: about 11 ms per million pairs when they are cached, and otherwise the time it takes to read
    12 bytes per pair. The memory it takes is given back.
    """
    artefact = open_artefact(path, kind=KIND, version=VERSION)
    counts = map_counts(artefact)
    with ThreadPoolExecutor(1) as beside:
        verified = beside.submit(verify_artefact, artefact)
        fault = _fault(counts)
        if fault is not None:
            raise StoreError(f"'{artefact.path}' is damaged: {fault}; count again")
        verified.result()
    return counts


def map_counts(path: str | Path | Artefact, vocabulary: Vocabulary | None = None) -> Cooccurrence:
    """Open counts without a look at their pairs: those that this process has just written, with ``vocabulary``."""
    artefact = open_artefact(path, kind=KIND, version=VERSION)
    parameters = dict(artefact.parameters)
    try:
        tally = Tally(**parameters.pop("tally"))
    except (KeyError, TypeError, InputError) as error:
        raise StoreError(f"'{artefact.path}' does not say what was counted ({error}); count again") from error
    origin = {"counts": artefact.path.name, "digest": artefact.digest}
    indptr, indices, values = (
        artefact.array(name, dtype)
        for name, dtype in (("indptr", np.int64), ("indices", np.int32), ("values", np.int64))
    )
    if vocabulary is None:
        vocabulary = read_vocabulary(artefact)
    phrases = phrases_in(artefact)
    return Cooccurrence(
        vocabulary, indptr, indices, values, parameters, tally, artefact.sources, origin, phrases
    )


def _fault(counts: Cooccurrence) -> str | None:
    """Say what is wrong with counts whose arrays are of the right types; None if kernels may trust them."""
    indptr, indices, values, words = counts.indptr, counts.indices, counts.values, counts.vocabulary.counts
    n = len(counts.vocabulary.words)
    total = None
    if indptr.shape == (n + 1,) and words.shape == (n,) and indices.shape == values.shape == (indptr[-1],):
        total = _sum_of_rows(indptr, indices, values, n)
    if total is None or words.min(initial=0) < 0:
        return "its pairs do not fit its words"
    return TOO_MANY if max(total, exact_sum(words)) > MOST else None


def _sum_of_rows(indptr: Int64s, indices: Int32s, values: Int64s, n: int) -> int | None:
    """Return what ``values`` add up to at most; None if one is below 0, or ``indices`` are no columns rising by rows.

    Where they rise, only the first and the last column of a row can lie outside. Small values are not added up, which
    would take a tenth of the time: for a thousand million pairs, what they may be beyond their sum is 1/17 of MOST.
    """
    starts, ends = indptr[:-1], indptr[1:]
    if indptr[0] != 0 or (ends < starts).any():
        return None
    starts, ends = starts[ends > starts], ends[ends > starts]
    if (indices[starts] < 0).any() or (indices[ends - 1] >= n).any():
        return None
    total = 0
    for begin in range(0, len(indices), _CHECKED_AT_ONCE):
        end = min(begin + _CHECKED_AT_ONCE, len(indices))
        first = max(begin, 1)
        falls = first + np.flatnonzero(indices[first:end] <= indices[first - 1 : end - 1])
        if (starts[np.searchsorted(starts, falls, side="right") - 1] != falls).any():
            return None
        part = values[begin:end]
        largest = int(part.view(np.uint64).max())  # so seen, a number below 0 is beyond all others
        if largest > MOST:
            return None
        total += largest * part.size if largest < _SMALL else exact_sum(part)
        if begin % _RELEASED_AT_ONCE == 0 or end == len(indices):
            release_memory(indices)
            release_memory(values)
    return total


def half_of(counts: Cooccurrence, words: int, *, seed: int, other: bool = False) -> Cooccurrence:
    """Return a random half of the counts of the first ``words`` words, or the ``other``: both add up to the counts.

    Each time that two words met goes to either half by the toss of a coin. How often they met is known where a count is
    what once or twice makes; a larger count H stands for H Σ w / Σ w² times, which gives its halves the right variance.
    """
    weights = weights_of(counts.parameters)
    once, twice = np.unique(weights), np.add.outer(np.unique(weights), np.unique(weights))
    known, first = np.unique(np.concatenate([once, twice.ravel()]), return_index=True)
    larger = np.concatenate([once, np.maximum.outer(once, once).ravel()])[first]
    unit = float(weights @ weights.astype(float)) / float(weights.sum())
    generator = np.random.default_rng(seed)
    sizes: Int64s = np.zeros(words, np.int64)
    columns, values = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
    for begin in range(0, int(counts.indptr[words]), _CHECKED_AT_ONCE):
        end = min(begin + _CHECKED_AT_ONCE, int(counts.indptr[words]))
        cells = begin + np.flatnonzero(counts.indices[begin:end] < words)
        whole = counts.values[cells]
        half = _drawn_half(whole, known, larger, unit, generator)
        half = whole - half if other else half
        cells, half = cells[half > 0], half[half > 0]
        sizes += np.bincount(np.searchsorted(counts.indptr, cells, side="right") - 1, minlength=words)
        columns.append(counts.indices[cells])
        values.append(half)
        release_memory(counts.indices)
        release_memory(counts.values)
    return replace(
        counts,
        vocabulary=Vocabulary(counts.vocabulary.words[:words], counts.vocabulary.counts[:words]),
        indptr=np.concatenate([[0], np.cumsum(sizes)]),
        indices=np.concatenate(columns),
        values=np.concatenate(values),
        origin={"counts": "half, in memory"},
    )


def _drawn_half(
    values: Int64s, known: Int64s, larger: Int64s, unit: float, generator: np.random.Generator
) -> Int64s:
    """Return what a half gets of each value: of ``known`` ones the ``larger`` part, the rest, both or nothing."""
    coins = generator.integers(0, 2, (2, values.size))
    place = np.minimum(np.searchsorted(known, values), known.size - 1)
    half: Int64s = np.where(coins[0], larger[place], 0) + np.where(coins[1], values - larger[place], 0)
    many = known[place] != values
    times = np.maximum(np.rint(values[many] / unit), 3).astype(np.int64)
    half[many] = np.rint(values[many] * (generator.binomial(times, 0.5) / times))
    return np.minimum(half, values)


def weights_of(parameters: Mapping[str, Any]) -> Int64s:
    """Return what pairs count at each distance in counts that were made so; 1 where that is not known."""
    try:
        return pair_weights(parameters["window"], str(parameters["weighting"]))
    except (KeyError, InputError):
        return np.array([UNIT])


def in_memory(counts: Cooccurrence) -> Cooccurrence:
    """Return the same counts with no array on disk."""
    return replace(
        counts,
        vocabulary=Vocabulary(counts.vocabulary.words, np.array(counts.vocabulary.counts)),
        indptr=np.array(counts.indptr),
        indices=np.array(counts.indices),
        values=np.array(counts.values),
        origin={"counts": "in memory"},
    )


def write_counts(
    path: str | Path,
    blocks: Iterable[Rows],
    vocabulary: Vocabulary,
    *,
    parameters: Mapping[str, Any],
    tally: Tally,
    sources: Sequence[Mapping[str, Any]],
    overwrite: bool,
    cells: int | None = None,
    phrases: Phrases | None = None,
) -> Cooccurrence:
    """Write rows as an artefact, one block at a time, as ``blocks`` yields them; it is quicker if ``cells`` is known.

    Counting and merging pass iterators that compute a block when it is asked for, so the work is done in here.
    Returns what was written, mapped into memory.
    """
    in_order = sorted(
        (dict(source) for source in sources), key=lambda source: sorted(map(str, source.items()))
    )
    with create_artefact(
        path, kind=KIND, version=VERSION, parameters={**parameters, "tally": tally.recorded()},
        sources=in_order, overwrite=overwrite,
    ) as writer:  # fmt: skip
        write_vocabulary(writer, vocabulary)
        if phrases is not None:
            writer.add_text(PHRASES, phrases.text())
        with (
            writer.stream_array("indices", np.int32, length=cells) as indices,
            writer.stream_array("values", np.int64, length=cells) as values,
            ThreadPoolExecutor(1) as one,
            ThreadPoolExecutor(1) as other,
        ):
            sizes, waiting = [np.zeros(1, np.int64)], deque[Future[None]]()
            for block in blocks:
                waiting += [
                    one.submit(indices.write, block.columns),
                    other.submit(values.write, block.values),
                ]
                sizes.append(block.sizes)
                while len(waiting) > 2 * _WRITTEN_AHEAD:
                    waiting.popleft().result()
            for written in waiting:
                written.result()
        writer.add_array("indptr", np.cumsum(np.concatenate(sizes)))
    # As they were given: a tokenizer of one's own is a function, of which the folder has only the name.
    return replace(map_counts(path, vocabulary), parameters=parameters)
