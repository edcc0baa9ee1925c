import itertools

import numba
import numpy as np
import pytest

from psdvec.backends import cpu, reference
from psdvec.errors import InputError, ResourceError
from psdvec.methods import psd
from psdvec.pmi import margins, measure_constants, word_scales
from psdvec.problem import build_problem, residual_of
from psdvec.recipe import make_recipe
from psdvec.weighting import UNIT
from tests.toy import drawn_counts


def dense_and_sparse(counts, recipe, words):
    rows, columns = margins(counts)
    constants = measure_constants(counts, rows, columns, recipe=recipe)
    scales = word_scales(rows[:words], columns[:words], constants)
    H = reference.dense_rows(counts.indptr, counts.indices, counts.values, words) / UNIT
    dense = reference.weights_and_targets(H, scales, constants, negligible=recipe.negligible)
    sparse = build_problem(
        counts, scales, constants, negligible=recipe.negligible, with_pmi=recipe.start == "half"
    )
    return dense, sparse


RECIPES = [
    make_recipe("default"),
    make_recipe("paper"),
    make_recipe("default", negligible=0.0, exponent=0.4, diagonal=False, emphasis=0.3),
    make_recipe("default", spectrum="positive", start="half", relaxation=1.3),
    make_recipe("paper", spectrum="signed", start="zero"),
]


@pytest.mark.parametrize("words", [60, 37])
@pytest.mark.parametrize("recipe", RECIPES)
def test_the_rounds_agree_with_the_dense_reference(recipe, words):
    counts = drawn_counts()
    (W, T, G, squares), problem = dense_and_sparse(counts, recipe, words)
    assert problem.constant == pytest.approx(squares.sum(), rel=1e-5)
    X, objectives = reference.fit_rounds(
        W,
        T,
        G,
        squares,
        rank=9,
        rounds=3,
        relaxation=recipe.relaxation,
        start=recipe.start,
        spectrum=recipe.spectrum,
    )
    rounds = []
    last = psd.solve(
        problem,
        rank=9,
        recipe=make_recipe("default", **{**vars(recipe), "rounds": 3}),
        save_round=rounds.append,
    )
    found = (last.low_rank.vectors * last.low_rank.values) @ last.low_rank.vectors.T
    np.testing.assert_allclose(found, X, atol=2e-4 * np.abs(X).max())
    np.testing.assert_allclose([r.objective for r in rounds], objectives, rtol=1e-4)


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_objective_falls_each_round(recipe):
    _, problem = dense_and_sparse(drawn_counts(words=150, sentences=1500), recipe, 150)
    rounds = []
    psd.solve(
        problem,
        rank=12,
        recipe=make_recipe("default", **{**vars(recipe), "rounds": 8}),
        save_round=rounds.append,
    )
    objectives = [r.objective for r in rounds]
    assert len(objectives) == 8
    assert all(after < before for before, after in itertools.pairwise(objectives))


def test_the_objective_of_a_round_is_the_dense_sum():
    recipe = make_recipe("default")
    (W, T, _, squares), problem = dense_and_sparse(drawn_counts(), recipe, 60)
    rng = np.random.default_rng(0)
    pairs = psd.Eigenpairs(rng.standard_normal((60, 4)).astype(np.float32), np.array([2.0, -1.0, 0.5, 0.0]))
    X = (pairs.vectors * pairs.values) @ pairs.vectors.T
    residual = residual_of(problem, pairs, with_image=True)
    assert residual.objective == pytest.approx(reference.objective(W, T, squares, X), rel=1e-5)
    block = rng.standard_normal((60, 5)).astype(np.float32)
    np.testing.assert_allclose(residual.times(block), (T - W * X) @ block, atol=1e-3)
    np.testing.assert_allclose(residual.image, (T - W * X) @ pairs.vectors, atol=1e-3)


def test_kernels_take_empty_rows_read_only_arrays_and_zero_weights():
    indptr = np.array([0, 0, 2, 3], dtype=np.int64)
    indices = np.array([0, 2, 1], dtype=np.int32)
    terms = np.array([[0.0, 1.0], [0.5, 0.0], [0.0, 0.0]], dtype=np.float32)
    Q = np.arange(6, dtype=np.float32).reshape(3, 2)
    for array in (indptr, indices, terms, Q):
        array.setflags(write=False)
    W, T = (reference.dense_rows(indptr, indices, terms[:, k], 3) for k in (0, 1))
    values, Y, losses = np.empty(3, np.float32), np.zeros((3, 2), np.float32), np.zeros(3)
    cpu.residual_into(indptr, indices, terms, Q, Q, values, Y, losses)
    X = Q @ Q.T
    np.testing.assert_allclose(Y, (T - W * X) @ Q, rtol=1e-6)
    np.testing.assert_allclose(losses, (W * X * X - 2 * T * X).sum(axis=1), rtol=1e-6)
    again = np.zeros((3, 2), np.float32)
    cpu.product_into(indptr, indices, values, Q, again)
    np.testing.assert_allclose(again, Y, rtol=1e-6)


