"""Which words are used differently in some slices of documents: :func:`change` reads, measures, tests and writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.errors import InputError, checked, demand_positive, demand_seed, import_extra
from psdvec.formats import load
from psdvec.options import ENCODING
from psdvec.pages.figures import lines_figure, map_figure, rows_figure
from psdvec.pages.plots import Mark, Row, Series, colour_at
from psdvec.progress import LogProgress, Progress, Shown, SilentProgress, count_of
from psdvec.resources import format_size, limit_blas, memory_in_use, parse_size, resolve_workers
from psdvec.slices.blocks import ROOM, Uses, count_contexts, find_uses
from psdvec.slices.contrasts import WIDTH, check_permutations, false_discoveries, measure
from psdvec.slices.reading import Sliced, check_given, read_slices, train_on
from psdvec.storage.workspace import check_resumable, digest_of, open_workspace
from psdvec.text.concordance import Passage, find_passages
from psdvec.topic_model.documents import Source, again_and_again
from psdvec.vectors.embeddings import Embeddings

KIND = "change"  # of the folder that it is written to
WINDOW = 5
DRAWN = 30  # words of the plot of intervals
_NUMBERS = ("distance", "low", "high", "p", "q", "cosine", "cosine_low", "cosine_high")  # of each word
_MAPPED = 7  # neighbours in each slice that are on a map
_TRIED = 4  # documents that are read for each passage that is wanted: a line may end between two words
OVERHEAD = 200_000_000  # bytes that a strip takes beside its sums


@dataclass(frozen=True, eq=False, repr=False)
class Change(Shown):
    """What :func:`change` found, the words that surely changed most first.

    ``occurrences`` (words, slices). ``distance``: how far apart the uses of a word are in two slices,
    the mean over all pairs of slices, with its 95 % interval from ``low`` to ``high``; chance adds
    nothing to it, so that it may be below 0. ``cosine``: between the uses, likewise. ``p``: how likely so large a
    change is where documents have nothing to do with slices. ``q``: the share of false discoveries among the words
    with a p no larger. ``path``, ``path_low``, ``path_high`` (words, slices): the distance from the first slice.
    ``vectors`` (slices, words, d): where the word is in each slice, on the axes of the model. ``only``: words of one
    slice alone, with how often they occur there.
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
    cosine_low: Float64s
    cosine_high: Float64s
    path: Float64s
    path_low: Float64s
    path_high: Float64s
    vectors: Float32s
    only: Mapping[str, tuple[tuple[str, int], ...]]
    embeddings: Embeddings
    permutations: int
    uses: Uses
    sliced: Sliced

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

    @checked
    def contexts(
        self, word: str, *, between: tuple[str, str] | None = None, topn: int = 10
    ) -> dict[str, list[Context]]:
        """Return by slice the contexts that are commoner there and pull a word there most.

        Of several slices, the first and the one farthest from it are compared. The ``share`` of a context is what it
        adds to the squared distance between the two; all of them add up to 1.
        """
        return contexts_of(self.compared(between or self.farthest(word)), [word], topn=topn)[word]

    @checked
    def passages(
        self, word: str, *, between: tuple[str, str] | None = None, topn: int = 5, most: int = 1
    ) -> dict[str, list[Passage]]:
        """Return by slice passages of its documents in which a word stands with the contexts that pull it there.

        Up to ``most`` for each of ``topn`` contexts, each of another document. A slice of counts has none.
        """
        return passages_of(
            self.compared(between or self.farthest(word)), [word], topn=topn, most=most
        )[word]  # fmt: skip

    def farthest(self, word: str) -> tuple[str, str]:
        """Return the first slice, and the one in which the use of a word is farthest from that."""
        return self.slices[0], self.slices[1 + int(np.argmax(self.path[self.place_of(word), 1:]))]

    def compared(self, names: tuple[str, str]) -> Compared:
        """Return two of the slices with what is known of them."""
        return Compared(self.embeddings, self.uses, self.sliced, two_of(self.slices, names))

    def interval_rows(self, words: int = DRAWN) -> list[Row]:
        """Return the distances of the first words with their intervals, to be drawn."""
        numbers = zip(self.words[:words], self.distance, self.low, self.high, strict=False)
        return [
            Row(word, float(at), f"{at:.2f}", colour_at(0), float(low), float(high))
            for word, at, low, high in numbers
        ]

    def path_series(self, word: str, place: int = 0) -> Series:
        """Return how far a word is from its use in the first slice, slice by slice, to be drawn."""
        i = self.place_of(word)
        points = [(k, float(at), f"{self.slices[k]}: {at:.2f}") for k, at in enumerate(self.path[i])]
        ends = zip(self.path_low[i].tolist(), self.path_high[i].tolist(), strict=True)
        return Series(word, colour_at(place), points, [(k, low, high) for k, (low, high) in enumerate(ends)])

    def map_of(self, word: str) -> tuple[list[Mark], list[tuple[int, int]]]:
        """Return a word as it is in the first slice and the farthest, joined, amid what is near it there."""
        place, near, names = self.place_of(word), self.neighbours(word, topn=_MAPPED), self.farthest(word)
        own = [self.vectors[self.slices.index(name)][place] for name in names]
        others = list(dict.fromkeys(other for name in names for other, _ in near[name]))
        vectors = np.array([*own, *(self.embeddings[other] for other in others)], np.float64)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        across = vectors[1] - vectors[0]
        # From one use to the other; up goes what else spreads most.
        across /= max(float(np.linalg.norm(across)), 1e-12)
        rest = vectors - vectors.mean(axis=0)
        rest -= np.outer(rest @ across, across)
        up = np.linalg.svd(rest, full_matrices=False)[2][0]
        up *= np.sign(up[np.argmax(np.abs(up))])
        x, y = (vectors @ across).tolist(), (rest @ up).tolist()
        marks = [Mark(name, x[k], y[k], colour_at(k), strong=True) for k, name in enumerate(names)]
        sides = [{other for other, _ in near[name]} for name in names]
        for number, other in enumerate(others, len(names)):
            is_in = [other in side for side in sides]
            colour = "var(--soft)" if all(is_in) else colour_at(is_in.index(True))
            marks.append(Mark(other, x[number], y[number], colour))
        return marks, [(0, 1)]

    @checked
    def plot(self, words: str | Sequence[str] | None = None, *, topn: int = DRAWN) -> Any:
        """Draw the ``topn`` words that changed most, or how far some ``words`` went from slice to slice.

        Returns
        -------
        matplotlib.figure.Figure
            A notebook shows it; ``figure.savefig("change.png")`` keeps it, as does ``.svg`` or ``.pdf``.
        """
        if words is None:
            rows = self.interval_rows(topn)
            return rows_figure(
                rows, title="Words used most differently", x_title="distance, with its 95 % interval"
            )
        asked = [words] if isinstance(words, str) else list(words)
        series = [self.path_series(word, place) for place, word in enumerate(asked)]
        y_title = f"distance from {self.slices[0]}"
        return lines_figure(dict(enumerate(self.slices)), series, title=", ".join(asked), y_title=y_title)

    @checked
    def plot_map(self, word: str) -> Any:
        """Draw a word where it is in the first slice and the farthest, amid what is near it there; as :meth:`plot`."""
        marks, joined = self.map_of(word)
        return map_figure(marks, joined=joined, title=word)

    def rows(self) -> list[tuple[Any, ...]]:
        """Return what ``change.csv`` holds: a heading, and a row for each word."""
        occurrences = (f"occurrences {name}" for name in self.slices)
        head = ("word", *occurrences, *(name.replace("_", " ") for name in _NUMBERS))
        numbers = zip(*(getattr(self, name) for name in _NUMBERS), strict=True)
        rows = zip(self.words, self.occurrences.tolist(), numbers, strict=True)
        return [
            head,
            *((word, *counts, *(float(f"{number:.6g}") for number in each)) for word, counts, each in rows),
        ]

    def to_frame(self) -> Any:
        """Return the rows as a pandas data frame, by word."""
        pandas = import_extra("pandas", extra="pandas", purpose="a data frame")
        head, *rows = self.rows()
        return pandas.DataFrame(rows, columns=head).set_index("word")


