"""A comparison as one web page that needs nothing else: quality against time, cost growth, and all of the report.

Goes in: a :class:`~psdvec.compare.run.Comparison`. Comes out: HTML text; the parts that any report has, scores by
frequency band among them, are those of :mod:`psdvec.evaluation.page`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from psdvec.compare.run import Comparison
from psdvec.compare.tables import core_table, cost_table, remarks, settings_table
from psdvec.evaluation.page import as_html, colour_of, html_table

_WIDTH, _HEIGHT = 525, 340
_LEFT, _BOTTOM, _TOP, _RIGHT = 50, 40, 16, 75
_COLUMNS = "grid-template-columns: repeat(auto-fill, minmax(28rem, 1fr))"
_HALO = "paint-order:stroke;stroke:Canvas;stroke-width:3px"


@dataclass(frozen=True)
class Axis:
    """An axis from ``low`` to ``high``, by logarithms if ``log``, over the pixels from ``start`` to ``stop``."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def place(self, value: float) -> float:
        """Return the pixel of ``value``."""
        low, high, at = (math.log(x) if self.log else x for x in (self.low, self.high, value))
        return self.start + (self.stop - self.start) * (at - low) / (high - low)

    def ticks(self) -> list[float]:
        """Return round numbers along the axis."""
        if self.log:
            decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            factors = (1, 2, 5) if self.high > 8 * self.low else range(1, 10)
            marks = [factor * 10.0**decade for decade in decades for factor in factors]
        else:
            step = 10 ** math.floor(math.log10(self.high - self.low))
            step = step / 2 if (self.high - self.low) / step < 4 else step
            marks = [step * k for k in range(math.floor(self.low / step), math.ceil(self.high / step) + 1)]
        return [mark for mark in marks if self.low <= mark <= self.high]


def as_page(comparison: Comparison) -> str:
    """Return the comparison as one self-contained page."""
    header = "".join(
        f"<tr><td>{escape(name)}</td><td style='text-align:left'>{escape(text)}</td></tr>"
        for name, text in comparison.header.items()
    )
    notes = "".join(f"<li>{escape(line)}</li>" for line in remarks(comparison))
    core = core_table(comparison)
    parts = [
        f"<table>{header}</table>",
        f'<div class="plots" style="{_COLUMNS}">{quality_plot(comparison)}{growth_plot(comparison)}</div>',
        f'<h2>Training time and memory</h2><div class="scroll">{html_table(cost_table(comparison))}</div>',
        f"<h2>Core words against words placed by ridge</h2>{html_table(core)}" if core else "",
        f"<ul>{notes}</ul>",
        f"<details><summary>Settings</summary>{html_table(settings_table(comparison))}</details>",
    ]
    return as_html(comparison.report, title="Methods compared", lead="".join(parts))


def quality_plot(comparison: Comparison) -> str:
    """Draw each method's mean score over the time it took from text to vectors, on a logarithmic axis."""
    points = []
    for outcome in comparison.outcomes:
        value = comparison.quality.get(outcome.method, math.nan)
        if outcome.error is None and math.isfinite(value):
            points.append((outcome.method, outcome.total, 100 * value))
    if not points:
        return ""
    x = _padded([seconds for _, seconds, _ in points], _LEFT, _WIDTH - _RIGHT, log=True)
    y = _padded([value for _, _, value in points], _HEIGHT - _BOTTOM, _TOP, log=False)
    marks = [
        _mark(
            colour_of(comparison.report, name),
            x.place(seconds),
            y.place(value),
            f"{name}: {value:.1f} in {seconds:.1f} s",
        )
        for name, seconds, value in points
    ]
    names = labels([(name, x.place(seconds), y.place(value)) for name, seconds, value in points])
    drawing = _frame(x, y, "seconds from text to vectors", "mean score") + "".join(marks) + names
    return _figure("Quality against time: up and to the left is better", _svg(drawing))


