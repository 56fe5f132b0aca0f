"""Checks of pages as they are shown: WCAG 2.1 AA by axe-core, which `make` installs from npm; motion; width."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Frame, Page
from playwright.sync_api import TimeoutError as TimedOut

AXE = Path(__file__).parents[1] / "web" / "node_modules" / "axe-core" / "axe.min.js"
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
#: Widths of a desktop's and a phone's window, CSS pixels.
WIDTHS = (1400, 400)
#: Maximum time until a page fits its window after a change of the window's width, ms.
TIMEOUT_MS = 30_000

# An indeterminate progress bar that the browser draws is moved by the browser itself, without an animation in CSS.
MOVING = """() => [
  ...document.getAnimations().map(one => `animation of ${one.effect.target.outerHTML.slice(0, 200)}`),
  ...[...document.querySelectorAll('*')].filter(one => ['', '::before', '::after'].some(part => {
    const style = getComputedStyle(one, part || null);
    const has = durations => durations.split(',').some(one => Number.parseFloat(one) > 0);
    return has(style.transitionDuration) || (style.animationName !== 'none' && has(style.animationDuration))
      || style.scrollBehavior === 'smooth' || (one.matches('progress:indeterminate') && style.appearance !== 'none');
  })).map(one => `motion: ${one.outerHTML.slice(0, 200)}`),
]"""
FITS = "() => document.documentElement.scrollWidth <= document.documentElement.clientWidth"
TOO_WIDE = """() => [...document.querySelectorAll('body *')]
  .filter(one => one.getBoundingClientRect().right > document.documentElement.clientWidth
    || (one.scrollWidth > one.clientWidth && getComputedStyle(one).overflowX === 'visible'))
  .map(one => `wider than the window: ${one.outerHTML.slice(0, 200)}`)"""


def faults(page: Page) -> list[str]:
    """Return what is wrong with a page for readers who cannot use a mouse, see all colors, bear motion or have a phone.

    The page is checked wide in one theme and narrow in the other, between which its button changes. All parts that can
    be folded are open.
    """
    page.emulate_media(reduced_motion="reduce")
    page.evaluate("() => document.querySelectorAll('details').forEach(one => { one.open = true })")
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        found += [*too_wide(page), *violations(page), *moving(page)]
        for button in page.locator("#theme").all():
            button.click()
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    return found


def violations(page: Page | Frame) -> list[str]:
    """Return the violations of WCAG 2.1 AA in a page as it is shown: the rule, the element and the reason."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("levels => axe.run({ runOnly: levels })", LEVELS)
    assert found["passes"], "no rule applied"
    return [
        f"{rule['id']}: {node['html'][:200]}: {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


def moving(page: Page) -> list[str]:
    """Return the elements of a page that move although its reader asked for reduced motion."""
    found: list[str] = page.evaluate(MOVING)
    return found


def too_wide(page: Page) -> list[str]:
    """Return the elements because of which a page scrolls sideways."""
    try:
        page.wait_for_function(FITS, timeout=TIMEOUT_MS)
    except TimedOut:
        found: list[str] = page.evaluate(TOO_WIDE)
        return found or ["wider than the window"]
    return []
