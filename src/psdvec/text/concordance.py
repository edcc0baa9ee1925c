"""The concordance: passages of texts in which a word stands near another, as they were written.

:func:`find_passages` reads documents one after the other, keeps a few passages for each pair of words, and stops when
it has them all. Tokenizers give no places, so those of the words are found again in the line, from left to right; where
a word of the line was not written as it is counted (a lemma, say), the words themselves are shown. :func:`cut_snippet`
shows the part of one text in which given words stand together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from psdvec.errors import checked, demand_positive
from psdvec.text.phrases import JOINT

_SHOWN = 8  # words on either side, more only if the context is further away
_SNIPPET = 30  # words of a snippet
_BLANKS, _LETTER = re.compile(r"\s+"), re.compile(r"\w")
_FAR = 100  # letters that may stand between two words of a line
_LONGEST = 1000  # letters of a snippet between two words that are marked, or of one of these


@dataclass(frozen=True)
class Passage:
    """A word with what stands before and after it, in the document of this name.

    ``left + word + right`` is the passage: blanks beside the word are theirs.
    """

    left: str
    word: str
    right: str
    document: str


@checked
def find_passages(
    documents: Iterable[tuple[str, str | Sequence[str]]],
    wanted: Mapping[str, Collection[str] | None],
    *,
    tokenize: Callable[[str], list[str]],
    window: int,
    most: int = 3,
) -> dict[tuple[str, str | None], list[Passage]]:
    """Return passages in which a word stands within ``window`` words of a context, at most one of a document.

    Parameters
    ----------
    documents
        Names and texts, which are read until everything is found. Every line of a text is a sentence; a list of words
        is one that is cut already.
    wanted
        The words, and of each the contexts that are looked for; None for any, or none at all.
    tokenize
        What cuts a line into words, such as :meth:`psdvec.Embeddings.tokenize`.
    window
        How many words a context may be away, on either side.
    most
        How many passages of each pair to return: the first ones.

    Returns
    -------
    dict
        By word and context (None where any would do) its passages, in the order of the documents. What was not found
        has an empty list.

    Examples
    --------
    >>> from psdvec.text.tokenizers import split_words
    >>> cut = lambda line: split_words(line, tokenizer="unicode")
    >>> documents = [("1", "An old Cat, it seems, sat down."), ("2", "The cat slept on no mat.")]
    >>> found = find_passages(documents, {"cat": ["sat", "mat"]}, tokenize=cut, window=3)
    >>> found["cat", "sat"]
    [Passage(left='An old ', word='Cat', right=', it seems, sat down.', document='1')]
    """
    demand_positive(window, "window")
    demand_positive(most, "most")
    found: dict[tuple[str, str | None], list[Passage]] = {
        (word, context): []
        for word, contexts in wanted.items()
        for context in ([None] if contexts is None else contexts)
    }
    missing: dict[str, set[str | None]] = {}
    for word, context in found:
        missing.setdefault(word, set()).add(context)
    for name, text in documents:
        if not missing:
            break
        given = set()  # the pairs of which this document has given a passage
        for line, words in _sentences(text, tokenize):
            places = None
            for i, context, reach in _meetings(words, missing, window):
                if (words[i], context) not in given:
                    places = places or word_places(line, words)
                    given.add((words[i], context))
                    found[words[i], context].append(Passage(*_around(line, words, places, i, reach), name))
        for word, context in given:
            if len(found[word, context]) == most:
                missing[word].discard(context)
                if not missing[word]:
                    del missing[word]
    return found


def _sentences(
    text: str | Sequence[str], tokenize: Callable[[str], list[str]]
) -> Iterator[tuple[str, list[str]]]:
    """Yield the lines of a text with their words; words that were cut elsewhere have no line."""
    if isinstance(text, str):
        yield from ((line, tokenize(line)) for line in text.split("\n"))
    else:
        yield "", list(text)


def _meetings(
    words: list[str], missing: Mapping[str, Collection[str | None]], window: int
) -> Iterator[tuple[int, str | None, int]]:
    """Yield the place of each word that is looked for, a context of it that is near, and where that stands."""
    if missing.keys().isdisjoint(words):
        return
    for i, word in enumerate(words):
        if word not in missing:
            continue
        if None in missing[word]:
            yield i, None, i
        nearest: dict[str, int] = {}
        for distance in range(1, min(window, len(words)) + 1):
            for j in (i - distance, i + distance):
                if 0 <= j < len(words):
                    nearest.setdefault(words[j], j)
        for context in nearest.keys() & missing[word]:
            yield i, context, nearest[context]


def _around(
    line: str, words: list[str], places: list[tuple[int, int] | None], i: int, reach: int
) -> tuple[str, str, str]:
    """Return what stands before word ``i`` of a line, the word, and what follows; at least as far as ``reach``."""
    first, last = max(0, min(i - _SHOWN, reach)), min(len(words), max(i + _SHOWN, reach) + 1)
    here = places[i]
    if here is None:
        return " ".join([*words[first:i], ""]), words[i], " ".join(["", *words[i + 1 : last]])
    known = [place for place in places[first:last] if place is not None]
    begin = known[0][0] if first else max(0, known[0][0] - _FAR)
    end = known[-1][1] if last < len(words) else known[-1][1] + _FAR
    left, right = (_BLANKS.sub(" ", part) for part in (line[begin : here[0]], line[here[1] : end]))
    return left.lstrip(), line[slice(*here)], right.rstrip()


def word_places(line: str, words: list[str]) -> list[tuple[int, int] | None]:
    """Return where each word begins and ends in the line that it was cut from, None if it is not found."""
    text, at = _fold(line), 0
    origins: Sequence[int] = range(len(line) + 1)
    if len(text) > len(line):  # some letters became several
        origins = [i for i, letter in enumerate(line) for _ in _fold(letter)] + [len(line)]
    places: list[tuple[int, int] | None] = []
    for word in map(_fold, words):
        start = text.find(word, at, at + _FAR + len(word))
        if start >= 0 and word and (start == at or not text[start - 1].isalnum()):
            at = start + len(word)
            places.append((origins[start], origins[at - 1] + 1))
            continue
        letter = _LETTER.search(text, at) if word[:1].isalnum() else None
        begin = letter.start() if letter else at  # a line of dashes, say, may be long
        found = _find(text, [word], begin) or _find(text, word.split(JOINT), begin)
        places.append(found and (origins[found[0]], origins[found[1] - 1] + 1))
        at = found[1] if found else at
    return places


def _fold(text: str) -> str:
    return text.casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")


def _find(text: str, pieces: list[str], at: int) -> tuple[int, int] | None:
    """Return where the pieces of a word stand one after the other, soon after ``at``; none begins inside a word."""
    begin = -1
    for piece in pieces:
        start = text.find(piece, at, at + _FAR + len(piece))
        while start > at and text[start - 1].isalnum():
            start = text.find(piece, start + 1, at + _FAR + len(piece))
        if start < 0 or not piece:
            return None
        begin, at = start if begin < 0 else begin, start + len(piece)
    return begin, at


def cut_snippet(text: str, words: Sequence[str], gave: Mapping[str, float]) -> str:
    """Return the part of a text in which words that gave most stand together, these words between ``**``.

    Two stars of the text itself are set apart, so that every second piece between ``**`` is such a word, or several
    with nothing between them.

    >>> cut_snippet("The cat sat.", ["the", "cat", "sat"], {"cat": 1.0})
    'The **cat** sat.'
    """
    first = _best_window(words, gave)
    last = min(first + _SNIPPET, len(words))
    places = word_places(text, list(words[:last]))
    known = [place for place in places[first:last] if place is not None]
    if not known:
        return " ".join(f"**{_apart(word)}**" if word in gave else _apart(word) for word in words[first:last])
    begin = known[0][0] if first else max(0, known[0][0] - _FAR)
    end = known[-1][1] if last < len(words) else min(len(text), known[-1][1] + _FAR)
    pieces: list[str] = []  # every second one is marked
    at = begin
    for word, place in zip(words[first:last], places[first:last], strict=True):
        if place is not None and word in gave:
            own = _apart(text[slice(*place)])
            if pieces and place[0] == at:
                pieces[-1] += own
            else:
                pieces += [_apart(text[at : place[0]]), own]
            at = place[1]
    shown = " ".join("**".join([*pieces, _apart(text[at:end])]).split())
    return f"{'… ' if begin else ''}{shown}{' …' if end < len(text) else ''}"


def _apart(text: str) -> str:
    """Set two stars apart, and leave out the middle of what nobody reads, such as a picture sent as letters."""
    short = text if len(text) <= _LONGEST else f"{text[:_FAR]} … {text[-_FAR:]}"
    return short.replace("**", "* *")


def _best_window(words: Sequence[str], gave: Mapping[str, float]) -> int:
    """Return where the window begins whose different words gave most; a little before the first of them."""
    places = [i for i, word in enumerate(words) if word in gave]
    best, first = 0.0, 0
    for k, i in enumerate(places):
        worth = sum(gave[word] for word in {words[j] for j in places[k : k + _SNIPPET] if j < i + _SNIPPET})
        if worth > best + 1e-12:
            best, first = worth, i
    return max(0, min(first - 3, len(words) - _SNIPPET))
