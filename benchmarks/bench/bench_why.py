"""What ``psdvec.why`` says, against what happens: contexts are taken out of the counts, and the words solved again.

    python -m benchmarks.bench.bench_why CORPUS [--pairs 200] [--record FILE]

Each pair is a word that occurs 30 times or more and one of its ten nearest such words, drawn at random. The contexts
with the largest shares are taken out, ten or a hundred. *fall*: by how much the similarity of the two falls if both are
solved again without them. It is computed in closed form, and for ten contexts also by ``extend(refresh=...)`` from
counts without these pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.lib.measure import run_script
from benchmarks.lib.records import make_parser, publish

import psdvec
from psdvec.explore.contexts import ContextIndex

LEAST = 30  # occurrences of a word
TAKEN = (10, 100)  # contexts


def fall_table(record: dict[str, Any]) -> str:
    """Write what shares say and what happens, over all pairs."""
    lines = [
        "| contexts taken out | their shares | fall | correlation | slope | closed form less refreshed, at most |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for number in TAKEN:
        shares, falls = (
            np.array([pair[name][str(number)] for pair in record["pairs"]]) for name in ("shares", "falls")
        )
        slope = np.polyfit(shares, falls, 1)[0]
        apart = ""
        if number == TAKEN[0]:
            apart = f"{np.abs(falls - [pair['refreshed'] for pair in record['pairs']]).max():.0e}"
        means = f"{shares.mean():.4f} | {falls.mean():.4f}"
        lines.append(
            f"| {number} | {means} | {np.corrcoef(shares, falls)[0, 1]:.2f} | {slope:.2f} | {apart} |"
        )
    return "\n".join(lines)


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
    model, counts = index.model, index.counts
    found = index.shares(*words)
    order, solved = np.argsort(-found.contexts), similarity(index, words)
    first = {number: [model.words[row] for row in found.rows[order[:number]]] for number in TAKEN}
    similarities = [
        psdvec.extend(model, store, words=[], refresh=words, min_contexts=1, quiet=True).similarity(*words)
        for store in (counts, without_pairs(counts, words, first[TAKEN[0]]))
    ]
    return {
        "words": words, "similarity": model.similarity(*words), "solved": solved,
        "nearer": float(found.contexts[found.contexts > 0].sum()),
        "apart": float(found.contexts[found.contexts < 0].sum()),
        "spelling": found.spelling, "background": found.background, "not explained": found.rest,
        "contexts": first[TAKEN[0]],
        "shares": {str(number): float(found.contexts[order[:number]].sum()) for number in TAKEN},
        "falls": {str(number): solved - similarity(index, words, first[number]) for number in TAKEN},
        "refreshed": similarities[0] - similarities[1],
    }  # fmt: skip


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--pairs", type=int, default=200)
    given = parser.parse_args()
    counts = psdvec.count_pairs(given.corpus, quiet=True)
    model = psdvec.fit(counts, quiet=True)
    index = ContextIndex(model, counts)
    figures = {
        "words": counts.tally.tokens, "vocabulary": len(model),
        "pairs": [measure_pair(index, words) for words in draw_pairs(model, given.pairs)],
    }  # fmt: skip
    publish(figures, fall_table, lines_table, record=given.record)


if __name__ == "__main__":
    run_script(main)
