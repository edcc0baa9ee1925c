"""The tables of ``docs/api.md``: every public name with its signature and its first sentence, in plain Markdown.

    python -m scripts.api_page

Goes in: the page, whose ``:::`` lines say what is public and in which order, and the package itself. Comes out: the
page, with new tables between its two markers. ``tests/docs/test_site.py`` fails while the page is not what this writes.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parent.parent / "docs" / "api.md"
BEGIN = "<!-- written by python -m scripts.api_page -->"
END = "<!-- end of what is written -->"
ENTRY = re.compile(r"^## (?P<group>.+)$|^::: (?P<name>[\w.]+)$|^        - (?P<member>\w+)$", re.MULTILINE)
ROLE = re.compile(r":\w+:`~?([\w.]+)`")
SENTENCE = re.compile(r"(?:``.*?``|.)*?\.(?=\s|$)")
PLAIN = (str, int, float, tuple, type(None))


class Dots:
    """In place of a default that has no short form."""

    def __repr__(self) -> str:
        return "..."


def renew(page: str) -> str:
    """Return ``page`` with the tables of the names that it lists below its markers."""
    before, _, rest = page.partition(BEGIN)
    _, _, listed = rest.partition(END)
    groups = read_groups(listed)
    values = [value for names in groups.values() for value in names.values()]
    parts = [
        "\n\n".join([f"**{group}**", table(rows_for(names)), *members_of(names, values)])
        for group, names in groups.items()
    ]
    return before + "\n\n".join([BEGIN, *parts, END]) + listed


def read_groups(listed: str) -> dict[str, dict[str, Any]]:
    """Return, for each heading, the names of its ``:::`` lines as a reader writes them, and what they are."""
    groups: dict[str, dict[str, Any]] = {}
    for entry in ENTRY.finditer(listed):
        if entry["group"]:
            groups[entry["group"]] = names = {}
        elif entry["name"]:
            name, value = entry["name"], find(entry["name"])
            if not inspect.ismodule(value):
                names[name] = value
        else:
            names[f"{name}.{entry['member']}"] = find(f"{name}.{entry['member']}")
    return groups


def find(name: str) -> Any:
    """Return what a dotted name stands for.

    >>> find("psdvec.errors.PSDVecError").__name__
    'PSDVecError'
    """
    module, _, last = name.rpartition(".")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return getattr(importlib.import_module(module), last)


def rows_for(names: dict[str, Any]) -> list[tuple[str, str]]:
    """Return a row for each name."""
    return [(name + arguments(value), first_sentence(value)) for name, value in names.items()]


def members_of(names: dict[str, Any], listed: list[Any]) -> Iterator[str]:
    """Yield a table for each class: methods and properties that it does not have from another class of the page."""
    for name, kind in names.items():
        if inspect.isclass(kind):
            bases = [base for base in kind.__mro__[1:] if base in listed]
            inherited = {member for base in bases for member in dir(base) if same(kind, base, member)}
            rows = list(rows_of(kind, inherited))
            if rows:
                also = f", beside those of `{bases[0].__name__}`" if bases else ""
                yield f"Methods and properties of `{name}`{also}:\n\n{table(rows)}"


def same(kind: type, base: type, member: str) -> bool:
    """Return whether a class has a member as its base has it."""
    return inspect.getattr_static(kind, member) is inspect.getattr_static(base, member)


def rows_of(kind: type, inherited: set[str]) -> Iterator[tuple[str, str]]:
    """Yield a row for each public method or property that this package wrote, in the order of the alphabet."""
    for name in sorted(set(dir(kind)) - inherited):
        member = inspect.getattr_static(kind, name)
        get = getattr(member, "fget", None) or getattr(member, "func", None)
        if name.startswith("_") or not getattr(get or getattr(kind, name), "__module__", "").startswith(
            "psdvec"
        ):
            continue
        if get:
            yield f"{name}: {result(inspect.signature(get))}", first_sentence(get)
        elif inspect.isroutine(getattr(kind, name)):
            own = not isinstance(member, (classmethod, staticmethod))
            yield name + arguments(getattr(kind, name), drop_self=own), first_sentence(getattr(kind, name))


def arguments(value: Callable[..., Any], *, drop_self: bool = False) -> str:
    """Return parameters with their defaults, and what is returned; types of parameters are left out.

    >>> def f(self, a: int | None, *, b: str = "x") -> int | None: ...
    >>> arguments(f, drop_self=True)
    "(a, *, b='x') -> int or None"
    """
    try:
        signature = inspect.signature(value)
    except ValueError:  # an exception that takes what every exception takes
        return ""
    parameters = [
        parameter.replace(annotation=parameter.empty, default=shown(parameter.default))
        for parameter in list(signature.parameters.values())[drop_self:]
    ]
    text = str(signature.replace(parameters=parameters, return_annotation=signature.empty))
    return text if inspect.isclass(value) else f"{text} -> {result(signature)}"


def shown(default: Any) -> Any:
    """Return a default that is written as a reader may write it; one that has no short form is three dots."""
    return default if default is inspect.Parameter.empty or isinstance(default, PLAIN) else Dots()


def result(signature: inspect.Signature) -> str:
    """Return the type of what is returned, with ``or`` for the bar, which would end a cell."""
    return str(signature.return_annotation).replace(" | ", " or ")


def first_sentence(value: Any) -> str:
    """Return the first sentence of a docstring as Markdown.

    >>> def f():
    ...     '''Return ``x. y``, see :func:`f`. It is short.'''
    >>> first_sentence(f)
    'Return `x. y`, see `f`.'
    """
    text = " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
    sentence = SENTENCE.match(text)
    text = ROLE.sub(r"`\1`", sentence[0] if sentence else text).replace("``", "`")
    return re.sub(r":$", ".", text).replace("|", "\\|")


def table(rows: list[tuple[str, str]]) -> str:
    """Return two columns as Markdown."""
    return "\n".join(
        ["| name | what it does |", "|---|---|", *(f"| `{name}` | {text} |" for name, text in rows)]
    )


if __name__ == "__main__":
    PAGE.write_text(renew(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
