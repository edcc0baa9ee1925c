"""No regular expression of the package takes more than linear time, whatever it is given.

Each expression is found in the source, and from its own parts the texts are made that such expressions fear: every part
that may repeat is repeated many times, alone and with what stands before it, and then the match fails at the last
letter. An expression that looks at its text again and again does not come to an end.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import pytest

import psdvec

HOME = Path(psdvec.__file__).parent
METHODS = ("match", "fullmatch", "search", "findall", "finditer", "sub", "split")
TIMES = 20_000
# Expressions that never see a long text.
SHORT = {
    "cli.tables": 800,  # the message of an error, which is cut at this length
}


class Expression(NamedTuple):
    """An expression, the ``flags`` it is compiled with, and the ``methods`` that the module calls."""

    module: str
    pattern: Any
    flags: int
    methods: tuple[str, ...]


def expressions() -> list[Expression]:
    """Return every expression of the package."""
    paths = HOME.rglob("*.py")
    trees = {
        path.relative_to(HOME).with_suffix("").as_posix().replace("/", "."): _parse(path) for path in paths
    }
    used = _methods_by_name(trees.values())
    return [found for module, tree in sorted(trees.items()) for found in _expressions_of(module, tree, used)]


def _parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _methods_by_name(trees: Any) -> dict[str, set[str]]:
    """Return which methods are called on each name, as ``HEADER.match``."""
    used: dict[str, set[str]] = {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in METHODS and isinstance(node.value, ast.Name):
                used.setdefault(node.value.id, set()).add(node.attr)
    return used


def _expressions_of(module: str, tree: ast.Module, used: dict[str, set[str]]) -> Iterator[Expression]:
    names = {
        id(node.value): node.targets[0].id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    constants = {
        names[id(node)]: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and id(node) in names
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        called, owner = node.func.attr, node.func.value
        of_re = isinstance(owner, ast.Name) and owner.id == "re" and called in (*METHODS, "compile")
        if not of_re and called != "expect":  # the lines of grams are matched by their method of this name
            continue
        first = node.args[0]
        pattern = first.value if isinstance(first, ast.Constant) else constants.get(getattr(first, "id", ""))
        if pattern is None:
            assert module == "counts.grams", (
                f"{module} has an expression that is not written out; write it out"
            )
            continue
        methods = tuple(sorted(used.get(names.get(id(node), ""), {"match", "search"})))
        yield Expression(
            module, pattern, _flags(node), methods if called == "compile" else (called if of_re else "match",)
        )


def _flags(call: ast.Call) -> int:
    """Return the flags that stand in a call, as ``re.DOTALL``."""
    found = 0
    for argument in [*call.args[1:], *(keyword.value for keyword in call.keywords)]:
        for node in ast.walk(argument):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "re":
                found |= getattr(re, node.attr)
    return found


def hostile_texts(pattern: Any, flags: int = 0, *, times: int = TIMES) -> Iterator[Any]:
    """Yield texts in which a part of ``pattern`` that may repeat does, many times, and the match then fails."""
    as_text = (lambda text: text.encode("latin-1", "replace")) if isinstance(pattern, bytes) else str
    for before, body in dict.fromkeys(_repeats(parser.parse(pattern, flags), "")):
        for end in ("\0", "x", ""):
            yield as_text(before + body * times + end)
            yield as_text((before + body) * (times // max(len(before + body) // 8, 1)) + end)


def _repeats(nodes: Any, before: str) -> Iterator[tuple[str, str]]:
    """Yield, for each part that may repeat, a text that leads to it, and one that it matches."""
    for code, argument in nodes:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT) and argument[1] > 1:
            yield before, _example(argument[2])
        for inner in _inner(code, argument):
            yield from _repeats(inner, before)
        before += _example([(code, argument)])
        yield before, before


def _inner(code: Any, argument: Any) -> list[Any]:
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        return [argument[2]]
    if code is codes.SUBPATTERN:
        return [argument[3]]
    return list(argument[1]) if code is codes.BRANCH else []


def _example(nodes: Any) -> str:
    """Return a short text that ``nodes`` match."""
    text = ""
    for code, argument in nodes:
        if code is codes.LITERAL:
            text += chr(argument)
        elif code in (codes.NOT_LITERAL, codes.ANY):
            text += "a" if argument != ord("a") else "b"
        elif code is codes.IN:
            text += next(
                c for c in map(chr, [*range(32, 127), *range(32), *range(128, 256)]) if _is_in(c, argument)
            )
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            text += _example(argument[2]) * max(argument[0], 1)
        elif code is codes.SUBPATTERN:
            text += _example(argument[3])
        elif code is codes.BRANCH:
            text += _example(argument[1][0])
    return text


def _is_in(character: str, members: Any) -> bool:
    """Say whether a class of characters, as the parser describes it, holds ``character``."""
    negated = members[0][0] is codes.NEGATE
    found = False
    for code, argument in members:
        if code is codes.LITERAL:
            found |= ord(character) == argument
        elif code is codes.RANGE:
            found |= argument[0] <= ord(character) <= argument[1]
        elif code is codes.CATEGORY:
            letter = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}[str(argument).rpartition("_")[2]]
            found |= (re.match(letter, character) is not None) != ("NOT" in str(argument))
    return found != negated


# Seconds, where a fraction of one is enough; what takes longer would never come to an end.
@pytest.mark.timeout(60)
@pytest.mark.parametrize("expression", expressions(), ids=lambda one: f"{one.module}: {one.pattern!r}"[:60])
def test_every_expression_comes_to_an_end(expression):
    compiled = re.compile(expression.pattern, expression.flags)
    longest = SHORT.get(expression.module)
    for text in hostile_texts(expression.pattern, expression.flags):
        for method in expression.methods:
            arguments = (text[:0], text[:longest]) if method == "sub" else (text[:longest],)
            found = getattr(compiled, method)(*arguments)
            if method == "finditer":
                list(found)


def test_the_texts_are_those_that_a_bad_expression_fears():
    texts = list(hostile_texts(rb"\s*(?:<!--.*?-->\s*)*<mediawiki\b", re.DOTALL, times=50))
    assert any(text.count(b"<!--") >= 10 and b"<mediawiki" not in text for text in texts)
    assert any(
        text.count(b'key="') >= 10 for text in hostile_texts(rb'<namespace key="(\d+)"[^>/]*>', times=50)
    )


@pytest.mark.slow
def test_expressions_are_found_with_the_methods_that_are_called():
    found = {(one.module, method) for one in expressions() for method in one.methods}
    assert {
        ("text.wikipedia", "findall"),
        ("formats.word2vec", "fullmatch"),
        ("resources", "fullmatch"),
    } <= found
    assert ("counts.grams", "match") in found
