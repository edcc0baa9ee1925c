"""The commands for documents by themselves: ``vectorize``, ``duplicates``, ``distinctive``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from psdvec.cli.change import By, Slices, Unit, read_slices
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
from psdvec.cli.tables import make_progress, print_table
from psdvec.errors import InputError
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
    """Find documents that are nearly the same.

    It says which to keep. Two documents are alike by the share of their shingles, runs of three words, that both have.
    All pairs are found.

    Example: `psdvec duplicates articles.jsonl -o pairs.jsonl --keep documents.csv`
    """
    from psdvec.documents.duplicates import near_duplicates
    from psdvec.documents.rows import check_rows_output
    from psdvec.topic_model.documents import Files

    if keep is not None and keep.absolute() == output.absolute():
        raise InputError(
            f"the pairs and what to keep would both be written to '{keep}'; give each a name of its own"
        )
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
        f"leave out {left:,}, keep {len(found.ids) - left:,}"
    )


def distinctive(
    documents: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DOCUMENTS]...", help="JSON lines, CSV, TSV or Parquet with a document a line or row."
        ),
    ] = None,
    by: By = None,
    slices: Slices = None,
    unit: Unit = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="Vectors whose words are looked at and whose counts are the prior; default: all documents."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder to write a table, a page and JSON to.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Also draw the words of both groups, or of the first of more: a PNG, SVG or PDF by its name."
        ),
    ] = None,
    topn: Annotated[int, typer.Option("--topn", "-n", min=1, help="Words of each group to show.")] = 10,
    column: Column = None,
    where: Where = None,
    encoding: Encoding = ENCODING,
    min_documents: Annotated[int, typer.Option(help="Leave out words that fewer documents have.")] = 5,
    prior: Annotated[
        float, typer.Option(help="Documents of ordinary text that each side has beside its own.")
    ] = 10.0,
    permutations: Annotated[
        int, typer.Option(help="How often documents are dealt to groups at random, for the test.")
    ] = 500,
    seed: Annotated[int, typer.Option(help="Seed of the permutations.")] = 0,
    workers: Workers = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Find the words that each group of documents has more of.

    How much more at least, and how sure that is; documents, not words, are what chance deals.

    Example: `psdvec distinctive speeches.jsonl --by party -o report/`
    """
    from psdvec.documents.distinctive import HEAD
    from psdvec.documents.distinctive import distinctive as find_distinctive
    from psdvec.pages.figures import check_figure_output, write_figure
    from psdvec.topic_model.documents import Files

    if plot is not None:
        check_figure_output(plot, overwrite=overwrite)
    found = find_distinctive(
        Files(tuple(documents)) if documents else None, by=by, slices=read_slices(slices), model=model, unit=unit,
        column=column, where=read_where(where), encoding=encoding, min_documents=min_documents, prior=prior,
        permutations=permutations, seed=seed, workers=workers, output=output, overwrite=overwrite,
        progress=make_progress(quiet=quiet),
    )  # fmt: skip
    if plot is not None:
        write_figure(found.plot(), plot, overwrite=overwrite)
    for name in found.groups:
        rows = [
            [str(word), *(f"{cell:.2f}" for cell in numbers[:4]), *(f"{cell:.2g}" for cell in numbers[4:6]),
             *map(str, numbers[6:])]
            for _, word, *numbers in found.rows(name, topn=topn)
        ]  # fmt: skip
        if rows:
            print_table([name, *HEAD[2:]], rows)
        else:
            print(f"{name}: nothing for sure")
        print()
    if output is not None:
        print(f"{count_of(len(found), 'word')} compared; have a look at {output / 'distinctive.html'}")
