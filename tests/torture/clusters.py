"""Commands on a Dask cluster: something goes wrong in the asking process, or a worker or the scheduler is killed.

The cluster consists of processes of its own, started by :class:`Cluster`; the asking process is forked, as in
:mod:`tests.torture.faults`. A kill comes at the n-th file-system event of the asking process, or of the worker. What is
lost with a worker costs nothing but time; what is lost with the scheduler is said in a sentence, and the same command
ends with the same bytes. ``python -m tests.torture.clusters`` tries every point, ``--sample N`` some; with
``--no-nanny``, there are two workers, and nobody starts the one again that is killed.
"""

from __future__ import annotations

import argparse
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from tests.conftest import REPOSITORY
from tests.torture import faults, injector
from tests.torture.faults import Known, Torture, fresh_folder, go_on, try_point, undisturbed
from tests.torture.stages import Stage

_Point = TypeVar("_Point")
PATIENCE = 600  # seconds until a cluster on a busy machine is given up
COMMANDS = {
    "count": "count {in}/text -o out --min-count 2 --window 3 --block-size 2K -q",
    "fit": "fit {in}/counts -o out --dim 4 --max-words 40 -q",
    "extend": "extend {in}/model {in}/more -o out -q",
}


def dask_setup(worker: object) -> None:
    """Prepare a worker that preloads this module: it says who it is, or what went wrong, and obeys orders to kill."""
    folder = Path(os.environ["TORTURED_CLUSTER"])
    try:
        injector.install()
        injector.obey(folder / "order")
    except Exception as error:  # Dask would go on without a word
        (folder / "worker").write_text(repr(error))
        raise
    (folder / "worker").write_text(str(os.getpid()))


@dataclass
class Cluster:
    """A scheduler at a fixed address and a worker that is started again if it dies, as processes of their own.

    Without a ``nanny``, nobody starts it again, and there is another worker.
    """

    folder: Path
    nanny: bool = True
    port: int = 0
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.start()

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start what does not run, and wait for the workers."""
        homes = [self.folder] if self.nanny else [self.folder, self.folder / "spare"]
        for home in homes:
            home.mkdir(exist_ok=True)
            (home / "worker").unlink(missing_ok=True)
        commands = {
            self.folder / "scheduler": ["scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"],
            **{
                home: ["worker", self.address, "--nthreads", "1", "--no-dashboard", "--local-directory", str(home),
                       "--preload", "tests.torture.clusters", *([] if self.nanny else ["--no-nanny"])]
                for home in homes
            },
        }  # fmt: skip
        self.processes = [
            subprocess.Popen(
                [sys.executable, "-m", "dask", *command],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=REPOSITORY,
                env={**os.environ, "TORTURED_CLUSTER": str(home)}, preexec_fn=injector.end_with_parent,
            )
            for home, command in commands.items()
        ]  # fmt: skip
        for home in homes:
            self.wait_for_worker(other_than=0, home=home)

    def stop(self) -> None:
        """Kill all processes."""
        for process in self.processes:
            process.kill()
            process.wait()

    def pid_of(self, who: str) -> int:
        """Return the number of the process of the scheduler or of the worker."""
        return self.processes[0].pid if who == "scheduler" else int((self.folder / "worker").read_text())

    def wait_for_worker(self, *, other_than: int, home: Path | None = None) -> None:
        """Wait until there is a worker that is not the one that was killed."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            path = (home or self.folder) / "worker"
            said = path.read_text() if path.exists() else ""
            if said and not said.isdigit():
                raise RuntimeError(f"a worker did not start: {said}")
            if said not in ("", str(other_than)):
                return
            time.sleep(0.05)
        raise RuntimeError("the cluster did not start")

    def mend(self, who: str, killed: int) -> None:
        """Bring back what was killed."""
        if who == "worker" and self.nanny:
            self.wait_for_worker(other_than=killed)
        else:
            self.stop()
            self.start()

    def order(self, victim: int, at: int) -> None:
        """Let the worker kill a process, 0 for itself, at its event number ``at``; with 0, it counts its events."""
        (self.folder / "order.seen").write_bytes(b"")
        (self.folder / "order").write_text(f"{victim} {at}")

    def withdraw(self) -> int:
        """Take the order back; return how many events the worker had meanwhile."""
        (self.folder / "order").unlink()
        events = (self.folder / "order.seen").stat().st_size
        (self.folder / "order.seen").unlink()
        return events


