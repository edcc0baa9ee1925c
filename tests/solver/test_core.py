import errno
import itertools
from dataclasses import replace

import numpy as np
import pytest

from psdvec.counts.matrix import UNIT
from psdvec.errors import InputError, ResourceError
from psdvec.options import make_recipe
from psdvec.solver import rounds as core
from psdvec.solver.devices import Room, Size, cpu_pairs
from psdvec.solver.devices.cpu import Cpu
from psdvec.solver.fit import fit
from psdvec.solver.rounds import Eigenpairs, best_multiple, build_problem, residual_of
from psdvec.system import current_memory
from tests.helpers import Watched
from tests.reference import rounds as rounds_reference
from tests.toy import dense_widths, drawn_counts, fit_recipe, measured, problem_of, rounds_of

# Of the largest number: pairs are kept in half precision, with 11 bits, and several rounds add up.
HALF = 2.0**-8
LARGE = Size(1_000_000, 10**9, rank=301, dim=300, head=12_500)


def dense_and_sparse(counts, recipe, words):
    constants, scales = measured(counts, recipe, words)
    H = rounds_reference.dense_rows(counts.indptr, counts.indices, counts.values, words) / UNIT
    dense = rounds_reference.weights_and_targets(
        H, scales, constants, negligible=recipe.negligible, widths=dense_widths(counts, words)
    )
    return dense, problem_of(counts, recipe, words)


RECIPES = [
    make_recipe("default"),
    make_recipe("paper"),
    make_recipe("default", negligible=0.0, exponent=0.4, diagonal=False, emphasis=0.3),
    make_recipe("default", spectrum="positive", start="half", relaxation=1.3),
    make_recipe("default", relaxation=1.9, momentum=0.8, saturation=0.5),
    make_recipe("paper", spectrum="signed", start="zero"),
    make_recipe("default", exact=True, relaxation=1.9, momentum=0.8),
]


@pytest.fixture
def narrow_blocks(monkeypatch):
    """Make the Krylov spaces of a few words smaller than all of them."""
    monkeypatch.setattr(core, "BLOCK", 4)


@pytest.mark.parametrize("words", [60, 37])
@pytest.mark.parametrize("recipe", RECIPES)
def test_the_rounds_agree_with_the_dense_reference(recipe, words, panels):
    (W, T, G, squares), problem = dense_and_sparse(drawn_counts(), recipe, words)
    assert problem.constant == pytest.approx(squares.sum(), rel=1e-5)
    recipe = make_recipe("default", **{**vars(recipe), "rounds": 4})
    X, objectives = rounds_reference.fit_rounds(W, T, G, squares, rank=9, recipe=recipe)
    rounds = rounds_of(problem, rank=9, recipe=recipe)
    last = rounds[-1]
    found = (last.low_rank.vectors * last.low_rank.values) @ last.low_rank.vectors.T
    np.testing.assert_allclose(found, X, atol=HALF * np.abs(X).max())
    np.testing.assert_allclose([r.objective for r in rounds], objectives, rtol=5e-4)


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_objective_falls_each_round(recipe):
    _, problem = dense_and_sparse(drawn_counts(words=150, sentences=1500), recipe, 150)
    recipe = make_recipe("default", **{**vars(recipe), "rounds": 8, "head": min(recipe.head, 90)})
    objectives = [r.objective for r in rounds_of(problem, rank=12, recipe=recipe)]
    assert len(objectives) == 8
    assert all(after < before for before, after in itertools.pairwise(objectives))


def random_low_rank(n, seed=0):
    basis, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, 4)))
    return Eigenpairs(basis.astype(np.float32), np.array([20.0, -10.0, 5.0, 0.0]))


def test_the_residual_and_the_objective_are_the_dense_ones(panels):
    (W, T, _, squares), problem = dense_and_sparse(drawn_counts(), make_recipe("default"), 60)
    old, new = random_low_rank(60, 1), random_low_rank(60, 2)
    residual_of(problem, old)
    residual = residual_of(problem, new, previous=old, momentum=0.7)
    image = residual.image.copy()
    X, before = ((pairs.vectors * pairs.values) @ pairs.vectors.T for pairs in (new, old))
    ahead = X + 0.7 * (X - before)
    assert residual.objective == pytest.approx(rounds_reference.objective(W, T, squares, X), rel=1e-5)
    np.testing.assert_allclose(image, (T - W * ahead) @ new.vectors, atol=4 * HALF * np.abs(T).max())
    stepped = (ahead + 1.3 * (T - W * ahead)) @ new.vectors
    np.testing.assert_allclose(residual.into_step_image(1.3), stepped, atol=4 * HALF * np.abs(T).max())
    block = np.random.default_rng(0).standard_normal((60, 5)).astype(np.float32)
    plain = residual_of(problem, new)
    np.testing.assert_allclose(plain.times(block), (X + T - W * X) @ block, atol=4 * HALF * np.abs(T).max())


