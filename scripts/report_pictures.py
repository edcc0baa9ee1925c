"""Pictures of a report's page, made by a browser: `python -m scripts.report_pictures report/report.html docs/images`.

One shows the page as it opens; the others its first plot, in light and dark, as the site is.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.explore.browsers import browser, why_no_browser


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path, help="the report.html of a comparison")
    parser.add_argument("output", type=Path, help="folder for the pictures")
    arguments = parser.parse_args()
    if problem := why_no_browser():
        sys.exit(problem)
    with browser() as running:
        for scheme in ("light", "dark"):
            context = running.new_context(
                color_scheme=scheme, viewport={"width": 1280, "height": 960}, device_scale_factor=2
            )
            page = context.new_page()
            page.goto(arguments.page.resolve().as_uri())
            page.locator("figure svg").first.screenshot(path=arguments.output / f"quality-{scheme}.png")
            if scheme == "light":
                page.screenshot(path=arguments.output / "report.png", scale="css")
            context.close()


if __name__ == "__main__":
    main()
