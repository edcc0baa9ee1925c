"""The parameters of a recipe as options, the same for every command that fits.

Their defaults are the numbers of the default recipe, for the help text. Which of them were given is asked of the
call itself, so that ``--recipe paper`` keeps its own numbers for all others.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Any

import typer

from psdvec.cli.options import with_parameters
from psdvec.options import Recipe


def share_or_off(text: str | float) -> float:
    """Read a share, for which ``off`` is 0.

    >>> share_or_off("off"), share_or_off("1.5")
    (0.0, 1.5)
    """
    try:
        return 0.0 if text == "off" else float(text)
    except ValueError:
        raise typer.BadParameter(f"'{text}' is not a share; give off, or a number such as 2") from None


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
    "rounds": "Rounds of the solver.",
    "relaxation": "ω: length of each round's step; 1 is the plain majoriser.",
    "momentum": "θ: how far each round looks ahead along the last step.",
    "ridge": "auto, a number, or bands such as 2:80000,4:130000,8.",
    "damping": "Weight that pulls the fitted values of words placed later towards 0.",
    "power": "Power of the eigenvalues in the vectors; in the factorisation it is 0.5.",
    "spelling": "How much a word's spelling counts beside its contexts; off: not at all.",
    "spelling_ridge": "λ: how little n-grams of letters learn from a few words.",
    "spelling_noise": "How often a word must be seen for n-grams to learn half as much from it.",
    "own_cap": "Take --cut anew over the pairs that words placed later have with the core.",
}
PARSERS: dict[str, Any] = {"spelling": {"parser": share_or_off, "metavar": "SHARE"}}
TYPES = {"float": float, "int": int, "bool": bool, "str": str}


def with_recipe(command: Callable[..., None]) -> Callable[..., None]:
    """Give ``command`` an option per parameter of a recipe; those that are given reach it as ``changes``."""
    names = [field.name for field in fields(Recipe)]

    def run(call: typer.Context, **given: Any) -> None:
        changes = {name: given.pop(name) for name in names}
        command(**given, changes={name: changes[name] for name in names if _is_given(call, name)})

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
    kept = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in own.items()
        if name != "changes"
    ]
    call = inspect.Parameter("call", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    return with_parameters(run, [call, *kept, *options], like=command)


def _is_given(call: typer.Context, name: str) -> bool:
    source = call.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"
