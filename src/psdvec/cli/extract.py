"""The command that turns a Wikipedia dump into plain text: ``extract``."""

from __future__ import annotations

from typing import Annotated

import typer

from psdvec.cli.options import Overwrite, Quiet
from psdvec.cli.tables import make_progress
from psdvec.errors import InputError

_Dump = Annotated[
    str, typer.Argument(help="MediaWiki XML, plain or .bz2, .gz, .xz, .zst; - is standard input.")
]
_Output = Annotated[str, typer.Option("-o", "--output", help="File to write; - is standard output.")]
_Jsonl = Annotated[bool, typer.Option("--jsonl", help="Write JSON lines with id, title and text.")]
_Paper = Annotated[
    bool, typer.Option("--paper", help="Keep only English words, in lower case, as in the paper.")
]
_MinWords = Annotated[int, typer.Option(min=0, help="Skip articles with fewer words than this.")]
_Limit = Annotated[int | None, typer.Option(min=1, help="Stop after N articles.", metavar="N")]
_Workers = Annotated[int | None, typer.Option(min=1, help="Number of threads; default: one per core.")]


def extract(
    dump: _Dump,
    output: _Output,
    jsonl: _Jsonl = False,
    paper: _Paper = False,
    min_words: _MinWords = 1,
    limit: _Limit = None,
    workers: _Workers = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Turn a Wikipedia dump into plain text, one article per line.

    The text stays as it stands, in any language; tokenizers cut it into words later.

    Example: `psdvec extract enwiki-latest-pages-articles.xml.bz2 -o corpus.txt`
    """
    from psdvec.text.wikipedia import extract as extract_text

    if paper and jsonl:
        raise InputError("--paper and --jsonl exclude each other; leave one of them out")
    progress = make_progress(quiet=quiet)
    done = extract_text(
        dump, output, form="jsonl" if jsonl else "paper" if paper else "text", min_words=min_words, limit=limit,
        workers=workers, overwrite=overwrite, progress=progress,
    )  # fmt: skip
    progress.say(str(done))
