"""Something goes wrong at every file-system event of every stage; nothing that was whole is lost, and work goes on.

For every stage and every n, the command is run in a forked process in which the n-th event fails or kills, once with
no output before and once over an older one. Then what is on disk must be whole, old or new; the same command must end
with the bytes of an undisturbed run; and nothing may be left beside them. Two commands with one output run at once,
and input is changed while it is read. ``python -m tests.torture.faults`` tries every point, ``--sample N`` some.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import gc
import hashlib
import io
import json
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from psdvec import cli
from psdvec.storage.artefact import META, seal
from tests.torture import injector
from tests.torture.stages import STAGES, Stage, contents, count_in_chunks, make_inputs, prepare

PATIENCE = 600  # seconds until a command counts as hanging
RANDOM = re.compile(r"(?<=-[0-9a-f]{8})[0-9a-f]{8}(?=/|$)")  # in the name of what a killed writer left
HARMS = ("grows", "shrinks", "vanishes", "is replaced")


@dataclass(frozen=True)
class Outcome:
    """How a command ended: its exit code, negative for a signal, and what it wrote to standard error."""

    code: int
    said: str

    @property
    def is_explained(self) -> bool:
        """Whether it ended well, or with one sentence, or was interrupted."""
        return self.code in (0, 1, 130) and "Traceback" not in self.said


@dataclass
class Torture:
    """The inputs, where points are tried, and what came out."""

    inputs: Path
    folder: Path
    keep: Path | None = None
    tried: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def run(
        self, stage: Stage, folder: Path, *more: str, before: Callable[[], None] = lambda: None
    ) -> Outcome:
        """Run the command of ``stage`` in ``folder``, in a process of its own, and wait for its end."""
        return wait_for(self.start(stage, folder, *more, before=before))

    def start(
        self, stage: Stage, folder: Path, *more: str, before: Callable[[], None] = lambda: None
    ) -> tuple[int, Path]:
        """Start the command of ``stage``; return its process and the file with what it says."""

        def chunked() -> None:
            count_in_chunks(stage.chunk)
            before()

        return start([*stage.argv(self.inputs), *more], folder, before=chunked)

    def fail(self, point: str, why: str, folder: Path) -> None:
        """Remember a failure, and keep its folder where that is wanted."""
        self.failures.append(f"{point}: {why}")
        print(f"FAILED {point}: {why}", file=sys.stderr, flush=True)
        if self.keep is not None:
            shutil.copytree(folder, self.keep / f"{os.getpid()}-{len(self.failures):04d}", symlinks=True)


def start(argv: list[str], folder: Path, *, before: Callable[[], None] = lambda: None) -> tuple[int, Path]:
    """Fork a process that runs a command of the program in ``folder``, after ``before()``."""
    descriptor, name = tempfile.mkstemp(prefix="said-")
    child = os.fork()
    if child:
        os.close(descriptor)
        return child, Path(name)
    code = 70
    try:
        injector.end_with_parent()
        os.chdir(folder)
        os.dup2(descriptor, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        faulthandler.enable()
        sys.argv = ["psdvec", *argv]
        before()
        cli.main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    except MemoryError:
        code = 1  # the command line says so in a sentence
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    os._exit(code)


def wait_for(started: tuple[int, Path]) -> Outcome:
    """Wait for a process that :func:`start` made; one that takes too long is killed, with exit code 71."""
    child, said = started
    process = os.pidfd_open(child)
    has_ended = bool(select.select([process], [], [], PATIENCE)[0])
    os.close(process)
    if not has_ended:
        os.kill(child, signal.SIGABRT)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    text = said.read_text(errors="replace")
    said.unlink()
    return Outcome(code if has_ended else 71, text)


def run_inside(argv: list[str], folder: Path) -> int:
    """Run a command in a process forked from the one that a stage runs in: a step of a comparison."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            os.chdir(folder)
            sys.argv = ["psdvec", *argv]
            cli.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@dataclass(frozen=True)
class Known:
    """What a stage does when nothing goes wrong: how many events there are, what can go wrong, and what it leaves.

    ``starts`` are the states of the folder from which the command was seen to end with these files.
    """

    events: int
    points: list[tuple[str, int]]
    files: dict[str, bytes]
    starts: set[str]


