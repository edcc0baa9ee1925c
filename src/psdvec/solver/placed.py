"""What a word was placed with: how often it was seen, what its vector is made of, and which words are near it.

:func:`describe_placed` takes a model with placed words and returns a :class:`PlacedWord` for each, and
:func:`write_report` writes them as a table. The parts of a vector are those of equations (15) to (17) of
``docs/spelling.md``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from psdvec.arrays import Float32s, Int64s
from psdvec.solver.spelling import own_pull
from psdvec.storage.files import replaced_file
from psdvec.vectors.model import Model

NEAREST = 3  # words that are named
COLUMNS = (
    "word", "occurrences", "contexts", "spelling", "deviation", *(f"nearest {i + 1}" for i in range(NEAREST)),
    "not placed",
)  # fmt: skip


class PlacedWord(NamedTuple):
    """A word that was placed beside fixed ones.

    It was seen ``occurrences`` times, with ``contexts`` different core words. Its vector is the sum of what its
    spelling and what its contexts say; ``spelling`` is the length of the first over the sum of both lengths, from 0 to
    1, and the contexts have the rest. ``deviation`` is the standard deviation of each coordinate, and ``nearest`` are
    the words nearest to it.
    """

    word: str
    occurrences: int
    contexts: int
    spelling: float
    deviation: float
    nearest: tuple[str, ...]


def describe_placed(
    model: Model, words: Sequence[str], occurrences: Int64s, contexts: Int64s
) -> list[PlacedWord]:
    """Return what is known of each of ``words``, which were placed; the nearest of all are searched at once."""
    ids = [model.get_index(word) for word in words]
    rankings = model.most_similar_many(words, topn=NEAREST)
    shares = spelling_shares(model, words, occurrences)
    numbers = zip(occurrences.tolist(), contexts.tolist(), shares.tolist(), strict=True)
    return [
        PlacedWord(word, *known, deviation, tuple(other for other, _ in ranking))
        for word, known, deviation, ranking in zip(
            words, numbers, model.deviations[ids].tolist(), rankings, strict=True
        )
    ]


def spelling_shares(model: Model, words: Sequence[str], occurrences: Int64s) -> Float32s:
    """Return |S| / (|S| + |C|) of each placed word, from 0 to 1, with the :func:`parts_of` its vector."""
    spelling, contexts = (np.linalg.norm(part, axis=1) for part in parts_of(model, words, occurrences))
    return np.asarray(spelling / np.maximum(spelling + contexts, np.float32(1e-12)))


def parts_of(model: Model, words: Sequence[str], occurrences: Int64s) -> tuple[Float32s, Float32s]:
    """Return S and C (m, d), whose sum has the direction of each placed word's vector; S is 0 without n-grams.

    With r the stretched row, q = a ℓ p the mean of its prior and o how far the word draws its own p, the vector shown
    has the direction of r/|r| + a (p + o (r/|r| - p)), equations (15) and (17). Of this, the spelling says
    ``S = (1 + a o) q / |r| + a (1 - o) p``, and the contexts move it by ``C = (1 + a o) (r - q) / |r|``.
    """
    r = model.rows[[model.get_index(word) for word in words]] * model.stretch
    if model.subwords is None:
        return np.zeros_like(r), r
    a = np.float32(model.subwords.share)
    p, q = model.subwords.predict(words), model.subwords.vectors_of(words)
    o = own_pull(model.subwords, occurrences, noise=model.recipe.spelling_noise)[:, None]
    scale = (1 + a * o) / np.maximum(np.linalg.norm(r, axis=1, keepdims=True), np.float32(1e-12))
    return scale * q + a * (1 - o) * p, scale * (r - q)


def write_report(
    rows: Sequence[PlacedWord], unplaced: Mapping[str, str], path: Path, *, overwrite: bool
) -> None:
    """Write all words to ``path``, tab-separated: those placed, then those ``unplaced`` with the reason."""
    text = io.StringIO()
    table = csv.writer(text, delimiter="\t", lineterminator="\n")
    table.writerow(COLUMNS)
    for row in rows:
        nearest = [*row.nearest, *[""] * (NEAREST - len(row.nearest))]
        table.writerow(
            [
                row.word,
                row.occurrences,
                row.contexts,
                f"{row.spelling:.3f}",
                f"{row.deviation:.4g}",
                *nearest,
                "",
            ]
        )
    for word, reason in unplaced.items():
        table.writerow([word, *[""] * (len(COLUMNS) - 2), reason])
    with replaced_file(path, overwrite=overwrite) as file:
        file.write(text.getvalue().encode("utf-8", "surrogatepass"))
