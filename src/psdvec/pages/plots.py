"""Plots as inline SVG: dots, lines and bars between axes with round ticks, for pages that load nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate
from unicodedata import east_asian_width

# Axes of plots: from numbers to pixels, with round ticks, between ends that fit the data.

_MOST_TICKS = 6
_ROOM = 0.06  # of the data's range, beyond either end


@dataclass(frozen=True)
class Axis:
    """An axis from ``low`` to ``high``, logarithmic if ``log``, over the pixels from ``start`` to ``stop``."""

    low: float
    high: float
    start: float
    stop: float
    ticks: tuple[float, ...]
    log: bool = False

    def place(self, value: float) -> float:
        """Return the pixel of ``value``; what lies beyond an end is drawn at the end."""
        within = min(max(value, self.low), self.high)
        low, high, at = (math.log(x) if self.log else x for x in (self.low, self.high, within))
        return self.stop + (self.start - self.stop) * (high - at) / (high - low)


def fit_axis(
    values: Sequence[float], *, start: float, stop: float, log: bool = False, zero: bool = False
) -> Axis:
    """Return an axis that holds all finite ``values`` with a little room at its ends, and round ticks.

    With ``zero`` it also holds 0, and has no room beyond 0: for bars and areas, whose lengths are compared.

    >>> fit_axis([61.0, 68.0], start=0, stop=100).ticks
    (62.0, 64.0, 66.0, 68.0)
    >>> fit_axis([12.0, 68.0], start=0, stop=100, zero=True).ticks
    (0.0, 20.0, 40.0, 60.0)
    >>> fit_axis([1.0, 10.0], start=0, stop=100, log=True).ticks
    (1.0, 2.0, 5.0, 10.0)
    """
    finite = [value for value in values if math.isfinite(value)] + [0.0] * zero
    if log:
        low, high = (max(value, 1e-3) for value in (min(finite, default=1), max(finite, default=1)))
        room = max((high / low) ** _ROOM, 1.2)
        low, high = low / room, high * room
    else:
        low, high = min(finite, default=0.0), max(finite, default=0.0)
        room = _ROOM * (high - low) or max(abs(high) * _ROOM, 1.0)
        low, high = low - room * (not zero or low < 0), high + room * (not zero or high > 0 or low == 0)
    return Axis(low, high, start, stop, round_ticks(low, high, log=log), log)


def round_ticks(low: float, high: float, *, log: bool = False) -> tuple[float, ...]:
    """Return at most about six round numbers between ``low`` and ``high``.

    >>> round_ticks(31, 52)
    (35.0, 40.0, 45.0, 50.0)
    """
    if not log or high < 2 * low:
        power = 10.0 ** math.floor(math.log10((high - low) / _MOST_TICKS))
        steps = (power * factor for factor in (1, 2, 5, 10))
        step = next(step for step in steps if (high - low) / step < _MOST_TICKS)
        return tuple(
            round(step * i, 9) + 0.0 for i in range(math.ceil(low / step), math.floor(high / step) + 1)
        )
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    sets = ((1, 2, 5), (1,), range(1, 10))
    found = [[factor * 10.0**decade for decade in decades for factor in factors] for factors in sets]
    within = [tuple(tick for tick in ticks if low <= tick <= high) for ticks in found]
    return next((ticks for ticks in within if 2 <= len(ticks) <= _MOST_TICKS + 1), within[-1])


def short(value: float) -> str:
    """Return a tick as short text: 0.5, 20, 5k, 2M.

    >>> short(20.0), short(5e3), short(2e6), short(0.25)
    ('20', '5k', '2M', '0.25')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


# Plots as inline SVG: rows of dots or bars, points over two axes, lines over named places, and areas on one another.

