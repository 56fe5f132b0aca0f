"""Run ``fairweir explain`` on the bytes of a test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from fairweir.cli.main import main


@dataclass
class Shown:
    """Output of a call."""

    code: int
    out: str
    err: str


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Shown]:
    """Return a function that explains a file with given bytes, or a missing file, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def call(data: bytes | None, *words: str) -> Shown:
        if data is not None:
            Path("a.pcap").write_bytes(data)
        code = main(["explain", "a.pcap", *words])
        captured = capsys.readouterr()
        return Shown(code, captured.out, captured.err)

    return call
