from __future__ import annotations

import io
import logging
import subprocess
import sys
import threading
import time

import numba
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import psdvec
from psdvec import kernels, resources, system
from psdvec.cli.tables import BarProgress, make_progress
from psdvec.progress import LogProgress, Pace, SilentProgress, format_rate
from psdvec.resources import Compilations, compilations, memory_in_use


@pytest.fixture
def log():
    """The log as it is where nobody has configured it, and left so."""
    logger = logging.getLogger("psdvec")
    level = logger.level
    logger.setLevel(logging.NOTSET)
    yield logger
    logger.setLevel(level)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def lines_of(steps, *, total=10.0, **options):
    """What a stage writes whose units take these seconds, one after the other."""
    clock, stream = Clock(), io.StringIO()
    with LogProgress(clock=clock, stream=stream, **options).stage(
        "digging", total=total, unit="holes"
    ) as stage:
        for seconds in steps:
            clock.now += seconds
            stage.advance(1)
    return stream.getvalue().splitlines()


@given(st.lists(st.floats(0, 0.99), max_size=3))
def test_short_work_shows_nothing(log, steps):
    assert lines_of(steps) == []


def test_long_work_shows_itself_without_configuration(log):
    lines = lines_of([2, 2, 2, 2, 8])
    assert lines == [
        "psdvec: digging: 20 % done, about 16 s left",
        "psdvec: digging: 50 % done, about 18 s left",
        "psdvec: digging: done in 16.0 s",
    ]


def test_time_left_is_not_shown_before_the_second_update(log):
    assert lines_of([30])[0] == "psdvec: digging: 10 % done"


def test_whoever_listens_to_the_log_gets_it_there_and_only_there(log, caplog):
    caplog.set_level(logging.INFO, logger="psdvec")
    assert lines_of([2, 2]) == []
    assert caplog.messages == ["digging: 20 % done, about 16 s left", "digging: done in 4.0 s"]


def test_whoever_raises_the_level_of_the_log_sees_nothing(log):
    log.setLevel(logging.WARNING)
    assert lines_of([30, 30]) == []


def test_a_stage_that_reports_nothing_still_shows_that_it_works(log):
    stream = io.StringIO()
    with LogProgress(after=0.01, stream=stream).stage("thinking", total=3, unit="thoughts"):
        wait_for(stream.getvalue)
    assert stream.getvalue().startswith("psdvec: thinking: working for ")


def test_silence_is_silent(capsys, caplog, log):
    with SilentProgress().stage("digging", total=1, unit="holes") as stage:
        stage.advance(1)
        stage.note("stone")
    SilentProgress().say("done")
    assert (capsys.readouterr().err, caplog.text) == ("", "")


def test_an_exception_from_a_progress_ends_the_work_before_its_output_is_there(tmp_path):
    class CancelledError(Exception):
        pass

    class Cancelling(SilentProgress):
        def advance(self, done, **rates):
            raise CancelledError

    texts = ["to be or not to be", "the king and the queen"] * 9
    counts = psdvec.count_pairs(texts, min_count=1, quiet=True)
    for work in (
        lambda: psdvec.count_pairs(texts, min_count=1, output=tmp_path / "x", progress=Cancelling()),
        lambda: psdvec.fit(counts, dim=2, output=tmp_path / "x", progress=Cancelling()),
    ):
        with pytest.raises(CancelledError):
            work()
        assert not (tmp_path / "x").exists()


