"""The map in a real browser: its points drawn, moved by the mouse, named, and with as many points as it promises."""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np
import pytest

from psdvec import formats
from psdvec.vectors.embeddings import Embeddings
from tests.explore.browsers import (
    NO_WEBGL,
    launch,
    open_page,
    search,
    view_of,
    wait_until_still,
    why_no_browser,
)
from tests.explore.servers import running

pytestmark = [
    pytest.mark.skipif(bool(why_no_browser()), reason=why_no_browser() or "a browser is there"),
    pytest.mark.slow,
]


def test_the_points_of_the_map_are_drawn(page, library):
    assert page.evaluate("document.getElementById('plot').data[0].type") == "scattergl"
    drawn = page.evaluate("document.getElementById('plot').data[0].x.length")
    assert drawn == len(formats.load(library.model))
    assert page.locator("#labels span:visible").count() > 5
    assert coloured_pixels(page) > 200


def coloured_pixels(page) -> int:
    """Count the pixels in a picture of the map, labels left out, that are not its background."""
    page.evaluate("document.getElementById('labels').hidden = true")
    box = page.locator("#canvas").bounding_box()
    clip = {
        "x": box["x"] + 60,
        "y": box["y"] + 60,
        "width": box["width"] - 120,
        "height": box["height"] - 120,
    }
    picture = base64.b64encode(page.screenshot(clip=clip)).decode()
    count = """async (picture) => {
      const image = new Image();
      image.src = `data:image/png;base64,${picture}`;
      await image.decode();
      const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
      const context = canvas.getContext("2d");
      context.drawImage(image, 0, 0);
      const { data } = context.getImageData(0, 0, image.width, image.height);
      let found = 0;
      for (let i = 0; i < data.length; i += 4) if (Math.abs(data[i] - data[0]) > 25) found += 1;
      return found;
    }"""
    blank = page.context.new_page()  # an empty page may make a picture out of a text, ours may not
    return blank.evaluate(count, picture)


def test_colours_and_layouts_can_be_chosen(page):
    page.click("#colours button >> text=Clusters")
    assert page.locator("#legend li.group").count() > 3
    before = page.evaluate("document.getElementById('plot').data[0].x")
    if page.locator("#layouts button >> text=t-SNE").count() == 0:
        pytest.skip("scikit-learn, which computes t-SNE, is not installed")
    page.click("#layouts button >> text=t-SNE")
    page.wait_for_function(
        "before => document.getElementById('plot').data[0].x[0] !== before[0]", arg=before, timeout=120_000
    )
    assert page.locator("#layouts [aria-pressed=true]").inner_text() == "t-SNE"


def test_more_words_are_named_as_one_zooms_in(page):
    def named():
        return set(page.locator("#labels span:visible").all_inner_texts())

    page.set_viewport_size({"width": 1280, "height": 360})
    views = []
    for button in ("#whole", "#closer"):
        page.click(button)
        wait_until_still(page)
        views.append(named())
    assert views[1] - views[0]


def place_of(page, word: str) -> tuple[float, float]:
    """Where the dot of a word is on the screen."""
    find = """async (word) => {
      const { words } = await (await fetch("/api/map")).json();
      const plot = document.getElementById("plot"), box = plot.getBoundingClientRect();
      const share = (value, [from, to]) => (value - from) / (to - from);
      const [across, up] = ["x", "y"].map((axis) =>
        share(plot.data[0][axis][words.indexOf(word)], plot.layout[`${axis}axis`].range));
      return [box.x + across * box.width, box.y + (1 - up) * box.height];
    }"""
    return tuple(page.evaluate(find, word))


def test_a_dot_shows_its_word_and_can_be_clicked(page, library):
    e = formats.load(library.model)
    search(page, "anchor")
    page.wait_for_selector("#labels .self >> text=anchor")
    wait_until_still(page)
    before = view_of(page)
    x, y = place_of(page, "anchor")
    point_at(page, x, y, word="anchor")
    shown = page.evaluate("[...document.getElementById('tip').childNodes].map((one) => one.textContent)")
    assert shown == ["anchor", f"{e.counts[e.get_index('anchor')]:,}"]
    page.click("#tab-odd")
    point_at(page, x, y, word="anchor")
    page.mouse.down()
    page.mouse.up()
    page.wait_for_selector("#panel-similar:visible h2 >> text=anchor")
    assert view_of(page) == pytest.approx(before)


