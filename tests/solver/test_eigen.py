import itertools

import numpy as np
import pytest

from psdvec.solver.devices.cpu import Cpu
from psdvec.solver.rounds import (
    TOLERANCE,
    improved_eigenpairs,
    iterated_pairs,
    leading_eigenpairs,
    nystrom_eigenpairs,
    orthonormal,
    ritz_pairs,
)

cpu = Cpu()


def spread_matrix(n, seed=0):
    """A symmetric matrix with a decaying spectrum of both signs and one huge negative eigenvalue."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    values = 100 * 0.9 ** np.arange(n) * np.where(np.arange(n) % 3 == 1, -1, 1)
    values[0] = -1000
    return (Q * values) @ Q.T, values


@pytest.mark.parametrize("spectrum", ["signed", "positive"])
@pytest.mark.parametrize("n", [40, 700])
def test_the_leading_eigenvalues_are_those_of_lapack(n, spectrum):
    A, values = spread_matrix(n)
    count = 12
    pairs = leading_eigenpairs(
        cpu, lambda Q: (A @ Q).astype(np.float32), n, count=count, spectrum=spectrum, seed=1
    )
    size = values if spectrum == "positive" else np.abs(values)
    wanted = values[np.argsort(-size)[:count]]
    np.testing.assert_allclose(pairs.values, wanted, rtol=1e-4)
    residual = A @ pairs.vectors - pairs.vectors * pairs.values
    assert np.abs(residual).max() < 1e-2
    np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(count), atol=1e-5)


def test_the_same_seed_gives_the_same_bytes():
    A, _ = spread_matrix(700)
    first, second = (
        leading_eigenpairs(cpu, lambda Q: (A @ Q).astype(np.float32), 700, count=5, spectrum="signed", seed=3)
        for _ in "ab"
    )
    assert first.vectors.tobytes() == second.vectors.tobytes()


@pytest.mark.parametrize("spectrum", ["signed", "positive"])
def test_exact_pairs_have_small_residuals_and_do_not_depend_on_the_start(spectrum):
    """Eigenvalues so close that one pass finds no pair beyond the first few, and a negative one far from all."""
    n, rank = 900, 100
    Q, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((n, n)))
    values = 50 / (1 + np.arange(n) / 50) * np.where(np.arange(n) % 3 == 1, -1, 1)
    values[0] = -500
    A = (Q * values) @ Q.T

    def approximation(seed, exact):
        pairs = leading_eigenpairs(
            cpu, lambda block: (A @ block).astype(np.float32), n,
            count=iterated_pairs(rank, n), spectrum=spectrum, seed=seed, exact=exact,
        )  # fmt: skip
        vectors, found = pairs.vectors[:, :rank], pairs.values[:rank]
        return (vectors * found) @ vectors.T, np.linalg.norm(A @ vectors - vectors * found, axis=0)

    (first, residuals), (second, _) = (approximation(seed, rank) for seed in (1, 2))
    assert residuals.max() < 2 * TOLERANCE * np.abs(values).max()
    assert np.abs(first - second).max() < 1e-4
    assert np.abs(approximation(1, 0)[0] - approximation(2, 0)[0]).max() > 1e-2


def test_pairs_that_stay_inexact_are_said_to_be():
    """Products that are never twice the same have no eigenvectors."""
    A, _ = spread_matrix(700)
    rng = np.random.default_rng(0)

    def product(block):
        return (A @ block + rng.standard_normal(block.shape)).astype(np.float32)

    with pytest.warns(RuntimeWarning, match=r"still off by \S+ after 10 restarts, where \S+ was wanted"):
        leading_eigenpairs(cpu, product, 700, count=20, spectrum="signed", seed=0, exact=20)


def test_a_warm_step_never_captures_less_than_before():
    A, _ = spread_matrix(300)
    basis = orthonormal(cpu, np.random.default_rng(0).standard_normal((300, 20)).astype(np.float32))
    captured = []
    for _ in range(6):
        image = (A @ basis).astype(np.float32)
        captured.append(float((ritz_pairs(cpu, basis, image, count=20, spectrum="signed").values ** 2).sum()))
        basis = improved_eigenpairs(
            cpu, lambda Q: (A @ Q).astype(np.float32), basis, image, count=20, spectrum="signed"
        ).vectors
    assert all(after >= before * (1 - 1e-6) for before, after in itertools.pairwise(captured))
    assert captured[-1] > 0.99 * float(np.sort(np.linalg.eigvalsh(A) ** 2)[-20:].sum())


def test_dependent_columns_are_dropped():
    rng = np.random.default_rng(0)
    block = rng.standard_normal((50, 4)).astype(np.float32)
    doubled = np.concatenate([block, block @ rng.standard_normal((4, 3)).astype(np.float32)], axis=1)
    Q = orthonormal(cpu, doubled)
    assert Q.shape == (50, 4)
    np.testing.assert_allclose(Q.T @ Q, np.eye(4), atol=1e-5)


def test_nothing_is_left_of_what_lies_in_the_other_span():
    Q = orthonormal(cpu, np.random.default_rng(0).standard_normal((50, 8)).astype(np.float32))
    assert orthonormal(cpu, Q @ np.ones((8, 2), np.float32), against=Q).shape[1] == 0


@pytest.mark.parametrize("spectrum", ["signed", "positive"])
def test_a_nystrom_step_is_exact_on_a_basis_that_spans_the_matrix(spectrum):
    rng = np.random.default_rng(0)
    Q, _ = np.linalg.qr(rng.standard_normal((200, 6)))
    A = (Q * np.array([-900.0, 50.0, 20.0, -9.0, 5.0, 2.0])) @ Q.T
    basis = orthonormal(cpu, rng.standard_normal((200, 9)).astype(np.float32))
    pairs = nystrom_eigenpairs(cpu, basis, (A @ basis).astype(np.float32), count=9, spectrum=spectrum)
    order = np.argsort(-(pairs.values if spectrum == "positive" else np.abs(pairs.values)))
    wanted = [-900.0, 50.0, 20.0, -9.0] if spectrum == "signed" else [50.0, 20.0, 5.0, 2.0]
    np.testing.assert_allclose(pairs.values[order[:4]], wanted, rtol=1e-2)


def test_a_nystrom_step_comes_nearer_than_the_basis_it_started_from():
    A, values = spread_matrix(300)
    best = float((np.sort(values**2)[-20:]).sum())
    basis = orthonormal(cpu, np.random.default_rng(0).standard_normal((300, 30)).astype(np.float32))
    missed = []
    for _ in range(5):
        image = (A @ basis).astype(np.float32)
        pairs = nystrom_eigenpairs(cpu, basis, image, count=30, spectrum="signed")
        X = (pairs.vectors[:, :20] * pairs.values[:20]) @ pairs.vectors[:, :20].T
        missed.append(float(((A - X) ** 2).sum()) / best)
        basis = pairs.vectors
    assert missed[-1] < 1.01 * float((np.sort(values**2)[:-20]).sum()) / best
    assert all(after <= before * (1 + 1e-3) for before, after in itertools.pairwise(missed[1:]))
