"""Every device gives what the dense reference defines: torch runs here on its CPU, where it is installed."""

import numpy as np
import pytest

from psdvec.counts.weighting import UNIT
from psdvec.errors import InputError, ResourceError
from psdvec.reference import rounds as rounds_reference
from psdvec.solver import core, fit, noncore, ridge
from psdvec.solver.devices import open_backend
from psdvec.solver.pmi import margins, measure_constants, word_scales
from psdvec.solver.problem import build_problem
from psdvec.solver.recipe import make_recipe
from tests.toy import drawn_counts

RECIPES = [
    make_recipe("default", rounds=4, negligible=0.0),
    make_recipe("paper"),
    make_recipe("default", rounds=3, exponent=0.4, diagonal=False, emphasis=0.3, negligible=0.0),
    make_recipe("paper", spectrum="signed", start="zero", background=0.1),
]


@pytest.fixture(params=["dense", "sparse"])
def gpu(request, monkeypatch):
    pytest.importorskip("torch", reason="the GPU backend needs torch; pip install 'psdvec[gpu]'")
    from psdvec.solver.devices import gpu

    monkeypatch.setattr(gpu, "SHARE", 0.8 if request.param == "dense" else 0.0)
    return open_backend("torch:cpu")


def problem_and_reference(backend, recipe, words=60):
    counts = drawn_counts()
    rows, columns = margins(counts)
    constants = measure_constants(counts, rows, columns, recipe=recipe)
    scales = word_scales(rows[:words], columns[:words], constants)
    H = rounds_reference.dense_rows(counts.indptr, counts.indices, counts.values, words) / UNIT
    dense = rounds_reference.weights_and_targets(H, scales, constants)
    return build_problem(backend, counts, scales, constants, recipe=recipe), dense


@pytest.mark.parametrize("words", [60, 37])
@pytest.mark.parametrize("recipe", RECIPES)
def test_the_rounds_agree_with_the_dense_reference(gpu, recipe, words):
    problem, (W, T, G, squares) = problem_and_reference(gpu, recipe, words)
    assert problem.constant == pytest.approx(squares.sum(), rel=1e-5)
    X, objectives = rounds_reference.fit_rounds(W, T, G, squares, rank=9, recipe=recipe)
    rounds = []
    last = core.solve(problem, rank=9, recipe=recipe, save_round=rounds.append)
    vectors = gpu.get(last.low_rank.vectors)
    np.testing.assert_allclose((vectors * last.low_rank.values) @ vectors.T, X, atol=5e-4 * np.abs(X).max())
    np.testing.assert_allclose([r.objective for r in rounds], objectives, rtol=2e-4)


def test_a_block_of_few_rows_meets_the_first_rows_and_columns_only(gpu):
    problem, (_, T, _, _) = problem_and_reference(gpu, RECIPES[0])
    block = np.random.default_rng(0).standard_normal((60, 5)).astype(np.float32)
    for m in (60, 41, 3):
        product = gpu.get(problem.start_times(gpu.put(block[:m]), half=None))
        np.testing.assert_allclose(product, T[:m, :m] @ block[:m], atol=1e-3)


@pytest.mark.parametrize("recipe", ["default", "paper"])
def test_the_vectors_are_those_of_the_cpu_to_rounding(gpu, recipe):
    counts = drawn_counts(words=150, sentences=800)
    found = [
        core.fit(counts, dim=8, recipe=make_recipe(recipe), device=device) for device in ("cpu", "torch:cpu")
    ]
    grams = [model.vectors @ (model.vectors * model.signs).T for model in found]
    np.testing.assert_allclose(grams[1], grams[0], atol=1e-2 * np.abs(grams[0]).max())
    assert found[1].signs.tolist() == found[0].signs.tolist()


@pytest.mark.parametrize("mu", ["auto", "3", "0"])
def test_new_words_get_the_same_vectors_as_on_the_cpu(gpu, mu):
    counts = drawn_counts(words=90, sentences=900)
    model = core.fit(counts, dim=6, max_words=50)
    here, there = (
        noncore.extend(model, counts, ridge=mu, min_contexts=8, device=device)
        for device in ("cpu", "torch:cpu")
    )
    assert there.learned == here.learned
    assert there.thin == here.thin
    old, new = here.model, there.model
    assert new.vectors[:50].tobytes() == old.vectors[:50].tobytes()
    np.testing.assert_allclose(new.vectors, old.vectors, atol=2e-3 * np.abs(old.vectors).max())
    np.testing.assert_allclose(new.deviations[50:], old.deviations[50:], rtol=1e-2)


@pytest.mark.parametrize("k", [1, 64, 65, 127, 200, 501])
def test_inverse_factors_invert_and_say_which_matrix_has_none(k):
    torch = pytest.importorskip("torch", reason="the GPU backend needs torch; pip install 'psdvec[gpu]'")
    from psdvec.solver.devices.gpu_ridge import _inverse_factor

    generator = torch.Generator().manual_seed(k)
    F = torch.randn(3, 2 * k, k, dtype=torch.float64, generator=generator)
    A = F.mT @ F / k + torch.eye(k)
    X = _inverse_factor(A)
    assert torch.equal(X, X.tril())
    torch.testing.assert_close(X.mT @ X @ A, torch.eye(k).to(A).expand_as(A), rtol=0, atol=1e-10)
    A[1, 0, 0] = -1
    spoilt = _inverse_factor(A)
    assert spoilt[:, -1, -1].isfinite().tolist() == [True, False, True]
    torch.testing.assert_close(spoilt[0], X[0])


