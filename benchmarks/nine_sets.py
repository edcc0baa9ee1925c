"""Scores of the paper's nine sets in points: Spearman, accuracy, 3CosMul; what has unknown words is skipped."""

from __future__ import annotations

from pathlib import Path

import numba
import numpy as np
from scipy.stats import spearmanr

SIMILARITY = {
    "WS-sim": "ws353_similarity", "WS-rel": "ws353_relatedness", "MEN": "bruni_men", "Turk": "radinsky_mturk",
    "SimLex": "simlex_999a", "RG": "EN-RG-65",
}  # fmt: skip
ANALOGY = {"Google": "google", "MSR": "msr"}


def test_words(folder):
    """Return every word of the nine sets, lower-cased."""
    words = set()
    for name in (*SIMILARITY.values(), *ANALOGY.values()):
        for line in (Path(folder) / f"{name}.txt").read_text(encoding="utf-8").lower().splitlines():
            words.update(line.split()[: 4 if name in ANALOGY.values() else 2])
    for line in (Path(folder) / "EN-TOEFL-80.txt").read_text(encoding="utf-8").lower().splitlines():
        words.update(part.strip() for part in line.split("|"))
    return words


def score(words, vectors, folder):
    """Return the points of each set, and their mean as ``mean``."""
    ids = {word: i for i, word in enumerate(words)}
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    lines = {p.stem: p.read_text(encoding="utf-8").lower().splitlines() for p in Path(folder).glob("*.txt")}
    points = {name: _spearman(lines[file], ids, unit) for name, file in SIMILARITY.items()}
    points["TOEFL"] = _choice(lines["EN-TOEFL-80"], ids, unit)
    points |= {name: _analogy(lines[file], ids, unit) for name, file in ANALOGY.items()}
    return points | {"mean": float(np.mean(list(points.values())))}


def show(points):
    return "  ".join(f"{name} {value:.1f}" for name, value in points.items())


def _spearman(lines, ids, unit):
    rows = [line.split() for line in lines]
    known = [row for row in rows if len(row) >= 3 and row[0] in ids and row[1] in ids]
    cosines = [float(unit[ids[a]] @ unit[ids[b]]) for a, b, *_ in known]
    return 100 * float(spearmanr([float(row[2]) for row in known], cosines)[0])


def _choice(lines, ids, unit):
    right = []
    for line in lines:
        words = [part.strip() for part in line.split("|")]
        if len(words) == 5 and words[0] in ids and words[1] in ids:
            cosines = [unit[ids[words[0]]] @ unit[ids[w]] if w in ids else -2.0 for w in words[1:]]
            right.append(int(np.argmax(cosines)) == 0)
    return 100 * float(np.mean(right))


def _analogy(lines, ids, unit):
    rows = (line.split() for line in lines)
    questions = np.array(
        [[ids[w] for w in row] for row in rows if len(row) == 4 and all(w in ids for w in row)]
    )
    used, places = np.unique(questions, return_inverse=True)
    near = ((unit[used] @ unit.T + 1) / 2).astype(np.float32)
    answers = _three_cos_mul(near, 1 / (near + np.float32(1e-3)), places.reshape(questions.shape), questions)
    return 100 * float(np.mean(answers == questions[:, 3]))


@numba.njit(parallel=True, fastmath=True)
def _three_cos_mul(near, far, places, questions):
    answers = np.empty(len(questions), np.int64)
    for q in numba.prange(len(questions)):
        a, b, c = places[q, 0], places[q, 1], places[q, 2]
        best = np.float32(-1)
        for k in range(near.shape[1]):
            s = near[b, k] * near[c, k] * far[a, k]
            if s > best and k != questions[q, 0] and k != questions[q, 1] and k != questions[q, 2]:
                best = s
                answers[q] = k
    return answers
