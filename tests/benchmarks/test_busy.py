"""Commands beside busy loops: ``benchmarks/bench/bench_busy.py``."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import pytest
from benchmarks.bench import bench_busy

import psdvec
from psdvec.compare.values import Cost


def test_the_loops_run_while_they_are_wanted_and_none_is_left_after_an_error():
    with pytest.raises(KeyError), bench_busy.busy_loops(2) as loops:  # noqa: PT012
        assert [loop.poll() for loop in loops] == [None, None]
        raise KeyError
    assert len(loops) == 2
    assert None not in [loop.poll() for loop in loops]


def test_the_ratios_are_those_of_busy_to_alone():
    text = bench_busy.table({"fit": (Cost(2.0, 3.0, 10**9), Cost(5.0, 3.3, 2 * 10**9))})
    rows = {line[:16].strip(): line[16:].split() for line in text.splitlines()[1:]}
    assert rows == {
        "fit, alone": ["2.00", "3.00", "1000"],
        "fit, busy": ["5.00", "3.30", "2000"],
        "busy / alone": ["2.50", "1.10", "2.00"],
        "at most": ["2.30", "1.15"],
    }


def test_each_command_is_run_alone_and_then_beside_the_loops(monkeypatch: pytest.MonkeyPatch):
    running: list[int] = []
    seen = []
    loops = bench_busy.busy_loops

    @contextmanager
    def watched(number: int):
        with loops(number) as found:
            running.extend(loop.pid for loop in found)
            yield found
        running.clear()

    def run(command: list[str]) -> Cost:
        seen.append((command, len(running)))
        return Cost(len(seen), 1.0, 1)

    monkeypatch.setattr(bench_busy, "busy_loops", watched)
    monkeypatch.setattr(bench_busy, "run", run)
    costs = bench_busy.measure_commands({"fit": ["x"], "extend": ["y"]}, loops=2, repeats=2)
    assert seen == [(["x"], 0), (["x"], 2)] * 2 + [(["y"], 0), (["y"], 2)] * 2
    walls = {verb: (alone.wall, busy.wall) for verb, (alone, busy) in costs.items()}
    assert walls == {"fit": (1, 2), "extend": (5, 6)}


@pytest.mark.slow
def test_the_commands_count_fit_and_place_the_words_that_were_not_fitted(tmp_path: Path):
    bench_busy.warm_up(tmp_path, "paper")
    model, larger = (psdvec.load(tmp_path / name) for name in ("model", "larger"))
    assert larger.words[:8] == model.words
    assert len(larger) > len(model) == 8