COLOURS = tuple(f"var(--c{i})" for i in range(12))  # the page's, light or dark
WIDTH = 400
_LETTER = 7.5  # pixels, on average
_BESIDE, _NAME = 16, 26  # letters of a name to the right of a plot, and to its left
_ROW, _LINE = 20, 14  # heights of a row of dots, and of names below one another
_LEFT, _TOP, _RIGHT, _BELOW = 40, 22, 10, 40
_TALL = 190
_MOST_NAMES, _APART = 6, 4  # below an axis of places, and pixels between two of them
_NAME_LETTER, NAME_HEIGHT = 7.0, 15.0  # of a name on a map


@dataclass(frozen=True)
class Row:
    """A number with its name before and its ``text`` after it; ``low`` and ``high`` are the ends of its interval."""

    name: str
    value: float
    text: str
    colour: str
    low: float = math.nan
    high: float = math.nan
    strong: bool = False


@dataclass(frozen=True)
class Series:
    """Points ``(x, y, note)`` of one name and one colour, in a band of ``(x, low, high)`` if there is one."""

    name: str
    colour: str
    points: Sequence[tuple[float, float, str]]
    band: Sequence[tuple[float, float, float]] = ()


@dataclass(frozen=True)
class Mark:
    """Something at a place of a map, which has no axes."""

    name: str
    x: float
    y: float
    colour: str
    strong: bool = False


def colour_at(place: int) -> str:
    """Return the colour of the ``place``-th thing of a page; after twelve they begin again."""
    return COLOURS[place % len(COLOURS)]


def draw_rows(rows: Sequence[Row], *, label: str, bars: bool = False, top: float = math.nan) -> str:
    """Draw a dot with its interval in each row, over an axis that fits them; bars from 0 with ``bars``.

    The axis reaches up to ``top``, if that is given.
    """
    names = [shorten(row.name, _NAME) for row in rows]
    left = 14 + _LETTER * max(map(letters_in, names), default=0)
    right = WIDTH - 14 - _LETTER * max((letters_in(row.text) for row in rows), default=0)
    ends = [end for row in rows for end in (row.value, row.low, row.high)]
    axis = fit_axis([*ends, top], start=left, stop=right, zero=bars)
    foot = _ROW * len(rows) + 6
    parts = [_upright(axis, 2, foot)]
    for place, (row, name) in enumerate(zip(rows, names, strict=True)):
        middle = 4 + _ROW * (place + 0.5)
        kind = "name strong" if row.strong else "name"
        parts.append(_text(left - 8, middle + 4, name, kind, anchor="end"))
        if math.isfinite(row.value):
            parts.append(_bar(row, axis, middle) if bars else _dot(row, axis, middle))
        parts.append(_text(WIDTH - 4, middle + 4, row.text, kind, anchor="end"))
    said = [f"{row.name} {row.text.strip()}" for row in rows]
    return _svg(foot + 20, "".join(parts), label, said)


def draw_points(
    series: Sequence[Series], *, label: str, x_title: str, y_title: str, log_y: bool = False
) -> str:
    """Draw series over two titled axes, the horizontal one logarithmic; points of a series are joined."""
    points = [point for one in series for point in one.points]
    foot = _foot_of(series, tall=1.3 * _TALL)
    y = fit_axis([value for _, value, _ in points], start=foot, stop=_TOP, log=log_y)
    x = fit_axis([at for at, _, _ in points], start=_left_of(y), stop=_right_of(series), log=True)
    parts = [_upright(x, _TOP, foot), _across(y, x.start, x.stop)]
    parts.append(_text((x.start + x.stop) / 2, foot + 34, x_title, "tick", anchor="middle"))
    parts += [_text(2, 12, y_title, "tick"), _lines(series, x, y, right=x.stop)]
    return _svg(foot + _BELOW, "".join(parts), label, _notes(series))


