"""The page in a real browser: every view, by mouse and by keyboard alone, with words that look like programs."""

from __future__ import annotations

import json

import pytest

from psdvec import formats
from tests.explore.browsers import (
    browser_tests,
    new_page,
    open_page,
    search,
    view_of,
    wait_for_answer,
    wait_for_map,
    wait_for_texts,
    wait_until,
    wait_until_still,
)
from tests.explore.conftest import HOSTILE
from tests.explore.servers import running

pytestmark = browser_tests()

SENTENCES = """the guitar and the zither with piano and violin in concert
a song for zither and orchestra they play melody with drums"""
TABS = ["similar", "contexts", "analogy", "odd", "extend", "compare", "area", "topics", "change", "documents"]

WORDS = "list => list.map((one) => one.firstChild.data)"


def words_of(page, selector: str) -> list[str]:
    return page.locator(f"{selector} .ranking .word").evaluate_all(WORDS)


def wait_for_words(page, selector: str, expected: list[str]) -> None:
    """Wait until a ranking shows just these words."""
    words = f"rows => ({WORDS})([...document.querySelectorAll(rows)])"
    wait_until(page, words, expected, arg=f"{selector} .ranking .word")


def test_searching_shows_neighbours_and_flies_there(page, library):
    before = view_of(page)
    search(page, "guitar")
    wait_for_words(
        page,
        "#panel-similar",
        [word for word, _ in formats.load(library.model).most_similar("guitar", topn=20)],
    )
    assert page.inner_text("#panel-similar h2") == "guitar"
    wait_for_answer(page, "similar")
    wait_for_texts(page, "#labels .self", ["guitar"])
    left, right = view_of(page)
    assert right - left < (before[1] - before[0]) / 5
    assert_in_the_middle(page, "#marks .self")


def assert_in_the_middle(page, selector):
    ring, box = page.locator(selector).bounding_box(), page.locator("#canvas").bounding_box()
    for place, size in (("x", "width"), ("y", "height")):
        assert ring[place] + ring[size] / 2 == pytest.approx(box[place] + box[size] / 2, abs=1)


def test_a_neighbour_can_be_followed(page):
    search(page, "guitar")
    first = page.locator("#panel-similar .ranking .word").first
    word = first.evaluate("one => one.firstChild.data")
    first.click()
    wait_for_texts(page, "#panel-similar h2", [word])
    assert page.input_value("#word") == word


def test_confidence_is_drawn_where_it_is_known(page):
    search(page, "lute")
    page.wait_for_selector("#panel-similar .bar b")
    assert "95 % confidence" in page.inner_text("#panel-similar")


def test_an_analogy_is_answered_in_both_ways(page, library):
    page.click("#tab-analogy")
    for name, word in zip("abc", ("guitar", "piano", "ship"), strict=True):
        page.fill(f"#analogy-{name}", word)
    e = formats.load(library.model)
    for button, method in (("Answer", e.most_similar), ("3CosMul", e.most_similar_cosmul)):
        page.click(f"#panel-analogy button >> text={button}")
        wait_for_answer(page, "analogy")
        expected = [word for word, _ in method(["piano", "ship"], ["guitar"])]
        wait_for_words(page, "#panel-analogy", expected)
        assert page.inner_text("#panel-analogy h2") == expected[0]
        words = ["guitar", "piano", "ship", expected[0]]
        assert page.locator("#panel-analogy .plane text").all_text_contents() == words


def test_the_odd_one_out_is_found(page):
    page.click("#tab-odd")
    page.fill("#odd-words", "guitar, piano oven violin")
    page.press("#odd-words", "Enter")
    page.wait_for_selector("#panel-odd h2")
    assert page.inner_text("#panel-odd h2") == "oven"


