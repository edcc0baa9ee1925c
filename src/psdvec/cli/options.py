"""Options and arguments that several commands share, each with one name and one help text.

In help texts, :func:`grouped` lets what people set stand first, and the rest below, by what it is about.
"""

from __future__ import annotations

import csv
import inspect
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from typer.models import OptionInfo

from psdvec.errors import InputError
from psdvec.options import Recipe

CorpusPaths = Annotated[
    list[str], typer.Argument(help="Files, folders or glob patterns; - is standard input.")
]
Vectors = Annotated[
    Path,
    typer.Argument(
        help="Vectors: a model folder, a file in any format psdvec reads, or an installed model by its name."
    ),
]

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Workers = Annotated[
    int | None, typer.Option(help="Number of threads; default: one per core.", show_default=False)
]
Device = Annotated[str, typer.Option(help="cpu, cuda, or auto: a GPU if there is one.")]
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
Case = Annotated[
    str | None,
    typer.Option(
        help="Whether Essen and essen are one word (fold) or two (keep); default: fold, but whitespace keeps."
    ),
]
StopWords = Annotated[
    str | None,
    typer.Option(help="Leave out the words of a file, one per line, or English ones: en.", metavar="FILE|en"),
]
Lemmas = Annotated[
    Path | None,
    typer.Option(help="Count words as their lemmas: a file with a word, a tab and its lemma per line."),
]
Punctuation = Annotated[
    str, typer.Option(help="Whether to keep or drop words of nothing but punctuation, if there are any.")
]
Numbers = Annotated[
    str, typer.Option(help="What becomes of numbers such as 1999: keep, drop, or merge: all are one word, #.")
]
Column = Annotated[
    str | None,
    typer.Option(help="Field of JSON lines, or column of CSV, TSV or Parquet, with the text; default: text."),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        help="Read only records with this value in a field, as party=A, or party=A,B; may be repeated.",
        metavar="FIELD=VALUE",
    ),
]
Errors = Annotated[str, typer.Option(help="What to do with bytes that are not text: replace or strict.")]
Encoding = Annotated[str, typer.Option(help="Encoding of the text, such as latin-1, cp1252 or utf-16.")]
Phrases = Annotated[
    str | None,
    typer.Option(
        help="Count expressions such as new york as one word: auto finds them, or a file, one a line; default: none."
    ),
]
MinCount = Annotated[int, typer.Option(help="Leave out words that occur less often than this.")]
MaxWords = Annotated[int | None, typer.Option(help="Keep only the N most frequent words.", metavar="N")]
Items = Annotated[
    bool, typer.Option("--items", help="Read baskets of items instead of text, such as orders; see --basket.")
]
Basket = Annotated[
    str | None,
    typer.Option(help="Of items: column of a table that tells which basket; default: each line is a basket."),
]
Item = Annotated[str | None, typer.Option(help="Of items: column of a table that holds the items.")]
Separator = Annotated[
    str | None,
    typer.Option(help="Of items: what stands between those of a line; default: tabs, commas or blanks."),
]
Window = Annotated[
    int | None,
    typer.Option(
        help="Greatest distance between the two words of a pair; default: 20, and of items the whole basket."
    ),
]
Weighting = Annotated[
    str | None,
    typer.Option(help="Weight of a pair by distance: harmonic, flat, linear or power:P; default: harmonic."),
]
Gaps = Annotated[
    str, typer.Option(help="Whether words outside the vocabulary keep their place (keep) or not (close).")
]

COUNTING, ITEMS, SOLVER, MACHINE = "Counting", "Items", "Solver", "Machine"

