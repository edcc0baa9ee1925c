"""How the command line spells the library's Python arguments.

The library advises in Python: "pass overwrite=True", 'use memory="2G"'. :func:`spell_options` rewrites such advice in
the options of the command that was run: ``--overwrite``, ``--memory 2G``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import Any

RENAMED = {
    "vocabulary": "vocab",
    "format": "to",
    "unseen": "oov",
}  # Python parameters whose option has another name
CLUSTER = "--scheduler ADDRESS or --cluster local:N"  # the options that stand for client=

_ARGUMENT = re.compile(
    r"""(?P<quoted>(?<!\w)'.*?'(?!\w))  # a name of the user's own, which is left alone
    | (?<![\w.-]) (?P<name>[a-z_]+) = (?P<value>
        "[^"]*" | '[^']*' | True\b | False\b | -?\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)? | [A-Z][A-Z0-9_]*\b | \.{3}
    )""",
    re.VERBOSE,
)


def spell_options(sentence: str, parameters: Iterable[Any]) -> str:
    """Return ``sentence`` with each ``name=value`` spelled as an option, where ``parameters`` has one for it.

    ``parameters`` are those of a command, as click and typer describe them. Whatever stands in single quotes, such as
    a file's name, stays as it is, and so does an argument without an option.
    """
    options: dict[str, tuple[str, Any]] = {}
    for parameter in parameters:
        for option in parameter.opts:
            if option.startswith("--"):
                options[option.removeprefix("--").replace("-", "_")] = option, parameter

    def spell(match: re.Match[str]) -> str:
        name, value = match["name"], match["value"]
        if name == "client" and "scheduler" in options:
            return CLUSTER
        found = options.get(RENAMED.get(name, name)) if name else None
        spelled = None if found is None else _spell(*found, value)
        return match[0] if spelled is None else spelled

    return _ARGUMENT.sub(spell, sentence)


def _spell(option: str, parameter: Any, value: str) -> str | None:
    """Return the option for one value; None where the command cannot say it."""
    if value in ("True", "False"):
        forms = parameter.opts if value == "True" else parameter.secondary_opts
        return _long(forms) if parameter.is_flag else None
    if parameter.is_flag:
        return None
    plain = shlex.quote(value[1:-1]) if value[0] in "'\"" else value.replace("_", "")
    return f"{option} {plain}"


def _long(forms: Iterable[str]) -> str | None:
    return next((form for form in forms if form.startswith("--")), None)
