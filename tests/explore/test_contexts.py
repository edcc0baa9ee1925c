"""The numbers behind a word are those that the solver used, checked against its slow definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from psdvec.counts.matrix import UNIT
from psdvec.errors import MissingWordError
from psdvec.explore.contexts import ContextIndex
from psdvec.explore.models import UNIGRAMS, add_words
from psdvec.solver.fit import fit
from psdvec.solver.pmi import margins, pmi, word_scales
from tests.explore.conftest import RARE
from tests.explore.test_api import SENTENCES
from tests.reference import rounds
from tests.toy import drawn_counts, scales_of


@pytest.fixture(scope="module")
def index(models):
    return models[0].contexts


@pytest.fixture(scope="module")
def dense(index):
    """W, PMI and the fitted values of all core pairs, (core, core) each, and the counts of both directions."""
    model, counts = index.model, index.counts
    n = model.core
    H = rounds.dense_rows(counts.indptr, counts.indices, counts.values / UNIT, n)
    W, T, _, _ = rounds.weights_and_targets(H, scales_of(model), model.constants)
    s = np.outer(scales_of(model).emphases, scales_of(model).emphases)
    X = (model.rows[:n] * model.signs) @ model.rows[:n].T - np.outer(model.constant, model.constant)
    return {"count": H + H.T, "weight": W * s**2, "pmi": T / (W * s), "fitted": X}


def test_every_number_of_a_word_is_the_solvers(index, dense):
    model = index.model
    for i, word in enumerate(model.words[: model.core]):
        found = index.of_word(word, topn=1000)
        others = [model.key_to_index[cell["word"]] for cell in found["contexts"]]
        seen = np.flatnonzero(dense["count"][i] > 0)
        assert sorted(others) == [j for j in seen.tolist() if j != i]
        assert found["seen"] == len(others)
        for name, matrix in dense.items():
            numbers = [cell[name] for cell in found["contexts"]]
            np.testing.assert_allclose(numbers, matrix[i, others], rtol=1e-5, atol=1e-6)
        pulls = [cell["weight"] * cell["pmi"] * np.linalg.norm(model.rows[model.key_to_index[cell["word"]]])
                 for cell in found["contexts"]]  # fmt: skip
        np.testing.assert_allclose([cell["pull"] for cell in found["contexts"]], pulls, rtol=1e-5)
        assert pulls == sorted(pulls, reverse=True)


def test_a_pair_is_the_same_from_both_ends_and_its_shares_add_up(index):
    one, two = index.of_pair("guitar", "piano", topn=1000), index.of_pair("piano", "guitar", topn=1000)
    for found in (one, two, index.of_pair("guitar", "piano", topn=3)):
        total = sum(row["share"] for row in found["contexts"]) + sum(found["parts"].values())
        assert total == pytest.approx(index.model.similarity("guitar", "piano"), abs=1e-6)
    assert {row["word"]: row["cells"] for row in one["contexts"]} == {
        row["word"]: row["cells"][::-1] for row in two["contexts"]
    }
    for name in ("count", "pmi", "weight", "fitted"):
        assert one["direct"][name] == pytest.approx(two["direct"][name])


def test_a_context_of_one_word_alone_was_not_seen_near_the_other(index):
    found = index.of_pair("lute", "oven", topn=1000)
    alone = [
        row["cells"]
        for row in found["contexts"]
        if 0.0 in (row["cells"][0]["count"], row["cells"][1]["count"])
    ]
    assert alone
    assert all((cell["count"] == 0) == (cell["pmi"] is None) for cells in alone for cell in cells)


def test_a_word_after_the_core_is_fitted_as_it_was_when_it_was_placed(index):
    model, counts = index.model, index.counts
    core = model.core
    for word in RARE.split():
        x, features = placed_densely(model, counts, word)
        np.testing.assert_allclose(x[:-1], model.rows[model.key_to_index[word]], rtol=1e-3, atol=1e-3)
        assert abs(x[-1]) > 0.1  # without it, the values below would be others
        found = index.of_word(word, topn=1000)["contexts"]
        rows = [model.key_to_index[cell["word"]] for cell in found]
        assert max(rows) < core
        np.testing.assert_allclose(
            [cell["fitted"] for cell in found], features[rows] @ x, rtol=1e-2, atol=1e-2
        )


def placed_densely(model, counts, word):
    """Solve equation (10) over every core word, seen or not, around the word's spelling.

    Returns the solution with its coordinate along the constant direction last, and the core words' features without s.
    """
    core, i = model.core, counts.vocabulary.ids[word]
    order = np.r_[np.arange(core), i]
    scales = word_scales(*(sums[order] for sums in margins(counts)), model.constants)
    H = rounds.dense_rows(counts.indptr, counts.indices, counts.values / UNIT, len(counts.vocabulary))
    W, T, _, _ = rounds.weights_and_targets(H[np.ix_(order, order)], scales, model.constants)
    s = scales.emphases
    plain = np.column_stack([model.rows[:core] * model.signs, -model.constant]).astype(float)
    F = plain * s[:core, None]
    A = 2 * (F * W[core, :core, None]).T @ F + 2 * model.recipe.damping * F.T @ F  # W and T average two cells
    b = 2 * F.T @ (T[core, :core] / s[core])
    P = float(model.recipe.ridge) * np.eye(len(A))
    mean = np.append(model.subwords.vectors_of([word])[0] / model.stretch, 0.0)
    held = P + 2 * model.recipe.damping * F.T @ F
    return np.linalg.solve(A + P, b + held @ mean), plain


def test_a_word_placed_from_other_counts_has_contexts_but_no_fitted_values(index):
    model = index.model
    rows = np.array(model.rows)
    rows[model.key_to_index["lute"]] *= 1.1
    found = ContextIndex(replace(model, rows=rows), index.counts).of_word("lute")
    assert {cell["fitted"] for cell in found["contexts"]} == {None}
    assert found["contexts"][0]["weight"] > 0


def test_a_word_that_was_not_counted_is_missing(index):
    with pytest.raises(MissingWordError, match="did you mean 'guitar'"):
        index.of_pair("piano", "guitarr")


def test_weights_are_those_that_a_word_was_placed_with_also_if_it_had_a_cap_of_its_own():
    counts = drawn_counts(words=60, sentences=900, weighting="flat")
    index = ContextIndex(fit(counts, dim=5, recipe="original", core=40, changes={"cut": 0.1}), counts)
    word = counts.vocabulary.words[45]
    H = rounds.dense_rows(counts.indptr, counts.indices, counts.values / UNIT, len(counts.vocabulary))
    block = np.sort(H[:40, 40:][H[:40, 40:] > 0])
    cap = block[int(0.9 * block.size)]
    for cell in index.of_word(word, topn=5)["contexts"]:
        j = counts.vocabulary.ids[cell["word"]]
        both = np.minimum(np.sqrt(np.array([H[45, j], H[j, 45]]) / cap), 1)
        assert cell["weight"] == pytest.approx(both.mean())


def test_what_pulled_a_learned_word_is_what_it_was_solved_with(models):
    model = models[0].model
    extension, counts = add_words(model, SENTENCES, word="zither")
    index = ContextIndex(extension, counts, unigrams=UNIGRAMS)
    found = index.of_word("zither", topn=100)
    assert found["seen"] == extension.contexts[0]
    # Solved again with the same weights and targets, the word has the same vector, and so its values are known.
    assert all(cell["fitted"] is not None for cell in found["contexts"])
    # The PMI is a mean over both directions, with the old word's frequencies in the model's own text.
    ids, constants = counts.vocabulary.ids, model.constants
    H = rounds.dense_rows(counts.indptr, counts.indices, counts.values / UNIT, len(ids))
    i, share = ids["zither"], H.sum() / constants.total
    for cell in found["contexts"]:
        j, row = ids[cell["word"]], model.key_to_index[cell["word"]]
        own = word_scales(H.sum(axis=1)[[i]], H.sum(axis=0)[[i]], index._measured.constants)
        u = scales_of(model).unigrams[row], own.unigrams[0]
        both = pmi(np.array([H[i, j], H[j, i]]), np.array([H[i].sum(), model.row_sums[row] * share]), np.array(u),
                   smoothing=constants.smoothing)  # fmt: skip
        assert both.min() - 1e-6 <= cell["pmi"] <= both.max() + 1e-6
