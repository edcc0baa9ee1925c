from __future__ import annotations

import math
import re
from itertools import pairwise
from unicodedata import east_asian_width
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from psdvec.pages.plots import WIDTH, Row, Series, draw_areas, draw_lines, draw_points, draw_rows, spread
from psdvec.pages.shell import figure

names = st.text(min_size=1, max_size=30)
values = st.floats(-100, 100)


def texts(drawing: str) -> list[tuple[float, float, str, str]]:
    """Every text of a drawing: x, y, anchor, words."""
    root = ElementTree.fromstring(drawing)
    return [
        (float(one.get("x")), float(one.get("y")), one.get("text-anchor", "start"), one.text or "")
        for one in root.iter("text")
    ]


def reach(drawing: str) -> tuple[float, float]:
    """How far the texts of a drawing reach to the left and to the right, at 6 pixels a letter, or 12 a wide one."""
    ends = []
    for x, _, anchor, words in texts(drawing):
        long = 6 * sum(2 if east_asian_width(letter) in "WF" else 1 for letter in words)
        left = {"start": x, "middle": x - long / 2, "end": x - long}[anchor]
        ends.append((left, left + long))
    return min(left for left, _ in ends), max(right for _, right in ends)


def printable(name: str) -> str:
    return re.sub(r"[^\w<>&\"' ]", "x", name)


@given(st.lists(st.tuples(names, values, values, values), min_size=1, max_size=14), st.booleans())
@example([("北京大学图书馆", 1.0, 0.0, 2.0)], False)
def test_rows_of_any_names_and_numbers_stay_within_the_drawing(found, bars: bool):
    rows = [Row(printable(n), v, f"{v:.1f}*", "red", min(v, a), max(v, b)) for n, v, a, b in found]
    drawing = draw_rows(rows, label="of <all>", bars=bars)
    left, right = reach(drawing)
    assert left >= 0
    assert right <= WIDTH
    root = ElementTree.fromstring(drawing)
    assert root.get("aria-label").startswith("of <all>: ")
    for one in root.iter("circle"):
        assert 0 <= float(one.get("cx")) <= WIDTH
    assert sum(1 for _ in root.iter("rect" if bars else "circle")) == len(rows)


def test_a_number_that_is_missing_is_not_drawn():
    rows = [Row("a", math.nan, "–", "red"), Row("b", 1.0, "1.0", "red")]
    assert draw_rows(rows, label="x").count("<circle") == 1
    assert draw_rows(rows, label="x", bars=True).count("<rect") == 1


def test_bars_are_as_long_as_their_numbers():
    drawing = draw_rows(
        [Row("half", 50, "50", "red"), Row("all", 100, "100", "red")], label="x", bars=True, top=100
    )
    one, two = (float(found) for found in re.findall(r'<rect.*? width="([\d.]+)"', drawing))
    assert two == pytest.approx(2 * one, abs=0.2)


def test_a_negative_number_hangs_on_the_other_side_of_zero():
    rows = [Row("minus", -50, "-50", "red"), Row("plus", 50, "50", "red")]
    drawing = draw_rows(rows, label="x", bars=True)
    found = re.findall(r'<rect x="([\d.]+)".*? width="([\d.]+)"', drawing)
    (minus, long), (plus, _) = ((float(x), float(width)) for x, width in found)
    assert minus + long == pytest.approx(plus, abs=0.2)


@given(st.lists(st.tuples(names, st.lists(values, min_size=4, max_size=4)), min_size=1, max_size=14))
@example([("long numbers beside the axis", [0.0, 0.0, 0.0, 0.001953125])])
def test_every_line_has_its_name_beside_it_and_no_name_covers_another(found):
    series = [
        Series(printable(name), "red", [(at, value, "") for at, value in enumerate(line)])
        for name, line in found
    ]
    drawing = draw_lines({0: "a", 1: "b", 2: "c", 3: "d"}, series, label="x")
    beside = [one for one in texts(drawing) if one[2] == "start" and one[3]]
    assert len(beside) == len([one for one in series if one.name])
    assert all(later - earlier >= 13.9 for earlier, later in pairwise(sorted(y for _, y, _, _ in beside)))
    left, right = reach(drawing)
    assert left >= 0
    assert right <= WIDTH