@checked
def change(
    model: Embeddings | str | Path | None,
    documents: Source | None = None,
    *,
    by: str | None = None,
    slices: Mapping[str, Any] | None = None,
    unit: str | None = None,
    column: str | None = None,
    where: Mapping[str, Any] | None = None,
    encoding: str = ENCODING,
    tokenizer: str | Callable[[str], Any] | None = None,
    window: int | None = None,
    min_count: int = 20,
    permutations: int = 200,
    seed: int = 0,
    memory: float | str | None = None,
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
        Vectors of all the text, or the folder that holds them; every slice is placed on their axes. If None, they are
        learned from all slices first, as :func:`psdvec.train` does by itself.
    documents
        Files, texts or a table, as for :func:`psdvec.topics`; with ``by``, the field that says which slice a document
        is of. Dates are put into years, decades or months, whichever gives at most 24 slices.
    slices
        In place of both: documents by the name of their slice, or counts. Counts know of no documents; see the guide.
    unit
        Field whose documents belong together, such as the speaker: chance deals all of them to one slice, or none.
    column, where, encoding, tokenizer
        As for :func:`psdvec.topics`.
    window
        Contexts reach this many words to either side, 5 by default. Counts have their own.
    min_count
        Words that occur fewer times in any slice are left out.
    permutations
        How often documents are dealt to slices at random, for the test.
    memory
        The most memory to use, in bytes or as ``"4G"``; what is found is the same.
    output
        A folder for ``change.csv``, ``change.html`` and ``change.json``. Killed work goes on where it stopped.
    """
    if quiet:
        progress = SilentProgress()
    if window is not None:
        demand_positive(window, "window")
    demand_positive(min_count, "min_count")
    demand_seed(seed)
    threads = resolve_workers(workers)
    limit = None if memory is None else parse_size(memory)
    check_resumable(output, kind=KIND, overwrite=overwrite)
    check_permutations(permutations)
    check_given(documents, by, slices)
    how: dict[str, Any] = {"column": column, "where": where, "encoding": encoding, "tokenizer": tokenizer}
    documents, slices = _readable(documents, slices)
    if model is None:
        model = train_on(documents, slices, workers=workers, memory=limit, progress=progress, **how)
    embeddings = model if isinstance(model, Embeddings) else load(model, progress=progress)
    sliced = read_slices(
        embeddings, documents, by=by, slices=slices, unit=unit, window=window, progress=progress, **how
    )
    with ExitStack() as stack:
        work = None
        if output is not None:
            plan = {
                "documents": digest_of(
                    sliced.documents.tokens, sliced.documents.starts, sliced.owners, sliced.units,
                    *(part for one in sliced.counted.values() for part in one.arrays),
                ),
                "vectors": digest_of(np.asarray(embeddings.vectors), tuple(embeddings.index_to_key)), "window": window,
                "min_count": min_count, "permutations": permutations, "seed": seed, "memory": limit,
            }  # fmt: skip
            work = stack.enter_context(
                open_workspace(Path(output), plan=plan, progress=progress, overwrite=overwrite)
            )
        stack.enter_context(limit_blas(1))  # so that the last bits are the same for any number of threads
        room = _room(limit, embeddings)
        uses = find_uses(
            embeddings,
            sliced,
            window=window or WINDOW,
            seed=seed,
            workers=threads,
            room=room,
            progress=progress,
        )
        found = _found(
            embeddings, sliced, uses, least=min_count, permutations=permutations, seed=seed, room=room, work=work,
            progress=progress,
        )  # fmt: skip
        if output is not None:
            from psdvec.slices.page import write_change

            write_change(found, output, overwrite=overwrite)
    return found


def _readable(documents: Any, slices: Mapping[str, Any] | None) -> tuple[Any, dict[str, Any] | None]:
    """Return what can be read more than once."""
    again = None if slices is None else {str(name): again_and_again(one) for name, one in slices.items()}
    return again_and_again(documents), again


def _room(limit: int | None, embeddings: Embeddings) -> int:
    """Return how many bytes the sums of a strip may take up."""
    if limit is None:
        return ROOM
    taken = memory_in_use() + 24 * embeddings.vectors.size + OVERHEAD
    if limit < taken:
        raise InputError(
            f"memory={format_size(limit)} is too little for these documents and vectors, which take "
            f"{format_size(taken)}; allow that, or give fewer documents or words"
        )
    return min(limit - taken, ROOM)


def _found(
    embeddings: Embeddings,
    sliced: Sliced,
    uses: Uses,
    *,
    least: int,
    permutations: int,
    seed: int,
    room: int,
    work: Path | None,
    progress: Progress,
) -> Change:
    """Compare and test the uses of all words that occur often enough, and put them in order."""
    occurrences = uses.occurrences
    ids = np.flatnonzero((occurrences >= least).all(axis=1))
    if not ids.size:
        raise InputError(
            f"no word of the vectors occurs {least} times or more in every slice; ask for fewer with min_count=N, or "
            "give more text"
        )
    one = measure(uses, ids, permutations=permutations, seed=seed, room=room, work=work, progress=progress)
    sure = np.isfinite(one.distance) & np.isfinite(one.distance_error)
    order = np.flatnonzero(sure)
    order = order[np.argsort(-one.low[order], kind="stable")]
    q = np.ones(len(one.p))
    q[sure] = false_discoveries(one.p[sure])
    words_of = embeddings.index_to_key
    only = {
        name: tuple(
            (words_of[i], int(occurrences[i, number]))
            for i in np.argsort(-occurrences[:, number], kind="stable")
            if occurrences[i, number] >= least and not np.delete(occurrences[i], number).any()
        )
        for number, name in enumerate(sliced.names)
    }

    def ends(name: str) -> tuple[Float64s, Float64s]:
        value, error = getattr(one, name)[order], WIDTH * getattr(one, f"{name}_error")[order]
        return value - error, value + error

    high, cosine_ends, path_ends = ends("distance")[1], ends("cosine"), ends("from_first")
    return Change(
        slices=sliced.names, words=tuple(words_of[i] for i in ids[order]), occurrences=occurrences[ids[order]],
        distance=one.distance[order], low=one.low[order], high=high, p=one.p[order], q=q[order],
        cosine=one.cosine[order], cosine_low=cosine_ends[0], cosine_high=cosine_ends[1],
        path=one.from_first[order], path_low=path_ends[0], path_high=path_ends[1],
        vectors=one.vectors[:, order], only=only, embeddings=embeddings,
        permutations=permutations, uses=uses, sliced=sliced,
    )  # fmt: skip


# What is different about a word in two slices: the contexts that pull it one way or the other, with passages.


class Compared(NamedTuple):
    """Two slices, by their ``names``, and all that is known of how words are used there."""

    embeddings: Embeddings
    uses: Uses
    sliced: Sliced
    names: tuple[str, str]


class Context(NamedTuple):
    """A context, what it adds to the distance of two slices, and how often it stands with the word in each of them."""

    word: str
    share: float
    counts: tuple[int, int]


def contexts_of(two: Compared, words: Sequence[str], *, topn: int) -> dict[str, dict[str, list[Context]]]:
    """See :meth:`psdvec.Change.contexts`; of several words at once."""
    ids = np.array([two.embeddings.key_to_index[word] for word in words], np.int64)
    features = two.uses.blocks.features
    counts = np.stack([_counted_in(two, ids, two.sliced.names.index(name)) for name in two.names])
    amounts = counts @ features[:, -1].astype(np.float64)
    shares = counts / np.where(amounts > 0, amounts, 1)[..., None]
    placed = features[:, :-1] @ two.uses.matrix
    found: dict[str, dict[str, list[Context]]] = {}
    for place, word in enumerate(words):
        more = shares[1, place] - shares[0, place]
        apart = more @ placed
        pulls = more * (placed @ apart) / max(float(apart @ apart), 1e-300)
        found[word] = {}
        for name, side in zip(two.names, (-1, 1), strict=True):
            own = np.flatnonzero(side * more > 0)
            first = own[np.argsort(-pulls[own], kind="stable")[:topn]]
            found[word][name] = [
                Context(
                    str(two.embeddings.index_to_key[i]),
                    float(pulls[i]),
                    (round(counts[0, place, i]), round(counts[1, place, i])),
                )
                for i in first
            ]
    return found


def passages_of(
    two: Compared, words: Sequence[str], *, topn: int, most: int
) -> dict[str, dict[str, list[Passage]]]:
    """See :meth:`psdvec.Change.passages`; of several words at once, so that documents are read once."""
    contexts = contexts_of(two, words, topn=topn)
    wanted = {
        (word, name, context.word): _documents_with(two, word, context.word, name, most=_TRIED * most)
        for word, by_slice in contexts.items()
        for name, listed in by_slice.items()
        for context in listed
    }
    places = np.unique(np.concatenate([np.zeros(0, np.int64), *wanted.values()]))
    texts = dict(zip(places.tolist(), two.sliced.texts(places), strict=True)) if places.size else {}
    found: dict[str, dict[str, list[Passage]]] = {
        word: {name: [] for name in own} for word, own in contexts.items()
    }
    for (word, name, context), documents in wanted.items():
        read = ((two.sliced.documents.names[i], texts[i]) for i in documents.tolist())
        passages = find_passages(
            read,
            {word: [context]},
            tokenize=two.embeddings.tokenize,
            window=two.uses.blocks.window,
            most=most,
        )[word, context]
        found[word][name] += [one for one in passages if one not in found[word][name]]
    return found


def two_of(names: tuple[str, ...], chosen: tuple[str, str]) -> tuple[str, str]:
    """Return two slices, or say that there are no such two."""
    for name in chosen:
        if name not in names:
            raise InputError(f"there is no slice '{name}'; choose two of {', '.join(names)}")
    if chosen[0] == chosen[1]:
        raise InputError(f"'{chosen[0]}' is given twice; give two different slices")
    return chosen


def _counted_in(two: Compared, ids: Int64s, number: int) -> Float64s:
    """Return how often every word is a context of some words in a slice, (words, n)."""
    n, blocks = len(two.embeddings), two.uses.blocks
    if number in blocks.counted:
        own = blocks.counted[number]
        return np.asarray(own.matrix[ids].todense()) / own.unit
    rows, counts = np.full(n, -1, np.int32), np.zeros((len(ids), n), np.int64)
    rows[ids] = np.arange(len(ids))
    documents = np.flatnonzero(two.sliced.owners == number)
    count_contexts(blocks.documents.tokens, blocks.documents.starts, documents, blocks.window, rows, counts)
    return counts.astype(np.float64)


def _documents_with(two: Compared, word: str, context: str, name: str, *, most: int) -> Int64s:
    """Return documents of a slice in which a word stands with a context, evenly strewn over all that there are."""
    blocks, ids = two.uses.blocks, two.embeddings.key_to_index
    tokens, starts = blocks.documents.tokens, blocks.documents.starts
    places: Any = np.flatnonzero(tokens == ids[word])
    owners = np.searchsorted(starts, places, side="right") - 1
    is_own = two.sliced.owners[owners] == two.sliced.names.index(name)
    places, owners = places[is_own], owners[is_own]
    near = np.zeros(len(places), bool)
    for step in range(-blocks.window, blocks.window + 1):
        there = places + step
        within = (there >= starts[owners]) & (there < starts[owners + 1]) & (step != 0)
        near |= within & (tokens[np.where(within, there, 0)] == ids[context])
    found = np.unique(owners[near])
    return (
        found[np.unique(np.linspace(0, len(found) - 1, min(most, len(found))).astype(int))]
        if found.size
        else found
    )
