"""Whole commands by one thread and by more: time, processor time, memory, and whether the bytes are the same.

    python -m benchmarks.bench.bench_cores CORPUS --workers 1 2 4 8 16 [--repeats 2] [--words 50000] [--dim 300]
    [--times 1 4] [--clusters 4 16] [--device cuda] [--only count fit cluster device] [--profile 16] [--work FOLDER]
    [--record FILE]

CORPUS is raw text, plain or compressed; it is unpacked beforehand, and also counted ``--times`` over. Every command is
a process of its own. The runs alternate and the quickest of each counts; each is shown as soon as it is done and, with
``--work``, is not repeated by the same command. ``--clusters`` counts and fits on so many worker processes
(``--cluster local:N``), ``--device`` on a graphics card, whose models differ by rounding. ``--profile`` runs the
commands of so many workers once more and shows where processors were idle; see ``benchmarks/lib/stacks.py``.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.lib.corpora import add_corpus_arguments
from benchmarks.lib.measure import COST, PSDVEC, cells, markdown, quickest, run, run_script
from benchmarks.lib.records import Records, make_parser, publish
from benchmarks.lib.stacks import lost

from psdvec.errors import PSDVecError
from psdvec.storage.artefact import open_artefact
from psdvec.text.corpus import read_corpus

PARTS = ("count", "fit", "cluster", "device")
SHOWN = 0.1  # seconds lost, from which a place of a profile is shown


def main() -> None:
    parser = make_parser(__doc__)
    add_corpus_arguments(parser)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--window", type=int, default=20)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument(
        "--times", type=int, nargs="+", default=[1, 4], help="how often the text is counted over"
    )
    parser.add_argument("--clusters", type=int, nargs="*", default=[], help="worker processes")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--device", help="count and fit on this device, too")
    parser.add_argument("--profile", type=int, nargs="*", default=[], help="workers")
    parser.add_argument("--work", type=Path, help="folder for the text, counts and finished runs")
    options = parser.parse_args()
    with folder_for(options.work) as work:
        commands = Commands(options, work)
        commands.warm_up()
        runs = measured(commands, options, Records(work / "cores.jsonl"))
        figures = {
            "words": options.words, "window": options.window, "dim": options.dim,
            "bytes": commands.text(1).stat().st_size, **runs,
        }  # fmt: skip
        tables = [table for name, table in TABLES.items() if figures[name]]
        publish(figures, *tables, record=options.record)
    demand_same_bytes(figures)


@contextmanager
def folder_for(work: Path | None) -> Iterator[Path]:
    """Yield the folder of the work, or one that is gone afterwards."""
    if work is None:
        with tempfile.TemporaryDirectory(prefix="bench-cores-") as temporary:
            yield Path(temporary)
    else:
        work.mkdir(parents=True, exist_ok=True)
        yield work


class Commands:
    """The commands that are measured, and the files they read and write."""

    def __init__(self, options: Any, work: Path) -> None:
        self.options, self.work = options, work
        self.output, self.counts = work / "output", work / "counts"

    def text(self, times: int) -> Path:
        """Return the file that holds the text so often; it is written where it is missing."""
        path = self.work / f"text-{times}"
        if not path.exists():
            unfinished = path.with_suffix(".part")
            with unfinished.open("wb") as file:
                for _ in range(times):
                    for block in read_corpus(self.options.corpus).blocks():
                        file.write(block.data)
            unfinished.rename(path)
        return path

    def count(self, times: int, *more: str) -> list[str]:
        """Return the command that counts the text so many times over."""
        o = self.options
        asked = ["--tokenizer", o.tokenizer, "--max-words", o.words, "--window", o.window, *more]
        return self._command("count", self.text(times), *asked)

    def fit(self, *more: str) -> list[str]:
        """Return the command that fits the counts, which are made where they are missing."""
        if not self.counts.exists():
            self.run(self.count(1))
            self.output.rename(self.counts)
        return self._command("fit", self.counts, "--dim", self.options.dim, *more)

    def _command(self, verb: str, source: Path, *more: Any) -> list[str]:
        return [str(part) for part in (verb, source, "-o", self.output, "--quiet", *more)]

    def run(self, command: Sequence[str], *, program: Sequence[str] = PSDVEC) -> dict[str, Any]:
        """Run a command and return what it cost, and the digest of what it wrote."""
        shutil.rmtree(self.output, ignore_errors=True)
        cost = run([*program, *command])
        return {**asdict(cost), "digest": open_artefact(self.output).digest}

    def profile(self, command: Sequence[str]) -> dict[str, Any]:
        """Run a command and return where its main thread was, beside what it cost."""
        file = self.work / "stacks.json"
        found = self.run(command, program=[sys.executable, "-m", "benchmarks.lib.stacks", str(file)])
        return {**found, "places": json.loads(file.read_text(encoding="utf-8"))}

    def warm_up(self) -> None:
        """Compile the kernels, which happens once after installation."""
        tiny, counts = self.work / "tiny", self.work / "tiny-counts"
        tiny.write_text("one two three four five\nfour two six seven one\n" * 99)
        shutil.rmtree(counts, ignore_errors=True)
        self.run(self._command("count", tiny, "--tokenizer", self.options.tokenizer))
        self.output.rename(counts)
        self.run(self._command("fit", counts, "--dim", "2"))


def measured(commands: Commands, options: Any, kept: Records) -> dict[str, Any]:
    """Return all runs: of counting, of fitting, and of both on clusters; with profiles, if they are asked for."""
    found: dict[str, list[dict[str, Any]]] = {
        "count": [],
        "fit": [],
        "cluster": [],
        "device": [],
        "profile": [],
    }
    asked = {
        "words": options.words,
        "window": options.window,
        "dim": options.dim,
        "corpus": str(options.corpus),
    }

    def add(part: str, what: dict[str, Any], command: list[str], *, repeat: int | str) -> None:
        key = {**asked, "part": part, **what, "repeat": repeat}
        result = kept.find(key)
        if result is None:
            result = commands.profile(command) if part == "profile" else commands.run(command)
            kept.add(key, result)
        found[part].append({**what, **result})
        print(
            *(f"{name} {value}" for name, value in what.items()),
            *cells(result),
            result["digest"][:8],
            flush=True,
        )

    for repeat in range(options.repeats):
        for workers in options.workers:
            threads = ("--workers", str(workers))
            if "count" in options.only:
                for times in options.times:
                    add(
                        "count",
                        {"times": times, "workers": workers},
                        commands.count(times, *threads),
                        repeat=repeat,
                    )
            if "fit" in options.only:
                add("fit", {"workers": workers}, commands.fit(*threads), repeat=repeat)
        if "cluster" in options.only:
            for workers in options.clusters:
                cluster = ("--cluster", f"local:{workers}")
                for verb, command in (
                    ("count", commands.count(1, *cluster)),
                    ("fit", commands.fit(*cluster)),
                ):
                    add("cluster", {"command": verb, "workers": workers}, command, repeat=repeat)
        if options.device and "device" in options.only:
            on_device = ("--device", options.device)
            for verb, command in (
                ("count", commands.count(1, *on_device)),
                ("fit", commands.fit(*on_device)),
            ):
                add("device", {"command": verb, "device": options.device}, command, repeat=repeat)
    for workers in options.profile:
        threads = ("--workers", str(workers))
        for verb, command in (("count", commands.count(1, *threads)), ("fit", commands.fit(*threads))):
            if verb in options.only:
                add("profile", {"command": verb, "workers": workers}, command, repeat="profile")
    return found


def table_count(record: dict[str, Any]) -> str:
    """Write what counting took, by threads and by how often the text was read over."""
    return "\n\n".join(
        _by_workers(f"count, {record['bytes'] * times / 1e6:,.0f} MB of text", record["count"], times=times)
        for times in sorted({each["times"] for each in record["count"]})
    )


def table_fit(record: dict[str, Any]) -> str:
    """Write what fitting took, by threads."""
    return _by_workers(f"fit, {record['words']:,} words × {record['dim']}", record["fit"])


def table_cluster(record: dict[str, Any]) -> str:
    """Write what counting and fitting took, by worker processes of a cluster; the first process's memory is shown."""
    return "\n\n".join(
        _by_workers(f"{command}, `--cluster local:N`", record["cluster"], command=command)
        for command in ("count", "fit")
    )


