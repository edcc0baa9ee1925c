"""Section 5 of the paper at its own size or any other: count, fit a core, place more words band by band.

    python -m benchmarks.bench.bench_paper CORPUS... --work FOLDER [--words-of-text 2.1e9]
    [--words 25000 80000 130000 180000] [--dim 500] [--memory 8G] [--steps count core extend together]
    [--kill count=60] [--again] [--so-far] [--testsets TESTSETS] [--record FILE]

The texts, raw, plain or compressed, are counted together with a flat window of 3; with ``--words-of-text``, a text of
that size that is generated from them (:mod:`benchmarks.lib.generate`). The first ``--words`` are fitted together, and
each further number is one ``psdvec extend`` with the paper's ridge: 2, 4, 8 and so on. Then all words are fitted
together by the default recipe; ``train``, if ``--steps`` asks for it, does the paper's split from the text on. All
steps are commands in processes of their own, as a user would give them.

The table says what each step took: time, memory, and how much disk was in use below FOLDER beyond what was there
before. ``--kill`` kills a step, of ``extend`` the first one, so many seconds after its start, and gives it again; both
are counted. ``--again`` has each command done twice: the second time it is killed after half the time of the first, and
given again, and a table says what that lost, and whether the digests are the same. Steps that are written down below
FOLDER are not done again; ``--so-far`` shows them without going on. With test sets, models have scores: over the
questions that they cover and over those that the core covers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.lib.corpora import TOKENIZERS
from benchmarks.lib.measure import COST, PSDVEC, cells, disk_watched, markdown, run, run_script, stopped_after
from benchmarks.lib.records import Records, make_parser, publish
from benchmarks.studies.nine_sets import nine_tasks, score
from benchmarks.studies.split import take

import psdvec
from psdvec.counts.matrix import KIND, load_counts, map_counts
from psdvec.evaluation.tasks import Task
from psdvec.storage.artefact import open_artefact

STEPS = ("count", "core", "extend", "together")
SEED = 0


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("corpus", nargs="+")
    parser.add_argument("--tokenizer", choices=TOKENIZERS, default="paper")
    parser.add_argument("--work", type=Path, required=True, help="folder for text, counts and models")
    parser.add_argument(
        "--words-of-text", type=float, help="size of a text to generate; default: read CORPUS"
    )
    parser.add_argument("--words", type=int, nargs="+", default=[25_000, 80_000, 130_000, 180_000])
    parser.add_argument("--dim", type=int, default=500)
    parser.add_argument("--recipe", choices=("paper", "original"), default="paper")
    parser.add_argument("--memory", help="of each command but extend; default: what is free")
    parser.add_argument("--steps", nargs="+", choices=(*STEPS, "train"), default=STEPS)
    parser.add_argument("--kill", nargs="+", type=kill, default=[], metavar="STEP=SECONDS")
    parser.add_argument(
        "--again", action="store_true", help="do each step twice, the second time with a kill"
    )
    parser.add_argument(
        "--so-far", action="store_true", help="publish the steps that are done, and do no more"
    )
    parser.add_argument("--testsets", help="folder of test sets, for real text")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    tasks = nine_tasks(options.testsets) if options.testsets else []
    steps = []
    for step in filter(None, Run(options, Records(options.work / "steps.jsonl")).steps()):
        print(f"{step['step']}: {step['wall']:.0f} s", file=sys.stderr, flush=True)
        is_model = step["step"] not in ("generate", "count")
        scored = scores(options.work / step["output"], tasks, options.words[0]) if tasks and is_model else {}
        steps.append({**step, **scored})
    figures = {"recipe": options.recipe, "dim": options.dim, "limit": options.memory, "steps": steps}
    publish(figures, table, *([again] if options.again else []), record=options.record)


def kill(text: str) -> tuple[str, float]:
    """Read which step to kill, and after how many seconds."""
    step, _, seconds = text.partition("=")
    return step, float(seconds)


@dataclass(frozen=True)
class Run:
    """The steps of a run; those that are in ``done`` are taken from there."""

    options: argparse.Namespace
    done: Records

    def steps(self) -> Iterator[dict[str, Any] | None]:
        """Do all steps in order, and yield what each took."""
        options, corpora = self.options, self.options.corpus
        if options.words_of_text:
            text, size = "text.txt", int(options.words_of_text)
            command = [sys.executable, "-m", "benchmarks.lib.generate", *corpora, "--words", str(size)]
            yield self.once("generate", [*command, "--seed", str(SEED)], text, words=size)
            corpora = [options.work / text]
        limit = ["--memory", options.memory] if options.memory else []
        words, dim = str(options.words[-1]), ["--dim", str(options.dim), *limit]
        counting = f"--tokenizer {options.tokenizer} --window 3 --weighting flat --max-words {words}".split()
        core = str(options.words[0])
        counts, first = options.work / "counts", f"model-{core}"
        if "count" in options.steps:
            yield self.step("count", "count", [*PSDVEC, "count", *corpora, *counting, *limit], "counts")
        if "core" in options.steps:
            command = [*PSDVEC, "fit", counts, "--recipe", options.recipe, *dim, "--max-words", core]
            yield self.step("core", "fit, core", command, first, words=options.words[0])
        if "extend" in options.steps:
            yield from self.bands(first)
        if "together" in options.steps:
            command = [*PSDVEC, "fit", counts, *dim]
            yield self.step("together", "fit, all together", command, "together", words=options.words[-1])
        if "train" in options.steps:
            fitting = ["--recipe", options.recipe, *dim, "--core", core]
            command = [*PSDVEC, "train", *corpora, *counting, *fitting]
            yield self.step("train", "train", command, "trained", words=options.words[-1])

    def bands(self, model: str) -> Iterator[dict[str, Any] | None]:
        """Extend a model band by band, each with twice the ridge of the one before."""
        counts, listed = self.options.work / "counts", self.options.work / "words.txt"
        words = load_counts(counts).vocabulary.words
        for place, last in enumerate(self.options.words[1:], 1):
            before, ridge = self.options.words[place - 1], str(2**place)
            listed.write_text("\n".join(words[before:last]))
            command = [
                *PSDVEC,
                "extend",
                self.options.work / model,
                counts,
                "--words",
                listed,
                "--ridge",
                ridge,
            ]
            command, model = [*command, "--min-contexts", "1"], f"model-{last}"
            name = "extend" if place == 1 else ""
            yield self.step(name, f"extend, ridge {ridge}", command, model, words=last - before)

    def step(
        self, kind: str, name: str, command: Sequence[str | Path], output: str, **about: Any
    ) -> dict[str, Any] | None:
        """Do a step of psdvec, killed once if that is asked for, and, if that is, once more beside the first time."""
        whole = [*command, "--overwrite"]
        found = self.once(name, whole, output, kill_after=dict(self.options.kill).get(kind), **about)
        if self.options.again and found is not None:
            half = round(found["wall"] / 2, 2)
            found = {**found, "again": self.once(name, whole, f"{output}-again", kill_after=half, **about)}
        return found

    def once(
        self,
        name: str,
        command: Sequence[str | Path],
        output: str,
        kill_after: float | None = None,
        **about: Any,
    ) -> dict[str, Any]:
        """Run a command that writes ``output``, and once before to be killed; keep what both took, and the digest."""
        path = self.options.work / output
        whole = [*command, "-o", path]
        key = {"step": name, "command": " ".join(map(str, whole)), "kill_after": kill_after}
        found = self.done.find(key)
        if found is None and not self.options.so_far:
            with disk_watched(self.options.work) as disk:
                attempts = [] if kill_after is None else [stopped_after(kill_after, whole)]
                attempts += [run(whole)] if not attempts or not path.exists() else []
            cost = sum(attempts[1:], attempts[0])
            found = {"step": name, "output": output, **about, **asdict(cost), "disk": disk.peak}
            found["attempts"] = [asdict(attempt) for attempt in attempts]
            found |= described(path)
            self.done.add(key, found)
        return found


def described(path: Path) -> dict[str, Any]:
    """Return the digest of a folder of psdvec, and how many words and pairs there are; of a text, its size."""
    if path.is_file():
        return {"bytes": path.stat().st_size}
    artefact = open_artefact(path)
    if artefact.kind != KIND:
        return {"digest": artefact.digest}
    counts = map_counts(path)
    return {
        "digest": artefact.digest,
        "words": len(counts),
        "pairs": counts.indices.size,
        "tokens": counts.tally.tokens,
    }


def scores(path: Path, tasks: list[Task], core: int) -> dict[str, float]:
    """Return the mean scores of a model, over all that it covers and over what its core words cover."""
    model = psdvec.load(path)
    known = set(model.words[:core])
    parts = {"nine": tasks, "nine_of_core": [covered(task, known) for task in tasks]}
    return {name: score(model, chosen)["mean"] for name, chosen in parts.items()}


def table(record: dict[str, Any]) -> str:
    """Write what each step took, and the scores of what there is after it, if it has any."""
    steps = record["steps"]
    scored = [name for name in ("nine", "nine_of_core") if any(name in step for step in steps)]
    rows = [
        [
            step["step"], f"{step['words']:,}", *cells(step), f"{step['disk'] / 1e9:.1f}",
            *(f"{step[name]:.1f}" if name in step else "" for name in scored),
        ]
        for step in steps
    ]  # fmt: skip
    titles = {"nine": "mean of nine", "nine_of_core": "of what the core covers"}
    first = f"recipe {record['recipe']}, {record['dim']} dimensions"
    return markdown([first, "words", *COST, "GB of disk", *(titles[name] for name in scored)], rows)


def again(record: dict[str, Any]) -> str:
    """Write what a kill halfway through each step lost, in processor seconds, and whether the digest is the same."""
    rows = []
    for step in record["steps"]:
        if len(step.get("again", {}).get("attempts", [])) != 2:  # it ended before it was killed
            continue
        killed, resumed = (attempt["processor"] for attempt in step["again"]["attempts"])
        alike = "yes" if step["digest"] == step["again"]["digest"] else "no"
        lost = killed + resumed - step["processor"]
        rows.append(
            [step["step"], *(f"{cost:.1f}" for cost in (step["processor"], killed, resumed, lost)), alike]
        )
    titles = [
        "processor seconds",
        "not killed",
        "until it was killed",
        "from there on",
        "lost",
        "same digest",
    ]
    return markdown(titles, rows)


def covered(task: Task, known: set[str]) -> Task:
    """Return the questions of a task whose words are all ``known``; analogies are still answered among all words."""
    places = [place for place, item in enumerate(task.items) if {word.lower() for word in item} <= known]
    return take(task, places)


if __name__ == "__main__":
    run_script(main)
