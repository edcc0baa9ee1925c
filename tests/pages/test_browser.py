"""The pages of reports in a real browser: no page scrolls sideways, whatever its width, and none needs the network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from psdvec.compare.report import as_page
from psdvec.evaluation.evaluate import evaluate
from psdvec.evaluation.page import as_html
from psdvec.evaluation.report import make_tables
from psdvec.evaluation.tasks import Analogies, Pairs, Task
from psdvec.pages.plots import Series, colour_at, draw_areas
from psdvec.pages.shell import Section, figure, html_table, make_page, plots
from psdvec.vectors.embeddings import Embeddings
from tests.compare.test_tables import made_up
from tests.explore.browsers import browser, browser_tests, new_page, resize
from tests.pages.axe import complaints, why_no_axe

pytestmark = browser_tests()

WIDTHS = (390, 1280, 2560)
WORDS = tuple(f"w{i}" for i in range(60))
NAMES = (
    "psdvec",
    "psd-original",
    "word2vec",
    "a model with a name that nobody would give it",
    "向量模型一二三四五六",
)
WIDE = """() => [...document.querySelectorAll("body *")].filter((one) =>
  one.getBoundingClientRect().right > innerWidth + 0.5 && !one.closest("thead")
).map((one) => one.outerHTML.slice(0, 200))"""


def many_models(*, count: int) -> dict[str, Embeddings]:
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((60, 8))
    return {
        f"{NAMES[i % len(NAMES)]}{i or ''}": Embeddings(
            WORDS[: 60 - i], (truth + i / 4 * rng.standard_normal((60, 8)))[: 60 - i].astype(np.float32)
        )
        for i in range(count)
    }


def sets() -> list[Task]:
    truth = many_models(count=1)["psdvec"]
    items = tuple((WORDS[i], WORDS[j]) for i in range(60) for j in range(i) if (i + j) % 3 == 0)
    gold = np.array([truth.similarity(a, b) for a, b in items])
    questions = tuple((WORDS[i], WORDS[i + 1], WORDS[i + 2], WORDS[i + 3]) for i in range(40))
    parts = tuple(f"gram{i // 4}-present-participle-or-so" for i in range(40))
    names = ("ws353-similarity", "ws353-relatedness", "men", "mturk-287", "simlex-999", "rg-65", "rare-words")
    return [*(Pairs(name, items, gold) for name in names), Analogies("google", questions, parts)]


def areas() -> str:
    years = {year: str(year) for year in range(1990, 2020)}
    series = [
        Series(f"topic {i}", colour_at(i), [(year, 1 + (year * i) % 7, "") for year in years])
        for i in range(12)
    ]
    return figure("Topics over time", draw_areas(years, series, label="Topics over time"))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder: Path = tmp_path_factory.mktemp("pages")
    texts = {"comparison": as_page(made_up(second=True))}
    for count in (1, 2, 12):
        report = evaluate(many_models(count=count), sets(), resamples=50)
        texts[f"report of {count}"] = as_html(report, make_tables(report))
    wide = html_table([f"heading {i}" for i in range(40)], [["x" * 60, *["cell"] * 39]])
    texts["areas and a wide table"] = make_page("t", "v", [Section("s", plots([areas()] * 3) + wide)])
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in texts}


@pytest.fixture(scope="module")
def chromium():
    with browser() as running:
        yield running


@pytest.mark.parametrize(
    "name", ["comparison", "report of 1", "report of 2", "report of 12", "areas and a wide table"]
)
def test_no_page_scrolls_sideways_or_hides_anything_at_any_width(chromium, pages: dict[str, str], name: str):
    page = new_page(chromium)
    page.goto(pages[name])
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    for width in (*WIDTHS, *range(320, 1700, 60)):
        resize(page, width=width, height=800)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(WIDE) == [], width
    page.context.close()


def test_on_a_phone_every_cell_has_its_heading_beside_it(chromium, pages: dict[str, str]):
    page = new_page(chromium, viewport={"width": 390, "height": 800})
    page.goto(pages["report of 12"])
    label = "(one) => getComputedStyle(one, '::before').content"
    assert "MEN" in page.locator("#scores ~ .table td[data-name=MEN]").first.evaluate(label)
    resize(page, width=2560, height=800)
    assert page.locator("#scores ~ .table td[data-name=MEN]").first.evaluate(label) == "none"
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_follows_the_readers_light_or_dark_mode(chromium, pages: dict[str, str], scheme: str):
    page = new_page(chromium, color_scheme=scheme)
    page.goto(pages["report of 2"])
    behind, ink = page.evaluate(
        "[getComputedStyle(document.body)].map((s) => [s.backgroundColor, s.color])[0]"
    )
    brightness = {
        name: sum(map(int, colour.strip("rgb()").split(",")))
        for name, colour in (("behind", behind), ("ink", ink))
    }
    assert (brightness["behind"] > brightness["ink"]) == (scheme == "light")
    page.context.close()


def test_a_page_asks_nobody_for_anything(chromium, pages: dict[str, str]):
    page = new_page(chromium)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(pages["comparison"])
    assert asked == [pages["comparison"]]
    page.context.close()


@pytest.mark.skipif(bool(why_no_axe()), reason=why_no_axe() or "axe-core is there")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_nothing_wrong_with_any_page(chromium, pages: dict[str, str], width: int, scheme: str):
    page = new_page(chromium, color_scheme=scheme, viewport={"width": width, "height": 800})
    for name, address in pages.items():
        page.goto(address)
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
        assert complaints(page) == [], name
    page.context.close()
