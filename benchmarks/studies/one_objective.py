"""One objective for fit and extend: a penalty η ΣX² in the rounds of the fit too, as equation (9) has it.

    python -m benchmarks.studies.one_objective CORPUS... --testsets TESTSETS --work FOLDER [--words 50000]
    [--eta 0 0.03] [--rounds 7 24] [--breadth 12] [--record FILE]

F(X) + η ΣX² is majorised by Σ (A - X)² + η ΣX², whose best X of rank d is that of A / (1 + η). With a step ω the
eigenvalues of a round are divided by 1 + ωη; X is at rest where W∘(G - X) = ηX on its own directions, whatever ω is.
The program itself has no such penalty: :func:`penalised` puts it in.

For every η, one fit of all words gives the vectors after each number of rounds, a second one with another seed says how
far they differ, and a third one without 500 words of the test sets, which are then placed, what these lose. With
``--breadth``, two seeds are also compared after a cold start with more basis vectors for each wanted pair than 4. Only
development questions are asked, and the untouched sets.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmarks.bench.bench_extend import FEWEST, places_of, without
from benchmarks.lib.measure import markdown, run_script
from benchmarks.lib.records import Records, make_parser, publish
from benchmarks.studies.nine_sets import score, test_words
from benchmarks.studies.split import development_tasks, take, untouched_tasks

from psdvec.arrays import Float32s, Int64s
from psdvec.counts.count import count_pairs
from psdvec.counts.matrix import Cooccurrence
from psdvec.evaluation.tasks import Task
from psdvec.options import Fitting
from psdvec.progress import SilentProgress
from psdvec.solver import fit, rounds
from psdvec.solver.devices import open_device
from psdvec.solver.extend import extend
from psdvec.solver.pmi import margins, measure_constants, word_scales
from psdvec.solver.rounds import Eigenpairs
from psdvec.text.corpus import read_corpus
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.model import Model

DAMPING = 0.04  # of extend, where the fit has no penalty
HELD_OUT, FIRST_RANK = 500, 2000
NEAREST, COMPARED = 10, 2000  # neighbours of this many words are compared between two seeds


@contextmanager
def penalised(eta: float) -> Iterator[None]:
    """Put η ΣX² into the objective of the rounds, and η times their step into the eigenvalues."""
    residual_of, truncated, image_of = rounds.residual_of, rounds.truncated, rounds.Residual.into_step_image
    step = 0.0  # none was taken in the first round

    def with_penalty(problem, low_rank, **options):
        found = residual_of(problem, low_rank, **options)
        return replace(found, square=found.square + eta * float(np.sum(low_rank.values**2)))

    def shrunk(pairs, rank, *, spectrum):
        found = truncated(pairs, rank, spectrum=spectrum)
        return Eigenpairs(found.vectors, found.values / (1 + step * eta))

    def step_image(residual, length):
        nonlocal step
        step = length
        return image_of(residual, length)

    with (
        patch.object(rounds, "residual_of", with_penalty),
        patch.object(rounds, "truncated", shrunk),
        patch.object(rounds.Residual, "into_step_image", step_image),
    ):
        yield


def models_of(
    counts: Cooccurrence,
    *,
    dim: int,
    wanted: Sequence[int],
    eta: float = 0.0,
    breadth: float = rounds.BREADTH,
    seed: int = 0,
) -> dict[int, tuple[Model, float]]:
    """Return the model after each wanted number of rounds, and the processor's seconds until then."""
    what = Fitting(dim=dim, seed=seed, changes={"rounds": max(wanted)})
    recipe, device, start = what.settings, open_device("cpu"), time.process_time()
    kept: dict[int, tuple[Eigenpairs, float]] = {}
    next_round = rounds._next_round

    def watched(residual, state, **options):
        found, left = next_round(residual, state, **options)
        if found.number in wanted:
            kept[found.number] = found.low_rank, time.process_time() - start
        return found, left

    with device.limits():
        sums = margins(counts)
        constants = measure_constants(counts, *sums, recipe=recipe)
        scales = word_scales(*sums, constants)
        problem = rounds.build_problem(device, counts, scales, constants, recipe=recipe)
        with (
            penalised(eta),
            patch.object(rounds, "BREADTH", breadth),
            patch.object(rounds, "_next_round", watched),
        ):
            rounds.solve(problem, rank=dim + 1, recipe=recipe, seed=seed, progress=SilentProgress())
        options: dict[str, Any] = {"workers": None, "progress": SilentProgress()}
        return {
            number: (fit._model_of(low_rank, counts, what, scales, constants, **options), seconds)
            for number, (low_rank, seconds) in kept.items()
        }


