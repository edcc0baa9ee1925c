"""Tokenizers: the one place where text becomes words.

A tokenizer takes UTF-8 text and returns *spaced text*, in which spaces separate words and newlines separate
sentences; ``split_spaced`` cuts a sentence of it into words. The work is done by the kernels in
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

split_spaced: Callable[[str], list[str]] = re.compile(r"[^\x00-\x20]+").findall


def find_tokenizer(name: str) -> Tokenizer:
    """Return the tokenizer called ``name``, one of :data:`TOKENIZERS`.

    >>> find_tokenizer("paper")("Don't panic!".encode()).tobytes()
    b"don't panic "
    """
    if not isinstance(name, str) or name not in TOKENIZERS:
        raise InputError(f"there is no tokenizer '{name}'; choose one of {', '.join(TOKENIZERS)}")
    return TOKENIZERS[name]


def choose_tokenizer(tokenizer: str, case: str | None) -> str:
    """Return the name of the tokenizer that cuts as ``tokenizer`` does and folds or keeps case; None: as it does.

    >>> choose_tokenizer("unicode", "keep"), choose_tokenizer("unicode", "fold"), choose_tokenizer("whitespace", None)
    ('unicode-cased', 'unicode', 'whitespace')
    """
    find_tokenizer(tokenizer)
    if case is None:
        return tokenizer
    if case not in ("fold", "keep"):
        raise InputError(f"case='{case}' is unknown; choose 'fold' or 'keep'")
    if (tokenizer, case) == ("unicode", "keep"):
        return "unicode-cased"
    if keeps_case(tokenizer) != (case == "keep"):
        does = "keeps case" if keeps_case(tokenizer) else "puts words into lower case"
        raise InputError(
            f"tokenizer '{tokenizer}' {does}, but case='{case}' was given; use tokenizer=\"unicode\""
        )
    return tokenizer


def keeps_case(tokenizer: str | None) -> bool:
    """Tell whether ``tokenizer`` leaves capitals as they are; one that is not known may not."""
    return tokenizer in ("unicode-cased", "whitespace")


def tokenizer_of(parameters: Mapping[str, Any]) -> str | None:
    """Return the tokenizer that the ``parameters`` of counts name, or None if it is not known.

    Sentences from Python were cut into words by their owner; such words stand in a text between blanks.

    >>> tokenizer_of({"tokenizer": "paper"}), tokenizer_of({"tokenizer": "none"}), tokenizer_of({})
    ('paper', 'whitespace', None)
    """
    name = parameters.get("tokenizer")
    return "whitespace" if name == "none" else next((known for known in TOKENIZERS if known == name), None)


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
    return re.findall(r"\w+(?:['’]\w+)*", text)


def _space_unicode(text: bytes) -> Bytes:
    """Fold case and cut at Unicode's word boundaries."""
    return _space_unicode_cased(text.decode("utf-8").casefold().encode("utf-8"))


def _space_unicode_cased(text: bytes) -> Bytes:
    """Cut at Unicode's word boundaries, and leave the words as they stand."""
    from psdvec.text.tokenizer_kernels import space_unicode, word_break_roles

    source = np.frombuffer(text, dtype=np.uint8)
    out = np.empty(2 * len(source) + 1, dtype=np.uint8)
    return out[: space_unicode(source, word_break_roles(), out)]


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
    "unicode-cased": _space_unicode_cased,
    "paper": _space_paper,
    "whitespace": _space_whitespace,
}
