"""NumPy's ``.npz``: one file that holds everything and that any NumPy reads.

Goes in: :class:`~psdvec.embeddings.Embeddings`. Comes out: a ``.npz`` with ``vectors`` (n, d) float32,
``words`` (the UTF-8 bytes of all words, uint8), ``word_offsets`` (n + 1), and where known ``counts`` and
``deviations``, and back. A ``.npz`` of somebody else's with a matrix and an array of strings is read too;
pickled objects never are.
"""

from __future__ import annotations

import zipfile
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from psdvec.embeddings import Embeddings
from psdvec.errors import InputError
from psdvec.formats.packing import pack_words, unpack_words

_MATRICES = ("vectors", "embeddings", "matrix", "wv")
_WORDS = ("words", "vocab", "tokens", "vocabulary", "index_to_key")


def write_npz(embeddings: Embeddings, file: BinaryIO) -> None:
    """Write ``embeddings`` to an open file."""
    blob, offsets = pack_words(embeddings.words)
    arrays: dict[str, Any] = {"vectors": embeddings.vectors, "words": blob, "word_offsets": offsets}
    if embeddings.counts is not None:
        arrays["counts"] = embeddings.counts
    if embeddings.deviations is not None:
        arrays["deviations"] = embeddings.deviations
    np.savez(file, **arrays)


def read_npz(file: BinaryIO, *, name: str) -> Embeddings:
    """Read a ``.npz`` from an open file; messages call it ``name``."""
    try:
        with np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(f"{name} is not a whole .npz of plain arrays ({error}); make it again") from error
    matrix = next((arrays[name] for name in _MATRICES if name in arrays), None)
    words = next((arrays[name] for name in _WORDS if name in arrays), None)
    if matrix is None or words is None:
        raise InputError(
            f"{name} holds the arrays {sorted(arrays)}, none of which are vectors and words; "
            "name them 'vectors' and 'words'"
        )
    optional = {name: arrays[name] for name in ("counts", "deviations") if name in arrays}
    return Embeddings(_read_words(name, words, arrays), matrix, **optional)


def _read_words(name: str, words: npt.NDArray[Any], arrays: dict[str, npt.NDArray[Any]]) -> tuple[str, ...]:
    if words.dtype == np.uint8 and "word_offsets" in arrays:
        return unpack_words(words, arrays["word_offsets"])
    if words.dtype.kind == "U":
        return tuple(words.tolist())
    raise InputError(f"the words of {name} are of type {words.dtype}; store them as an array of strings")
