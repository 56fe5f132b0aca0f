"""The studio is accessible in each of its states; lessons, commands and the gallery are checked by their own tests."""

from __future__ import annotations

from playwright.sync_api import Browser, Page
from tests.accessibility import faults
from tests.studio.serving import TIMEOUT_MS, Served


def opened(browser: Browser, served: Served) -> Page:
    page = browser.new_page(color_scheme="dark", viewport={"width": 1400, "height": 900}, accept_downloads=True)
    page.goto(served.url)
    page.wait_for_selector("html[data-drawn]", state="attached", timeout=TIMEOUT_MS)
    return page


def test_the_studio_is_accessible_with_a_pin_an_error_and_as_text(browser: Browser, served: Served) -> None:
    page = opened(browser, served)
    assert faults(page) == []
    page.click("#pin")
    page.wait_for_selector("#pins li", timeout=TIMEOUT_MS)
    page.fill('[id="field-flow.0.rtprop"]', "20")
    page.keyboard.press("Tab")
    page.wait_for_selector('[id="field-flow.0.rtprop"][aria-invalid="true"]', timeout=TIMEOUT_MS)
    page.locator(".legend button").first.click()
    assert faults(page) == []
    page.click("#tab-toml")
    page.locator(".cm-content").focus()
    assert faults(page) == []
