"""What the package tokenizers does with a ``tokenizer.json`` of ours, in plain Python, for machines without it.

``tests/interop/test_model2vec.py`` asks the package itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import regex


def read_tokenizer(path: Path) -> Callable[[str], list[str]]:
    """Return the function from a text to the words that are looked up; unknown words are among them."""
    settings = json.loads(path.read_text(encoding="utf-8"))
    assert settings["model"]["type"] == "WordLevel"
    normalize, split = _normalizer(settings["normalizer"]), _splitter(settings["pre_tokenizer"])
    return lambda text: split(normalize(text))


def _normalizer(settings: dict[str, Any] | None) -> Callable[[str], str]:
    if settings is None:
        return str
    if settings["type"] == "Lowercase":
        return lambda text: "".join(character.lower() for character in text)
    if settings["type"] == "Replace":
        pattern = _pattern(settings["pattern"])
        return lambda text: pattern.sub(lambda match: settings["content"], text)
    assert settings["type"] == "Sequence"
    steps = [_normalizer(step) for step in settings["normalizers"]]

    def apply(text: str) -> str:
        for step in steps:
            text = step(text)
        return text

    return apply


def _splitter(settings: dict[str, Any]) -> Callable[[str], list[str]]:
    if settings["type"] == "Whitespace":
        return re.compile(r"\w+|[^\w\s]+").findall
    assert (settings["type"], settings["behavior"], settings["invert"]) == ("Split", "Removed", True)
    pattern = _pattern(settings["pattern"])
    return lambda text: [match[0] for match in pattern.finditer(text)]


def _pattern(settings: dict[str, str]) -> regex.Pattern[str]:
    if "String" in settings:
        return regex.compile(regex.escape(settings["String"]))
    # Oniguruma's way to write a code point, and that of the package regex.
    spelled = re.sub(r"\\x\{([0-9A-F]+)\}", lambda match: rf"\U{int(match[1], 16):08X}", settings["Regex"])
    return regex.compile(spelled)
