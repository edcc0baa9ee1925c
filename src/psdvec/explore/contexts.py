"""Why a word is where it is, and why two words are near: the contexts that pulled on it, or that make up their cosine.

A :class:`ContextIndex` holds a :class:`~psdvec.vectors.model.Model` and the counts it was made from. For a word it
gives every core word seen near it (no other word is ever a context) with the count in both directions, the PMI that
was asked for, the value that the vectors give, the weight W of their squared difference, and the pull ``W · PMI ·
|v|``, where v is the context's vector: the length of the term ``w g f`` that the context adds to the right side of
the word's equation (10). See equations (1) to (6) and (10) of ``docs/theory.md``. For two words it gives the share that
each context has in their cosine, equation (12c), and what that would be without some of them. :func:`why` asks it.

A word placed after the core also has a coordinate along the constant direction, which models do not keep. It is solved
again, and used only if the rest of the vector comes out as it is in the model.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.counts.matrix import UNIT, Cooccurrence, counts_of
from psdvec.counts.vocabulary import Key
from psdvec.errors import InputError, MissingWordError, StoreError, checked, demand_positive, import_extra
from psdvec.formats import load
from psdvec.options import ENCODING
from psdvec.progress import LogProgress, Progress, Shown, SilentProgress
from psdvec.storage.artefact import open_artefact
from psdvec.text.concordance import Passage, find_passages
from psdvec.text.readers import Choice, Reader, find_encoding, make_where
from psdvec.topic_model.documents import Source, read_texts
from psdvec.vectors.embeddings import Embeddings, cosine
from psdvec.vectors.model import Model
from psdvec.vectors.neighbours import unit_vector
from psdvec.vectors.subwords import closest_spellings

if TYPE_CHECKING:
    from psdvec.solver.pmi import Measured
    from psdvec.solver.ridge import Cells, Setting, Solved, WordPairs

_BASKET = 1 << 30  # words of a basket, which has no window
ALIKE = 0.9  # the cosine of a word's vector and its solution from counts that it does not occur as often in
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


@dataclass(frozen=True)
class Shares:
    """What adds up to the cosine of two words, equation (12c).

    ``rows`` are the core words seen near either of them, in rising order, ``contexts`` (m,) what each adds, and
    ``counts`` (2, m) how often they were seen near the one and the other. ``rest`` is what (10) does not explain.
    """

    rows: Int64s
    contexts: Float64s
    counts: Float64s
    spelling: float
    background: float
    rest: float


class _Placed(NamedTuple):
    """A word with its ``pairs``, solved as if it were new, and how its row and its spelling make its ``unit`` vector.

    That has the direction of ``scale`` times the stretched row and ``spelled``.
    """

    pairs: WordPairs
    setting: Setting
    cells: Cells
    mean: Float64s | None
    solved: Solved
    unit: Float32s
    scale: float
    spelled: Float32s


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
        """Return what adds up to the cosine of ``word`` and ``other``, the largest shares first, and their own pair."""
        found = self.shares(word, other)
        pulls = self._pulls([word, other])
        order = np.argsort(-found.contexts, kind="stable")[:topn].tolist()
        contexts = [
            {
                "word": self.model.words[found.rows[k]],
                "share": float(found.contexts[k]),
                "cells": [self._cell_of(one, found.rows[k]) for one in pulls],
            }
            for k in order
        ]
        direct = self._cell_of(pulls[0], self.model.key_to_index[other])
        return {
            "word": word,
            "other": other,
            "direct": direct if direct["count"] else None,
            "similarity": self.model.similarity(word, other),
            "parts": {
                "other contexts": float(found.contexts.sum() - found.contexts[order].sum()),
                "spelling": found.spelling,
                "background": found.background,
                "not explained": found.rest,
            },
            "contexts": contexts,
        }

    def shares(self, word: str, other: str) -> Shares:
        """Return the shares of all contexts in the cosine of two words."""
        one, two = map(self._placed, (word, other), self._pairs([word, other]))
        terms = [self._terms(one, two.unit), self._terms(two, one.unit)]
        rows = np.union1d(one.cells.rows, two.cells.rows)
        contexts, counts = np.zeros(rows.size), np.zeros((2, rows.size))
        for side, (placed, (shares, _, _)) in enumerate(zip((one, two), terms, strict=True)):
            at = np.searchsorted(rows, placed.cells.rows)
            contexts[at] += shares / 2
            counts[side, at] = self._seen(placed)
        spelling = (terms[0][1] + terms[1][1]) / 2
        background = (terms[0][2] + terms[1][2]) / 2
        rest = self.model.similarity(word, other) - float(contexts.sum()) - spelling - background
        return Shares(rows, contexts, counts, spelling, background, rest)

    def without(self, word: str, other: str, contexts: Collection[str] = ()) -> float | None:
        """Return the cosine of two words solved again, equation (10), as if neither had been seen near ``contexts``.

        Their counts are taken off the sums of all words as well: it is what :func:`psdvec.extend` gives if it refreshes
        the two from counts without these pairs. It is None where one of the two has no contexts left.
        """
        from psdvec.solver.extend import show_placed
        from psdvec.solver.ridge import prepare, solve_one

        names, known, n = [word, other], self.counts.vocabulary.ids, len(self.words)
        ids = np.array([known[name] for name in names], dtype=np.int64)
        gone = {known[context] for context in contexts}
        pairs, cells, values = [], [], []
        for i, j, found in zip(ids, ids[::-1], self._pairs(names), strict=True):
            after, H_after, before, H_before = found
            here = list(gone | {j} if i in gone else gone)  # a pair of the two is gone with either of them
            out, back = np.isin(after, here), np.isin(before, here)
            pairs.append((after[~out], H_after[~out], before[~back], H_before[~back]))
            cells += [i * n + after[out].astype(np.int64), before[back].astype(np.int64) * n + i]
            values += [H_after[out], H_before[back]]
        taken, first = np.unique(np.concatenate(cells), return_index=True)
        H = np.concatenate(values)[first]
        row_sums, column_sums = self._sums
        if self.counts.parameters.get("sums") != "words":
            row_sums, column_sums = (  # whole numbers of the unit, so that nothing is left of what is gone
                np.rint((sums - np.bincount(place, H, n)) * UNIT) / UNIT
                for sums, place in ((row_sums, taken // n), (column_sums, taken % n))
            )
        setting = prepare(
            self.model, self.counts, ids, unigrams=self.unigrams, min_contexts=1, sums=(row_sums, column_sums)
        )
        means = setting.means(slice(0, 2))
        solved = [solve_one(setting, k, pairs[k], None if means is None else means[k]).vector for k in (0, 1)]
        rows = np.array([x[: self.model.dim] for x in solved if x is not None], np.float32)
        if len(rows) < 2:
            return None
        vectors, _ = show_placed(self.model, names, rows, self.counts.vocabulary.counts[ids])
        return cosine(*vectors)

    def _placed(self, word: str, pairs: WordPairs) -> _Placed:
        from psdvec.solver.extend import mixture_of
        from psdvec.solver.ridge import cells_of, solve_exactly

        row, i, model = self.model.get_index(word), self._id_of(word), self.model
        setting = self._setting.take(slice(i, i + 1))
        cells, means = cells_of(setting, 0, pairs), setting.means(slice(0, 1))
        mean = None if means is None else means[0]
        solved = solve_exactly(
            cells, setting.scales, setting.regressors, setting.constants, ridges=setting.choose(i + 1), mean=mean
        )  # fmt: skip
        self._check_counts(word, row, i, solved)
        (scale,), (spelled,) = mixture_of(model, [word], model.counts[[row]])
        shown = model.rows[row] * model.stretch * scale + spelled
        length, unit = max(float(np.linalg.norm(shown)), 1e-12), unit_vector(model.vectors[row])
        return _Placed(pairs, setting, cells, mean, solved, unit, float(scale[0]) / length, spelled / length)

    def _check_counts(self, word: str, row: int, i: int, solved: Solved) -> None:
        """Refuse counts of which the word has neither its vector nor its number of occurrences."""
        here, there = int(self.counts.vocabulary.counts[i]), int(self.model.counts[row])
        x = solved.x[: self.model.dim].astype(np.float32)
        if here != there and cosine(x, self.model.rows[row]) < ALIKE:
            raise InputError(
                f"these counts are not those that '{word}' has its vector from: it occurs {here:,} times in them, and "
                f"the model knows of {there:,}; give the counts that the model was made from"
            )

    def _terms(self, one: _Placed, direction: Float32s) -> tuple[Float64s, float, float]:
        """Return what the terms of a word's unit vector add to its product with ``direction``.

        These are the contexts, the spelling and the background. (10) is symmetric, so one solution tells for all terms.
        """
        regressors = one.setting.regressors
        e = np.zeros(one.solved.x.size)
        e[: self.model.dim] = one.scale * self.model.stretch * direction
        z = one.solved.solve(e)
        contexts = one.cells.targets * (regressors.features[one.cells.rows] @ z)
        background = (
            one.setting.scales.rho[0] * np.log(one.setting.constants.smoothing) * regressors.total @ z
        )
        spelling = one.spelled @ direction
        if one.mean is not None:
            spelling += one.mean @ (regressors.damping @ z + one.solved.ridge * z)
        return np.asarray(contexts, np.float64), float(spelling), float(background)

    def _seen(self, one: _Placed) -> Float64s:
        """Return how often a word was seen near each of its contexts, before or after."""
        after, H_after, before, H_before = one.pairs
        rows, H = one.setting.core_of[np.concatenate([after, before])], np.concatenate([H_after, H_before])
        totals = np.bincount(rows[rows >= 0], H[rows >= 0], self.model.core)
        return np.asarray(totals[one.cells.rows], np.float64)

    @cached_property
    def _lengths(self) -> Float64s:
        """The length of each core word's vector."""
        return np.asarray(np.linalg.norm(self.model.rows[: self.model.core], axis=1), dtype=np.float64)

    def _id_of(self, word: str) -> int:
        known = self.counts.vocabulary.ids
        if word not in known:
            raise MissingWordError(word, lambda missing: closest_spellings(missing, self.words, known))
        return known[word]

    def _pairs(self, words: list[str]) -> list[WordPairs]:
        from psdvec.solver.ridge import pairs_of

        return list(pairs_of(self.counts, np.array([self._id_of(word) for word in words], dtype=np.int64)))

    def _pulls(self, words: list[str]) -> list[Pulls]:
        ids = map(self._id_of, words)
        return [self._word_pulls(i, *pairs) for i, pairs in zip(ids, self._pairs(words), strict=True)]

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

    def _cell_of(self, pulls: Pulls, row: int) -> dict[str, Any]:
        """Return the cell of a core word; one that was not seen has a count of 0, and nothing else."""
        place = int(np.searchsorted(pulls.rows, row))
        if place < pulls.rows.size and pulls.rows[place] == row:
            return self._cell(pulls, place)
        return {"word": self.model.words[row], "count": 0.0, "pmi": None, "fitted": None, "weight": None}

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
            model, self.counts, np.arange(len(self.words)), core=None, unigrams=self.unigrams, sums=self._sums
        )

    @cached_property
    def _sums(self) -> tuple[Float64s, Float64s]:
        from psdvec.solver.pmi import margins

        return margins(self.counts)

    @cached_property
    def _setting(self) -> Setting:
        """The setting in which every counted word is solved, by the model's recipe."""
        from psdvec.solver.ridge import prepare

        recipe, ids = self.model.recipe, np.arange(len(self.words))
        return prepare(
            self.model, self.counts, ids, core=None, ridge=recipe.ridge, damping=recipe.damping,
            unigrams=self.unigrams, min_contexts=1, sums=self._sums,
        )  # fmt: skip


