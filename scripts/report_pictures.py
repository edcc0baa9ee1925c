"""A picture of a report's page as it opens, made by a browser.

python -m scripts.report_pictures report/report.html docs/images/report.png
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.explore.browsers import browser, why_no_browser


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path, help="the report.html of a comparison")
    parser.add_argument("output", type=Path, help="the picture")
    arguments = parser.parse_args()
    if problem := why_no_browser():
        sys.exit(problem)
    with browser() as running:
        page = running.new_page(
            color_scheme="light", viewport={"width": 1280, "height": 960}, device_scale_factor=2
        )
        page.goto(arguments.page.resolve().as_uri())
        page.screenshot(path=arguments.output, scale="css")


if __name__ == "__main__":
    main()