def test_the_best_multiple_is_at_the_bottom_of_the_parabola(panels):
    (W, T, _, squares), problem = dense_and_sparse(drawn_counts(), make_recipe("default"), 60)
    start = random_low_rank(60)
    residual = best_multiple(problem, start, problem.start_times(start.vectors, half=None))
    best = residual.low_rank
    X = (best.vectors * best.values) @ best.vectors.T
    assert residual.objective == pytest.approx(rounds_reference.objective(W, T, squares, X), rel=1e-4)
    np.testing.assert_allclose(residual.image, (T - W * X) @ best.vectors, atol=4 * HALF * np.abs(T).max())
    assert all(
        residual.objective < rounds_reference.objective(W, T, squares, factor * X) for factor in (0.9, 1.1)
    )


@pytest.mark.parametrize("recipe", [make_recipe("default"), make_recipe("paper")])
def test_a_block_of_few_rows_meets_the_first_rows_and_columns_only(recipe, panels):
    (W, T, G, _), problem = dense_and_sparse(drawn_counts(), recipe, 60)
    half = recipe.relaxation if recipe.start == "half" else None
    first = T if half is None else G / 2 + half * (T - W * G / 2)
    block = np.random.default_rng(0).standard_normal((60, 5)).astype(np.float32)
    for m in (60, 41, 16, 3):
        product = problem.start_times(block[:m], half=half)
        np.testing.assert_allclose(product, first[:m, :m] @ block[:m], atol=4 * HALF * np.abs(first).max())


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [make_recipe("default"), make_recipe("paper")])
def test_any_number_of_threads_and_any_memory_give_the_same_bits(recipe, panels, narrow_blocks, tmp_path):
    counts = drawn_counts(words=150, sentences=800)
    constants, scales = measured(counts, recipe)
    found = set()
    for threads, room in itertools.product((1, 2, 3), (np.inf, 5000, 0)):
        whole = build_problem(
            Cpu(threads), counts, scales, constants, recipe=recipe, room=Room(room, tmp_path)
        )
        assert (whole.pairs.in_memory > 0, whole.pairs.on_disk > 0) == (room > 0, room < np.inf)
        assert whole.pairs.in_memory <= room
        last = core.solve(whole, rank=20, recipe=recipe)
        found.add((last.low_rank.vectors.tobytes(), last.low_rank.values.tobytes(), last.objective))
    assert len(found) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("failing", [1, 4])
def test_a_disk_that_is_full_of_pairs_is_called_that(failing, tmp_path, monkeypatch):
    """Full while blocks are built, and while a round writes their residual back."""
    written, write = [], cpu_pairs._write

    def full(file, start, array):
        written.append(array)
        if len(written) == failing:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(file, start, array)

    monkeypatch.setattr(cpu_pairs, "_write", full)
    recipe = make_recipe("default")
    constants, scales = measured(drawn_counts(), recipe)
    with pytest.raises(ResourceError, match="the disk is full"):
        core.solve(
            build_problem(Cpu(1), drawn_counts(), scales, constants, recipe=recipe, room=Room(0, tmp_path)),
            rank=9,
            recipe=recipe,
        )


def test_a_fit_gives_the_same_bytes_for_any_threads_memory_and_place(tmp_path):
    counts = drawn_counts(words=150, sentences=800)
    fits = [
        fit(counts, dim=10, **options)
        for options in (
            {},
            {"workers": 1},
            {"workers": 3, "memory": current_memory() + 900_000_000},
            {"output": tmp_path / "model", "memory": current_memory() + 500_000_000},
        )
    ]
    assert all(one == fits[0] for one in fits[1:])
    assert all(one.vectors.tobytes() == fits[0].vectors.tobytes() for one in fits[1:])


@pytest.mark.parametrize("words", [1, 2, 5])
def test_a_few_words_in_many_dimensions_have_zeros_beyond_their_rank(words):
    model = fit(drawn_counts(words=5, sentences=50), dim=20, max_words=words)
    assert model.vectors.shape == (words, 20)
    assert np.isfinite(model.vectors).all()
    assert not model.vectors[:, words:].any()


def test_the_vectors_reproduce_the_fitted_matrix():
    counts = drawn_counts()
    recipe = make_recipe("default")
    _, problem = dense_and_sparse(counts, recipe, 60)
    last = core.solve(problem, rank=11, recipe=recipe)
    model = fit_recipe(counts, recipe, dim=10)
    X = (last.low_rank.vectors * last.low_rank.values) @ last.low_rank.vectors.T
    a = problem.scale
    fitted = (model.rows * model.signs) @ model.rows.T - np.outer(model.constant, model.constant)
    np.testing.assert_allclose(a[:, None] * fitted * a, X, atol=1e-4 * np.abs(X).max())


