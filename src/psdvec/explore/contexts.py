"""Why a word is where it is: the contexts that pulled hardest on it, or on a pair of words.

A :class:`ContextIndex` holds a :class:`~psdvec.vectors.model.Model` and the counts it was made from. For a word it
gives every core word seen near it (no other word is ever a context) with the count in both directions, the PMI that
was asked for, the value that the vectors give, the weight W of their squared difference, and the pull ``W · PMI ·
|v|``, where v is the context's vector: the length of the term ``w g f`` that the context adds to the right side of
the word's equation (10). See equations (1) to (6) and (10) of ``docs/theory.md``.

A word placed after the core also has a coordinate along the constant direction, which models do not keep. It is solved
again, and used only if the rest of the vector comes out as it is in the model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.errors import MissingWordError
from psdvec.vectors.subwords import closest_spellings

if TYPE_CHECKING:
    from psdvec.counts.matrix import Cooccurrence
    from psdvec.solver.pmi import Measured
    from psdvec.solver.ridge import Setting
    from psdvec.vectors.model import Model

SAME = 1e-3  # share of a vector's length; solutions that differ by less are the same but for rounding


@dataclass(frozen=True)
class Pulls:
    """The core words ``rows`` seen near a word, in rising order, and for each pair the sums over both directions.

    ``fitted`` is the value that the vectors give the pair; NaN where that is not known.
    """

    rows: Int64s
    counts: Float64s
    pmi: Float64s
    weights: Float64s
    pulls: Float64s
    fitted: Float64s


class ContextIndex:
    """Looks up the contexts of words, in a model and the counts it was made from, or the counts of new words only.

    Of new words, ``unigrams`` says whose frequencies of the old words they were solved with, as in
    :func:`psdvec.solver.extend.extend`.
    """

    def __init__(self, model: Model, counts: Cooccurrence, *, unigrams: str = "corpus") -> None:
        from psdvec.solver.extend import check_compatible  # loads numba

        check_compatible(model, counts)
        self.model, self.counts, self.unigrams = model, counts, unigrams
        self.words = counts.vocabulary.words

    def of_word(self, word: str, *, topn: int = 10) -> dict[str, Any]:
        """Return the contexts of ``word`` that pulled hardest, and how many it has."""
        (pulls,) = self._pulls([word])
        order = np.argsort(-pulls.pulls, kind="stable")[:topn]
        contexts = [{**self._cell(pulls, place), "pull": float(pulls.pulls[place])} for place in order]
        return {"word": word, "seen": int(pulls.rows.size), "contexts": contexts}

    def of_pair(self, word: str, other: str, *, topn: int = 10) -> dict[str, Any]:
        """Return what pulled ``word`` and ``other`` the same way, and the pair of the two itself.

        ``shared`` is the cosine between the two words' pulls, and ``share`` what each context adds to it.
        """
        one, two = self._pulls([word, other])
        rows, first, second = np.intersect1d(one.rows, two.rows, assume_unique=True, return_indices=True)
        lengths = float(np.linalg.norm(one.pulls) * np.linalg.norm(two.pulls)) or 1.0
        shares = one.pulls[first] * two.pulls[second] / lengths
        order = np.argsort(-shares, kind="stable")[:topn].tolist()
        contexts = [
            {
                "word": self.model.words[rows[k]],
                "share": float(shares[k]),
                "cells": [self._cell(one, first[k]), self._cell(two, second[k])],
            }
            for k in order
        ]
        place = np.flatnonzero(one.rows == self.model.key_to_index.get(other, -1))
        return {
            "word": word,
            "other": other,
            "direct": self._cell(one, place[0]) if place.size else None,
            "shared": float(shares.sum()),
            "contexts": contexts,
        }

    @cached_property
    def _lengths(self) -> Float64s:
        """The length of each core word's vector."""
        return np.asarray(np.linalg.norm(self.model.rows[: self.model.core], axis=1), dtype=np.float64)

    def _pulls(self, words: list[str]) -> list[Pulls]:
        from psdvec.solver.ridge import pairs_of

        known = self.counts.vocabulary.ids
        for word in words:
            if word not in known:
                raise MissingWordError(word, lambda missing: closest_spellings(missing, self.words, known))
        ids = np.array([known[word] for word in words], dtype=np.int64)
        return [
            self._word_pulls(int(i), *pairs) for i, pairs in zip(ids, pairs_of(self.counts, ids), strict=True)
        ]

    def _word_pulls(
        self, i: int, after: Int64s, H_after: Float64s, before: Int64s, H_before: Float64s
    ) -> Pulls:
        """Sum the two directions of each pair; to what a seen one adds, equation (10), comes the background again."""
        from psdvec.solver.ridge import word_cells

        scales, old, core_of, constants = self._measured_for(i)
        own, core_of = scales.take(slice(i, i + 1)), np.where(np.arange(core_of.size) == i, -1, core_of)
        to, fro = core_of[after], core_of[before]
        seen = to[to >= 0], H_after[to >= 0], fro[fro >= 0], H_before[fro >= 0]
        cells = word_cells(own, old, constants, *seen)
        rows, old = cells.rows, old.take(cells.rows)
        H = np.bincount(np.concatenate(seen[::2]), np.concatenate(seen[1::2]), self.model.core).astype(float)
        B = 2 * own.rho * old.rho
        R = cells.weights + B
        G = (cells.targets / old.emphases + B * np.log(constants.smoothing)) / np.maximum(R, 1e-300)
        W = R * (own.emphases * old.emphases) ** 2 / 2
        return Pulls(rows, H[rows], G, W, W * G * self._lengths[rows], self._fitted(i, rows))

    def _cell(self, pulls: Pulls, place: Any) -> dict[str, Any]:
        row = int(pulls.rows[place])
        return {
            "word": self.model.words[row],
            "count": float(pulls.counts[place]),
            "pmi": float(pulls.pmi[place]),
            "fitted": None if np.isnan(pulls.fitted[place]) else float(pulls.fitted[place]),
            "weight": float(pulls.weights[place]),
        }

    def _fitted(self, i: int, rows: Int64s) -> Float64s:
        """The PMI that the vectors give the counted word ``i`` with each of the core words ``rows``."""
        model = self.model
        own = model.key_to_index.get(self.words[i])
        if own is None:
            return np.full(rows.size, np.nan)
        constant = model.constant[own] if own < model.core else self._placed_constant(i, model.rows[own])
        products = (model.rows[rows] * model.signs) @ model.rows[own]
        return np.asarray(products - constant * model.constant[rows], dtype=np.float64)

    def _placed_constant(self, i: int, vector: Float32s) -> float:
        """Solve a word placed after the core again, for its coordinate along the constant direction.

        NaN if the vector comes out differently: it was placed from other counts, or with another ridge.
        """
        from psdvec.solver.ridge import solve_words

        if not self.model.constant.any():
            return 0.0
        ((x, _, _),) = solve_words(self._setting.take(slice(i, i + 1)), self.counts, workers=1)
        if x is None:
            return np.nan
        apart = float(np.linalg.norm(x[:-1] - vector))
        return float(x[-1]) if apart <= SAME * float(np.linalg.norm(vector)) else np.nan

    def _measured_for(self, i: int) -> Measured:
        """Return the scales with which the counted word ``i`` was placed or, one of the core, fitted."""
        is_fitted = self.model.recipe.own_cap and self._measured.core_of[i] >= 0
        return self._measured_core if is_fitted else self._measured

    @cached_property
    def _measured(self) -> Measured:
        return self._measure(self.model)

    @cached_property
    def _measured_core(self) -> Measured:
        return self._measure(replace(self.model, recipe=replace(self.model.recipe, own_cap=False)))

    def _measure(self, model: Model) -> Measured:
        from psdvec.solver.pmi import measure_scales

        return measure_scales(
            model, self.counts, np.arange(len(self.words)), core=None, unigrams=self.unigrams
        )

    @cached_property
    def _setting(self) -> Setting:
        """The setting in which every counted word is solved, by the model's recipe."""
        from psdvec.solver.ridge import prepare

        recipe, ids = self.model.recipe, np.arange(len(self.words))
        return prepare(
            self.model, self.counts, ids, core=None, ridge=recipe.ridge, damping=recipe.damping,
            unigrams=self.unigrams, min_contexts=1,
        )  # fmt: skip
