"""The closest spellings of a missing word, for messages that help.

First come the same word in other case, then words one typing slip away, then words that share most letters; the
vocabulary is searched from its most frequent word.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

_SEARCHED = 50_000
_ALPHABET_FROM = 2_000
_LONGEST = 100  # letters of a word that is compared with others; the slips of longer ones take seconds to try


def closest_spellings(
    word: str, words: Sequence[str], ids: Mapping[str, int], *, limit: int = 3
) -> list[str]:
    """Return at most ``limit`` words of the vocabulary that are spelled like ``word``; none if it is very long.

    >>> words = ["queen", "king", "kings", "man"]
    >>> closest_spellings("kinng", words, {word: i for i, word in enumerate(words)})
    ['king', 'kings']
    """
    if len(word) > _LONGEST:
        return []
    cases = [other for other in (word.lower(), word.capitalize(), word.upper()) if other in ids]
    alphabet = sorted(set().union(*islice(words, _ALPHABET_FROM)))
    slips = sorted(
        {other for other in _one_slip_away(word, alphabet) if other in ids},
        key=lambda other: (other[:1] != word[:1], ids[other]),  # the first letter is rarely the wrong one
    )
    found = list(dict.fromkeys(cases + slips))[:limit]
    if len(found) < limit:
        alike = [other for other in islice(words, _SEARCHED) if _may_be_alike(word, other)]
        found += [other for other in difflib.get_close_matches(word, alike, n=limit) if other not in found]
    return found[:limit]


def _may_be_alike(word: str, other: str) -> bool:
    return abs(len(word) - len(other)) <= 2 and other[:1] == word[:1]


def _one_slip_away(word: str, alphabet: Sequence[str]) -> Iterator[str]:
    """Yield ``word`` with one letter left out, swapped with the next, replaced or inserted."""
    for i in range(len(word) + 1):
        head, tail = word[:i], word[i:]
        if tail:
            yield head + tail[1:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        for letter in alphabet:
            yield head + letter + tail[1:]
            yield head + letter + tail
