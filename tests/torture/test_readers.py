"""A sample of the torture of readers, small enough for every change."""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from tests.torture import confined, readers
from tests.torture.samples import make_samples

pytestmark = pytest.mark.slow

SEED = 17
CASES = 300  # of each reader


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("torture") / "samples"
    make_samples(folder)
    return folder


@pytest.fixture(scope="module")
def fresh():
    """A process without threads, from which others can be forked."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize("name", readers.READERS)
def test_whatever_a_file_holds_it_is_read_or_refused_in_one_sentence(name, samples, tmp_path, fresh):
    cases = [readers.Case(name, SEED, number) for number in range(CASES)]
    counts, failures = fresh.submit(readers.try_cases, cases, samples, tmp_path / "kept").result()
    assert failures == []
    assert counts["refused"] > 0
    assert counts["read"] > 0


@pytest.mark.parametrize("name", readers.READERS)
def test_files_that_nobody_has_touched_are_read(name, samples, tmp_path):
    paths = [samples / sample for sample in readers.READERS[name].samples]

    def read(path):
        readers.READERS[name].read(readers.copy_sample(path, tmp_path))

    assert set(confined.run_confined(sorted(set(paths)), read)) == {"read"}


def test_a_case_is_the_same_each_time(samples, tmp_path):
    for name in readers.READERS:
        case = readers.Case(name, SEED, 7)
        first, second = (
            readers.make_case(case, samples, tmp_path / place / name) for place in ("one", "two")
        )
        files = [path for path in sorted([first, *first.rglob("*")]) if path.is_file()]
        assert files
        for path in files:
            assert (
                path.read_bytes()
                == (second / path.relative_to(first) if first.is_dir() else second).read_bytes()
            )


def test_a_crash_a_hang_and_a_traceback_each_fail_one_case():
    def call(case):
        if case == "crash":
            import ctypes

            ctypes.string_at(0)
        if case == "spin":
            while True:
                pass
        if case == "hang":
            time.sleep(600)
        if case == "hoard":
            bytearray(10**12)
        if case == "traceback":
            raise KeyError("x")

    cases = ["fine", "crash", "fine", "spin", "fine", "hoard", "traceback", "fine"]
    outcomes = list(confined.run_confined(cases, call, seconds=1))
    assert [outcome == "read" for outcome in outcomes] == [case == "fine" for case in cases]
    found = dict(zip(cases, outcomes, strict=True))
    assert found["crash"].startswith("the process died")
    assert found["spin"] == "took more than 1 processor seconds"
    assert found["hoard"].startswith("MemoryError")
    assert found["traceback"] == "KeyError: 'x'"
    assert list(confined.run_confined(["hang"], call, patience=1)) == ["hung for 1 seconds"]
