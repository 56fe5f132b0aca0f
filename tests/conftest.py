"""Setup of all tests."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import settings
from playwright.sync_api import Browser, sync_playwright

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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start Chromium without a window."""
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        pytest.skip("no Chromium: pages are not opened in a browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()
