"""The plots of pages as figures of matplotlib, in the same colours: for notebooks, or to be kept as PNG or SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

from psdvec.errors import InputError, import_extra
from psdvec.pages.plots import Mark, Row, Series
from psdvec.pages.shell import style
from psdvec.storage.files import check_file_output, replaced_file

FORMATS = (".png", ".svg", ".pdf")
_ROW, _ABOVE = 0.24, 1.1  # inches


def rows_figure(rows: Sequence[Row], *, title: str, x_title: str = "") -> Any:
    """Draw a dot with its interval in each row, the first above."""
    figure, axes = _empty(6.4, _ABOVE + _ROW * len(rows), title)
    for place, row in enumerate(rows):
        colour = _colour(row.colour)
        axes.plot([row.low, row.high], [place, place], color=colour, linewidth=1.6)
        axes.plot([row.value], [place], "o", color=colour, markersize=5)
    axes.set_yticks(range(len(rows)), [row.name for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=_colour("var(--line)"))
    axes.set_xlabel(x_title)
    return figure


def lines_figure(
    places: Mapping[int, str], series: Sequence[Series], *, title: str, y_title: str = ""
) -> Any:
    """Draw lines over named places, each with its band."""
    figure, axes = _empty(6.4, 3.6, title)
    for one in series:
        colour = _colour(one.colour)
        at, values = [at for at, _, _ in one.points], [value for _, value, _ in one.points]
        axes.plot(at, values, "o-", color=colour, label=one.name)
        if one.band:
            axes.fill_between(*zip(*one.band, strict=True), color=colour, alpha=0.18, linewidth=0)
    axes.set_xticks(list(places), list(places.values()))
    if sum(map(len, places.values())) > 60:
        axes.tick_params(axis="x", labelrotation=45)
    axes.grid(axis="y", color=_colour("var(--line)"))
    axes.set_ylabel(y_title)
    if len(series) > 1:
        axes.legend(frameon=False)
    return figure


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
    figure.draw_without_rendering()
    taken: list[Any] = []
    for name in names:  # one that would cover another is left out
        box = name.get_window_extent()
        name.set_visible(not box.count_overlaps(taken))
        taken += [box] if name.get_visible() else []
    return figure


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


def _colour(name: str) -> str:
    """Return a colour of the page, as it is in the light.

    >>> _colour("var(--c0)")
    '#2f6f6a'
    """
    found = (
        style("page.css").partition(f"{name.removeprefix('var(').removesuffix(')')}: ")[2].partition(";")[0]
    )
    return found or name