def test_contexts_of_a_word_and_of_a_pair(page):
    page.click("#tab-contexts")
    search(page, "guitar")
    page.wait_for_selector("#panel-contexts .reasons li")
    for name in ("count", "PMI", "fitted", "weight"):
        assert name in page.inner_text("#panel-contexts .reasons li >> nth=0")
    page.fill("#other", "piano")
    page.press("#other", "Enter")
    wait_for_texts(page, "#panel-contexts h2", ["guitar and piano"])
    figure = page.inner_text("#panel-contexts .figure")
    assert "similarity of the two words" in figure
    assert "%" not in figure


@pytest.mark.parametrize("order", ["pull", "pmi"])
def test_contexts_stand_in_the_order_of_their_bars(page, order):
    page.click("#tab-contexts")
    page.click(f"#panel-contexts [data-name={order}]")
    search(page, "guitar")
    wait_for_answer(page, "contexts")
    shown = page.locator("#panel-contexts .reasons .score").all_inner_texts()
    values = [float(one.replace("−", "-")) for one in shown]
    assert values == sorted(values, reverse=True)
    widths = page.locator("#panel-contexts .swing i").evaluate_all(
        "list => list.map((one) => (one.className ? -1 : 1) * one.getBoundingClientRect().width)"
    )
    assert widths == sorted(widths, reverse=True)


def test_a_word_is_added_and_marked_on_the_map(page):
    page.click("#tab-extend")
    page.fill("#pasted", SENTENCES)
    page.fill("#new-word", "zither")
    page.click("#panel-extend .primary")
    wait_for_answer(page, "extend")
    wait_for_texts(page, "#panel-extend .card h2", ["zither"])
    assert "% by its spelling" in page.inner_text("#panel-extend .facts")
    assert set(words_of(page, "#panel-extend")) & {"guitar", "piano", "violin", "song", "melody", "concert"}
    wait_for_texts(page, "#labels .added", ["zither"])
    assert_in_the_middle(page, "#marks .added")
    assert page.locator("#panel-extend .sentences li").count() == 2
    assert page.locator("#panel-extend .sentences mark").count() > 0


def test_a_word_that_was_added_can_be_asked_about_like_any_other(page):
    page.click("#tab-extend")
    page.fill("#pasted", SENTENCES)
    page.fill("#new-word", "zither")
    page.click("#panel-extend .primary")
    page.wait_for_selector("#panel-extend .card h2 >> text=zither")
    page.click("#panel-extend .card h2 .word")
    wait_for_answer(page, "similar")
    wait_for_texts(page, "#panel-similar h2", ["zither"])
    assert words_of(page, "#panel-similar")
    page.wait_for_selector("#labels .added >> text=zither")


def test_an_example_of_a_new_word_is_a_click_away_where_the_model_knows_its_words(chromium, address):
    page = new_page(chromium)
    page.goto(f"{address}#tab=extend&layout=pca")
    wait_for_map(page)
    assert page.locator("#example").count() == 0
    words = page.evaluate(
        "async () => [...new Set((await import('/static/examples.js')).NEW_WORD.text.split(/\\s+/))]"
    )
    count = len(words)
    stand_in = {
        "state": "done", "layout": "pca", "words": words, "x": list(range(count)), "y": [0] * count, "counts": None,
        "fidelity": 1, "clusters": [0] * count, "fine": [0] * count, "regions": [],
    }  # fmt: skip
    page.route("**/api/map?*", lambda route: route.fulfill(body=json.dumps(stand_in)))
    page.reload()
    page.click("#example")
    assert page.input_value("#new-word") == "zumzik"
    assert len(page.input_value("#pasted").splitlines()) == 4
    page.context.close()


def test_two_models_are_compared(page):
    page.click("#tab-compare")
    search(page, "guitar")
    wait_for_answer(page, "compare")
    assert page.locator("#panel-compare .pair h3").all_inner_texts() == ["model", "other"]
    shared = page.locator("#panel-compare .shared").count()
    assert f"{shared // 2} of 15" in page.inner_text("#panel-compare .figure")
    assert page.locator("#panel-compare .slopes line").count() == shared // 2
    page.click("#models button >> text=other")
    assert "other" in page.title()


