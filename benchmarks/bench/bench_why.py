"""What ``psdvec.why`` says, against what happens: contexts are taken out of the counts, and the words solved again.

    python -m benchmarks.bench.bench_why MODEL COUNTS [--pairs 100] [--refreshed 20] [--record FILE]

Each pair is a word that occurs 30 times or more and one of its ten nearest such words, drawn at random. The contexts
with the largest shares are taken out, ten or a hundred. *fall*: by how much the similarity of the two falls if both are
solved again without them, computed in closed form. For the first pairs and ten contexts, it is computed also by
``extend(refresh=...)`` from counts without these pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.lib.measure import markdown, run_script
from benchmarks.lib.records import make_parser, publish

import psdvec
from psdvec.counts.matrix import load_counts
from psdvec.explore.contexts import ContextIndex

LEAST = 30  # occurrences of a word
TAKEN = (10, 100)  # contexts


def fall_table(record: dict[str, Any]) -> str:
    """Write what shares and falls to first order say and what happens, over all pairs."""
    titles = (
        "contexts taken out", "shares", "fall, first order", "fall", "correlation: shares", "first order", "slope",
        "closed form less refreshed, at most",
    )  # fmt: skip
    rows = []
    for number in TAKEN:
        shares, told, falls = (
            np.array([pair[name][str(number)] for pair in record["pairs"]])
            for name in ("shares", "told", "falls")
        )
        means = [f"{values.mean():.4f}" for values in (shares, told, falls)]
        alike = [f"{np.corrcoef(values, falls)[0, 1]:.2f}" for values in (shares, told)]
        apart = ""
        if number == TAKEN[0]:
            apart = f"{np.abs(falls[: len(record['refreshed'])] - record['refreshed']).max():.0e}"
        rows.append([str(number), *means, *alike, f"{np.polyfit(told, falls, 1)[0]:.2f}", apart])
    return markdown(titles, rows, names=0)


def lines_table(record: dict[str, Any]) -> str:
    """Write what the lines add to the similarity, in the mean over all pairs, and the mean of their sizes."""
    heads = ("similarity", "nearer", "apart", "spelling", "background", "not explained")
    values = np.array([[pair[head] for head in heads] for pair in record["pairs"]])
    rows = [("mean", values.mean(axis=0)), ("mean size", np.abs(values).mean(axis=0))]
    lines = [f"| | {' | '.join(heads)} |", "|---|" + "---:|" * len(heads)]
    lines += [f"| {name} | {' | '.join(f'{value:.3f}' for value in row)} |" for name, row in rows]
    return "\n".join(lines)


def draw_pairs(model: psdvec.Model, number: int) -> list[tuple[str, str]]:
    """Return words with one of their ten nearest words each."""
    rng, often = np.random.default_rng(0), int((model.counts >= LEAST).sum())
    words = [model.words[i] for i in rng.choice(often, number, replace=False)]
    near = model.most_similar_many(words, topn=10, restrict_vocab=often)
    return [(word, ranking[rng.integers(10)][0]) for word, ranking in zip(words, near, strict=True)]


def without_pairs(
    counts: psdvec.Cooccurrence, words: Sequence[str], contexts: Sequence[str]
) -> psdvec.Cooccurrence:
    """Return counts in which none of ``words`` was seen near one of ``contexts``."""
    ids = counts.vocabulary.ids
    cells = {(ids[word], ids[context]) for word in words for context in contexts}
    gone = []
    for row, column in cells | {(column, row) for row, column in cells}:
        start, end = counts.indptr[row : row + 2]
        gone += (start + np.flatnonzero(counts.indices[start:end] == column)).tolist()
    before = np.searchsorted(np.sort(gone), counts.indptr)
    return replace(
        counts, indptr=counts.indptr - before, indices=np.delete(counts.indices, gone),
        values=np.delete(counts.values, gone),
    )  # fmt: skip


def similarity(index: ContextIndex, words: tuple[str, str], contexts: Sequence[str] = ()) -> float:
    """Return the similarity of two words solved again without some contexts, 0 where there are no others."""
    return index.without(*words, contexts) or 0.0


def measure_pair(index: ContextIndex, words: tuple[str, str]) -> dict[str, Any]:
    """Return what is said of two words, and what taking contexts out does."""
    model = index.model
    found = index.shares(*words)
    order, solved = np.argsort(-found.contexts), similarity(index, words)
    first = {number: [model.words[row] for row in found.rows[order[:number]]] for number in TAKEN}
    return {
        "words": words, "similarity": model.similarity(*words), "solved": solved,
        "nearer": float(found.contexts[found.contexts > 0].sum()),
        "apart": float(found.contexts[found.contexts < 0].sum()),
        "spelling": found.spelling, "background": found.background, "not explained": found.rest,
        "contexts": first[TAKEN[0]],
        "shares": {str(number): float(found.contexts[order[:number]].sum()) for number in TAKEN},
        "told": {str(number): float(found.falls[order[:number]].sum()) for number in TAKEN},
        "falls": {str(number): solved - similarity(index, words, first[number]) for number in TAKEN},
    }  # fmt: skip


def refreshed_fall(index: ContextIndex, words: tuple[str, str], contexts: Sequence[str]) -> float:
    """Return by how much the similarity of two words falls if they are refreshed from counts without some pairs."""
    before, after = (
        psdvec.extend(
            index.model, store, words=[], refresh=words, min_contexts=1, quiet=True
        ).similarity(*words)
        for store in (index.counts, without_pairs(index.counts, words, contexts))
    )  # fmt: skip
    return before - after


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("counts", type=Path, help="those that the model was fitted from")
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--refreshed", type=int, default=20, help="pairs that are also refreshed")
    given = parser.parse_args()
    model, counts = psdvec.load(given.model), load_counts(given.counts)
    index = ContextIndex(model, counts)
    pairs = [measure_pair(index, words) for words in draw_pairs(model, given.pairs)]
    figures = {
        "words": counts.tally.tokens, "vocabulary": len(model), "pairs": pairs,
        "refreshed": [
            refreshed_fall(index, pair["words"], pair["contexts"]) for pair in pairs[: given.refreshed]
        ],
    }  # fmt: skip
    publish(figures, fall_table, lines_table, record=given.record)


if __name__ == "__main__":
    run_script(main)