def test_equations_without_a_solution_are_told():
    torch = pytest.importorskip("torch", reason="the GPU backend needs torch; pip install 'psdvec[gpu]'")
    from psdvec.solver.devices.gpu_ridge import _Equations

    A, one = torch.eye(2).double().repeat(3, 1, 1), torch.ones(3).double()
    A[2] = -5 * A[2]
    with pytest.raises(InputError, match="singular"):
        _Equations(A, torch.ones(3, 2).double(), one, one, torch.zeros(2).double()).solve(one)
    with pytest.raises(InputError, match="singular"):
        ridge._factorised(A[2].numpy(), np.ones(2))


def test_a_fit_on_another_device_goes_on_too(gpu, tmp_path):
    counts, recipe = drawn_counts(), make_recipe("default", rounds=4, head=40)
    states = []
    whole = core.fit(counts, dim=5, recipe=recipe, device="torch:cpu", save_round=states.append)
    core.write_round(tmp_path / "round.npz", states[1])
    again = core.fit(
        counts,
        dim=5,
        recipe=recipe,
        device="torch:cpu",
        load_round=lambda: core.read_round(tmp_path / "round.npz"),
    )
    np.testing.assert_allclose(again.vectors, whole.vectors, atol=1e-4)


def test_no_room_is_answered_with_smaller_chunks_and_then_with_a_sentence():
    torch = pytest.importorskip("torch", reason="the GPU backend needs torch; pip install 'psdvec[gpu]'")
    from psdvec.solver.devices.gpu import SMALLEST, for_chunks

    done = []

    def cramped(lo, hi):
        if hi - lo > 1000:
            raise torch.OutOfMemoryError
        done.extend(range(lo, hi))

    for_chunks(cramped, 5000, width=SMALLEST // 64)
    assert done == list(range(5000))

    def full(lo, hi):
        raise torch.OutOfMemoryError

    with pytest.raises(ResourceError, match="the device has no room"):
        for_chunks(full, 10, width=10)


def test_no_room_for_whole_matrices_is_answered_with_rows_and_then_with_a_sentence(monkeypatch):
    torch = pytest.importorskip("torch", reason="the GPU backend needs torch; pip install 'psdvec[gpu]'")
    from psdvec.solver.devices import gpu

    def full(*arguments):
        raise torch.OutOfMemoryError

    kept = []
    sparse_pairs = gpu._sparse_pairs
    monkeypatch.setattr(gpu, "_dense_pairs", full)
    monkeypatch.setattr(gpu, "_sparse_pairs", lambda *a: kept.append(sparse_pairs(*a)) or kept[0])
    here, there = (core.fit(drawn_counts(), dim=4, device=device) for device in ("cpu", "torch:cpu"))
    assert len(kept) == 1
    np.testing.assert_allclose(there.vectors, here.vectors, atol=2e-3 * np.abs(here.vectors).max())
    for name in ("_sparse_pairs", "_pair_terms"):
        monkeypatch.setattr(gpu, name, full)
        with pytest.raises(
            ResourceError, match=r"the device has no room for the pairs of .* words; fit fewer"
        ):
            core.fit(drawn_counts(), dim=4, device="torch:cpu")


def test_no_room_for_a_batch_of_words_is_answered_with_its_halves_and_then_with_a_sentence(monkeypatch):
    torch = pytest.importorskip("torch", reason="the GPU backend needs torch; pip install 'psdvec[gpu]'")
    from psdvec.solver.devices.gpu_ridge import _Solver

    counts = drawn_counts(words=90, sentences=900)
    model = core.fit(counts, dim=6, max_words=50)
    roomy = noncore.extend(model, counts, device="torch:cpu")
    cells, solve, sizes = _Solver._cells, _Solver.solve, []

    def few_cells(self, counts):
        if self.setting.ids.size > 30:
            raise torch.OutOfMemoryError
        return cells(self, counts)

    def few_equations(self, chosen, ridges):
        sizes.append(chosen.size)
        if chosen.size > 7:
            raise torch.OutOfMemoryError
        return solve(self, chosen, ridges)

    monkeypatch.setattr(_Solver, "_cells", few_cells)
    monkeypatch.setattr(_Solver, "solve", few_equations)
    found = noncore.extend(model, counts, device="torch:cpu")
    assert 7 < max(sizes) <= 30
    assert found.learned == roomy.learned
    np.testing.assert_allclose(found.model.vectors, roomy.model.vectors, atol=1e-5)

    def full(self, *arguments):
        raise torch.OutOfMemoryError

    for name, what in (("solve", "the equations of a word of"), ("_cells", "the pairs of a word")):
        monkeypatch.setattr(_Solver, name, full)
        with pytest.raises(ResourceError, match=rf"the device has no room for {what}.*; take --device cpu"):
            noncore.extend(model, counts, device="torch:cpu")


def test_a_device_that_is_not_there_is_refused():
    pytest.importorskip("torch", reason="the GPU backend needs torch; pip install 'psdvec[gpu]'")
    with pytest.raises(InputError, match="torch cannot use the device 'nonsense'"):
        fit.fit(drawn_counts(), dim=4, device="nonsense")


def test_auto_takes_the_cpu_where_there_is_no_gpu(monkeypatch):
    monkeypatch.setattr("psdvec.solver.devices._has_gpu", lambda: False)
    assert open_backend("auto").__name__ == "psdvec.solver.devices.cpu"
