"""The folder that model2vec and sentence-transformers load: tensors, a tokenizer, and their settings.

It holds ``model.safetensors``, ``tokenizer.json`` (one token per word), ``config.json``, ``modules.json`` and
``README.md``. Those programs take the mean of the words' vectors as the vector of a text, without the words that are
not in the vocabulary.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.errors import InputError
from psdvec.resources import disk_errors_explained
from psdvec.storage.atomic import whole_folder
from psdvec.storage.tensors import map_safetensors, write_safetensors
from psdvec.vectors.embeddings import Embeddings

UNKNOWN = "[UNK]"
_TENSORS = ("embeddings", "embedding.weight")
_CARD = """---
library_name: model2vec
tags: [embeddings, static-embeddings, sentence-transformers, psdvec]
---

# Word vectors made by psdvec

{words} words, {dim} dimensions. Load them with `StaticModel.from_pretrained(folder)` of model2vec,
or with `SentenceTransformer(folder)` of sentence-transformers.
"""


def is_model2vec(path: Path) -> bool:
    """Say whether ``path`` is a folder of this kind."""
    return (
        any((folder / "tokenizer.json").is_file() for folder in _folders(path))
        and not (path / "meta.json").is_file()
    )


def check_model2vec_output(path: Path, *, overwrite: bool) -> None:
    """Raise :class:`InputError` if a folder of this kind must not be written to ``path``."""
    if path.exists() and not (overwrite and is_model2vec(path)):
        raise InputError(f"'{path}' exists already; choose another output name, or use overwrite=True")


def write_model2vec(embeddings: Embeddings, path: str | Path, *, overwrite: bool = False) -> None:
    """Write ``embeddings`` as a Model2Vec folder at ``path``.

    Texts are lower-cased before they are looked up if every word of the vocabulary is lower-case.
    """
    path = Path(path)
    check_model2vec_output(path, overwrite=overwrite)
    spaced = next((word for word in embeddings.words if not word or word.split() != [word]), None)
    if spaced is not None:
        raise InputError(
            f"the word {spaced!r} is empty or holds a space, and a Model2Vec folder looks up single words; "
            'write another character instead of spaces, as with spaces="_"'
        )
    with disk_errors_explained(path), whole_folder(path) as folder:
        _write_files(embeddings, folder)


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
    tokens, unknown = _read_tokenizer(folder / "tokenizer.json")
    vectors = matrix if "mapping" not in tensors else matrix[tensors["mapping"]]
    if "weights" in tensors:
        vectors = vectors * tensors["weights"][:, None]
    if len(tokens) != len(vectors):
        raise InputError(
            f"'{path}' is damaged: it has {len(tokens)} tokens and {len(vectors)} vectors; get it again"
        )
    if unknown == len(tokens) - 1 and not np.any(vectors[unknown]):
        tokens, vectors = tokens[:-1], vectors[:-1]
    return Embeddings(tuple(tokens), np.asarray(vectors, dtype=np.float32))


def _folders(path: Path) -> tuple[Path, Path]:
    return path, path / "0_StaticEmbedding"


def _write_files(embeddings: Embeddings, folder: Path) -> None:
    unknown = [] if UNKNOWN in embeddings else [UNKNOWN]
    write_safetensors(
        folder / "model.safetensors", {"embeddings": embeddings.vectors}, zero_rows=len(unknown)
    )
    _write_json(folder / "tokenizer.json", _tokenizer([*embeddings.words, *unknown]))
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
    (folder / "README.md").write_text(
        _CARD.format(words=f"{len(embeddings):,}", dim=embeddings.dim), encoding="utf-8"
    )


def _tokenizer(words: list[str]) -> dict[str, Any]:
    """Return the settings of a tokenizer that splits off punctuation and knows only ``words``."""
    lower = all(word == word.lower() for word in words if word != UNKNOWN)
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"} if lower else None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: i for i, word in enumerate(words)},
            "unk_token": UNKNOWN,
        },
    }


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _read_tokenizer(path: Path) -> tuple[list[str], int | None]:
    """Return the tokens in the order of their ids, and the id of the unknown token."""
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
        vocabulary = settings["model"]["vocab"]
        if isinstance(vocabulary, list):  # Unigram: pairs of a token and its score
            vocabulary = {token: i for i, (token, _) in enumerate(vocabulary)}
        vocabulary = dict(vocabulary)
        for added in settings.get("added_tokens") or []:
            vocabulary.setdefault(added["content"], added["id"])
        tokens = sorted(vocabulary, key=vocabulary.__getitem__)
        unknown = settings["model"].get("unk_token")
        return tokens, vocabulary.get(unknown)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"'{path}' does not describe a tokenizer ({error!r}); get it again") from error
