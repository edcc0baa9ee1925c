"""The command that makes a folder of vectors that is ready to be handed on: ``publish``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from psdvec.cli.options import Overwrite, Quiet, Vectors
from psdvec.cli.tables import make_progress
from psdvec.resources import format_size

if TYPE_CHECKING:
    from psdvec.publishing.publish import More


def publish(
    model: Vectors,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")],
    formats: Annotated[
        str | None,
        typer.Option(
            "--with",
            help="Also write vec (gensim, spaCy), parquet (words, map, neighbours), projector (TensorBoard), spacy (a "
            "pipeline); several with commas.",
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Title of the card; default: the name of MODEL.")] = None,
    license: Annotated[
        str | None, typer.Option(help="Licence, such as cc-by-sa-4.0; without one, the card says so.")
    ] = None,
    language: Annotated[
        list[str] | None, typer.Option(help="Code of the language, such as en; may be repeated.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Scores for the card, from: psdvec evaluate MODEL --json.")
    ] = None,
    card: Annotated[
        Path | None, typer.Option(help="Markdown of your own to put into the card.", metavar="FILE")
    ] = None,
    quantize: Annotated[
        Literal["int8"] | None,
        typer.Option(help="int8: eight bits for a number; the card says what is lost."),
    ] = None,
    spaces: Annotated[str | None, typer.Option(help="Write this instead of spaces in words.")] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Make a folder to hand on, with a model card.

    Example: `psdvec publish model/ -o my-vectors/ --license cc-by-sa-4.0 --language en --with vec,parquet`

    psdvec, model2vec and sentence-transformers load it as it is.
    """
    from psdvec.publishing.publish import publish as write

    also = [] if formats is None else [each.strip() for each in formats.split(",")]
    write(
        model, output, formats=cast("list[More]", also), name=name, license=license, languages=language or [],
        report=report, card=card, quantize=quantize, spaces=spaces, overwrite=overwrite,
        progress=make_progress(quiet=quiet),
    )  # fmt: skip
    files = [path for path in output.rglob("*") if path.is_file()]
    size = format_size(sum(path.stat().st_size for path in files))
    print(
        f"{len(files)} files, {size}, written to {output}; read {output / 'README.md'} before you hand it on"
    )
