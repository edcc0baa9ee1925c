"""Artefacts: folders that say what they are, hold plain arrays, and appear whole or not at all.

An artefact is a folder with ``meta.json`` (kind, version, parameters, sources, the size and SHA-256 of every other
file, and a checksum of all this) and ``.npy`` arrays or text files beside it. It is written under a temporary name
and renamed when complete, so a folder with a ``meta.json`` is always whole. Opening one maps its arrays
into memory and reads nothing else. ``docs/formats.md`` describes the files.

Numbers in files come first: ``.npy`` arrays, safetensors, bare numbers and JSON, checked before they are trusted. No
error of the disk is lost, nothing is read that holds code, and large arrays are mapped rather than read.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import math
import mmap
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

import psdvec
from psdvec.arrays import Array
from psdvec.errors import InputError, StoreError
from psdvec.resources import thread_limit
from psdvec.storage.files import check_name, is_unfinished, replaced_folder, restore, sync_open
from psdvec.system import is_link, map_file

# JSON from files: one way to parse it, whoever wrote it.


def parse_json(text: str | bytes) -> Any:
    """Return what a JSON text says; raise :class:`ValueError` for whatever is none.

    A text whose lists lie too deep inside each other is none, and neither is a number of thousands of digits: Python
    reads neither, and says so of the first with an error that is no ``ValueError``.

    >>> parse_json('{"a": [1, 2]}')
    {'a': [1, 2]}
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("its lists or objects lie too deep inside each other") from None


# What Python raises for a zip archive that is damaged, cut off, encrypted, compressed in a way that nobody knows, or
# without the member that was asked for.
ZIP_DAMAGE: tuple[type[Exception], ...] = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, OSError, EOFError, KeyError, ValueError, RuntimeError,
)  # fmt: skip


# Bare numbers and ``.npy`` arrays in files, written and read so that no error of the disk is lost.


def npy_header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """Return what an ``.npy`` file begins with; numpy leaves room in it for a longer first dimension."""
    header = BytesIO()
    described = np.lib.format.dtype_to_descr(dtype)
    np.lib.format.write_array_header_1_0(header, {"descr": described, "fortran_order": False, "shape": shape})
    return header.getvalue()


def write_npy(file: BinaryIO, array: Array) -> None:
    """Write ``array`` as ``np.save`` does."""
    file.write(npy_header(array.dtype, array.shape))
    file.write(np.ascontiguousarray(array).data)


def read_numbers(path: Path, dtype: npt.DTypeLike, count: int | None = None, *, first: int = 0) -> Array:
    """Read ``count`` bare numbers from number ``first`` on, or all of them, without ``.npy``'s header."""
    size = np.dtype(dtype).itemsize
    with path.open("rb") as file:
        if count is None:
            count = os.fstat(file.fileno()).st_size // size - first
        file.seek(size * first)
        numbers = np.empty(count, dtype)
        got = file.readinto(numbers.data.cast("B")) if count else 0
    if got != size * count:
        raise StoreError(f"'{path}' is damaged: it ends too early; remove its folder and run the same again")
    return numbers


# Arrays in ``.npy`` files: their header is read and checked before anything trusts what it says.

_MAGIC = b"\x93NUMPY"
_LENGTH_BYTES = {1: 2, 2: 4, 3: 4}  # by the version of the format
_LONGEST_HEADER = 10_000
_PLAIN = re.compile(r"[<>|=]?[biufcSU?][0-9]{0,9}")
_MOST_DIMENSIONS = 32