def table_device(record: dict[str, Any]) -> str:
    """Write what counting and fitting took on a device."""
    rows = []
    for command, device in sorted({(each["command"], each["device"]) for each in record["device"]}):
        runs = [each for each in record["device"] if each["command"] == command]
        rows.append([f"`{command} --device {device}`", *cells(quickest(runs))])
    return markdown([f"{record['words']:,} words × {record['dim']}", *COST], rows)


def table_before(record: dict[str, Any]) -> str:
    """Write what a tree took that had not all of this yet: counting at two numbers of threads, fitting at one."""
    rows = [
        [
            f"count, {record['bytes'] * each['times'] / 1e6:,.0f} MB of text",
            str(each["workers"]),
            *cells(each),
        ]
        for each in record["count"]
    ]
    rows += [["fit", str(each["workers"]), *cells(each)] for each in record["fit"]]
    return markdown(["", "workers", *COST], rows)


def table_profile(record: dict[str, Any]) -> str:
    """Write, for each command and number of threads, where most seconds went that idle processors would have saved."""
    tables = []
    for each in record["profile"]:
        rows = [
            [f"`{place}`", *(f"{number:.2f}" for number in numbers)]
            for place, *numbers in lost(each["places"], each["workers"])
            if numbers[-1] >= SHOWN
        ]
        title = f"{each['command']}, {each['workers']} threads: {each['wall']:.1f} s"
        tables.append(markdown([title, "seconds", "processor seconds", "lost"], rows))
    return "\n\n".join(tables)


