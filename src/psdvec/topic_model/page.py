"""Topics as one self-contained web page: a map, a panel for each topic, and their sizes over a field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from psdvec.arrays import Float64s
from psdvec.topic_model.tables import Sizes, sizes_over
from psdvec.topic_model.values import Topics

_COLOURS = (
    "#4477aa", "#ee7733", "#228866", "#aa4499", "#cc3344", "#997722", "#55aacc", "#777777",
    "#88aa22", "#7755bb", "#bb5577", "#33aa99",
)  # fmt: skip
_WIDTH, _HEIGHT = 960.0, 620.0
_LARGEST = 11  # topics that a plot over a field shows by name
_ROUNDS = 300

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); }}
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }}
h1 {{ font-size: 1.6rem; }} h2 {{ font-size: 1.2rem; margin-top: 2.5rem; }} h3 {{ font-size: 1rem; margin: 0; }}
svg {{ width: 100%; height: auto; }} svg text {{ fill: currentColor; font-size: 13px; text-anchor: middle; }}
svg .more {{ font-size: 11px; opacity: .75; }} svg .tick {{ font-size: 11px; opacity: .8; }}
svg a:hover circle, svg a:focus circle {{ stroke: currentColor; stroke-width: 2; }}
.panels {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 1rem; }}
.panel {{ border: 1px solid var(--line); border-radius: .5rem; padding: .8rem 1rem; }}
.panel:target {{ outline: 2px solid currentColor; }}
.panel p {{ margin: .35rem 0; font-size: .85rem; }} .panel .words {{ font-size: .95rem; }}
.panel h3::before {{ content: ""; display: inline-block; width: .8em; height: .8em; border-radius: 50%;
  margin-right: .4em; background: var(--own); }}
.key span {{ margin-right: 1rem; white-space: nowrap; }}
.key i {{ display: inline-block; width: .8em; height: .8em; margin-right: .3em; border-radius: 2px; }}
table {{ border-collapse: collapse; font-size: .85rem; }} td, th {{ padding: .15rem .6rem; text-align: right; }}
td:first-child, th:first-child {{ text-align: left; }}
.scroll {{ overflow-x: auto; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{lead}</p>
<h2>Map</h2>
<p>Topics that lie close have words in common; a circle's area is the topic's share of all words. Follow a circle to its
panel.</p>
{map}
{over}
<h2>Topics</h2>
<div class="panels">{panels}</div>
</body>
</html>
"""


def as_html(topics: Topics, described: Sequence[Mapping[str, Any]]) -> str:
    """Return the page of ``topics``, ``described`` as in ``topics.json``."""
    count = "1 topic" if len(topics) == 1 else f"{len(topics)} topics"
    coherent = topics.coherence[np.isfinite(topics.coherence)]
    quality = f"coherence {coherent.mean():.3f} (NPMI of the ten top words), " if len(coherent) else ""
    lead = (
        f"{count} in {len(topics.names):,} documents, from {len(topics.space.words):,} words; {quality}"
        f"diversity {topics.diversity:.2f}. The largest topic: {topics.labels[int(topics.sizes.argmax())]}."
    )
    return _PAGE.format(
        title=escape(f"{count} in {len(topics.names):,} documents"),
        lead=escape(lead),
        map=_map(topics, described),
        over="".join(_over(topics, field) for field in topics.fields),
        panels="".join(_panel(one) for one in described),
    )


def colour_of(topic: int) -> str:
    """Return the colour of a topic; after twelve, colours come again."""
    return _COLOURS[topic % len(_COLOURS)]


def places_of(vectors: Float64s) -> Float64s:
    """Return places on a plane, (K, 2), whose distances are those of the vectors as nearly as can be (SMACOF).

    It begins with the principal axes, so the same vectors always give the same map.
    """
    k = len(vectors)
    if k == 1:
        return np.zeros((1, 2))
    target = np.sqrt(np.maximum(2.0 - 2.0 * vectors @ vectors.T, 0.0))
    centred = vectors - vectors.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    places = np.zeros((k, 2))
    wide = min(2, len(sizes))
    places[:, :wide] = left[:, :wide] * sizes[:wide]
    places += 1e-6 * np.column_stack([np.arange(k), np.arange(k)[::-1]])  # topics on one spot can part
    for _ in range(_ROUNDS):
        apart = np.linalg.norm(places[:, None] - places[None], axis=2)
        ratio = np.where(apart > 1e-9, target / np.maximum(apart, 1e-9), 0.0)
        places = (ratio.sum(axis=1)[:, None] * places - ratio @ places) / k
    return places


def _map(topics: Topics, described: Sequence[Mapping[str, Any]]) -> str:
    places = places_of(topics.vectors.astype(np.float64))
    low, high = places.min(axis=0), places.max(axis=0)
    middle, reach = (low + high) / 2, np.maximum(high - low, 1e-9)
    x = _WIDTH / 2 + (places[:, 0] - middle[0]) / reach[0] * (_WIDTH - 180)
    y = _HEIGHT / 2 - (places[:, 1] - middle[1]) / reach[1] * (_HEIGHT - 120)
    shapes = []
    for k in np.argsort(-topics.sizes, kind="stable").tolist():
        radius = 6 + 60 * float(np.sqrt(topics.sizes[k]))
        words = [escape(word) for word in described[k]["words"][:3]]
        shapes.append(
            f'<a href="#topic-{k}" aria-label="topic {k}: {", ".join(words)}"><circle cx="{x[k]:.1f}" cy="{y[k]:.1f}" '
            f'r="{radius:.1f}" fill="{colour_of(k)}" fill-opacity=".55"><title>topic {k}: {", ".join(words)} '
            f"({100 * topics.sizes[k]:.1f} % of all words)</title></circle>"
            f'<text x="{x[k]:.1f}" y="{y[k] + 4:.1f}">{words[0] if words else k}</text>'
            f'<text class="more" x="{x[k]:.1f}" y="{y[k] + 18:.1f}">{", ".join(words[1:])}</text></a>'
        )
    frame = f'viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" role="group" aria-label="map of topics"'
    return f"<svg {frame}>{''.join(shapes)}</svg>"


