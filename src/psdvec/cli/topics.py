"""The command that finds topics: ``topics``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from psdvec.cli.options import Column, Encoding, Overwrite, Quiet, Vectors, Where, Workers, read_where
from psdvec.cli.tables import make_progress, print_table
from psdvec.errors import InputError
from psdvec.options import ENCODING
from psdvec.progress import count_of
from psdvec.resources import format_size
from psdvec.system import peak_memory


def topics(
    model: Vectors,
    documents: Annotated[
        list[str],
        typer.Argument(
            help="Text with a document a line, JSON lines, CSV, TSV, Parquet, or folders with a document in each file."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write the topics to.")],
    number: Annotated[str, typer.Option("--topics", help="How many topics, or auto.", metavar="N")] = "50",
    column: Column = None,
    where: Where = None,
    by: Annotated[
        list[str] | None, typer.Option(help="Field to show topics over, such as year; may be repeated.")
    ] = None,
    encoding: Encoding = ENCODING,
    seed_words: Annotated[
        list[str] | None,
        typer.Option(help="Words of a topic that you want, as 'economy: bank loan market'; may be repeated."),
    ] = None,
    min_documents: Annotated[
        int | None,
        typer.Option(
            help="Leave out words that fewer documents have; default: 5, or one in a thousand.",
            show_default=False,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Also draw the topics, over the first --by if given, as PNG, SVG or PDF by the name of this file."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Only cluster the documents: one topic for each of them.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the first clusters.")] = 0,
    workers: Workers = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Find what documents are about, as topics among words.

    Each topic is a vector in the space of the words of MODEL.

    Example: `psdvec topics model/ documents.jsonl -o topics/ --topics 30 --by year`

    If it is interrupted, the same command continues after the last finished round.
    """
    from psdvec.pages.figures import check_figure_output, write_figure
    from psdvec.topic_model.documents import Files
    from psdvec.topic_model.topics import topics as find_topics

    if plot is not None:
        check_figure_output(plot, overwrite=overwrite)
    found = find_topics(
        model, Files(tuple(documents)), _number(number), column=column, where=read_where(where), by=by or (),
        encoding=encoding, seed_words=_seeds(seed_words or ()), min_documents=min_documents, quick=quick, seed=seed,
        workers=workers, output=output, overwrite=overwrite, progress=make_progress(quiet=quiet),
    )  # fmt: skip
    if plot is not None:
        write_figure(found.plot(by=by[0] if by else None), plot, overwrite=overwrite)
    words = found.top_words(8)
    rows = [
        (str(k), found.labels[k], ", ".join(words[k]), f"{100 * found.sizes[k]:.1f} %")
        for k in range(len(found))
    ]
    print_table(("topic", "label", "words", "size"), rows, left=3)
    print(f"diversity {found.diversity:.2f}, coherence {found.coherence.mean():.3f}")
    print(f"{count_of(len(found), 'topic')} written to {output}; have a look at {output / 'topics.html'}")
    print(f"peak memory {format_size(peak_memory())}")


def _number(text: str) -> int | Literal["auto"]:
    if text == "auto":
        return "auto"
    if not text.isdecimal() or len(text) > 9:
        raise InputError(f"topics={text!r} is not a number; give one, such as 50, or auto")
    return int(text)


def _seeds(texts: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in texts:
        given, colon, words = text.partition(":")
        name = given.strip()
        if not colon or not name or not words.split():
            raise InputError(
                f"seed_words={text!r} names no topic and words; write them as 'economy: bank loan market'"
            )
        if name in found:
            raise InputError(
                f"seed words of '{name}' are given twice; give them all at once, or another name"
            )
        found[name] = words.replace(",", " ").split()
    return found
