"""Every numbered equation of the theory, computed from its definition cell by cell, against the code.

The equations are in docs/theory.md, docs/spelling.md and docs/topic-model.md. The definitions are written out here with
loops over pairs of words, on a text small enough for that.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, special

from psdvec.counts.count import count_pairs
from psdvec.counts.matrix import UNIT
from psdvec.counts.vocabulary import Vocabulary
from psdvec.explore.contexts import ContextIndex
from psdvec.options import make_recipe, parse_ridge
from psdvec.progress import SilentProgress
from psdvec.solver.extend import extend
from psdvec.solver.pmi import margins, pair_terms, pmi, weight
from psdvec.solver.ridge import CALIBRATION, evidence
from psdvec.topic_model.kernels import expect_topics
from psdvec.topic_model.learn import HOLD, learn, solve_topics, topic_word_probabilities
from psdvec.vectors.neighbours import NEAR, TAIL, neighbour_intervals, similarity_interval
from psdvec.vectors.regression import what_others_say
from tests.reference import ridge as ridge_reference
from tests.reference import rounds as rounds_reference
from tests.topic_model.planted import planted_texts, prepared
from tests.toy import drawn_counts, fit_recipe, measured, problem_of, rounds_of, scales_of

DOCS = Path(__file__).parent.parent / "docs"
PAGES = ("theory", "spelling", "topic-model")  # their equations are numbered as one sequence
THEORY = "\n".join((DOCS / f"{page}.md").read_text(encoding="utf-8") for page in PAGES)
RECIPE = make_recipe(head=0, negligible=0.0, spelling="off")
RECIPES = (
    RECIPE,
    make_recipe("paper"),
    make_recipe(background=0.9, saturation=0.05, emphasis=0.4, head=0, spelling="off"),
)
WORDS, CORE = 30, 20


@pytest.fixture(scope="module")
def counts():
    return drawn_counts(words=WORDS, sentences=120, topics=3)


@pytest.fixture(scope="module")
def H(counts):  # noqa: N802
    return rounds_reference.dense_rows(counts.indptr, counts.indices, counts.values / UNIT, WORDS)


@pytest.fixture(params=RECIPES, ids=["default", "paper", "clamped"])
def recipe(request):
    return request.param


def written_out(H, recipe, cap):
    """Return r, c, u, f, a, s, ρ by word, and G and R by pair, from equations (1) to (5) with loops."""
    n = len(H)
    r = [sum(H[i, j] for j in range(n)) for i in range(n)]
    c = [sum(H[i, j] for i in range(n)) for j in range(n)]
    u = [c[j] ** recipe.unigram / sum(x**recipe.unigram for x in c if x) for j in range(n)]
    f = [(r[i] + c[i]) / 2 for i in range(n)]
    mean, total = sum(f) / n, sum(c)
    a = [(x / mean) ** recipe.majoriser for x in f]
    s = [(x / mean) ** recipe.emphasis for x in f]
    K = (recipe.background / total) ** recipe.exponent / cap
    rho = [min(math.sqrt(K) * x**recipe.exponent / y, 1) for x, y in zip(f, a, strict=True)]
    G, R = np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            G[i, j] = math.log((1 - recipe.smoothing) * H[i, j] / (r[i] * u[j]) + recipe.smoothing)
            smoothed = (1 - recipe.background) * H[i, j] + recipe.background * f[i] * f[j] / total
            W = smoothed**recipe.exponent / cap
            R[i, j] = min(W / (a[i] * a[j]), 1) if H[i, j] else rho[i] * rho[j]
            if i == j and H[i, j] and not recipe.diagonal:
                R[i, j] = 0
    return tuple(map(np.array, (r, c, u, f, a, s, rho, G, R)))


def test_equation_h_counts_pairs_by_their_distance():
    lines = [["a", "b", "a", "c", "b", "c"], ["c", "a"]]
    counts = count_pairs(lines, window=3, min_count=1)
    expected = {}
    for line in lines:
        for p, first in enumerate(line):
            for q in range(p + 1, min(p + 3, len(line) - 1) + 1):
                expected[first, line[q]] = expected.get((first, line[q]), 0) + 1 / (q - p)
    found = {(word, other): value for word in "abc" for other, value in counts.row(word).items()}
    assert found == pytest.approx(expected)


def test_equation_1_is_the_smoothed_pmi(counts, H, recipe):
    constants, scales = measured(counts, recipe)
    r, c, u, *_, G, _ = written_out(H, recipe, constants.cap)
    np.testing.assert_allclose(scales.row_sums, r)
    np.testing.assert_allclose(scales.column_sums, c)
    np.testing.assert_allclose(scales.unigrams, u)
    found = pmi(H, scales.row_sums[:, None], scales.unigrams, smoothing=recipe.smoothing)
    np.testing.assert_allclose(found, G, atol=1e-14)


def test_equation_2_is_the_expected_count(counts, H, recipe):
    constants, scales = measured(counts, recipe)
    f = written_out(H, recipe, constants.cap)[3]
    np.testing.assert_allclose(scales.frequencies, f)
    assert constants.total == pytest.approx(H.sum())
    assert constants.mean == pytest.approx(f.mean())


def test_equation_3_is_the_weight_of_the_smoothed_count(counts, H, recipe):
    constants, scales = measured(counts, recipe)
    f = scales.frequencies
    for i, j in ((0, 1), (3, 2), (7, 7), (12, 25)):
        smoothed = (1 - recipe.background) * H[i, j] + recipe.background * f[i] * f[j] / H.sum()
        found = weight(H[i, j], f[i] * f[j], 1.0, constants=constants)
        assert found == pytest.approx(min(smoothed**recipe.exponent / constants.cap, 1))
    if recipe.saturation:
        assert constants.cap == pytest.approx(recipe.saturation**recipe.exponent)
    else:
        stored = np.sort(H[H > 0])
        assert constants.cap == pytest.approx(stored[int((1 - recipe.cut) * stored.size)] ** recipe.exponent)


def test_equation_4_is_the_majoriser_and_the_emphasis(counts, H, recipe):
    constants, scales = measured(counts, recipe)
    *_, a, s, _, _, _ = written_out(H, recipe, constants.cap)
    np.testing.assert_allclose(scales.majorisers, a)
    np.testing.assert_allclose(scales.emphases, s)


def test_equation_5_divides_and_clamps_the_weights(counts, H, recipe):
    constants, scales = measured(counts, recipe)
    *_, s, rho, G, R = written_out(H, recipe, constants.cap)
    np.testing.assert_allclose(scales.rho, rho)
    W, T, _, squares = rounds_reference.weights_and_targets(H, scales, constants)
    np.testing.assert_allclose(W, (R + R.T) / 2, atol=1e-12)
    weighted = np.outer(s, s) * R * G
    np.testing.assert_allclose(T, (weighted + weighted.T) / 2, atol=1e-12)
    np.testing.assert_allclose(squares, np.outer(s, s) ** 2 * R * G**2, atol=1e-12)


def test_equation_6_is_the_objective_that_the_solver_reports(counts, H, recipe):
    constants, _ = measured(counts, recipe)
    *_, s, _, G, R = written_out(H, recipe, constants.cap)
    for state in rounds_of(problem_of(counts, recipe), rank=6, recipe=recipe):
        X = (state.low_rank.vectors * state.low_rank.values) @ state.low_rank.vectors.T
        F = sum(R[i, j] * (s[i] * s[j] * G[i, j] - X[i, j]) ** 2 for i in range(WORDS) for j in range(WORDS))
        assert state.objective == pytest.approx(F, rel=5e-4)


def test_equation_7_is_a_step_along_the_weighted_error(counts, H, recipe):
    """The directed error, symmetrised, is what a round adds; with ω = 1 and exact eigenpairs it never raises F."""
    constants, scales = measured(counts, recipe)
    *_, s, _, G, R = written_out(H, recipe, constants.cap)
    W, T, whole, squares = rounds_reference.weights_and_targets(H, scales, constants)
    X = rounds_reference.truncate(whole, rank=5, spectrum=recipe.spectrum)
    error = R * (np.outer(s, s) * G - X)
    np.testing.assert_allclose(T - W * X, (error + error.T) / 2, atol=1e-10)
    step = rounds_reference.truncate(X + (error + error.T) / 2, rank=5, spectrum=recipe.spectrum)
    before, after = (rounds_reference.objective(W, T, squares, one) for one in (X, step))
    rounding = 1e-12 * before  # all that is left where every weight is 1: there X is the best already
    assert after <= before + rounding


def test_equation_7_prime_looks_ahead_along_the_last_step(counts, H):
    constants, scales = measured(counts, RECIPE)
    W, T, whole, squares = rounds_reference.weights_and_targets(H, scales, constants)
    recipe = make_recipe(head=0, negligible=0.0, rounds=4, relaxation=1.2, momentum=0.3)
    states = [
        rounds_reference.fit_rounds(W, T, whole, squares, rank=6, recipe=make_recipe(
            head=0, negligible=0.0, rounds=count, relaxation=1.2, momentum=0.3))[0]
        for count in range(1, 5)
    ]  # fmt: skip
    for two, one, new in zip(states[1:], states[2:], states[3:], strict=False):
        Y = one + 0.3 * (one - two)
        expected = rounds_reference.truncate(Y + 1.2 * (T - W * Y), rank=6, spectrum="signed")
        np.testing.assert_allclose(new, expected, atol=1e-8)
    rounds = rounds_of(problem_of(counts, recipe), rank=6, recipe=recipe)
    assert [one.objective for one in rounds] == pytest.approx(
        rounds_reference.fit_rounds(W, T, whole, squares, rank=6, recipe=recipe)[1], rel=0.02
    )


def test_equation_8_splits_the_error_into_background_and_seen_pairs(counts, H, recipe):
    constants, scales = measured(counts, recipe)
    *_, s, rho, G, R = written_out(H, recipe, constants.cap)
    X = np.random.default_rng(0).standard_normal((WORDS, 4))
    X = X @ X.T
    background = np.outer(rho, rho) * (np.outer(s, s) * np.log(recipe.smoothing) - X)
    rest = np.zeros_like(H)
    for i, j in zip(*np.nonzero(H), strict=True):
        terms = pair_terms(
            H[i, j], scales.row_sums[i], scales.unigrams[j], scales.frequencies[i] * scales.frequencies[j],
            scales.majorisers[i] * scales.majorisers[j], s[i] * s[j], rho[i] * rho[j], constants=constants,
            itself=np.array(i == j),
        )  # fmt: skip
        rest[i, j] = 2 * (terms.targets - terms.weights * X[i, j])
    np.testing.assert_allclose(background + rest, R * (np.outer(s, s) * G - X), atol=1e-9)


def cells_of(counts, H, model, w):
    """Return the cells of word w with the core: R and s g of both directions, and the features of the core words."""
    *_, s, _, G, R = written_out(H, model.recipe, model.constants.cap)
    features = model.rows[:CORE] * model.signs
    if model.constant.any():
        features = np.concatenate([features, -model.constant[:CORE, None]], axis=1)
    f = features * s[:CORE, None]
    return (
        np.concatenate([R[w, :CORE], R[:CORE, w]]),
        np.concatenate([s[:CORE] * G[w, :CORE], s[:CORE] * G[:CORE, w]]),
        np.concatenate([f, f]),
    )


@pytest.mark.parametrize(("ridge", "damping"), [("3", 0.0), ("0.5", 0.2)])
def test_equation_9_is_lowest_at_the_new_word(counts, H, recipe, ridge, damping):
    model = fit_recipe(counts, recipe, dim=4, max_words=CORE)
    w = CORE + 3
    word = counts.vocabulary.words[w]
    placed = extend(model, counts, words=[word], ridge=ridge, damping=damping).rows[-1]
    R, y, f = cells_of(counts, H, model, w)

    def objective(x):
        return R @ (y - f @ x) ** 2 + damping * np.sum((f @ x) ** 2) + float(ridge) * x @ x

    x = ridge_reference.solve(ridge_reference.WordCells(R, y, f), ridge=float(ridge), damping=damping)
    np.testing.assert_allclose(placed, x[:4], rtol=1e-3, atol=5e-4)
    for direction in np.random.default_rng(0).standard_normal((20, x.size)):
        assert objective(x) < min(objective(x + 1e-3 * direction), objective(x - 1e-3 * direction))


def test_equation_10_is_where_the_gradient_of_9_vanishes(counts, H, recipe):
    model = fit_recipe(counts, recipe, dim=4, max_words=CORE)
    R, y, f = cells_of(counts, H, model, CORE + 3)
    x = ridge_reference.solve(ridge_reference.WordCells(R, y, f), ridge=2.0, damping=0.1)
    gradient = f.T @ (R * (f @ x - y)) + 0.1 * f.T @ (f @ x) + 2.0 * x
    np.testing.assert_allclose(gradient, 0, atol=1e-9)


@pytest.mark.slow
def test_equation_11_is_what_integrating_over_the_vector_gives():
    """One feature, so that the integral can be done by quadrature; τ² is the likeliest, found by trying."""
    generator = np.random.default_rng(1)
    R, y, f = generator.uniform(0.1, 1, 6), generator.standard_normal(6), generator.standard_normal(6)
    cells = ridge_reference.WordCells(R, y, f[:, None])

    def log_likelihood(mu, eta, tau):
        P = eta * f @ f + mu

        def density(x):
            residual = R @ (y - f * x) ** 2 + P * x * x
            return np.exp(-0.5 * residual / tau) * np.sqrt(P / tau) * np.prod(np.sqrt(R / tau))

        return np.log(integrate.quad(density, -np.inf, np.inf)[0])

    found, dense, formula = [], [], []
    for mu, eta in ((0.5, 0.0), (2.0, 0.1), (8.0, 0.0)):
        found.append(max(log_likelihood(mu, eta, tau) for tau in np.geomspace(0.05, 20, 400)))
        dense.append(ridge_reference.log_evidence(cells, ridge=mu, damping=eta))
        A, b, P = R @ f**2, (R * y) @ f, eta * f @ f + mu
        formula.append(evidence(np.log(P), np.log(A + P), 6, R @ y**2 - b * b / (A + P))[0] / 2)
    np.testing.assert_allclose(np.diff(dense), np.diff(found), atol=1e-3)
    np.testing.assert_allclose(np.diff(formula), np.diff(dense), atol=1e-9)


def test_equation_12_is_the_posterior_deviation_of_a_coordinate(counts, H, recipe):
    model = fit_recipe(counts, recipe, dim=4, max_words=CORE)
    R, y, f = cells_of(counts, H, model, CORE + 3)
    word = counts.vocabulary.words[CORE + 3]
    # With damping, the trace is that of the preconditioner.
    for damping, accuracy in ((0.0, 1e-3), (0.1, 0.1)):
        A, b, P = f.T @ (R[:, None] * f), f.T @ (R * y), 2.0 * np.eye(f.shape[1]) + damping * f.T @ f
        variance = (R @ y**2 - b @ np.linalg.solve(A + P, b)) / np.count_nonzero(R)
        expected = np.sqrt(variance * np.trace(np.linalg.inv(A + P)) / f.shape[1])
        placed = extend(model, counts, words=[word], ridge="2", damping=damping)
        assert placed.deviations[-1] == pytest.approx(CALIBRATION * expected, rel=accuracy)
    assert f"deviation = {CALIBRATION} √" in THEORY


def test_equations_12a_and_12b_are_the_intervals_of_a_pair_and_of_a_neighbour():
    cosines, spread = np.cos([0.9, 1.2, 1.4]), 0.05
    V = spread**2 + 0.03**2 + NEAR * cosines[0] * (1 - cosines[0])
    growth = np.log(3) / (1.4 - 0.9)  # of three words the last stands for the 30th
    (found,) = neighbour_intervals(cosines, spread, np.array([0.03]), confidence=0.95)
    expected = np.cos(0.9 + growth * V + 1.959964 * np.array([1, -1]) * V**0.5)
    assert (found.low, found.high) == pytest.approx(expected)
    known = {"deviations": np.array([spread, 0.03]), "lengths": np.ones(2), "confidence": 0.95}
    pair = similarity_interval(float(cosines[0]), ("a", "b"), **known)
    assert (pair.low, pair.high) == pytest.approx(np.cos(0.9 + 1.959964 * np.array([1, -1]) * V**0.5))
    assert f"{NEAR} max(c, 0) (1 - c)" in THEORY
    assert f"log {TAIL} / ( θ_{TAIL}i - θ_i )" in THEORY


@pytest.fixture(scope="module")
def telling(counts):
    """The counts of words whose first letters tell where their vectors point."""
    rows = fit_recipe(counts, RECIPE, dim=6).rows
    ends = [("bak", "mid"), ("alo", "uri"), ("sen", "tot")]
    starts = ["".join(ends[k][int(row[k] > 0)] for k in range(3)) for row in rows]
    words = tuple(f"{start}{i}" for i, start in enumerate(starts))
    return replace(counts, vocabulary=Vocabulary(words, counts.vocabulary.counts))


@pytest.fixture(scope="module")
def spelled(telling):
    return fit_recipe(telling, make_recipe(spelling_noise=30.0, spelling_ridge=1.0), dim=6, max_words=CORE)


def ngram_matrix(model, words):
    """Return Z of equation (14): one column for each n-gram that at least two words of the model share."""

    def cut(word):
        ends = f"<{word}>"
        return {ends[i : i + n] for n in range(3, 7) for i in range(len(ends) - n + 1)}

    shared = Counter(ngram for word in model.words[: model.core] for ngram in cut(word))
    columns = {ngram: j for j, ngram in enumerate(ngram for ngram, words in shared.items() if words > 1)}
    Z = np.zeros((len(words), len(columns)))
    for i, word in enumerate(words):
        Z[i, [columns[ngram] for ngram in cut(word) if ngram in columns]] = 1
    return Z / np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), 1e-12)


def unit_rows(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_equation_13_gives_the_eigenvalues_another_power(spelled):
    s, rows = scales_of(spelled).emphases, spelled.rows.astype(float)
    values = np.sum((s[:, None] * rows) ** 2, axis=0)  # |λ|, since s v are eigenvectors times their roots
    other = rows / np.sqrt(values) * values**spelled.recipe.power
    stretched = rows * spelled.stretch
    np.testing.assert_allclose(unit_rows(stretched), unit_rows(other), rtol=1e-4, atol=1e-5)
    assert np.mean(np.square(spelled.stretch)) == pytest.approx(1)


def test_equation_14_predicts_the_vectors_from_their_ngrams(spelled):
    Z, U = ngram_matrix(spelled, spelled.words), unit_rows(spelled.rows * spelled.stretch).astype(float)
    c = spelled.counts / (spelled.counts + 30.0)
    B = np.linalg.solve(Z.T @ (c[:, None] * Z) + np.eye(Z.shape[1]), Z.T @ (c[:, None] * U))
    np.testing.assert_allclose(spelled.subwords.predict(spelled.words), Z @ B, atol=0.02)  # in 8 bits
    unseen = ["bakuri", "midalo77"]
    np.testing.assert_allclose(spelled.subwords.predict(unseen), ngram_matrix(spelled, unseen) @ B, atol=0.02)


def test_equation_15_adds_the_prediction_and_keeps_the_length(spelled):
    y, p = (spelled.rows * spelled.stretch).astype(float), spelled.subwords.predict(spelled.words)
    lengths = np.linalg.norm(y, axis=1, keepdims=True)
    expected = lengths * unit_rows(y / lengths + spelled.subwords.share * p)
    np.testing.assert_allclose(spelled.vectors, expected, rtol=1e-4, atol=1e-5)


def test_equation_16_is_lowest_at_a_new_word_whose_prior_is_its_spelling(telling, H, spelled):
    spelled = replace(spelled, subwords=replace(spelled.subwords, share=2.0))
    w = CORE + 3
    word = telling.vocabulary.words[w]
    R, y, f = cells_of(telling, H, spelled, w)
    q = np.zeros(f.shape[1])
    mean_length = np.linalg.norm(spelled.rows * spelled.stretch, axis=1).mean()
    q[:6] = spelled.subwords.share * mean_length * spelled.subwords.predict([word])[0] / spelled.stretch
    assert np.abs(q).max() > 0.1
    placed = extend(spelled, telling, words=[word], ridge="3", damping=0.2).rows[-1]

    def objective(x):
        return R @ (y - f @ x) ** 2 + 0.2 * np.sum((f @ (x - q)) ** 2) + 3 * np.sum((x - q) ** 2)

    cells = ridge_reference.around(ridge_reference.WordCells(R, y, f), q)
    x = q + ridge_reference.solve(cells, ridge=3.0, damping=0.2)
    np.testing.assert_allclose(placed, x[:6], rtol=1e-3, atol=1e-3)
    for direction in np.random.default_rng(0).standard_normal((20, x.size)):
        assert objective(x) < min(objective(x + 1e-3 * direction), objective(x - 1e-3 * direction))


def test_equation_17_is_what_learning_with_one_more_word_would_predict(telling, spelled):
    words = telling.vocabulary.words[CORE : CORE + 12]
    Z, U = ngram_matrix(spelled, spelled.words), unit_rows(spelled.rows * spelled.stretch).astype(float)
    c = spelled.counts / (spelled.counts + 30.0)

    def predicted(z, Z, c, U):
        return z @ np.linalg.solve(Z.T @ (c[:, None] * Z) + np.eye(Z.shape[1]), Z.T @ (c[:, None] * U))

    for w in range(5):  # a word of the fit, left out and taken in again
        rest = np.arange(CORE) != w
        p, with_it = predicted(Z[w], Z[rest], c[rest], U[rest]), predicted(Z[w], Z, c, U)
        inverse = np.linalg.inv(Z[rest].T @ (c[rest, None] * Z[rest]) + np.eye(Z.shape[1]))
        pull = c[w] * Z[w] @ inverse @ Z[w]
        np.testing.assert_allclose(with_it, p + pull / (1 + pull) * (U[w] - p), atol=1e-9)
    inverse = np.linalg.inv(Z.T @ (c[:, None] * Z) + np.eye(Z.shape[1]))
    h = c * np.einsum("ij,jk,ik->i", Z, inverse, Z)
    assert spelled.subwords.leverage == pytest.approx(h.mean() / (c.mean() * (1 - h.mean())), rel=0.25)
    placed = extend(spelled, telling, words=list(words))
    assert len(placed.learned) > 5
    seen = placed.counts[CORE:] / (placed.counts[CORE:] + 30.0)
    u = unit_rows(placed.rows[CORE:] * placed.stretch)
    h = (seen * spelled.subwords.leverage / (1 + seen * spelled.subwords.leverage))[:, None]
    p = spelled.subwords.predict(placed.learned)
    expected = unit_rows(u + spelled.subwords.share * (p + h * (u - p)))
    np.testing.assert_allclose(unit_rows(placed.vectors[CORE:]), expected, rtol=1e-3, atol=1e-4)


def two_views(s, t, *, n=20_000, d=30):
    """Draw true directions, and for each two unit vectors whose cosines with it are s and t, otherwise unrelated."""
    generator = np.random.default_rng(0)
    truth, one, other = (unit_rows(generator.standard_normal((n, d))) for _ in range(3))
    return truth, *(
        unit_rows(
            c * truth
            + np.sqrt(1 - c**2) * unit_rows(each - np.sum(each * truth, axis=1, keepdims=True) * truth)
        )
        for c, each in ((s, one), (t, other))
    )


def test_equation_18_weighs_two_views_by_what_each_knows_of_the_truth():
    for s, t in ((0.8, 0.5), (0.4, 0.3), (0.6, 0.6)):
        truth, u, q = two_views(s, t)
        own, size = 0.1, 0.5
        p = own * u + (1 - own) * size * q  # equation (17), with u known for certain
        others = what_others_say(u, p, own)
        a = others.share(t / s)

        def cosine(a, u=u, p=p, truth=truth):
            return np.mean(np.sum(unit_rows(u + a * p) * truth, axis=1))

        assert others.product / np.sqrt(others.square) == pytest.approx(s * t, abs=0.01)
        assert others.slope == pytest.approx(min(s * t / size, 1), rel=0.1)
        assert cosine(a) >= max(cosine(factor * a) for factor in (0.5, 0.8, 1.25, 2)) - 0.001


def test_equation_18_trusts_no_letters_that_tell_no_more_than_chance():
    _, u, q = two_views(0.6, 0.0)
    assert what_others_say(u, 0.2 * u + 0.3 * q, 0.2).share(0.7) < 0.05
    assert what_others_say(u, 0.2 * u + 0.3 * q, 0.2).share(0.7) > 0


@pytest.fixture(scope="module")
def told():
    """Documents with planted topics, the space of their words, and three tilts."""
    documents, space = prepared(planted_texts(documents=16, length=20))
    return documents, space, np.random.default_rng(0).standard_normal((3, space.vectors.shape[1]))


def tilted(space, t):
    """Return P(w | t) by equation (19), word by word."""
    P, v = space.shares, space.vectors.astype(float)
    mean = sum(p * x for p, x in zip(P, v, strict=True))
    raised = [p * math.exp((x - mean) @ t) for p, x in zip(P, v, strict=True)]
    return np.array(raised) / sum(raised)


def test_equation_19_tilts_the_distribution_of_words(told):
    _, space, tilts = told
    np.testing.assert_allclose(space.chances(tilts).T, [tilted(space, t) for t in tilts], rtol=1e-5)
    np.testing.assert_allclose(space.chances(0 * tilts)[:, 0], space.shares)


def test_equation_20_counts_words_by_how_few_documents_have_them(told):
    documents, space, _ = told
    starts, words, counts = documents.counted
    texts = [text.split() for text in planted_texts(documents=16, length=20)]
    for d, text in enumerate(texts):
        here = slice(starts[d], starts[d + 1])
        expected = {
            w: text.count(w) * max(0.01, min(1, math.log(16 / sum(w in t for t in texts)) / math.log(10)))
            for w in text
        }
        found = {space.words[i]: n for i, n in zip(words[here], counts[here], strict=True)}
        assert found == pytest.approx(expected)


def test_equation_21_makes_topics_pay_for_their_length(told):
    _, space, tilts = told
    found = topic_word_probabilities(space, tilts, hold=0.3)
    for k, t in enumerate(tilts):
        np.testing.assert_allclose(found[:, k], tilted(space, t) * math.exp(-0.3 * (t @ t) / 2), rtol=1e-5)
    np.testing.assert_allclose(found[:, 3], space.shares)


def test_equation_22_is_the_bound_and_its_top_in_the_proportions_is_where_documents_stop(told):
    documents, space, tilts = told
    starts, words, counts = documents.counted
    b, alpha = topic_word_probabilities(space, tilts, hold=0.01), np.array([0.1, 0.1, 0.1, 0.5])

    def log_beta(x):
        return sum(math.lgamma(one) for one in x) - math.lgamma(sum(x))

    def bound(gamma):
        total = 0.0
        for d, g in enumerate(gamma):
            e = np.exp(special.digamma(g) - special.digamma(g.sum()))
            for place in range(starts[d], starts[d + 1]):
                total += counts[place] * math.log(e @ b[words[place]])
            total += log_beta(g) - log_beta(alpha) + (alpha - g) @ np.log(e)
        return total

    gamma = alpha + (documents.lengths / 4)[:, None]
    found = expect_topics(starts, words, counts, b, alpha, gamma, np.zeros_like(b), 2000, 0.0)
    assert found == pytest.approx(bound(gamma), rel=1e-9)
    for change in np.random.default_rng(1).standard_normal((20, *gamma.shape)):
        assert bound(gamma * np.exp(0.01 * change)) < found


def test_equation_23_is_highest_where_newton_s_steps_end(told):
    _, space, _ = told
    expected = np.random.default_rng(2).gamma(0.3, 5.0, (len(space.words), 2))
    found = solve_topics(space, expected, np.zeros((2, 12)), hold=0.05, times=30)
    mean = space.shares @ space.vectors.astype(float)
    for k, t in enumerate(found):
        N = expected[:, k]
        middle = sum(n * (v - mean) for n, v in zip(N, space.vectors, strict=True)) / N.sum()

        def value(t, middle=middle):
            Z = sum(p * math.exp((v - mean) @ t) for p, v in zip(space.shares, space.vectors, strict=True))
            return middle @ t - math.log(Z) - 0.05 * (t @ t) / 2

        own = sum(p * (v - mean) for p, v in zip(tilted(space, t), space.vectors, strict=True))
        np.testing.assert_allclose(middle - own, 0.05 * t, atol=1e-4)
        for direction in np.random.default_rng(3).standard_normal((20, 12)):
            assert value(t + 0.1 * direction) < value(t)


def test_equation_24_adds_what_topics_have_in_any_case_to_the_bound(told):
    documents, space, _ = told
    begin = np.random.default_rng(4).gamma(0.5, 5.0, (len(space.words), 3))
    anchors = np.zeros_like(begin)
    anchors[2, 0] = anchors[7, 1] = 3.0
    options = {"workers": 1, "progress": SilentProgress()}
    plain = learn(documents, space, begin=begin + anchors, **options)
    held = learn(documents, space, begin=begin, anchors=anchors, **options)
    tilts = solve_topics(space, begin + anchors, hold=HOLD, times=3)
    b, words = topic_word_probabilities(space, tilts, hold=HOLD), float(documents.lengths.sum())
    added = sum(anchors[w, k] * math.log(b[w, k]) for w, k in ((2, 0), (7, 1)))
    assert held.bounds[0] * (words + 6) == pytest.approx(plain.bounds[0] * words + added)


def test_every_numbered_equation_of_the_pages_has_its_test():
    numbered = re.findall(r"^    .*\((H|\d+'?)\)$", THEORY, re.MULTILINE)
    names = {f"test_equation_{number.lower().replace(chr(39), '_prime')}_" for number in numbered}
    assert len(names) == len(numbered) == 26
    assert all(any(name.startswith(one) for name in globals()) for one in names)


def test_equation_12c_gives_each_context_its_share_of_a_cosine(counts, H, recipe):
    model = fit_recipe(counts, recipe, dim=4, max_words=CORE)
    ids = [CORE + 3, CORE + 5]
    names = [counts.vocabulary.words[w] for w in ids]
    placed = extend(model, counts, words=names)
    *_, s, rho, _, _ = written_out(H, recipe, model.constants.cap)
    units, terms = [], []
    for w, name in zip(ids, names, strict=True):
        R, y, f = cells_of(counts, H, model, w)
        A = f.T @ (R[:, None] * f) + model.recipe.damping * f.T @ f
        A += parse_ridge(recipe.ridge)(w + 1)[0] * np.eye(len(A))
        B = np.tile(rho[w] * rho[:CORE], 2)
        t = R * y - B * np.tile(s[:CORE], 2) * math.log(recipe.smoothing)
        columns = np.linalg.solve(A, (t[:, None] * f).T)[:4]
        length = np.linalg.norm(placed.unspelled[placed.key_to_index[name]])
        terms.append(placed.stretch[:, None] * (columns[:, :CORE] + columns[:, CORE:]) / length)
        units.append(placed[name] / np.linalg.norm(placed[name]))
    found = ContextIndex(placed, counts).shares(*names)
    expected = (terms[0].T @ units[1] + terms[1].T @ units[0]) / 2
    np.testing.assert_allclose(found.contexts, expected[found.rows], rtol=1e-3, atol=1e-5)
    total = found.contexts.sum() + found.spelling + found.background + found.rest
    assert total == pytest.approx(placed.similarity(*names), abs=1e-6)


def test_the_margins_are_the_sums_of_the_counts(counts, H):
    rows, columns = margins(counts)
    np.testing.assert_allclose(rows, H.sum(axis=1))
    np.testing.assert_allclose(columns, H.sum(axis=0))