PANELS = {
    **dict.fromkeys(("tokenizer", "case", "stop_words", "lemmas", "numbers", "punctuation"), COUNTING),
    **dict.fromkeys(
        ("column", "where", "errors", "encoding", "phrases", "window", "weighting", "gaps"), COUNTING
    ),
    **dict.fromkeys(("items", "basket", "item", "separator"), ITEMS),
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


# The parameters of a recipe as options, the same for every command that fits.


def share_or_off(text: str | float) -> float:
    """Read a share, for which ``off`` is 0.

    >>> share_or_off("off"), share_or_off("1.5")
    (0.0, 1.5)
    """
    try:
        return 0.0 if text == "off" else float(text)
    except ValueError:
        raise typer.BadParameter(f"'{text}' is not a share; give off, or a number such as 2") from None


def read_where(texts: Sequence[str] | None) -> dict[str, list[str]] | None:
    """Read conditions of records; several values of one field are alternatives, and one in quotes may have commas.

    >>> read_where(["party=A,B", "year=2000"]), read_where(['author="Smith, J."'])
    ({'party': ['A', 'B'], 'year': ['2000']}, {'author': ['Smith, J.']})
    """
    found: dict[str, list[str]] = {}
    for text in texts or ():
        name, equals, values = text.partition("=")
        if not equals or not name or not values:
            raise InputError(f"where={text!r} is no condition; write one as --where party=A, or party=A,B")
        try:
            found.setdefault(name, []).extend(next(csv.reader([values], strict=True)))
        except csv.Error as error:
            raise InputError(
                f"where={text!r} cannot be cut into values ({error}); write a value that has commas or quotes as CSV "
                'does, author="Smith, J."'
            ) from error
    return found or None


HELP = {
    "smoothing": "κ: share of the independent model in the smoothed probabilities.",
    "background": "β: share of the expected count in the weights.",
    "exponent": "p: power of the smoothed count with which weights grow.",
    "saturation": "Count at which an average pair has weight 1; 0 leaves it to --cut.",
    "cut": "Share of the pairs seen whose weight is cut off at 1.",
    "majoriser": "γ: power of the frequency with which the majoriser grows.",
    "emphasis": "δ: power of a word's frequency with which its errors count.",
    "unigram": "α: power to which the frequencies of focus words are raised.",
    "diagonal": "Whether a word next to itself is a pair like any other.",
    "negligible": "Treat a pair that differs less than this from an unseen one as unseen.",
    "spectrum": "signed, or positive as in the paper.",
    "start": "zero, or half as in the paper.",
    "head": "Start with the N most frequent words; 0: with all.",
    "exact": "Whether the eigenpairs of every round are iterated until they are exact to float32.",
    "rounds": "Rounds of the solver.",
    "relaxation": "ω: length of each round's step; 1 is the plain majoriser.",
    "momentum": "θ: how far each round looks ahead along the last step.",
    "ridge": "auto, a number, or bands such as 2:80000,4:130000,8.",
    "damping": "Weight that pulls the fitted values of words placed later towards 0.",
    "power": "Power of the eigenvalues in the vectors; in the factorisation it is 0.5.",
    "spelling": "τ: how much letters know of what contexts know of a word; off: leave spelling out.",
    "spelling_ridge": "λ: how little n-grams of letters learn from a few words.",
    "spelling_noise": "How often a word must be seen for n-grams to learn half as much from it.",
    "own_cap": "Take --cut anew over the pairs that words placed later have with the core.",
}
PARSERS: dict[str, Any] = {"spelling": {"parser": share_or_off, "metavar": "SHARE"}}
TYPES = {"float": float, "int": int, "bool": bool, "str": str}


def with_recipe(command: Callable[..., None]) -> Callable[..., None]:
    """Give ``command`` an option per parameter of a recipe; those that are given reach it as ``changes``."""

    def run(call: typer.Context, **given: Any) -> None:
        recipe = {field.name: given.pop(field.name) for field in fields(Recipe)}
        sources = {name: call.get_parameter_source(name) for name in recipe}
        told = [name for name, source in sources.items() if source is not None and source.name != "DEFAULT"]
        command(**given, changes={name: recipe[name] for name in told})

    own = inspect.signature(command, eval_str=True).parameters
    options = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=Annotated[
                TYPES[str(field.type)], typer.Option(help=HELP[field.name], **PARSERS.get(field.name, {}))
            ],
        )
        for field in fields(Recipe)
    ]
    kept = [parameter for name, parameter in own.items() if name != "changes"]
    call = inspect.Parameter("call", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    return with_parameters(run, [*kept, call, *options], like=command)