def draw_lines(places: Mapping[int, str], series: Sequence[Series], *, label: str, y_title: str = "") -> str:
    """Draw lines over named places; a point's x is its place, and a series has points at some of them."""
    values = [value for one in series for _, value, _ in one.points]
    ends = [end for one in series for _, *ends in one.band for end in ends]
    y = fit_axis([*values, *ends], start=_foot_of(series), stop=_TOP)
    left, right = _left_of(y), _right_of(series)
    x = _place_axis(places, left, right)
    around = _across(y, left, right) + _place_names(places, x, y.start) + _text(2, 12, y_title, "tick")
    return _svg(y.start + 24, around + _lines(series, x, y, right=right), label, _notes(series))


def draw_areas(
    places: Mapping[int, str],
    series: Sequence[Series],
    *,
    label: str,
    y_title: str = "",
    width: int = WIDTH,
    letters: int = _BESIDE,
    kind: str = "",
) -> str:
    """Draw areas on one another over named places, the first lowest; every series has a point at every place.

    Places may be years or any other whole numbers: they are as far apart as their numbers. Names to the right have
    as many ``letters`` at most; ``kind`` is the class of the drawing in the page's style.
    """
    heights = [{at: value for at, value, _ in one.points} for one in series]
    tops = {at: [0.0, *accumulate(one[at] for one in heights)] for at in sorted(places)}
    y = fit_axis([sums[-1] for sums in tops.values()], start=_foot_of(series), stop=_TOP, zero=True)
    left, right = _left_of(y), _right_of(series, width=width, letters=letters)
    x = _place_axis(places, left, right, edge=10)
    areas, tips = "", []
    for place, one in enumerate(series):
        lower, upper = (
            [(x.place(at), y.place(sums[edge])) for at, sums in tops.items()] for edge in (place, place + 1)
        )
        areas += (
            f'<polygon points="{_path([*upper, *reversed(lower)])}" class="area" style="fill:{one.colour}">'
            f"<title>{escape(one.name)}</title></polygon>"
        )
        tips.append((one.name, one.colour, upper[-1][0], (upper[-1][1] + lower[-1][1]) / 2))
    around = _across(y, left, right) + _place_names(places, x, y.start) + _text(2, 12, y_title, "tick")
    return _svg(
        y.start + 24,
        areas + around + _beside(tips, right, y.start, letters=letters),
        label,
        _notes(series),
        width=width,
        kind=kind,
    )


def draw_map(marks: Sequence[Mark], *, label: str, joined: Sequence[tuple[int, int]] = ()) -> str:
    """Draw marks with their names where they lie, as far apart in both directions; some pairs are ``joined``."""
    height = 0.62 * WIDTH
    ends = [(min(values), max(values)) for values in zip(*((mark.x, mark.y) for mark in marks), strict=True)]
    scale = min(
        (WIDTH - 110) / ((ends[0][1] - ends[0][0]) or 1), (height - 50) / ((ends[1][1] - ends[1][0]) or 1)
    )
    places = [
        (
            WIDTH / 2 + scale * (mark.x - sum(ends[0]) / 2),
            height / 2 + scale * (sum(ends[1]) / 2 - mark.y),
        )
        for mark in marks
    ]
    lines = "".join(
        f'<path class="foot" d="M{places[i][0]:.1f} {places[i][1]:.1f}L{places[j][0]:.1f} {places[j][1]:.1f}"/>'
        for i, j in joined
    )
    dots = "".join(
        _circle(x, y, 5 if mark.strong else 3, mark.colour, mark.name)
        for mark, (x, y) in zip(marks, places, strict=True)
    )
    order = sorted(range(len(marks)), key=lambda i: not marks[i].strong)
    wanted = [
        (shorten(marks[i].name, 20), places[i][0], places[i][1] - 7, "strong" if marks[i].strong else "name")
        for i in order
    ]
    return _svg(height, lines + dots + place_names(wanted, WIDTH), label, [mark.name for mark in marks])


