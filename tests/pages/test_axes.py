from __future__ import annotations

import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from psdvec.pages.plots import Axis, fit_axis, round_ticks

scores = st.lists(st.floats(-100, 100), min_size=1)


@given(scores, st.booleans())
def test_an_axis_holds_every_value_in_order_with_few_ticks_within_it(values: list[float], zero: bool):
    axis = fit_axis([*values, math.nan], start=0, stop=200, zero=zero)
    held = sorted({*values, *axis.ticks, *([0.0] if zero else [])})
    assert axis.low <= held[0] <= held[-1] <= axis.high
    assert len(axis.ticks) <= 7
    assert all(axis.low <= tick <= axis.high for tick in axis.ticks)
    assert all(axis.place(one) <= axis.place(other) for one, other in pairwise(held))


@given(scores)
def test_an_axis_fits_its_data(values: list[float]):
    axis = fit_axis(values, start=0, stop=200)
    if max(values) - min(values) > 1e-6:
        assert axis.place(max(values)) - axis.place(min(values)) >= 0.85 * 200
        assert len(axis.ticks) >= 2


@given(st.lists(st.floats(0.01, 1e9), min_size=1))
def test_a_logarithmic_axis_holds_its_data_too(values: list[float]):
    axis = fit_axis(values, start=0, stop=200, log=True)
    assert axis.low <= min(values) <= max(values) <= axis.high
    assert all(axis.low <= tick <= axis.high for tick in axis.ticks)
    assert len(axis.ticks) <= 9 or max(values) > 1e6 * min(values)


def test_bars_begin_at_the_end_of_the_axis():
    axis = fit_axis([12.0, 68.0], start=0, stop=200, zero=True)
    assert axis.place(0) == 0
    assert fit_axis([-5.0, -1.0], start=0, stop=200, zero=True).place(0) == 200
    assert fit_axis([0.0], start=0, stop=200, zero=True).place(0) == 0


def test_an_axis_without_data_is_an_axis():
    assert fit_axis([math.nan], start=0, stop=200).ticks
    assert fit_axis([], start=0, stop=200, log=True).ticks


def test_a_logarithmic_axis_gives_equal_room_to_equal_ratios():
    axis = Axis(1, 100, 50, 250, round_ticks(1, 100, log=True), log=True)
    assert [round(axis.place(value)) for value in (1, 10, 100)] == [50, 150, 250]
    assert axis.ticks == (1, 2, 5, 10, 20, 50, 100)
    assert round_ticks(2.5, 6, log=True) == (3, 4, 5, 6)
    assert round_ticks(5.5e6, 3e7, log=True) == (1e7, 2e7)
    assert round_ticks(31, 52) == (35, 40, 45, 50)