def wait_for(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    assert condition()


@given(
    st.floats(0.3, 100),
    st.floats(0, 1000),
    st.integers(2, 60),
    st.integers(1, 1000),
)
def test_steady_work_is_predicted_exactly_however_long_the_first_unit_took(step, compiling, updates, rest):
    pace = Pace()
    for number in range(updates):
        pace.add(1, now=compiling + number * step)
    now = compiling + (updates - 1) * step
    assert pace.seconds_left(updates + rest, now=now) == pytest.approx(rest * step)
    assert pace.seconds_left(updates + rest, now=now + step / 2) == pytest.approx(rest * step - step / 2)


@given(st.lists(st.tuples(st.floats(0, 50), st.integers(0, 9)), max_size=80))
def test_a_pace_is_never_negative_and_remembers_little(steps):
    pace, now = Pace(), 0.0
    for seconds, done in steps:
        now += seconds
        pace.add(done, now=now)
        assert pace.rate is None or pace.rate >= 0
        left = pace.seconds_left(pace.done + 1, now=now)
        assert left is None or left >= 0
    assert len(pace._marks) <= 2 * 30 / 0.25 + 4
    assert pace.done == sum(done for _, done in steps)


def test_a_pace_follows_the_last_half_minute():
    pace, now = Pace(), 0.0
    for seconds in [10.0] * 20 + [1.0] * 40:
        now += seconds
        pace.add(1, now=now)
    assert pace.rate == pytest.approx(1, rel=0.3)


@given(st.floats(1 / 3600, 1e6))
def test_no_rate_is_shown_as_nothing(rate):
    number = format_rate(rate, "rounds").split()[0].replace(",", "")
    assert float(number) >= 1


def test_it_is_known_when_numba_compiles_and_when_it_does_not():
    assert kernels  # which hear numba
    heard = []
    assert not compilations.under_way

    def watch():
        while not stop.is_set():
            heard.append(compilations.under_way)
            time.sleep(0.001)

    stop, thread = threading.Event(), threading.Thread(target=watch)
    thread.start()
    add = numba.njit(lambda a, b: a + b)
    add(1, 2)
    stop.set()
    thread.join()
    assert any(heard)
    heard.clear()
    assert not compilations.under_way
    add(3, 4)
    assert not compilations.under_way


def test_what_compiling_takes_is_left_out_of_the_memory_in_use(monkeypatch):
    compilations, size = Compilations(), 100_000_000
    monkeypatch.setattr(resources, "compilations", compilations)
    monkeypatch.setattr(system, "current_memory", lambda: size)
    cold = []
    for by, grown in ((+1, 20), (+1, 30), (-1, 5), (-1, 7), (+1, 15), (-1, 0)):  # the second within the first
        compilations.change(by)
        size += grown * 1_000_000
        cold.append(memory_in_use())
    assert cold[-3:] == [107_000_000, 122_000_000, 107_000_000]  # but for what was taken between the two
    assert compilations.taken == 70_000_000


def test_a_stage_that_waits_for_the_compiler_says_so(log, monkeypatch):
    monkeypatch.setattr(compilations, "under_way", 1)
    assert lines_of([5])[0] == "psdvec: digging: compiling, once"
    assert "compiling, once" in drawn([5, 5])


def test_importing_progress_does_not_load_numba():
    code = "import sys, psdvec.progress; print('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def drawn(steps):
    """What the bar shows after units that took these seconds."""
    clock, stream = Clock(), io.StringIO()
    console = Console(file=stream, width=200, get_time=clock, force_terminal=True, color_system=None)
    with BarProgress(console).stage("digging", total=100, unit="holes") as stage:
        for seconds in steps:
            clock.now += seconds
            stage.advance(1, stones=100)
        stage.bars.refresh()
        return stream.getvalue().replace("\r", "\n").splitlines()[-1]


def test_the_bar_shows_neither_rate_nor_time_left_before_the_second_update():
    for steps in ([], [30]):
        assert "/" not in drawn(steps)
        assert "left" not in drawn(steps)


def test_the_bar_shows_slow_rates_per_minute_and_the_time_left():
    line = drawn([60, 20, 20])
    assert "3.0 holes/min, 5 stones/s" in line
    assert "0:32:20 left" in line
    assert "1:36:00 left" in drawn([60] * 4)  # the last half minute has only one of them


def test_lines_of_the_command_line_are_written_once(log, capsys):
    handler = logging.StreamHandler()
    log.addHandler(handler)
    try:
        shown = make_progress()
        shown.after = 0.0
        with shown.stage("digging", total=1, unit="holes"):
            pass
    finally:
        log.removeHandler(handler)
    assert capsys.readouterr().err.count("digging") == 1