def place_names(wanted: Sequence[tuple[str, float, float, str]], width: float) -> str:
    """Write names at their places, the first ones first; one that would cover another is left out."""
    shown: list[str] = []
    taken: list[tuple[float, ...]] = []
    for text, place, y, kind in wanted:
        half = _NAME_LETTER * letters_in(text) / 2
        x = max(half, min(width - half, place))
        # A line below does not touch it, however y is rounded.
        box = (x - half, x + half, y - NAME_HEIGHT + 1, y)
        if not any(_cover(box, other) for other in taken):
            taken.append(box)
            shown.append(
                f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="middle" aria-hidden="true" '
                f'pointer-events="none">{escape(text)}</text>'
            )
    return "".join(shown)


def _cover(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Say whether two boxes (left, right, top, bottom) cover one another."""
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def shorten(name: str, most: int) -> str:
    """Return a name of at most ``most`` letters, of which wide ones count twice.

    >>> shorten("vectors", 20), shorten("vectors", 4), shorten("词向量", 4)
    ('vectors', 'vec…', '词…')
    """
    if letters_in(name) <= most:
        return name
    return next(name[:end] for end in range(most, -1, -1) if letters_in(name[:end]) < most) + "…"


def letters_in(text: str) -> int:
    """Return how many letters are as wide as a text; one of Chinese, say, is two.

    >>> letters_in("cat"), letters_in("词向量")
    (3, 6)
    """
    return len(text) + sum(east_asian_width(letter) in "WF" for letter in text)


def spread(wanted: Sequence[float], *, apart: float, low: float, high: float) -> list[float]:
    """Return places near those ``wanted``, in ascending order and given so, ``apart`` from one another.

    They lie between ``low`` and ``high`` if there is room for them.

    >>> spread([10, 11, 50], apart=10, low=0, high=60)
    [10, 20, 50]
    >>> spread([50, 55, 58], apart=10, low=0, high=60)
    [40, 50, 60]
    """
    found: list[float] = []
    for at in wanted:
        found.append(max(at, found[-1] + apart if found else low))
    limit = high
    for place in reversed(range(len(found))):
        found[place] = min(found[place], limit)
        limit = found[place] - apart
    return found


def _place_axis(places: Mapping[int, str], left: float, right: float, *, edge: float = 26) -> Axis:
    """Return the axis of named places between ``left`` and ``right``; one place alone is in the middle."""
    low, high = min(places, default=0), max(places, default=0)
    alone = low == high
    return Axis(low - alone, high + alone, left + edge, right - edge / 2, ())


def _place_names(places: Mapping[int, str], x: Axis, foot: float) -> str:
    """Write the names of some places below their axis, as many as there is room for."""
    written, free = "", -math.inf
    for at in sorted(places)[:: math.ceil(len(places) / _MOST_NAMES)]:
        half = _LETTER * letters_in(places[at]) / 2
        if x.place(at) - half >= free:
            written += _text(x.place(at), foot + 17, places[at], "tick", anchor="middle")
            free = x.place(at) + half + _APART
    return written


def _foot_of(series: Sequence[Series], tall: float = _TALL) -> float:
    """Return where a plot ends below that has the names of ``series`` below one another."""
    return _TOP + max(tall, _LINE * (len(series) - 1))


def _left_of(y: Axis) -> float:
    """Return where a plot begins that has the numbers of an upright axis to its left."""
    return max(_LEFT, 6 + _LETTER * max((len(short(tick)) for tick in y.ticks), default=0))


def _right_of(series: Sequence[Series], *, width: int = WIDTH, letters: int = _BESIDE) -> float:
    """Return where a plot ends that has the names of ``series`` to its right."""
    return width - 22 - _LETTER * max((letters_in(shorten(one.name, letters)) for one in series), default=0)


def _lines(series: Sequence[Series], x: Axis, y: Axis, *, right: float) -> str:
    """Draw the points of each series, joined, with its name to the right of the plot."""
    tips, marks = [], ""
    for one in series:
        places = sorted((x.place(at), y.place(value), note) for at, value, note in one.points)
        tips.append((one.name, one.colour, *places[-1][:2]))
        if one.band:
            lower, upper = ([(x.place(at), y.place(ends[k])) for at, *ends in one.band] for k in (0, 1))
            marks += f'<polygon points="{_path([*upper, *reversed(lower)])}" class="band" style="fill:{one.colour}"/>'
        if len(places) > 1:
            line = _path((left, top) for left, top, _ in places)
            marks += f'<polyline points="{line}" class="line" style="stroke:{one.colour}"/>'
        marks += "".join(_circle(left, top, 4, one.colour, note) for left, top, note in places)
    return _beside(tips, right, y.start) + marks


def _beside(
    tips: Sequence[tuple[str, str, float, float]], right: float, foot: float, *, letters: int = _BESIDE
) -> str:
    """Write names to the right of the plot, each with a line of its colour to where it belongs."""
    ordered = sorted(tips, key=lambda tip: tip[3])
    found = spread([tip[3] for tip in ordered], apart=_LINE, low=_TOP, high=foot)
    parts = []
    for (name, colour, x, y), at in zip(ordered, found, strict=True):
        parts.append(
            f'<path class="lead" style="stroke:{colour}" d="M{x:.1f} {y:.1f}L{right + 4:.1f} {at:.1f}h8"/>'
        )
        parts.append(_text(right + 16, at + 4, shorten(name, letters), "name"))
    return "".join(parts)


def _upright(axis: Axis, top: float, foot: float) -> str:
    """Draw an upright line for each tick of a horizontal axis, with its number below."""
    return "".join(
        f'<path class="{"foot" if tick == 0 else "grid"}" d="M{axis.place(tick):.1f} {top}V{foot:.1f}"/>'
        + _text(axis.place(tick), foot + 15, short(tick), "tick", anchor="middle")
        for tick in axis.ticks
    )


def _across(axis: Axis, left: float, right: float) -> str:
    """Draw a horizontal line for each tick of an upright axis, with its number to the left."""
    return "".join(
        f'<path class="{"foot" if tick == 0 else "grid"}" d="M{left} {axis.place(tick):.1f}H{right:.1f}"/>'
        + _text(left - 6, axis.place(tick) + 4, short(tick), "tick", anchor="end")
        for tick in axis.ticks
    )


def _dot(row: Row, axis: Axis, middle: float) -> str:
    line = ""
    if math.isfinite(row.low) and math.isfinite(row.high):
        ends = axis.place(row.low), axis.place(row.high)
        line = f'<path class="interval" style="stroke:{row.colour}" d="M{ends[0]:.1f} {middle:.1f}H{ends[1]:.1f}"/>'
    return line + _circle(axis.place(row.value), middle, 5, row.colour, _said(row))


def _bar(row: Row, axis: Axis, middle: float) -> str:
    left, right = sorted((axis.place(row.value), axis.place(0)))
    return (
        f'<rect x="{left:.1f}" y="{middle - 6:.1f}" width="{right - left:.1f}" height="12" rx="2" '
        f'style="fill:{row.colour}"><title>{escape(_said(row))}</title></rect>'
    )


def _said(row: Row) -> str:
    ends = f", 95 % between {row.low:.1f} and {row.high:.1f}" if math.isfinite(row.low) else ""
    return f"{row.name}: {row.text.strip()}{ends}"


def _path(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _notes(series: Sequence[Series]) -> list[str]:
    return [note for one in series for _, _, note in one.points if note]


def _text(x: float, y: float, text: str, kind: str, *, anchor: str = "start") -> str:
    if not text:
        return ""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _circle(x: float, y: float, radius: int, colour: str, note: str) -> str:
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" style="fill:{colour}">'
        f"<title>{escape(note)}</title></circle>"
    )


def _svg(
    height: float, content: str, label: str, said: Sequence[str], *, width: int = WIDTH, kind: str = ""
) -> str:
    words = escape(f"{label}: {'; '.join(said)}" if said else label)
    of_kind = f' class="{kind}"' if kind else ""
    return f'<svg{of_kind} viewBox="0 0 {width} {height:.0f}" role="img" aria-label="{words}">{content}</svg>'
