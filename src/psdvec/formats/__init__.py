"""Reading and writing vectors in every format that psdvec knows.

:func:`load` recognises a format by its content, never by its name, and decompresses gzip, xz, bzip2 and Zstandard on
the way. :func:`save` writes to a temporary name, which is renamed once the output is complete. None of the formats can
hold code; pickles are refused.
"""

from __future__ import annotations

import gzip
import io
import lzma
import re
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias, cast

from psdvec.errors import InputError, ResourceError, checked, demand_positive
from psdvec.formats.model2vec import check_model2vec_output, is_model2vec, read_model2vec, write_model2vec
from psdvec.formats.npz import read_npz, write_npz
from psdvec.formats.word2vec import (
    HEADER,
    BadRows,
    ReadingRules,
    keep_good_rows,
    looks_like_text,
    read_binary,
    read_text,
    write_binary,
    write_text,
)
from psdvec.progress import LogProgress, Progress
from psdvec.storage.artefact import META, check_output
from psdvec.storage.files import check_file_output, check_name, replaced_file
from psdvec.text.streams import open_stream
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.model import read_model, write_model
from psdvec.vectors.neighbours import rows_not_finite
from psdvec.vectors.sparse import csr_of

Format: TypeAlias = Literal["model", "text", "glove", "binary", "npz", "model2vec"]

FORMATS: tuple[Format, ...] = ("model", "text", "glove", "binary", "npz", "model2vec")
_SUFFIXES: dict[str, Format] = {".txt": "text", ".vec": "text", ".bin": "binary", ".npz": "npz", "": "model"}
_COMPRESSED = (".gz", ".xz")
_NEVER_COMPRESSED = (".bz2", ".zst")
_SNIFFED = 1 << 16
_FASTTEXT = (793712314).to_bytes(4, "little")

__all__ = ["FORMATS", "BadRows", "Format", "choose_format", "load", "save"]


@checked
def load(
    path: str | Path,
    *,
    limit: int | None = None,
    bad_rows: BadRows = "refuse",
    scratch: str | Path | None = None,
    progress: Progress = LogProgress(),
) -> Embeddings:
    """Read the vectors at ``path``, whatever format they are in.

    Parameters
    ----------
    path : a model folder, a Model2Vec folder, word2vec text or binary, GloVe text, or ``.npz``
    limit : read only this many words, from the first
    bad_rows : ``"refuse"`` a foreign file at its first bad row, or ``"skip"`` bad rows and say how many there were
    scratch : folder for vectors that are larger than memory; the vectors of text and binary files, which cannot be
        mapped as they are, are kept there in a file that disappears with the program

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
    demand_positive(limit, "limit")
    rules = ReadingRules(limit, bad_rows, None if scratch is None else Path(scratch))
    try:
        embeddings = (
            _load_folder(path, rules, progress) if path.is_dir() else _load_file(path, rules, progress)
        )
    except MemoryError as error:
        raise ResourceError(
            f"the vectors of '{path}' do not fit into memory; convert them with psdvec convert into a model folder, "
            "which is mapped instead of read, or read fewer of them"
        ) from error
    return embeddings if limit is None else embeddings.take(slice(limit))


@checked
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
    format : one of :data:`FORMATS`; if None, the ending of ``path`` decides: ``.txt`` and ``.vec`` are text, ``.bin``
        is binary, ``.npz`` is itself, and no ending is a model folder; a further ``.gz`` or ``.xz`` compresses
    spaces : what to write in place of white space in words, for formats that cannot hold them
    overwrite : replace what is at ``path``
    """
    path = Path(path)
    format = choose_format(path, format, overwrite=overwrite)
    if spaces is not None:
        embeddings = replace(
            embeddings, words=tuple(spaces.join(re.split(r"\s", word)) for word in embeddings.words)
        )
    if csr_of(embeddings.vectors) is not None and format != "model":
        raise InputError(
            f"sparse vectors can only be saved as a model folder, and '{path}' would be {format}; save them as a model"
        )
    _refuse_unwritable(embeddings)
    if format == "model":
        return write_model(embeddings, path, overwrite=overwrite)
    if format == "model2vec":
        return write_model2vec(embeddings, path, overwrite=overwrite)
    with replaced_file(path, overwrite=overwrite) as raw, _compressed(raw, path.suffix) as file:
        if format == "npz":
            write_npz(embeddings, file)
        elif format == "binary":
            write_binary(embeddings, file)
        else:
            write_text(embeddings, file, header=format == "text")
    return None


