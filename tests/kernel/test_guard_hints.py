"""Hints of the guard's program on its stderr; tests/package/test_hints.py has those that pass through Python."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


@pytest.mark.kernel
def test_the_guards_program_prints_the_hint(tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text("[[cap]]\nrate = 10\n")
    command = [".venv/bin/fairweir-guard", "run", "--interface", "lo", "--config", str(rules)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert "hint: " in done.stderr, done
