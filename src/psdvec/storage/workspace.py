"""Workspaces: where long work keeps what is finished, so that it can be stopped at any moment and resumed.

A workspace is a folder ``NAME.work`` beside the output ``NAME``. It remembers the plan it serves: what was finished for
the same plan is used again, what belongs to another plan is discarded. Files appear in it whole or not at all. Only one
process at a time may hold it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from psdvec.errors import InputError
from psdvec.progress import Progress
from psdvec.resources import disk_errors_explained
from psdvec.storage.atomic import whole_file
from psdvec.storage.json_text import parse_json

_PLAN = "plan.json"


@contextmanager
def place_for(output: str | Path | None) -> Iterator[Path]:
    """Yield the path to write an artefact to: ``output``, or one in a temporary folder if there is none."""
    if output is not None:
        yield Path(output)
        return
    with tempfile.TemporaryDirectory(prefix="psdvec-") as temporary:
        yield Path(temporary) / "output"


@contextmanager
def open_workspace(output: Path, *, plan: Mapping[str, Any], progress: Progress) -> Iterator[Path]:
    """Hold the workspace of ``output``; it is removed if the block ends without an error or leaves nothing in it."""
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


def digest_of(*values: Any) -> str:
    """Return what a plan says of values that no file holds: equal digests, equal arrays and equal other values.

    >>> digest_of("a", np.arange(3)) == digest_of("a", np.arange(3)) != digest_of("a", np.arange(4))
    True
    """
    digest = hashlib.sha256()
    for value in values:
        is_array = isinstance(value, np.ndarray)
        digest.update(
            repr((value.dtype, value.shape) if is_array else value).encode("utf-8", "surrogatepass")
        )
        if is_array:
            digest.update(np.ascontiguousarray(value).data)
    return digest.hexdigest()


def _hold(lock: BinaryIO, folder: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise InputError(
            f"another process is using '{folder}'; wait for it, or choose another output"
        ) from error


def _keep_what_serves(folder: Path, plan: Any, progress: Progress) -> None:
    """Clear ``folder`` unless it was left by an interrupted run of the same plan."""
    others = [path for path in folder.iterdir() if path.name != "lock"]
    try:
        same = parse_json((folder / _PLAN).read_text(encoding="utf-8")) == plan
    except (OSError, ValueError):
        same = False
    if same:
        progress.say(f"resuming the work in '{folder}'")
        return
    if any(path.name != _PLAN for path in others):
        progress.say(
            f"starting from scratch: '{folder}' holds unfinished work for other input or other options"
        )
    for path in others:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    with whole_file(folder / _PLAN) as file:
        file.write(json.dumps(plan).encode())
