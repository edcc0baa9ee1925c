"""Counting: how often each word occurs, and how often it stands before each other word within a window.

:func:`count_pairs` takes a corpus, texts or sentences (:mod:`psdvec.text.corpus`) and returns a
:class:`~psdvec.counts.matrix.Cooccurrence`: integer counts in units of 1/720720, so that sums are exact and any split
over threads, files or machines adds up to the same bytes (equation (H) of docs/theory.md). It works in four stages:
number the text (:mod:`psdvec.counts.segments`), choose the words (:mod:`psdvec.counts.segments`), count the pairs
(:mod:`psdvec.counts.pairs`), and write them (:mod:`psdvec.counts.matrix`).
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from psdvec.counts.matrix import KIND, UNIT, Cooccurrence, Rows, Tally, in_memory, write_counts
from psdvec.counts.pairs import count_text
from psdvec.counts.segments import FORMAT, MAX_WORD_BYTES, choose_words, number_text
from psdvec.counts.vocabulary import Vocabulary
from psdvec.errors import InputError, checked, demand_client
from psdvec.options import Counting
from psdvec.progress import LogProgress, Progress, SilentProgress, count_of
from psdvec.resources import available_memory, format_size, parse_size, resolve_workers
from psdvec.storage.artefact import check_output
from psdvec.storage.files import nearest_folder
from psdvec.storage.workspace import check_resumable, clear, open_workspace, place_for
from psdvec.text.corpus import Corpus, Input, Sentences, Texts, digested, read_input, report_damage
from psdvec.text.readers import UTF8
from psdvec.text.tokenizers import parameters_of

_DISK_PER_BYTE = 10  # of plain text: ids, runs and their merge; 9.4 measured at window 20 and 512 MB


@checked
def count_words(
    corpus: Input,
    *,
    tokenizer: str | Callable[[str], Any] | None = None,
    case: str | None = None,
    stop_words: str | Path | Iterable[str] | None = None,
    lemmas: str | Path | Mapping[str, str] | None = None,
    numbers: str | None = None,
    punctuation: str | None = None,
    column: str | None = None,
    where: Mapping[str, Any] | None = None,
    encoding: str | None = None,
    min_count: int = Counting.min_count,
    max_words: int | None = Counting.max_words,
    workers: int | None = None,
    quiet: bool = False,
    progress: Progress = LogProgress(),
) -> Vocabulary:
    """Count the words of a corpus and keep the frequent ones; the parameters are those of :func:`count_pairs`.

    >>> count_words([["a", "rose", "is", "a", "rose"]], min_count=2).words
    ('a', 'rose')
    """
    text = read_input(
        corpus, tokenizer=tokenizer, case=case, stop_words=stop_words, lemmas=lemmas, numbers=numbers,
        punctuation=punctuation, column=column,
        where=where, encoding=encoding,
    )  # fmt: skip
    progress = SilentProgress() if quiet else progress
    what = Counting(min_count, max_words, window=1, weighting="flat")
    workers = resolve_workers(workers)
    with tempfile.TemporaryDirectory(prefix="psdvec-") as temporary:
        folder = Path(temporary) / "segments"
        numbered = number_text(text, folder, workers=workers, progress=progress)
        report_tally(numbered.tally, text, progress)
        return choose_words(numbered, what, memory=available_memory() // 2, workers=workers)


@checked
def count_pairs(
    corpus: Input,
    *,
    tokenizer: str | Callable[[str], Any] | None = None,
    case: str | None = None,
    stop_words: str | Path | Iterable[str] | None = None,
    lemmas: str | Path | Mapping[str, str] | None = None,
    numbers: str | None = None,
    punctuation: str | None = None,
    column: str | None = None,
    where: Mapping[str, Any] | None = None,
    encoding: str | None = None,
    vocabulary: Iterable[str] | None = None,
    min_count: int = Counting.min_count,
    max_words: int | None = Counting.max_words,
    window: int = Counting.window,
    weighting: str = Counting.weighting,
    gaps: str = Counting.gaps,
    memory: float | str | None = None,
    workers: int | None = None,
    output: str | Path | None = None,
    overwrite: bool = False,
    client: Any = None,
    block_size: float | str | None = None,
    quiet: bool = False,
    progress: Progress = LogProgress(),
) -> Cooccurrence:
    """Count the words of a corpus, then the ordered pairs of words within a window.

    Parameters
    ----------
    corpus
        The name of a file or folder, a glob, or what :func:`psdvec.read_corpus` returns; texts, such as a list of
        strings or a column of a DataFrame, each cut into words like a line of a file; sentences as lists of words; a
        table of pandas, Polars, Arrow or Hugging Face. ``Path`` objects in a list are files, strings in a list are
        texts. What can be read only once, such as a generator, is read once.
    tokenizer, case, stop_words, lemmas, numbers, punctuation
        How to cut text into words, by name or by a function of your own, whether to ``"fold"`` or ``"keep"`` their
        case, and which words to leave out or to count as others, as in :func:`psdvec.read_corpus`.
    column
        Which column of a table, or field of a file of records, holds the text; ``"text"`` by default.
    where
        Count only the rows with these values: ``{"party": "A"}``, or ``{"party": ["A", "B"]}``.
    encoding
        The encoding of files, ``"utf-8"`` by default.
    vocabulary
        The words to count; if None, those that occur at least ``min_count`` times, and at most ``max_words`` of them.
    window
        How many words after a word form pairs with it; pairs do not cross the end of a sentence.
    weighting
        What a pair at distance d counts: ``"harmonic"`` 1/d, ``"flat"`` 1, ``"linear"`` (window-d+1)/window,
        ``"power:P"`` 1/d^P.
    gaps
        What a word outside the vocabulary leaves: ``"keep"`` a gap that counts as distance, so that a pair's
        count depends on the text alone; ``"close"`` nothing, as in word2vec and GloVe.
    memory
        The most memory that the process may use, such as ``"4G"``; by default half of what is free.
        Text that does not fit is counted in runs, which are merged from disk.
    output
        Where to write the counts; interrupted work is resumed there. If None, they stay in memory.
    client
        A :class:`distributed.Client`: the workers of its cluster count, each within ``memory``, and the counts are the
        same to the byte. The workers must see the corpus and the output under the same names.
    block_size
        How much of a file a worker of the cluster takes at a time, such as ``"256M"``; by default a suitable size.
    quiet
        Show no progress; otherwise, work that takes longer than a few seconds writes how far it is to the log
        ``psdvec``, or to standard error if nothing takes that log.

    Examples
    --------
    >>> count_pairs(["To be, or not to be"], min_count=1, window=2).row("to")
    {'be': 2.0, 'or': 0.5}
    >>> counts = count_pairs([["to", "be", "or", "not", "to", "be"]], min_count=1, window=2)
    >>> counts.row("to")
    {'be': 2.0, 'or': 0.5}
    """
    if client is not None:
        demand_client(client)
    _check_place(output, on_cluster=client is not None, workers=workers, block_size=block_size)
    text = read_input(
        corpus, tokenizer=tokenizer, case=case, stop_words=stop_words, lemmas=lemmas, numbers=numbers,
        punctuation=punctuation, column=column,
        where=where, encoding=encoding,
    )  # fmt: skip
    progress = SilentProgress() if quiet else progress
    plan: dict[str, Any] = {"format": FORMAT}
    most = None if memory is None else parse_size(memory)
    if client is None:
        budget, threads = available_memory() // 2 if most is None else most, resolve_workers(workers)
    else:
        from psdvec.cluster.counting import count_blocks, plan_blocks

        blocks = plan_blocks(text, block_size)
        plan["blocks"] = [[block.files, block.byte_range] for block in blocks]
    check_resumable(output, kind=KIND, overwrite=overwrite)
    given = None if vocabulary is None else tuple(sorted(set(vocabulary)))
    if given == ():
        raise InputError("the vocabulary given holds no word; give at least one, or leave it out")
    what = Counting(min_count, max_words, window, weighting, gaps, given)
    described = describe_counts(text, what)
    plan |= {"vocabulary": given, **described._asdict()}
    with (
        place_for(output) as place,
        open_workspace(place, plan=plan, progress=progress, overwrite=overwrite) as work,
        digested(text) as digests,
    ):
        if client is None:
            numbered = number_text(text, work / "segments", workers=threads, progress=progress)
            chosen = choose_words(numbered, what, memory=budget // 4, workers=threads)
            rows = count_text(
                numbered.files, chosen.words, what, work / "runs",
                ids=numbered.ids, memory=budget, workers=threads, progress=progress,
            )  # fmt: skip
            found = Counted(numbered.tally, chosen, rows)
        else:
            found = count_blocks(client, blocks, what, work, memory=most, progress=progress)
        sources = describe_counts(text, what, digests()).sources
        if isinstance(text, Corpus) and text.is_restartable and text.identity != described.input:
            clear(work)
            raise InputError("the corpus changed while it was read; run the same command again")
        if not len(found.vocabulary):
            clear(work)  # the same command cannot get further
            raise InputError(_why_no_word(found.tally, min_count))
        report_tally(found.tally, text, progress)
        # The rows are iterators: the pairs are counted in here, block by block, as they are written.
        counts = write_counts(
            place, found.rows, found.vocabulary, cells=found.cells, parameters=described.parameters,
            tally=found.tally, sources=sources, overwrite=overwrite,
        )  # fmt: skip
        return in_memory(counts) if output is None else counts


class Counted(NamedTuple):
    """What was found in the text. The pairs are counted while ``rows``, those of the matrix, are asked for.

    ``cells``: how many cells the rows have in all, where that is known before.
    """

    tally: Tally
    vocabulary: Vocabulary
    rows: Iterator[Rows]
    cells: int | None = None


class Description(NamedTuple):
    """What counts say of themselves: ``parameters``, in which stores to be merged must agree, and ``sources``.

    ``input`` tells whether the text is still the same; what comes from Python never is.
    """

    parameters: dict[str, Any]
    sources: list[dict[str, Any]]
    input: Any


def describe_counts(
    corpus: Corpus | Texts | Sentences, what: Counting, digests: Mapping[str, str] | None = None
) -> Description:
    """Describe the counts of ``corpus``, before they are made or, with the ``digests`` of its files, afterwards."""
    files, how = [{"name": "sentences from Python"}], {"tokenizer": "none"}
    if isinstance(corpus, Corpus | Texts):
        files, how = corpus.sources(digests), parameters_of(corpus.tokenizer)
    identity = corpus.identity if isinstance(corpus, Corpus) else {"once": np.random.SeedSequence().entropy}
    words = (
        {"min_count": what.min_count, "max_words": what.max_words}
        if what.given is None
        else {"given_words": len(what.given)}
    )
    parameters = {
        "tokenizer": how.pop("tokenizer"),
        "window": what.window, "weighting": what.weighting, "gaps": what.gaps, "unit": UNIT, **how,
    }  # fmt: skip
    return Description(parameters, [{**file, **words} for file in files], identity)


def _why_no_word(tally: Tally, min_count: int) -> str:
    """Say why no word is frequent enough, and what helps."""
    if tally.overlong_words == tally.tokens:
        return (
            f"every word ({tally.tokens:,} in all) is longer than {MAX_WORD_BYTES:,} bytes, and such words are not "
            "counted; check that this is text, and that the tokenizer cuts it into words"
        )
    return f"no word occurs {min_count} times or more among {tally.tokens:,} words; try min_count=1"


def report_tally(tally: Tally, text: Corpus | Texts | Sentences, progress: Progress) -> None:
    """Say what of a text was replaced or left out."""
    report_damage(
        replaced=tally.replaced_bytes, words=tally.tokens, overlong=tally.overlong_words,
        files=text.files if isinstance(text, Corpus) else (),
        encoding=text.encoding if isinstance(text, Corpus) else UTF8, progress=progress,
    )  # fmt: skip


def _check_place(
    output: str | Path | None, *, on_cluster: bool, workers: int | None, block_size: float | str | None
) -> None:
    """Raise :class:`InputError` if an option does not fit where the counting is done."""
    if on_cluster and workers is not None:
        raise InputError("a number of workers was given with a cluster, which has its own; leave out workers")
    if not on_cluster and block_size is not None:
        raise InputError("a block size was given without a cluster; leave it out, or give client=...")
    if on_cluster and output is None:
        raise InputError(
            "a cluster needs a place for its work; name an output on a disk that all workers share"
        )


def plan_counting(
    corpus: Corpus,
    *,
    vocabulary: Iterable[str] | None,
    memory: float | str | None,
    workers: int | None,
    output: str | Path,
    overwrite: bool,
    cluster: str | None,
    block_size: float | str | None,
    **counting: Any,
) -> list[str]:
    """Return, in sentences, what :func:`count_pairs` with these options would read, write and need.

    ``cluster``: the name of the cluster that would do it, None for this machine; ``counting``: see :class:`Counting`.
    """
    what = Counting(**counting)
    _check_place(output, on_cluster=cluster is not None, workers=workers, block_size=block_size)
    check_output(output, overwrite=overwrite, kind=KIND)
    words = what.max_words if vocabulary is None else len(set(vocabulary))
    size = corpus.raw_size
    most = None if memory is None else parse_size(memory)
    if cluster is None:
        budget = format_size(available_memory() // 2 if most is None else most)
        place = f"use at most {budget} of memory and {resolve_workers(workers)} threads"
    else:
        from psdvec.cluster.counting import plan_blocks

        blocks = len(plan_blocks(corpus, block_size))
        budget = "half of the memory that Dask allows it" if most is None else format_size(most)
        place = f"work on {cluster}: the text in {blocks:,} blocks, each worker with at most {budget}"
    lines = [
        f"read {count_of(len(corpus.files), 'file')}, {'of unknown size' if size is None else format_size(size)}, "
        f"with tokenizer {corpus.tokenizer}",
        f"count {'all' if words is None else f'at most {words:,}'} words"
        + (f" that occur at least {what.min_count} times" if vocabulary is None else " of the given list")
        + f", and pairs with window {what.window}, weighting {what.weighting}, gaps {what.gaps}",
        place,
    ]
    if size is not None:
        free = shutil.disk_usage(nearest_folder(Path(output))).free
        lines.append(
            f"need up to {format_size(_DISK_PER_BYTE * size)} of disk (more for compressed input) for temporary "
            f"files in '{output}.work', where {format_size(free)} is free"
        )
    return [*lines, f"write '{output}'"]
