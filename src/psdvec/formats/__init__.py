"""Reading and writing vectors: one file or folder in, :class:`~psdvec.embeddings.Embeddings` out, and back.

Goes in: a path. The kind is recognised by content, never by name, and gzip, xz, bzip2 and Zstandard are
unpacked on the way. Comes out: embeddings. Writing goes to a temporary name that is renamed when complete;
no format of ours, and none that is read, can hold code (pickles are refused).
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias, cast

from psdvec.embeddings import Embeddings
from psdvec.errors import InputError
from psdvec.formats.model import read_model, write_model
from psdvec.formats.model2vec import is_model2vec, read_model2vec, write_model2vec
from psdvec.formats.npz import read_npz, write_npz
from psdvec.formats.rows import BadRows, Source
from psdvec.formats.word2vec import HEADER, looks_like_text, read_binary, read_text, write_binary, write_text
from psdvec.progress import LogProgress, Progress
from psdvec.resources import disk_errors_explained
from psdvec.store import META
from psdvec.streams import open_stream

Format: TypeAlias = Literal["model", "text", "glove", "binary", "npz", "model2vec"]

FORMATS: tuple[Format, ...] = ("model", "text", "glove", "binary", "npz", "model2vec")
_SUFFIXES: dict[str, Format] = {".txt": "text", ".vec": "text", ".bin": "binary", ".npz": "npz", "": "model"}
_SNIFFED = 1 << 16
_FASTTEXT = (793712314).to_bytes(4, "little")

__all__ = ["FORMATS", "BadRows", "Format", "load", "read_model", "save", "write_model"]


def load(
    path: str | Path,
    *,
    limit: int | None = None,
    bad_rows: BadRows = "refuse",
    progress: Progress = LogProgress(),
) -> Embeddings:
    """Read the vectors at ``path``, whatever format they are in.

    Parameters
    ----------
    path : a model folder, a Model2Vec folder, word2vec text or binary, GloVe text, or ``.npz``
    limit : read the first words only
    bad_rows : ``"refuse"`` a foreign file at its first bad row, or ``"skip"`` them and say how many

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> e = Embeddings(("a", "b"), np.eye(2, dtype=np.float32))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(e, f"{folder}/vectors.txt")
    ...     load(f"{folder}/vectors.txt").words
    ('a', 'b')
    """
    path = Path(path)
    if path.is_dir():
        embeddings = _load_folder(path)
    else:
        embeddings = _load_file(path, limit=limit, bad_rows=bad_rows, progress=progress)
    if limit is None or limit >= len(embeddings):
        return embeddings
    return embeddings.select(embeddings.words[:limit])


def save(
    embeddings: Embeddings,
    path: str | Path,
    *,
    format: Format | None = None,
    spaces: str | None = None,
    overwrite: bool = False,
) -> None:
    """Write ``embeddings`` to ``path``.

    Parameters
    ----------
    format : one of :data:`FORMATS`; without it, what the ending of ``path`` says: ``.txt`` and ``.vec`` text,
        ``.bin`` binary, ``.npz``, no ending a model folder; ``.gz`` or ``.xz`` after it compresses
    spaces : written in place of spaces in words, for formats that cannot carry them
    overwrite : replace what is at ``path``
    """
    path = Path(path)
    format = format or _format_by_name(path)
    if spaces is not None:
        embeddings = replace(embeddings, words=tuple(word.replace(" ", spaces) for word in embeddings.words))
    if len(embeddings.key_to_index) == 0:
        raise InputError("there are no vectors to write; give embeddings with at least one word")
    if path.suffix in (".gz", ".xz") and format not in ("text", "glove", "binary"):
        raise InputError(
            f"'{path}' would be compressed, which only text and binary are; leave {path.suffix} out"
        )
    if format == "model":
        return write_model(embeddings, path, overwrite=overwrite)
    if format == "model2vec":
        return write_model2vec(embeddings, path, overwrite=overwrite)
    with _replaced_file(path, overwrite=overwrite) as file:
        if format == "npz":
            write_npz(embeddings, file)
        elif format == "binary":
            write_binary(embeddings, file)
        else:
            write_text(embeddings, file, header=format == "text")
    return None


def _load_folder(path: Path) -> Embeddings:
    if (path / META).is_file():
        return read_model(path)
    if is_model2vec(path):
        return read_model2vec(path)
    raise InputError(f"the folder '{path}' holds neither {META} nor tokenizer.json; give a folder of vectors")


def _load_file(path: Path, *, limit: int | None, bad_rows: BadRows, progress: Progress) -> Embeddings:
    with open_stream(path) as stream:
        head = b""
        while len(head) < _SNIFFED and (more := stream.read(_SNIFFED - len(head))):
            head += more
        source = _Replayed(head, stream)
        if head.startswith(b"PK\x03\x04"):
            # A .npz has its directory at its end, so a compressed one is unpacked in memory.
            packed = stream.compression is not None
            with io.BytesIO(source.read_all()) if packed else path.open("rb") as file:
                return read_npz(file, name=stream.name)
        _refuse_foreign(head, stream.name)
        if looks_like_text(head):
            return read_text(source, limit=limit, bad_rows=bad_rows, progress=progress)
        if HEADER.match(head):
            return read_binary(source, limit=limit, bad_rows=bad_rows, progress=progress)
    raise InputError(
        f"'{path}' is not a file of word vectors: it begins with {head[:30]!r}; "
        "give word2vec text or binary, GloVe text, or .npz"
    )


def _refuse_foreign(head: bytes, name: str) -> None:
    """Name the files people try that are refused for a reason."""
    if head[:1] == b"\x80" and head[1:2] <= b"\x05":
        raise InputError(
            f"{name} is a Python pickle, which can run code when loaded; write it anew with gensim's "
            "save_word2vec_format"
        )
    if head.startswith(_FASTTEXT):
        raise InputError(f"{name} is a model of fastText with its n-grams; give the .vec file beside it")


class _Replayed:
    """A stream whose beginning was read already."""

    def __init__(self, head: bytes, stream: Source) -> None:
        self._head, self._stream = head, stream

    @property
    def name(self) -> str:
        return self._stream.name

    @property
    def raw_position(self) -> int:
        return self._stream.raw_position

    @property
    def raw_size(self) -> int | None:
        return self._stream.raw_size

    def read(self, size: int) -> bytes:
        if self._head:
            taken, self._head = self._head[:size], self._head[size:]
            return taken
        return self._stream.read(size)

    def read_all(self) -> bytes:
        return b"".join(iter(lambda: self.read(1 << 22), b""))


def _format_by_name(path: Path) -> Format:
    suffixes = [suffix for suffix in path.suffixes if suffix not in (".gz", ".xz")]
    ending = suffixes[-1] if suffixes else ""
    if ending not in _SUFFIXES:
        raise InputError(
            f"the ending of '{path}' tells no format; end it with .txt, .vec, .bin or .npz, or say --to"
        )
    return _SUFFIXES[ending]


@contextmanager
def _replaced_file(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Open a temporary file that takes the place of ``path`` when the block ends without an error."""
    if path.exists() and not (overwrite and path.is_file()):
        raise InputError(f"'{path}' exists already; choose another output name, or say --overwrite")
    temporary = path.with_name(f".{path.name}.new-{os.getpid()}")
    with disk_errors_explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with _open_for_writing(temporary, path.suffix) as file:
                yield file
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def _open_for_writing(path: Path, suffix: str) -> BinaryIO:
    if suffix == ".gz":
        return cast(BinaryIO, gzip.GzipFile(path, "wb", mtime=0))
    if suffix == ".xz":
        return cast(BinaryIO, lzma.LZMAFile(path, "wb"))
    return path.open("wb")
