"""Setup of all tests."""

import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from fairweir.formal import models
from fairweir.formal.exact import networks

# A shell starts background processes with SIGINT ignored, and children inherit that; tests of Ctrl-C need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Examples must not depend on the machine's speed.
settings.register_profile("fairweir", deadline=None, derandomize=True)
settings.load_profile("fairweir")

# The key of seals (fairweir.documents.sealed) is in the user's state folder, which tests do not use.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="fairweir-tests-state-")


@pytest.fixture(autouse=True)
def only_shipped_models(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Unregister users' network models after each test, so that the next test in this process can use their names."""
    monkeypatch.setattr(networks, "_DEFINITIONS", dict(networks._DEFINITIONS))
    before = dict(models._ALL)
    yield
    models._ALL.clear()
    models._ALL.update(before)


#: Messages that are not of our pages: the browser's about the studio's answers to bad input (422) and to replaced calls
#: (409), and those of the documentation's theme about its colors and its sidebar.
OF_OTHERS = re.compile(r"the server responded with a status of (409|422) |^\[PST\]: (Changed to|Scrolled sidebar) ")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Start Chromium without a window."""
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        pytest.skip("no Chromium: pages are not opened in a browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def said() -> list[str]:
    """Return the console's messages and the errors of all pages of a test; a test that causes one removes it."""
    return []


@pytest.fixture
def browser(chromium: Browser, said: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Browser]:
    """Return the browser. Its pages must report nothing: no message on the console and no error."""
    open_context = chromium.new_context

    def new_context(**options: Any) -> BrowserContext:
        context = open_context(**options)
        context.on("console", lambda message: said.append(message.text))
        context.on("weberror", lambda error: said.append(str(error.error)))
        return context

    def new_page(**options: Any) -> Page:
        return new_context(**options).new_page()

    monkeypatch.setattr(chromium, "new_context", new_context)
    monkeypatch.setattr(chromium, "new_page", new_page)
    yield chromium
    for context in chromium.contexts:
        context.close()
    assert [message for message in said if not OF_OTHERS.search(message)] == []