def test_one_thread_and_several_give_the_same_bits():
    _, problem = dense_and_sparse(drawn_counts(words=150, sentences=800), make_recipe("default"), 150)
    Q = np.random.default_rng(0).standard_normal((150, 20)).astype(np.float32)
    found = []
    for threads in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(threads)
        values, Y, losses = np.empty(problem.indices.size, np.float32), np.zeros_like(Q), np.zeros(150)
        cpu.residual_into(problem.indptr, problem.indices, problem.terms, Q, Q, values, Y, losses)
        found.append((values.tobytes(), Y.tobytes(), losses.tobytes()))
    assert found[0] == found[1]


@pytest.mark.parametrize("words", [1, 2, 5])
def test_a_few_words_in_many_dimensions_have_zeros_beyond_their_rank(words):
    model = psd.fit(drawn_counts(words=5, sentences=50), dim=20, max_words=words)
    assert model.vectors.shape == (words, 20)
    assert np.isfinite(model.vectors).all()
    assert not model.vectors[:, words:].any()


def test_the_vectors_reproduce_the_fitted_matrix():
    counts = drawn_counts()
    recipe = make_recipe("default")
    _, problem = dense_and_sparse(counts, recipe, 60)
    last = psd.solve(problem, rank=11, recipe=recipe)
    model = psd.fit(counts, dim=10, recipe=recipe)
    X = (last.low_rank.vectors * last.low_rank.values) @ last.low_rank.vectors.T
    a = problem.scale
    fitted = (model.vectors * model.signs) @ model.vectors.T - np.outer(model.constant, model.constant)
    np.testing.assert_allclose(a[:, None] * fitted * a, X, atol=1e-4 * np.abs(X).max())


def test_the_same_input_gives_the_same_bytes():
    counts = drawn_counts()
    assert psd.fit(counts, dim=10).vectors.tobytes() == psd.fit(counts, dim=10).vectors.tobytes()


def test_words_of_one_topic_are_nearest_to_each_other():
    model = psd.fit(drawn_counts(words=60, sentences=3000, topics=3), dim=8)
    V = model.vectors / np.linalg.norm(model.vectors, axis=1, keepdims=True)
    S = V @ V.T
    np.fill_diagonal(S, -1)
    topic = np.array([int(word[1:]) % 3 for word in model.words])
    assert (topic[S.argmax(axis=1)] == topic).mean() > 0.9


def test_a_fit_goes_on_from_the_last_finished_round(tmp_path):
    counts = drawn_counts()
    recipe = make_recipe("default", rounds=4)

    class StoppedError(Exception):
        pass

    def save_two(state):
        psd.write_round(tmp_path / "round.npz", state)
        if state.number == 2:
            raise StoppedError

    with pytest.raises(StoppedError):
        psd.fit(counts, dim=10, recipe=recipe, save_round=save_two)
    numbers = []
    model = psd.fit(
        counts, dim=10, recipe=recipe, load_round=lambda: psd.read_round(tmp_path / "round.npz"),
        save_round=lambda state: numbers.append(state.number),
    )  # fmt: skip
    assert numbers == [2, 3, 4]
    assert model.vectors.tobytes() == psd.fit(counts, dim=10, recipe=recipe).vectors.tobytes()


def test_what_does_not_fit_into_memory_is_refused_with_what_would():
    with pytest.raises(ResourceError, match=r"needs about .* --core \d+"):
        psd.fit(drawn_counts(), dim=10, memory=1000)


def test_no_dimensions_are_refused():
    with pytest.raises(InputError, match="0 dimensions"):
        psd.fit(drawn_counts(), dim=0)


def test_a_threshold_that_leaves_no_pair_is_refused():
    with pytest.raises(InputError, match="smaller --negligible"):
        psd.fit(drawn_counts(), dim=4, recipe=make_recipe("default", background=0.0, negligible=1e9))
