"""Every device gives what the dense reference defines: torch runs here on its CPU, where it is installed."""

import inspect

import numpy as np
import pytest
from scipy import sparse

from psdvec.counts.matrix import UNIT
from psdvec.errors import InputError, ResourceError
from psdvec.options import make_recipe
from psdvec.progress import SilentProgress
from psdvec.solver import ridge
from psdvec.solver import rounds as core
from psdvec.solver.devices import Device, open_device
from psdvec.solver.devices.cpu import Cpu
from psdvec.solver.devices.cpu_pairs import directed_terms, smoothed_count
from psdvec.solver.devices.cpu_pairs import formula_of as formula_of_kernels
from psdvec.solver.extend import extend
from psdvec.solver.fit import fit
from psdvec.solver.pmi import pair_terms
from psdvec.solver.ridge import prepare
from psdvec.vectors.regression import regress
from tests.reference import rounds as rounds_reference
from tests.toy import drawn_counts, fit_recipe, measured, problem_of, rounds_of

HALF = 2.0**-8  # of the largest number: every device keeps pairs in half precision, and several rounds add up

RECIPES = [
    make_recipe("default", rounds=4, negligible=0.0),
    make_recipe("paper"),
    make_recipe("default", rounds=3, exponent=0.4, diagonal=False, emphasis=0.3, negligible=0.0),
    make_recipe("paper", spectrum="signed", start="zero", background=0.1),
]


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="the code for GPUs needs torch; pip install 'psdvec[gpu]'")


@pytest.fixture(params=["one strip", "many strips"])
def gpu(torch, request, monkeypatch):
    from psdvec.solver.devices import gpu as gpu_pairs

    if request.param == "many strips":
        monkeypatch.setattr(gpu_pairs, "STRIP", 300)
        monkeypatch.setattr(gpu_pairs, "UPLOADED", 200)
    return open_device("torch:cpu")


def problem_and_reference(device, recipe, words=60):
    counts = drawn_counts()
    constants, scales = measured(counts, recipe, words)
    H = rounds_reference.dense_rows(counts.indptr, counts.indices, counts.values, words) / UNIT
    dense = rounds_reference.weights_and_targets(H, scales, constants)
    return problem_of(counts, recipe, words, device), dense


@pytest.mark.parametrize("words", [60, 37])
@pytest.mark.parametrize("recipe", RECIPES)
def test_the_rounds_agree_with_the_dense_reference(gpu, recipe, words):
    problem, (W, T, G, squares) = problem_and_reference(gpu, recipe, words)
    assert problem.constant == pytest.approx(squares.sum(), rel=1e-5)
    X, objectives = rounds_reference.fit_rounds(W, T, G, squares, rank=9, recipe=recipe)
    rounds = rounds_of(problem, rank=9, recipe=recipe)
    last = rounds[-1]
    vectors = last.low_rank.vectors
    np.testing.assert_allclose((vectors * last.low_rank.values) @ vectors.T, X, atol=HALF * np.abs(X).max())
    np.testing.assert_allclose([r.objective for r in rounds], objectives, rtol=5e-4)


def test_a_block_of_few_rows_meets_the_first_rows_and_columns_only(gpu):
    problem, (_, T, _, _) = problem_and_reference(gpu, RECIPES[0])
    block = np.random.default_rng(0).standard_normal((60, 5)).astype(np.float32)
    for m in (60, 41, 3):
        product = gpu.get(problem.start_times(gpu.put(block[:m]), half=None))
        np.testing.assert_allclose(product, T[:m, :m] @ block[:m], atol=4 * HALF * np.abs(T).max())


@pytest.mark.parametrize("n", [0, 1, 70])
def test_eigenvalues_rise_and_eigenvectors_make_the_matrix(gpu, n):
    half = np.random.default_rng(0).standard_normal((n, n))
    matrix = half + half.T
    for device in (Cpu(1), gpu):
        values, vectors = device.eigh(matrix)
        assert values.tolist() == sorted(values)
        np.testing.assert_allclose((vectors * values) @ vectors.T, matrix, atol=1e-12 * n)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(n), atol=1e-13 * n)


