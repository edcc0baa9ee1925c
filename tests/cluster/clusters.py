"""Clusters for tests: separate processes that are started, slowed down and killed; a busy machine gets time."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.conftest import REPOSITORY

PATIENCE = 120  # seconds until a cluster on a busy machine is given up
LOST = "distributed.deploy.lost-worker-timeout"  # after which Dask gives up a worker that is gone: 15 seconds


@contextmanager
def started(workers, **options):
    """A cluster of worker processes; a job that takes down more than there are at first is given up.

    So a test may have each of them die once: whichever jobs they take along are done by the ones that replace them.
    """
    import dask
    import distributed

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": workers, LOST: f"{PATIENCE}s"}),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            **options,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@contextmanager
def scheduler_and_worker(folder):
    """A scheduler and a worker as processes of their own; yields the scheduler and its address."""
    with scheduler_and_workers(folder, workers=1) as ((scheduler, _), address):
        yield scheduler, address


@contextmanager
def scheduler_and_workers(folder, *, workers):
    """A scheduler and workers that nobody starts again, as processes of their own; yields all and the address."""
    file = folder / "scheduler.json"
    commands = [
        ["scheduler", "--port", "0", "--no-dashboard"],
        *[["worker", "--nthreads", "1", "--no-nanny", "--no-dashboard"]] * workers,
    ]
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "dask", *command, "--scheduler-file", file],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=REPOSITORY,
        )
        for command in commands
    ]  # fmt: skip
    try:
        patience = time.monotonic() + PATIENCE
        address = None
        while address is None and time.monotonic() < patience:
            time.sleep(0.1)
            with suppress(OSError, ValueError):
                address = json.loads(file.read_text())["address"]
        yield processes, address
    finally:
        for process in processes:
            process.kill()
            process.wait()


def die_at(module, function, marker, alone=False):
    """In a worker: leave a mark and die by SIGKILL the next time that ``function`` has begun its work.

    Where it dies ``alone``, a worker that finds the mark of another goes on.
    """
    home = importlib.import_module(module)
    original = getattr(home, function)

    def dying(*arguments, **named):
        result = original(*arguments, **named)
        try:
            Path(marker).touch(exist_ok=not alone)
        except FileExistsError:
            return result
        if function == "count_text":
            result = next(result)
        os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(home, function, dying)


def some_worker(client):
    """Return the address of one of two workers, when both are there."""
    client.wait_for_workers(2, timeout=PATIENCE)
    return min(client.run(os.getpid))


def stop_after(blocks):
    """In a worker: number this many blocks, then wait to be killed."""
    from psdvec.counts import segments as numbering

    original, left = numbering.number_corpus, iter(range(blocks))

    def number(*arguments, **named):
        if next(left, None) is None:
            time.sleep(PATIENCE)
        return original(*arguments, **named)

    numbering.number_corpus = number