def agreement(one: Embeddings, other: Embeddings) -> dict[str, float]:
    """Return the mean cosine after the best rotation, and the share of nearest words that two models have in common."""
    U, V = (
        model.vectors / np.linalg.norm(model.vectors, axis=1, keepdims=True).clip(1e-12)
        for model in (one, other)
    )
    left, _, right = np.linalg.svd(V.T @ U)
    sample = np.unique(np.geomspace(200, len(U) - 1, COMPARED).astype(int))
    near = [_nearest(vectors, sample) for vectors in (U, V)]
    common = [np.intersect1d(*pair).size / NEAREST for pair in zip(*near, strict=True)]
    return {
        "cosine": float(np.mean(np.sum((V @ (left @ right)) * U, axis=1))),
        "overlap": float(np.mean(common)),
    }


def _nearest(vectors: Float32s, sample: Int64s) -> Int64s:
    cosines = vectors[sample] @ vectors.T
    cosines[np.arange(sample.size), sample] = -np.inf
    return np.argpartition(-cosines, NEAREST, axis=1)[:, :NEAREST]


class HeldOut:
    """Words of the test sets that are left out of a fit, and the development questions that hold one."""

    def __init__(self, counts: Cooccurrence, testsets: str, tasks: Sequence[Task]) -> None:
        names, known = counts.vocabulary.words, test_words(testsets)
        candidates = [word for word in names[min(FIRST_RANK, len(names) // 8) :] if word in known]
        size = min(HELD_OUT, len(candidates) // 2)
        self.words = np.random.default_rng(0).choice(candidates, size, replace=False).tolist()
        self.rest = without(counts, set(self.words))
        covered = [take(task, places_of(task, lambda item: item <= set(names))) for task in tasks]
        holding = [take(task, places_of(task, lambda item: item & set(self.words))) for task in covered]
        self.tasks = [task for task in holding if len(task.items) >= FEWEST]

    def compare(self, together: Model, rest: Model, counts: Cooccurrence, damping: float) -> dict[str, float]:
        """Return the points of the questions that hold such a word, and how long they are beside fitted ones."""
        placed = extend(rest, counts, words=self.words, damping=damping, quiet=True)
        lengths = [
            np.linalg.norm(model.rows[[model.get_index(word) for word in self.words]], axis=1)
            for model in (placed, together)
        ]
        return {
            "points": score(placed, self.tasks)["mean"],
            "length": float(np.median(lengths[0] / lengths[1])),
        }


def measure(counts: Cooccurrence, out: HeldOut, parts, *, dim: int, eta: float, wanted) -> dict[str, Any]:
    """Return what all is measured at one η, by the number of rounds."""
    options: dict[str, Any] = {"dim": dim, "eta": eta, "wanted": wanted}
    one, other = (models_of(counts, **options, seed=seed) for seed in (0, 1))
    rest = models_of(out.rest, **options)
    found = {}
    for number in wanted:
        (model, seconds), (second, _) = one[number], other[number]
        found[str(number)] = {
            **{
                name: [score(each, tasks)["mean"] for each in (model, second)]
                for name, tasks in parts.items()
            },
            **agreement(model, second),
            "seconds": seconds,
            "together": score(model, out.tasks)["mean"],
            "placed": {
                str(damping): out.compare(model, rest[number][0], counts, damping)
                for damping in sorted({eta, DAMPING})
            },
        }
    return found


def seeds(counts: Cooccurrence, parts, *, dim: int, breadth: float, rounds: int) -> dict[str, Any]:
    """Return how far two seeds agree where the cold start has this many basis vectors for each wanted pair."""
    one, other = (
        models_of(counts, dim=dim, wanted=[rounds], breadth=breadth, seed=seed)[rounds] for seed in (0, 1)
    )
    points = {name: [score(each, tasks)["mean"] for each, _ in (one, other)] for name, tasks in parts.items()}
    return {**points, **agreement(one[0], other[0]), "seconds": one[1]}


def main():
    parser = make_parser(__doc__)
    parser.add_argument("corpora", nargs="+", help="raw text; TEXT:DIM for another number of dimensions")
    parser.add_argument("--testsets", required=True)
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--eta", type=float, nargs="*", default=[0.0, 0.03])
    parser.add_argument("--rounds", type=int, nargs="+", default=[7, 24])
    parser.add_argument("--breadth", type=float, nargs="*", default=[], help="of the cold start")
    parser.add_argument("--work", type=Path, required=True, help="folder for the steps that are done")
    options = parser.parse_args()
    parts = {
        "development": development_tasks(options.testsets),
        "untouched": untouched_tasks(options.testsets),
    }
    records, steps = Records(options.work / "steps.jsonl"), []
    for corpus in options.corpora:
        text, _, dim = corpus.partition(":")
        key = {"text": Path(text).name, "dim": int(dim or 300), "words": options.words}
        settings = [
            *({"eta": eta, "rounds": options.rounds} for eta in options.eta),
            *({"breadth": breadth, "rounds": options.rounds[0]} for breadth in options.breadth),
        ]
        missing = [setting for setting in settings if records.find({**key, **setting}) is None]
        if missing:
            counts = count_pairs(read_corpus(text), max_words=options.words, quiet=True)
            out = HeldOut(counts, options.testsets, parts["development"])
        for setting in missing:
            if "eta" in setting:
                found = measure(counts, out, parts, dim=key["dim"], eta=setting["eta"], wanted=options.rounds)
            else:
                found = seeds(counts, parts, dim=key["dim"], **setting)
            records.add({**key, **setting}, found)
            print(key, setting, found, flush=True)
        steps += [{**key, **setting, "found": records.find({**key, **setting})} for setting in settings]
    publish({"steps": steps}, table, record=options.record)


def table(*records: dict[str, Any]) -> str:
    """Return the table of docs/results/new-words.md."""
    titles = (
        "text, dimensions", "η of the fit", "rounds", "processor seconds", "development", "untouched",
        "ten nearest, two seeds", "fitted together", "placed, η = 0.04", "placed, η of the fit",
    )  # fmt: skip
    rows = []
    for step in (step for record in records for step in record["steps"]):
        name = f"{step['text'].removesuffix('.txt')}, {step['dim']}"
        if "eta" in step:
            for number, found in step["found"].items():
                placed = [found["placed"][str(eta)] for eta in (DAMPING, step["eta"])]
                cells = [f"{one['points']:.1f} ({one['length']:.2f})" for one in placed]
                rows.append(
                    [name, f"{step['eta']:g}", number, *_cells(found), f"{found['together']:.1f}", *cells]
                )
        else:
            cells = [name, f"0, breadth {step['breadth']:g}", str(step["rounds"]), *_cells(step["found"])]
            rows.append([*cells, "", "", ""])
    return markdown(titles, rows)


def _cells(found: dict[str, Any]) -> list[str]:
    points = [float(np.mean(found[part])) for part in ("development", "untouched")]
    return [f"{found['seconds']:.0f}", *(f"{value:.1f}" for value in (*points, 100 * found["overlap"]))]


if __name__ == "__main__":
    run_script(main)
