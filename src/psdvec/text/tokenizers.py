"""Tokenizers: the one place where text becomes words.

A tokenizer takes UTF-8 text and returns *spaced text*, in which spaces separate words and newlines separate
sentences; :func:`split_spaced` cuts a sentence of it into words. The work is done by the kernels in
:mod:`psdvec.text.tokenizer_kernels`, which are imported when a tokenizer is first used. :func:`split_words` does the
same to one text, for whoever reads text with a model: what counting took for a word is a word there too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from psdvec.arrays import Bytes
from psdvec.errors import InputError

Tokenizer: TypeAlias = Callable[[bytes], Bytes]

_WORD = re.compile(r"[^\x00-\x20]+")
_RUN = re.compile(r"\w+(?:['’]\w+)*")


def find_tokenizer(name: str) -> Tokenizer:
    """Return the tokenizer called ``name``, one of :data:`TOKENIZERS`.

    >>> find_tokenizer("paper")("Don't panic!".encode()).tobytes()
    b"don't panic "
    """
    if not isinstance(name, str) or name not in TOKENIZERS:
        raise InputError(f"there is no tokenizer '{name}'; choose one of {', '.join(TOKENIZERS)}")
    return TOKENIZERS[name]


def tokenizer_of(parameters: Mapping[str, Any]) -> str | None:
    """Return the tokenizer that the ``parameters`` of counts name, or None if it is not known.

    Sentences from Python were cut into words by their owner; such words stand in a text between blanks.

    >>> tokenizer_of({"tokenizer": "paper"}), tokenizer_of({"tokenizer": "none"}), tokenizer_of({})
    ('paper', 'whitespace', None)
    """
    name = parameters.get("tokenizer")
    return "whitespace" if name == "none" else next((known for known in TOKENIZERS if known == name), None)


def split_spaced(sentence: str) -> list[str]:
    """Return the words of one sentence of spaced text.

    >>> split_spaced("don't  panic ")
    ["don't", 'panic']
    """
    return _WORD.findall(sentence)


def split_words(text: str, *, tokenizer: str) -> list[str]:
    """Return the words of ``text`` that counting with ``tokenizer``, one of :data:`TOKENIZERS`, finds in it.

    >>> split_words("The U.S. grew by 3.5%; größte Straße", tokenizer="unicode")
    ['the', 'u.s', 'grew', 'by', '3.5', 'grösste', 'strasse']
    """
    spaced = find_tokenizer(tokenizer)(text.encode("utf-8", "replace"))
    return split_spaced(spaced.tobytes().decode("utf-8"))


def split_runs(text: str) -> list[str]:
    """Return the runs of letters, digits and inner apostrophes: a guess, for vectors of which no tokenizer is known.

    >>> split_runs("The U.S. didn't")
    ['The', 'U', 'S', "didn't"]
    """
    return _RUN.findall(text)


def _space_unicode(text: bytes) -> Bytes:
    """Fold case and cut at Unicode's word boundaries."""
    from psdvec.text.tokenizer_kernels import space_unicode, word_break_roles

    folded = np.frombuffer(text.decode("utf-8").casefold().encode("utf-8"), dtype=np.uint8)
    out = np.empty(2 * len(folded) + 1, dtype=np.uint8)
    return out[: space_unicode(folded, word_break_roles(), out)]


def _space_paper(text: bytes) -> Bytes:
    """Keep English words in lower case, as the paper does; a typographic apostrophe counts as one."""
    from psdvec.text.tokenizer_kernels import space_paper

    source = np.frombuffer(text.replace("\N{RIGHT SINGLE QUOTATION MARK}".encode(), b"'"), dtype=np.uint8)
    out = np.empty_like(source)
    space_paper(source, out)
    return out


def _space_whitespace(text: bytes) -> Bytes:
    """Leave the text as it is: whatever stands between white space is a word."""
    return np.frombuffer(text, dtype=np.uint8)


TOKENIZERS: dict[str, Tokenizer] = {
    "unicode": _space_unicode,
    "paper": _space_paper,
    "whitespace": _space_whitespace,
}