def test_documents_are_found_with_marked_words_and_why(page, trouble):
    page.click("#tab-documents")
    page.click("#panel-documents .primary")
    assert "A question is needed" in page.inner_text("#panel-documents")
    page.fill("#question", "guitar <b>x</b>")
    page.press("#question", "Enter")
    page.wait_for_selector("#panel-documents .hits li")
    assert page.locator("#panel-documents .hits li").count() == 10
    assert page.locator("#panel-documents .hits b").count() == 0
    assert "half first" in page.inner_text("#panel-documents .hits li >> nth=0")
    assert "guitar" in page.locator("#panel-documents mark").all_inner_texts()
    assert "meaning" in page.inner_text("#panel-documents .why >> nth=0")
    page.click("#panel-documents >> text=Only these words")
    wait_until(
        page, "() => document.querySelector('#panel-documents .hits').textContent.includes('meaning')", False
    )
    page.click("#panel-documents .met >> text=guitar >> nth=0")
    page.wait_for_selector("#panel-similar h2 >> text=guitar")
    page.click("#tab-documents")
    page.fill("#question", "♥♥♥")
    page.press("#question", "Enter")
    page.wait_for_selector("#panel-documents .trouble")
    assert "No document has a word of the question" in page.inner_text("#panel-documents")
    trouble.clear()  # the browser's console tells of the refusal, too


def test_a_change_is_shown_word_by_word(page):
    page.click("#tab-change")
    wait_for_answer(page, "change")
    word = page.locator("#panel-change .chip").first.inner_text()
    page.locator("#panel-change .chip").first.click()
    page.wait_for_selector(f"#panel-change h2 >> text='{word}'")
    assert page.locator("#panel-change h3").all_inner_texts() == ["first", "second"]
    assert page.locator("#panel-change blockquote").count() > 0
    page.click("#panel-change >> text=All words")
    page.wait_for_selector("#panel-change h2 >> text=first and second")


def test_everything_can_be_done_with_the_keyboard(page):
    page.keyboard.press("/")
    page.keyboard.type("guitar")
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel-similar h2")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "tab-similar"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-analogy"
    page.keyboard.press("Tab")
    for word in ("guitar", "piano", "ship"):
        page.keyboard.type(word)
        page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Answer"
    page.keyboard.press("Enter")
    wait_for_answer(page, "analogy")
    page.wait_for_selector("#panel-analogy h2")
    page.focus("#canvas")
    views = []
    for key in ("0", "+", "ArrowRight", "-", "0"):
        page.keyboard.press(key)
        wait_until_still(page)
        views.append(view_of(page))
    whole, near, moved, far, again = views
    assert near[1] - near[0] == pytest.approx(0.6 * (whole[1] - whole[0]))
    assert moved == pytest.approx([x + 0.15 * (near[1] - near[0]) for x in near])
    assert far[1] - far[0] == pytest.approx(whole[1] - whole[0])
    assert again == pytest.approx(whole)


def test_a_word_is_added_with_the_keyboard_alone(page):
    page.keyboard.press("/")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-extend"
    page.keyboard.press("Tab")
    page.keyboard.type(SENTENCES)
    page.keyboard.press("Tab")
    page.keyboard.type("zither")
    page.keyboard.press("Enter")
    page.wait_for_selector("#labels .added >> text=zither")
    page.focus("#colours button:last-child")
    page.keyboard.press("Enter")
    assert page.locator("#legend button").count() > 2
    theme = page.evaluate("document.documentElement.dataset.theme")
    page.focus("#theme")
    page.keyboard.press("Space")
    assert page.evaluate("document.documentElement.dataset.theme") != theme


def test_focus_is_always_visible(page):
    for _ in range(14):
        page.keyboard.press("Tab")
        style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert style != "none", page.evaluate("document.activeElement.outerHTML")


