"""Workspaces: where long work keeps what is finished, so that it can be stopped at any moment and resumed.

A workspace is a folder ``NAME.work`` beside the output ``NAME``. It remembers the plan it serves: what was finished for
the same plan is used again, unless any of it is damaged; what belongs to another plan is discarded. What is in it are
pieces (files and folders with their checksums), artefacts and other workspaces. Only one process at a time may hold it.

A folder is a workspace only if the file ``lock`` in it carries our mark, which is there from the moment in which the
folder has its name. Anything else of that name, and whatever has a link in it, is refused and left as it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from psdvec.arrays import Array, Float32s
from psdvec.errors import InputError, StoreError
from psdvec.progress import Progress
from psdvec.storage.artefact import (
    META,
    check_output,
    digest_file,
    open_artefact,
    parse_json,
    verify_artefact,
)
from psdvec.storage.files import (
    Existing,
    check_name,
    discard_folder,
    disk_errors_explained,
    hold,
    sweep,
    sweep_below,
    take,
    whole_file,
    whole_folder,
)
from psdvec.system import is_link

# Pieces of unfinished work: files and folders that carry their checksums, so that a later attempt can trust them.

_CHECKSUMS = "checksums"
_SEAL = hashlib.sha256().digest_size


@contextmanager
def piece_file(path: Path, *, existing: Existing = "replace") -> Iterator[BinaryIO]:
    """Open a file that becomes the piece at ``path`` when the block ends without an error."""
    with whole_file(path, existing=existing) as file:
        yield file
        file.flush()
        file.seek(0, os.SEEK_END)
        file.write(bytes.fromhex(digest_file(Path(file.name))))


@contextmanager
def piece_folder(path: Path, *, existing: Existing = "replace") -> Iterator[Path]:
    """Make a folder that becomes the piece at ``path`` when the block ends without an error."""
    with whole_folder(path, existing=existing) as folder:
        yield folder
        (folder / _CHECKSUMS).write_bytes(_checksums_of(folder))


def write_piece(
    path: Path, record: Mapping[str, Any], *, existing: Existing = "replace", **arrays: Array | None
) -> None:
    """Keep a ``record`` of plain values, in a line of JSON, and after it the ``arrays`` that are not None.

    The line says what the arrays are like: the headers of ``.npy`` are Python, and reading Python in several threads at
    a time may fail (``AST constructor recursion depth mismatch``, Python 3.11).
    """
    kept = {name: np.ascontiguousarray(array) for name, array in arrays.items() if array is not None}
    described = {name: [array.dtype.str, array.shape] for name, array in kept.items()}
    with piece_file(path, existing=existing) as file:
        file.write(json.dumps({**record, "arrays": described}).encode() + b"\n")
        for array in kept.values():
            file.write(array.reshape(-1).data)


def read_piece(path: Path, *, first: int | None = None) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the record and the arrays that :func:`write_piece` kept, or only the ``first`` so many of the arrays."""
    with path.open("rb") as file:
        record = json.loads(file.readline())
        found = {}
        for name, (dtype, shape) in list(record.pop("arrays").items())[:first]:
            found[name] = np.empty(shape, dtype)
            file.readinto(found[name].reshape(-1).data)
        return record, found


def find_damage(work: Path, *, besides: Collection[str]) -> Path | None:
    """Return a file or folder below ``work`` that is not as it was written, or None if all pieces and artefacts are.

    Files of the names ``besides`` are no pieces.
    """
    for place, folders, names in os.walk(work):
        folder = Path(place)
        if _CHECKSUMS in names or META in names:
            folders.clear()
            if _CHECKSUMS in names:
                is_whole = (folder / _CHECKSUMS).read_bytes() == _checksums_of(folder)
            else:
                is_whole = _is_whole_artefact(folder)
            if not is_whole:
                return folder
            continue
        for name in names:
            if name not in besides and not _is_whole_file(folder / name):
                return folder / name
    return None


def _checksums_of(folder: Path) -> bytes:
    """Return what the file of checksums says of all other files in ``folder``."""
    own = folder / _CHECKSUMS
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path != own)
    return json.dumps({path.relative_to(folder).as_posix(): digest_file(path) for path in paths}).encode()


def _is_whole_file(path: Path) -> bool:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END) - _SEAL
        if size < 0:
            return False
        file.seek(size)
        return bytes.fromhex(digest_file(path, size=size)) == file.read()


def _is_whole_artefact(folder: Path) -> bool:
    try:
        verify_artefact(open_artefact(folder))
    except StoreError as error:
        if isinstance(error.__cause__, OSError) and not isinstance(error.__cause__, FileNotFoundError):
            raise  # it cannot be read just now
        return False
    return True


