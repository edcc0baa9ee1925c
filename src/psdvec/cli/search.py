"""The commands that make an index of documents and ask it: ``index`` and ``search``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from psdvec.cli.options import Column, Encoding, Json, Overwrite, Quiet, Where, Workers, read_where
from psdvec.cli.tables import make_progress, print_json
from psdvec.errors import InputError, printable
from psdvec.options import ENCODING
from psdvec.progress import count_of
from psdvec.resources import format_size
from psdvec.system import peak_memory


def index(
    documents: Annotated[
        list[str],
        typer.Argument(
            help="JSON lines with id and text, CSV, TSV, Parquet, text with a document a line, or folders of texts."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder to write the index to.", show_default=False)
    ] = None,
    add: Annotated[
        Path | None, typer.Option(help="Index to add the documents to, instead of --output.", metavar="INDEX")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="Vectors to widen the search by; default: a model of the documents is trained."),
    ] = None,
    column: Column = None,
    id: Annotated[str, typer.Option("--id", help="Field with the id of each document.")] = "id",
    where: Where = None,
    keep: Annotated[
        list[str] | None, typer.Option(help="Field to keep, for filters and to show; may be repeated.")
    ] = None,
    encoding: Encoding = ENCODING,
    skip_known: Annotated[
        bool, typer.Option("--skip-known", help="Leave out documents whose id is there already.")
    ] = False,
    memory: Annotated[
        str | None,
        typer.Option(help="Memory that training may use at most, such as 4G; default: what is free."),
    ] = None,
    workers: Workers = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Make an index of documents, or add some to it.

    Example: `psdvec index documents.jsonl -o index/`, then `psdvec search "capital punishment" --in index/`

    `psdvec index more.jsonl --add index/` adds documents to an index; the files of the old ones stay as they are.
    """
    from psdvec.search.index import DocumentIndex, read_index
    from psdvec.topic_model.documents import Files

    if (output is None) == (add is None):
        raise InputError("where to is not clear; give either output=INDEX, for a new one, or add=INDEX")
    if add is not None and (model is not None or keep or overwrite):
        raise InputError(
            "the index that is added to has a model and fields of its own; leave model, keep and overwrite out"
        )
    files = Files(tuple(documents))
    how: dict[str, Any] = {
        "column": column, "id": id, "where": read_where(where), "encoding": encoding, "skip_known": skip_known,
        "memory": memory, "workers": workers, "progress": make_progress(quiet=quiet),
    }  # fmt: skip
    if add is not None:
        made = read_index(add).add(files, **how)
    else:
        made = DocumentIndex.build(
            files, model=model, output=output, keep=keep or (), overwrite=overwrite, **how
        )
    left_out = f", {count_of(len(made.left_out), 'empty one')} left out" if made.left_out else ""
    print(
        f"{count_of(len(made), 'document')} in {made.path}{left_out}; peak memory {format_size(peak_memory())}"
    )


def search(
    question: Annotated[str, typer.Argument(help='Words; what is in "double quotes" must stand there so.')],
    place: Annotated[Path, typer.Option("--in", help="The index, as psdvec index made it.", metavar="INDEX")],
    topn: Annotated[int, typer.Option(help="How many documents to show.")] = 10,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            help="Only documents with this value in a field that was kept, as party=A, or party=A,B; may be repeated.",
            metavar="FIELD=VALUE",
        ),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Only the words as they are: no near words, spelling or vectors.")
    ] = False,
    json: Json = False,
) -> None:
    """Find documents of an index, and say which words met which.

    Example: `psdvec search "capital punishment in the states" --in index/ --topn 5`

    A word of the question may meet another one of the document: a near one by the vectors of the collection, or, where
    no document has it, one that is spelled alike. The rest of the score is meaning: what vectors of both say.
    """
    from psdvec.search.index import read_index

    hits = read_index(place).search(question, topn=topn, where=read_where(where), exact=exact)
    if json:
        print_json([asdict(hit) for hit in hits])
        return
    if not hits:
        print("no document has what is asked for")
    for number, hit in enumerate(hits, 1):
        told = "".join(f", {name} {value}" for name, value in hit.fields.items())
        print(printable(f"{number}. {hit.id}  {hit.score:.2f}{told}"))
        print(f"   {printable(hit.snippet)}")
        met = [
            f"{one.question if one.question == one.document else f'{one.question} ~ {one.document}'} {one.score:.2f}"
            for one in hit.why
            if one.score >= 0.005
        ]
        meaning = [f"meaning {hit.meaning:.2f}"] if abs(hit.meaning) >= 0.005 else []
        print(printable(f"   why: {', '.join([*met, *meaning])}"))
