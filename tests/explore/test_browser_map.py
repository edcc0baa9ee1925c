"""The map in a real browser: its points drawn, moved by the mouse, named, and with as many points as it promises."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest

from psdvec import formats
from psdvec.vectors.embeddings import Embeddings
from tests.explore.browsers import (
    NO_WEBGL,
    browser_tests,
    choose_layout,
    launch,
    location_of,
    new_page,
    open_page,
    ranges_of,
    search,
    view_of,
    wait_for_another_view,
    wait_for_answer,
    wait_for_map,
    wait_for_texts,
    wait_until,
    wait_until_still,
)
from tests.explore.servers import running

pytestmark = browser_tests()


def test_the_points_of_the_map_are_drawn(page, library):
    assert drawn_by(page) == "webgl2"
    assert points_of(page) == len(formats.load(library.model))
    assert page.locator("#labels span:visible").count() > 5
    assert coloured_pixels(page) > 200


def drawn_by(page) -> str:
    return page.locator("#plot").get_attribute("data-painter")


def points_of(page) -> int:
    return int(page.locator("#plot").get_attribute("data-points"))


def coloured_pixels(page) -> int:
    """Count the pixels in a picture of the map, labels left out, that are not its background."""
    hide = """(opacity) => {
      for (const id of ["labels", "marks", "note"]) document.getElementById(id).style.opacity = opacity;
    }"""
    page.evaluate(hide, "0")
    box = page.locator("#canvas").bounding_box()
    clip = {
        "x": box["x"] + 60,
        "y": box["y"] + 140,
        "width": box["width"] - 120,
        "height": box["height"] - 200,
    }
    picture = base64.b64encode(page.screenshot(clip=clip)).decode()
    page.evaluate(hide, "")
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
    found = blank.evaluate(count, picture)
    blank.close()
    return found


def test_colours_and_layouts_can_be_chosen(page):
    page.click("#colours button >> text=Regions")
    assert page.locator("#legend button").count() > 2
    for title in page.locator("#layouts button").all_inner_texts():
        choose_layout(page, title)
        assert page.locator("#layouts [aria-pressed=true]").inner_text() == title
        assert page.inner_text("#fidelity").startswith(f"{title}: ")


def test_the_page_says_how_many_neighbours_the_map_keeps(page):
    fidelity = page.evaluate("async () => (await (await fetch('/api/map?layout=pca')).json()).fidelity")
    choose_layout(page, "PCA")
    page.wait_for_selector("#fidelity >> text=PCA: of a word’s ten nearest words,")
    shown = float(page.inner_text("#fidelity").split(", ")[1].split()[0])
    assert shown == pytest.approx(100 * fidelity, abs=0.5)


def test_until_the_good_layout_is_there_the_page_shows_another_and_says_so(chromium, address, trouble):
    page = new_page(chromium)
    running_ = json.dumps({"state": "running", "progress": 0.37})
    page.route("**/api/map?layout=neighbours*", lambda route: route.fulfill(body=running_))
    page.goto(address)
    page.wait_for_selector("#note >> text=37\u00a0% done; until then the map shows PCA.")
    assert page.inner_text("#fidelity").startswith("PCA: ")
    page.unroute("**/api/map?layout=neighbours*")
    wait_for_map(page)
    assert page.inner_text("#fidelity").startswith("Neighbours: ")
    page.wait_for_selector("#note", state="hidden")
    page.context.close()


def test_more_words_are_named_as_one_zooms_in(chromium, address, trouble):
    def named():
        return set(page.locator("#labels span:visible").all_inner_texts())

    page = open_page(chromium, address, trouble=trouble, viewport={"width": 1280, "height": 360})
    views = []
    for button in ("#whole", "#closer"):
        page.click(button)
        wait_until_still(page)
        views.append(named())
    assert views[1] - views[0]
    page.context.close()


def place_of(page, word: str) -> tuple[float, float]:
    """Where the dot of a word is on the screen."""
    layout = "pca" if page.inner_text("#fidelity").startswith("PCA") else "neighbours"
    find = """async ([word, layout]) => {
      const { words, x, y } = await (await fetch(`/api/map?layout=${layout}`)).json();
      const i = words.indexOf(word);
      return [x[i], y[i]];
    }"""
    x, y = page.evaluate(find, [word, layout])
    left, right, low, high = ranges_of(page)
    box = page.locator("#canvas").bounding_box()
    return (
        box["x"] + (x - left) / (right - left) * box["width"],
        box["y"] + (high - y) / (high - low) * box["height"],
    )


def test_pointing_at_a_label_gives_the_word_of_the_label(page):
    """Of 89 labels, none gave its word once; region names give their region."""
    page.click("#whole")
    wait_until_still(page)
    labels = page.evaluate("""() => [...document.querySelectorAll("#labels span:not([hidden])")].map((one) => {
      const { x, y, width, height } = one.getBoundingClientRect();
      return [one.textContent, x + width / 2, y + height / 2];
    })""")
    assert len(labels) > 5
    for text, x, y in labels:
        point_at(page, x, y, word=text)


def test_the_tools_over_the_map_hide_no_word_of_it(page):
    """They hid its upper edge, and more of it when the names of its regions took two lines below."""
    page.click("#colours button >> text=Regions")
    wait_until(page, SEEN, True)
    page.click("#closer")
    wait_until_still(page)
    page.click("#whole")
    wait_until_still(page)
    assert page.evaluate(SEEN)


SEEN = """async () => {
  const { x, y } = await (await fetch("/api/map?layout=neighbours")).json();
  const canvas = document.getElementById("canvas");
  const [left, right, low, high] = JSON.parse(canvas.dataset.view);
  const box = canvas.getBoundingClientRect();
  const top = box.top + ((high - Math.max(...y)) / (high - low)) * box.height;
  const all = Math.min(...x) > left && Math.max(...x) < right && Math.min(...y) > low;
  return all && top > document.getElementById("tools").getBoundingClientRect().bottom;
}"""


def test_dots_grow_as_one_comes_closer(page):
    growth = """async (width) => (await import("/static/painter.js"))
      .growthOf({ width }, 100, { width: 900, height: 900 })"""
    sizes = [page.evaluate(growth, view) for view in (100, 50, 10, 1)]
    assert sizes == sorted(set(sizes))
    assert sizes[-1] > 2 * sizes[0]


def test_a_dot_shows_its_word_and_can_be_clicked(page, library):
    e = formats.load(library.model)
    search(page, "anchor")
    wait_for_answer(page, "similar")
    wait_for_texts(page, "#labels .self", ["anchor"])
    x, y = place_of(page, "anchor")
    point_at(page, x, y, word="anchor")
    shown = page.evaluate("[...document.getElementById('tip').childNodes].map((one) => one.textContent)")
    assert shown == ["anchor", f"{e.counts[e.get_index('anchor')]:,}"]
    for _ in range(3):  # no other label is as close
        page.click("#closer")
        wait_until_still(page)
    page.goto(f"{location_of(page)}&tab=odd")
    wait_for_answer(page, "odd")
    before = view_of(page)
    x, y = place_of(page, "anchor")
    point_at(page, x, y, word="anchor")
    page.mouse.down()
    page.mouse.up()
    wait_for_answer(page, "similar")
    wait_for_texts(page, "#panel-similar h2", ["anchor"])
    assert view_of(page) == pytest.approx(before)


def point_at(page, x: float, y: float, *, word: str) -> None:
    """Move the mouse to the dot of a word and wait until the page has seen it there, and not at one on the way."""
    page.mouse.move(x + 40, y + 40)
    page.mouse.move(x, y, steps=4)
    page.wait_for_function(
        "word => `${document.getElementById('tip').firstChild?.textContent},`.startsWith(`${word},`)",
        arg=word,
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
    wait_for_another_view(page, moved)
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
        wait_for_another_view(page, before)
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
        page = open_page(chromium, f"{address}#layout=pca", trouble=trouble)
        assert points_of(page) == 20_000
        assert coloured_pixels(page) > 20_000
        before = view_of(page)
        search(page, "w19999")
        wait_for_answer(page, "similar")
        wait_for_texts(page, "#labels .self", ["w19999"])
        assert view_of(page)[1] - view_of(page)[0] < (before[1] - before[0]) / 5
        search(page, "w20001")
        page.wait_for_selector("#note >> text=“w20001” is not among the 20,000 words on the map.")
        page.context.close()


def test_two_hundred_thousand_points_are_drawn_and_move(chromium, address, trouble):
    """Served by a stand-in for the answer about the map, since only the drawing is tried here."""
    rng = np.random.default_rng(0)
    places = np.round(rng.normal(size=(2, 200_000)), 3)
    many = {
        "state": "done", "layout": "pca", "words": [f"w{i}" for i in range(200_000)], "counts": None,
        "fidelity": 0.5, "x": places[0].tolist(), "y": places[1].tolist(), "regions": [],
        "clusters": [0] * 200_000, "fine": [0] * 200_000,
    }  # fmt: skip
    body = json.dumps(many)
    page = new_page(chromium)
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.route("**/api/map?*", lambda route: route.fulfill(body=body))
    page.goto(address)
    wait_for_map(page)
    assert points_of(page) == 200_000
    assert coloured_pixels(page) > 100_000
    before = view_of(page)
    page.click("#closer")
    wait_for_another_view(page, before)
    assert view_of(page)[1] - view_of(page)[0] == pytest.approx((before[1] - before[0]) / 2, rel=1e-3)
    page.context.close()


def test_without_webgl_all_points_are_drawn_on_a_plain_canvas_and_the_page_says_so(
    chromium, trouble, tmp_path
):
    with running(write_random(tmp_path / "some", words=3_100)) as (address, _):
        plain = launch(chromium.browser_type, drawing=NO_WEBGL)
        page = open_page(plain, f"{address}#layout=pca", trouble=trouble)
        page.wait_for_selector("#note >> text=This browser has no WebGL")
        assert drawn_by(page) == "canvas"
        assert points_of(page) == 3_100
        assert coloured_pixels(page) > 3_000
        plain.close()


def test_when_webgl_is_lost_the_map_stays_and_it_returns_with_it(page):
    page.evaluate("""() => {
      const gl = document.querySelector("#plot canvas").getContext("webgl2");
      window.loss = gl.getExtension("WEBGL_lose_context");
      window.loss.loseContext();
    }""")
    page.wait_for_selector("#plot[data-painter=canvas]")
    wait_until_still(page)
    assert coloured_pixels(page) > 200
    page.evaluate("window.loss.restoreContext()")
    page.wait_for_selector("#plot[data-painter=webgl2]")
    wait_until_still(page)
    assert coloured_pixels(page) > 200


def test_a_regions_name_shows_that_region_alone(page):
    page.click("#colours button >> text=Regions")
    first = page.locator("#legend button").first
    name = first.get_attribute("title")
    first.click()
    wait_for_answer(page, "area")
    wait_for_texts(page, "#panel-area h2", [name])
    size = int(page.inner_text("#panel-area .facts").split()[0])
    assert 0 < size < points_of(page)
    assert page.locator("#panel-area .ranking li").count() <= size
    page.click("#panel-area button >> text=Show all")
    page.wait_for_selector("#panel-area .empty")


def test_what_is_drawn_around_becomes_a_list_with_what_it_shares(page):
    page.click("#whole")
    wait_until_still(page)
    box = page.locator("#canvas").bounding_box()
    corners = [(0.02, 0.2), (0.98, 0.2), (0.98, 0.98), (0.02, 0.98), (0.02, 0.25)]
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
    page.keyboard.down("Shift")
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=6)
    page.wait_for_selector("#marks .trace")
    page.mouse.up()
    page.keyboard.up("Shift")
    wait_for_answer(page, "area")
    assert page.locator("#panel-area .chips .chip").count() > 0
    dragged = page.inner_text("#panel-area h2")
    page.reload()
    wait_for_texts(page, "#panel-area h2", [dragged])


def test_words_can_be_selected_with_the_keyboard_alone(page):
    page.click("#whole")
    wait_until_still(page)
    page.focus("#lasso")
    page.keyboard.press("Enter")
    page.focus("#canvas")
    page.keyboard.press("Enter")
    wait_for_texts(page, "#panel-area h2", [f"{points_of(page)} words"])
    assert page.locator("#lasso").get_attribute("aria-pressed") == "false"
