"""Tests on the real TCP stack: without root or the helper they are skipped, and the summary says why."""

from __future__ import annotations

import os

import pytest

from fairweir import world_kernel
from fairweir.errors import KernelError


def missing() -> str:
    """Say what keeps the kernel world from working here, empty if nothing does."""
    if os.geteuid() != 0:
        return "no root"
    try:
        checks = world_kernel.ask(["doctor"])["checks"]
    except KernelError as error:
        return error.message
    return "; ".join(f"{check['name']}: {check['detail']}" for check in checks if not check["ok"])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip this folder's tests where they cannot run."""
    here = [item for item in items if "kernel" in item.keywords]
    if here and (why := missing()):
        for item in here:
            item.add_marker(pytest.mark.skip(reason=f"not run: {why}"))
