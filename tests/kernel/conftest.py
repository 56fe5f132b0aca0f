"""Fixtures of tests of the receiver's daemon: namespaces, or the reason why there are none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.kernel.guard_lab import Lab, missing


@pytest.fixture(scope="session")
def daemon() -> None:
    """Without root or the daemon its tests cannot run; the summary says so and why."""
    if why := missing():
        pytest.skip(f"not run: {why}")


@pytest.fixture
def lab(daemon: None) -> Iterator[Lab]:
    """Namespaces that go with the test."""
    made = Lab()
    yield made
    made.close()


@pytest.fixture
def cap(tmp_path: Path) -> Path:
    """Policies that hold every sender to a megabit per second."""
    path = tmp_path / "cap.toml"
    path.write_text("[[cap]]\nrate = '1Mbps'\n")
    return path
