"""The page as axe-core judges it: in every tab, light and dark, wide and narrow, it finds nothing to complain of."""

from __future__ import annotations

import pytest

from tests.explore.browsers import browser_tests, open_page
from tests.explore.test_browser_state import TABS, settle
from tests.pages.axe import complaints, why_no_axe

pytestmark = browser_tests(missing=why_no_axe())

WIDE = {"viewport": {"width": 1280, "height": 800}}
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


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
