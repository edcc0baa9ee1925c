"""One state, in the address: any view is a link, and Back, Forward and reload do what they do elsewhere."""

from __future__ import annotations

import pytest

from tests.explore.browsers import (
    browser_tests,
    choose_layout,
    location_of,
    new_page,
    open_page,
    search,
    view_of,
    wait_for_answer,
    wait_for_map,
    wait_for_texts,
    wait_until_still,
)

pytestmark = browser_tests()

SENTENCES = "the guitar and the zither with piano in concert\na song for zither and violin"


def show_similar(page):
    search(page, "guitar")


def show_contexts(page):
    page.click("#tab-contexts")
    search(page, "guitar")
    page.fill("#other", "piano")
    page.press("#other", "Enter")
    page.click("#panel-contexts [data-name=pmi]")


def show_analogy(page):
    page.click("#tab-analogy")
    for name, word in zip("abc", ("guitar", "piano", "ship"), strict=True):
        page.fill(f"#analogy-{name}", word)
    page.press("#analogy-c", "Enter")
    page.click("#panel-analogy [data-name='3cosmul']")


def show_odd(page):
    page.click("#tab-odd")
    page.fill("#odd-words", "guitar piano oven <b>bold</b>")
    page.press("#odd-words", "Enter")


def show_extend(page):
    page.click("#tab-extend")
    page.fill("#pasted", SENTENCES)
    page.fill("#new-word", "zither")
    page.click("#panel-extend .primary")


def show_compare(page):
    page.click("#tab-compare")
    search(page, "guitar")


def show_area(page):
    page.click("#colours button >> text=Regions")
    page.locator("#legend button").nth(1).click()


def show_topics(page):
    page.click("#tab-topics")
    page.locator("#panel-topics .chip").nth(1).click()
    wait_for_answer(page, "topics")


def show_change(page):
    page.click("#tab-change")
    wait_for_answer(page, "change")
    if page.locator("#panel-change >> text=All words").count():  # a word is asked about, from another tab
        page.click("#panel-change >> text=All words")
        page.wait_for_selector("#panel-change h2 >> text=first and second")
    page.locator("#panel-change .chip").nth(1).click()
    wait_for_answer(page, "change")


def show_documents(page):
    page.click("#tab-documents")
    page.fill("#question", "guitar ship")
    page.press("#question", "Enter")
    page.wait_for_selector("#panel-documents .hits")


TABS = {
    "similar": show_similar, "contexts": show_contexts, "analogy": show_analogy, "odd": show_odd,
    "extend": show_extend, "compare": show_compare, "area": show_area, "topics": show_topics,
    "change": show_change, "documents": show_documents,
}  # fmt: skip


def settle(page, tab: str) -> tuple[str, str, list[float]]:
    """Wait until all is shown; return the answer, what the map marks, and where it is."""
    wait_for_map(page)
    wait_for_answer(page, tab)
    page.wait_for_selector(f"#panel-{tab}:visible h2")
    marks = page.locator("#marks circle, #marks rect, #marks line").evaluate_all(
        "list => list.map((one) => one.getAttribute('class')).join()"
    )
    return page.inner_text(f"#panel-{tab}"), marks, view_of(page)


@pytest.mark.parametrize("tab", TABS)
def test_any_view_is_a_link(chromium, address, page, tab, trouble):
    choose_layout(page, "PCA")
    TABS[tab](page)
    shown = settle(page, tab)
    page.reload()
    again = settle(page, tab)
    assert again[:2] == shown[:2]
    assert again[2] == pytest.approx(shown[2], rel=1e-3)
    elsewhere = open_page(chromium, location_of(page), trouble=trouble)
    linked = settle(elsewhere, tab)
    assert linked[:2] == shown[:2]
    assert linked[2] == pytest.approx(shown[2], rel=1e-3)
    elsewhere.context.close()


