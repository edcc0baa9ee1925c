"""The page around a report: whole, safe, and in the explorer's colours."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from psdvec.pages.shell import (
    Section,
    explained_table,
    folded,
    glossary,
    html_table,
    make_page,
    paragraph,
    plots,
)
from tests.pages.colours import contrast, explorer_tokens, tokens

STYLE = files("psdvec.pages").joinpath("page.css").read_text(encoding="utf-8")
LIGHT, DARK = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)


@pytest.mark.parametrize("mode", [LIGHT, DARK], ids=["light", "dark"])
def test_text_and_marks_stand_out_from_what_is_behind_them(mode: str):
    colours = tokens(mode)
    for behind in ("ground", "surface", "accent-wash"):
        assert contrast(colours["ink"], colours[behind]) >= 7
    for behind in ("ground", "surface"):
        assert contrast(colours["soft"], colours[behind]) >= 4.5
        assert contrast(colours["accent"], colours[behind]) >= 4.5
    for i in range(12):
        assert contrast(colours[f"c{i}"], colours["surface"]) >= 3, f"c{i}"


def test_the_colours_are_those_of_the_explorer():
    for own, theirs in zip((LIGHT, DARK), explorer_tokens(), strict=True):
        shared = {name: colour for name, colour in tokens(own).items() if not re.fullmatch(r"c\d+", name)}
        assert len(shared) >= 8
        assert shared.items() <= theirs.items()


def test_a_page_has_its_verdict_before_its_sections_and_links_to_each_that_it_shows():
    page = make_page(
        "A & B",
        "It <is> so.",
        [Section("One part", "<p>1</p>"), Section("Two", ""), Section("3", "x")],
        about="of x",
    )
    assert page.index("A &amp; B</h1>") < page.index("of x") < page.index("It &lt;is&gt; so.")
    assert page.index("It &lt;is&gt; so.") < page.index('<h2 id="one-part">')
    assert 'href="#one-part"' in page
    assert "Two" not in page


def test_what_is_empty_leaves_nothing():
    assert (paragraph(""), plots([]), plots(["", ""]), folded("x", ""), glossary({})) == ("",) * 5


def test_a_table_says_what_its_headings_mean_and_escapes_its_cells():
    table = html_table(
        ("model", "WS"), [("<i>", "76.5*"), ("b", "70.1≈")], meanings={"WS": 'the "first"'}, strong="*"
    )
    assert '<abbr title="the &quot;first&quot;">WS</abbr>' in table
    assert "&lt;i&gt;" in table
    assert re.findall(r'class="best">([^<]+)<', table) == ["76.5*"]
    assert 'data-name="WS"' in table


def test_every_table_folds_at_the_width_it_needs():
    narrow = html_table(("a", "b"), [("x", "1")])
    wide = html_table(("a", *(f"column{i}" for i in range(20))), [("x", *["1000"] * 20)])
    page = make_page("t", "v", [Section("s", narrow + wide)])
    widths = sorted(int(found) for found in re.findall(r"@container \(max-width: (\d+)rem\)", page))
    assert len(widths) == 2
    assert widths[0] < 5
    assert widths[1] > 80
    for width in widths:
        assert f'class="fold-{width}"' in page


def test_only_what_a_table_uses_is_explained_below_it():
    table = explained_table(
        ("model", "WS"), [("detectable", "6.3")], {"WS": "w", "detectable": "d", "RG": "r"}
    )
    assert re.findall(r"<dt>(\w+)</dt><dd>(\w)</dd>", table) == [("WS", "w"), ("detectable", "d")]