TABLES = {
    "count": table_count,
    "fit": table_fit,
    "cluster": table_cluster,
    "device": table_device,
    "profile": table_profile,
}


def _by_workers(title: str, runs: Sequence[Mapping[str, Any]], **what: Any) -> str:
    chosen = [each for each in runs if all(each[name] == value for name, value in what.items())]
    bests = {n: quickest([each for each in chosen if each["workers"] == n]) for n in
             sorted({each["workers"] for each in chosen})}  # fmt: skip
    first = next(iter(bests.values()))["wall"]
    rows = [
        [str(n), *cells(cost), f"{first / cost['wall']:.1f}", f"`{cost['digest'][:8]}`"]
        for n, cost in bests.items()
    ]
    return markdown([f"{title}: workers", *COST, "times as fast", "digest"], rows)


def demand_same_bytes(record: Mapping[str, Any]) -> None:
    """Raise an error if commands that should write the same bytes did not."""
    groups: dict[str, set[str]] = {}
    for each in record["count"]:
        groups.setdefault(f"counts of the text {each['times']} times over", set()).add(each["digest"])
    for each in record["fit"]:
        groups.setdefault("models", set()).add(each["digest"])
    counted_on = [each for each in record["device"] if each["command"] == "count"]
    for each in (*record["cluster"], *record["profile"], *counted_on):
        name = "models" if each["command"] == "fit" else "counts of the text 1 times over"
        groups.setdefault(name, set()).add(each["digest"])
    for name, digests in groups.items():
        if len(digests) > 1:
            raise PSDVecError(f"the {name} differ: {', '.join(sorted(digests))}")


if __name__ == "__main__":
    run_script(main)
