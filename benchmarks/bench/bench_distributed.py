"""Counting, solving and fitting on a Dask cluster of this machine, against one process without Dask.

    python -m benchmarks.bench.bench_distributed CORPUS [--words 50000] [--window 10] [--new-words 4000] [--repeats 2]
    [--fits 2 4] [--dim 300] [--record FILE]

CORPUS is raw text, plain or compressed; it is unpacked beforehand, so that it can be cut. Each worker has one thread,
and so has the process without Dask; the cluster stands and its workers have loaded their code before the time is taken.
The runs alternate and the quickest of each counts. Processor seconds mean something on a loaded machine too. Beside
this stands how much two processes without Dask get in each other's way, which is what two workers can gain at best
here; the record also holds what each stage took and left on disk, which is what docs/scaling.md reckons with.

Fits are made by N threads and by N workers, for each N of ``--fits``, each in a new process whose memory is measured
beside that of the workers; their time begins before the cluster is started and ends when it is gone. Where CORPUS is a
folder of counts, there are only fits.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.lib.corpora import add_corpus_arguments
from benchmarks.lib.measure import markdown, run_script
from benchmarks.lib.records import make_parser, publish

from psdvec.cluster.client import open_client, run_jobs
from psdvec.counts.count import count_pairs
from psdvec.counts.matrix import load_counts
from psdvec.progress import LogProgress
from psdvec.solver.extend import extend as extend_model
from psdvec.solver.fit import fit
from psdvec.storage.artefact import open_artefact
from psdvec.system import peak_memory
from psdvec.text.corpus import read_corpus


def main() -> None:
    parser = make_parser(__doc__)
    add_corpus_arguments(parser)
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--window", type=int, default=10)
    parser.add_argument("--new-words", type=int, default=4_000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--block-size", default=None)
    parser.add_argument("--memory", default="3G")
    parser.add_argument("--fits", type=int, nargs="*", default=[2])
    parser.add_argument("--dim", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-distributed-") as temporary:
        folder = Path(temporary)
        if Path(options.corpus).is_dir():
            fitting = bench_fitting(options.corpus, folder, options)
            publish({"fitting": fitting}, table_fits, record=options.record)
            return
        text = unpack(options.corpus, folder / "text")
        with open_client(cluster="local:1") as one, open_client(cluster="local:2") as two:
            clients = {"without Dask": None, "Dask, 1 worker": one, "Dask, 2 workers": two}
            figures = {
                "bytes": text.stat().st_size,
                "counting": bench_counting(text, folder, clients, options),
                "neighbours": bench_neighbours(text, folder, options),
                "stages": bench_stages(text, folder, one, options),
                "new_words": options.new_words,
                "solving": bench_solving(folder, clients, options),
            }
        figures["fitting"] = bench_fitting(folder / "without Dask", folder, options)
    publish(figures, table, table_fits, record=options.record)


def table(record: dict[str, Any]) -> str:
    """Write what counting and solving took without Dask, with one worker and with two."""
    rows = []
    for work, title in (("counting", "count"), ("solving", f"place {record['new_words']:,} words")):
        for name, run in record[work]["runs"].items():
            processor = run["here"] + sum(run["workers"])
            rows.append([f"{title}, {name}", f"{run['wall']:.1f}", f"{processor:.1f}"])
    one, two = record["neighbours"]
    rows.append(["count, one process without Dask", f"{one:.1f}", ""])
    rows.append(["count, each of two such processes at the same time", f"{two:.1f}", ""])
    return markdown(["", "seconds", "processor seconds"], rows)


def table_fits(record: dict[str, Any]) -> str:
    """Write what fits took by threads and by workers of a cluster; the memory of the process that asks is its own."""
    fitting, rows = record["fitting"], []
    for n in sorted({run["workers"] for run in fitting["runs"]}):
        runs = [run for run in fitting["runs"] if run["workers"] == n]
        threads, cluster = (
            min((run for run in runs if run["cluster"] is on_cluster), key=lambda run: run["wall"])
            for on_cluster in (False, True)
        )
        for name, run in ((f"{n} threads", threads), (f"`--cluster local:{n}`", cluster)):
            peaks = [each["memory"] for each in run["parts"]]
            processor = run["processor"] + sum(each["processor"] for each in run["parts"])
            rows.append(
                [
                    name, f"{run['wall']:.1f}", f"{threads['wall'] / run['wall']:.2f}", f"{processor:.1f}",
                    f"{run['memory'] / 1e9:.2f}", f"{max(peaks) / 1e9:.2f}" if peaks else "",
                ]
            )  # fmt: skip
    titles = ["seconds", "speed", "processor seconds", "GB of who asks", "GB of a worker"]
    return markdown([f"fit, {fitting['words']:,} words × {fitting['dim']}", *titles], rows)


def unpack(corpus, path):
    with path.open("wb") as file:
        for block in read_corpus(corpus).blocks():
            file.write(block.data)
    return path


def count(source, output, client, options, **more):
    alone = {"workers": 1} if client is None else {"client": client, **more}
    count_pairs(
        read_corpus(source, tokenizer=options.tokenizer), max_words=options.words, window=options.window,
        memory=options.memory, output=output, overwrite=True, **alone,
    )  # fmt: skip


def bench_counting(text, folder, clients, options):
    tiny = folder / "tiny"
    tiny.write_text("a b c\n" * 9)

    def warm_up(client):
        count(tiny, folder / "warm", client, options, **({} if client is None else {"block_size": 20}))

    def work(name, client):
        count(text, folder / name, client, options, block_size=options.block_size)

    found = compare("", work, warm_up, folder, clients, options.repeats)
    counts = load_counts(folder / "without Dask")
    return {**found, "tokens": counts.tally.tokens, "words": len(counts), "cells": len(counts.values)}


def bench_neighbours(text, folder, options):
    """Return how long one process takes to count everything, and each of two at the same time."""
    seconds = []
    with get_context("spawn").Pool(2) as pool:
        pool.starmap(count, [(folder / "tiny", folder / f"warm {i}", None, options) for i in range(2)], 1)
        for many in (1, 2):
            jobs = [(text, folder / f"neighbour {i}", None, options) for i in range(many)]
            runs = [
                timed(lambda jobs=jobs: pool.starmap(count, jobs, 1), None) for _ in range(options.repeats)
            ]
            seconds.append(min(wall for wall, _, _ in runs))
    for i in range(2):
        shutil.rmtree(folder / f"neighbour {i}")
    return seconds


class Stages(LogProgress):
    """A progress that keeps how long each stage took and what is in the workspace after it."""

    def __init__(self, work, client):
        super().__init__()
        self.work, self.client, self.found = work, client, []

    @contextmanager
    def stage(self, label, *, total, unit):
        """See :meth:`psdvec.progress.Progress.stage`."""
        before = self.processor()
        with super().stage(label, total=total, unit=unit) as stage:
            yield stage
        here, there = (now - then for now, then in zip(self.processor(), before, strict=True))
        sizes = {
            path.name: sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
            for path in sorted(self.work.iterdir())
            if path.is_dir()
        }
        self.found.append(
            {"stage": label, "here": here, "worker": there, "total": total, "unit": unit, "bytes": sizes}
        )

    def processor(self):
        """Return the processor seconds of this process and of the workers so far."""
        return time.process_time(), sum(self.client.run(time.process_time).values())


def bench_stages(text, folder, client, options):
    """Return what each stage of counting takes on one worker, and a thousand jobs that do nothing."""
    stages = Stages(folder / "stages.work", client)
    count_pairs(
        read_corpus(text, tokenizer=options.tokenizer), max_words=options.words, window=options.window,
        memory=options.memory, output=folder / "stages", client=client, block_size=options.block_size,
        progress=stages,
    )  # fmt: skip
    shutil.rmtree(folder / "stages")
    jobs = [(number,) for number in range(1000)]
    wall, here, there = timed(lambda: list(run_jobs(client, abs, jobs, label="nothing")), client)
    idle = {
        "stage": "nothing",
        "here": here,
        "worker": there[0],
        "wall": wall,
        "total": len(jobs),
        "unit": "jobs",
    }
    return [*stages.found, idle]


def bench_solving(folder, clients, options):
    counts = folder / "without Dask"
    words = load_counts(counts).vocabulary.words
    core = min(len(words) // 2, 10_000)
    fit(counts, dim=100, max_words=core, changes={"rounds": 1}, output=folder / "model", overwrite=True)

    def extend(output, client, new):
        alone = {"workers": 1} if client is None else {"client": client}
        extend_model(folder / "model", counts, words=new, output=output, overwrite=True, **alone)

    def warm_up(client):
        extend(folder / "warm-model", client, words[core : core + 10])

    def work(name, client):
        extend(folder / f"{name} model", client, words[core : core + options.new_words])

    return compare(" model", work, warm_up, folder, clients, options.repeats)


def bench_fitting(counts, folder, options):
    """Return what fits took, by threads and by as many workers, and whether all wrote the same bytes."""
    runs, digests, output = [], set(), folder / "fit"
    ways = [(n, on_cluster) for n in options.fits for on_cluster in (False, True)]

    def run(workers, on_cluster, **fitting):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
            return fresh.submit(one_fit, counts, output, workers, on_cluster, **fitting).result()

    for way in ways[:2]:
        run(*way, dim=2, max_words=1000)  # compiles
    for n, on_cluster in ways * options.repeats:
        runs.append({"workers": n, "cluster": on_cluster, **run(n, on_cluster, dim=options.dim)})
        digests.add(open_artefact(output).digest)
    words = len(load_counts(counts))
    return {"words": words, "dim": options.dim, "runs": runs, "same_bytes": len(digests) == 1}


def one_fit(counts, output, workers, on_cluster, **fitting):
    """Fit in this process, which is new, and return what that took here and of each worker."""
    parts, began = [], time.perf_counter()
    with open_client(cluster=f"local:{workers}" if on_cluster else None) as client:
        threads = None if on_cluster else workers
        fit(counts, **fitting, output=output, overwrite=True, client=client, workers=threads, quiet=True)
        if client is not None:
            found = client.run(costs)
            parts = list(found.values())
    wall = time.perf_counter() - began
    return {"wall": wall, **costs(), "parts": parts}


def costs():
    return {"processor": time.process_time(), "memory": peak_memory()}


def compare(suffix, work, warm_up, folder, clients, repeats):
    """Return the quickest run of each, whether the results are the same bytes, and the peak memory of a worker."""
    found = {name: [] for name in clients}
    for client in clients.values():
        warm_up(client)
    for _ in range(repeats):
        for name, client in clients.items():
            found[name].append(timed(lambda name=name, client=client: work(name, client), client))
    best = {name: min(runs, key=lambda run: run[0]) for name, runs in found.items()}
    kept = [
        {path.name: path.read_bytes() for path in (folder / f"{name}{suffix}").iterdir()} for name in clients
    ]
    for name in list(clients)[1:]:
        shutil.rmtree(folder / f"{name}{suffix}")
    return {
        "runs": {
            name: dict(zip(("wall", "here", "workers"), run, strict=True)) for name, run in best.items()
        },
        "same_bytes": kept[0] == kept[1] == kept[2],
        "memory": max(
            max(client.run(peak_memory).values()) for client in clients.values() if client is not None
        ),
    }


def timed(work, client):
    """Return wall seconds, processor seconds of this process, and those of each worker."""
    before = {} if client is None else client.run(time.process_time)
    wall, driver = time.perf_counter(), time.process_time()
    work()
    wall, driver = time.perf_counter() - wall, time.process_time() - driver
    after = {} if client is None else client.run(time.process_time)
    return wall, driver, [after[worker] - before[worker] for worker in after]


if __name__ == "__main__":
    run_script(main)
