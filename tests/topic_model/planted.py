"""A small world with topics that are known: words around a few directions, and documents that draw from them."""

from __future__ import annotations

import numpy as np

from psdvec.progress import SilentProgress
from psdvec.topic_model.documents import Documents, choose_words, read_documents
from psdvec.topic_model.learn import Space
from psdvec.vectors.embeddings import Embeddings

SILENT = SilentProgress()
NAMES = ("farm", "music", "bank", "sea")
WORDS = 8  # of each topic


def planted_vectors(*, topics: int = 4, dim: int = 12, extra: int = 2, seed: int = 0) -> Embeddings:
    """Return vectors of words such as ``farm3``, close to the direction of their topic, and of common words.

    The last ``extra`` words of each topic are never drawn for documents.
    """
    rng = np.random.default_rng(seed)
    middles = np.linalg.qr(rng.standard_normal((dim, dim)))[0][:topics]
    words, rows = [], []
    for name, middle in zip(NAMES, middles, strict=False):
        for i in range(WORDS + extra):
            words.append(f"{name}{i}" if i < WORDS else f"{name}new{i - WORDS}")
            rows.append(middle + 0.25 * rng.standard_normal(dim) / np.sqrt(dim))
    for i in range(WORDS):
        words.append(f"the{i}")
        rows.append(0.3 * rng.standard_normal(dim))
    counts = np.arange(len(words), 0, -1) * 10
    return Embeddings(tuple(words), np.array(rows, dtype=np.float32), counts, tokenizer="whitespace")


def planted_texts(*, topics: int = 4, documents: int = 120, length: int = 30, seed: int = 0) -> list[str]:
    """Return texts; document i is about topic ``i % topics``, with a quarter of common words."""
    rng = np.random.default_rng(seed)
    texts = []
    for i in range(documents):
        name = NAMES[i % topics]
        drawn = rng.integers(WORDS, size=length)
        common = rng.random(length) < 0.25
        texts.append(" ".join(f"{'the' if c else name}{w}" for c, w in zip(common, drawn, strict=True)))
    return texts


def topic_of(words: list[str]) -> str:
    """Return the planted topic that most of ``words`` belong to."""
    names = [word.rstrip("0123456789").removesuffix("new") for word in words]
    return max(set(names), key=names.count)


def prepared(texts: list[str] | None = None, e: Embeddings | None = None) -> tuple[Documents, Space]:
    """Return documents and the space of their words, as ``topics`` makes them."""
    e = planted_vectors() if e is None else e
    read = read_documents(planted_texts() if texts is None else texts, e, progress=SILENT)
    kept, ids = choose_words(read, e, 1)
    return kept, Space.of(kept, e, ids)