class Header(NamedTuple):
    """What an array is like, and at which byte its numbers begin."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    order: Literal["C", "F"]
    start: int

    @property
    def bytes(self) -> int:
        """How many bytes the numbers take up."""
        return self.dtype.itemsize * math.prod(self.shape)


def read_header(file: IO[bytes]) -> Header:
    """Read the header of an array of plain numbers or strings; raise :class:`ValueError` if there is none."""
    begin = file.read(8)
    if begin[:6] != _MAGIC or len(begin) < 8 or begin[6] not in _LENGTH_BYTES:
        raise ValueError("it does not begin as an array does")
    size = _LENGTH_BYTES[begin[6]]
    length = int.from_bytes(file.read(size), "little")
    if length > _LONGEST_HEADER:
        raise ValueError("its header is too long")
    try:
        record = parse_json(_as_json(file.read(length).decode("utf-8")))
        described, by_columns, shape = (record[name] for name in ("descr", "fortran_order", "shape"))
        if not isinstance(described, str) or not _PLAIN.fullmatch(described):
            raise ValueError("it holds something else than plain numbers or strings")
        dtype = np.dtype(described)
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError("its header does not describe an array of plain numbers or strings") from error
    is_shape = isinstance(shape, list) and all(type(n) is int and 0 <= n < 1 << 60 for n in shape)
    if not is_shape or len(shape) > _MOST_DIMENSIONS or dtype.itemsize == 0:
        raise ValueError(f"its shape {str(shape)[:40]} is none that an array has")
    return Header(dtype, tuple(shape), "F" if by_columns is True else "C", 8 + size + length)


def _as_json(header: str) -> str:
    """Return a header, which is a Python dictionary, as JSON.

    Reading Python in several threads at a time may fail (``AST constructor recursion depth mismatch``, Python 3.11).

    >>> _as_json("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }")
    '{"descr": "<f4", "fortran_order": false, "shape": [2, 3]}'
    """
    text = header.translate(str.maketrans("'()", '"[]')).replace("False", "false").replace("True", "true")
    return re.sub(r",[ ]{0,9}([}\]])", r"\1", text)


def map_array(path: Path) -> Array:
    """Map the array in a file into memory, read-only; raise :class:`ValueError` if the file does not hold just that."""
    with path.open("rb") as file:
        header = read_header(file)
    return map_numbers(path, header, header.start, path.stat().st_size - header.start)


def map_numbers(path: Path, header: Header, start: int, size: int) -> Array:
    """Map the numbers of an array, which take up the ``size`` bytes from ``start`` on."""
    if header.bytes != size:
        raise ValueError(f"its numbers take up {size} bytes instead of {header.bytes}")
    if size == 0:
        return np.empty(header.shape, header.dtype)
    found: Array = map_file(path, header.dtype, start=start, shape=header.shape, order=header.order)
    return found


# Tensors in safetensors files, which model folders and Model2Vec folders are made of.

_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "U64": "<u8", "I32": "<i4", "I8": "<i1", "U8": "<u1",
}  # fmt: skip
_ROWS_AT_ONCE = 65_536  # of a matrix that is written
_NAMES = {np.dtype(dtype): name for name, dtype in _DTYPES.items()}
_LARGEST_HEADER = 100_000_000


def write_safetensors(path: Path, tensors: Mapping[str, Array], *, zero_rows: int = 0) -> None:
    """Write ``tensors`` to a new file at ``path``, block by block, each followed by ``zero_rows`` rows of zeros."""
    header: dict[str, Any] = {}
    start = 0
    for name, tensor in tensors.items():
        shape = [len(tensor) + zero_rows, *tensor.shape[1:]]
        stop = start + tensor.itemsize * math.prod(shape)
        dtype = _NAMES[tensor.dtype.newbyteorder("<")]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, stop]}
        start = stop
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for tensor in tensors.values():
            for row in range(0, len(tensor), _ROWS_AT_ONCE):
                block = np.ascontiguousarray(tensor[row : row + _ROWS_AT_ONCE])
                file.write(block.astype(block.dtype.newbyteorder("<"), copy=False).data)
            file.write(bytes(zero_rows * tensor.itemsize * math.prod(tensor.shape[1:])))


def map_safetensors(path: Path) -> dict[str, Array]:
    """Map the tensors of a file into memory, read-only; refuse a damaged file before mapping it."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > _LARGEST_HEADER:
                raise ValueError("its header is too long")
            header = parse_json(file.read(length))
        size = path.stat().st_size - 8 - length
        return {
            name: _map_tensor(path, 8 + length, size, record)
            for name, record in header.items()
            if name != "__metadata__"
        }
    except OSError as error:
        raise InputError(f"'{path}' cannot be read ({error.strerror}); check the name") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"'{path}' is not a complete safetensors file ({error}); get it again") from error


def _map_tensor(path: Path, base: int, size: int, record: Mapping[str, Any]) -> Array:
    """Map the tensor of which the header says ``record``, in the ``size`` bytes from ``base`` on."""
    name, shape = record["dtype"], tuple(record["shape"])
    start, stop = record["data_offsets"]
    if any(type(number) is not int or number < 0 for number in (start, stop, *shape)):
        raise ValueError("a shape or an offset is not a whole number")
    if not isinstance(name, str) or name not in (*_DTYPES, "BF16"):
        raise ValueError(f"numbers of type {name} are not supported")
    header = Header(np.dtype(_DTYPES.get(name, "<u2")), shape, "C", base + start)
    if not start <= stop <= size or stop - start != header.bytes or len(shape) > _MOST_DIMENSIONS:
        raise ValueError(f"a tensor of shape {shape} does not fit into its {size} bytes")
    numbers = map_numbers(path, header, header.start, header.bytes)
    return (numbers.astype(np.uint32) << 16).view(np.float32) if name == "BF16" else numbers