def growth_plot(comparison: Comparison) -> str:
    """Draw each method's training time on both corpora over their sizes; nothing without a second corpus."""
    lines = []
    for one, two in zip(comparison.outcomes, comparison.second, strict=False):
        if one.training is not None and two.training is not None:
            both = zip(comparison.sizes, (one.training.wall, two.training.wall), strict=True)
            lines.append((one.method, [(float(size["tokens"]), wall) for size, wall in both]))
    if not lines:
        return ""
    x = _padded([tokens for _, ends in lines for tokens, _ in ends], _LEFT, _WIDTH - _RIGHT, log=True)
    y = _padded([wall for _, ends in lines for _, wall in ends], _HEIGHT - _BOTTOM, _TOP, log=True)
    parts, tips = [], []
    for name, ends in lines:
        places = sorted((x.place(tokens), y.place(wall)) for tokens, wall in ends)
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in places)
        paint = colour_of(comparison.report, name)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{paint}" stroke-width="2"/>')
        parts += [
            _mark(paint, x.place(tokens), y.place(wall), f"{name}: {wall:.1f} s for {tokens:,.0f} words")
            for tokens, wall in ends
        ]
        tips.append((name, *places[-1]))
    drawing = _frame(x, y, "words of the corpus", "training seconds") + "".join(parts) + labels(tips)
    return _figure("Growth of the training time", _svg(drawing))


def _padded(values: Sequence[float], start: float, stop: float, *, log: bool) -> Axis:
    """Return an axis that leaves some room on both sides of ``values``."""
    low, high = min(values), max(values)
    if log:
        low, high = max(low, 1e-3), max(high, 1e-3)
        return Axis(low / 1.3, high * 1.3, start, stop, log=True)
    room = max(0.08 * (high - low), 1.0)
    return Axis(low - room, high + room, start, stop)


def _frame(x: Axis, y: Axis, x_title: str, y_title: str) -> str:
    """Draw the axes with their ticks and titles."""
    parts = []
    for value in x.ticks():
        at = x.place(value)
        parts.append(
            f'<path class="grid" d="M{at:.1f} {y.start}V{y.stop}"/>'
            f'<text x="{at:.1f}" y="{y.start + 15}" text-anchor="middle">{_short(value)}</text>'
        )
    for value in y.ticks():
        at = y.place(value)
        parts.append(
            f'<path class="grid" d="M{x.start} {at:.1f}H{x.stop}"/>'
            f'<text x="{x.start - 5}" y="{at + 4:.1f}" text-anchor="end">{_short(value)}</text>'
        )
    parts.append(
        f'<text x="{(x.start + x.stop) / 2}" y="{y.start + 32}" text-anchor="middle">{x_title}</text>'
    )
    parts.append(f'<text x="{x.start - 40}" y="{y.stop - 4}">{y_title}</text>')
    return "".join(parts)


def _short(value: float) -> str:
    """Write a tick: 0.5, 20, 5k, 2M.

    >>> _short(20.0), _short(5e3), _short(2e6)
    ('20', '5k', '2M')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _mark(paint: str, x: float, y: float, note: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{paint}"><title>{escape(note)}</title></circle>'


def labels(places: Sequence[tuple[str, float, float]]) -> str:
    """Write names beside their points, moved down where one would stand on another or on a point."""
    taken = [(x - 6, x + 6, y) for _, x, y in places]
    parts = []
    for name, x, y in sorted(places, key=lambda place: place[2]):
        left, right, at = x + 8, x + 12 + 6.5 * len(name), y
        while any(left < other[1] and right > other[0] and abs(at - other[2]) < 12 for other in taken):
            at += 2
        taken.append((left, right, at))
        parts.append(f'<text x="{left:.1f}" y="{at + 4:.1f}" style="{_HALO}">{escape(name)}</text>')
    return "".join(parts)


def _svg(content: str) -> str:
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT + 10}" role="img">{content}</svg>'


def _figure(caption: str, drawing: str) -> str:
    return f"<figure><figcaption><b>{escape(caption)}</b></figcaption>{drawing}</figure>"
