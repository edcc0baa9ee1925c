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
from typing import BinaryIO, cast

import numpy as np

from psdvec.errors import InputError, ResourceError, checked, demand_positive
from psdvec.formats.model2vec import MODEL2VEC
from psdvec.formats.npz import NPZ
from psdvec.formats.word2vec import BINARY, GLOVE, TEXT, BadRows, ReadingRules, VectorFormat
from psdvec.progress import LogProgress, Progress
from psdvec.storage.artefact import META, check_output, find_model
from psdvec.storage.files import check_name, replaced_file
from psdvec.text.streams import open_stream
from psdvec.vectors.embeddings import Embeddings, Format
from psdvec.vectors.model import read_model, write_model
from psdvec.vectors.neighbours import csr_of, rows_not_finite

MODEL = VectorFormat(
    "model", ("",), lambda path: (path / META).is_file(), lambda path, **_: read_model(path), write_model, check_output,
    is_folder=True,
)  # fmt: skip
TABLE: tuple[VectorFormat, ...] = (MODEL, TEXT, GLOVE, BINARY, NPZ, MODEL2VEC)
FORMATS = tuple(one.name for one in TABLE)
_COMPRESSED = (".gz", ".xz")
_NEVER_COMPRESSED = (".bz2", ".zst")
_SNIFFED = 1 << 16
_BUFFER = 1 << 18
_FASTTEXT = (793712314).to_bytes(4, "little")

__all__ = ["FORMATS", "BadRows", "Format", "VectorFormat", "choose_format", "load", "save"]


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
    path : a model folder, a Model2Vec folder, word2vec text or binary, GloVe text, or ``.npz``; or, if there is no such
        path, the name of an installed model
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
    path = find_model(path)
    demand_positive(limit, "limit")
    rules = ReadingRules(limit, bad_rows, None if scratch is None else Path(scratch))
    try:
        embeddings = _read(path, rules, progress)
    except MemoryError as error:
        raise ResourceError(
            f"the vectors of '{path}' do not fit into memory; convert them with psdvec convert into a model folder, "
            "which is mapped instead of read, or read fewer of them"
        ) from error
    embeddings = embeddings.with_text_keys()
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
    name = choose_format(path, format, overwrite=overwrite)
    chosen = next(one for one in TABLE if one.name == name)
    if spaces is not None:
        embeddings = without_spaces(embeddings, spaces)
    if csr_of(embeddings.vectors) is not None and chosen is not MODEL:
        raise InputError(
            f"sparse vectors can only be saved as a model folder, and '{path}' would be {chosen.name}; save them as a "
            "model"
        )
    demand_writable(embeddings)
    if chosen.is_folder:
        return chosen.write(embeddings, path, overwrite=overwrite)
    with replaced_file(path, overwrite=overwrite) as raw, _compressed(raw, path.suffix) as file:
        return chosen.write(embeddings, file)


def without_spaces(embeddings: Embeddings, spaces: str) -> Embeddings:
    """Return ``embeddings`` with ``spaces`` in place of each white space in their words.

    >>> import numpy as np
    >>> without_spaces(Embeddings(("new york",), np.ones((1, 2), np.float32)), "_").words
    ('new_york',)
    """
    embeddings = embeddings.with_text_keys()
    return replace(embeddings, words=tuple(spaces.join(re.split(r"\s", word)) for word in embeddings.words))


def demand_writable(embeddings: Embeddings) -> None:
    """Raise :class:`InputError` where no file can hold these vectors."""
    if len(embeddings.key_to_index) == 0:  # which refuses a word given twice
        raise InputError("there are no vectors to write; give embeddings with at least one word")
    if embeddings.dim == 0:
        raise InputError("the vectors have no dimensions, and no file can hold them; give some that have one")
    for name in ("counts", "deviations"):
        values = getattr(embeddings, name)
        wrong = [] if values is None else np.flatnonzero((values < 0) | np.isinf(values)).tolist()
        for i in wrong:
            raise InputError(
                f"{name} has {values[i]} for '{embeddings.words[i]}'; give each word a finite number from 0 on"
            )
    for i in rows_not_finite(embeddings.vectors):
        raise InputError(
            f"the vector of '{embeddings.words[i]}' holds a number that is not finite; leave out the word"
        )


def choose_format(path: str | Path, format: Format | None = None, *, overwrite: bool = False) -> Format:
    """Return the format that :func:`save` would write to ``path``; refuse what cannot be written there.

    >>> choose_format("vectors.txt.gz")
    'text'
    """
    path = Path(path)
    if path.name == "-":
        raise InputError(f"'{path}' cannot be the name of an output; give a file or folder to write to")
    check_name(path)
    by_name = {one.name: one for one in TABLE}
    if format is None:
        suffixes = [suffix for suffix in path.suffixes if suffix not in _COMPRESSED + _NEVER_COMPRESSED]
        ending = suffixes[-1] if suffixes else ""
        by_ending = {ending: one.name for one in TABLE for ending in one.endings}
        if ending not in by_ending:
            *others, last = filter(None, by_ending)
            raise InputError(
                f"the ending of '{path}' does not tell its format; end it with {', '.join(others)} or {last}, leave "
                f"the ending out for a model folder, or name the format, one of {', '.join(by_name)}"
            )
        format = cast(Format, by_ending[ending])
    elif format not in by_name:
        raise InputError(f"there is no format '{format}'; choose one of {', '.join(by_name)}")
    is_compressible = by_name[format].compressible
    if path.suffix in _NEVER_COMPRESSED or (path.suffix in _COMPRESSED and not is_compressible):
        raise InputError(
            f"'{path}' cannot be written compressed: only text and binary can, as .gz or .xz; leave out {path.suffix}"
        )
    by_name[format].check_output(path, overwrite=overwrite)
    return format


def _read(path: Path, rules: ReadingRules, progress: Progress) -> Embeddings:
    """Read a folder or file by the format that recognises it; explain why a file that people often try is refused."""
    if path.is_dir():
        for one in TABLE:
            if one.is_folder and one.recognises(path):
                return one.read(path, rules=rules, progress=progress)
        raise InputError(
            f"the folder '{path}' holds neither {META} nor tokenizer.json; give a folder of vectors"
        )
    with open_stream(path) as stream:
        source = io.BufferedReader(stream, _BUFFER)
        head = source.peek()[:_SNIFFED]
        if head[:1] == b"\x80" and head[1:2] <= b"\x05":
            raise InputError(
                f"{stream.name} is a Python pickle, which can run code when loaded; save the vectors again with "
                "gensim's save_word2vec_format"
            )
        if head.startswith(_FASTTEXT):
            raise InputError(
                f"{stream.name} is a fastText model with its n-grams; give the .vec file next to it"
            )
        for one in reversed(TABLE):  # text, which almost anything may look like, comes last
            if not one.is_folder and one.recognises(head):
                return one.read(source, rules=rules, progress=progress)
    found = f"it begins with {head[:30]!r}" if head else "it is empty"
    raise InputError(
        f"'{path}' is not a file of word vectors: {found}; give word2vec text or binary, GloVe text, or .npz"
    )


def _compressed(file: BinaryIO, suffix: str) -> BinaryIO:
    if suffix == ".gz":
        return cast(BinaryIO, gzip.GzipFile("", "wb", fileobj=file, mtime=0))
    if suffix == ".xz":
        return cast(BinaryIO, lzma.LZMAFile(file, "wb"))
    return file