def test_words_that_look_like_programs_are_only_words(page):
    marked = "word => [...document.querySelectorAll('#labels .self')].some((one) => one.textContent === word)"
    for word in HOSTILE:
        search(page, word)
        for tab in ("similar", "contexts", "compare"):
            page.click(f"#tab-{tab}")
            wait_for_texts(page, f"#panel-{tab} h2", [word])
        page.wait_for_function(marked, arg=word)
    assert page.evaluate("window.hacked") is None
    assert (
        page.locator("#panels script, #panels img, #panels svg:not(.slopes), #labels b, #legend b").count()
        == 0
    )


def test_hostile_words_can_be_added_too(page):
    page.click("#tab-extend")
    new = "<img/src=y/onerror=window.hacked=2>"
    page.fill("#pasted", SENTENCES.replace("zither", new))
    page.click("#panel-extend .primary")
    wait_for_answer(page, "extend")
    assert new in page.locator("#panel-extend .card h2").all_text_contents()
    assert page.evaluate("window.hacked") is None


def test_errors_are_friendly_sentences(chromium, address):
    page = open_page(chromium, address, trouble=[])  # the browser itself notes the 404 in its console
    search(page, "guitarr")
    page.wait_for_selector("#panel-similar .trouble")
    assert "There is no vector for “guitarr”. Did you mean:" in page.inner_text("#panel-similar .trouble")
    page.click("#panel-similar .trouble .chip >> text=guitar")
    page.wait_for_selector("#panel-similar h2 >> text=guitar")
    search(page, "   ")
    assert page.evaluate("document.activeElement.id") == "word"
    for tab, sentence in (("analogy", "Three words are needed"), ("odd", "Three words are needed")):
        page.click(f"#tab-{tab}")
        page.click(f"#panel-{tab} .primary")
        assert sentence in page.inner_text(f"#panel-{tab}")
    page.click("#tab-extend")
    page.click("#panel-extend .primary")
    assert "There is no text yet" in page.inner_text("#panel-extend .trouble")
    page.evaluate("document.getElementById('pasted').value = 'word '.repeat(2_000_000)")
    page.click("#panel-extend .primary")
    page.wait_for_selector("#panel-extend .trouble >> text=10,000,000 characters")
    page.context.close()


def test_a_question_that_failed_can_be_asked_again(chromium, address):
    # The browser itself notes the failed request in its console.
    page = open_page(chromium, address, trouble=[])
    page.route("**/api/similar*", lambda route: route.abort())
    search(page, "guitar")
    page.wait_for_selector("#panel-similar .trouble")
    page.unroute("**/api/similar*")
    page.press("#word", "Enter")
    page.wait_for_selector("#panel-similar h2 >> text=guitar")
    page.context.close()


def test_what_is_not_available_says_why_in_place_of_a_form(chromium, trouble, library):
    with running(library.plain) as (address, _):
        page = open_page(chromium, address, trouble=trouble)
        lacking = "without the scales of a fit"
        for tab, reason in (("contexts", lacking), ("extend", lacking), ("compare", "MODEL2")):
            page.click(f"#tab-{tab}")
            text = page.inner_text(f"#panel-{tab}")
            assert "Not available here" in text
            assert "start the explorer with --counts" in text or reason in text
            assert page.locator(f"#panel-{tab} form").count() == 0
        page.context.close()


def test_every_field_suggests_words_of_the_vocabulary(page):
    page.click("#tab-contexts")
    search(page, "guitar")
    fields = {"contexts": "other", "analogy": "analogy-b", "odd": "odd-words"}
    for tab, field in {"contexts": "word", **fields}.items() | fields.items():
        page.click(f"#tab-{tab}")
        page.locator(f"#{field}").fill("piano vio" if field == "odd-words" else "vio")
        expected = "piano violin" if field == "odd-words" else "violin"
        page.wait_for_selector(f"#{field}-words option[value='{expected}']", state="attached")


def test_a_server_that_is_gone_is_a_sentence_too(chromium, address):
    # The browser itself notes the failed request in its console.
    page = open_page(chromium, address, trouble=[])
    page.route("**/api/*", lambda route: route.abort())
    search(page, "guitar")
    page.wait_for_selector(
        "#panel-similar .trouble >> text=is 'psdvec explore' still running in its terminal?"
    )
    page.context.close()