@pytest.mark.parametrize("d", [1, 40])
def test_spelling_learned_on_a_device_is_that_of_threads(gpu, d):
    rng = np.random.default_rng(d)
    Z = sparse.random_array((60, 90), density=0.1, rng=rng, dtype=np.float32).tocsr()
    units = rng.standard_normal((60, d)).astype(np.float32)
    certain = rng.random(60).astype(np.float32)
    B, others = regress(Z, units, certain, ridge=2.0, progress=SilentProgress())
    here, agreed = regress(Z, units, certain, ridge=2.0, solve=gpu.regression(), progress=SilentProgress())
    np.testing.assert_allclose(here, B, atol=1e-5 * np.abs(B).max())
    np.testing.assert_allclose(agreed, others, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["default", "paper"])
def test_the_vectors_are_those_of_the_cpu_to_rounding(gpu, recipe):
    counts = drawn_counts(words=150, sentences=800)
    found = [fit(counts, dim=8, recipe=recipe, device=device) for device in ("cpu", "torch:cpu")]
    grams = [model.vectors @ (model.vectors * model.signs).T for model in found]
    np.testing.assert_allclose(grams[1], grams[0], atol=1e-2 * np.abs(grams[0]).max())
    assert found[1].signs.tolist() == found[0].signs.tolist()


@pytest.mark.parametrize("mu", ["auto", "3", "0"])
def test_new_words_get_the_same_vectors_as_on_the_cpu(gpu, mu):
    counts = drawn_counts(words=90, sentences=900)
    model = fit(counts, dim=6, max_words=50)
    here, there = (
        extend(model, counts, ridge=mu, min_contexts=8, device=device) for device in ("cpu", "torch:cpu")
    )
    assert there.learned == here.learned
    assert there.unplaced == here.unplaced
    old, new = here, there
    assert new.vectors[:50].tobytes() == old.vectors[:50].tobytes()
    np.testing.assert_allclose(new.vectors, old.vectors, atol=2e-3 * np.abs(old.vectors).max())
    np.testing.assert_allclose(new.deviations[50:], old.deviations[50:], rtol=1e-2)


@pytest.mark.parametrize("k", [1, 64, 65, 127, 200, 501])
def test_inverse_factors_invert_and_say_which_matrix_has_none(k, torch):
    from psdvec.solver.devices.gpu import _inverse_factor

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


def test_equations_without_a_solution_are_told(torch):
    from psdvec.solver.devices.gpu import _Equations

    A, one = torch.eye(2).double().repeat(3, 1, 1), torch.ones(3).double()
    A[2] = -5 * A[2]
    with pytest.raises(InputError, match="singular"):
        _Equations(A, torch.ones(3, 2).double(), one, one, torch.zeros(2).double()).solve(one)
    with pytest.raises(InputError, match="singular"):
        ridge._factorised(A[2].numpy(), np.ones(2))


@pytest.mark.slow
def test_a_fit_on_another_device_is_resumed_too(gpu, tmp_path):
    recipe, file = make_recipe("default", rounds=4, head=40), tmp_path / "round"
    rounds = rounds_of(problem_of(drawn_counts(), recipe, device=gpu), rank=6, recipe=recipe)
    core.write_round(file, rounds[1])
    again = core.solve(problem_of(drawn_counts(), recipe, device=gpu), rank=6, recipe=recipe, file=file)
    whole = rounds[-1].low_rank.vectors
    np.testing.assert_allclose(gpu.get(again.low_rank.vectors), whole, atol=1e-4)


def test_a_device_without_room_says_so_and_what_to_do(monkeypatch, torch):
    from psdvec.solver.devices import gpu as gpu_pairs

    def full(*arguments, **options):
        raise torch.OutOfMemoryError

    with monkeypatch.context() as patch:
        patch.setattr(gpu_pairs, "directed_terms", full)
        with pytest.raises(ResourceError, match=r"no room for the pairs of .* words; fit fewer"):
            fit(drawn_counts(), dim=4, device="torch:cpu")
    with monkeypatch.context() as patch:
        patch.setattr(gpu_pairs.GpuPairs, "renew", full)
        with pytest.raises(
            ResourceError, match=r"no room for what a fit takes beside the pairs; let these take"
        ):
            fit(drawn_counts(), dim=4, device="torch:cpu")
    monkeypatch.setattr(gpu_pairs, "available_memory", lambda device: 1000)
    with pytest.raises(ResourceError, match=r"even without the pairs, and 800 B is free; fit fewer words"):
        fit(drawn_counts(), dim=4, device="torch:cpu")