def choose_format(path: str | Path, format: Format | None = None, *, overwrite: bool = False) -> Format:
    """Return the format that :func:`save` would write to ``path``; refuse what cannot be written there.

    >>> choose_format("vectors.txt.gz")
    'text'
    """
    path = Path(path)
    if path.name == "-":
        raise InputError(f"'{path}' cannot be the name of an output; give a file or folder to write to")
    check_name(path)
    if format is not None and format not in FORMATS:
        raise InputError(f"there is no format '{format}'; choose one of {', '.join(FORMATS)}")
    format = format or _format_by_name(path)
    streamed = format in ("text", "glove", "binary")
    if path.suffix in _NEVER_COMPRESSED or (path.suffix in _COMPRESSED and not streamed):
        raise InputError(
            f"'{path}' cannot be written compressed: only text and binary can, as .gz or .xz; leave out {path.suffix}"
        )
    if format == "model":
        check_output(path, overwrite=overwrite)
    elif format == "model2vec":
        check_model2vec_output(path, overwrite=overwrite)
    else:
        check_file_output(path, overwrite=overwrite)
    return format


def _refuse_unwritable(embeddings: Embeddings) -> None:
    """Refuse what could not be read back: no words, a word given twice, numbers that are not finite."""
    if len(embeddings.key_to_index) == 0:
        raise InputError("there are no vectors to write; give embeddings with at least one word")
    for i in rows_not_finite(embeddings.vectors):
        raise InputError(
            f"the vector of '{embeddings.words[i]}' holds a number that is not finite; leave out the word"
        )


def _load_folder(path: Path, rules: ReadingRules, progress: Progress) -> Embeddings:
    if (path / META).is_file():
        return read_model(path)
    if is_model2vec(path):
        return keep_good_rows(read_model2vec(path), f"'{path}'", rules.bad_rows, progress)
    raise InputError(f"the folder '{path}' holds neither {META} nor tokenizer.json; give a folder of vectors")


def _load_file(path: Path, rules: ReadingRules, progress: Progress) -> Embeddings:
    with open_stream(path) as stream:
        source = io.BufferedReader(stream, _SNIFFED)
        head = source.peek()
        if head.startswith(b"PK\x03\x04"):
            # The directory of a .npz is at its end, so one that arrives as a stream is read into memory.
            streamed = stream.compression is not None or not path.is_file()
            embeddings = read_npz(io.BytesIO(source.read()) if streamed else path, name=stream.name)
            return keep_good_rows(embeddings, stream.name, rules.bad_rows, progress)
        _refuse_foreign(head, stream.name)
        if looks_like_text(head):
            return read_text(source, rules=rules, progress=progress)
        if HEADER.match(head):
            return read_binary(source, rules=rules, progress=progress)
    found = f"it begins with {head[:30]!r}" if head else "it is empty"
    raise InputError(
        f"'{path}' is not a file of word vectors: {found}; give word2vec text or binary, GloVe text, or .npz"
    )


def _refuse_foreign(head: bytes, name: str) -> None:
    """Explain why a file that people often try is refused."""
    if head[:1] == b"\x80" and head[1:2] <= b"\x05":
        raise InputError(
            f"{name} is a Python pickle, which can run code when loaded; save the vectors again with gensim's "
            "save_word2vec_format"
        )
    if head.startswith(_FASTTEXT):
        raise InputError(f"{name} is a fastText model with its n-grams; give the .vec file next to it")


def _format_by_name(path: Path) -> Format:
    suffixes = [suffix for suffix in path.suffixes if suffix not in _COMPRESSED + _NEVER_COMPRESSED]
    ending = suffixes[-1] if suffixes else ""
    if ending not in _SUFFIXES:
        raise InputError(
            f"the ending of '{path}' does not tell its format; end it with .txt, .vec, .bin or .npz, leave the ending "
            f"out for a model folder, or name the format, one of {', '.join(FORMATS)}"
        )
    return _SUFFIXES[ending]


def _compressed(file: BinaryIO, suffix: str) -> BinaryIO:
    if suffix == ".gz":
        return cast(BinaryIO, gzip.GzipFile("", "wb", fileobj=file, mtime=0))
    if suffix == ".xz":
        return cast(BinaryIO, lzma.LZMAFile(file, "wb"))
    return file
