"""The studio satisfies WCAG 2.1 AA, in both themes."""

from __future__ import annotations

from typing import Literal

import pytest
from playwright.sync_api import Browser
from tests.accessibility import violations
from tests.studio.serving import TIMEOUT_MS, Served


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_studio_and_its_lessons_are_accessible(
    scheme: Literal["light", "dark"], browser: Browser, served: Served
) -> None:
    context = browser.new_context(color_scheme=scheme, reduced_motion="reduce", viewport={"width": 1400, "height": 900})
    page = context.new_page()
    page.goto(served.url)
    page.wait_for_selector("html[data-drawn]", state="attached", timeout=TIMEOUT_MS)
    assert violations(page) == []
    page.click("#tab-toml")
    assert violations(page) == []
    lesson = page.locator('#files optgroup[label="tour"] option').first.get_attribute("value")
    page.select_option("#files", lesson)
    page.wait_for_selector(f'html[data-name="{lesson}"]', state="attached", timeout=TIMEOUT_MS)
    page.click("#lesson summary")
    assert violations(page) == []
    context.close()
