"""Colours of style sheets: which there are, how well they stand out, and those of the explorer's page."""

from __future__ import annotations

import re

from tests.conftest import REPOSITORY

TOKEN = re.compile(r"--([\w-]+):\s*(#[0-9a-f]{6});")
EXPLORER = REPOSITORY / "src" / "psdvec" / "explore" / "static" / "base.css"


def tokens(style: str) -> dict[str, str]:
    """The colours that a block of a style sheet gives names to."""
    return dict(TOKEN.findall(style))


def explorer_tokens() -> tuple[dict[str, str], dict[str, str]]:
    """The light and the dark colours of the explorer's page."""
    blocks = re.findall(r":root[^{]*\{(.*?)\}", EXPLORER.read_text(encoding="utf-8"), re.DOTALL)
    light, dark = (found for block in blocks if "ground" in (found := tokens(block)))
    return light, dark


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG defines it, from 1 to 21."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
