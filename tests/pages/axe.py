"""What axe-core finds wrong with a page. It is an npm package, for tests only: `npm install --no-save axe-core`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tests.explore.browsers import why_no_browser

AXE = Path(os.environ.get("PSDVEC_AXE", "node_modules/axe-core/axe.min.js"))


def why_no_axe() -> str:
    """Say what is missing to judge a page; an empty string if nothing is."""
    return why_no_browser() or (
        "" if AXE.exists() else "there is no axe-core; npm install --no-save axe-core"
    )


def complaints(page: Any) -> list[str]:
    """What axe finds wrong with the page as it is now: rule, and the elements it is about."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("async () => (await axe.run()).violations")
    return [f"{one['id']}: {[node['html'] for node in one['nodes']]}" for one in found]