META = "meta.json"
FORMAT = "psdvec"
SEAL = "checksum"
MAP = "map"  # the kind of a map, and the name of the folder that a model may have it in
MODEL = "model"  # the name of the folder that an index has its model in
MANIFEST, PUBLISHED = "psdvec.json", "published vectors"  # what describes a folder for others, and its kind
_INNER = {MAP: MAP, MODEL: "embeddings"}  # folders that an artefact may have in it, and their kinds


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
        if name not in self.files:
            raise StoreError(f"'{self.path}' ({self.kind}) has no file '{name}'; psdvec did not make it")
        path, expected, advice = self.path / name, int(self.files[name]["bytes"]), f"make '{self.path}' again"
        try:
            found = path.stat().st_size
        except OSError as error:
            raise StoreError(f"'{path}' cannot be read ({error.strerror}); {advice}") from error
        if found != expected:
            raise StoreError(f"'{path}' is damaged: {found} bytes where {expected} were written; {advice}")
        return path


def open_artefact(
    path: str | Path | Artefact, *, kind: str | None = None, version: int | None = None
) -> Artefact:
    """Open the artefact at ``path``, or take one that is open; if given, check its ``kind`` and highest ``version``."""
    artefact = path if isinstance(path, Artefact) else _read_meta(Path(path))
    if kind is not None and artefact.kind != kind:
        own = artefact.path / MODEL
        right = f"'{own}', its model" if kind == "embeddings" and own.is_dir() else "the right folder"
        raise StoreError(
            f"'{artefact.path}' holds {_in_words(artefact.kind)}, not {_in_words(kind)}; give {right}"
        )
    if version is not None and artefact.version > version:
        raise StoreError(
            f"'{artefact.path}' is of version {artefact.version}, but this psdvec reads up to version {version}; "
            "update psdvec"
        )
    return artefact


def _in_words(kind: str) -> str:
    return {"cooccurrence": "counts", "embeddings": "word vectors", "index": "an index"}.get(kind, kind)


MODELS = "psdvec.models"  # the group of entry points by which a package brings a model
PACKAGES = {"simplewiki": "psdvec-simplewiki"}  # models of this project by name, and what brings them


def find_model(path: str | Path) -> Path:
    """Return ``path`` or, if there is nothing at it, the folder of the installed model of this name.

    A package brings a model by an entry point of the group ``psdvec.models``: its name, and the path of its folder.
    """
    path = Path(path)
    if len(path.parts) != 1 or os.path.lexists(path):
        return path
    from importlib.metadata import entry_points  # takes a while, and most models are paths

    for entry in entry_points(group=MODELS, name=path.name):
        package = entry.dist.name if entry.dist else entry.module
        try:
            return Path(entry.load())
        except (ImportError, AttributeError, TypeError) as error:
            raise StoreError(
                f"the installed model '{path}' cannot be found ({error}); install {package} again"
            ) from error
    if path.name in PACKAGES:
        raise StoreError(
            f"there is no '{path}', and no model of this name is installed; pip install {PACKAGES[path.name]}"
        )
    return path


def _read_meta(path: Path) -> Artefact:
    restore(path)
    path = find_model(path)
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


_ELSEWHERE = set("/\\:\0")  # what leads out of a folder, on some system
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
        if name in ("", ".", "..", META) or not _ELSEWHERE.isdisjoint(name):
            raise ValueError(f"'{name}' is not the name of a file in it")
        said = (record.get("bytes"), record.get("sha256")) if isinstance(record, dict) else ()
        if [type(one) for one in said] != [int, str]:
            raise ValueError(f"it does not say how large '{name}' is, and what its checksum")
        if record.get(PARTED, PART) != PART:
            raise ValueError(f"the checksum of '{name}' is made of parts of another size")


_PUBLISHED_FACTS = ("words", "dim", "languages", "quantized", "recipe", "counting")  # each may be missing


