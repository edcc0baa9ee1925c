"""The page as axe-core judges it: in every tab, light and dark, wide and narrow, it finds nothing to complain of."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.explore.browsers import open_page, why_no_browser
from tests.explore.test_browser_state import TABS, settle

AXE = Path(os.environ.get("PSDVEC_AXE", "node_modules/axe-core/axe.min.js"))


def why_no_axe() -> str:
    """Say what is missing to judge the page; an empty string if nothing is."""
    return why_no_browser() or (
        "" if AXE.exists() else "there is no axe-core; npm install --no-save axe-core"
    )


pytestmark = [
    pytest.mark.skipif(bool(why_no_axe()), reason=why_no_axe() or "axe-core is there"),
    pytest.mark.slow,
]

WIDE = {"viewport": {"width": 1280, "height": 800}}
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


def complaints(page) -> list[str]:
    """What axe finds wrong with the page as it is now: rule, and the elements it is about."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("async () => (await axe.run()).violations")
    return [f"{one['id']}: {[node['html'] for node in one['nodes']]}" for one in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_axe_finds_nothing_wrong_in_any_tab(chromium, address, trouble, scheme, size):
    page = open_page(
        chromium, f"{address}#layout=pca&colour=region", trouble=trouble, color_scheme=scheme, **size
    )
    if size is PHONE:
        page.click("#options")
    assert complaints(page) == []
    for tab, act in TABS.items():
        act(page)
        settle(page, tab)
        assert complaints(page) == [], tab
    page.context.close()
