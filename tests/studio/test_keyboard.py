"""The main work in the studio is done with keys alone; the focus is always visible and moves as a reader reads."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import pytest
from playwright.sync_api import Browser, Page
from tests.studio.serving import TIMEOUT_MS, Served

#: Maximum number of elements that take the focus, far above those of the studio.
MAX_STOPS = 200
#: Minimum width of the focus's outline, CSS pixels.
OUTLINE_PX = 2

FOCUS = """() => {
  const one = document.activeElement;
  const [style, box] = [getComputedStyle(one), one.getBoundingClientRect()];
  return {
    id: one.id,
    text: one.outerHTML.slice(0, 150),
    part: one.closest('header, section')?.id || (one.closest('header') ? 'header' : ''),
    outline: style.outlineStyle === 'none' ? 0 : Number.parseFloat(style.outlineWidth),
    is_seen: one.contains(document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2)),
  };
}"""


@dataclass(frozen=True)
class Stop:
    """An element that has the focus."""

    id: str
    text: str
    part: str
    outline: float
    is_seen: bool


def opened(browser: Browser, served: Served, width: int) -> Page:
    page = browser.new_page(viewport={"width": width, "height": 900}, accept_downloads=True)
    page.goto(served.url)
    page.wait_for_selector("html[data-drawn]", state="attached", timeout=TIMEOUT_MS)
    return page


def stop(page: Page) -> Stop:
    return Stop(**page.evaluate(FOCUS))


def go_to(page: Page, selector: str, key: str = "Tab") -> None:
    """Press the key until the element has the focus."""
    for _ in range(MAX_STOPS):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press(key)
    raise AssertionError(f"{key} does not reach {selector}")


def drawn(page: Page) -> int:
    return int(page.evaluate("Number(document.documentElement.dataset.drawn)"))


def wait_drawn(page: Page, more_than: int) -> None:
    page.wait_for_function("n => Number(document.documentElement.dataset.drawn) > n", arg=more_than, timeout=TIMEOUT_MS)


@pytest.mark.parametrize(
    ("width", "parts"), [(1400, ["header", "scenario", "middle"]), (400, ["header", "middle", "scenario"])]
)
def test_the_focus_is_visible_and_moves_in_reading_order(
    browser: Browser, served: Served, width: int, parts: list[str]
) -> None:
    page = opened(browser, served, width)
    page.keyboard.press("Tab")
    assert stop(page).text.startswith('<a class="skip"')
    seen = []
    for _ in range(MAX_STOPS):
        page.keyboard.press("Tab")
        here = stop(page)
        if not here.part:
            break
        seen.append(here)
    assert [here.text for here in seen if here.outline < OUTLINE_PX or not here.is_seen] == []
    assert list(dict.fromkeys(here.part for here in seen)) == parts
    changes = sum(before.part != after.part for before, after in pairwise(seen))
    assert changes == len(parts) - 1
    tops = page.evaluate(
        "ids => ids.map(id => document.getElementById(id).getBoundingClientRect().top)",
        [here.id for here in seen if here.id.startswith("field-")],
    )
    assert tops == sorted(tops)
    assert len(tops) > 10


def test_a_run_is_changed_pinned_and_saved_and_a_lesson_is_taken_by_keys(browser: Browser, served: Served) -> None:
    page = opened(browser, served, 1400)

    before = drawn(page)
    go_to(page, '[id="field-link.bottleneck.rate-slider"]')
    page.keyboard.press("ArrowRight")
    wait_drawn(page, before)
    assert page.input_value('[id="field-link.bottleneck.rate"]') != "12Mbps"

    before = drawn(page)
    go_to(page, "#pin", "Shift+Tab")
    page.keyboard.press("Enter")
    wait_drawn(page, before)
    assert page.locator("#pins li").count() == 1
    assert stop(page).id == "pin"

    go_to(page, "#html")
    with page.expect_download(timeout=TIMEOUT_MS) as download:
        page.keyboard.press("Space")
    assert download.value.path().stat().st_size > 0

    go_to(page, "[role=tab]")
    page.keyboard.press("ArrowRight")
    assert stop(page).id == "tab-toml"
    page.keyboard.press("Tab")
    page.keyboard.press("Control+End")
    page.keyboard.type("# typed")
    assert page.locator(".cm-line", has_text="# typed").count() == 1
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert stop(page).part == "middle"

    go_to(page, "[role=img]")
    page.keyboard.press("+")
    go_to(page, "#all")
    page.keyboard.press("Enter")

    go_to(page, "#files", "Shift+Tab")
    page.keyboard.press("ArrowDown")
    assert page.input_value("#files")
    page.keyboard.type("3. ")
    assert page.evaluate("document.documentElement.dataset.name") == "one.toml"
    page.keyboard.press("Enter")
    page.wait_for_selector('html[data-name^="lesson:03"]', state="attached", timeout=TIMEOUT_MS)
    go_to(page, "#lesson summary")
    page.keyboard.press("Enter")
    assert page.locator("#lesson details").get_attribute("open") is not None
    before = drawn(page)
    go_to(page, '.emphasized input[type="range"]', "Shift+Tab")
    page.keyboard.press("ArrowRight")
    wait_drawn(page, before)
    go_to(page, "#lesson button")
    page.keyboard.press("Enter")
    page.wait_for_selector('html[data-name^="lesson:04"]', state="attached", timeout=TIMEOUT_MS)
    page.wait_for_function("document.activeElement.id === 'lesson'", timeout=TIMEOUT_MS)