def open_published(folder: Path) -> Artefact:
    """Open a published folder as an artefact, whose parameters are what ``psdvec.json`` says of it."""
    try:
        said = parse_json((folder / MANIFEST).read_text(encoding="utf-8"))
        if said["kind"] != PUBLISHED:
            raise ValueError(f"it is of {said['kind']!r:.60}")
        sizes = [(type(one["bytes"]), type(one["sha256"])) for one in said["files"].values()]
        if any(one != (int, str) for one in sizes) or any(map(_leads_elsewhere, said["files"])):
            raise ValueError("its 'files' are not those of a folder")
        about = {"title": said["name"], "licence": said["license"] or "none was given"}
        return Artefact(
            folder, PUBLISHED, int(said["version"]), str(said["made_by"]),
            {**{name: said[name] for name in _PUBLISHED_FACTS if name in said}, "about": about},
            tuple(dict(source) for source in said.get("sources", [])),
            dict(said["files"]),
        )  # fmt: skip
    except OSError as error:
        raise StoreError(
            f"'{folder / MANIFEST}' cannot be read ({error.strerror}); check its permissions"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(
            f"'{folder / MANIFEST}' does not describe a published folder ({error}); publish it again"
        ) from error


def _leads_elsewhere(name: str) -> bool:
    return any(part in ("", "..") or not _ELSEWHERE.isdisjoint(part) for part in name.split("/"))


def seal(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``meta`` with the checksum of all that it says."""
    said = {name: value for name, value in meta.items() if name != SEAL}
    text = json.dumps(said, sort_keys=True, ensure_ascii=False)
    return {**said, SEAL: hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()}


def verify_artefact(artefact: Artefact) -> None:
    """Read every file of ``artefact`` and raise :class:`StoreError` at the first that is not as it was written."""
    for name, record in artefact.files.items():
        path = artefact.file(name)
        if digest_file(path, is_parted=PARTED in record) != record["sha256"]:
            raise StoreError(
                f"'{path}' is damaged: its contents changed since it was written; make '{artefact.path}' again"
            )


def release_memory(array: Array, begin: int = 0, end: int | None = None) -> None:
    """Let the system take back what a mapped array occupies in memory; it is read again where it is needed.

    Of an array of one dimension, only the entries from ``begin`` to ``end`` may be given back: what other threads read
    meanwhile then stays.
    """
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if not isinstance(owner, mmap.mmap) or not hasattr(mmap, "MADV_DONTNEED"):
        return
    if begin == 0 and end is None:
        owner.madvise(mmap.MADV_DONTNEED)
        return
    offset = array.ctypes.data - np.frombuffer(owner, np.uint8).ctypes.data
    first = -(-(offset + begin * array.itemsize) // mmap.PAGESIZE) * mmap.PAGESIZE
    last = offset + (array.size if end is None else end) * array.itemsize
    if last - first >= mmap.PAGESIZE:
        owner.madvise(mmap.MADV_DONTNEED, first, (last - first) // mmap.PAGESIZE * mmap.PAGESIZE)


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
        """Open ``name.npy`` for writing in pieces, of ``length`` entries in all, where that is known."""
        with (
            (self.folder / f"{name}.npy").open("wb") as file,
            ThreadPoolExecutor(1 + thread_limit()) as beside,
        ):
            stream = ArrayStream(file, np.dtype(dtype), length, beside)
            yield stream
            self.digests[f"{name}.npy"] = stream.finish()

    def records(self) -> dict[str, dict[str, Any]]:
        """Return the size and the SHA-256 of every file."""
        found = {}
        for name, known in sorted(self.digests.items()):
            path = self.folder / name
            size = path.stat().st_size
            parted = {PARTED: PART} if size > PART else {}
            found[name] = {"bytes": size, "sha256": known or digest_file(path), **parted}
        return found


class ArrayStream:
    """A one-dimensional ``.npy`` file of ``length`` entries, or of any length: numpy's header leaves room for it.

    What has been written is digested ``beside``, and taken by the disk, while more is written.
    """

    def __init__(self, file: BinaryIO, dtype: np.dtype[Any], length: int | None, beside: Executor) -> None:
        self.file, self.dtype, self.expected, self.beside = file, dtype, length, beside
        self.length = 0
        self._written = file.write(npy_header(dtype, (length or 0,)))
        self._digests: list[Future[bytes]] = []
        self._syncing: Future[None] | None = None
        self._synced = 0

    def write(self, array: Array) -> None:
        """Append ``array``."""
        self._written += self.file.write(np.ascontiguousarray(array, dtype=self.dtype).data)
        self.length += array.size
        if self._written // PART > len(self._digests):
            self.file.flush()
            self._digest(self._written - self._written % PART)
        if self._written - self._synced > _SYNCED and (self._syncing is None or self._syncing.done()):
            self._syncing, self._synced = self.beside.submit(sync_open, self.file.fileno()), self._written

    def _digest(self, end: int) -> None:
        for begin in range(PART * len(self._digests), end, PART):
            self._digests.append(
                self.beside.submit(_digest_part, Path(self.file.name), begin, min(begin + PART, end))
            )

    def finish(self) -> str:
        """Write the length into the header where it was not known, and return the digest of the file."""
        if self.length != self.expected:
            self.file.seek(0)
            self.file.write(npy_header(self.dtype, (self.length,)))
        self.file.flush()
        self._digest(self._written)
        parts = [digest.result() for digest in self._digests]
        if self._syncing is not None:
            self._syncing.result()
        if self.length != self.expected:  # what the first part was before
            parts[0] = _digest_part(Path(self.file.name), 0, min(PART, self._written))
        return _digest_of(parts)


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
    """Write an artefact beside ``path``, if :func:`check_output` lets it, and rename it when the block ends well."""
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
        with (folder / META).open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            json.dump(seal(meta), file, indent=1, ensure_ascii=False)
            file.write("\n")
        if overwrite:
            check_output(path, overwrite=True)  # again: something may have been put into it meanwhile


def check_output(path: str | Path, *, overwrite: bool, kind: str | None = None) -> None:
    """Raise :class:`InputError` if an artefact must not be written to ``path``; of a known ``kind``, only over such."""
    path = Path(path)
    check_folder_output(path, _foreign_in, what="an artefact of psdvec", overwrite=overwrite)
    if kind is None or not (path / META).exists():
        return
    found = parse_json((path / META).read_bytes())["kind"]
    if kind != found:
        raise InputError(
            f"'{path}' holds {_in_words(found)}, which {_in_words(kind)} would replace; choose another output name"
        )


def check_folder_output(
    path: Path, foreign_in: Callable[[Path], Path | None], *, what: str, overwrite: bool
) -> None:
    """Raise :class:`InputError` if no folder that is ``what`` can be written to ``path``, before any work is done.

    ``foreign_in`` returns what psdvec did not write: the folder itself, if it is something else, or something in it.
    """
    check_name(path)
    restore(path)
    if not os.path.lexists(path) or (path.is_dir() and not any(path.iterdir())):
        return
    foreign = foreign_in(path)
    if foreign == path:
        raise InputError(f"'{path}' exists and is not {what}; move it away, or choose another output name")
    if foreign is not None:
        raise InputError(
            f"'{path}' exists and holds '{foreign.name}', which psdvec did not write; move that away, or choose "
            "another output name"
        )
    if not overwrite:
        raise InputError(f"'{path}' exists already; choose another output name, or give overwrite=True")


def _foreign_in(folder: Path, kind: str | None = None) -> Path | None:
    """Return what psdvec did not write: ``folder`` itself, or something in it; None if all of it is an artefact.

    A model may have its map in it, and an index its model, which ``meta.json`` does not list.
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
        inner = None if is_link(path) else _INNER.get(path.name)
        is_inner = inner is not None and _foreign_in(path, kind=inner) is None
        if not (is_listed or is_inner or is_unfinished(path.name)):
            return path
    return None


# Digests of files, computed by several threads where a file is large.

PART = 1 << 24  # bytes
PARTED = "part"  # in the record of a file: of how many bytes the parts are that its digest is made of
_READ = 1 << 18  # bytes at a time
_SYNCED = 1 << 27  # bytes of a file that is being written, after which the disk is to take them


def digest_file(path: Path, *, size: int | None = None, is_parted: bool = True) -> str:
    """Return the SHA-256 of a file, or of its first ``size`` bytes.

    Of more than a ``PART``, if ``is_parted``, it is that of the digests of all parts, one after the other.
    """
    size = path.stat().st_size if size is None else size
    part = PART if is_parted else max(size, 1)
    ranges = [(begin, min(begin + part, size)) for begin in range(0, size, part)] or [(0, 0)]
    if len(ranges) == 1:
        return _digest_part(path, *ranges[0]).hex()
    with ThreadPoolExecutor(min(thread_limit(), len(ranges))) as pool:
        return _digest_of(list(pool.map(partial(_digest_part, path), *zip(*ranges, strict=True))))


def _digest_of(parts: Sequence[bytes]) -> str:
    return parts[0].hex() if len(parts) == 1 else hashlib.sha256(b"".join(parts)).hexdigest()


def _digest_part(path: Path, begin: int, end: int) -> bytes:
    """Return the digest of the bytes from ``begin`` to ``end``, as far as they are there."""
    found, room = hashlib.sha256(), memoryview(bytearray(min(_READ, max(end - begin, 1))))
    with path.open("rb", buffering=0) as file:
        file.seek(begin)
        while begin < end and (count := file.readinto(room[: end - begin])):
            found.update(room[:count])
            begin += count
    return found.digest()
