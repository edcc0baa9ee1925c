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
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from psdvec.counts.items import NOUN, Baskets, number_baskets, read_baskets
from psdvec.counts.matrix import KIND, UNIT, Cooccurrence, Rows, Tally, in_memory, write_counts
from psdvec.counts.pairs import count_text
from psdvec.counts.phrases import AUTO, Joiner, resolve_phrases
from psdvec.counts.segments import FORMAT, MAX_WORD_BYTES, choose_words, number_text, report_tally
from psdvec.counts.vocabulary import TEXT_KEYS, Key, Vocabulary, as_key, key_text, read_keys
from psdvec.errors import InputError, checked, demand_client
from psdvec.options import BASKET, TOKENIZER, Counting, Fitting
from psdvec.progress import LogProgress, Progress, SilentProgress, count_of
from psdvec.resources import available_memory, card_named, format_size, parse_size, resolve_workers
from psdvec.storage.artefact import check_output
from psdvec.storage.files import nearest_folder
from psdvec.storage.workspace import check_resumable, clear, open_workspace, place_for
from psdvec.text.corpus import Corpus, Input, Sentences, Texts, digested, read_input
from psdvec.text.phrases import Phrases, read_phrases
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
    corpus: Input | Baskets,
    *,
    items: bool = False,
    basket: str | None = None,
    item: str | None = None,
    separator: str | None = None,
    tokenizer: str | Callable[[str], Any] | None = None,
    case: str | None = None,
    stop_words: str | Path | Iterable[str] | None = None,
    lemmas: str | Path | Mapping[str, str] | None = None,
    numbers: str | None = None,
    punctuation: str | None = None,
    column: str | None = None,
    where: Mapping[str, Any] | None = None,
    encoding: str | None = None,
    phrases: str | Path | Phrases | Iterable[str] | None = None,
    vocabulary: Iterable[Key] | None = None,
    min_count: int = Counting.min_count,
    max_words: int | None = Counting.max_words,
    window: int | None = None,
    weighting: str | None = None,
    gaps: str = Counting.gaps,
    memory: float | str | None = None,
    workers: int | None = None,
    device: str = Fitting.device,
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
    items
        Whether ``corpus`` holds baskets of items instead of text: lists or sets of strings, whole numbers or tuples, or
        whatever else :func:`psdvec.counts.items.read_baskets` lists. Every two different items of a basket are a pair,
        in both directions; an item that is there twice counts once. With a ``window``, the order of the items counts,
        as that of words does.
    basket, item
        Of a table, the columns that hold the baskets' names and the items.
    separator
        What stands between items where each line of a text file is a basket; by default tabs, commas or blanks.
    tokenizer, case, stop_words, lemmas, numbers, punctuation
        How to cut text into words, by name or by a function of your own, whether to ``"fold"`` or ``"keep"`` their
        case, and which words to leave out or to count as others, as in :func:`psdvec.read_corpus`.
    column
        Which column of a table, or field of a file of records, holds the text; ``"text"`` by default.
    where
        Count only the rows with these values: ``{"party": "A"}``, or ``{"party": ["A", "B"]}``.
    encoding
        The encoding of files, ``"utf-8"`` by default.
    phrases
        Which expressions of several words count as one word, such as *new york* as ``new_york``: a file of them, one a
        line, a list, what :func:`psdvec.find_phrases` returns, or ``"auto"``, which finds them first.
    vocabulary
        The words to count; if None, those that occur at least ``min_count`` times, and at most ``max_words`` of them.
    window
        How many words after a word form pairs with it, 20 by default; pairs do not cross the end of a sentence.
        Baskets are counted whole by default.
    weighting
        What a pair at distance d counts: ``"harmonic"`` 1/d, the default, ``"flat"`` 1, ``"linear"``
        (window-d+1)/window, ``"power:P"`` 1/d^P.
    gaps
        What a word outside the vocabulary leaves: ``"keep"`` a gap that counts as distance, so that a pair's
        count depends on the text alone; ``"close"`` nothing, as in word2vec and GloVe.
    memory
        The most memory that the process may use, such as ``"4G"``; by default half of what is free.
        Text that does not fit is counted in runs, which are merged from disk.
    device
        ``"cpu"``, ``"cuda"`` for a graphics card, or ``"auto"``: what counts the pairs of text, with the same counts.
        Baskets are counted on the CPU.
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
    >>> count_pairs([{1234, 99}, [99, 7, 7]], items=True, min_count=1).row(99)
    {1234: 1.0, 7: 1.0}
    """
    if client is not None:
        demand_client(client)
        if device != Fitting.device:
            raise InputError(
                f"a cluster counts on CPUs, and the device is '{device}'; leave out one of the two"
            )
    card = card_named(device)
    _check_place(output, on_cluster=client is not None, workers=workers, block_size=block_size)
    text = read_what_counts(
        corpus, items=items, basket=basket, item=item, separator=separator, ordered=window is not None,
        tokenizer=tokenizer, case=case, stop_words=stop_words, lemmas=lemmas, numbers=numbers,
        punctuation=punctuation, column=column, where=where, encoding=encoding,
    )  # fmt: skip
    if client is not None and isinstance(text, Baskets):
        raise InputError(
            "a cluster counts text, not baskets; count them here, and fit the counts on the cluster"
        )
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
    if vocabulary is not None and not isinstance(vocabulary, Iterable):
        raise InputError(f"vocabulary is {vocabulary!r:.40}; give a list of words")
    given = None if vocabulary is None else tuple(sorted({as_key(word) for word in vocabulary}, key=key_text))
    if given == ():
        raise InputError("the vocabulary given holds no word; give at least one, or leave it out")
    what = counting_of(text, min_count, max_words, window, weighting, gaps, given)
    joined = resolve_phrases(
        phrases, corpus, text, column=column, where=where, memory=memory, workers=workers, progress=progress
    )
    described = describe_counts(text, what, joined)
    plan |= {"vocabulary": given, **described._asdict()}
    with (
        place_for(output) as place,
        open_workspace(place, plan=plan, progress=progress, overwrite=overwrite) as work,
        digested(_files_of(text)) as digests,
    ):
        if client is None:
            if isinstance(text, Baskets):
                numbered = number_baskets(text, work / "segments", progress=progress)
            else:
                change = None if joined is None else Joiner(joined)
                numbered = number_text(
                    text, work / "segments", workers=threads, progress=progress, change=change
                )
            chosen = choose_words(numbered, what, memory=budget // 4, workers=threads)
            rows = count_text(
                numbered.files, chosen.words, what, work / "runs",
                ids=numbered.ids, memory=budget, workers=threads, progress=progress,
                count_on_card=None if isinstance(text, Baskets) else _counter_on(card),
            )  # fmt: skip
            found = Counted(numbered.tally, chosen, rows)
        else:
            found = count_blocks(client, blocks, what, work, joined, memory=most, progress=progress)
        sources = describe_counts(text, what, joined, digests()).sources
        if _is_restartable(text) and describe_counts(text, what).input != described.input:
            clear(work)
            raise InputError("the corpus changed while it was read; run the same command again")
        if not len(found.vocabulary):
            clear(work)  # the same command cannot get further
            raise InputError(_why_no_word(found.tally, min_count, described.parameters.get("noun", "word")))
        report_tally(found.tally, text, progress)
        # The rows are iterators: the pairs are counted in here, block by block, as they are written.
        counts = write_counts(
            place, found.rows, found.vocabulary, cells=found.cells, parameters=described.parameters,
            tally=found.tally, sources=sources, overwrite=overwrite, phrases=joined,
        )  # fmt: skip
        return in_memory(counts) if output is None else counts


def _counter_on(card: Any) -> Callable[..., Iterator[Rows]] | None:
    """Return what counts rows on a device of torch, None for the CPU."""
    if card is None:
        return None
    from psdvec.counts.card import count_rows

    return partial(count_rows, card)


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


def read_what_counts(
    corpus: Input | Baskets,
    *,
    items: bool,
    basket: str | None,
    item: str | None,
    separator: str | None,
    ordered: bool,
    **options: Any,
) -> Corpus | Texts | Sentences | Baskets:
    """Return ``corpus`` as text or, if they are ``items``, as baskets; ``options`` say how text is read."""
    if isinstance(corpus, Baskets):
        return corpus
    columns = {"basket": basket, "item": item, "separator": separator}
    if not items:
        for name, value in columns.items():
            if value is not None:
                raise InputError(
                    f"{name}={value!r} was given, but text is read; for baskets, give items=True"
                )
        return read_input(corpus, **options)
    cut = parameters_of(corpus.tokenizer) if isinstance(corpus, Corpus) else {}
    if cut and cut != {"tokenizer": TOKENIZER}:
        name = next(name for name, value in reversed(cut.items()) if value != TOKENIZER)
        raise InputError(f"items are no text, which could be cut; leave out the {name.replace('_', ' ')}")
    for name, value in options.items():
        if value is not None and name not in ("where", "errors", "encoding"):
            raise InputError(f"{name}={value!r} was given, but items are no text; leave it out")
    how = {name: options.get(name) for name in ("where", "errors", "encoding")}
    return read_baskets(corpus, **columns, **how, ordered=ordered)


def counting_of(
    text: Corpus | Texts | Sentences | Baskets,
    min_count: int,
    max_words: int | None,
    window: int | None,
    weighting: str | None,
    gaps: str,
    given: tuple[Key, ...] | None = None,
) -> Counting:
    """Return what is counted of ``text``; where no window is given, baskets are counted whole."""
    keys = TEXT_KEYS
    if isinstance(text, Baskets):
        keys = text.keys
        if not text.ordered and weighting is not None:
            raise InputError(
                f"weighting='{weighting}' was given, but baskets have no distances; give a window too"
            )
        weighting = weighting if text.ordered else BASKET
    elif weighting == BASKET:
        raise InputError(f"weighting='{BASKET}' is for baskets of items; give items=True")
    window = Counting.window if window is None else window
    weighting = Counting.weighting if weighting is None else weighting
    given = None if given is None else read_keys(given, keys)
    return Counting(min_count, max_words, window, weighting, gaps, given, keys)


def _is_restartable(text: Any) -> bool:
    files = _files_of(text)
    return files is not None and files.is_restartable


def _files_of(text: Any) -> Corpus | None:
    """Return the files that are read, if any are."""
    files = text.corpus if isinstance(text, Baskets) else text
    return files if isinstance(files, Corpus) else None


def describe_counts(
    corpus: Corpus | Texts | Sentences | Baskets,
    what: Counting,
    phrases: Phrases | None = None,
    digests: Mapping[str, str] | None = None,
) -> Description:
    """Describe the counts of ``corpus``, before they are made or, with the ``digests`` of its files, afterwards."""
    files, how = [{"name": "sentences from Python"}], {"tokenizer": "none"}
    identity: Any = {"once": np.random.SeedSequence().entropy}
    if isinstance(corpus, Corpus | Texts):
        files, how = corpus.sources(digests), parameters_of(corpus.tokenizer)
    if isinstance(corpus, Baskets):
        files = corpus.sources(digests)
    if isinstance(corpus, Corpus | Baskets):
        identity = corpus.identity
    words = (
        {"min_count": what.min_count, "max_words": what.max_words}
        if what.given is None
        else {"given_words": len(what.given)}
    )
    parameters = {
        "tokenizer": how.pop("tokenizer"),
        "window": what.window, "weighting": what.weighting, "gaps": what.gaps, "unit": UNIT, **how,
        **({} if phrases is None else {"phrases": phrases.digest}),
    }  # fmt: skip
    if isinstance(corpus, Baskets):
        parameters |= {"noun": NOUN, "keys": what.keys}
    if what.weighting == BASKET:
        del parameters["window"]
    return Description(parameters, [{**file, **words} for file in files], identity)


def _why_no_word(tally: Tally, min_count: int, noun: str) -> str:
    """Say why no word is frequent enough, and what helps."""
    if tally.overlong_words == tally.tokens:
        return (
            f"every word ({tally.tokens:,} in all) is longer than {MAX_WORD_BYTES:,} bytes, and such words are not "
            "counted; check that this is text, and that the tokenizer cuts it into words"
        )
    return f"no {noun} occurs {min_count} times or more among {tally.tokens:,} {noun}s; try min_count=1"


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
    corpus: Corpus | Baskets,
    *,
    phrases: str | None = None,
    vocabulary: Iterable[Key] | None,
    memory: float | str | None,
    workers: int | None,
    device: str,
    output: str | Path,
    overwrite: bool,
    cluster: str | None,
    block_size: float | str | None,
    **counting: Any,
) -> list[str]:
    """Return, in sentences, what :func:`count_pairs` with these options would read, write and need.

    ``cluster``: the name of the cluster that would do it, None for this machine; ``counting``: see :class:`Counting`.
    """
    what = counting_of(corpus, **counting)
    files = corpus.corpus if isinstance(corpus, Baskets) else corpus
    assert files is not None  # baskets that are planned come from files
    _check_place(output, on_cluster=cluster is not None, workers=workers, block_size=block_size)
    check_output(output, overwrite=overwrite, kind=KIND)
    words = what.max_words if vocabulary is None else len(set(vocabulary))
    size = files.raw_size
    most = None if memory is None else parse_size(memory)
    if cluster is None:
        budget = format_size(available_memory() // 2 if most is None else most)
        card = card_named(device)
        beside = "" if card is None else f", and count pairs on the device '{card}'"
        place = f"use at most {budget} of memory and {resolve_workers(workers)} threads{beside}"
    else:
        from psdvec.cluster.counting import plan_blocks

        blocks = len(plan_blocks(files, block_size))
        budget = "half of the memory that Dask allows it" if most is None else format_size(most)
        place = f"work on {cluster}: the text in {blocks:,} blocks, each worker with at most {budget}"
    joined = ""
    if phrases == AUTO:
        joined = ", find its phrases, and read it again"
    elif phrases is not None:
        joined = f", with {count_of(len(read_phrases(phrases)), 'phrase')} of '{phrases}'"
    parameters = describe_counts(corpus, what).parameters
    noun = parameters.get("noun", "word")
    how = [f"{name} {parameters[name]}" for name in ("window", "weighting", "gaps") if name in parameters]
    lines = [
        f"read {count_of(len(files.files), 'file')}, {'of unknown size' if size is None else format_size(size)}, "
        f"with tokenizer {parameters['tokenizer']}{joined}",
        f"count {'all' if words is None else f'at most {words:,}'} {noun}s"
        + (f" that occur at least {what.min_count} times" if vocabulary is None else " of the given list")
        + f", and pairs with {', '.join(how)}",
        place,
    ]
    if size is not None:
        free = shutil.disk_usage(nearest_folder(Path(output))).free
        lines.append(
            f"need up to {format_size(_DISK_PER_BYTE * size)} of disk (more for compressed input) for temporary "
            f"files in '{output}.work', where {format_size(free)} is free"
        )
    return [*lines, f"write '{output}'"]
