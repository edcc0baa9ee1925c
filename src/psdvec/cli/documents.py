"""The commands for documents by themselves: ``vectorize``, ``duplicates``, ``distinctive``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from psdvec.cli.options import Column, Encoding, Overwrite, Quiet, Vectors, Where, Workers, read_where
from psdvec.cli.tables import make_progress
from psdvec.formats import load
from psdvec.options import ENCODING
from psdvec.vectors.sentences import DocumentWeighting
from psdvec.vectors.subwords import UnseenInText

Id = Annotated[str, typer.Option("--id", help="Field with the id of each document.")]


def vectorize(
    model: Vectors,
    text: Annotated[
        str,
        typer.Argument(
            help="Text with a document a line, JSON lines, CSV, TSV, Parquet, or a folder; - is standard input."
        ),
    ],
    target: Annotated[
        Path,
        typer.Argument(
            help="Where to write: .jsonl, .csv, .tsv or .parquet with ids, or the matrix alone, .npy.",
            metavar="OUT",
        ),
    ],
    weighting: Annotated[
        DocumentWeighting, typer.Option(help="Plain mean, or sif or tfidf: rare words weigh more.")
    ] = "mean",
    tokenizer: Annotated[
        str | None,
        typer.Option(
            help="How to cut lines into words: unicode, unicode-cased, paper or whitespace; default: as the model's "
            "text was cut."
        ),
    ] = None,
    oov: Annotated[
        UnseenInText,
        typer.Option("--oov", help="Leave words without a vector out, or give them one by their spelling."),
    ] = "ignore",
    column: Column = None,
    id: Id = "id",
    where: Where = None,
    encoding: Encoding = ENCODING,
    workers: Workers = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Turn each document into a vector, and say how sure it is.

    Example: `psdvec vectorize model/ reviews.jsonl reviews.parquet --weighting sif`
    """
    from psdvec.documents.vectorize import vectorize_file
    from psdvec.topic_model.documents import Files

    progress = make_progress(quiet=quiet)
    e = load(model, progress=progress)
    summary = vectorize_file(
        e, Files((text,)), target, weighting=weighting, tokenizer=tokenizer, unseen=oov, column=column, id=id,
        where=read_where(where), encoding=encoding, workers=workers, overwrite=overwrite, progress=progress,
    )  # fmt: skip
    spelled = f", {summary.spelled:,} more by their spelling" if oov == "spelling" else ""
    progress.say(
        f"{summary.documents:,} vectors of {e.dim} dimensions written to {target}; {summary.known:,} of "
        f"{summary.words:,} words known{spelled}, {summary.empty:,} documents without a known word"
    )
