"""The plots of pages as figures of matplotlib, in the same colours: for notebooks, or to be kept as PNG or SVG."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

from psdvec.errors import InputError, import_extra
from psdvec.pages.plots import Mark, Row, Series, shorten
from psdvec.pages.shell import style
from psdvec.storage.files import check_file_output, replaced_file

FORMATS = (".png", ".svg", ".pdf")
_ROW, _ABOVE = 0.24, 1.1  # inches
_MOST_PLACES = 24  # with a name below an axis
_NAME, _LEGEND = 48, 44  # letters of a name beside a row, and of one in a legend


def bars_figure(rows: Sequence[Row], *, title: str, x_title: str = "") -> Any:
    """Draw a bar from 0 in each row, the first above, with its text after it."""
    figure, axes = _empty(_width([row.name for row in rows]), _ABOVE + _ROW * len(rows), title)
    bars = axes.barh(
        range(len(rows)), [row.value for row in rows], 0.62, color=[_colour(row.colour) for row in rows]
    )
    axes.bar_label(bars, [row.text for row in rows], padding=4, fontsize=8, color=_colour("var(--soft)"))
    axes.margins(x=0.1)  # for the text after the longest one
    _name_rows(axes, [row.name for row in rows])
    axes.set_xlabel(x_title)
    return _plain(figure)


def dots_figure(
    names: Sequence[str], groups: Sequence[Sequence[Row]], *, title: str, x_title: str = ""
) -> Any:
    """Draw in each of the rows of ``names`` the dots of its group with their intervals, below one another.

    Dots of one name have one colour, and the legend says whose it is.
    """
    owners = {row.name: row.colour for group in groups for row in group}
    apart = min(0.8 / max(len(owners), 1), 0.3)
    height = max(_ROW, 0.13 * len(owners) + 0.12) * len(names)
    figure, axes = _empty(_width(names, owners), max(_ABOVE + height, 1.4 + 0.2 * len(owners)), title)
    places = {name: apart * (place - (len(owners) - 1) / 2) for place, name in enumerate(owners)}
    for name, colour in owners.items():
        own = [
            (at + places[name], row) for at, group in enumerate(groups) for row in group if row.name == name
        ]
        heights = [at for at, _ in own]
        axes.hlines(
            heights,
            [row.low for _, row in own],
            [row.high for _, row in own],
            color=_colour(colour),
            linewidth=1.6,
        )
        label = shorten(name, _LEGEND)
        axes.plot(
            [row.value for _, row in own], heights, "o", color=_colour(colour), markersize=4.5, label=label
        )
    if len(owners) > 1:
        _add_legend(axes)
        for at in range(1, len(names)):
            axes.axhline(at - 0.5, color=_colour("var(--line)"), linewidth=0.6)
    _name_rows(axes, names)
    axes.set_xlabel(x_title)
    return _plain(figure)


def rows_figure(rows: Sequence[Row], *, title: str, x_title: str = "") -> Any:
    """Draw a dot with its interval in each row, the first above."""
    figure, axes = _empty(_width([row.name for row in rows]), _ABOVE + _ROW * len(rows), title)
    for place, row in enumerate(rows):
        colour = _colour(row.colour)
        axes.plot([row.low, row.high], [place, place], color=colour, linewidth=1.6)
        axes.plot([row.value], [place], "o", color=colour, markersize=5)
    _name_rows(axes, [row.name for row in rows])
    axes.set_xlabel(x_title)
    return _plain(figure)


def lines_figure(
    places: Mapping[int, str], series: Sequence[Series], *, title: str, y_title: str = ""
) -> Any:
    """Draw lines over named places, each with its band."""
    figure, axes = _empty(_width(legend=[one.name for one in series]), 3.6, title)
    for one in series:
        colour = _colour(one.colour)
        at, values = [at for at, _, _ in one.points], [value for _, value, _ in one.points]
        axes.plot(at, values, "o-", color=colour, markersize=4, label=shorten(one.name, _LEGEND))
        if one.band:
            axes.fill_between(*zip(*one.band, strict=True), color=colour, alpha=0.18, linewidth=0)
    shown = _some_of(places)
    axes.set_xticks(shown, [places[at] for at in shown])
    is_turned = sum(len(places[at]) for at in shown) > 60
    if is_turned:
        axes.tick_params(axis="x", labelrotation=45)
    axes.set_axisbelow(True)
    axes.grid(axis="y", color=_colour("var(--line)"))
    axes.set_ylabel(y_title)
    if len(series) > 1:
        _add_legend(axes)
    if not is_turned:
        _hide_covered(figure, axes.get_xticklabels())
    return _plain(figure)


def map_figure(marks: Sequence[Mark], *, title: str, joined: Sequence[tuple[int, int]] = ()) -> Any:
    """Draw marks with their names where they lie, as far apart in both directions."""
    figure, axes = _empty(6.4, 4.4, title)
    for i, j in joined:
        axes.plot(
            [marks[i].x, marks[j].x], [marks[i].y, marks[j].y], color=_colour("var(--line-firm)"), linewidth=1
        )
    names = []
    for mark in sorted(marks, key=lambda mark: not mark.strong):
        axes.plot([mark.x], [mark.y], "o", color=_colour(mark.colour), markersize=7 if mark.strong else 4)
        name = axes.annotate(
            mark.name, (mark.x, mark.y), (0, 6), textcoords="offset points", ha="center",
            fontsize=10 if mark.strong else 9, fontweight="bold" if mark.strong else "normal",
        )  # fmt: skip
        names.append(name)
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.15)
    axes.set_axis_off()
    _hide_covered(figure, names)
    return _plain(figure)


def _hide_covered(figure: Any, names: Iterable[Any]) -> None:
    """Hide names that would cover earlier ones."""
    figure.draw_without_rendering()
    taken: list[Any] = []
    for name in names:
        box = name.get_window_extent()
        name.set_visible(not box.count_overlaps(taken))
        taken += [box] if name.get_visible() else []


def check_figure_output(path: Path, *, overwrite: bool) -> None:
    """Refuse a name that no figure can be written to, before any work."""
    import_extra("matplotlib.figure", extra="plot", purpose="a figure")
    if path.suffix.lower() not in FORMATS:
        raise InputError(
            f"'{path}' does not say how to draw; give a name that ends in {' or '.join(FORMATS)}"
        )
    check_file_output(path, overwrite=overwrite)


def write_figure(figure: Any, path: Path, *, overwrite: bool = False) -> None:
    """Write a figure as its name says; the same figure always gives the same bytes."""
    format = path.suffix.lower().removeprefix(".")
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(format)
    rc_context = import_extra("matplotlib", extra="plot", purpose="a figure").rc_context
    with rc_context({"svg.hashsalt": "psdvec"}), replaced_file(path, overwrite=overwrite) as file:
        figure.savefig(file, format=format, dpi=150, metadata=metadata)


def _empty(width: float, height: float, title: str) -> tuple[Any, Any]:
    """Return a figure that no global list knows of, and its axes."""
    made = import_extra("matplotlib.figure", extra="plot", purpose="a figure")
    figure = made.Figure(figsize=(width, height), layout="constrained")
    figure._repr_png_ = partial(_as_png, figure)  # notebooks show others only after one that pyplot made
    axes = figure.add_subplot()
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
    axes.spines[["top", "right", "left"]].set_visible(False)
    return figure, axes


def _as_png(figure: Any) -> bytes:
    file = BytesIO()
    figure.savefig(file, format="png", bbox_inches="tight")
    return file.getvalue()


def _width(names: Iterable[str] = (), legend: Collection[str] = ()) -> float:
    """Return how wide a figure is, in inches, so that names to the left and a legend to the right leave room."""
    left = max((len(shorten(name, _NAME)) for name in names), default=0)
    right = max((len(shorten(name, _LEGEND)) for name in legend), default=0) if len(legend) > 1 else 0
    return max(6.4, 4.2 + 0.078 * left + 0.072 * right)


def _some_of(places: Iterable[int]) -> list[int]:
    """Return places that are far enough apart to have a name each.

    >>> _some_of([1990, 1991, 1992]), _some_of([0, 1, 100])
    ([1990, 1991, 1992], [0, 100])
    """
    every = sorted(places)
    found: list[int] = []
    for at in every:
        if not found or at - found[-1] >= (every[-1] - every[0]) / _MOST_PLACES:
            found.append(at)
    return found


def _name_rows(axes: Any, names: Sequence[str]) -> None:
    """Name rows, the first above, and draw an upright line for each tick."""
    axes.set_yticks(range(len(names)), [shorten(name, _NAME) for name in names])
    axes.set_ylim(max(len(names), 1) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.set_axisbelow(True)
    axes.grid(axis="x", color=_colour("var(--line)"))


def _add_legend(axes: Any) -> None:
    """Say to the right of the axes, where it covers nothing, which colour is whose."""
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8.5, borderaxespad=0.2)


def _plain(figure: Any) -> Any:
    """Return a figure whose words are written as they are: between two dollars, too, there is no formula."""
    text = import_extra("matplotlib.text", extra="plot", purpose="a figure")
    for one in figure.findobj(text.Text):
        one.set_parse_math(False)
    return figure


def _colour(name: str) -> str:
    """Return a colour of the page, as it is in the light.

    >>> _colour("var(--c0)")
    '#2f6f6a'
    """
    found = (
        style("page.css").partition(f"{name.removeprefix('var(').removesuffix(')')}: ")[2].partition(";")[0]
    )
    return found or name
