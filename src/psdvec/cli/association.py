"""The command that measures how lists of words go with others: ``association``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from psdvec.cli.change import By, MinCount, Permutations, Report, Slices, Unit, Window, read_slices
from psdvec.cli.options import Column, Encoding, Overwrite, Quiet, Vectors, Where, Workers, read_where
from psdvec.cli.tables import make_progress, print_table
from psdvec.options import ENCODING


def association(
    model: Vectors,
    documents: Annotated[
        list[str] | None,
        typer.Argument(help="JSON lines, CSV, TSV or Parquet with a document a line or row."),
    ] = None,
    *,
    targets: Annotated[
        str | None, typer.Option(help="Names of two word lists, such as math,arts.", metavar="X,Y")
    ] = None,
    attributes: Annotated[
        str, typer.Option(help="Names of two more, such as male,female: the axis.", metavar="A,B")
    ],
    words: Annotated[
        str | None,
        typer.Option(help="Words to be projected on the axis, such as nurse,engineer.", metavar="WORD,..."),
    ] = None,
    lists: Annotated[
        Path | None,
        typer.Option(help="JSON or TOML with word lists by their names, beside those of the package."),
    ] = None,
    by: By = None,
    slices: Slices = None,
    unit: Unit = None,
    output: Report = None,
    column: Column = None,
    where: Where = None,
    window: Window = None,
    min_count: MinCount = 20,
    permutations: Permutations = 1000,
    encoding: Encoding = ENCODING,
    seed: Annotated[int, typer.Option(help="Seed of the blocks of documents, and of what is random.")] = 0,
    workers: Workers = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Say how two lists of words go with two others, as in WEAT.

    And how sure that is, over words and over documents; in the model, or in documents and slices of them.

    Example: `psdvec association model/ --targets math,arts --attributes male,female -o report/`
    """
    from psdvec.slices.association import association as measure
    from psdvec.topic_model.documents import Files

    found = measure(
        model, Files(tuple(documents)) if documents else None,
        targets=targets.split(",") if targets else None, attributes=attributes.split(","),
        words=words.split(",") if words else None, lists=lists, by=by, slices=read_slices(slices), unit=unit,
        column=column, where=read_where(where), window=window, min_count=min_count, permutations=permutations,
        encoding=encoding, seed=seed, workers=workers, output=output, overwrite=overwrite,
        progress=make_progress(quiet=quiet),
    )  # fmt: skip
    columns = [column for column in zip(*found.rows(), strict=True) if any(cell != "" for cell in column[1:])]
    head, *rows = zip(*columns, strict=True)
    shown = [[f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    print_table(head, shown, left=head.index("value"))
    for sentence in found.left_out():
        print(sentence)
    if output is not None:
        print(f"written to {output}; have a look at {output / 'association.html'}")
