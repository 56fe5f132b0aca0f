"""The studio of the studio's tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from tests.studio.serving import SCENARIO, Served, serve


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("studio")
    (folder / "one.toml").write_text(SCENARIO, encoding="utf-8")
    served = serve(folder)
    yield served
    served.process.send_signal(signal.SIGINT)
    served.process.wait(20)