def _over(topics: Topics, field: str) -> str:
    """Return a plot of how large topics are over the values of a field, stacked, with the numbers below it."""
    sizes = sizes_over(topics, field)
    largest = np.argsort(-sizes.means.mean(axis=0), kind="stable")[:_LARGEST]
    rest = np.setdiff1d(np.arange(len(topics)), largest)
    bands = [(topics.labels[k], colour_of(int(k)), sizes.means[:, k]) for k in largest]
    if len(rest):
        bands.append((f"{len(rest)} other topics", "#bbbbbb", sizes.means[:, rest].sum(axis=1)))
    key = "".join(f'<span><i style="background:{c}"></i>{escape(name)}</span>' for name, c, _ in bands)
    missing = (
        f" {sizes.missing:,} documents have no {escape(field)} and are left out." if sizes.missing else ""
    )
    return (
        f"<h2>Topics over {escape(field)}</h2><p>The mean share of a document's words that each topic has; what is "
        f'missing to 1 belongs to no topic.{missing}</p><p class="key">{key}</p>{_stacked(sizes, bands)}'
        f"<details><summary>The numbers, with 95 % intervals</summary>{_numbers(topics, sizes)}</details>"
    )


def _stacked(sizes: Sizes, bands: Sequence[tuple[str, str, Float64s]]) -> str:
    left, top, width, height = 44.0, 10.0, _WIDTH - 60, 300.0
    count = len(sizes.values)
    slots = left + (np.arange(count) + 0.5) * width / count
    half = 0.5 * width / count
    ceiling = max(float(sum(band for _, _, band in bands).max()), 1e-9)  # type: ignore[union-attr]
    below, shapes = np.zeros(count), []
    for name, colour, band in bands:
        above = below + band
        low, high = (top + height * (1 - edge / ceiling) for edge in (below, above))
        for v in range(count):
            note = f"{name}, {sizes.values[v]}: {100 * band[v]:.1f} %"
            shapes.append(
                f'<rect x="{slots[v] - half * 0.92:.1f}" y="{high[v]:.1f}" width="{half * 1.84:.1f}" '
                f'height="{max(low[v] - high[v], 0):.1f}" fill="{colour}"><title>{escape(note)}</title></rect>'
            )
        below = above
    every = max(count // 12, 1)
    ticks = "".join(
        f'<text class="tick" x="{slots[v]:.1f}" y="{top + height + 18:.1f}">{escape(sizes.values[v][:14])}</text>'
        for v in range(0, count, every)
    )
    marks = "".join(
        f'<text class="tick" x="{left - 20:.0f}" y="{top + height * (1 - step) + 4:.1f}">'
        f"{100 * step * ceiling:.0f} %</text>"
        for step in (0.0, 0.5, 1.0)
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH:.0f} {height + 40:.0f}" role="img" aria-label="topics over {escape(sizes.field)}">'
        f"{''.join(shapes)}{ticks}{marks}</svg>"
    )


def _numbers(topics: Topics, sizes: Sizes) -> str:
    head = "".join(
        f"<th>{escape(value)} ({n})</th>" for value, n in zip(sizes.values, sizes.documents, strict=True)
    )
    rows = "".join(
        f"<tr><td>{escape(topics.labels[k])}</td>"
        + "".join(f"<td>{_interval(sizes, v, k)}</td>" for v in range(len(sizes.values)))
        + "</tr>"
        for k in range(len(topics))
    )
    return f'<div class="scroll"><table><thead><tr><th>topic</th>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _interval(sizes: Sizes, v: int, k: int) -> str:
    mean, low, high = (100 * float(table[v, k]) for table in (sizes.means, sizes.low, sizes.high))
    return f"{mean:.1f} %" if np.isnan(low) else f"{mean:.1f} % ({low:.1f} to {high:.1f})"


def _panel(one: Mapping[str, Any]) -> str:
    rare = f"<p>only here: {escape(', '.join(one['exclusive'][:6]))}</p>"
    near = f"<p>nearest: {escape(', '.join(one['nearest'][:6]))}</p>"
    about = "; ".join(f"{d['name']} ({100 * d['share']:.0f} %)" for d in one["documents"])
    coherent = "" if one["coherence"] is None else f", coherence {one['coherence']:.2f}"
    return (
        f'<section class="panel" id="topic-{one["topic"]}" style="--own:{colour_of(one["topic"])}">'
        f"<h3>{one['topic']}: {escape(one['label'])}</h3><p>{100 * one['size']:.1f} % of all words{coherent}</p>"
        f'<p class="words">{escape(", ".join(one["words"]))}</p>{rare}{near}<p>documents: {escape(about)}</p></section>'
    )
