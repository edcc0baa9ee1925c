"""Artefacts: folders that say what they are, hold plain arrays, and appear whole or not at all.

An artefact is a folder with ``meta.json`` (kind, version, parameters, sources, the size and SHA-256 of every other
file, and a checksum of all this) and ``.npy`` arrays or text files beside it. It is written under a temporary name
and renamed when complete, so a folder with a ``meta.json`` is always whole. Opening one maps its arrays
into memory and reads nothing else. ``docs/formats.md`` describes the files.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

import psdvec
from psdvec.arrays import Array
from psdvec.errors import InputError, StoreError
from psdvec.storage.arrays import map_array, npy_header, parse_json
from psdvec.storage.files import check_name, is_unfinished, replaced_folder, restore

META = "meta.json"
FORMAT = "psdvec"
SEAL = "checksum"
MAP = "map"  # the kind of a map, and the name of the folder that a model may have it in


@dataclass(frozen=True)
class Artefact:
    """An artefact on disk: what it is, how it was made, and its arrays on demand."""

    path: Path
    kind: str
    version: int
    made_by: str
    parameters: Mapping[str, Any]
    sources: tuple[Mapping[str, Any], ...]
    files: Mapping[str, Mapping[str, Any]]

    @property
    def digest(self) -> str:
        """SHA-256 over the kind, the parameters and the files' digests: equal digests, equal contents."""
        content = {"kind": self.kind, "parameters": self.parameters, "files": self.files}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def size(self) -> int:
        """Bytes of all files but ``meta.json``."""
        return sum(int(record["bytes"]) for record in self.files.values())

    def array(self, name: str, dtype: npt.DTypeLike, *others: npt.DTypeLike, dimensions: int = 1) -> Array:
        """Map array ``name`` into memory, read-only; it must be of one of these types, byte order included.

        Kernels take the bytes for what they were compiled for: what reads an array for them names its type here.
        """
        path = self.file(f"{name}.npy")
        try:
            found = map_array(path)
            if found.dtype not in [np.dtype(one) for one in (dtype, *others)] or found.ndim != dimensions:
                raise ValueError(f"it holds numbers of type {found.dtype.str} in {found.ndim} dimensions")
            return found
        except ValueError as error:
            raise StoreError(f"'{path}' is damaged: {error}; make '{self.path}' again") from error

    def file(self, name: str) -> Path:
        """Path of file ``name``, its size checked."""
        self._check_size(name)
        return self.path / name

    def _check_size(self, name: str) -> None:
        if name not in self.files:
            raise StoreError(f"'{self.path}' ({self.kind}) has no file '{name}'; psdvec did not make it")
        expected = int(self.files[name]["bytes"])
        try:
            found = (self.path / name).stat().st_size
        except OSError as error:
            raise StoreError(
                f"'{self.path / name}' cannot be read ({error.strerror}); make '{self.path}' again"
            ) from error
        if found != expected:
            raise StoreError(
                f"'{self.path / name}' is damaged: {found} bytes where {expected} were written; "
                f"make '{self.path}' again"
            )


def open_artefact(
    path: str | Path | Artefact, *, kind: str | None = None, version: int | None = None
) -> Artefact:
    """Open the artefact at ``path``, or take one that is open; if given, check its ``kind`` and highest ``version``."""
    artefact = path if isinstance(path, Artefact) else _read_meta(Path(path))
    if kind is not None and artefact.kind != kind:
        raise StoreError(
            f"'{artefact.path}' holds {_in_words(artefact.kind)}, not {_in_words(kind)}; give the right folder"
        )
    if version is not None and artefact.version > version:
        raise StoreError(
            f"'{artefact.path}' is of version {artefact.version}, but this psdvec reads up to version {version}; "
            "update psdvec"
        )
    return artefact


def _in_words(kind: str) -> str:
    return {"cooccurrence": "counts", "embeddings": "word vectors"}.get(kind, kind)


def _read_meta(path: Path) -> Artefact:
    restore(path)
    if not path.exists():
        raise StoreError(f"there is no '{path}'; check the name")
    if not (path / META).is_file():
        raise StoreError(
            f"'{path}' is not an artefact of psdvec: it has no {META}; give a folder that psdvec made"
        )
    try:
        meta = parse_json((path / META).read_text(encoding="utf-8"))
        _check_meta(meta)
        if meta.get(SEAL) != seal(meta)[SEAL]:
            raise ValueError("it changed since it was written")
    except OSError as error:
        raise StoreError(
            f"'{path / META}' cannot be read ({error.strerror}); check its permissions"
        ) from error
    except ValueError as error:
        raise StoreError(
            f"'{path / META}' is not a description of a psdvec artefact ({error}); make it again"
        ) from error
    return Artefact(path, **{name: meta[name] for name in _KINDS_OF_VALUES}, sources=tuple(meta["sources"]))


