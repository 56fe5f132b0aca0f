"""Fixtures for tests of the receiver's daemon: namespaces, or the reason why they are not available."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.kernel.guard_lab import Lab, missing


@pytest.fixture(scope="session")
def daemon() -> None:
    """Skip tests of the daemon without root or the daemon; the summary states the reason."""
    if why := missing():
        pytest.skip(f"not run: {why}")


@pytest.fixture
def lab(daemon: None) -> Iterator[Lab]:
    """Return namespaces that are removed after the test."""
    made = Lab()
    yield made
    made.close()


@pytest.fixture
def cap(tmp_path: Path) -> Path:
    """Return policies that limit each sender to 1 Mbit/s."""
    path = tmp_path / "cap.toml"
    path.write_text("[[cap]]\nrate = '1Mbps'\n")
    return path
