"""The folder that model2vec and sentence-transformers load: tensors, a tokenizer, and their settings.

It holds ``model.safetensors``, ``tokenizer.json`` (one token per word), ``config.json``, ``modules.json`` and
``README.md``. Those programs take the mean of the words' vectors as the vector of a text, without the words that are
not in the vocabulary.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.arrays import Array
from psdvec.counts.vocabulary import WordList
from psdvec.errors import InputError
from psdvec.formats.tokenizer_json import (
    describe_tokenizer,
    is_unknown_token,
    read_tokens,
    unknown_token,
    unreachable_words,
)
from psdvec.storage.arrays import map_safetensors, write_safetensors
from psdvec.storage.files import check_name, replaced_folder, restore
from psdvec.vectors.embeddings import Embeddings

_TENSORS = ("embeddings", "embedding.weight")
_FILES = {"model.safetensors", "tokenizer.json", "config.json", "modules.json", "README.md"}
_TITLE = "# Word vectors made by psdvec"
_CARD = f"""---
library_name: model2vec
tags: [embeddings, static-embeddings, sentence-transformers, psdvec]
---

{_TITLE}

{{words}} words, {{dim}} dimensions. Load them with `StaticModel.from_pretrained(folder)` of model2vec,
or with `SentenceTransformer(folder)` of sentence-transformers.

{{reach}}
"""


def is_model2vec(path: Path) -> bool:
    """Say whether ``path`` is a folder of this kind."""
    return (
        any((folder / "tokenizer.json").is_file() for folder in _folders(path))
        and not (path / "meta.json").is_file()
    )


def check_model2vec_output(path: Path, *, overwrite: bool) -> None:
    """Raise :class:`InputError` if a folder of this kind must not be written to ``path``."""
    check_name(path)
    restore(path)
    if not os.path.lexists(path):
        return
    card = path / "README.md"
    if not card.is_file() or _TITLE.encode() not in card.read_bytes() or not is_model2vec(path):
        raise InputError(
            f"'{path}' exists and is not a Model2Vec folder of psdvec; move it away, or choose another output name"
        )
    foreign = next(
        (each for each in sorted(path.iterdir()) if each.name not in _FILES or each.is_dir()), None
    )
    if foreign is not None:
        raise InputError(
            f"'{path}' exists and holds '{foreign.name}', which psdvec did not write; move that away, or choose "
            "another output name"
        )
    if not overwrite:
        raise InputError(f"'{path}' exists already; choose another output name, or use overwrite=True")


def write_model2vec(embeddings: Embeddings, path: str | Path, *, overwrite: bool = False) -> None:
    """Write ``embeddings`` as a Model2Vec folder at ``path``.

    Texts are cut into words as the vectors' own text was; where that is not known, at blanks and around punctuation,
    and in lower case if every word of the vocabulary is. ``README.md`` in the folder says how many words cannot be
    found in a text.
    """
    path = Path(path)
    check_model2vec_output(path, overwrite=overwrite)
    spaced = next((word for word in embeddings.words if not word or word.split() != [word]), None)
    if spaced is not None:
        raise InputError(
            f"the word {spaced!r} is empty or holds a space, and a Model2Vec folder looks up single words; "
            'write another character instead of spaces, as with spaces="_"'
        )
    WordList.pack(embeddings.words)  # refuses a word that is no text
    with replaced_folder(path, overwrite=overwrite) as folder:
        _write_files(embeddings, folder)
        if overwrite:
            check_model2vec_output(
                path, overwrite=True
            )  # again: something may have been put into it meanwhile


def read_model2vec(path: str | Path) -> Embeddings:
    """Read a static folder of Model2Vec or sentence-transformers; a quantised vocabulary is expanded."""
    path = Path(path)
    folder = next(folder for folder in _folders(path) if (folder / "tokenizer.json").is_file())
    tensors = map_safetensors(folder / "model.safetensors")
    matrix = next((tensors[name] for name in _TENSORS if name in tensors), None)
    if matrix is None or matrix.ndim != 2:
        raise InputError(
            f"'{folder / 'model.safetensors'}' holds {sorted(tensors)} but no matrix 'embeddings'; "
            "give a folder that model2vec made"
        )
    tokens = read_tokens(folder / "tokenizer.json")
    words = tokens.words
    vectors = _expand(matrix, tensors.get("mapping"), tensors.get("weights"), len(words), path)
    added = tokens.unknown == len(words) - 1 and is_unknown_token(words[-1])
    if added and np.count_nonzero(vectors[-1]) == 0:
        words, vectors = words[:-1], vectors[:-1]
    return Embeddings(tuple(words), vectors, tokenizer=tokens.tokenizer)


def _expand(matrix: Array, mapping: Array | None, weights: Array | None, n: int, path: Path) -> Array:
    """Return the vectors of ``n`` tokens: the rows that ``mapping`` names, each times its weight."""
    found = [
        len(each)
        for each in (matrix if mapping is None else mapping, weights)
        if each is not None and each.ndim
    ]
    if any(length != n for length in found):
        raise InputError(
            f"'{path}' is damaged: it has {n} tokens and {' or '.join(map(str, found))} vectors; get it again"
        )
    if mapping is not None:
        if (
            mapping.ndim != 1
            or mapping.dtype.kind not in "iu"
            or not ((mapping >= 0) & (mapping < len(matrix))).all()
        ):
            raise InputError(
                f"'{path}' is damaged: its mapping names other rows than the {len(matrix)} that it has; get it again"
            )
        matrix = matrix[mapping]
    if weights is None:
        return matrix
    if weights.ndim != 1 or weights.dtype.kind != "f":
        raise InputError(f"'{path}' is damaged: it does not hold one weight per token; get it again")
    with np.errstate(over="ignore", invalid="ignore"):
        return matrix * weights[:, None]


def _folders(path: Path) -> tuple[Path, Path]:
    return path, path / "0_StaticEmbedding"


def _write_files(embeddings: Embeddings, folder: Path) -> None:
    write_safetensors(folder / "model.safetensors", {"embeddings": embeddings.vectors}, zero_rows=1)
    tokens = [*embeddings.words, unknown_token(embeddings)]
    _write_json(folder / "tokenizer.json", describe_tokenizer(tokens, embeddings.tokenizer))
    _write_json(
        folder / "config.json",
        {
            "model_type": "model2vec",
            "architectures": ["StaticModel"],
            "hidden_dim": embeddings.dim,
            "normalize": False,
            "embedding_dtype": "float32",
        },
    )
    module = {"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"}
    _write_json(folder / "modules.json", [module])
    card = _CARD.format(words=f"{len(embeddings):,}", dim=embeddings.dim, reach=_describe_reach(embeddings))
    (folder / "README.md").write_text(card, encoding="utf-8")


def _describe_reach(embeddings: Embeddings) -> str:
    """Say how texts are cut there, and which words cannot be found in them."""
    how = (
        "at blanks and around punctuation"
        if embeddings.tokenizer is None
        else f"by psdvec's tokenizer `{embeddings.tokenizer}`, as the text of the vectors was"
    )
    lost = unreachable_words(embeddings.words, embeddings.tokenizer)
    found = (
        f"{len(lost):,} of the words cannot be found in a text"
        if lost
        else "Every word can be found in a text"
    )
    examples = f", such as {', '.join(f'`{word}`' for word in lost[:5])}" if lost else ""
    return f"Texts are cut into words {how}. {found}{examples}."


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