def test_an_analogy_among_three_words_alone_has_no_answer(chromium, trouble, tmp_path):
    (tmp_path / "three.txt").write_text("a 1 0\nb 0 1\nc 1 1\n")
    with running(tmp_path / "three.txt") as (address, _):
        page = open_page(chromium, address, trouble=trouble)
        page.click("#tab-analogy")
        for name in "abc":
            page.fill(f"#analogy-{name}", name)
        page.press("#analogy-c", "Enter")
        page.wait_for_selector("#panel-analogy >> text=The model has no words other than these three.")
        page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_follow_the_system_until_the_user_chooses(chromium, address, trouble, scheme):
    page = open_page(chromium, address, trouble=trouble, color_scheme=scheme)
    theme = "document.documentElement.dataset.theme"
    assert page.evaluate(theme) == scheme
    page.click("#theme")
    assert page.evaluate(theme) != scheme
    page.reload()
    assert page.evaluate(theme) != scheme
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_contrasts_with_its_background(chromium, address, trouble, scheme):
    page = open_page(chromium, address, trouble=trouble, color_scheme=scheme)
    ratio = """([text, ground]) => {
      const level = (name) => {
        const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim().slice(1);
        const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        const [r, g, b] = hex.match(/../g).map((two) => linear(parseInt(two, 16) / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
      };
      const [a, b] = [level(text), level(ground)];
      return Math.max(a, b) / Math.min(a, b);
    }"""
    for text in ("--ink", "--soft", "--accent", "--warm"):
        for ground in ("--ground", "--surface"):
            assert page.evaluate(ratio, [text, ground]) >= 4.5, (text, ground)
    assert page.evaluate(ratio, ["--accent-ink", "--accent"]) >= 4.5
    page.context.close()


def test_a_phone_needs_no_sideways_scrolling(chromium, address, trouble):
    options = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}
    page = open_page(chromium, address, trouble=trouble, **options)
    search(page, "guitar")
    page.wait_for_selector("#panel-similar h2")
    for tab in TABS:
        page.click(f"#tab-{tab}")
        wait_for_answer(page, tab)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, tab
    page.context.close()


@pytest.mark.parametrize("width", [821, 1024, 1280, 2560])
def test_every_tab_can_be_read(chromium, address, trouble, width):
    page = open_page(chromium, address, trouble=trouble, viewport={"width": width, "height": 800})
    cut = (
        "() => { const tabs = document.getElementById('tabs'); return tabs.scrollWidth - tabs.clientWidth; }"
    )
    for tab in ("similar", "odd"):  # the chosen one is in bold type
        page.click(f"#tab-{tab}")
        assert page.evaluate(cut) == 0
    page.context.close()


SMALL_TARGETS = """() => [...document.querySelectorAll("button, input, textarea, summary")]
  .filter((one) => one.checkVisibility({ visibilityProperty: true }))
  .map((one) => [one, one.getBoundingClientRect()])
  .filter(([, box]) => box.width && (box.height < 43.5 || (box.width < 43.5)))
  .map(([one, box]) => `${one.outerHTML.slice(0, 80)} ${box.width} ${box.height}`)"""


def test_on_a_phone_the_answers_come_first_the_map_stays_and_nothing_is_too_small_to_touch(
    chromium, address, trouble
):
    options = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
    page = open_page(chromium, address, trouble=trouble, **options)
    search(page, "guitar")
    page.wait_for_selector("#panel-similar h2")
    page.tap("#options")
    for tab in TABS:
        page.tap(f"#tab-{tab}")
        wait_for_answer(page, tab)
        assert page.evaluate(SMALL_TARGETS) == [], tab
        box = page.locator("#canvas").bounding_box()
        assert box["y"] > 400
        assert 100 < box["height"] < 844 - box["y"] + 1
        assert page.locator("#fidelity").bounding_box()["width"] <= 370
    assert page.locator("#legend").is_visible()
    page.context.close()
