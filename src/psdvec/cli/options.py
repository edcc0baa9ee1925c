"""Options and arguments that several commands share, each with one name and one help text.

In help texts, :func:`grouped` lets what people set stand first, and the rest below, by what it is about.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from typer.models import OptionInfo

from psdvec.options import Recipe

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
AllowUnlike = Annotated[
    bool,
    typer.Option(
        "--allow-unlike",
        help="Of a cluster, also use workers whose processor, BLAS or versions differ; the last digits may then, too.",
    ),
]

Tokenizer = Annotated[str, typer.Option(help="How to cut text into words: unicode, paper or whitespace.")]
Field = Annotated[str | None, typer.Option(help="Field of JSON lines that holds the text; default: text.")]
Column = Annotated[
    str | None, typer.Option(help="Column of CSV, TSV or Parquet that holds the text; default: text.")
]
Errors = Annotated[str, typer.Option(help="What to do with bytes that are not text: replace or strict.")]
Encoding = Annotated[str, typer.Option(help="Encoding of the text, such as latin-1, cp1252 or utf-16.")]
MinCount = Annotated[int, typer.Option(help="Leave out words that occur less often than this.")]
MaxWords = Annotated[int | None, typer.Option(help="Keep only the N most frequent words.", metavar="N")]
Window = Annotated[int, typer.Option(help="Greatest distance between the two words of a pair.")]
Weighting = Annotated[
    str, typer.Option(help="Weight of a pair by distance: harmonic, flat, linear or power:P.")
]
Gaps = Annotated[
    str, typer.Option(help="Whether words outside the vocabulary keep their place (keep) or not (close).")
]

COUNTING, SOLVER, MACHINE = "Counting", "Solver", "Machine"

PANELS = {
    **dict.fromkeys(
        ("tokenizer", "field", "column", "errors", "encoding", "window", "weighting", "gaps"), COUNTING
    ),
    **dict.fromkeys(("min_contexts", "unigrams", *(field.name for field in fields(Recipe))), SOLVER),
    **dict.fromkeys(
        ("memory", "workers", "device", "scheduler", "cluster", "allow_unlike", "block_size"), MACHINE
    ),
}


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Put each option of ``command`` that :data:`PANELS` names into its group; the others stay under Options."""
    parameters = [
        parameter.replace(
            kind=inspect.Parameter.KEYWORD_ONLY, annotation=_in_panel(name, parameter.annotation)
        )
        for name, parameter in inspect.signature(command, eval_str=True).parameters.items()
    ]
    return with_parameters(command, parameters, like=command)


def with_parameters(
    run: Callable[..., None], parameters: Sequence[inspect.Parameter], *, like: Callable[..., None]
) -> Callable[..., None]:
    """Give ``run`` the signature that ``parameters`` make, and the name and text of the command ``like``."""
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__name__, run.__doc__ = like.__name__, like.__doc__
    return run


def _in_panel(name: str, annotation: Any) -> Any:
    options = [part for part in get_args(annotation) if isinstance(part, OptionInfo)]
    if name not in PANELS or not options:
        return annotation
    option = copy(options[0])  # commands share these, and not all of them are grouped
    option.rich_help_panel = PANELS[name]
    return Annotated[get_args(annotation)[0], option]
