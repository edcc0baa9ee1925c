"""Options and arguments that several commands share, each with one name and one help text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

CorpusPaths = Annotated[
    list[str], typer.Argument(help="Files, folders or glob patterns; - is standard input.")
]
Vectors = Annotated[
    Path, typer.Argument(help="Vectors: a model folder, or a file in any format psdvec reads.")
]

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Workers = Annotated[
    int | None, typer.Option(help="Number of threads; default: one per core.", show_default=False)
]
Scheduler = Annotated[
    str | None,
    typer.Option(help="Work on the Dask cluster whose scheduler has this address, such as tcp://host:8786."),
]
Cluster = Annotated[
    str | None, typer.Option(help="Start a Dask cluster on this machine: local:N for N worker processes.")
]

Tokenizer = Annotated[str, typer.Option(help="How to cut text into words: unicode, paper or whitespace.")]
Field = Annotated[str | None, typer.Option(help="Field of JSON lines that holds the text.")]
Column = Annotated[str | None, typer.Option(help="Column of Parquet files that holds the text.")]
Errors = Annotated[str, typer.Option(help="What to do with bytes that are not UTF-8: replace or strict.")]
MinCount = Annotated[int, typer.Option(help="Leave out words that occur less often than this.")]
MaxWords = Annotated[int | None, typer.Option(help="Keep only the N most frequent words.", metavar="N")]
Window = Annotated[int, typer.Option(help="Greatest distance between the two words of a pair.")]
Weighting = Annotated[
    str, typer.Option(help="Weight of a pair by distance: harmonic, flat, linear or power:P.")
]
Gaps = Annotated[
    str, typer.Option(help="Whether words outside the vocabulary keep their place (keep) or not (close).")
]
