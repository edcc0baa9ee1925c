"""The system's Chromium, driven by Playwright, with software WebGL so that it draws on any machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
NO_WEBGL = ("--disable-3d-apis",)
SOFTWARE_WEBGL = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")

PATIENCE = 120_000  # milliseconds that anything may take: on a busy machine much takes long
SETTLED = "() => !document.getElementById('note').textContent.includes('are being arranged')"


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


def launch(kind: Any, *, drawing: tuple[str, ...] = SOFTWARE_WEBGL) -> Any:
    """Start a browser of Playwright's ``kind``, told how to draw."""
    arguments = [*drawing, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    return kind.launch(executable_path=find_browser(), args=arguments)


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


def open_page(running: Any, address: str, *, trouble: list[str], **options: Any) -> Any:
    """Open the explorer and wait until its map is drawn; what the console complains of is added to ``trouble``."""
    page = running.new_context(**{"viewport": {"width": 1280, "height": 800}, **options}).new_page()
    page.set_default_timeout(PATIENCE)
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
    page.wait_for_selector("body[data-ready]")
    page.wait_for_function(SETTLED)
    wait_until_still(page)
    return page


def search(page: Any, word: str) -> None:
    """Type a word into the search field and ask."""
    page.fill("#word", word)
    page.press("#word", "Enter")


def wait_until_still(page: Any) -> None:
    """Wait until the map has ended its flight and is drawn where it ended."""
    page.wait_for_selector("#canvas[aria-busy=false]")


def view_of(page: Any) -> list[float]:
    """The left and the right end of what the map shows."""
    return ranges_of(page)[:2]


def ranges_of(page: Any) -> list[float]:
    """The left, the right, the low and the high end of what the map shows."""
    return page.evaluate("JSON.parse(document.getElementById('canvas').dataset.view)")
