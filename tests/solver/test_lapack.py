import threading
import time

import numpy as np
import pytest

from psdvec.solver import ridge as lapack


def positive_matrix(n, seed=0):
    A = np.random.default_rng(seed).standard_normal((n, n + 5))
    return A @ A.T


@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float64, 1e-8), (np.float32, 2e-3)])
@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_factor_solution_and_trace_are_those_of_numpy(n, dtype, accuracy):
    A, b = positive_matrix(n).astype(dtype), np.arange(1.0, n + 1)
    before = A.copy()
    L = lapack.cholesky(A)
    assert L.dtype == dtype
    exact = A.astype(float)
    np.testing.assert_allclose(np.tril(L), np.linalg.cholesky(exact), rtol=accuracy, atol=accuracy)
    np.testing.assert_allclose(
        lapack.cholesky_solve(L, b), np.linalg.solve(exact, b), rtol=accuracy, atol=accuracy
    )
    if n <= lapack.PROBES:
        assert lapack.inverse_trace(L) == pytest.approx(np.trace(np.linalg.inv(exact)), rel=accuracy)
    assert np.array_equal(A, before)


def test_a_matrix_that_is_not_positive_has_no_factor():
    assert lapack.cholesky(np.diag([1.0, -1.0])) is None


def test_other_threads_go_on_while_a_factor_is_made():
    A = positive_matrix(1500)
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.0005)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    lapack.cholesky(A)
    stop = time.perf_counter()
    done.set()
    thread.join()
    assert sum(start < moment < stop for moment in ticks) >= 3


def test_the_trace_of_a_large_inverse_is_estimated_to_a_few_per_cent():
    for seed in range(5):
        A = positive_matrix(400, seed) / 400 + np.eye(400)
        assert lapack.inverse_trace(lapack.cholesky(A)) == pytest.approx(np.trace(np.linalg.inv(A)), rel=0.05)


def test_several_right_hand_sides_are_rows():
    A, b = positive_matrix(9), np.arange(27.0).reshape(3, 9)
    found = lapack.cholesky_solve(lapack.cholesky(A), b)
    np.testing.assert_allclose(found, np.linalg.solve(A, b.T).T, rtol=1e-6)
