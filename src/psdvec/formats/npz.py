"""NumPy's ``.npz``: one file that holds everything and that NumPy alone can read.

Ours holds ``vectors`` (n, d) float32, ``words`` (the UTF-8 bytes of all words, uint8), ``word_offsets`` (n + 1) and,
where known, ``counts`` and ``deviations``. A ``.npz`` of other programs with a matrix and an array of strings is read
too; pickled objects never are. Arrays that are not compressed are mapped into memory.
"""

from __future__ import annotations

import io
import struct
import sys
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from psdvec.arrays import Array
from psdvec.counts.vocabulary import WordList
from psdvec.errors import InputError
from psdvec.formats.word2vec import ReadingRules, Source, VectorFormat, keep_good_rows
from psdvec.progress import Progress
from psdvec.storage.artefact import ZIP_DAMAGE, map_numbers, read_header
from psdvec.vectors.embeddings import Embeddings

_MATRICES = ("vectors", "embeddings", "matrix", "wv")
_WORDS = ("words", "vocab", "tokens", "vocabulary", "index_to_key")
_ENDING = ".npy"
_CHUNK = 1 << 20


def write_npz(embeddings: Embeddings, file: BinaryIO) -> None:
    """Write ``embeddings`` to an open file."""
    packed = WordList.pack(embeddings.words)
    arrays: dict[str, Any] = {
        "vectors": embeddings.vectors, "words": packed.blob, "word_offsets": packed.offsets,
        "counts": embeddings.counts, "deviations": embeddings.deviations,
    }  # fmt: skip
    np.savez(file, **{name: array for name, array in arrays.items() if array is not None})


def read_npz(source: Source, *, rules: ReadingRules, progress: Progress) -> Embeddings:
    """Read a ``.npz``; its directory is at its end, so that one which cannot be mapped is read into memory."""
    name, file = source.name, source.raw.path or io.BytesIO(source.read())
    try:
        with zipfile.ZipFile(file) as archive:
            arrays = {
                member.filename.removesuffix(_ENDING): _read_array(archive, member, file)
                for member in archive.infolist()
                if member.filename.endswith(_ENDING)
            }
    except ZIP_DAMAGE as error:
        raise InputError(f"{name} is not a complete .npz of plain arrays ({error}); make it again") from error
    matrix = next((arrays[name] for name in _MATRICES if name in arrays), None)
    words = next((arrays[name] for name in _WORDS if name in arrays), None)
    if matrix is None or words is None:
        raise InputError(
            f"{name} holds the arrays {sorted(arrays)}, and vectors and words are not among them; "
            "name them 'vectors' and 'words'"
        )
    found = _read_words(name, words, arrays)
    embeddings = Embeddings(found, matrix, arrays.get("counts"), arrays.get("deviations"))
    return keep_good_rows(embeddings, name, rules.bad_rows, progress)


def _read_words(name: str, words: Array, arrays: dict[str, Array]) -> tuple[str, ...]:
    if words.dtype == np.uint8 and "word_offsets" in arrays:
        return WordList(words, arrays["word_offsets"]).unpack()
    if words.dtype.kind == "U" and words.ndim == 1:
        points = np.ascontiguousarray(words).view(np.dtype("u4").newbyteorder(words.dtype.byteorder))
        if points.max(initial=0) > sys.maxunicode:
            raise InputError(f"the words of {name} hold what is no letter; make it again")
        return tuple(words.tolist())
    raise InputError(
        f"the words of {name} are of type {words.dtype} and shape {words.shape}; store them as a list of strings"
    )


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, source: Path | BinaryIO) -> Array:
    """Return one array, mapped into memory if it is stored uncompressed in a file."""
    with archive.open(member) as stream:
        header = read_header(stream)
        size = member.file_size - header.start
        if isinstance(source, Path) and member.compress_type == zipfile.ZIP_STORED:
            while stream.read(_CHUNK):  # at its end, the archive compares the checksum
                pass
            return map_numbers(source, header, _data_start(source, member) + header.start, size)
        numbers = stream.read()
    if len(numbers) != header.bytes:
        raise ValueError(f"'{member.filename}' is cut off")
    return np.frombuffer(numbers, header.dtype).reshape(header.shape, order=header.order)


def _data_start(path: Path, member: zipfile.ZipInfo) -> int:
    """Return where a member's bytes begin: after its own header, which may differ from that in the directory."""
    with path.open("rb") as file:
        file.seek(member.header_offset)
        name, extra = struct.unpack("<26xHH", file.read(30))
    return member.header_offset + 30 + int(name) + int(extra)


NPZ = VectorFormat("npz", (".npz",), lambda head: head.startswith(b"PK\x03\x04"), read_npz, write_npz)
