"""Pages that are written to files satisfy WCAG 2.1 AA, in both themes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser
from tests.accessibility import violations
from tests.report.test_browser import TIMEOUT_MS, runs

from fairweir.audit.report import render_report
from fairweir.audit.results import AuditResults


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["comparison of runs", "report"])
def test_a_page_is_accessible(
    kind: str, scheme: Literal["light", "dark"], browser: Browser, results: AuditResults, tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    file.write_text(render_report(results) if kind == "report" else runs(), encoding="utf-8")
    context = browser.new_context(offline=True, color_scheme=scheme)
    page = context.new_page()
    page.goto(file.as_uri(), timeout=TIMEOUT_MS)
    drawn = ".plot.js-plotly-plot" if kind == "report" else "[data-drawn] canvas"
    page.wait_for_selector(drawn, state="attached", timeout=TIMEOUT_MS)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert violations(page) == []
    context.close()


def test_a_violation_is_found(browser: Browser) -> None:
    page = browser.new_page()
    page.set_content("<!DOCTYPE html><html lang=en><title>x</title><img src='data:,'><p style='color: #ddd'>pale</p>")
    assert {one.partition(":")[0] for one in violations(page)} == {"image-alt", "color-contrast"}
    page.close()
