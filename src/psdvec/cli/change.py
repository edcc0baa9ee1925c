"""The commands that resample documents: ``change``, which compares slices of them, and ``stability``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from psdvec.cli.options import Column, Encoding, Overwrite, Quiet, Vectors, Where, Workers, read_where
from psdvec.cli.tables import make_progress, print_table
from psdvec.errors import InputError
from psdvec.options import ENCODING
from psdvec.text.readers import RECORDS

if TYPE_CHECKING:
    from psdvec.topic_model.documents import Files

By = Annotated[
    str | None, typer.Option(help="Field that says which slice a document is of, such as year or party.")
]
Slices = Annotated[
    list[str] | None,
    typer.Option(
        "--slice", help="In place of documents: NAME=FILE with those of a slice, or its counts; repeat it."
    ),
]
Unit = Annotated[
    str | None,
    typer.Option(
        help="Field whose documents are dealt together, such as speaker; each by itself by default."
    ),
]
Report = Annotated[Path | None, typer.Option("--output", "-o", help="Folder to write the report to.")]
Window = Annotated[
    int | None, typer.Option(help="Contexts reach this many words to either side, 5 by default.")
]
MinCount = Annotated[int, typer.Option(help="Leave out words that occur fewer times in any slice.")]
Permutations = Annotated[
    int, typer.Option(help="How often documents are dealt to slices at random, for the test.")
]


def change(
    given: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL] [DOCUMENTS]...",
            help="Vectors of all the text, which are learned from the documents if none are given; then JSON lines, "
            "CSV, TSV or Parquet with a document a line or row.",
        ),
    ] = None,
    by: By = None,
    slices: Slices = None,
    unit: Unit = None,
    output: Report = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Also draw the words that changed most, as PNG, SVG or PDF by the name of this file."
        ),
    ] = None,
    column: Column = None,
    where: Where = None,
    window: Window = None,
    min_count: MinCount = 20,
    permutations: Permutations = 200,
    encoding: Encoding = ENCODING,
    seed: Annotated[int, typer.Option(help="Seed of the blocks of documents, and of the permutations.")] = 0,
    memory: Annotated[
        str | None, typer.Option(help="Memory to use at most, such as 1G; the result is the same.")
    ] = None,
    workers: Workers = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Say which words are used differently in slices of documents.

    How much at least, and how sure that is; documents, not words, are what is dealt to slices.

    Example: `psdvec change model/ speeches.jsonl --by period -o report/`
    """
    from psdvec.pages.figures import check_figure_output, write_figure
    from psdvec.slices.change import change as find_change
    from psdvec.topic_model.documents import Files

    if plot is not None:
        check_figure_output(plot, overwrite=overwrite)
    model, documents = _model_and_documents(given or [], has_slices=bool(slices))
    found = find_change(
        model, Files(tuple(documents)) if documents else None, by=by, slices=read_slices(slices), unit=unit,
        column=column, where=read_where(where), window=window,
        min_count=min_count, permutations=permutations, encoding=encoding, seed=seed, memory=memory,
        workers=workers, output=output, overwrite=overwrite, progress=make_progress(quiet=quiet),
    )  # fmt: skip
    if plot is not None:
        write_figure(found.plot(), plot, overwrite=overwrite)
    head, *rows = found.rows()
    shown = [[str(row[0]), *(f"{cell:,}" if isinstance(cell, int) else f"{cell:.3g}" for cell in row[1:-3])]
             for row in rows[:20]]  # fmt: skip
    print_table(head[:-3], shown, left=1)
    if output is not None:
        print(f"{len(found):,} words written to {output}; have a look at {output / 'change.html'}")


def stability(
    model: Vectors,
    documents: Annotated[
        list[str],
        typer.Argument(
            help="The documents that MODEL was trained on: text with a document a line, JSON lines, CSV, TSV, Parquet, "
            "or folders with a document in each file."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to.")],
    column: Column = None,
    where: Where = None,
    refits: Annotated[
        int, typer.Option(min=1, help="How many times to draw documents and fit; more are better.")
    ] = 4,
    encoding: Encoding = ENCODING,
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 0,
    workers: Workers = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Say which neighbours would stay with other documents.

    `psdvec similar MODEL WORD --stability FOLDER` shows it.

    Example: `psdvec stability model/ documents.txt -o stability/`

    If it is interrupted, the same command continues after the last finished refit.
    """
    from psdvec.slices.stability import stability as find_stability
    from psdvec.topic_model.documents import Files

    found = find_stability(
        model, Files(tuple(documents)), column=column, where=read_where(where), refits=refits, encoding=encoding,
        seed=seed, workers=workers, output=output, overwrite=overwrite, progress=make_progress(quiet=quiet),
    )  # fmt: skip
    print(f"{found.documents:,} documents resampled; psdvec similar {model} WORD --stability {output}")


def _model_and_documents(given: list[str], *, has_slices: bool) -> tuple[str | None, list[str]]:
    """Say which of the arguments is the model, if any: the first, unless it can only hold documents."""
    can_be = bool(given) and not given[0].removesuffix(".gz").endswith(RECORDS)
    if not can_be or (len(given) == 1 and not has_slices):
        return None, given
    return given[0], given[1:]


def read_slices(texts: list[str] | None) -> dict[str, Files] | None:
    """Read the slices that ``--slice`` names, None if there are none."""
    from psdvec.topic_model.documents import Files

    return {name: Files((path,)) for name, path in map(_named, texts)} if texts else None


def _named(text: str) -> tuple[str, str]:
    name, equals, path = text.partition("=")
    if not equals or not name or not path:
        raise InputError(
            f"--slice '{text}' names no slice and file; write NAME=FILE, such as a=speeches-a.txt"
        )
    return name, path