def test_a_topic_shows_its_words_and_each_can_be_looked_at(page):
    show_topics(page)
    words = page.locator("#panel-topics .chip").all_inner_texts()
    assert len(words) >= 10
    assert "object" not in page.inner_text("#panel-topics")
    page.locator("#panel-topics .chip").first.click()
    wait_for_texts(page, "#panel-similar h2", [words[0]])


def test_back_and_forward_go_through_the_words_and_stay_on_the_page(page):
    for word in ("guitar", "ship", "bread"):
        search(page, word)
        wait_for_texts(page, "#panel-similar h2", [word])
    for word in ("ship", "guitar"):
        page.go_back()
        wait_for_texts(page, "#panel-similar h2", [word])
        assert page.input_value("#word") == word
        wait_for_texts(page, "#labels .self", [word])
    page.go_back()
    page.wait_for_selector("#panel-similar .empty")
    wait_until_still(page)
    assert page.locator("#marks .self").count() == 0
    page.go_forward()
    wait_for_texts(page, "#panel-similar h2", ["guitar"])


def test_back_leads_past_a_map_that_was_only_moved(page):
    search(page, "guitar")
    wait_for_answer(page, "similar")
    page.focus("#canvas")
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
        wait_until_still(page)
    page.go_back()
    page.wait_for_selector("#panel-similar .empty")


def test_a_moved_map_is_in_the_address(chromium, page, trouble):
    choose_layout(page, "PCA")
    page.focus("#canvas")
    page.keyboard.press("+")
    page.keyboard.press("ArrowLeft")
    wait_until_still(page)
    there = open_page(chromium, location_of(page), trouble=trouble)
    assert view_of(there) == pytest.approx(view_of(page), rel=1e-4)
    there.context.close()


def test_no_answer_stays_when_the_model_is_switched(page):
    search(page, "guitar")
    page.wait_for_selector("#panel-similar .ranking")
    before = page.inner_text("#panel-similar .ranking")
    page.click("#models button >> text=other")
    wait_for_answer(page, "similar")
    assert page.inner_text("#panel-similar .ranking") != before
    assert page.inner_text("#panel-similar h2") == "guitar"
    page.click("#tab-contexts")
    assert "Not available here" in page.inner_text("#panel-contexts")


def test_a_word_that_nobody_has_seen_can_be_asked_about_by_its_spelling(chromium, address):
    page = open_page(chromium, address, trouble=[])  # the browser itself notes the 404 in its console
    search(page, "orchestral")
    page.click("#panel-similar .trouble .spell")
    wait_for_answer(page, "similar")
    wait_for_texts(page, "#panel-similar h2", ["orchestral"])
    assert "what its spelling tells · deviation 0." in page.inner_text("#panel-similar .facts")
    assert "“orchestral” is not among" in page.inner_text("#note")
    link = location_of(page)
    page.locator("#panel-similar .ranking .word").first.click()
    wait_for_answer(page, "similar")
    assert "unseen" not in location_of(page)
    page.go_back()
    wait_for_texts(page, "#panel-similar h2", ["orchestral"])
    page.context.close()

    page = open_page(chromium, link, trouble=[])
    wait_for_texts(page, "#panel-similar h2", ["orchestral"])
    search(page, "guitars")
    page.click("#panel-similar .trouble .spell")
    page.wait_for_selector("#panel-similar .trouble >> text=Its spelling tells nothing either.")
    assert page.locator("#panel-similar .spell").count() == 0
    page.click("#tab-contexts")
    page.wait_for_selector("#panel-contexts .trouble")
    assert page.locator("#panel-contexts .spell").count() == 0
    page.context.close()


