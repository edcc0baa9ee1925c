"""What makes a value of its parts: checking, comparing and showing them."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from psdvec.errors import InputError


def one_per_word(name: str, values: Any, n: int, dtype: type) -> Any:
    """Return ``values`` as an array (n,), or None if they are; refuse any other number of them.

    >>> one_per_word("counts", [5, 3], 2, np.int64).tolist()
    [5, 3]
    """
    if values is not None and np.shape(values) != (n,):
        raise InputError(
            f"{name} must hold one number per word; found shape {np.shape(values)} for {n} words"
        )
    return None if values is None else np.asarray(values, dtype=dtype)


def same(a: Any, b: Any) -> bool:
    """Say whether two parts are equal; of arrays, every number is, and NaN equals NaN.

    >>> same(np.array([1, np.nan]), np.array([1, np.nan])), same(np.ones(2), None)
    (True, False)
    """
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return bool(np.all(a is b or a == b))
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f" and b.dtype.kind == "f"))


def html_table(caption: str, facts: Mapping[str, str]) -> str:
    """Return a small table for notebooks, one row for each of the ``facts``.

    >>> html_table("Model", {"size": "2 < 3"})
    '<table><caption>Model</caption><tr><th>size</th><td>2 &lt; 3</td></tr></table>'
    """
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(fact)}</td></tr>" for name, fact in facts.items())
    return f"<table><caption>{escape(caption)}</caption>{rows}</table>"