def test_a_line_may_lack_places_and_a_plot_may_have_one_place():
    one = Series("one", "red", [(0, 1.0, "one: 1"), (2, 3.0, "one: 3")])
    drawing = draw_lines({0: "a", 1: "b", 2: "c"}, [one], label="x")
    assert drawing.count("<circle") == 2
    assert 'aria-label="x: one: 1; one: 3"' in drawing
    alone = draw_lines({7: "only"}, [Series("one", "red", [(7, 1.0, "")])], label="x")
    assert "only" in alone


@given(
    st.lists(
        st.lists(st.floats(0, 100, allow_subnormal=False), min_size=3, max_size=3), min_size=1, max_size=8
    )
)
def test_areas_lie_on_one_another_and_add_up(heights: list[list[float]]):
    years = {1990: "1990", 1992: "1992", 2000: "2000"}
    series = [
        Series(f"s{i}", "red", [(year, value, "") for year, value in zip(years, line, strict=True)])
        for i, line in enumerate(heights)
    ]
    root = ElementTree.fromstring(draw_areas(years, series, label="x"))
    shapes = [
        [tuple(map(float, point.split(","))) for point in one.get("points").split()]
        for one in root.iter("polygon")
    ]
    assert len(shapes) == len(heights)
    for lower, upper in pairwise(shapes):
        assert lower[:3] == upper[:2:-1]  # the top of one is the foot of the next
    places = [x for x, _ in shapes[0][:3]]
    # Years, not steps.
    assert (places[1] - places[0]) / (places[2] - places[0]) == pytest.approx(0.2, abs=0.01)
    foot = shapes[0][-1][1]
    thick = [foot - shapes[-1][at][1] for at in range(3)]
    sums = [sum(line[at] for line in heights) for at in range(3)]
    if max(sums) > 1e-3:
        scale = max(thick) / max(sums)
        assert [scale * one for one in sums] == pytest.approx(thick, abs=0.2)


def test_few_names_stand_below_many_places():
    years = {year: str(year) for year in range(1900, 2000)}
    series = [Series("s", "red", [(year, 1.0, "") for year in years])]
    below = [words for *_, words in texts(draw_areas(years, series, label="x")) if words in years.values()]
    assert 3 <= len(below) <= 6


def test_points_are_joined_only_within_a_series():
    one = Series("one", "red", [(10, 5.0, "a"), (1000, 7.0, "b")])
    other = Series("other", "blue", [(100, 6.0, "c")])
    assert draw_points([one, other], label="x", x_title="s", y_title="points").count("<polyline") == 1


def test_every_point_has_its_name_to_the_right_of_the_plot_and_a_line_to_it():
    found = [("word2vec", 20, 66.0), ("skipgram", 21, 66.1), ("a name that is far too long", 400, 60.0)]
    series = [Series(name, "red", [(x, y, "")]) for name, x, y in found]
    drawing = draw_points(series, label="x", x_title="s", y_title="points")
    beside = [
        (x, y, words) for x, y, anchor, words in texts(drawing) if anchor == "start" and words != "points"
    ]
    assert [words for _, _, words in sorted(beside, key=lambda one: one[1])] == [
        "skipgram",
        "word2vec",
        "a name that is …",
    ]
    points = [tuple(map(float, point)) for point in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', drawing)]
    leads = re.findall(r'class="lead".*?d="M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)', drawing)
    assert sorted((float(x), float(y)) for x, y, _, _ in leads) == sorted(points)
    assert all(float(end) > max(x for x, _ in points) for _, _, end, _ in leads)
    assert reach(drawing)[1] <= WIDTH


@given(st.lists(st.floats(0, 200), max_size=10))
def test_places_are_spread_apart_and_stay_within_bounds_if_there_is_room(wanted: list[float]):
    found = spread(sorted(wanted), apart=15, low=0, high=200)
    assert all(later - earlier >= 14.999 for earlier, later in pairwise(found))
    assert all(-0.001 <= at <= 200 for at in found)


def test_the_caption_of_a_figure_is_text():
    assert "<b>&lt;b&gt;</b><span>&amp;</span>" in figure("<b>", "", note="&")