def test_analogies_and_the_odd_one_out_take_words_by_their_spelling_too(chromium, address):
    page = open_page(chromium, address, trouble=[])  # the browser itself notes the 404 in its console
    page.click("#tab-analogy")
    for name, word in zip("abc", ("concert", "orchestral", "ship"), strict=True):
        page.fill(f"#analogy-{name}", word)
    page.press("#analogy-c", "Enter")
    page.click("#panel-analogy .trouble .spell")
    page.wait_for_selector(
        "#panel-analogy >> text=Not in the model, and placed by spelling alone: orchestral."
    )
    page.click("#tab-odd")
    page.fill("#odd-words", "guitar orchestral oven")
    page.press("#odd-words", "Enter")
    page.click("#panel-odd .trouble .spell")
    page.click("#panel-odd .ranking .word:has(.thin)")
    wait_for_texts(page, "#panel-similar h2", ["orchestral"])
    page.context.close()


HOLD = """() => {
  const real = window.fetch;
  window.fetch = async (address, ...rest) => {
    const reply = await real(address, ...rest);
    if (address.startsWith("/api/contexts")) await new Promise((resolve) => { window.release = resolve; });
    return reply;
  };
}"""


def test_an_answer_that_comes_after_the_model_was_switched_is_dropped(page):
    page.evaluate(HOLD)
    page.click("#tab-contexts")
    search(page, "guitar")
    page.wait_for_function("() => window.release")
    page.click("#models button >> text=other")
    page.evaluate("() => new Promise((resolve) => { window.release(); setTimeout(resolve, 200); })")
    assert "Not available here" in page.inner_text("#panel-contexts")
    assert page.locator("#panel-contexts h2").count() == 0


def test_the_marks_are_those_of_the_tab_that_is_shown(page):
    search(page, "guitar")
    page.wait_for_selector("#marks .tie", state="attached")
    page.click("#tab-odd")
    page.wait_for_function("() => document.querySelectorAll('#marks .self, #marks .near').length === 0")
    page.click("#tab-similar")
    page.wait_for_selector("#marks .tie", state="attached")


def test_asking_the_same_again_keeps_the_rings(page):
    search(page, "guitar")
    wait_for_answer(page, "similar")
    rings = page.locator("#marks .near").count()
    assert rings
    page.press("#word", "Enter")
    wait_for_answer(page, "similar")
    assert page.locator("#marks .near").count() == rings


def test_a_word_that_is_being_typed_survives_a_moved_map(page):
    page.click("#tab-odd")
    page.fill("#odd-words", "guitar pia")
    page.click("#closer")
    wait_until_still(page)
    assert page.input_value("#odd-words") == "guitar pia"


@pytest.mark.parametrize("tab", ["similar", "odd"])
def test_the_focus_follows_a_word_that_is_followed(page, tab):
    TABS[tab](page)
    page.wait_for_selector(f"#panel-{tab} .ranking .word")
    word = page.locator(f"#panel-{tab} .ranking .word").first
    text = word.evaluate("one => one.firstChild.data")
    word.focus()
    page.keyboard.press("Enter")
    page.wait_for_function(
        "text => document.activeElement.tagName === 'H2' && document.activeElement.textContent === text",
        arg=text,
    )


def test_a_long_text_survives_a_reload_though_no_address_could_hold_it(page):
    page.click("#tab-extend")
    page.fill("#pasted", "\n".join([SENTENCES] * 60))
    page.fill("#new-word", "zither")
    page.click("#panel-extend .primary")
    page.wait_for_selector("#panel-extend .card h2")
    assert len(location_of(page)) < 500
    page.reload()
    page.wait_for_selector("#panel-extend .card h2")


@pytest.mark.parametrize(
    "hash_",
    ["tab=none", "model=7", "view=pca:x,y", "area=pca:9-9&tab=area", "area=%00&tab=area",
     "word=%3Cscript%3E", "%%%", "layout=mercator"],
)  # fmt: skip
def test_an_address_that_makes_no_sense_still_shows_a_page(chromium, address, hash_):
    page = new_page(chromium)
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto(f"{address}#{hash_}")
    wait_for_map(page)
    page.wait_for_selector("[role=tabpanel][aria-busy=false]:visible")
    assert troubles == []
    page.context.close()
