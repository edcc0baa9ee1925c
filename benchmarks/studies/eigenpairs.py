"""Exact and approximate eigenpairs: what they take, how far the objective falls, and whether two seeds agree.

    python -m benchmarks.studies.eigenpairs CORPUS [--record FILE]

The recipe ``paper`` and the default recipe without spelling, each with its own window, are fitted with exact eigenpairs
and with approximate ones, by two seeds.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from benchmarks.lib.corpora import add_corpus_arguments
from benchmarks.lib.measure import markdown, run_script
from benchmarks.lib.records import make_parser, publish
from benchmarks.studies.one_objective import agreement

from psdvec.counts.count import count_pairs
from psdvec.counts.matrix import Cooccurrence
from psdvec.progress import SilentProgress
from psdvec.solver.fit import fit
from psdvec.text.corpus import read_corpus
from psdvec.vectors.embeddings import Embeddings

FITS: tuple[dict[str, Any], ...] = (
    {"recipe": "paper", "words": 5_000, "dim": 200, "counting": {"window": 3, "weighting": "flat"}},
    {"recipe": "default", "words": 20_000, "dim": 100, "counting": {}},
)


class Objectives(SilentProgress):
    """A progress that keeps the objective after the last round."""

    last = float("nan")

    def say(self, message: str) -> None:
        """See :meth:`psdvec.progress.Progress.say`."""
        if " objective " in message:
            self.last = float(message.rpartition(" ")[2])


def main() -> None:
    parser = make_parser(__doc__)
    add_corpus_arguments(parser)
    options = parser.parse_args()
    corpus = read_corpus(options.corpus, tokenizer=options.tokenizer)
    rows = []
    for how in FITS:
        counts = count_pairs(corpus, max_words=how["words"], progress=SilentProgress(), **how["counting"])
        rows += [
            {**how, "words": len(counts), "exact": exact, **compare(counts, how, exact)}
            for exact in (True, False)
        ]
    publish({"rows": rows}, table, record=options.record)


def compare(counts: Cooccurrence, how: dict[str, Any], exact: bool) -> dict[str, Any]:
    """Fit with two seeds, and return what each took and reached, and how far they agree."""
    models, runs = [], []
    for seed in (0, 1):
        progress, start = Objectives(), time.process_time()
        changes = {"exact": exact, "spelling": "off"}
        models.append(
            fit(counts, dim=how["dim"], recipe=how["recipe"], changes=changes, seed=seed, progress=progress)
        )
        runs.append({"processor": time.process_time() - start, "objective": progress.last})
    return {"runs": runs, "difference": largest_difference(*models), "overlap": agreement(*models)["overlap"]}


def largest_difference(one: Embeddings, other: Embeddings) -> float:
    """Return the largest difference between two models' cosines, of a thousand words with all others."""
    near = [model.vectors / model.lengths[:, None].clip(1e-12) for model in (one, other)]
    sample = np.linspace(0, len(one) - 1, 1000).astype(int)
    return float(np.abs(np.subtract(*(units[sample] @ units.T for units in near))).max())


def table(record: dict[str, Any]) -> str:
    """Write processor seconds and objective of either seed, and how far the two agree."""
    rows = [
        [
            f"`{row['recipe']}`, {row['words']:,} × {row['dim']}, {'exact' if row['exact'] else 'approximate'}",
            ", ".join(f"{run['processor']:.1f}" for run in row["runs"]),
            ", ".join(f"{run['objective']:.4f}" for run in row["runs"]),
            f"{row['difference']:.5f}",
            f"{100 * row['overlap']:.1f}",
        ]
        for row in record["rows"]
    ]
    titles = ["processor seconds", "objective", "largest difference of a cosine", "ten nearest in common, %"]
    return markdown(["two seeds", *titles], rows)


if __name__ == "__main__":
    run_script(main)
