"""``psdvec extract``: a Wikipedia dump to plain text."""

from __future__ import annotations

import inspect
from typing import Annotated

import typer

from psdvec import wikipedia
from psdvec.cli.bars import make_progress
from psdvec.errors import InputError

_DEFAULTS = {name: each.default for name, each in inspect.signature(wikipedia.extract).parameters.items()}


def extract(
    dump: Annotated[
        str, typer.Argument(help="MediaWiki XML, plain or .bz2, .gz, .xz, .zst; - is standard input.")
    ],
    output: Annotated[str, typer.Option("-o", "--output", help="File to write; - is standard output.")],
    text: Annotated[bool, typer.Option("--text", help="Keep case, punctuation and all scripts.")] = False,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Like --text, as JSON with id and title.")] = False,
    min_words: Annotated[int, typer.Option(min=0, help="Skip articles with fewer words.")] = _DEFAULTS[
        "min_words"
    ],
    limit: Annotated[int | None, typer.Option(min=1, help="Stop after this many articles.")] = _DEFAULTS[
        "limit"
    ],
    workers: Annotated[
        int | None, typer.Option(min=1, help="Threads that clean pages; all processors by default.")
    ] = _DEFAULTS["workers"],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an output that exists.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
) -> None:
    """Turn a Wikipedia dump into plain text, one article a line.

    By default the text is English words in lower case without punctuation.

    Example: psdvec extract enwiki-latest-pages-articles.xml.bz2 -o corpus.txt
    """
    if text and jsonl:
        raise InputError(
            "--text and --jsonl exclude each other; --jsonl holds the text of --text, say only that"
        )
    progress = make_progress(quiet=quiet)
    done = wikipedia.extract(
        dump,
        output,
        form="jsonl" if jsonl else "text" if text else "words",
        min_words=min_words,
        limit=limit,
        workers=workers,
        overwrite=overwrite,
        progress=progress,
    )
    progress.say(str(done))