def test_strips_that_a_device_has_no_room_for_stay_in_the_memory_of_the_machine(monkeypatch, torch):
    from psdvec.solver.devices import gpu as gpu_pairs

    moved, to = [], gpu_pairs.Strip.to

    def noted(strip, device):
        moved.append(strip.lo)
        return to(strip, device)

    monkeypatch.setattr(gpu_pairs, "STRIP", 300)
    monkeypatch.setattr(gpu_pairs.Strip, "to", noted)
    here, moves = fit(drawn_counts(), dim=4, device="torch:cpu").vectors, len(moved)
    strips = len(set(moved))
    there = fit(drawn_counts(), dim=4, device="torch:cpu", memory="1K").vectors
    assert strips > 3
    assert len(moved) - moves == moves + strips  # each left the device once more than it was asked for
    np.testing.assert_array_equal(here, there)


def test_no_room_for_a_batch_of_words_is_answered_with_its_halves_and_then_with_a_sentence(
    monkeypatch, torch
):
    from psdvec.solver.devices.gpu import _Solver

    counts = drawn_counts(words=90, sentences=900)
    model = fit(counts, dim=6, max_words=50)
    roomy = extend(model, counts, device="torch:cpu")
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
    found = extend(model, counts, device="torch:cpu")
    assert 7 < max(sizes) <= 30
    assert found.learned == roomy.learned
    np.testing.assert_allclose(found.vectors, roomy.vectors, atol=1e-5)

    def full(self, *arguments):
        raise torch.OutOfMemoryError

    for name, what in (("solve", "the equations of a word in"), ("_cells", "the pairs of a word")):
        monkeypatch.setattr(_Solver, name, full)
        with pytest.raises(ResourceError, match=rf"the device has no room for {what}.*; use device=\"cpu\""):
            extend(model, counts, device="torch:cpu")


@pytest.mark.usefixtures("torch")
def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="torch cannot use the device 'nonsense'"):
        fit(drawn_counts(), dim=4, device="nonsense")


def test_auto_takes_the_cpu_where_there_is_no_gpu(monkeypatch):
    monkeypatch.setattr("psdvec.resources.has_card", lambda: False)
    assert isinstance(open_device("auto"), Cpu)


def methods_of(device):
    return {name for name in dir(device) if not name.startswith("_") and callable(getattr(device, name))}


@pytest.mark.parametrize("name", ["cpu", "torch:cpu"])
def test_every_device_has_the_methods_of_the_protocol_and_their_parameters(name, request):
    if name != "cpu":
        request.getfixturevalue("torch")
    device = open_device(name)
    assert methods_of(device) == methods_of(Device)
    for method in methods_of(Device):
        _, *wanted = inspect.signature(getattr(Device, method)).parameters.values()
        found = inspect.signature(getattr(device, method)).parameters.values()
        assert [(one.name, one.kind) for one in found] == [(one.name, one.kind) for one in wanted]
        assert [one.default is one.empty for one in found] == [one.default is one.empty for one in wanted]


FORMULAS = [*RECIPES, make_recipe("default", saturation=0.5, unigram=1.0), make_recipe("paper", cut=0.2)]


def formula_of(counts, recipe):
    """Return constants, scales, the rows of the directed pairs, and :func:`psdvec.solver.pmi.pair_terms` of them."""
    constants, s = measured(counts, recipe)
    rows, columns = np.repeat(np.arange(len(counts)), np.diff(counts.indptr)), counts.indices
    f, a, m, B = (x[rows] * x[columns] for x in (s.frequencies, s.majorisers, s.emphases, s.rho))
    terms = pair_terms(
        counts.values / UNIT, s.row_sums[rows], s.unigrams[columns], f, a, m, B,
        constants=constants, itself=rows == columns,
    )  # fmt: skip
    return constants, s, rows, np.stack(terms)


def assert_to_float32(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5 * np.abs(wanted).max())


