"""``psdvec extract``: a Wikipedia dump to plain text."""

from __future__ import annotations

from typing import Annotated

import typer

from psdvec.cli.defaults import default
from psdvec.cli.progress_bar import make_progress
from psdvec.errors import InputError

_Dump = Annotated[
    str, typer.Argument(help="MediaWiki XML, plain or .bz2, .gz, .xz, .zst; - is standard input.")
]
_Output = Annotated[str, typer.Option("-o", "--output", help="File to write; - is standard output.")]
_Text = Annotated[bool, typer.Option("--text", help="Keep case, punctuation and all scripts.")]
_Jsonl = Annotated[bool, typer.Option("--jsonl", help="Like --text, as JSON with id and title.")]
_MinWords = Annotated[int, typer.Option(min=0, help="Skip articles with fewer words.")]
_Limit = Annotated[int | None, typer.Option(min=1, help="Stop after this many articles.")]
_Workers = Annotated[int | None, typer.Option(min=1, help="Threads; as many as processors by default.")]
_Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an output that exists.")]
_Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]


def extract(
    dump: _Dump,
    output: _Output,
    text: _Text = False,
    jsonl: _Jsonl = False,
    min_words: _MinWords = default("text.wikipedia.extract", "min_words"),
    limit: _Limit = default("text.wikipedia.extract", "limit"),
    workers: _Workers = default("text.wikipedia.extract", "workers"),
    overwrite: _Overwrite = default("text.wikipedia.extract", "overwrite"),
    quiet: _Quiet = False,
) -> None:
    """Turn a Wikipedia dump into plain text, one article a line.

    By default the text is English words in lower case without punctuation.

    Example: `psdvec extract enwiki-latest-pages-articles.xml.bz2 -o corpus.txt`
    """
    from psdvec.text import wikipedia

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
