"""The studio and the browser of the studio's tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright
from tests.studio.serving import BROWSER, SCENARIO, Served, serve


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if BROWSER is None:
        pytest.skip("no Chromium: the studio is not opened in a browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("studio")
    (folder / "one.toml").write_text(SCENARIO, encoding="utf-8")
    served = serve(folder)
    yield served
    served.process.send_signal(signal.SIGINT)
    served.process.wait(20)
