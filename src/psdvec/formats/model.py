"""The folder in which psdvec keeps its own vectors, mapped into memory when it is opened.

It is an artefact of kind ``embeddings`` (:mod:`psdvec.storage.artefact`): the vectors in ``vectors.safetensors`` or, if
they are sparse, as the arrays of a CSR matrix; words, counts and deviations in ``.npy`` files; and any further arrays
that the writer adds, such as the scales of a fit (:mod:`psdvec.solver.model`). Opening it reads only the words.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.arrays import Array
from psdvec.counts.packed_words import WordList
from psdvec.counts.vocabulary import read_words
from psdvec.errors import StoreError
from psdvec.formats.tensors import map_safetensors, write_safetensors
from psdvec.storage.artefact import Artefact, create_artefact, open_artefact
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.sparse import csr_of, sparse_vectors

KIND = "embeddings"
VERSION = 1
VECTORS = "vectors.safetensors"
SPARSE = ("data", "indices", "indptr")  # instead of it where vectors are sparse: the arrays of a CSR matrix


def write_model(
    embeddings: Embeddings,
    path: str | Path,
    *,
    parameters: Mapping[str, Any] | None = None,
    sources: list[dict[str, Any]] | None = None,
    arrays: Mapping[str, Array] | None = None,
    overwrite: bool = False,
) -> None:
    """Write ``embeddings`` as a model folder at ``path``.

    Parameters
    ----------
    parameters, sources : how the vectors were made and from what, kept in ``meta.json``
    arrays : further one-dimensional arrays to keep with the vectors, by name
    overwrite : replace an artefact at ``path``

    Examples
    --------
    >>> import tempfile
    >>> e = Embeddings(("a", "b"), np.eye(2, dtype=np.float32))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(e, f"{folder}/model")
    ...     read_model(f"{folder}/model").words
    ('a', 'b')
    """
    packed = WordList.pack(embeddings.words)
    named: dict[str, Array] = {"words": packed.blob, "word_offsets": packed.offsets}
    if embeddings.counts is not None:
        named["word_counts"] = embeddings.counts
    if embeddings.deviations is not None:
        named["deviations"] = embeddings.deviations
    csr = csr_of(embeddings.vectors)
    sparse = {} if csr is None else {"columns": embeddings.dim}
    with create_artefact(
        path,
        kind=KIND,
        version=VERSION,
        parameters={**(parameters or {}), **sparse},
        sources=sources or [],
        overwrite=overwrite,
    ) as writer:
        if csr is None:
            write_safetensors(writer.folder / VECTORS, {"vectors": embeddings.vectors})
            writer.add_file(VECTORS)
        else:
            for name in SPARSE:
                writer.add_array(name, getattr(csr, name))
        for name, array in {**named, **(arrays or {})}.items():
            writer.add_array(name, array)


def read_model(path: str | Path | Artefact) -> Embeddings:
    """Open the model folder at ``path``; its vectors stay on disk until they are used."""
    artefact = path if isinstance(path, Artefact) else open_artefact(path, kind=KIND, version=VERSION)
    words = read_words(artefact)
    vectors = _sparse_of(artefact) if f"{SPARSE[0]}.npy" in artefact.files else _dense_of(artefact)
    if vectors is None or vectors.shape[:1] != (len(words),):
        raise StoreError(f"'{artefact.path}' is damaged: it does not hold one vector per word; make it again")
    optional = {
        field: np.asarray(artefact.array(name))
        for field, name in (("counts", "word_counts"), ("deviations", "deviations"))
        if f"{name}.npy" in artefact.files
    }
    return Embeddings(words, vectors, **optional)


def _dense_of(artefact: Artefact) -> Array | None:
    return map_safetensors(artefact.file(VECTORS)).get("vectors")


def _sparse_of(artefact: Artefact) -> Array | None:
    from scipy import sparse  # slow to import, and few vectors are sparse

    data, indices, indptr = (artefact.array(name) for name in SPARSE)
    try:
        width = int(artefact.parameters["columns"])
        matrix = sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, width))
        matrix.check_format()
    except (KeyError, TypeError, ValueError):
        return None
    return sparse_vectors(matrix)
