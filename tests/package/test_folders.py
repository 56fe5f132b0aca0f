"""Tests of the kernel world are in a folder of their own, which `make test` collects alone for them."""

from __future__ import annotations

import re
from pathlib import Path

MARK = re.compile(r"mark\.kernel\b")


def test_tests_of_the_kernel_world_are_in_their_folder() -> None:
    marked = [path for path in Path("tests").rglob("*.py") if MARK.search(path.read_text(encoding="utf-8"))]
    assert len(marked) > 10
    assert [path for path in marked if path.parent != Path("tests/kernel")] == []
