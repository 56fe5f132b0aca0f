"""The checks of pages find what is wrong with a page."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser
from tests import accessibility


def test_each_kind_of_fault_is_found(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accessibility, "TIMEOUT_MS", 1)
    page = browser.new_page()
    faulty = """<style>p { color: #ddd } b { transition: opacity 1s } i { animation: turn 1s infinite }
      @keyframes turn { to { rotate: 1turn } } pre { width: 300px }</style>
      <img src='data:,'><p>pale</p><b>b</b><i>i</i><progress></progress><pre>{}</pre>"""
    page.set_content(f"<!DOCTYPE html><html lang=en><title>x</title>{faulty.replace('{}', 'wide ' * 100)}")
    found = accessibility.faults(page)
    assert {one.partition(": <")[0] for one in found if ": <" in one} >= {"image-alt", "color-contrast"}
    for start in ("motion: <b>", "motion: <i>", "motion: <progress>", "animation of <i>", "wider than the window: <p"):
        assert any(one.startswith(start) for one in found), start
    page.close()
