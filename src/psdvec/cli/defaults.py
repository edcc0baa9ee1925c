"""Defaults of options, read from the library's functions so that each is written once.

The source is read instead of imported: importing the functions would load numba before any command runs.
"""

from __future__ import annotations

import ast
from functools import cache
from importlib.resources import files
from typing import Any


def default(function: str, parameter: str) -> Any:
    """Return the default of a parameter of ``module.function``, without importing the module.

    >>> default("counts.count.count_pairs", "window")
    20
    """
    module, _, name = function.rpartition(".")
    return _defaults(module)[name][parameter]


@cache
def _defaults(module: str) -> dict[str, dict[str, Any]]:
    """Read the literal defaults of keyword-only parameters out of a module's source."""
    source = files("psdvec").joinpath(f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
    return {
        node.name: {
            argument.arg: ast.literal_eval(value)
            for argument, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            if isinstance(value, ast.Constant)
        }
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef)
    }
