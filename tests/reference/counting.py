"""What the counting kernels compute, in plain Python: slow and short, the definition that they are tested against.

The kernels in :mod:`~psdvec.text.tokenizer_kernels`, :mod:`~psdvec.counts.segments` and
:mod:`~psdvec.counts.pairs` must agree with these functions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from psdvec.counts.segments import GAP, MAX_WORD_BYTES, SENTENCE_END
from psdvec.text import tokenizer_kernels as roles


def is_utf8(data: bytes) -> bool:
    """Tell whether ``data`` can be decoded.

    >>> is_utf8("é".encode()), is_utf8(b"\\xc3")
    (True, False)
    """
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def words_paper(line: str) -> list[str]:
    """Return the lower-case a-z words of a line, keeping apostrophes inside them.

    >>> words_paper("Don't say ‘naïve’!")
    ["don't", 'say', 'na', 've']
    """
    lower = "".join(
        c.lower() if c.isascii() else c for c in line.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    )
    return re.findall(r"[a-z]+(?:'[a-z]+)*", lower)


def words_unicode(line: str) -> list[str]:
    """Return the casefolded words of a line by the rules of Unicode Standard Annex 29.

    >>> words_unicode("Straße 3.14, can't stop")
    ['strasse', '3.14', "can't", 'stop']
    """
    return words_unicode_cased(line.casefold())


def words_unicode_cased(text: str) -> list[str]:
    """Return the words of a line as they stand there, by the rules of Unicode Standard Annex 29.

    >>> words_unicode_cased("Straße 3.14, Can't stop")
    ['Straße', '3.14', "Can't", 'stop']
    """
    table = roles.word_break_roles().tolist()
    words, word = [], ""
    for i, character in enumerate(text):
        if word and not _is_boundary(text, i, table):
            word += character
            continue
        words.append(word)
        word = character
    words.append(word)
    return [word for word in words if any(_is_word_role(table[ord(character)]) for character in word)]


def _is_word_role(role: int) -> bool:
    return roles.ALONE <= role <= roles.KATAKANA


def _is_boundary(text: str, i: int, table: Sequence[int]) -> bool:
    """Tell whether a word boundary lies before ``text[i]``."""
    role = table[ord(text[i])]
    before = [int(table[ord(c)]) for c in text[:i] if table[ord(c)] != roles.TRANSPARENT]
    after = [int(table[ord(c)]) for c in text[i + 1 :] if table[ord(c)] != roles.TRANSPARENT]
    if role == roles.TRANSPARENT:  # WB4
        return not before
    one, two = (before[-1] if before else -1), (before[-2] if len(before) > 1 else -1)
    following = after[0] if after else -1
    letters = (roles.LETTER, roles.HEBREW)
    numbers = (roles.NUMBER,)
    mid_letter = (roles.MID_LETTER, roles.MID_BOTH, roles.SINGLE_QUOTE)
    mid_number = (roles.MID_NUMBER, roles.MID_BOTH, roles.SINGLE_QUOTE)
    joined = (
        (one in letters and role in letters)  # WB5
        or (one in letters and role in mid_letter and following in letters)  # WB6
        or (two in letters and one in mid_letter and role in letters)  # WB7
        or (one == roles.HEBREW and role == roles.SINGLE_QUOTE)  # WB7a
        or (one == roles.HEBREW and role == roles.DOUBLE_QUOTE and following == roles.HEBREW)  # WB7b
        or (two == roles.HEBREW and one == roles.DOUBLE_QUOTE and role == roles.HEBREW)  # WB7c
        or (one in letters + numbers and role in numbers)  # WB8, WB9
        or (one in numbers and role in letters)  # WB10
        or (two in numbers and one in mid_number and role in numbers)  # WB11
        or (one in numbers and role in mid_number and following in numbers)  # WB12
        or (one == role == roles.KATAKANA)  # WB13
        or (one in (*letters, *numbers, roles.KATAKANA, roles.CONNECTOR) and role == roles.CONNECTOR)  # WB13a
        or (one == roles.CONNECTOR and role in (*letters, *numbers, roles.KATAKANA))  # WB13b
    )
    return not joined


def number_words(spaced: bytes) -> tuple[list[int], list[bytes]]:
    """Return the ids of the words of spaced text, in order of first appearance, and the words."""
    ids: list[int] = []
    words: dict[bytes, int] = {}
    for line in spaced.split(b"\n"):
        found = re.findall(rb"[^\x00-\x20]+", line)
        for word in found:
            ids.append(words.setdefault(word, len(words)) if len(word) <= MAX_WORD_BYTES else GAP)
        if found:
            ids.append(SENTENCE_END)
    return ids, list(words)


def count_pairs(
    sentences: Sequence[Sequence[str]], words: Sequence[str], weights: Sequence[int], *, close_gaps: bool
) -> dict[tuple[str, str], int]:
    """Count the ordered pairs of ``words``: a pair at distance d counts ``weights[d - 1]``.

    >>> count_pairs([["a", "b", "a"]], ["a", "b"], [2, 1], close_gaps=False)
    {('a', 'b'): 2, ('a', 'a'): 1, ('b', 'a'): 2}
    """
    counts: Counter[tuple[str, str]] = Counter()
    for sentence in sentences:
        kept = [word for word in sentence if word in words] if close_gaps else sentence
        for i, context in enumerate(kept):
            for weight, focus in zip(weights, kept[i + 1 :], strict=False):
                if context in words and focus in words:
                    counts[context, focus] += weight
    return dict(counts)


def count_baskets(
    baskets: Sequence[Sequence[Any]], items: Sequence[Any], unit: int
) -> dict[tuple[Any, Any], int]:
    """Count the pairs of ``items`` that stand in a basket together, in both directions, each once per basket.

    An item beside itself counts 1, others ``unit``.

    >>> count_baskets([["a", "b", "a"]], ["a", "b"], 9)
    {('a', 'a'): 1, ('a', 'b'): 9, ('b', 'a'): 9, ('b', 'b'): 1}
    """
    counts: Counter[tuple[Any, Any]] = Counter()
    for basket in baskets:
        for one, other in product([item for item in dict.fromkeys(basket) if item in items], repeat=2):
            counts[one, other] += 1 if one == other else unit
    return dict(counts)


def add_counts(
    parts: Sequence[Mapping[tuple[str, str], int]], signs: Sequence[int]
) -> dict[tuple[str, str], int]:
    """Add counts of pairs, each part taken ``signs`` times, and leave out those that fall to zero."""
    total: Counter[tuple[str, str]] = Counter()
    for part, sign in zip(parts, signs, strict=True):
        for pair, count in part.items():
            total[pair] += sign * count
    return {pair: count for pair, count in total.items() if count}
