"""Pictures of the explorer's main views, made by a browser: `make screenshots` writes them to docs/images."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tests.explore.browsers import browser, open_page, search, wait_until_still, why_no_browser
from tests.explore.servers import running

PHONE = {
    "viewport": {"width": 390, "height": 844},
    "is_mobile": True,
    "has_touch": True,
    "device_scale_factor": 2,
}
DARK = {"color_scheme": "dark"}


def similar(page: Any) -> None:
    search(page, "music")
    page.wait_for_selector("#panel-similar h2")


def contexts(page: Any) -> None:
    search(page, "france")
    page.click("#tab-contexts")
    page.fill("#other", "germany")
    page.click("#panel-contexts .primary")
    page.wait_for_selector("#panel-contexts .figure")


def analogy(page: Any) -> None:
    page.click("#tab-analogy")
    for name, word in zip("abc", ("france", "french", "germany"), strict=True):
        page.fill(f"#analogy-{name}", word)
    page.click("#panel-analogy .primary")
    page.wait_for_selector("#panel-analogy h2")


def extend(page: Any) -> None:
    page.click("#tab-extend")
    page.click("#example")
    page.wait_for_selector("#panel-extend .card")
    page.locator("#panel-extend .card").evaluate("one => one.scrollIntoView({ block: 'start' })")


def compare(page: Any) -> None:
    search(page, "music")
    page.click("#tab-compare")
    page.wait_for_selector("#panel-compare .pair")


def area(page: Any) -> None:
    page.click("#colours button >> text=Regions")
    page.click("#legend button >> nth=1")
    page.wait_for_selector("#panel-area h2")


def regions(page: Any) -> None:
    page.click("#colours button >> text=Regions")


VIEWS = {
    "map": (regions, {}),
    "similar": (similar, {}),
    "similar-dark": (similar, DARK),
    "contexts": (contexts, {}),
    "analogy": (analogy, DARK),
    "extend": (extend, {}),
    "compare": (compare, DARK),
    "area": (area, {}),
    "phone": (similar, PHONE),
    "phone-dark": (analogy, {**PHONE, **DARK}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("other", type=Path)
    parser.add_argument("--counts", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    if why_no_browser():
        sys.exit(f"no pictures can be made: {why_no_browser()}")
    options.output.mkdir(parents=True, exist_ok=True)
    trouble: list[str] = []
    with (
        running(options.model, options.other, "--counts", options.counts) as (address, _),
        browser() as chromium,
    ):
        for name, (act, context) in VIEWS.items():
            page = open_page(chromium, address, trouble=trouble, **context)
            act(page)
            page.wait_for_selector("[role=tabpanel][aria-busy=false]:visible")
            wait_until_still(page)
            page.screenshot(path=options.output / f"explore-{name}.png")
            page.context.close()
    if trouble:
        sys.exit(f"the page complained: {trouble}")


if __name__ == "__main__":
    main()
