"""Fixtures of the tests with a real kernel: what they need, or the reason why it is not available."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.kernel.guard_lab import Lab, missing

from fairweir.errors import KernelError
from fairweir.play import kernel


def lacking() -> str:
    """Return the reason why the kernel world is not available on this machine; empty if it is."""
    if os.geteuid() != 0:
        return "no root"
    try:
        checks = kernel.ask(["doctor"])["checks"]
    except KernelError as error:
        return error.message
    return "; ".join(f"{check['name']}: {check['detail']}" for check in checks if not check["ok"])


@pytest.fixture(scope="module")
def kernel_world() -> None:
    """Skip tests of the kernel world without root or the helper; the summary states the reason."""
    if why := lacking():
        pytest.skip(f"not run: {why}")


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