# Blocks: vectors that are solved some at a time and kept as files, so that a later attempt finds what is finished.


class Placed(NamedTuple):
    """What was found for a word: its vector, the constant direction last, its deviation, and its contexts.

    A word with too few contexts has no vector, and its deviation is not a number.
    """

    vector: Float32s | None
    deviation: float
    contexts: int


def blocks_in(work: Path, n: int, *, size: int) -> dict[Path, slice]:
    """Return blocks of ``size`` of ``n`` words, by the files that keep them in the workspace ``work``.

    >>> [path.name for path in blocks_in(Path("larger.work"), 1200, size=1000)]
    ['000000000-000001000.block', '000001000-000001200.block']
    """
    parts = [slice(begin, min(begin + size, n)) for begin in range(0, n, size)]
    return {work / f"{part.start:09d}-{part.stop:09d}.block": part for part in parts}


def write_block(path: Path, found: Sequence[Placed]) -> None:
    """Keep what was found for the words of a block."""
    write_piece(
        path, {}, existing="keep",
        is_placed=np.array([one.vector is not None for one in found]),
        vectors=np.array([one.vector for one in found if one.vector is not None], np.float32),
        deviations=np.array([one.deviation for one in found], np.float64),
        contexts=np.array([one.contexts for one in found], np.int64),
    )  # fmt: skip


def read_block(path: Path) -> list[Placed]:
    """Return what :func:`write_block` kept."""
    _, kept = read_piece(path)
    rest = iter(kept["vectors"])
    columns = (kept[name].tolist() for name in ("is_placed", "deviations", "contexts"))
    return [Placed(next(rest) if one else None, *known) for one, *known in zip(*columns, strict=True)]


PLAN, _LOCK = "plan.json", "lock"
_PIECES = 3  # how pieces are written; what was written otherwise serves no plan
_MARK = b"psdvec keeps unfinished work in this folder, and removes the folder when the work is done.\n"


@contextmanager
def place_for(output: str | Path | None) -> Iterator[Path]:
    """Yield the path to write an artefact to: ``output``, or one in a temporary folder if there is none."""
    if output is not None:
        yield Path(output)
        return
    with tempfile.TemporaryDirectory(prefix="psdvec-") as temporary:
        yield Path(temporary) / "output"


@contextmanager
def open_workspace(
    output: Path,
    *,
    plan: Mapping[str, Any],
    progress: Progress,
    ending: str = ".work",
    overwrite: bool = True,
) -> Iterator[Path]:
    """Hold the workspace of ``output``; it is removed if the block ends without an error or leaves nothing in it.

    ``ending``: what its name has after that of ``output``; work that consists of other work needs one of its own.
    Without ``overwrite``, an output that another process made just before the workspace was ours is refused.
    """
    folder = _workspace_of(output, ending)
    with disk_errors_explained(output), ExitStack() as stack:
        was_there = output.exists()
        stack.callback(os.close, _hold(folder))
        try:
            sweep_below(folder)
            check_output(output, overwrite=overwrite)
            _keep_what_serves(folder, json.loads(json.dumps({**plan, "pieces": _PIECES})), progress)
            yield folder
        except BaseException:
            is_made = output.exists() and not was_there  # by this process or another: the work has no use
            if is_made or not _holds_work(folder):
                discard_folder(folder)
            raise
        discard_folder(folder)


def check_resumable(
    output: str | Path | None, *, kind: str, overwrite: bool, endings: Sequence[str] = (".work",)
) -> None:
    """Raise :class:`InputError` if there is an ``output`` that must not be written; finished work is swept first."""
    if output is not None:
        for ending in endings:
            sweep_finished(Path(output), ending=ending)
        check_output(output, overwrite=overwrite, kind=kind)


def sweep_finished(output: Path, *, ending: str = ".work") -> None:
    """Remove the workspace of an output that is there, if its maker was killed just before it would have done so.

    All work is older than the ``meta.json`` of what was made of it; work that is newer is for another output. A name
    that no output can have, and a workspace that is not ours, are an :class:`InputError`.
    """
    folder = _workspace_of(output, ending)
    lock = take(folder / _LOCK, certainly=True) if (output / META).is_file() else None
    if lock is None:
        return
    newest = max(path.stat().st_mtime_ns for path in folder.rglob("*"))
    if newest <= (output / META).stat().st_mtime_ns:
        discard_folder(folder)
    os.close(lock)


