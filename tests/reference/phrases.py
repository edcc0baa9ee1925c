"""What :mod:`psdvec.counts.phrases` and the kernels of phrases mean, in plain Python."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

Gram = tuple[str, ...]


def value_of(pieces: Sequence[Gram], steps: Mapping[Gram, int]) -> int:
    return sum(steps[piece] * (len(piece) - 1) for piece in pieces if len(piece) > 1)


def all_cuts(words: Gram, steps: Mapping[Gram, int]) -> list[list[Gram]]:
    """Every way to cut ``words`` into phrases and single words."""
    if not words:
        return [[]]
    ends = [n for n in range(1, len(words) + 1) if n == 1 or words[:n] in steps]
    return [[words[:n], *rest] for n in ends for rest in all_cuts(words[n:], steps)]


def best_cut(words: Sequence[str], steps: Mapping[Gram, int]) -> list[Gram]:
    """The best cut of the first words, for ever more of them; among equals, the one with the longest last piece."""
    best: list[list[Gram]] = [[]]
    for end in range(1, len(words) + 1):
        pieces = [(begin, tuple(words[begin:end])) for begin in range(end)]
        # Longest last piece first; max keeps the first of equals.
        options = [[*best[begin], piece] for begin, piece in pieces if len(piece) == 1 or piece in steps]
        best.append(max(options, key=lambda option: value_of(option, steps)))
    return best[-1]


def count_grams(
    sentences: Sequence[Sequence[str]], *, min_count: int, max_length: int, connectors: frozenset[str]
) -> tuple[dict[Gram, int], int]:
    """How often each frequent n-gram occurs that begins with no connector, and how many different ones were counted."""
    words = Counter(word for sentence in sentences for word in sentence)
    known = {(word,): count for word, count in words.items() if count >= min_count}
    seen = 0
    for n in range(2, max_length + 1):
        found: Counter[Gram] = Counter()
        for sentence in sentences:
            for gram in zip(*(sentence[k:] for k in range(n)), strict=False):
                begins = gram[0] not in connectors and gram[:-1] in known and gram[-1:] in known
                if begins and (gram[1] in connectors or gram[1:] in known):
                    found[gram] += 1
        seen += len(found)
        known |= {gram: count for gram, count in found.items() if count >= min_count}
    return known, seen


def find_connectors(sentences: Sequence[Sequence[str]], *, min_count: int) -> set[str]:
    """The words that are more than one in 400, among the first √n of n, with no neighbour most of the time."""
    words = Counter(word for sentence in sentences for word in sentence)
    after = Counter(pair for sentence in sentences for pair in pairwise(sentence))
    known = sorted(
        (word for word in words if words[word] >= min_count), key=lambda word: (-words[word], word)
    )
    often = [word for i, word in enumerate(known) if words[word] * 400 > words.total() and i * i < len(known)]
    return {
        word
        for word in often
        if not any(
            2 * after[pair] > words[word] for other in known for pair in ((word, other), (other, word))
        )
    }


def longest_part(gram: Gram, counts: Mapping[Gram, int]) -> float:
    """Which share of an n-gram's occurrences has the commonest word before or after it."""
    longer = [count for other, count in counts.items() if gram in (other[1:], other[:-1])]
    return max(longer, default=0) / counts[gram]


def score(
    gram: Gram, counts: Mapping[Gram, int], connectors: frozenset[str], tokens: int
) -> tuple[float, float]:
    """The discounted NPMI and G² of an n-gram at its weakest cut before a word that is no connector."""
    cuts = [k for k in range(1, len(gram)) if gram[k] not in connectors]
    sides = [(counts[gram[:k]], counts[gram[k:]]) for k in cuts]
    c = counts[gram]
    less = max(c - 2 * math.sqrt(c), 0.5)
    npmi = min(math.log(less * tokens / (a * b)) / math.log(tokens / less) for a, b in sides)
    return npmi, min(g2(c, a, b, tokens) for a, b in sides)


def g2(c: int, a: int, b: int, n: int) -> float:
    if c * n <= a * b:
        return 0.0
    cells = [(c, a * b), (a - c, a * (n - b)), (b - c, (n - a) * b), (n - a - b + c, (n - a) * (n - b))]
    return 2 * sum(o * math.log(o * n / e) for o, e in cells if o > 0)


def find_phrases(
    sentences: Sequence[Sequence[str]],
    *,
    min_count: int,
    min_score: float,
    fdr: float,
    max_length: int,
    connectors: frozenset[str],
) -> dict[str, tuple[int, float]]:
    """Phrases with their counts and scores."""
    tokens = sum(map(len, sentences))
    options: dict[str, Any] = {"min_count": min_count, "connectors": connectors}
    _, seen = count_grams(sentences, max_length=max_length, **options)
    counts, _ = count_grams(sentences, max_length=max_length + 1, **options)
    scored = {
        gram: score(gram, counts, connectors, tokens)
        for gram in counts
        if 1 < len(gram) <= max_length and gram[-1] not in connectors
    }
    chances = {gram: math.erfc(math.sqrt(max(ratio, 0) / 2)) / 2 for gram, (_, ratio) in scored.items()}
    ranked = sorted(chances.values())
    limit = max((p for k, p in enumerate(ranked, 1) if p <= fdr * k / seen), default=-1.0)
    steps = {
        gram: round(npmi * 10_000)
        for gram, (npmi, _) in scored.items()
        if chances[gram] <= limit and npmi >= min_score and round(npmi * 10_000) > 0
        if longest_part(gram, counts) < 2 / 3
    }
    uses: Counter[Gram] = Counter()
    for _ in range(2):
        uses = Counter(piece for sentence in sentences for piece in best_cut(sentence, steps))
        steps = {gram: steps[gram] for gram in steps if uses[gram] >= min_count}
    return {" ".join(gram): (uses[gram], steps[gram] / 10_000) for gram in steps}
