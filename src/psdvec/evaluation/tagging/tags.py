"""Tags of named entities and chunks: the spans they mark, and how many spans two taggings share.

Tags may be in any of the usual schemes, IOB1, IOB2, IOE and IOBES; all are read by the rules of the CoNLL scorer.
They become spans ``(start, end, label)``, tags in IOB2, or counts of spans for precision, recall and F1, per sentence
and per label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Span = tuple[int, int, str]


def spans_of(tags: Sequence[str]) -> list[Span]:
    """Return the spans of a tagged sentence as ``(start, end, label)``, ``end`` exclusive.

    A span begins at a tag B or S, at any tag after O, after E or S, and where the label changes.

    >>> spans_of(["I-PER", "I-PER", "O", "B-LOC", "B-LOC", "I-ORG"])
    [(0, 2, 'PER'), (3, 4, 'LOC'), (4, 5, 'LOC'), (5, 6, 'ORG')]
    """
    spans: list[Span] = []
    start, prefix, label = 0, "O", ""
    for i, tag in enumerate([*tags, "O"]):
        next_prefix, _, next_label = tag.partition("-")
        begins = next_prefix in ("B", "S") or prefix in ("O", "E", "S") or next_label != label
        if prefix != "O" and (next_prefix == "O" or begins):
            spans.append((start, i, label))
        if next_prefix != "O" and begins:
            start = i
        prefix, label = next_prefix, next_label
    return spans


def to_iob2(tags: Sequence[str]) -> list[str]:
    """Return the same spans in IOB2: every span begins with B.

    >>> to_iob2(["I-PER", "I-PER", "O", "S-LOC"])
    ['B-PER', 'I-PER', 'O', 'B-LOC']
    """
    written = ["O"] * len(tags)
    for start, end, label in spans_of(tags):
        written[start] = f"B-{label}"
        written[start + 1 : end] = [f"I-{label}"] * (end - start - 1)
    return written


@dataclass(frozen=True)
class Counts:
    """How many spans are right, how many were found, and how many there are in the gold tagging."""

    right: int
    found: int
    gold: int

    @property
    def precision(self) -> float:
        """The share of found spans that are right; 0 if none was found."""
        return self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """The share of gold spans that were found; 0 if there are none."""
        return self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.right / (self.found + self.gold) if self.found + self.gold else 0.0


def count_spans(gold: Sequence[str], found: Sequence[str]) -> Counts:
    """Compare two taggings of one sentence; a span is right if both its ends and its label are.

    >>> count_spans(["B-NP", "I-NP", "O"], ["B-NP", "O", "B-NP"])
    Counts(right=0, found=2, gold=1)
    """
    expected, given = set(spans_of(gold)), set(spans_of(found))
    return Counts(len(expected & given), len(given), len(expected))


def count_by_label(sentences: Iterable[tuple[Sequence[str], Sequence[str]]]) -> dict[str, Counts]:
    """Return the counts per label over pairs of a gold and a found tagging, the labels sorted."""
    right: Counter[str] = Counter()
    found: Counter[str] = Counter()
    gold: Counter[str] = Counter()
    for expected_tags, given_tags in sentences:
        expected, given = set(spans_of(expected_tags)), set(spans_of(given_tags))
        right.update(label for _, _, label in expected & given)
        found.update(label for _, _, label in given)
        gold.update(label for _, _, label in expected)
    return {label: Counts(right[label], found[label], gold[label]) for label in sorted(found | gold)}