def undisturbed(torture: Torture, stage: Stage, old: Path | None) -> Known:
    """Run ``stage`` with nothing there before, or over the older output in ``old``."""
    folder = fresh_folder(torture, old)
    start = state_of(folder)
    more = () if old is None else stage.overwrite or ()
    outcome = torture.run(stage, folder, *more, before=lambda: injector.arm(None))
    if outcome.code != 0:
        raise RuntimeError(f"{stage.name} fails by itself: {outcome}")
    events = range(1, injector.events() + 1)
    every = [(fault, at) for fault in injector.FAULTS for at in events if injector.can_happen(fault, at)]
    return Known(len(events), every, contents(folder), {start})


def state_of(folder: Path) -> str:
    """Return a digest of all that the next command finds: names, without what is random in them, and bytes.

    Commands are deterministic, so that from one state they need to go on once. The times of files matter only where
    unfinished work lies beside an output, and whether that is the old one or the new one, its bytes say.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*"), key=lambda path: RANDOM.sub("", str(path))):
        data = path.read_bytes() if path.is_file() else b""
        digest.update(
            f"{RANDOM.sub('', str(path.relative_to(folder)))}\0{path.is_dir()}\0{len(data)}\0".encode()
        )
        digest.update(data)
    return digest.hexdigest()


def fresh_folder(torture: Torture, old: Path | None) -> Path:
    """Return an empty folder, or one with the older output in ``old``."""
    folder = torture.folder / "point"
    shutil.rmtree(folder, ignore_errors=True)
    if old is None:
        folder.mkdir()
    else:
        shutil.copytree(old, folder)
    return folder


def make_old(torture: Torture, stage: Stage) -> Path:
    """Make an output of ``stage`` that is older, and differs: in the description of a folder, or all of a file."""
    folder = torture.folder / f"old {stage.name}"
    folder.mkdir()
    torture.run(stage, folder)
    for output in stage.outputs:
        path = folder / output
        if (path / META).exists():
            meta = json.loads((path / META).read_bytes())
            (path / META).write_text(json.dumps(seal({**meta, "made_by": "an older psdvec"})))
        else:
            (path / "config.json" if path.is_dir() else path).write_bytes(b"old")
    return folder


def try_point(torture: Torture, stage: Stage, known: Known, old: Path | None, fault: str, at: int) -> None:
    """Let ``fault`` happen at event ``at``, look at what is left, and go on."""
    point = f"{stage.name}{' over an older output' if old else ''}, {fault} at event {at} of {known.events}"
    folder = fresh_folder(torture, old)
    more = () if old is None else stage.overwrite or ()
    outcome = torture.run(stage, folder, *more, before=lambda: injector.arm(fault, at))
    if injector.events() < at:  # how a buffer is emptied, or a folder listed, may differ by an event
        return
    torture.tried[stage.name] += 1
    is_killed = outcome.code == -signal.SIGKILL
    # The kill was that of a command it had started.
    in_a_step = stage.name == "compare" and outcome.is_explained
    if not (is_killed or in_a_step if fault == injector.KILL else outcome.is_explained):
        torture.fail(point, f"ended with {outcome.code} and said {outcome.said.strip()!r}", folder)
        return
    if fault == "ENOSPC" and outcome.code == 1 and "disk is full" not in outcome.said and not in_a_step:
        torture.fail(point, f"a full disk was called {outcome.said.strip()!r}", folder)
        return
    if (
        outcome.code == 0
        and not in_a_step
        and parts_of(stage, contents(folder)) != parts_of(stage, known.files)
    ):
        torture.fail(point, "ended well, but the output is not there", folder)
        return
    go_on(torture, stage, known, old, point)


def go_on(torture: Torture, stage: Stage, known: Known, old: Path | None, point: str) -> None:
    """Look at what a fault has left in the folder of points, and give the same command again."""
    folder, more = torture.folder / "point", () if old is None else stage.overwrite or ()
    before = {} if old is None else contents(old)
    for problem in not_whole(stage, contents(folder), known.files, before):
        torture.fail(point, problem, folder)
        return
    state = state_of(folder)
    if state in known.starts:
        return
    again = torture.run(stage, folder, *more, *stage.resume)
    if again.code == 1 and old is None and "exists already" in again.said:  # it was finished before the fault
        again = torture.run(stage, folder, *(stage.overwrite or ()))
    if again.code != 0:
        torture.fail(
            point, f"the same command then ended with {again.code} and said {again.said.strip()!r}", folder
        )
        return
    found = contents(folder)
    if found != known.files:
        torture.fail(point, describe_difference(found, known.files), folder)
        return
    known.starts.add(state)


def parts_of(stage: Stage, files: dict[str, bytes]) -> dict[str, dict[str, bytes]]:
    """Return the files of each thing that must be whole: an output, or what a comparison makes in its own."""
    parts: dict[str, dict[str, bytes]] = {}
    for name, data in files.items():
        steps = name.split("/")
        if steps[0] not in stage.outputs or any(
            step.startswith(".") or step.endswith(".work") for step in steps
        ):
            continue
        if stage.name != "compare":
            parts.setdefault(steps[0], {})[name] = data
        elif steps[1] in ("counts", "models") and steps[2]:  # a report says what failed, and is made again
            parts.setdefault("/".join(steps[:3]), {})[name] = data
    return parts


def not_whole(
    stage: Stage, found: dict[str, bytes], new: dict[str, bytes], old: dict[str, bytes]
) -> Iterator[str]:
    """Yield what is wrong with what is on disk: a part is neither old nor new, or it was there and is gone."""
    is_now, was, will_be = (parts_of(stage, files) for files in (found, old, new))
    for name, files in is_now.items():
        if files not in (was.get(name), will_be.get(name)):
            yield f"'{name}' is neither the old one nor the new one"
    for name in was:
        if name not in is_now:
            yield f"'{name}' was there and is gone"


def describe_difference(found: dict[str, bytes], expected: dict[str, bytes]) -> str:
    """Return in words how what is there differs from what should be."""
    extra, missing = sorted(set(found) - set(expected)), sorted(set(expected) - set(found))
    other = [name for name in found if name in expected and found[name] != expected[name]]
    return f"left over {extra}, missing {missing}, other bytes in {other}"


def try_two(torture: Torture, stage: Stage, known: Known, pause: float) -> None:
    """Run a stage twice at once with one output, the second a little later."""
    point = f"{stage.name}, two at once, {pause:.3f} s apart"
    torture.tried[f"two at once: {stage.name}"] += 1
    folder = fresh_folder(torture, None)
    one = torture.start(stage, folder)
    time.sleep(pause)
    two = torture.start(stage, folder)
    outcomes = [wait_for(one), wait_for(two)]
    if not all(outcome.is_explained for outcome in outcomes) or all(outcome.code for outcome in outcomes):
        torture.fail(point, f"ended with {outcomes}", folder)
    elif contents(folder) != known.files:
        torture.fail(point, describe_difference(contents(folder), known.files), folder)


def try_inputs(torture: Torture, stage: Stage, known: Known, harm: str, *, most: int) -> None:
    """Change the input of a stage at each of its reads, or at the first ``most``."""
    for at in range(1, most + 1):
        if not try_input(torture, stage, known, harm, at):
            return


def try_input(torture: Torture, stage: Stage, known: Known, harm: str, at: int) -> bool:
    """Change the input of a stage at its read number ``at``; return whether there was such a read."""
    own = torture.folder / "harmed-inputs"
    shutil.rmtree(own, ignore_errors=True)
    shutil.copytree(torture.inputs, own)
    path = own / ("dump.xml.bz2" if stage.name == "extract" else "text")
    marker = torture.folder / "harmed"
    marker.unlink(missing_ok=True)
    whole = path.read_bytes()

    def change(file: Path) -> None:
        marker.touch()
        if harm == "grows":
            with file.open("ab") as more:
                more.write(whole)
        elif harm == "shrinks":
            os.truncate(file, len(whole) // 3)
        elif harm == "vanishes":
            file.unlink()
        else:
            file.with_name("other").write_bytes(whole[::-1])
            file.with_name("other").replace(file)

    folder = fresh_folder(torture, None)
    mine = Torture(own, torture.folder)
    outcome = mine.run(stage, folder, before=lambda: injector.watch_reading(path, change, at=at))
    if not marker.exists():
        return False
    point = f"{stage.name}, its input {harm} at read {at}"
    torture.tried[f"input {harm}: {stage.name}"] += 1
    if not outcome.is_explained:
        torture.fail(point, f"ended with {outcome.code} and said {outcome.said.strip()!r}", folder)
        return True
    path.write_bytes(whole)
    again = mine.run(stage, folder, *(stage.overwrite or ()))
    if again.code != 0 or contents(folder) != known.files:
        problem = f"ended with {again.code} and said {again.said.strip()!r}; "
        torture.fail(point, problem + describe_difference(contents(folder), known.files), folder)
    return True


def jobs(
    torture: Torture, stage: Stage, faults: tuple[str, ...], sample: int | None, draw: random.Random
) -> Iterator[Callable[[], object]]:
    """Yield all there is to try of a stage: ``faults`` at every event, or at a ``sample`` of them, and the rest."""
    fresh = undisturbed(torture, stage, None)
    for old in (None, make_old(torture, stage)) if stage.overwrite is not None else (None,):
        known = fresh if old is None else undisturbed(torture, stage, old)
        every = [(fault, at) for fault, at in known.points if fault in faults]
        for fault, at in every if sample is None else draw.sample(every, min(sample, len(every))):
            yield partial(try_point, torture, stage, known, old, fault, at)
    for _ in range(10 if sample is None else 1):
        yield partial(try_two, torture, stage, fresh, draw.uniform(0, 0.3))
    if stage.name == "extract" or stage.name.startswith(("count", "train")):
        for harm in HARMS:
            yield partial(try_inputs, torture, stage, fresh, harm, most=200 if sample is None else 1)


def torture_all(
    torture: Torture,
    *,
    seed: int,
    sample: int | None,
    minutes: float,
    only: tuple[str, ...] = ("",),
    faults: tuple[str, ...] = injector.FAULTS,
) -> None:
    """Try all stages, in an order that depends on ``seed``, until time is up."""
    draw = random.Random(seed)
    stages = [stage for stage in STAGES if any(part in stage.name for part in only)]
    do_all([job for stage in stages for job in jobs(torture, stage, faults, sample, draw)], draw, minutes)


def do_all(all_jobs: list[Callable[[], object]], draw: random.Random, minutes: float) -> None:
    """Do all jobs in a random order until time is up."""
    end = time.monotonic() + 60 * minutes
    for number, job in enumerate(draw.sample(all_jobs, len(all_jobs))):
        if time.monotonic() > end:
            print(f"time was up; of {len(all_jobs):,} jobs, {len(all_jobs) - number:,} were not tried")
            return
        job()


def open_torture(folder: Path, keep: Path | None = None) -> Torture:
    """Make the inputs below ``folder`` and put the hooks in place."""
    make_inputs(folder / "inputs")
    prepare(run_inside)
    torture = Torture(folder / "inputs", folder, keep)
    for stage in STAGES:
        load_all(torture, stage)
    gc.freeze()  # so that forked processes share what is loaded
    injector.install()
    return torture


def load_all(torture: Torture, stage: Stage) -> None:
    """Run a stage in this process, so that those forked from it find all modules loaded and all kernels compiled."""
    folder, argv = fresh_folder(torture, None), sys.argv
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        sys.argv = ["psdvec", *stage.argv(torture.inputs)]
        cli.main()
    sys.argv = argv
    for number, handler in handlers.items():
        signal.signal(number, handler)


def run(seed: int, minutes: float, keep: Path) -> list[str]:
    """Try every point until time is up; return the failures, whose folders are in ``keep``."""
    return run_alone("tests.torture.faults", seed, minutes, keep)


def run_alone(module: str, seed: int, minutes: float, keep: Path) -> list[str]:
    """Run a part of the torture in a process of its own, from which others can be forked; return its failures."""
    options = ["--seed", str(seed), "--minutes", str(minutes), "--keep", str(keep)]
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-m", module, *options]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)  # the hooks stay in there
    failures = [line for line in done.stderr.splitlines() if line.startswith("FAILED")]
    return failures or (
        [f"the injector ended with {done.returncode}: {done.stderr}"] if done.returncode else []
    )


def print_summary(torture: Torture) -> None:
    """Print how many points were tried of each stage."""
    for name, number in sorted(torture.tried.items()):
        print(f"{number:6,}  {name}")
    print(f"{torture.tried.total():6,}  points in all, {len(torture.failures)} failures", flush=True)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--sample", type=int, help="faults to try per stage; default: all")
    parser.add_argument("--only", nargs="+", default=("",), help="stages with one of these in their name")
    parser.add_argument("--faults", nargs="+", choices=injector.FAULTS, default=injector.FAULTS)
    parser.add_argument("--keep", type=Path, help="folder for what failed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="psdvec-torture-") as folder:
        torture = open_torture(Path(folder), options.keep)
        torture_all(
            torture, seed=options.seed, sample=options.sample, minutes=options.minutes, only=tuple(options.only),
            faults=tuple(options.faults),
        )  # fmt: skip
        print_summary(torture)
    sys.exit(bool(torture.failures))


if __name__ == "__main__":
    main()
