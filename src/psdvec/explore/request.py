"""The parameters of a request, read as words, numbers and choices within limits.

Whatever a browser or anything else sends becomes a value, or an :class:`~psdvec.errors.InputError` of one sentence.
Nothing here names a file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from psdvec.errors import InputError

MAX_WORD_LENGTH = 100
MAX_TEXT_LENGTH = 1_000_000
MAX_LINES = 20_000
MAX_WORDS = 50
MAX_TOPN = 100
MAX_IDS = 5_000
FILLED_LINE = re.compile(r"\S[^\n]*")  # with something in it, from its first word
_WHOLE_FILES = "or use 'psdvec count' and 'psdvec extend' for whole files"


class Parameters:
    """The parameters of a request: for each name, the values given for it."""

    def __init__(self, values: dict[str, list[Any]]) -> None:
        self._values = values

    def word(self, name: str) -> str:
        """Return a word, without the blanks around it."""
        word = self.optional_word(name)
        if word is None:
            raise InputError(f"the field '{name}' is empty; type a word")
        return word

    def optional_word(self, name: str) -> str | None:
        """Return a word, or None if the field is empty."""
        word = self._text(name).strip()
        _check_length(word)
        return word or None

    def words(self, name: str) -> list[str]:
        """Return all words given under a name."""
        words = [_clean(word).strip() for word in self._values.get(name, []) if isinstance(word, str)]
        words = [word for word in words if word]
        if len(words) > MAX_WORDS:
            raise InputError(f"{len(words)} words were given; give at most {MAX_WORDS}")
        for word in words:
            _check_length(word)
        return words

    def text(self, name: str) -> str:
        """Return a long text."""
        text = self._text(name)
        if len(text) > MAX_TEXT_LENGTH:
            raise InputError(
                f"the text has {len(text):,} characters; paste at most {MAX_TEXT_LENGTH:,}, {_WHOLE_FILES}"
            )
        lines = sum(1 for _ in FILLED_LINE.finditer(text))
        if lines > MAX_LINES:
            raise InputError(
                f"the text has {lines:,} lines with words; paste at most {MAX_LINES:,}, {_WHOLE_FILES}"
            )
        return text

    def number(self, name: str, default: int, *, most: int) -> int:
        """Return a whole number between 1 and ``most``."""
        given = self._last(name)
        if given in (None, ""):
            return default
        text = str(given)
        if not (text.isascii() and text.isdigit() and len(text) < 10) or not 1 <= int(text) <= most:
            raise InputError(f"'{name}' is '{_shortened(text)}'; give a number from 1 to {most}")
        return int(text)

    def positions(self, name: str, *, below: int) -> list[int]:
        """Return different whole numbers from 0 to less than ``below``, given as a list; at least one."""
        given = self._last(name)
        if not isinstance(given, list) or not given or len(given) > MAX_IDS:
            raise InputError(f"'{name}' is not a list of 1 to {MAX_IDS:,} numbers; choose that many words")
        if not all(type(one) is int and 0 <= one < below for one in given):
            raise InputError(
                f"'{name}' has something other than numbers from 0 to {below - 1}; give only these"
            )
        return list(dict.fromkeys(given))

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """Return one of ``choices``; the first, if none is given."""
        given = self._last(name)
        if given in (None, ""):
            return choices[0]
        if given not in choices:
            raise InputError(f"'{name}' is '{_shortened(str(given))}'; choose one of: {', '.join(choices)}")
        return str(given)

    def _last(self, name: str) -> Any:
        values = self._values.get(name)
        return values[-1] if values else None

    def _text(self, name: str) -> str:
        given = self._last(name)
        if given is not None and not isinstance(given, str):
            raise InputError(f"'{name}' is not text; give a string")
        return _clean(given or "")


def _clean(text: str) -> str:
    """Replace what cannot be encoded: JSON may spell half a character."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _check_length(word: str) -> None:
    if len(word) > MAX_WORD_LENGTH:
        raise InputError(f"'{_shortened(word)}' is longer than {MAX_WORD_LENGTH} characters; type one word")


def _shortened(text: str) -> str:
    text = _clean(text)
    return text if len(text) <= 20 else f"{text[:20]}…"
