"""Cooccurrence: how often each word stands before each other word within a window.

Goes in: a corpus, or any iterable of sentences. Comes out: a :class:`Cooccurrence`, integer counts in
units of 1/720720, so that sums are exact and any split over threads, files or machines merges to the same
bytes (equation (H) of docs/theory.md). :func:`count_pairs` counts, :func:`merge_counts` adds and subtracts.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from psdvec.counts import out_of_core, segments
from psdvec.counts.matrix import Cooccurrence, Rows, Tally, in_memory, load_counts, write_counts
from psdvec.counts.segments import SegmentFolder
from psdvec.counts.vocabulary import Vocabulary
from psdvec.counts.weighting import UNIT, pair_weights
from psdvec.errors import InputError
from psdvec.parallel import resolve_workers
from psdvec.progress import LogProgress, Progress
from psdvec.resources import available_memory, format_size, parse_size
from psdvec.storage.artefact import check_output
from psdvec.storage.workspace import open_workspace
from psdvec.text.corpus import Corpus
from psdvec.text.files import file_status

_DISK_PER_BYTE = 10  # of plain text: ids, runs and their merge; 9.4 measured at window 20 and 512 MB

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Sentences = Iterable[Iterable[str]]


@dataclass(frozen=True)
class Counting:
    """What is counted: ``given`` words or the frequent ones, and pairs with the ``weights`` of their distances."""

    given: tuple[str, ...] | None
    min_count: int
    max_words: int | None
    weights: Int64s
    close_gaps: bool


class Counted(NamedTuple):
    """What was found: the ``rows`` of the matrix are still to come; how many ``cells`` they have may be known."""

    tally: Tally
    vocabulary: Vocabulary
    rows: Iterator[Rows]
    cells: int | None = None


def count_words(
    corpus: Corpus | Sentences,
    *,
    min_count: int = 5,
    max_words: int | None = None,
    workers: int | None = None,
    progress: Progress = LogProgress(),
) -> Vocabulary:
    """Count the words of a corpus and keep the frequent ones.

    >>> count_words([["a", "rose", "is", "a", "rose"]], min_count=2).words
    ('a', 'rose')
    """
    check_limits(min_count, max_words)
    with tempfile.TemporaryDirectory(prefix="psdvec-") as temporary:
        folder, workers = SegmentFolder(Path(temporary) / "segments"), resolve_workers(workers)
        _number(corpus, folder, workers=workers, progress=progress)
        return segments.choose_words(
            folder, min_count=min_count, max_words=max_words, memory=_resolve_memory(None), workers=workers
        )


def count_pairs(
    corpus: Corpus | Sentences,
    *,
    vocabulary: Iterable[str] | None = None,
    min_count: int = 5,
    max_words: int | None = None,
    window: int = 20,
    weighting: str = "harmonic",
    gaps: str = "keep",
    memory: int | str | None = None,
    workers: int | None = None,
    output: str | Path | None = None,
    overwrite: bool = False,
    client: Any = None,
    block_size: int | str | None = None,
    progress: Progress = LogProgress(),
) -> Cooccurrence:
    """Count the words of a corpus, then the ordered pairs of words within a window.

    Parameters
    ----------
    corpus
        What :func:`psdvec.read_corpus` returns, or any iterable of lists of tokens, read once.
    vocabulary
        The words to count; if None, those that occur ``min_count`` times, at most ``max_words`` of them.
    window
        How many words after a word are its pairs; sentences are not crossed.
    weighting
        What a pair at distance d counts: ``"harmonic"`` 1/d, ``"flat"`` 1, ``"linear"`` (window-d+1)/window,
        ``"power:P"`` 1/d^P.
    gaps
        What a word outside the vocabulary leaves: ``"keep"`` a gap that counts as distance, so that a pair's
        count depends on the text alone; ``"close"`` nothing, as in word2vec and GloVe.
    memory
        The most memory the process may take, as ``"4G"``; by default half of what is free.
        Text that does not fit is counted in runs, which are merged from disk.
    output
        Where to write the counts; interrupted work goes on from there. If None, they stay in memory.
    client
        A :class:`distributed.Client`: the workers of its cluster count, each within ``memory``, and the counts are the
        same to the byte. They must see the corpus and the output under the same names.
    block_size
        How much of a file a worker of the cluster takes at a time, as ``"256M"``; by default a fitting size.

    Examples
    --------
    >>> counts = count_pairs([["to", "be", "or", "not", "to", "be"]], min_count=1, window=2)
    >>> counts.row("to")
    {'be': 2.0, 'or': 0.5}
    """
    check_limits(min_count, max_words)
    weights = pair_weights(window, weighting)
    if gaps not in ("keep", "close"):
        raise InputError(f"gaps='{gaps}' is unknown; choose keep or close")
    _check_place(on_cluster=client is not None, workers=workers, block_size=block_size)
    if output is None:
        if client is not None:
            raise InputError(
                "a cluster needs a place for its work; name an output on a disk that all workers share"
            )
        with tempfile.TemporaryDirectory(prefix="psdvec-") as temporary:
            return in_memory(
                count_pairs(
                    corpus, vocabulary=vocabulary, min_count=min_count, max_words=max_words, window=window,
                    weighting=weighting, gaps=gaps, memory=memory, workers=workers,
                    output=Path(temporary) / "counts", progress=progress,
                )
            )  # fmt: skip
    output = Path(output)
    check_output(output, overwrite=overwrite)
    given = None if vocabulary is None else tuple(sorted(set(vocabulary)))
    parameters = counting_parameters(corpus, window=window, weighting=weighting, gaps=gaps)
    sources = counting_sources(corpus, given=given, min_count=min_count, max_words=max_words)
    plan = {**parameters, "sources": sources, "vocabulary": given, "input": input_plan(corpus)}
    what = Counting(given, min_count, max_words, weights, gaps == "close")
    if client is None:
        count = partial(_count_here, corpus, memory=_resolve_memory(memory), workers=resolve_workers(workers))
    else:
        from psdvec.cluster.counting import count_blocks, plan_blocks

        blocks = plan_blocks(corpus, block_size)
        plan["blocks"] = [[block.files, block.byte_range] for block in blocks]
        each = None if memory is None else parse_size(memory)
        count = partial(count_blocks, client, blocks, memory=each)
    with open_workspace(output, plan=plan, progress=progress) as work:
        found = count(what, work, progress=progress)
        if not len(found.vocabulary):
            raise InputError(
                f"no word occurs {min_count} times or more among {found.tally.tokens:,} words; lower --min-count"
            )
        write_counts(
            output, found.rows, found.vocabulary,
            cells=found.cells, parameters=parameters, tally=found.tally, sources=sources, overwrite=overwrite,
        )  # fmt: skip
    return load_counts(output)


def _check_place(*, on_cluster: bool, workers: int | None, block_size: int | str | None) -> None:
    """Raise :class:`InputError` if an option does not belong to where the counting is done."""
    if on_cluster and workers is not None:
        raise InputError("threads were given with a cluster, which has its own; leave --workers out")
    if not on_cluster and block_size is not None:
        raise InputError(
            "a block size was given without a cluster; leave it out, or give --scheduler or --cluster"
        )


def _count_here(
    corpus: Corpus | Sentences, what: Counting, work: Path, *, memory: int, workers: int, progress: Progress
) -> Counted:
    """Count on this machine, with what is between text and counts in ``work``."""
    folder = SegmentFolder(work / "segments")
    tally = _number(corpus, folder, workers=workers, progress=progress)
    chosen = (
        segments.choose_words(
            folder, min_count=what.min_count, max_words=what.max_words, memory=memory // 4, workers=workers
        )
        if what.given is None
        else segments.count_given(folder, what.given)
    )

    def rows() -> Iterator[Rows]:
        layout = out_of_core.plan_runs(folder.totals()[1], n=len(chosen), memory=memory, workers=workers)
        translation = segments.Translation(chosen.words, close_gaps=what.close_gaps)
        with ThreadPoolExecutor(workers) as pool:
            yield from out_of_core.count_text(
                folder, translation, work / "runs",
                plan=layout, weights=what.weights, pool=pool, progress=progress,
            )  # fmt: skip

    return Counted(tally, chosen, rows())


def plan_counting(
    corpus: Corpus,
    *,
    vocabulary: Iterable[str] | None,
    min_count: int,
    max_words: int | None,
    window: int,
    weighting: str,
    gaps: str,
    memory: int | str | None,
    workers: int | None,
    output: str | Path,
    overwrite: bool,
    cluster: str | None,
    block_size: int | str | None,
) -> list[str]:
    """Return, in sentences, what :func:`count_pairs` with these options would read, write and need.

    ``cluster``: what the cluster is called that would do it, None for this machine.
    """
    check_limits(min_count, max_words)
    pair_weights(window, weighting)
    _check_place(on_cluster=cluster is not None, workers=workers, block_size=block_size)
    check_output(output, overwrite=overwrite)
    words = max_words if vocabulary is None else len(set(vocabulary))
    size = corpus.raw_size
    lines = [
        f"read {len(corpus.files):,} files, {'of unknown size' if size is None else format_size(size)}, "
        f"with tokenizer {corpus.tokenizer}",
        f"count {'all' if words is None else f'at most {words:,}'} words"
        + (f" that occur {min_count} times or more" if vocabulary is None else " of the given list")
        + f", and pairs at window {window}, weighting {weighting}, gaps {gaps}",
        f"take at most {format_size(_resolve_memory(memory))} of memory and {resolve_workers(workers)} threads"
        if cluster is None
        else _plan_cluster(corpus, cluster, memory=memory, block_size=block_size),
    ]
    if size is not None:
        lines.append(
            f"need up to {format_size(_DISK_PER_BYTE * size)} of disk (more for compressed input) while at work "
            f"in '{output}.work', {format_size(shutil.disk_usage(_existing(Path(output))).free)} are free"
        )
    return [*lines, f"write '{output}'"]


def _plan_cluster(
    corpus: Corpus, cluster: str, *, memory: int | str | None, block_size: int | str | None
) -> str:
    from psdvec.cluster.counting import plan_blocks

    blocks = len(plan_blocks(corpus, block_size))
    most = "half of the memory that Dask allows it" if memory is None else format_size(parse_size(memory))
    return f"work on {cluster}: the text in {blocks:,} blocks, each worker with at most {most}"


def _existing(path: Path) -> Path:
    """Return the nearest folder above ``path`` that exists."""
    return next(folder for folder in path.absolute().parents if folder.exists())


def check_limits(min_count: int, max_words: int | None) -> None:
    """Raise :class:`InputError` if the limits of a vocabulary make no sense."""
    if min_count < 1:
        raise InputError(f"min_count is {min_count}; give 1 or more")
    if max_words is not None and max_words < 1:
        raise InputError(f"max_words is {max_words}; give 1 or more")


def _resolve_memory(memory: int | str | None) -> int:
    return available_memory() // 2 if memory is None else parse_size(memory)


def counting_parameters(
    corpus: Corpus | Sentences, *, window: int, weighting: str, gaps: str
) -> dict[str, Any]:
    """Return the parameters that counts made in this way carry; stores to be merged must agree in them."""
    tokenizer = corpus.tokenizer if isinstance(corpus, Corpus) else "none"
    return {"tokenizer": tokenizer, "window": window, "weighting": weighting, "gaps": gaps, "unit": UNIT}


def counting_sources(
    corpus: Corpus | Sentences, *, given: Collection[str] | None, min_count: int, max_words: int | None
) -> list[dict[str, Any]]:
    """Return the files that are counted, and which of their words."""
    words = {"min_count": min_count, "max_words": max_words} if given is None else {"given_words": len(given)}
    files = corpus.sources() if isinstance(corpus, Corpus) else [{"name": "sentences from Python"}]
    return [{**file, **words} for file in files]


def input_plan(corpus: Corpus | Sentences) -> Any:
    """Return what tells whether the input is still the same; text from a pipe or from Python never is."""
    if not isinstance(corpus, Corpus) or not corpus.is_restartable:
        return {"once": np.random.SeedSequence().entropy}
    return {
        "files": [[file, *file_status(file)] for file in corpus.files],
        "field": corpus.field, "column": corpus.column, "errors": corpus.errors,
    }  # fmt: skip


def _number(corpus: Corpus | Sentences, folder: SegmentFolder, *, workers: int, progress: Progress) -> Tally:
    if isinstance(corpus, Corpus):
        tally = segments.number_corpus(corpus, folder, workers=workers, progress=progress)
        check_words_found(tally)
    else:
        tally = segments.number_sentences(corpus, folder, progress=progress)
        check_words_found(tally, "the iterable gave no sentences (a generator can be read only once)")
    return tally


def check_words_found(tally: Tally, otherwise: str = "the corpus holds no words") -> None:
    """Raise :class:`InputError` if no word was read."""
    if not tally.tokens:
        raise InputError(f"{otherwise}; give a corpus with text in it")