def try_loss(
    torture: Torture, cluster: Cluster, stage: Stage, known: Known, who: str, whose: str, at: int
) -> None:
    """Kill the scheduler or the worker at an event of the asking process or of the worker, and go on."""
    point = f"{stage.name}, the {who} killed at event {at} of the {whose}"
    folder, victim = fresh_folder(torture, None), cluster.pid_of(who)
    if whose == "worker":
        cluster.order(victim if who == "scheduler" else 0, at)
        outcome = torture.run(stage, folder)
        reached = cluster.withdraw() >= at
    else:
        outcome = torture.run(stage, folder, before=lambda: injector.arm(injector.LOSS, at, victim=victim))
        reached = injector.events() >= at
    if not reached:
        return
    torture.tried[f"{who} killed: {stage.name}"] += 1
    cluster.mend(who, victim)
    if not outcome.is_explained or (who == "worker" and outcome.code != 0):
        torture.fail(point, f"ended with {outcome.code} and said {outcome.said.strip()!r}", folder)
    else:
        go_on(torture, stage, known, None, point)


def jobs(
    torture: Torture, cluster: Cluster, stage: Stage, sample: int | None, draw: random.Random
) -> Iterator[Callable[[], object]]:
    """Yield all there is to try of a command, or a ``sample`` of each kind."""
    cluster.order(0, 0)
    known = undisturbed(torture, stage, None)
    events = {"asking process": known.events, "worker": cluster.withdraw()}
    some = partial(_some, sample, draw)
    for fault in injector.FAULTS:
        for _, at in some([point for point in known.points if point[0] == fault]):
            yield partial(try_point, torture, stage, known, None, fault, at)
    for who in ("worker", "scheduler"):
        for whose, number in events.items():
            for at in some(range(1, number + 1)):
                yield partial(try_loss, torture, cluster, stage, known, who, whose, at)


def _some(sample: int | None, draw: random.Random, points: Sequence[_Point]) -> Sequence[_Point]:
    return points if sample is None else draw.sample(points, min(sample, len(points)))


def run(seed: int, minutes: float, keep: Path) -> list[str]:
    """Try points until time is up; return the failures, whose folders are in ``keep``."""
    if find_spec("distributed") is None:
        print(
            "clusters were not tortured: distributed is not installed; run pip install 'psdvec[distributed]'"
        )
        return []
    return faults.run_alone("tests.torture.clusters", seed, minutes, keep)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--sample", type=int, help="points to try of each kind; default: all")
    parser.add_argument("--only", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    parser.add_argument("--keep", type=Path, help="folder for what failed")
    parser.add_argument("--no-nanny", action="store_true", help="two workers, killed for good")
    options = parser.parse_args()
    draw = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="psdvec-torture-", ignore_cleanup_errors=True) as folder:
        (Path(folder) / "cluster").mkdir()
        cluster = Cluster(Path(folder) / "cluster", nanny=not options.no_nanny)
        try:
            torture = faults.open_torture(Path(folder), options.keep)
            import distributed  # noqa: F401  # once, and not in every process that is forked

            stages = [
                Stage(
                    f"{name} on a cluster",
                    (*COMMANDS[name].split(), "--scheduler", cluster.address),
                    ("out",),
                )
                for name in options.only
            ]
            faults.do_all(
                [job for stage in stages for job in jobs(torture, cluster, stage, options.sample, draw)],
                draw,
                options.minutes,
            )
        finally:
            cluster.stop()
        faults.print_summary(torture)
    sys.exit(bool(torture.failures))


if __name__ == "__main__":
    main()