_KINDS_OF_VALUES = {"kind": str, "version": int, "made_by": str, "parameters": dict, "files": dict}


def _check_meta(meta: Any) -> None:
    """Raise :class:`ValueError` unless ``meta`` is of the shape that :func:`create_artefact` writes."""
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise ValueError("its format is another")
    for name, kind in _KINDS_OF_VALUES.items():
        if type(meta.get(name)) is not kind:
            raise ValueError(f"its '{name}' is missing, or not what it should be")
    sources = meta.get("sources")
    if not isinstance(sources, list) or not all(isinstance(source, dict) for source in sources):
        raise ValueError("its 'sources' are missing, or not a list of records")
    for name, record in meta["files"].items():
        _check_plain(name)
        if (
            not isinstance(record, dict)
            or type(record.get("bytes")) is not int
            or not isinstance(record.get("sha256"), str)
        ):
            raise ValueError(f"it does not say how large '{name}' is, and what its checksum")


def seal(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``meta`` with the checksum of all that it says."""
    said = {name: value for name, value in meta.items() if name != SEAL}
    text = json.dumps(said, sort_keys=True, ensure_ascii=False)
    return {**said, SEAL: hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()}


def _check_plain(name: str) -> None:
    """Raise ``ValueError`` unless ``name`` is that of a file in the artefact's own folder."""
    if name in ("", ".", "..", META) or "/" in name or "\0" in name:
        raise ValueError(f"'{name}' is not the name of a file in it")


def verify_artefact(artefact: Artefact) -> None:
    """Read every file of ``artefact`` and raise :class:`StoreError` at the first that is not as it was written.

    Two files are read at a time, the largest first: about a second for 2 GB, where the processor has instructions for
    SHA-256.
    """
    largest = sorted(artefact.files, key=lambda name: -int(artefact.files[name]["bytes"]))
    with ThreadPoolExecutor(2) as pool:
        deque(pool.map(partial(_verify_file, artefact), largest), maxlen=0)


def _verify_file(artefact: Artefact, name: str) -> None:
    path = artefact.file(name)
    if digest_file(path) != artefact.files[name]["sha256"]:
        raise StoreError(
            f"'{path}' is damaged: its contents changed since it was written; make '{artefact.path}' again"
        )


def release_memory(array: Array) -> None:
    """Let the system take back what a mapped array occupies in memory; it is read again where it is needed."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        owner.madvise(mmap.MADV_DONTNEED)


@dataclass
class ArtefactWriter:
    """Adds files to an artefact that is being written; made by :func:`create_artefact`."""

    folder: Path
    digests: dict[str, str | None] = field(default_factory=dict)  # None where the file must be read again

    def add_array(self, name: str, array: Array) -> None:
        """Add ``array`` as ``name.npy``."""
        with self.stream_array(name, array.dtype, length=array.size) as stream:
            stream.write(array)

    def add_text(self, name: str, text: str) -> None:
        """Add a UTF-8 text file under its full ``name``."""
        # What is no letter becomes an escape, which JSON reads back as it was.
        (self.folder / name).write_bytes(text.encode("utf-8", "backslashreplace"))
        self.add_file(name)

    def add_file(self, name: str) -> None:
        """Add a file that was written into ``self.folder`` by other means."""
        self.digests[name] = None

    @contextmanager
    def stream_array(
        self, name: str, dtype: npt.DTypeLike, *, length: int | None = None
    ) -> Iterator[ArrayStream]:
        """Open ``name.npy`` for writing in pieces; if ``length`` is known, the digest needs no second reading."""
        with (self.folder / f"{name}.npy").open("wb") as file, ThreadPoolExecutor(1) as beside:
            stream = ArrayStream(file, np.dtype(dtype), length, beside)
            yield stream
            self.digests[f"{name}.npy"] = stream.finish()

    def records(self) -> dict[str, dict[str, Any]]:
        """Return the size and the SHA-256 of every file."""
        names = sorted(self.digests)
        with ThreadPoolExecutor() as pool:
            digests = pool.map(lambda name: self.digests[name] or digest_file(self.folder / name), names)
            return {
                name: {"bytes": (self.folder / name).stat().st_size, "sha256": digest}
                for name, digest in zip(names, digests, strict=True)
            }


class ArrayStream:
    """A one-dimensional ``.npy`` file of ``length`` entries, or of any length: numpy's header leaves room for it."""

    def __init__(self, file: BinaryIO, dtype: np.dtype[Any], length: int | None, beside: Executor) -> None:
        self.file, self.dtype, self.expected, self.beside = file, dtype, length, beside
        self.length = 0
        header = npy_header(dtype, (length or 0,))
        file.write(header)
        self._digest = hashlib.sha256(header)

    def write(self, array: Array) -> None:
        """Append ``array``; its digest is computed meanwhile."""
        data = np.ascontiguousarray(array, dtype=self.dtype).data
        digested = None if self.expected is None else self.beside.submit(self._digest.update, data)
        self.file.write(data)
        self.length += array.size
        if digested is not None:
            digested.result()

    def finish(self) -> str | None:
        """Return the SHA-256 of the file if its length was known; otherwise write the length into the header."""
        if self.length == self.expected:
            return self._digest.hexdigest()
        self.file.seek(0)
        self.file.write(npy_header(self.dtype, (self.length,)))
        return None


@contextmanager
def create_artefact(
    path: str | Path,
    *,
    kind: str,
    version: int,
    parameters: Mapping[str, Any],
    sources: list[dict[str, Any]],
    overwrite: bool = False,
) -> Iterator[ArtefactWriter]:
    """Write an artefact beside ``path`` and rename it to ``path`` when the block ends without an error.

    Raises
    ------
    InputError
        If something is at ``path`` already that is not an artefact, or holds what psdvec did not write, or
        ``overwrite`` is false.
    """
    path = Path(path)
    check_output(path, overwrite=overwrite, kind=kind)
    with replaced_folder(path, overwrite=overwrite) as folder:
        writer = ArtefactWriter(folder)
        yield writer
        meta = {
            "format": FORMAT,
            "kind": kind,
            "version": version,
            "made_by": f"psdvec {psdvec.__version__}",
            "parameters": dict(parameters),
            "sources": sources,
            "files": writer.records(),
        }
        # A name that is not UTF-8, as names of files need not be, becomes an escape, which JSON reads back as it was.
        with (folder / META).open("w", encoding="utf-8", errors="backslashreplace") as file:
            json.dump(seal(meta), file, indent=1, ensure_ascii=False)
            file.write("\n")
        if overwrite:
            check_output(path, overwrite=True)  # again: something may have been put into it meanwhile


def check_output(path: str | Path, *, overwrite: bool, kind: str | None = None) -> None:
    """Raise :class:`InputError` if an artefact must not be written to ``path``; of a known ``kind``, only over such."""
    path = Path(path)
    check_name(path)
    restore(path)
    if not os.path.lexists(path) or (path.is_dir() and not any(path.iterdir())):
        return
    foreign = _foreign_in(path)
    if foreign == path:
        raise InputError(
            f"'{path}' exists and is not an artefact of psdvec; move it away, or choose another output name"
        )
    if foreign is not None:
        raise InputError(
            f"'{path}' exists and holds '{foreign.name}', which psdvec did not write; move that away, or choose "
            "another output name"
        )
    if not overwrite:
        raise InputError(f"'{path}' exists already; choose another output name, or give overwrite=True")
    found = parse_json((path / META).read_bytes())["kind"]
    if kind is not None and kind != found:
        raise InputError(
            f"'{path}' holds {_in_words(found)}, which {_in_words(kind)} would replace; choose another output name"
        )


def _foreign_in(folder: Path, kind: str | None = None) -> Path | None:
    """Return what psdvec did not write: ``folder`` itself, or something in it; None if all of it is an artefact.

    A model may have its map in it, which its ``meta.json`` does not list.
    """
    try:
        meta = parse_json((folder / META).read_bytes())
        _check_meta(meta)
    except (OSError, ValueError):
        return folder
    if kind is not None and meta["kind"] != kind:
        return folder
    for path in sorted(folder.iterdir()):
        is_listed = path.name in (META, *meta["files"]) and not path.is_dir()
        is_map = path.name == MAP and not path.is_symlink() and _foreign_in(path, kind=MAP) is None
        if not (is_listed or is_map or is_unfinished(path.name)):
            return path
    return None


def digest_file(path: Path) -> str:
    """Return the SHA-256 of a file's contents."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