def kernel_terms(H, numbers, i, j):
    one, other, constants = tuple(numbers.scales[i]), tuple(numbers.scales[j]), numbers.constants
    raised = smoothed_count(H, one, other, constants) ** constants[2]
    return directed_terms(H, raised, one, other, i == j, constants)


@pytest.mark.parametrize("recipe", FORMULAS)
def test_the_kernel_and_the_reference_compute_the_formula(recipe):
    counts = drawn_counts()
    constants, scales, rows, formula = formula_of(counts, recipe)
    numbers = formula_of_kernels(scales, constants, recipe=recipe)
    terms = [
        kernel_terms(np.float32(value / UNIT), numbers, i, j)
        for i, j, value in zip(rows, counts.indices, counts.values, strict=True)
    ]
    assert_to_float32(np.array(terms).T, formula)
    H = rounds_reference.dense_rows(counts.indptr, counts.indices, counts.values / UNIT, len(counts))
    dense = rounds_reference.directed_terms(H, scales, constants)[:, rows, counts.indices]
    np.testing.assert_allclose(dense, formula, rtol=1e-12)


@pytest.mark.parametrize("recipe", FORMULAS)
def test_torch_computes_the_formula(recipe, torch):
    from psdvec.solver.devices import gpu as gpu_pairs

    counts, here = drawn_counts(), torch.device("cpu")
    constants, scales, _, formula = formula_of(counts, recipe)
    (pairs,) = gpu_pairs.directed_pairs(here, counts, len(counts))
    found = gpu_pairs.directed_terms(*pairs, gpu_pairs.put_scales(scales, here), constants)
    assert_to_float32(torch.stack(list(found)).numpy(), formula)


def new_words_and_cells(recipe, core_words=40):
    """Return counts, what the words after the core are solved with, and the cells of each."""
    counts = drawn_counts(words=60, sentences=900)
    model = fit_recipe(counts, recipe, dim=5, max_words=core_words)
    ids = np.arange(core_words, len(counts))
    setting = prepare(
        model, counts, ids, core=None, ridge="1", damping=0.0, unigrams="corpus", min_contexts=1
    )
    H = rounds_reference.dense_rows(counts.indptr, counts.indices, counts.values / UNIT, len(counts))
    cells = []
    for place, i in enumerate(ids):
        sides = (H[i, :core_words], H[:core_words, i])
        seen = [part for side in sides for part in (np.flatnonzero(side), side[side > 0])]
        word = setting.scales.take(slice(place, place + 1))
        cells.append(ridge.word_cells(word, setting.old, setting.constants, *seen))
    return counts, H, setting, cells


@pytest.mark.parametrize("recipe", FORMULAS)
def test_the_cells_of_a_new_word_are_the_formula(recipe):
    counts, H, setting, cells = new_words_and_cells(recipe)
    ids, core_words = setting.ids, len(setting.old)
    scales = measured(counts, recipe)[1]
    w, t, square, _ = (
        (term + term.T)[ids, :core_words]
        for term in rounds_reference.directed_terms(H, scales, setting.constants)
    )
    own = scales.emphases[ids, None]  # a new word's own emphasis is no part of its equations
    for place, one in enumerate(cells):
        np.testing.assert_allclose(one.weights, 2 * w[place, one.rows], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(one.targets, 2 * (t / own)[place, one.rows], rtol=1e-9, atol=1e-12)
        assert one.square == pytest.approx((square / own**2)[place].sum(), rel=1e-9)
        assert one.seen == np.count_nonzero(H[ids[place], :core_words]) + np.count_nonzero(
            H[:core_words, ids[place]]
        )


@pytest.mark.parametrize("recipe", FORMULAS)
def test_torch_has_the_same_cells(recipe, torch):
    from psdvec.solver.devices.gpu import _Solver

    counts, _, setting, cells = new_words_and_cells(recipe)
    solver = _Solver(torch.device("cpu"), setting, counts)
    assert solver.rows.tolist() == [row for one in cells for row in one.rows]
    assert_to_float32(solver.weights.numpy(), [x for one in cells for x in one.weights])
    assert_to_float32(solver.targets.numpy(), [x for one in cells for x in one.targets])
    assert_to_float32(solver.squares.numpy(), [one.square for one in cells])
    assert solver.seen.tolist() == [one.seen for one in cells]
