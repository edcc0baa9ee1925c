"""The commands for documents by themselves: ``vectorize``, ``duplicates``, ``distinctive``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from psdvec.cli.options import (
    Column,
    Encoding,
    Overwrite,
    Quiet,
    Tokenizer,
    Vectors,
    Where,
    Workers,
    read_where,
)
from psdvec.cli.tables import make_progress
from psdvec.formats import load
from psdvec.options import ENCODING, TOKENIZER
from psdvec.progress import count_of
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


def duplicates(
    documents: Annotated[
        list[str],
        typer.Argument(
            help="JSON lines with id and text, CSV, TSV, Parquet, text with a document a line, or folders of texts."
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Where to write the pairs: .jsonl, .csv, .tsv or .parquet."),
    ],
    keep: Annotated[
        Path | None,
        typer.Option(help="Also write which documents of each group to keep, in a file of such a name."),
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="Least share of shingles in both among those in either, up to 1.")
    ] = 0.8,
    shingle: Annotated[int, typer.Option(help="Words of a shingle.")] = 3,
    column: Column = None,
    id: Id = "id",
    where: Where = None,
    encoding: Encoding = ENCODING,
    tokenizer: Tokenizer = TOKENIZER,
    workers: Workers = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Find documents that are nearly the same, and say which to keep.

    Two documents are alike by the share of their shingles, runs of three words, that both have. All pairs are found.

    Example: `psdvec duplicates articles.jsonl -o pairs.jsonl --keep documents.csv`
    """
    from psdvec.documents.duplicates import near_duplicates
    from psdvec.documents.rows import check_rows_output
    from psdvec.topic_model.documents import Files

    for path in (output, keep):
        if path is not None:
            check_rows_output(path, overwrite=overwrite)
    found = near_duplicates(
        Files(tuple(documents)), threshold=threshold, shingle=shingle, column=column, id=id, where=read_where(where),
        encoding=encoding, tokenizer=tokenizer, workers=workers, progress=make_progress(quiet=quiet),
    )  # fmt: skip
    found.save(output, overwrite=overwrite)
    if keep is not None:
        found.save(keep, documents=True, overwrite=overwrite)
    groups, left = int(found.groups.max(initial=-1)) + 1, int((~found.keep).sum())
    print(
        f"{count_of(len(found), 'pair')} in {count_of(groups, 'group')} of {count_of(len(found.ids), 'document')}; "
        f"leave out {left:,}, and {len(found.ids) - left:,} are kept"
    )
