"""Checks of pages by axe-core, which `make` installs from npm."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

AXE = Path(__file__).parents[1] / "web" / "node_modules" / "axe-core" / "axe.min.js"
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]


def violations(page: Page) -> list[str]:
    """Return the violations of WCAG 2.1 AA in a page as it is shown: the rule, the element and the reason."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("levels => axe.run({ runOnly: levels })", LEVELS)
    assert found["passes"], "no rule applied"
    return [
        f"{rule['id']}: {node['html'][:200]}: {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]
