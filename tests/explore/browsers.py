"""The system's Chromium, driven by Playwright, with software WebGL so that it draws on any machine.

What the page shows comes when it comes, on a busy machine late: a test that looks must wait first until it is there.
A click or a key is done when the page has seen it, so what the page does at once (a tab, a hint, a colour) may be
looked at right away; an answer comes later (``wait_for_answer``), the map is drawn in a later frame
(``wait_until_still``), and a page that was opened or loaded again has to get all of it first (``wait_for_map``).
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
NO_WEBGL = ("--disable-3d-apis",)
SOFTWARE_WEBGL = (
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-gpu-watchdog",
)

PATIENCE = 300  # seconds that anything may take: on a busy machine, drawing the first map alone takes minutes
ARRANGED = """() => {
  const wanted = document.querySelector("#layouts [aria-pressed=true]")?.textContent;
  return Boolean(wanted) && document.getElementById("fidelity").textContent.startsWith(`${wanted}: `);
}"""


def find_browser() -> str | None:
    """The path of a Chromium on this machine: PSDVEC_BROWSER, or one of the usual names."""
    return os.environ.get("PSDVEC_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


def why_no_browser() -> str:
    """Say what is missing to drive a browser; an empty string if nothing is."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "playwright is not installed"
    return "" if find_browser() else "there is no Chromium; install one, or name it in PSDVEC_BROWSER"


def browser_tests(*, missing: str | None = None) -> list[pytest.MarkDecorator]:
    """The marks of a module of tests in a browser: slow, and skipped if a browser or what is ``missing`` lacks."""
    missing = why_no_browser() if missing is None else missing
    skip = pytest.mark.skipif(bool(missing), reason=missing or "a browser is there")
    return [skip, pytest.mark.slow]


def launch(kind: Any, *, drawing: tuple[str, ...] = SOFTWARE_WEBGL) -> Any:
    """Start a browser of Playwright's ``kind``, told how to draw."""
    arguments = [*drawing, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    return kind.launch(executable_path=find_browser(), args=arguments, timeout=1000 * PATIENCE)


@contextmanager
def browser() -> Iterator[Any]:
    """A running browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = launch(playwright.chromium)
        try:
            yield running
        finally:
            running.close()


def new_page(running: Any, **options: Any) -> Any:
    """An empty page in a context of its own, in which nothing has to be quick."""
    context = running.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
    context.set_default_timeout(1000 * PATIENCE)
    return context.new_page()


def open_page(running: Any, address: str, *, trouble: list[str], **options: Any) -> Any:
    """Open the explorer and wait until its map is drawn; what the console complains of is added to ``trouble``."""
    page = new_page(running, **options)
    page.on(
        "console",
        lambda message: trouble.append(message.text) if message.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda error: trouble.append(str(error)))
    own = (address.partition("#")[0], f"blob:{address.partition('#')[0]}")
    page.on(
        "request",
        lambda request: None if request.url.startswith(own) else trouble.append(request.url),
    )
    page.goto(address)
    wait_for_map(page)
    return page


def search(page: Any, word: str) -> None:
    """Type a word into the search field and ask."""
    page.fill("#word", word)
    page.press("#word", "Enter")


def wait_until(page: Any, expression: str, expected: Any, *, arg: Any = None) -> None:
    """Wait until a function of the page returns what is expected; fail with what it returned if it never does."""
    end = time.monotonic() + PATIENCE
    while (found := page.evaluate(expression, arg)) != expected and time.monotonic() < end:
        page.wait_for_timeout(50)
    assert found == expected


def wait_for_texts(page: Any, selector: str, expected: list[str]) -> None:
    """Wait until the elements of a selector have just these texts."""
    texts = "selector => [...document.querySelectorAll(selector)].map((one) => one.textContent)"
    wait_until(page, texts, expected, arg=selector)


def wait_for_map(page: Any) -> None:
    """Wait until the map has the layout that was chosen, and is drawn."""
    page.wait_for_selector("body[data-ready]")
    page.wait_for_function(ARRANGED)
    wait_until_still(page)


def wait_for_answer(page: Any, tab: str) -> None:
    """Wait until a tab shows all of its answer, and the map what belongs to it."""
    page.wait_for_selector(f"#panel-{tab}[aria-busy=false]:not(:has([aria-busy=true])):visible")
    wait_until_still(page)


def wait_until_still(page: Any) -> None:
    """Wait until the map has ended its flight and is drawn where it ended."""
    page.wait_for_selector("#canvas[aria-busy=false]")


def choose_layout(page: Any, title: str) -> None:
    """Choose how the words are arranged, and wait until they are."""
    page.click(f"#layouts button >> text={title}")
    wait_for_map(page)


def resize(page: Any, *, width: int, height: int) -> None:
    """Give the window another size, and wait until the page has it."""
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_function("size => innerWidth === size[0] && innerHeight === size[1]", arg=[width, height])


def location_of(page: Any) -> str:
    """The address of the page now; Playwright's own note of it may be an old one."""
    return page.evaluate("location.href")


def view_of(page: Any) -> list[float]:
    """The left and the right end of what the map shows."""
    return ranges_of(page)[:2]


def wait_for_another_view(page: Any, before: list[float]) -> None:
    """Wait until the map shows something else than before, and rests there."""
    page.wait_for_function(
        "before => JSON.parse(document.getElementById('canvas').dataset.view)[0] !== before[0]", arg=before
    )
    wait_until_still(page)


def ranges_of(page: Any) -> list[float]:
    """The left, the right, the low and the high end of what the map shows."""
    return page.evaluate("JSON.parse(document.getElementById('canvas').dataset.view)")