def point_at(page, x: float, y: float, *, word: str) -> None:
    """Move the mouse to the dot of a word and wait until the page has seen it there, and not at one on the way."""
    page.mouse.move(x + 40, y + 40)
    page.mouse.move(x, y, steps=4)
    page.wait_for_function(
        "(word) => document.getElementById('tip').firstChild?.textContent === word", arg=word
    )
    page.wait_for_selector("#tip:visible")


def test_the_map_follows_the_mouse(page):
    box = page.locator("#canvas").bounding_box()
    x, y = box["x"] + box["width"] / 3, box["y"] + box["height"] / 2
    left, right = view_of(page)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 100, y, steps=5)
    page.mouse.up()
    step = 100 * (right - left) / box["width"]
    wait_until_still(page)
    moved = view_of(page)
    assert moved == pytest.approx([left + step, right + step], abs=0.02 * step)
    page.mouse.move(x, y)
    page.mouse.wheel(0, -300)
    page.wait_for_function(
        "before => JSON.parse(document.getElementById('canvas').dataset.view)[0] !== before[0]", arg=moved
    )
    wait_until_still(page)
    zoomed = view_of(page)
    assert zoomed[1] - zoomed[0] < 0.9 * (moved[1] - moved[0])
    under = [a + (b - a) / 3 for a, b in (moved, zoomed)]
    assert under[0] == pytest.approx(under[1], abs=0.02 * step), "what is under the mouse stays there"


def test_two_fingers_zoom_the_map(chromium, trouble, library):
    with running(library.model) as (address, _):
        page = open_page(chromium, address, trouble=trouble, has_touch=True)
        box = page.locator("#canvas").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        before = view_of(page)
        session = page.context.new_cdp_session(page)
        for apart in (50, 80, 120, 200):
            fingers = [{"x": x - apart, "y": y, "id": 0}, {"x": x + apart, "y": y, "id": 1}]
            kind = "touchStart" if apart == 50 else "touchMove"
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})
        session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        page.wait_for_function(
            "before => JSON.parse(document.getElementById('canvas').dataset.view)[0] !== before[0]",
            arg=before,
        )
        wait_until_still(page)
        after = view_of(page)
        assert after[1] - after[0] == pytest.approx((before[1] - before[0]) / 4, rel=0.05)
        assert sum(after) == pytest.approx(sum(before), abs=0.02 * (before[1] - before[0]))
        page.context.close()


def write_random(path: Path, *, words: int) -> Path:
    vectors = np.random.default_rng(0).normal(size=(words, 8)).astype(np.float32)
    formats.save(Embeddings([f"w{i}" for i in range(words)], vectors), path)
    return path


def test_twenty_thousand_points_are_drawn_and_move(chromium, trouble, tmp_path):
    with running(write_random(tmp_path / "many", words=20_500)) as (address, _):
        page = open_page(chromium, address, trouble=trouble)
        assert page.evaluate("document.getElementById('plot').data[0].x.length") == 20_000
        assert coloured_pixels(page) > 20_000
        before = view_of(page)
        search(page, "w19999")
        page.wait_for_selector("#labels .self >> text=w19999", state="attached")
        wait_until_still(page)
        assert view_of(page)[1] - view_of(page)[0] < (before[1] - before[0]) / 5
        search(page, "w20001")
        page.wait_for_selector("#note >> text=“w20001” is not among the 20,000 words on the map.")
        page.context.close()


def test_without_webgl_the_frequent_words_are_drawn_and_the_page_says_so(chromium, trouble, tmp_path):
    with running(write_random(tmp_path / "some", words=3_100)) as (address, _):
        plain = launch(chromium.browser_type, drawing=NO_WEBGL)
        page = open_page(plain, address, trouble=trouble)
        page.wait_for_selector("#note >> text=Without WebGL the map shows the 3,000 most frequent words")
        drawn = "document.querySelector('#plot .scatterlayer .trace')?.querySelectorAll('.point').length"
        page.wait_for_function(f"{drawn} === 3000")
        assert page.evaluate("document.getElementById('plot').data[0].type") == "scatter"
        plain.close()
