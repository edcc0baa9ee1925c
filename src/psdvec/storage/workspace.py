"""Workspace: where long work keeps what is finished, so that it can be stopped at any moment and go on.

A workspace is a folder ``NAME.work`` beside the output ``NAME``. It remembers the plan it serves; what was
finished for the same plan is used again, what belongs to another plan is thrown away. Files appear in it
whole or not at all. One process at a time may hold it.
"""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from psdvec.errors import InputError
from psdvec.progress import Progress
from psdvec.resources import disk_errors_explained
from psdvec.storage.atomic import whole_file

_PLAN = "plan.json"


@contextmanager
def open_workspace(output: Path, *, plan: Mapping[str, Any], progress: Progress) -> Iterator[Path]:
    """Hold the workspace of ``output``; it is removed when the block ends without an error, or has finished nothing."""
    folder = output.with_name(f"{output.name}.work")
    with disk_errors_explained(output):
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("wb") as lock:
            _hold(lock, folder)
            _keep_what_serves(folder, json.loads(json.dumps(plan)), progress)
            try:
                yield folder
            except BaseException:
                if {path.name for path in folder.iterdir()} <= {"lock", _PLAN}:
                    shutil.rmtree(folder)
                raise
            shutil.rmtree(folder)


def _hold(lock: BinaryIO, folder: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise InputError(
            f"another process is at work in '{folder}'; wait for it, or choose another output"
        ) from error


def _keep_what_serves(folder: Path, plan: Any, progress: Progress) -> None:
    """Clear ``folder`` unless it was left by an interrupted run of the same plan."""
    others = [path for path in folder.iterdir() if path.name != "lock"]
    try:
        same = json.loads((folder / _PLAN).read_text(encoding="utf-8")) == plan
    except (OSError, ValueError):
        same = False
    if same:
        progress.say(f"going on with the work in '{folder}'")
        return
    if any(path.name != _PLAN for path in others):
        progress.say(f"starting anew: '{folder}' holds unfinished work for other input or other options")
    for path in others:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    with whole_file(folder / _PLAN) as file:
        file.write(json.dumps(plan, ensure_ascii=False).encode())
