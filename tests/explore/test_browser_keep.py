"""What can be kept of the page: itself as one file, pictures of its map, its tables."""

from __future__ import annotations

import csv
import io
import re

import pytest

from psdvec import formats
from tests.explore.browsers import (
    browser_tests,
    new_page,
    search,
    wait_for_answer,
    wait_for_map,
    wait_for_texts,
    wait_until_still,
)
from tests.explore.conftest import HOSTILE

pytestmark = browser_tests()


def save(page, button: str, path):
    if not page.locator(button).is_visible():
        page.click(".keep summary")
    with page.expect_download() as download:
        page.click(button)
    download.value.save_as(path)
    return path


@pytest.mark.parametrize("word", ["guitar", HOSTILE[0]])
def test_a_saved_page_opens_from_disk_with_the_network_off(chromium, page, tmp_path, trouble, word):
    page.click("#tab-compare")
    search(page, word)
    wait_for_answer(page, "compare")
    page.click("#tab-similar")
    wait_for_answer(page, "similar")
    shown = page.inner_text("#panel-similar .ranking")
    points = page.locator("#plot").get_attribute("data-points")
    file = save(page, "#save-page", tmp_path / "page.html")

    saved = new_page(chromium, offline=True)
    saved.on("pageerror", lambda error: trouble.append(str(error)))
    saved.on("console", lambda message: trouble.append(message.text) if message.type == "error" else None)
    saved.on(
        "request", lambda one: trouble.append(one.url) if one.url[:5] not in ("file:", "data:") else None
    )
    saved.goto(file.as_uri())
    wait_for_map(saved)
    wait_for_answer(saved, "similar")
    assert saved.inner_text("#panel-similar .ranking") == shown
    assert saved.locator("#plot").get_attribute("data-points") == points
    wait_for_texts(saved, "#labels .self", [word])
    saved.click("#tab-compare")
    saved.wait_for_selector("#panel-compare .pair")
    assert saved.locator("[role=tab]:visible").count() == 2
    saved.click("#closer")
    wait_until_still(saved)
    assert saved.evaluate("window.hacked") is None
    saved.context.close()


def test_a_saved_page_that_is_asked_more_says_where_to_ask(chromium, page, tmp_path):
    search(page, "guitar")
    page.wait_for_selector("#panel-similar .ranking")
    file = save(page, "#save-page", tmp_path / "page.html")
    saved = new_page(chromium, offline=True)
    saved.goto(file.as_uri())
    saved.wait_for_selector("#panel-similar .ranking")
    saved.click("#panel-similar .ranking .word >> nth=0")
    saved.wait_for_selector("#panel-similar .trouble >> text=open the model with psdvec explore")
    saved.context.close()


def test_the_map_is_kept_as_a_picture(page, tmp_path, library):
    search(page, "guitar")
    wait_for_answer(page, "similar")
    page.click("#whole")
    wait_until_still(page)
    text = save(page, "#save-svg", tmp_path / "map.svg").read_text()
    assert text.count("<circle") >= len(formats.load(library.model))
    assert re.search(r"<text[^>]*>guitar</text>", text)
    box = page.locator("#canvas").bounding_box()
    png = save(page, "#save-png", tmp_path / "map.png").read_bytes()
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(png[16:20], "big") == 2 * round(box["width"])
    assert len(png) > 10_000


def test_a_table_is_kept_as_csv_whatever_its_words_contain(page, tmp_path, library):
    search(page, "guitar")
    page.wait_for_selector("#panel-similar .csv")
    rows = list(csv.reader(io.StringIO(save(page, "#panel-similar .csv", tmp_path / "t.csv").read_text())))
    expected = formats.load(library.model).most_similar("guitar", topn=20)
    assert [row[0] for row in rows] == ["word", *(word for word, _ in expected)]
    assert [float(row[1]) for row in rows[1:]] == pytest.approx([score for _, score in expected], abs=1e-5)
    nasty = """async () => (await import("/static/download.js")).writeCsv(
      { columns: ["a"], rows: [['say "x", y'], ["two\\nlines"], [null, 1]] })"""
    assert list(csv.reader(io.StringIO(page.evaluate(nasty)))) == [
        ["a"],
        ['say "x", y'],
        ["two\nlines"],
        ["", "1"],
    ]
