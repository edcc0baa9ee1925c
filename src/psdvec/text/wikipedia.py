"""Turns a Wikipedia dump into text, one article per line.

:func:`extract` reads the dump once, in constant memory, and cleans batches of pages in parallel; articles are
written in the order of the dump, with the same bytes for any number of workers. Articles are the pages of namespace 0
that are not redirects; :mod:`psdvec.text.wikitext` says what becomes of their markup.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from psdvec.errors import InputError
from psdvec.parallel import map_ordered
from psdvec.progress import LogProgress, Progress
from psdvec.resources import resolve_workers
from psdvec.storage.files import check_file_output, rename_to_free, replaced_file
from psdvec.text.decompress import open_stream
from psdvec.text.wikidump import Batch, Dump, Page, read_pages

if TYPE_CHECKING:
    from psdvec.text.wikitext import Stripper

STANDARD_OUTPUT = "-"

Form = Literal["text", "paper", "jsonl"]


@dataclass(frozen=True)
class Extraction:
    """How many pages were read, and what became of them."""

    pages: int = 0
    articles: int = 0
    words: int = 0
    redirects: int = 0
    other_namespaces: int = 0
    too_short: int = 0

    def __add__(self, other: Extraction) -> Extraction:
        mine, others = asdict(self), asdict(other)
        return Extraction(**{name: mine[name] + others[name] for name in mine})

    def __str__(self) -> str:
        return (
            f"{self.pages:,} pages read, {self.articles:,} articles kept with {self.words:,} words; skipped: "
            f"{self.redirects:,} redirects, {self.other_namespaces:,} pages in other namespaces, "
            f"{self.too_short:,} articles with too few words"
        )


def extract(
    dump: str | Path,
    output: str | Path,
    *,
    form: Form = "text",
    min_words: int = 1,
    limit: int | None = None,
    workers: int | None = None,
    overwrite: bool = False,
    progress: Progress = LogProgress(),
) -> Extraction:
    """Write the articles of a Wikipedia ``dump`` to ``output``, one per line.

    Parameters
    ----------
    dump
        MediaWiki XML, plain or compressed with bzip2, gzip, xz or Zstandard; ``"-"`` is standard input.
    output
        The file to write, or ``"-"`` for standard output. It appears when it is complete.
    form
        ``"text"`` keeps the text as it stands, in any script; ``"jsonl"`` writes the same as JSON, with ``id`` and
        ``title``; ``"paper"`` keeps only English words, in lower case and without punctuation.
    min_words
        Skip articles with fewer words than this.
    limit
        Stop after this many articles.
    workers
        Threads that decompress bzip2 and clean pages; by default, one per available processor.
    overwrite
        Replace ``output`` if it exists.

    Returns
    -------
    Extraction
        How many pages were read, kept and skipped.

    Raises
    ------
    InputError
        If ``dump`` is not a dump, is damaged or truncated, or contains declarations or a page above 67 MB; the
        articles before that place stay in ``output.partial``, or, if something has that name, ``output.partial-2``.

    Examples
    --------
    >>> extract("pages-articles.xml.bz2", "corpus.txt").articles
    600
    """
    _check_output(output, dump, overwrite=overwrite)
    workers = resolve_workers(workers)
    with open_stream(dump, workers=workers) as stream:
        source = Dump(stream)
        clean = _cleaner(source, form=form, min_words=min_words)
        with (
            _open_output(output, overwrite=overwrite) as file,
            progress.stage("extracting", total=stream.raw_size, unit="B") as stage,
            ThreadPoolExecutor(workers) as pool,
        ):
            done, position, last = Extraction(), 0, None
            try:
                for batch in map_ordered(pool, clean, source.batches(), ahead=2 * workers):
                    fates = batch.fates[: _length_with(limit, batch.fates, done.articles)]
                    done += _write(fates, file)
                    stage.advance(batch.raw_position - position, pages=len(fates))
                    position, last = batch.raw_position, batch.last or last
                    if done.articles == limit:
                        break
            except InputError as error:
                raise InputError(f"{error}; {_what_is_kept(done, last, output)}") from error
    return done


@dataclass(frozen=True)
class _Fate:
    """What becomes of a page: the line to write, or the reason why it is skipped."""

    reason: Literal["redirects", "other_namespaces", "too_short"] | None = None
    line: str = ""
    words: int = 0


@dataclass(frozen=True)
class _CleanBatch:
    fates: list[_Fate]
    last: Page | None
    raw_position: int


def _cleaner(dump: Dump, *, form: Form, min_words: int) -> Callable[[Batch], _CleanBatch]:
    """Return the function that cleans a batch; the kernels are imported only here, when work begins."""
    from psdvec.text.wikitext import Stripper

    stripper = Stripper(dump.dropped_prefixes)

    def clean(batch: Batch) -> _CleanBatch:
        pages = list(read_pages(batch.xml, dump.namespaces))
        articles = [page for page in pages if page.namespace == 0 and not page.is_redirect]
        texts = iter(_strip(stripper, [page.text for page in articles], form))
        fates = [_fate(page, texts, form=form, min_words=min_words) for page in pages]
        return _CleanBatch(fates, pages[-1] if pages else None, batch.raw_position)

    return clean


def _strip(stripper: Stripper, pages: list[bytes], form: Form) -> list[str]:
    return stripper.words(pages) if form == "paper" else stripper.texts(pages)


def _fate(page: Page, texts: Iterator[str], *, form: Form, min_words: int) -> _Fate:
    if page.namespace != 0:
        return _Fate("other_namespaces")
    if page.is_redirect:
        return _Fate("redirects")
    text = next(texts)
    words = text.count(" ") + 1 if text else 0
    if words < min_words:
        return _Fate("too_short")
    if form == "jsonl":
        text = json.dumps({"id": page.id, "title": page.title, "text": text}, ensure_ascii=False)
    return _Fate(line=text, words=words)


def _length_with(limit: int | None, fates: list[_Fate], articles: int) -> int:
    """Return how many of ``fates`` are needed to get from ``articles`` to ``limit`` articles."""
    if limit is not None:
        for place, fate in enumerate(fates, start=1):
            articles += fate.reason is None
            if articles >= limit:
                return place
    return len(fates)


def _write(fates: list[_Fate], file: BinaryIO) -> Extraction:
    lines = [fate.line for fate in fates if fate.reason is None]
    file.write("".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))
    reasons = [fate.reason for fate in fates]
    return Extraction(
        pages=len(fates),
        articles=len(lines),
        words=sum(fate.words for fate in fates),
        redirects=reasons.count("redirects"),
        other_namespaces=reasons.count("other_namespaces"),
        too_short=reasons.count("too_short"),
    )


def _what_is_kept(done: Extraction, last: Page | None, output: str | Path) -> str:
    if last is None:
        return "no page was read"
    where = "were written" if str(output) == STANDARD_OUTPUT else f"are kept in '{_partial(Path(output))}'"
    page = f"the last good page is '{last.title}' (id {last.id})"
    return f"{page}, and the {done.articles:,} articles up to it {where}"


def _partial(path: Path) -> Path:
    """Return a free name for what could be read of a broken dump."""
    names = (f"{path.name}.partial{f'-{n}' if n > 1 else ''}" for n in count(1))
    return next(each for each in map(path.with_name, names) if not os.path.lexists(each))


def _check_output(output: str | Path, dump: str | Path, *, overwrite: bool) -> None:
    """Raise :class:`InputError` if ``output`` must not be written."""
    path = Path(output)
    if str(output) == STANDARD_OUTPUT:
        return
    if path.is_file() and Path(dump).exists() and path.samefile(dump):
        raise InputError(f"'{path}' is the dump itself; choose another output name")
    check_file_output(path, overwrite=overwrite)


@contextmanager
def _open_output(output: str | Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Write beside ``output`` and rename when all is well; after an input error the partial file stays."""
    if str(output) == STANDARD_OUTPUT:
        if sys.stdout is None:
            raise InputError("standard output is closed, and nothing can be written to it; give a file")
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(output)
    with replaced_file(path, overwrite=overwrite) as file:
        try:
            yield file
        except InputError:
            rest, partial = Path(file.name), _partial(path)
            if not rename_to_free(rest, partial):
                rest.rename(partial)
            raise
