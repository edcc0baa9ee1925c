"""JSON from files: one way to parse it, whoever wrote it."""

from __future__ import annotations

import json
from typing import Any


def parse_json(text: str | bytes) -> Any:
    """Return what a JSON text says; raise :class:`ValueError` for whatever is none.

    A text whose lists lie too deep inside each other is none, and neither is a number of thousands of digits: Python
    reads neither, and says so of the first with an error that is no ``ValueError``.

    >>> parse_json('{"a": [1, 2]}')
    {'a': [1, 2]}
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("its lists or objects lie too deep inside each other") from None