def test_the_same_input_gives_the_same_bytes():
    counts = drawn_counts()
    assert fit(counts, dim=10).vectors.tobytes() == fit(counts, dim=10).vectors.tobytes()


def test_words_of_one_topic_are_nearest_to_each_other():
    model = fit(drawn_counts(words=60, sentences=3000, topics=3), dim=8)
    V = model.vectors / np.linalg.norm(model.vectors, axis=1, keepdims=True)
    S = V @ V.T
    np.fill_diagonal(S, -1)
    topic = np.array([int(word[1:]) % 3 for word in model.words])
    assert (topic[S.argmax(axis=1)] == topic).mean() > 0.9


def test_with_exact_eigenpairs_the_seed_makes_no_difference(narrow_blocks):
    counts = drawn_counts(words=150, sentences=1500)

    def cosines(seed, **changes):
        V = fit(counts, recipe="paper", changes=changes, dim=20, seed=seed).vectors
        V = V / np.linalg.norm(V, axis=1, keepdims=True)
        return V @ V.T

    assert np.abs(cosines(0) - cosines(1)).max() < 1e-4
    assert np.abs(cosines(0, exact=False) - cosines(1, exact=False)).max() > 1e-3


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("stop", [1, 2, 3])
def test_a_fit_resumes_after_the_last_finished_round(stop, exact, narrow_blocks, tmp_path, all_rounds_kept):
    recipe = make_recipe("default", rounds=4, head=80, exact=exact)
    counts = drawn_counts(words=100)

    def solved(**options):
        return core.solve(problem_of(counts, recipe), rank=11, recipe=recipe, **options)

    with pytest.raises(KeyboardInterrupt):
        solved(file=tmp_path / "round", progress=Watched(stop_at=f"round {stop + 1}"))
    resumed = solved(file=tmp_path / "round", progress=(watched := Watched()))
    assert watched.rounds == list(range(stop + 1, 5))
    assert resumed.low_rank.vectors.tobytes() == solved().low_rank.vectors.tobytes()


def test_rounds_that_are_made_again_sooner_than_kept_are_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(core, "KEPT_AFTER", np.inf)
    recipe, counts = make_recipe("default", rounds=3), drawn_counts()
    core.solve(problem_of(counts, recipe), rank=5, recipe=recipe, file=tmp_path / "round")
    assert not list(tmp_path.iterdir())


def test_too_little_memory_is_refused_with_what_would_be_accepted():
    with pytest.raises(ResourceError, match=r"needs .* even if all pairs are on disk") as refused:
        fit(drawn_counts(), dim=10, memory=1000)
    enough = str(refused.value).partition("memory=")[2]
    assert len(fit(drawn_counts(), dim=10, memory=enough)) == 60


def test_a_core_that_is_advised_for_lack_of_memory_is_accepted():
    limit = 900_000_000 + current_memory()
    with pytest.raises(ResourceError) as refused:
        Cpu(2).find_room(LARGE, limit=limit, folder=None)
    core_words = int(str(refused.value).partition("core=")[2].partition(")")[0])
    assert core_words > 10_000
    room = Cpu(2).find_room(replace(LARGE, words=core_words, pairs=10**8), limit=limit, folder=None)
    assert room.peak <= limit
    assert "read in every round" in room.describe()


def test_many_threads_share_more_columns_at_a_time_where_there_is_room():
    usual = replace(LARGE, words=50_000, pairs=72_000_000)
    roomy = Cpu(16).find_room(usual, limit=10**11, folder=None)
    lean = Cpu(16).find_room(usual, limit=int(roomy.peak) - 1, folder=None)
    assert roomy.building > lean.building
    assert not roomy.on_disk
    assert lean.peak < roomy.peak


def test_it_is_said_how_much_goes_to_disk():
    room = Room(bytes=4 * 10**8, pairs=2 * 10**9, besides=10**9)
    assert room.describe() == (
        "peak memory about 1.4 GB of 1.4 GB; up to 1.6 GB of the pairs go to disk and are read in every round"
    )
    assert (
        replace(room, bytes=10**10).describe() == "peak memory about 3.0 GB of 11.0 GB, all pairs in memory"
    )


def test_no_dimensions_are_refused():
    with pytest.raises(InputError, match="dim is 0; give 1 or more"):
        fit(drawn_counts(), dim=0)


def test_a_threshold_that_leaves_no_pair_is_refused(monkeypatch):
    monkeypatch.setattr(cpu_pairs, "DENSE", 2.0)
    with pytest.raises(InputError, match="give a smaller value, such as negligible=0"):
        fit(drawn_counts(), dim=4, changes={"background": 0.0, "negligible": 1e9})