class Context(NamedTuple):
    """A core word, its share in the cosine of two words, and how often it was seen near each."""

    word: Key
    share: float
    seen: float
    seen_other: float


@dataclass(frozen=True, eq=False, repr=False)
class Why(Shown):
    """What makes two words near: shares that add up to their ``similarity``.

    ``contexts``: the core words seen near either, the largest share first. ``spelling``: what the letters of the two
    say. ``background``: that they were not seen near all the other words. ``unexplained``: by how much vectors that
    were fitted together differ from vectors that are each solved against all others. The first ``named`` contexts are
    those that are asked for: ``solved`` is the similarity if both words are solved again, and ``without`` the same
    as if neither had been seen near them, None if one of the two has no other contexts. ``passages``: by word and
    context, sentences with both.
    """

    word: Key
    other: Key
    similarity: float
    contexts: tuple[Context, ...]
    spelling: float
    background: float
    unexplained: float
    named: int
    solved: float | None
    without: float | None
    passages: Mapping[tuple[Key, Key | None], Sequence[Passage]]

    def _facts(self) -> dict[str, str]:
        names = ", ".join(str(one.word) for one in self.contexts[: self.named])
        return {
            "size": f"{self.word}, {self.other}",
            "similarity": f"{self.similarity:.3f}",
            "contexts": names or "none",
        }

    def rows(self) -> list[tuple[str, float]]:
        """Return lines whose shares add up to the similarity: the contexts named, the others, and the rest."""
        others = [one.share for one in self.contexts[self.named :]]
        drawn, pushed = [share for share in others if share > 0], [share for share in others if share <= 0]
        lines = [
            (f"({len(drawn):,} more, nearer)", sum(drawn)),
            (f"({len(pushed):,} more, apart)", sum(pushed)),
            ("(spelling)", self.spelling),
            ("(background)", self.background),
            ("(not explained)", self.unexplained),
        ]
        return [*((str(one.word), one.share) for one in self.contexts[: self.named]), *lines]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON has it; of the contexts, those named."""
        parts = {"spelling": self.spelling, "background": self.background, "not explained": self.unexplained}
        others = sum(one.share for one in self.contexts[self.named :])
        contexts = [
            one._asdict() | {"passages": [
                {"of": word, **asdict(passage)}
                for word in (self.word, self.other)
                for passage in self.passages.get((word, one.word), ())
            ]}
            for one in self.contexts[: self.named]
        ]  # fmt: skip
        return {
            "words": [self.word, self.other], "similarity": self.similarity, "contexts": contexts,
            "other contexts": others, **parts, "solved": self.solved, "without": self.without,
        }  # fmt: skip

    def to_frame(self) -> Any:
        """Return all contexts as a pandas data frame, by context."""
        pandas = import_extra("pandas", extra="pandas", purpose="a data frame")
        columns = ["context", "share", f"near {self.word}", f"near {self.other}"]
        return pandas.DataFrame(self.contexts, columns=columns).set_index("context")


@checked
def why(
    model: Embeddings | str | Path,
    word: Key,
    other: Key,
    *,
    counts: Cooccurrence | str | Path | None = None,
    topn: int = 10,
    texts: Source | None = None,
    passages: int = 1,
    column: str | None = None,
    where: Mapping[str, Any] | None = None,
    encoding: str = ENCODING,
    quiet: bool = False,
    progress: Progress = LogProgress(),
) -> Why:
    """Say which contexts make two words near, as signed shares that add up to their similarity.

    A word's vector solves equation (10), so it is a sum with a term for each context, and so is the cosine of two
    words, equation (12c) of ``docs/theory.md``.

    Parameters
    ----------
    model
        A model that psdvec fitted, or where it is.
    word, other
        The two words.
    counts
        The counts that the model was made from, or their folder. If None, they are looked for beside the folder of the
        model.
    topn
        How many contexts to name, and to leave out in :attr:`Why.without`.
    texts
        Texts to show passages from, in which the words stand near the contexts named: files, texts or tables, as for
        :func:`psdvec.topics`.
    passages
        How many to show for each word and context, each from another document.
    column, where, encoding
        Which field of the texts holds them, which of them to read, and the encoding of files.
    quiet
        Show no progress.

    Examples
    --------
    >>> import psdvec
    >>> texts = ["a car needs fuel", "a bus needs fuel", "the cat ate fish", "the dog ate meat"] * 9
    >>> counts = psdvec.count_pairs(texts, min_count=1, window=3, quiet=True)
    >>> found = psdvec.why(psdvec.fit(counts, dim=4, quiet=True), "car", "bus", counts=counts, quiet=True)
    >>> sorted(one.word for one in found.contexts[:3])
    ['a', 'fuel', 'needs']
    >>> abs(sum(share for _, share in found.rows()) - found.similarity) < 1e-6
    True
    """
    demand_positive(topn, "topn")
    demand_positive(passages, "passages")
    progress = SilentProgress() if quiet else progress
    e = model if isinstance(model, Embeddings) else load(model, progress=progress)
    if not isinstance(e, Model):
        raise InputError(
            "these vectors come without the scales of a fit, so nothing tells what made them; fit them with psdvec"
        )
    if texts is None and (column is not None or where is not None):
        raise InputError("column and where say what to read of texts, and there are none; give texts")
    names = [e.words[e.get_index(e.look_up(one))] for one in (word, other)]
    if names[0] == names[1]:
        raise InputError(f"'{names[0]}' is given twice; give two different words")
    store = counts_of(_counts_beside(e, model) if counts is None else counts)
    for name in names:
        if name not in store.vocabulary.ids:
            raise InputError(f"'{name}' is not in these counts; give the counts that it has its vector from")
    index = ContextIndex(e, store)
    found = index.shares(*names)
    order = np.argsort(-found.contexts, kind="stable")
    keys = [e.words[row] for row in found.rows[order].tolist()]
    numbers = (found.contexts[order], *found.counts[:, order])
    contexts = tuple(map(Context, keys, *(column.tolist() for column in numbers)))
    first = [one.word for one in contexts[:topn]]
    shown: dict[tuple[Any, Any], list[Passage]] = {}
    if texts is not None:
        reader = Reader(column, Choice(make_where(where)), encoding=find_encoding(encoding))
        shown = find_passages(
            ((name, text) for name, text, _ in read_texts(texts, reader)), dict.fromkeys(names, first),
            tokenize=e.tokenize, window=store.parameters.get("window", _BASKET), most=passages,
        )  # fmt: skip
    return Why(
        word=names[0], other=names[1], similarity=e.similarity(*names), contexts=contexts,
        spelling=found.spelling, background=found.background, unexplained=found.rest, named=len(first),
        solved=index.without(names[0], names[1]), without=index.without(names[0], names[1], first),
        passages=shown,
    )  # fmt: skip


def _counts_beside(model: Model, given: Any) -> Path:
    """Return the folder beside that of the model which holds its counts, or say that there is none."""
    for source in model.sources if isinstance(given, str | Path) else ():
        folder = Path(given).absolute().parent / str(source.get("counts", ""))
        try:
            if source.get("counts") and open_artefact(folder).digest == source.get("digest"):
                return folder
        except StoreError:
            continue
    raise InputError(
        "the counts that the model was made from are not beside it; give counts=FOLDER (training keeps them only if it "
        "is told to)"
    )
