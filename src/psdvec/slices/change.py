"""Which words are used differently in some slices of documents: :func:`change` reads, measures, tests and writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.errors import InputError, checked, demand_positive, demand_seed, import_extra
from psdvec.formats import load
from psdvec.options import ENCODING
from psdvec.progress import LogProgress, Progress, Shown, SilentProgress, count_of
from psdvec.resources import limit_blas, resolve_workers
from psdvec.slices.blocks import Blocks, context_features, deal, induction_matrix
from psdvec.slices.contrasts import WIDTH, chances, contrast, false_discoveries, permuted, steps
from psdvec.storage.artefact import check_output
from psdvec.topic_model.documents import Documents, Source, read_documents
from psdvec.topic_model.page import order_of
from psdvec.vectors.embeddings import Embeddings

KIND = "change"  # of the folder that it is written to
FEWEST_DOCUMENTS = 16  # of a slice
MOST_SLICES = 24
_ROOM = 1 << 29  # bytes of the sums that are held at once
_AT_ONCE = 1 << 24  # numbers of the products of Gram matrices that are held at once
_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-\d\d.*)?)?")


@dataclass(frozen=True, eq=False, repr=False)
class Change(Shown):
    """What :func:`change` found, the words that surely changed most first.

    ``occurrences`` (words, slices). ``distance``: how far apart the uses of a word are in two slices,
    the mean over the steps from each slice to the next, with its 95 % interval from ``low`` to ``high``; chance adds
    nothing to it, so that it may be below 0. ``cosine``: between the uses, likewise. ``p``: how likely so large a
    change is where documents have nothing to do with slices. ``q``: the share of false discoveries among the words
    with a p no larger. ``vectors`` (slices, words, d): where the word is in each slice, on the axes of the model.
    ``only``: words of one slice alone, with how often they occur there.
    """

    slices: tuple[str, ...]
    words: tuple[str, ...]
    occurrences: Int64s
    distance: Float64s
    low: Float64s
    high: Float64s
    p: Float64s
    q: Float64s
    cosine: Float64s
    vectors: Float32s
    only: Mapping[str, tuple[tuple[str, int], ...]]
    documents: tuple[int, ...]
    embeddings: Embeddings
    permutations: int

    def __len__(self) -> int:
        return len(self.words)

    def _facts(self) -> dict[str, str]:
        return {
            "size": f"{count_of(len(self), 'word')}, {count_of(len(self.slices), 'slice')}",
            "changed": f"{count_of(int((self.q <= 0.05).sum()), 'word')} at a false discovery rate of 5 %",
            "first": ", ".join(self.words[:8]),
        }

    @cached_property
    def ids(self) -> dict[str, int]:
        """The place of each word."""
        return {word: place for place, word in enumerate(self.words)}

    def place_of(self, word: str) -> int:
        """Return the place of a word, or say why it has none."""
        if word not in self.ids:
            raise InputError(
                f"'{word}' is not among the {len(self):,} words that occur often enough in every slice"
            )
        return self.ids[word]

    @checked
    def neighbours(self, word: str, *, topn: int = 10) -> dict[str, list[tuple[str, float]]]:
        """Return the words of the model that are nearest to a word in each slice, with their cosines."""
        place = self.place_of(word)
        found = {}
        for name, vectors in zip(self.slices, self.vectors, strict=True):
            near = self.embeddings.similar_by_vector(vectors[place], topn=topn + 1)
            found[name] = [(other, cosine) for other, cosine in near if other != word][:topn]
        return found

    def rows(self) -> list[tuple[Any, ...]]:
        """Return what ``change.csv`` holds: a heading, and a row for each word."""
        head = (
            "word",
            *(f"occurrences {name}" for name in self.slices),
            "distance",
            "low",
            "high",
            "p",
            "q",
            "cosine",
        )
        numbers = zip(self.distance, self.low, self.high, self.p, self.q, self.cosine, strict=True)
        return [
            head,
            *(
                (word, *counts, *(float(f"{number:.6g}") for number in each))
                for word, counts, each in zip(self.words, self.occurrences.tolist(), numbers, strict=True)
            ),
        ]

    def to_frame(self) -> Any:
        """Return the rows as a pandas data frame, by word."""
        pandas = import_extra("pandas", extra="pandas", purpose="a data frame")
        head, *rows = self.rows()
        return pandas.DataFrame(rows, columns=head).set_index("word")


@checked
def change(
    model: Embeddings | str | Path,
    documents: Source | None = None,
    *,
    by: str | None = None,
    slices: Mapping[str, Any] | None = None,
    column: str | None = None,
    where: Mapping[str, Any] | None = None,
    encoding: str = ENCODING,
    tokenizer: str | Callable[[str], Any] | None = None,
    window: int = 5,
    min_count: int = 20,
    permutations: int = 200,
    seed: int = 0,
    workers: int | None = None,
    output: str | Path | None = None,
    overwrite: bool = False,
    quiet: bool = False,
    progress: Progress = LogProgress(),
) -> Change:
    """Return which words are used differently in slices of some documents, how much at least, and how sure that is.

    Documents, not words, are what chance deals to slices: one long speech full of a word is one speech.

    Parameters
    ----------
    model
        Vectors of all the text, or the folder that holds them; every slice is placed on their axes.
    documents
        Files, texts or a table, as for :func:`psdvec.topics`; with ``by``, the field that says which slice a document
        is of. Dates are put into years, decades or months, whichever gives at most 24 slices.
    slices
        In place of both: documents by the name of their slice.
    column, where, encoding, tokenizer
        As for :func:`psdvec.topics`.
    window
        Contexts reach this many words to either side.
    min_count
        Words that occur fewer times in any slice are left out.
    permutations
        How often documents are dealt to slices at random, for the test.
    output
        A folder for ``change.csv`` and ``change.html``.
    """
    if quiet:
        progress = SilentProgress()
    demand_positive(window, "window")
    demand_positive(min_count, "min_count")
    demand_seed(seed)
    threads = resolve_workers(workers)
    if output is not None:
        check_output(output, overwrite=overwrite, kind=KIND)
    if permutations < 20:
        raise InputError(f"permutations={permutations} is too few for a test; give 20 or more")
    embeddings = model if isinstance(model, Embeddings) else load(model, progress=progress)
    read_one = partial(
        read_documents, embeddings=embeddings, column=column, where=where, encoding=encoding, tokenizer=tokenizer,
        progress=progress,
    )  # fmt: skip
    if slices is not None:
        if documents is not None or by is not None:
            raise InputError(
                "slices are given, and documents as well; give either slices, or documents and by"
            )
        read, names, owners = _read_slices([read_one(source) for source in slices.values()], slices)
    else:
        if documents is None or by is None:
            raise InputError(
                "nothing says which document is of which slice; give documents and by, or slices"
            )
        read = read_one(documents, by=[by])
        names, owners = _slices_of(read.fields[by], by, progress)
    sizes = [int((owners == number).sum()) for number in range(len(names))]
    small = min(range(len(names)), key=sizes.__getitem__)
    if sizes[small] < FEWEST_DOCUMENTS:
        raise InputError(
            f"the slice '{names[small]}' has {count_of(sizes[small], 'document')}, and a test takes "
            f"{FEWEST_DOCUMENTS} or more in each; join it with another slice, or leave it out"
        )
    with limit_blas(1):  # so that the last bits are the same for any number of threads
        found = _measure(
            embeddings, read, names, owners, window=window, least=min_count, permutations=permutations, seed=seed,
            workers=threads, progress=progress,
        )  # fmt: skip
    if output is not None:
        from psdvec.slices.page import write_change

        write_change(found, output, overwrite=overwrite)
    return found


def _read_slices(
    parts: Sequence[Documents], slices: Iterable[str]
) -> tuple[Documents, tuple[str, ...], Int64s]:
    """Join the documents of several slices."""
    if len(parts) < 2:
        raise InputError(f"there is only {count_of(len(parts), 'slice')}; give two or more to compare")
    owners = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    starts = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part.starts) for part in parts]))])
    joined = Documents(
        tuple(name for part in parts for name in part.names),
        np.concatenate([part.tokens for part in parts]),
        starts.astype(np.int64),
        {},
    )
    return joined, tuple(map(str, slices)), owners


def _slices_of(
    values: Sequence[str | None], field: str, progress: Progress
) -> tuple[tuple[str, ...], Int64s]:
    """Return the names of the slices in their order, and the slice of each document, -1 where it has none."""
    known = {value for value in values if value is not None}
    binned = {value: value for value in known}
    if len(known) > MOST_SLICES:
        binned = _binned(known, field, progress)
    names = sorted(set(binned.values()), key=order_of)
    if len(names) < 2:
        raise InputError(
            f"the field '{field}' has only one value, '{names[0]}'; two or more are needed to compare"
        )
    places = {name: place for place, name in enumerate(names)}
    missing = sum(value is None for value in values)
    if missing:
        progress.say(f"documents without '{field}', left out: {missing:,}")
    owners = np.array([-1 if value is None else places[binned[value]] for value in values])
    return tuple(names), owners


def _binned(values: set[str], field: str, progress: Progress) -> dict[str, str]:
    """Return dates as years or, if these are too many, decades or centuries; those of one year as months."""
    dates = {value: _DATE.fullmatch(value) for value in values}
    if not all(dates.values()):
        raise InputError(
            f"the field '{field}' has {len(values):,} values, which are too many slices (at most {MOST_SLICES}) and no "
            "dates; name a field with fewer"
        )
    ways = {
        "year": {value: date[1] for value, date in dates.items() if date},
        "decade": {value: f"{date[1][:3]}0" for value, date in dates.items() if date},
        "century": {value: f"{date[1][:2]}00" for value, date in dates.items() if date},
        "month": {value: f"{date[1]}-{date[2] or '01'}" for value, date in dates.items() if date},
    }
    for way, binned in ways.items():
        if 2 <= len(set(binned.values())) <= MOST_SLICES:
            progress.say(f"'{field}' holds {len(values):,} dates; slices are by {way}")
            return binned
    raise InputError(f"the dates of '{field}' span too many centuries; name a field with fewer values")


def _measure(
    embeddings: Embeddings,
    read: Documents,
    names: tuple[str, ...],
    owners: Int64s,
    *,
    window: int,
    least: int,
    permutations: int,
    seed: int,
    workers: int,
    progress: Progress,
) -> Change:
    """Add up, compare and test."""
    n = len(embeddings)
    slots = np.repeat(owners, np.diff(read.starts))
    known = (read.tokens >= 0) & (slots >= 0)
    occurrences = np.stack(
        [np.bincount(read.tokens[known & (slots == number)], minlength=n) for number in range(len(names))],
        axis=1,
    )
    if not occurrences.sum():
        raise InputError("no document has a word with a vector; give vectors of the same language")
    members, slices = deal([np.flatnonzero(owners == number) for number in range(len(names))], seed=seed)
    features = context_features(embeddings)
    blocks = Blocks(read, members, features, window, workers)
    ranges = list(blocks.strips(n, room=_ROOM))
    totals: Float64s = np.zeros((n, features.shape[1]))
    kept: dict[range, Float64s] = {}
    with progress.stage("contexts", total=len(ranges), unit="strips") as stage:
        for words in ranges:
            sums = blocks.sums(words)
            totals[words.start : words.stop] = sums.sum(axis=0)
            if len(ranges) == 1:
                kept[words] = sums
            stage.advance(1)
    enough = (occurrences >= least).all(axis=1) & (totals[:, -1] > 0)
    if not enough.any():
        raise InputError(
            f"no word of the vectors occurs {least} times or more in every slice; ask for fewer with min_count, or "
            "give more text"
        )
    means = totals[:, :-1] / np.maximum(totals[:, -1:], 1e-12)
    matrix = induction_matrix(means, embeddings, occurrences.sum(axis=1))
    typical = float(np.median(((means[enough] @ matrix) ** 2).sum(axis=1)))
    orders = [steps(slices), *(steps(order) for order in permuted(slices, permutations, seed=seed + 1))]
    results: list[tuple[Int64s, Float64s, Float64s, Float64s, Float64s, Float32s]] = []
    with progress.stage("testing", total=int(enough.sum()), unit="words") as stage:
        for words in ranges:
            ids = words.start + np.flatnonzero(enough[words.start : words.stop])
            own = (kept[words] if words in kept else blocks.sums(words))[:, ids - words.start]
            results.append((ids, *_compare(own[..., :-1] @ matrix, own[..., -1], slices, orders, typical)))
            stage.advance(len(ids))
    ids = np.concatenate([one[0] for one in results])
    distance, error, p, cosine = (np.concatenate([one[k] for one in results]) for k in (1, 2, 3, 4))
    vectors = np.concatenate([one[5] for one in results], axis=1)
    sure = np.isfinite(distance) & np.isfinite(error)
    low, high = distance - WIDTH * error, distance + WIDTH * error
    order = np.flatnonzero(sure)
    order = order[np.argsort(-low[order], kind="stable")]
    q = np.ones(len(p))
    q[sure] = false_discoveries(p[sure])
    words_of = embeddings.index_to_key
    only = {
        name: tuple(
            (words_of[i], int(occurrences[i, number]))
            for i in np.argsort(-occurrences[:, number], kind="stable")
            if occurrences[i, number] >= least and not np.delete(occurrences[i], number).any()
        )
        for number, name in enumerate(names)
    }
    return Change(
        names, tuple(words_of[i] for i in ids[order]), occurrences[ids[order]], distance[order], low[order],
        high[order], p[order], q[order], cosine[order], vectors[:, order], only,
        tuple(np.bincount(owners[owners >= 0]).tolist()), embeddings, permutations,
    )  # fmt: skip


def _compare(
    sums: Float64s,
    amounts: Float64s,
    slices: Int64s,
    orders: list[list[tuple[Float64s, Float64s]]],
    typical: float,
) -> tuple[Float64s, Float64s, Float64s, Float64s, Float32s]:
    """Return distance, its standard error, p and cosine of some words, and their vectors in each slice.

    ``sums`` (K, words, d), ``amounts`` (K, words); ``orders`` are the steps as they are, then those of permutations.
    """
    blocks, words = amounts.shape
    distance, error, p, cosine = (np.empty(words) for _ in range(4))
    pairs = range(len(orders[0]))
    left, right = ([np.hstack([order[step][side] for order in orders]) for step in pairs] for side in (0, 1))
    without = 1 - np.eye(blocks)
    chunk = max(_AT_ONCE // (blocks * len(orders)), 1)
    for begin in range(0, words, chunk):
        part = slice(begin, begin + chunk)
        own = sums[:, part].transpose(1, 0, 2)
        grams, some = own @ own.transpose(0, 2, 1), amounts[:, part].T
        tested = [contrast(grams, some, left[step], right[step]) for step in pairs]
        noise: Any = sum(one.noise for one in tested)
        ratio = np.divide(
            sum(one.apart for one in tested), noise, out=np.full(noise.shape, -1.0), where=noise > 0
        )
        p[part] = chances(ratio[:, 0], ratio[:, 1:])
        distance[part] = np.mean([one.distance(typical)[:, 0] for one in tested], axis=0)
        cosine[part] = np.mean([one.cosine[:, 0] for one in tested], axis=0)
        left_out = [
            contrast(grams, some, orders[0][step][0] * without, orders[0][step][1] * without).distance(
                typical
            )
            for step in pairs
        ]
        error[part] = _jackknife(np.mean(left_out, axis=0), slices)
    groups = [slices == number for number in range(int(slices.max()) + 1)]
    vectors = np.stack([sums[group].sum(axis=0) / amounts[group].sum(axis=0)[:, None] for group in groups])
    return distance, error, p, cosine, vectors.astype(np.float32)


def _jackknife(left_out: Float64s, slices: Int64s) -> Float64s:
    """Return the standard error of a statistic from its values without each block, (words, K), slice by slice."""
    variance: Float64s = np.zeros(len(left_out))
    for number in range(int(slices.max()) + 1):
        own = left_out[:, slices == number]
        size = own.shape[1]
        variance += (size - 1) / size * ((own - own.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    return np.sqrt(variance)