def clear(folder: Path) -> None:
    """Remove everything from a workspace that is held: no later attempt can use it."""
    (folder / PLAN).unlink(missing_ok=True)  # first: without it, what is left serves no plan
    for path in folder.iterdir():
        if path.is_dir():
            discard_folder(path)
        elif path.name != _LOCK:
            path.unlink(missing_ok=True)


@contextmanager
def held_folder(folder: Path) -> Iterator[None]:
    """Make ``folder`` if it is missing, sweep it, and keep it from other processes that would hold it too."""
    with disk_errors_explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = take(Path(os.path.realpath(folder)), certainly=False)
        if lock is None:
            raise InputError(f"another process is using '{folder}'; wait for it, or choose another output")
        try:
            sweep_below(folder)
            yield
        finally:
            os.close(lock)


def digest_of(*values: Any) -> str:
    """Return what a plan says of values that no file holds: equal digests, equal arrays and equal other values.

    >>> digest_of("a", np.arange(3)) == digest_of("a", np.arange(3)) != digest_of("a", np.arange(4))
    True
    """
    digest = hashlib.sha256()
    for value in values:
        described = (value.dtype, value.shape) if isinstance(value, np.ndarray) else value
        digest.update(repr(described).encode("utf-8", "surrogatepass"))
        if isinstance(value, np.ndarray):
            digest.update(np.ascontiguousarray(value).data)
    return digest.hexdigest()


def _workspace_of(output: Path, ending: str) -> Path:
    """Return the workspace of ``output``, which need not exist; raise :class:`InputError` if it cannot be used.

    What killed processes left that were making or removing it is swept.
    """
    check_name(output)
    folder = output.with_name(f"{output.name}{ending}")
    sweep(folder)
    _demand_ours(folder)
    return folder


def _demand_ours(folder: Path) -> None:
    """Raise :class:`InputError` if something is called ``folder`` that does not carry our mark, or that has links."""
    problem = _not_ours(folder)
    if problem is not None and os.path.lexists(folder):  # else another process has just removed it
        raise InputError(
            f"'{folder}' is where unfinished work is kept, but {problem}; move it away, or choose another output"
        )


def _not_ours(folder: Path) -> str | None:
    """Say why ``folder`` is no workspace; None if it is one, with nothing in it that leads elsewhere."""
    mark = folder / _LOCK
    if is_link(folder):
        return "it is a link"
    try:
        is_marked = not is_link(mark) and mark.is_file() and mark.stat().st_size == len(_MARK)
        if not is_marked or mark.read_bytes() != _MARK:
            return "psdvec did not make it, or an older version did"
    except (FileNotFoundError, PermissionError):
        return "it cannot be read"
    inner = (Path(place, name) for place, folders, names in os.walk(folder) for name in (*folders, *names))
    link = next((path for path in inner if is_link(path)), None)
    return None if link is None else f"'{link.name}' in it is a link"


def _hold(folder: Path) -> int:
    """Make ``folder`` if it is missing, and lock it; a process that had it before may be removing it just now."""
    while True:
        if not os.path.lexists(folder):
            with whole_folder(folder, existing="keep") as new:
                (new / _LOCK).write_bytes(_MARK)
        _demand_ours(folder)
        try:
            lock = hold(folder / _LOCK)
        except FileNotFoundError:
            continue
        if lock is None:
            raise InputError(f"another process is using '{folder}'; wait for it, or choose another output")
        return lock


def _holds_work(folder: Path) -> bool:
    """Say whether there is a file in ``folder`` that a later attempt could use."""
    files = {Path(place, name) for place, _, names in os.walk(folder) for name in names}
    return not files <= {folder / _LOCK, folder / PLAN}


def _keep_what_serves(folder: Path, plan: Any, progress: Progress) -> None:
    """Clear ``folder`` unless it was left by an interrupted run of the same plan, and is as it was left."""
    try:
        same = parse_json((folder / PLAN).read_text(encoding="utf-8")) == plan
    except (FileNotFoundError, ValueError):
        same = False
    damaged = find_damage(folder, besides=(PLAN, _LOCK)) if same else None
    if same and damaged is None:
        progress.say(f"resuming the work in '{folder}'")
        return
    if damaged is not None:
        progress.say(f"starting from scratch: '{damaged}' is not as it was written")
    elif any(path.name not in (PLAN, _LOCK) for path in folder.iterdir()):
        progress.say(
            f"starting from scratch: '{folder}' holds unfinished work for other input or other options"
        )
    clear(folder)
    with whole_file(folder / PLAN) as file:
        file.write(json.dumps(plan).encode())
