"""Vectors that psdvec did not fit, as a model that new words can be placed in.

:func:`adopt` takes any :class:`~psdvec.vectors.embeddings.Embeddings` and a count store that has words in common with
them, and returns a :class:`~psdvec.vectors.model.Model`. What a fit would have left beside the vectors is measured from
the counts: sums, equation (1), and constants, equations (3) to (5) of ``docs/theory.md``. The vectors themselves are
taken for V of equation (7), with all signs +1. A recipe with a positive spectrum, such as the paper's, has no constant
direction; for one with a signed spectrum, it is taken to be what a fit comes near to.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from psdvec.counts.matrix import Cooccurrence
from psdvec.errors import InputError
from psdvec.options import Recipe, make_recipe
from psdvec.solver.pmi import margins, measure_constants
from psdvec.text.tokenizers import tokenizer_of
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.model import Model
from psdvec.vectors.sparse import csr_of


def adopt(vectors: Embeddings, counts: Cooccurrence, *, recipe: str, origin: Mapping[str, Any]) -> Model:
    """Return ``vectors`` as a model whose scales are measured from ``counts``.

    Its core are the words that the counts have, in the order of the vectors. Words that the counts lack keep their
    vectors, after the core; new words are not solved against them. ``origin`` names the vectors among the sources.
    """
    if csr_of(vectors.vectors) is not None:
        raise InputError("sparse vectors cannot be extended; give vectors of a few hundred dimensions")
    _check_tokenizer(vectors, counts)
    places = np.array([counts.vocabulary.ids.get(word, -1) for word in vectors.words], dtype=np.int64)
    core = int(np.count_nonzero(places >= 0))
    if 0 < core < places.size:
        order = np.argsort(places < 0, kind="stable")
        vectors, places = vectors.take(order), places[order]
    row_sums, column_sums = margins(counts)
    plan = replace(make_recipe(recipe), power=0.5, spelling=0.0)
    seen = np.where(places >= 0, counts.vocabulary.counts[places], 0)
    return Model(
        words=tuple(vectors.words),
        vectors=vectors.vectors,
        rows=vectors.vectors,
        stretch=np.ones(vectors.dim, np.float32),
        counts=seen if vectors.counts is None else vectors.counts,
        deviations=np.full(places.size, np.nan, np.float32)
        if vectors.deviations is None
        else vectors.deviations,
        signs=np.ones(vectors.dim, np.float32),
        constant=np.full(core, _constant(plan), np.float32),
        row_sums=row_sums[places[:core]],
        column_sums=column_sums[places[:core]],
        constants=measure_constants(counts, row_sums, column_sums, recipe=plan),
        recipe=plan,
        core=core,
        adopted=True,
        counting=dict(counts.parameters),
        sources=(origin, counts.origin),
        origin=origin,
        tokenizer=vectors.tokenizer or tokenizer_of(counts.parameters),
    )


def _constant(recipe: Recipe) -> float:
    """Return c of the constant direction, whose products with itself, -c², stand for log κ, the PMI of unseen pairs."""
    return math.sqrt(-math.log(recipe.smoothing)) if recipe.spectrum == "signed" else 0.0


def _check_tokenizer(vectors: Embeddings, counts: Cooccurrence) -> None:
    """Raise :class:`InputError` where the vectors are known to be of words that were cut in another way."""
    old, new = vectors.tokenizer, tokenizer_of(counts.parameters)
    if None not in (old, new) and old != new:
        raise InputError(
            f"the text of the vectors was cut with tokenizer {old}, that of the counts with {new}; count again with "
            f'tokenizer="{old}"'
        )
