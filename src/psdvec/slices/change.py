"""Which words are used differently in some slices of documents: :func:`change` reads, measures, tests and writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.errors import InputError, checked, demand_positive, demand_seed, import_extra
from psdvec.formats import load
from psdvec.options import ENCODING
from psdvec.progress import LogProgress, Progress, Shown, SilentProgress, count_of
from psdvec.resources import limit_blas, resolve_workers
from psdvec.slices.blocks import ROOM, Uses, find_uses
from psdvec.slices.contrasts import WIDTH, chances, contrast, false_discoveries, jackknife, permuted, steps
from psdvec.slices.reading import Sliced, read_slices
from psdvec.storage.artefact import check_output
from psdvec.topic_model.documents import Source
from psdvec.vectors.embeddings import Embeddings

KIND = "change"  # of the folder that it is written to
FEWEST_PERMUTATIONS, MOST_PERMUTATIONS = 20, 100_000
_AT_ONCE = 1 << 24  # numbers of the products of Gram matrices that are held at once


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
    unit: str | None = None,
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
    unit
        Field whose documents belong together, such as the speaker: chance deals all of them to one slice, or none.
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
    if not FEWEST_PERMUTATIONS <= permutations <= MOST_PERMUTATIONS:
        raise InputError(
            f"permutations={permutations} does not do; give {FEWEST_PERMUTATIONS} to {MOST_PERMUTATIONS:,}"
        )
    embeddings = model if isinstance(model, Embeddings) else load(model, progress=progress)
    sliced = read_slices(
        embeddings, documents, by=by, slices=slices, unit=unit, column=column, where=where, encoding=encoding,
        tokenizer=tokenizer, progress=progress,
    )  # fmt: skip
    with limit_blas(1):  # so that the last bits are the same for any number of threads
        uses = find_uses(embeddings, sliced, window=window, seed=seed, workers=threads, progress=progress)
        found = _measure(
            embeddings, sliced, uses, least=min_count, permutations=permutations, seed=seed, progress=progress
        )
    if output is not None:
        from psdvec.slices.page import write_change

        write_change(found, output, overwrite=overwrite)
    return found


def _measure(
    embeddings: Embeddings, sliced: Sliced, uses: Uses, *, least: int, permutations: int, seed: int, progress: Progress
) -> Change:  # fmt: skip
    """Compare and test the uses of all words that occur often enough."""
    occurrences, names = uses.occurrences, sliced.names
    ids = np.flatnonzero((occurrences >= least).all(axis=1))
    if not ids.size:
        raise InputError(
            f"no word of the vectors occurs {least} times or more in every slice; ask for fewer with min_count, or "
            "give more text"
        )
    orders = [
        steps(uses.slices),
        *(steps(order) for order in permuted(uses.slices, permutations, seed=seed + 1)),
    ]
    results: list[tuple[Float64s, Float64s, Float64s, Float64s, Float32s]] = []
    typical = float(np.median(uses.squares[ids]))
    with progress.stage("testing", total=len(ids), unit="words") as stage:
        for words in uses.blocks.strips(ids, room=ROOM):
            results.append(_compare(*uses.of(words), uses.slices, orders, typical))
            stage.advance(len(words))
    distance, error, p, cosine = (np.concatenate([one[k] for one in results]) for k in range(4))
    vectors = np.concatenate([one[4] for one in results], axis=1)
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
        sliced.sizes, embeddings, permutations,
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
        error[part], _ = jackknife(np.mean(left_out, axis=0), slices)
    groups = [slices == number for number in range(int(slices.max()) + 1)]
    vectors = np.stack([sums[group].sum(axis=0) / amounts[group].sum(axis=0)[:, None] for group in groups])
    return distance, error, p, cosine, vectors.astype(np.float32)
