"""Which of two lists of words goes with which of two others: the effect, word by word, along an axis, by slices.

The association of a word with two lists of attributes A and B is that of Caliskan et al. (2017),
``s(w) = mean cos(w, a) - mean cos(w, b)``: the word's projection on the axis ``mean a/|a| - mean b/|b|``. The effect
of two lists of targets X and Y is ``d = (mean s(x) - mean s(y)) / std s`` over X and Y. Vectors are those of the model
or, where documents are given, of the words' uses in them (:mod:`psdvec.slices.blocks`); then all numbers are functions
of sums over blocks of documents, and an interval over documents is had by leaving out one block after the other.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from itertools import combinations
from math import comb, nan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student

from psdvec.arrays import Float64s, Int64s
from psdvec.errors import InputError, checked, demand_positive, demand_seed, demand_words, import_extra
from psdvec.formats import load
from psdvec.options import ENCODING
from psdvec.progress import LogProgress, Progress, Shown, SilentProgress, count_of
from psdvec.resources import limit_blas, resolve_workers
from psdvec.slices.blocks import ROOM, find_uses
from psdvec.slices.change import WINDOW
from psdvec.slices.contrasts import chances, check_permutations, jackknife, permuted
from psdvec.slices.reading import read_slices
from psdvec.storage.artefact import check_output
from psdvec.topic_model.documents import Source
from psdvec.vectors.embeddings import Embeddings

KIND = "association"  # of the folder that it is written to
EFFECT, ASSOCIATION, PROJECTION = "effect", "association", "projection"
MODEL, DIFFERENCE = "model", "between slices"  # in place of the name of a slice
WORDS = "words"  # in place of the name of a list
FEWEST = 2  # words of a list
_HEAD = ("slice", "measure", "list", "word", "value", "low", "high", "documents low", "documents high", "p")
_ENUMERATED, _DRAWN = 200_000, 20_000  # partitions of targets: all of them up to here, or so many at random
_AT_ONCE = 1 << 24  # numbers of the vectors that are held at once
_SPREAD = 1e-9  # standard deviation of associations below which they are all alike


class Estimate(NamedTuple):
    """A number with its 95 % intervals: ``low`` to ``high`` over words, and over documents; nan where there is none.

    ``measure`` is ``"effect"``, ``"association"`` of a target word, or ``"projection"`` of any word on the axis.
    ``p`` of an effect is over words, and that of a difference between slices over documents.
    """

    slice: str
    measure: str
    listed: str
    word: str
    value: float
    low: float
    high: float
    documents_low: float
    documents_high: float
    p: float


@dataclass(frozen=True, eq=False, repr=False)
class Association(Shown):
    """What :func:`association` found.

    ``targets`` and ``attributes``: the words that were used, by the names of their lists. ``estimates``: effects first,
    then the words, those that go most with the first attributes first. ``missing``: words without a vector, by
    list; ``rare``: words that occur too rarely in some slice. ``documents``: how many each slice has.
    """

    targets: Mapping[str, tuple[str, ...]]
    attributes: Mapping[str, tuple[str, ...]]
    slices: tuple[str, ...]
    estimates: tuple[Estimate, ...]
    missing: Mapping[str, tuple[str, ...]]
    rare: Mapping[str, tuple[str, ...]]
    documents: tuple[int, ...]
    permutations: int

    def __len__(self) -> int:
        return len(self.estimates)

    def _facts(self) -> dict[str, str]:
        words = {one.word for one in self.estimates if one.word}
        shown = [
            f"{name} {one.value:.2f} ({one.low:.2f} to {one.high:.2f})" for name, one in self.effects.items()
        ]
        return {
            "size": f"{count_of(len(words), 'word')}, {count_of(len(self.slices), 'slice')}",
            "axis": " - ".join(self.attributes),
            **({"effect": ", ".join(shown)} if shown else {}),
        }

    @cached_property
    def effects(self) -> dict[str, Estimate]:
        """The effect in each slice and, if there are several, their difference; none without targets."""
        return {one.slice: one for one in self.estimates if one.measure == EFFECT}

    def left_out(self) -> list[str]:
        """Return sentences that name the words that were left out."""
        why = ((self.missing, "without a vector"), (self.rare, "too rare in some slice"))
        return [
            f"{count_of(len(words), 'word')} of '{name}' {reason}, left out: {', '.join(words)}"
            for lists, reason in why
            for name, words in lists.items()
        ]

    def rows(self) -> list[tuple[Any, ...]]:
        """Return what ``association.csv`` holds: a heading, and a row for each estimate, with blanks for nan."""
        numbers = [["" if np.isnan(x) else float(f"{x:.6g}") for x in one[4:]] for one in self.estimates]
        return [_HEAD, *((*one[:4], *cells) for one, cells in zip(self.estimates, numbers, strict=True))]

    def to_frame(self) -> Any:
        """Return the estimates as a pandas data frame."""
        pandas = import_extra("pandas", extra="pandas", purpose="a data frame")
        return pandas.DataFrame(self.estimates, columns=self.rows()[0])


@checked
def association(
    model: Embeddings | str | Path,
    documents: Source | None = None,
    *,
    targets: Mapping[str, Sequence[str]] | Sequence[str] | None = None,
    attributes: Mapping[str, Sequence[str]] | Sequence[str],
    words: Sequence[str] | None = None,
    lists: str | Path | None = None,
    by: str | None = None,
    slices: Mapping[str, Any] | None = None,
    unit: str | None = None,
    column: str | None = None,
    where: Mapping[str, Any] | None = None,
    encoding: str = ENCODING,
    tokenizer: str | Callable[[str], Any] | None = None,
    window: int | None = None,
    min_count: int = 20,
    permutations: int = 1000,
    seed: int = 0,
    workers: int | None = None,
    output: str | Path | None = None,
    overwrite: bool = False,
    quiet: bool = False,
    progress: Progress = LogProgress(),
) -> Association:
    """Return how two lists of words go with two others, with intervals over words and over documents, and tests.

    Parameters
    ----------
    model
        Vectors, or the folder that holds them.
    documents
        Texts to measure in, in place of the model's own vectors, as for :func:`psdvec.change`; with ``by``, in each
        slice. Without ``by`` all of them are one slice.
    targets, attributes
        Two lists of words each, ``{"career": [...], "family": [...]}``; or the names of two lists that are in
        the package, or in the file ``lists``. The effect is positive if the first targets go with the first
        attributes.
    words
        Further words, to be projected on the axis from the second attributes to the first.
    lists
        A JSON or TOML file that has arrays of words by their names.
    slices, unit, column, where, encoding, tokenizer, window
        As for :func:`psdvec.change`.
    min_count
        Words that occur fewer times in any slice of documents are left out.
    permutations
        How often documents are dealt to slices at random, for the test of differences.
    output
        A folder for ``association.csv`` and ``association.html``.

    Examples
    --------
    >>> e = Embeddings(tuple("abcdwxyz"), np.float32([[9, 0], [8, 1], [0, 9], [1, 8], [7, 2], [9, 1], [2, 7], [1, 9]]))
    >>> attributes = {"A": ["a", "b"], "B": ["c", "d"]}
    >>> found = association(e, targets={"X": ["w", "x"], "Y": ["y", "z"]}, attributes=attributes)
    >>> round(found.effects["model"].value, 2), round(found.effects["model"].p, 2)
    (1.98, 0.33)
    """
    if quiet:
        progress = SilentProgress()
    if window is not None:
        demand_positive(window, "window")
    demand_positive(min_count, "min_count")
    demand_seed(seed)
    threads = resolve_workers(workers)
    if output is not None:
        check_output(output, overwrite=overwrite, kind=KIND)
    check_permutations(permutations)
    if targets is None and not words:
        raise InputError("there is nothing to measure; give targets, or words, or both")
    asked = [*_two_lists("attributes", attributes, lists)]
    asked += [] if targets is None else _two_lists("targets", targets, lists)
    asked += [(WORDS, words)] if words else []
    embeddings = model if isinstance(model, Embeddings) else load(model, progress=progress)
    if documents is None and slices is None:
        if by is not None or unit is not None or window is not None:
            raise InputError("by, unit and window are about documents, and there are none; give documents")
        found = find_words(embeddings, asked, None)
        vectors = np.asarray(embeddings.vectors)
        blocks = Summed((MODEL,), np.zeros(1, np.int64), lambda ids: vectors[None, ids].astype(np.float64))
        sizes: tuple[int, ...] = ()
    else:
        sliced = read_slices(
            embeddings, documents, by=by, slices=slices, unit=unit, window=window, column=column, where=where,
            encoding=encoding, tokenizer=tokenizer, alone=True, progress=progress,
        )  # fmt: skip
        with limit_blas(1):
            uses = find_uses(
                embeddings, sliced, window=window or WINDOW, seed=seed, workers=threads, progress=progress
            )
        found = find_words(embeddings, asked, (uses.occurrences >= min_count).all(axis=1))
        blocks = Summed(sliced.names, uses.slices, lambda ids: uses.of(ids)[0])
        sizes = sliced.sizes
    with limit_blas(1):  # so that the last bits are the same for any number of threads
        estimates = measure(found, blocks, permutations=permutations, seed=seed, progress=progress)
    result = Association(
        found.targets, found.attributes, blocks.names, tuple(estimates), found.missing, found.rare, sizes, permutations
    )  # fmt: skip
    if output is not None:
        from psdvec.slices.association_page import write_association

        origin = getattr(embeddings, "provenance", {"vectors": "in memory"})
        write_association(result, output, origin=origin, overwrite=overwrite)
    return result


# Words and lists.


def read_lists(path: str | Path | None = None) -> dict[str, list[str]]:
    """Return the word lists of the package by their names, and those of a file of one's own.

    >>> read_lists()["physical-disease"]
    ['sick', 'illness', 'influenza', 'disease', 'virus', 'cancer']
    """
    own: dict[str, Any] = {}
    if path is not None:
        try:
            text = Path(path).read_text(encoding="utf-8")
            own = tomllib.loads(text) if Path(path).suffix == ".toml" else json.loads(text)
        except OSError as error:
            raise InputError(
                f"'{path}' cannot be read: {error.strerror}; give JSON or TOML with word lists"
            ) from error
        except ValueError as error:
            raise InputError(
                f"'{path}' is neither JSON nor TOML: {error}; give word lists as either"
            ) from error
        if not isinstance(own, dict) or not own:
            raise InputError(f"'{path}' holds no word lists; give arrays of words by their names")
    package = files("psdvec.slices").joinpath("associations.toml").read_text(encoding="utf-8")
    return {**tomllib.loads(package), **{name: demand_words(words, name) for name, words in own.items()}}


def _two_lists(
    what: str, given: Mapping[str, Sequence[str]] | Sequence[str], path: str | Path | None
) -> list[tuple[str, Sequence[str]]]:
    """Return two lists with their names, from where they are named."""
    if not isinstance(given, Mapping):
        known = read_lists(path)
        unknown = [name for name in given if name not in known]
        if unknown:
            raise InputError(f"there is no word list '{unknown[0]}'; there are {', '.join(known)}")
        given = {name: known[name] for name in given}
    if len(given) != 2:
        raise InputError(f"there must be two lists of {what}, and {count_of(len(given), 'list')} came")
    return list(given.items())


@dataclass(frozen=True, eq=False)
class Found:
    """The words of an association, each list without what has no vector."""

    targets: Mapping[str, tuple[str, ...]]
    attributes: Mapping[str, tuple[str, ...]]
    along: tuple[str, ...]
    missing: Mapping[str, tuple[str, ...]]
    rare: Mapping[str, tuple[str, ...]]
    places: Mapping[str, int]

    def rows(self, words: Iterable[str]) -> Int64s:
        """Return the rows of some words in the vectors."""
        return np.array([self.places[word] for word in words], np.int64)


def find_words(embeddings: Embeddings, lists: Sequence[tuple[str, Sequence[str]]], frequent: Any) -> Found:
    """Look the words of all lists up; ``frequent`` (n,) says which words occur often enough, None for all."""
    places: dict[str, int] = {}
    used: dict[str, tuple[str, ...]] = {}
    missing, rare = {}, {}
    for name, words in lists:
        if name in used:
            raise InputError(f"two lists are called '{name}'; give each a name of its own")
        forms = {word: embeddings.look_up(word, unseen="spelling") for word in words}
        known = {form: embeddings.key_to_index[form] for form in forms.values() if form in embeddings}
        known = {form: place for form, place in known.items() if np.any(embeddings.vectors[place])}
        kept = {form: place for form, place in known.items() if frequent is None or frequent[place]}
        absent = tuple(word for word, form in forms.items() if form not in known)
        seldom = tuple(form for form in known if form not in kept)
        missing.update({name: absent} if absent else {})
        rare.update({name: seldom} if seldom else {})
        if len(kept) < (1 if name == WORDS else FEWEST):
            why = {"unknown": absent, "too rare in some slice": seldom}
            gone = "; ".join(f"{reason}: {', '.join(words)}" for reason, words in why.items() if words)
            raise InputError(
                f"the list '{name}' has {count_of(len(kept), 'word')} to measure, which is too few"
                + (f" ({gone}); give others" if gone else "; give more")
                + (", or ask for fewer occurrences with min_count=N" if seldom else "")
            )
        used[name] = tuple(kept)
        places.update(kept)
    along = used.pop(WORDS, ())
    attributes, targets = dict(list(used.items())[:2]), dict(list(used.items())[2:])
    for pair in (attributes, targets):
        both = set.intersection(*map(set, pair.values())) if pair else ()
        if both:
            raise InputError(f"'{min(both)}' is in both lists, {' and '.join(pair)}; take it out of one")
    return Found(targets, attributes, along, missing, rare, places)


# Measuring. A way is a group of blocks of documents, and weights of the attributes: all of them in each slice; without
# each block; without each attribute; and with blocks dealt to slices by chance.


@dataclass(frozen=True, eq=False)
class Summed:
    """Blocks of documents: the names of slices, the slice of each block (K,), and sums of words, (K, words, d)."""

    names: tuple[str, ...]
    slices: Int64s
    sums: Callable[[Int64s], Float64s]


class _Parts(NamedTuple):
    """Numbers (W, m) by their ways."""

    slices: Float64s  # (S, m)
    blocks: Float64s  # (K, m), without each block; nothing without documents
    words: Float64s  # (S, a, m), without each attribute
    chance: Float64s  # (P, S, m)


@dataclass(frozen=True, eq=False)
class _Ways:
    """Groups of blocks (W, K) and weights of attributes (W, a)."""

    groups: Float64s
    weights: Float64s
    slices: Int64s  # (K,)
    attributes: Int64s  # (a,): the list of each

    def split(self, values: Float64s) -> _Parts:
        """Return numbers (W, m) by their ways."""
        S, K, a = int(self.slices.max()) + 1, len(self.slices), len(self.attributes)
        slices, blocks, words, chance = np.split(values, np.cumsum([S, K * (K > 1), S * a]))
        m = values.shape[1]
        return _Parts(slices, blocks, words.reshape(S, a, m), chance.reshape(-1, S, m))


def _make_ways(slices: Int64s, sizes: tuple[int, int], permutations: int, seed: int) -> _Ways:
    """Return all ways; ``sizes`` are those of the lists of attributes."""
    numbers, attributes = np.arange(int(slices.max()) + 1), np.repeat([0, 1], sizes)
    own = (slices == numbers[:, None]).astype(float)
    orders = permuted(slices, permutations, seed=seed) if len(numbers) > 1 else []
    first = [own, (own[slices] - np.eye(len(slices)))[len(slices) == 1 :]]  # a single block is the model
    groups = [
        *first,
        np.repeat(own, len(attributes), axis=0),
        *(order == numbers[:, None] for order in orders),
    ]
    all_of_them = _weights(np.ones((1, len(attributes))), attributes)
    weights = np.tile(all_of_them, (sum(map(len, groups)), 1))
    begin, number = sum(map(len, first)), len(numbers) * len(attributes)
    weights[begin : begin + number] = np.tile(
        _weights(1 - np.eye(len(attributes)), attributes), (len(numbers), 1)
    )
    return _Ways(np.concatenate(groups), weights, slices, attributes)


def _weights(chosen: Float64s, attributes: Int64s) -> Float64s:
    """Return weights that take the mean of the first list less that of the second, over those ``chosen``."""
    first, second = chosen * (attributes == 0), chosen * (attributes == 1)
    weights: Float64s = first / first.sum(axis=1, keepdims=True) - second / second.sum(axis=1, keepdims=True)
    return weights


def _units(sums: Float64s, groups: Float64s) -> Iterable[tuple[slice, Float64s]]:
    """Yield unit vectors of words in groups of blocks, (ways, words, d), some ways at a time; 0 where there is none."""
    flat = sums.reshape(len(sums), -1)
    step = max(_AT_ONCE // flat.shape[1], 1)
    for begin in range(0, len(groups), step):
        part = slice(begin, begin + step)
        vectors = (groups[part] @ flat).reshape(-1, *sums.shape[1:])
        lengths = np.linalg.norm(vectors, axis=2, keepdims=True)
        yield part, np.divide(vectors, lengths, out=vectors, where=lengths > 0)


def _axes(sums: Float64s, ways: _Ways) -> Float64s:
    """Return the axis of the attributes in each way, (W, d)."""
    return np.concatenate(
        [np.einsum("wa,wad->wd", ways.weights[part], units) for part, units in _units(sums, ways.groups)]
    )


def _associations(sums: Float64s, ways: _Ways, axes: Float64s) -> Float64s:
    """Return s(w) of words in each way, (W, words)."""
    return np.concatenate(
        [(units @ axes[part, :, None])[..., 0] for part, units in _units(sums, ways.groups)]
    )


def effects(associations: Float64s, first: int) -> Float64s:
    """Return d of associations (..., words), of which the ``first`` columns are of the first list of targets.

    >>> effects(np.array([[1.0, 1.0, 0.0, 0.0]]), 2).tolist()
    [2.0]
    """
    spread = associations.std(axis=-1)
    apart = associations[..., :first].mean(axis=-1) - associations[..., first:].mean(axis=-1)
    return np.asarray(np.divide(apart, spread, out=np.full_like(apart, nan), where=spread > _SPREAD))


def chance_of_partition(associations: Float64s, first: int, *, seed: int) -> float:
    """Return the share of partitions of the targets, of the same sizes, whose lists are at least as far apart.

    All partitions are tried where there are few, with a p that is exact; else some at random.

    >>> chance_of_partition(np.array([3.0, 2.0, 1.0, 0.0]), 2, seed=0)  # 2 of 6: itself, and its mirror image
    0.3333333333333333
    """
    number = len(associations)
    if comb(number, first) <= _ENUMERATED:
        chosen = np.array(list(combinations(range(number), first)))
        sampled = 0
    else:
        generator = np.random.default_rng(seed)
        chosen = generator.permuted(np.tile(np.arange(number), (_DRAWN, 1)), axis=1)[:, :first]
        sampled = 1
    sums = associations[chosen].sum(axis=1)
    apart = np.abs(sums / first - (associations.sum() - sums) / (number - first))
    observed = abs(associations[:first].mean() - associations[first:].mean())
    beyond = int((apart >= observed - _SPREAD).sum())  # sums in another order differ in their last bits
    return (beyond + sampled) / (len(chosen) + sampled)


def measure(
    found: Found, blocks: Summed, *, permutations: int, seed: int, progress: Progress
) -> list[Estimate]:
    """Return all estimates."""
    lists = [found.rows(words) for words in found.attributes.values()]
    ways = _make_ways(blocks.slices, (len(lists[0]), len(lists[1])), permutations, seed + 1)
    axes = _axes(blocks.sums(np.concatenate(lists)), ways)
    lengths = np.linalg.norm(axes, axis=1, keepdims=True)
    if (lengths[: len(blocks.names)] <= _SPREAD).any():
        raise InputError(
            f"the lists {' and '.join(map(repr, found.attributes))} point the same way, and make no axis; give others"
        )
    estimates: list[Estimate] = []
    names = blocks.names
    owners = {word: name for name, words in found.targets.items() for word in words}
    step = max(ROOM // (8 * len(blocks.slices) * axes.shape[1]), 1)
    with progress.stage("measuring", total=len(owners) + len(found.along), unit="words") as stage:
        if owners:
            parts = np.array_split(found.rows(owners), range(step, len(owners), step))
            values = np.hstack([_associations(blocks.sums(part), ways, axes) for part in parts])
            stage.advance(len(owners))
            estimates += _effect(values, ways, found, names, seed=seed)
            estimates += _single(values, ways, names, ASSOCIATION, owners)
        for begin in range(0, len(found.along), step):
            words = found.along[begin : begin + step]
            values = _associations(blocks.sums(found.rows(words)), ways, axes)
            values = np.divide(values, lengths, out=np.full_like(values, nan), where=lengths > 0)
            estimates += _single(values, ways, names, PROJECTION, dict.fromkeys(words, ""))
            stage.advance(len(words))
    order = {EFFECT: 0, ASSOCIATION: 1, PROJECTION: 2}
    first = {(one.measure, one.word): -one.value for one in estimates if one.slice == names[0]}
    return sorted(estimates, key=lambda one: (order[one.measure], first[one.measure, one.word], one.word))


def _effect(
    values: Float64s, ways: _Ways, found: Found, names: Sequence[str], *, seed: int
) -> list[Estimate]:
    """Return the effect in each slice, and the difference, from the associations of the targets (W, x + y)."""
    x, y = map(len, found.targets.values())
    own = ways.split(values).slices
    if (own.std(axis=1) <= _SPREAD).any():
        raise InputError(
            f"all target words go alike with {' and '.join(map(repr, found.attributes))}, so that the effect has no "
            "scale; give other lists"
        )
    # (S, x + y): the effect without each of the target words.
    targets = np.stack([effects(np.delete(own, k, axis=1), x - (k < x)) for k in range(x + y)], axis=1)
    without = np.concatenate([ways.split(effects(values, x)[:, None]).words[..., 0], targets], axis=1)
    groups = np.concatenate([ways.attributes, np.repeat([2, 3], [x, y])])
    p = [chance_of_partition(one, x, seed=seed) for one in own]
    most = (x + y) / np.sqrt(x * y)  # no effect is larger: 2 for lists of one length
    label = (" - ".join(found.targets), "")
    return _estimates(effects(values, x)[:, None], without[..., None], groups, ways, names, np.array(p)[:, None],
                      EFFECT, [label], most)  # fmt: skip


def _single(
    values: Float64s, ways: _Ways, names: Sequence[str], measure: str, owners: Mapping[str, str]
) -> list[Estimate]:
    """Return the association, or the projection, of single words from their values (W, m); only attributes vary."""
    without = ways.split(values).words
    p = np.full((len(names), values.shape[1]), nan)
    labels = [(listed, word) for word, listed in owners.items()]
    most = 2.0 if measure == ASSOCIATION else 1.0
    return _estimates(values, without, ways.attributes, ways, names, p, measure, labels, most)


def _estimates(
    values: Float64s, without: Float64s, groups: Int64s, ways: _Ways, names: Sequence[str], p: Float64s,
    measure: str, labels: Sequence[tuple[str, str]], most: float,
) -> list[Estimate]:  # fmt: skip
    """Return estimates of m numbers in each slice, and of the difference of slices.

    ``values`` (W, m); ``without`` (S, words, m): in each slice, without each word, of which ``groups`` says the list.
    No number is beyond ``most``.
    """
    parts = ways.split(values)
    nothing = np.full((2, values.shape[1]), nan)
    rows: dict[str, list[Float64s]] = {}  # by slice: the value, four ends of intervals, p
    errors = []
    for number, name in enumerate(names):
        value, over_documents = parts.slices[number], nothing
        if len(parts.blocks):
            value, error, freedom = _less_bias(value, parts.blocks[ways.slices == number])
            value = np.clip(value, -most, most)
            over_documents = _interval(value, error, freedom, most)
            errors.append((error, freedom))
        over_words = _interval(value, *jackknife(without[number].T, groups), most)
        rows[name] = [value, *over_words, *over_documents, p[number]]
    if len(names) > 1:
        weights = np.bincount(ways.slices) / len(ways.slices)
        spread = [weights @ (one - weights @ one) ** 2 for one in (parts.slices, *parts.chance)]
        rows[DIFFERENCE] = [nothing[0], *nothing, *nothing, chances(spread[0], np.stack(spread[1:], axis=1))]
    if len(names) == 2:
        apart = rows[names[0]][0] - rows[names[1]][0]
        (one, few), (two, fewer) = errors
        rows[DIFFERENCE][:5] = [
            apart, *_interval(apart, *jackknife((without[0] - without[1]).T, groups), 2 * most),
            *_interval(apart, np.hypot(one, two), np.minimum(few, fewer), 2 * most),
        ]  # fmt: skip
    return [
        Estimate(name, measure, listed, word, *(float(cell[k]) for cell in row))
        for k, (listed, word) in enumerate(labels)
        for name, row in rows.items()
    ]


def _less_bias(value: Float64s, blocks: Float64s) -> tuple[Float64s, Float64s, Float64s]:
    """Return numbers (m,) less their bias, their errors and degrees of freedom, from those without each block, (K, m).

    Words of which there is little text have noisy vectors, and noise draws cosines towards 0. The jackknife tells how
    much; that is uncertain itself, so no more than a standard error is corrected, and the correction counts as error.
    """
    error, freedom = jackknife(blocks.T, np.zeros(len(blocks), np.int64))
    shift = np.clip((len(blocks) - 1) * (value - blocks.mean(axis=0)), -error, error)
    return value + shift, np.hypot(error, shift), freedom


def _interval(value: Float64s, error: Float64s, freedom: Float64s, most: float) -> Float64s:
    """Return the ends of 95 % intervals, (2, m)."""
    width = student.ppf(0.975, freedom) * error
    return np.asarray(np.clip([value - width, value + width], -most, most))
