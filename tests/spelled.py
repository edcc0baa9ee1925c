"""A small vocabulary whose words share stems and endings, and what their n-grams learn from its vectors."""

from __future__ import annotations

from itertools import product

import numpy as np

from psdvec.options import Recipe
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.subwords import Subwords, learn_subwords

DIM = 8
STEMS = ("play", "read", "walk", "think", "sing", "漢字", "größ", "école")
ENDINGS = ("", "s", "er", "ing", "able", "語")
WORDS = tuple(stem + ending for stem, ending in product(STEMS, ENDINGS))


def drawn(words=WORDS, *, dim: int = DIM, seed: int = 0):
    """Draw a unit vector and a count for each word."""
    rng = np.random.default_rng(seed)
    units = rng.standard_normal((len(words), dim)).astype(np.float32)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    return units, rng.integers(1, 1_000, len(words))


def learned() -> Subwords:
    """Let the n-grams of the words learn from their vectors."""
    units, counts = drawn()
    recipe = Recipe(spelling_ridge=0.5)
    found = learn_subwords(WORDS, units, counts, length=2.0, recipe=recipe, workers=1)
    assert found is not None
    return found


def vocabulary() -> Embeddings:
    """Return the words with vectors of length 2; the ten most frequent ones have no deviation, as core words."""
    units, counts = drawn()
    order = np.argsort(-counts)
    deviations = np.where(np.arange(len(WORDS)) < 10, np.nan, 0.1).astype(np.float32)
    words = tuple(WORDS[i] for i in order)
    return Embeddings(
        words, 2 * units[order], counts[order], deviations, subwords=learned(), tokenizer="unicode"
    )
