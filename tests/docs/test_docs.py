"""Commands in the documentation work as written."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from fairweir.cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "docs/writing-a-cca.md"]

#: Whole audits take minutes; one exhibit with two seeds shows that the command works.
SHORTER = ["--only", "finite-flows", "--seeds", "2"]


def commands(page: str) -> list[str]:
    """Lines that a reader is to type, without those for the shell (make, clang)."""
    blocks = re.findall(r"```console\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    return [line for line in lines if line.startswith("fairweir ")]


@pytest.mark.parametrize("page", PAGES)
def test_commands_work_as_written(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = commands(page)
    assert len(lines) > 4
    for line in lines:
        words = shlex.split(line)[1:]
        code = main([*words, *SHORTER] if words[0] == "audit" else words)
        # An audit may find that a claim fails, and vegas does starve; that too is as written.
        assert code == 0 or (words[0] in {"audit", "starve"} and code == 1), line


def test_python_examples_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})  # noqa: S102
    assert "'throughput_mbps': 'Mbit/s'" in capsys.readouterr().out
    assert (tmp_path / "pair.png").is_file()


def test_files_that_pages_name_exist() -> None:
    for page in [*PAGES, "ARCHITECTURE.md", "CONTRIBUTING.md"]:
        for name in re.findall(r"`((?:docs|scenarios|bpf|crates|python|tests)/[\w./-]+)`", (ROOT / page).read_text()):
            assert (ROOT / name).exists() or "foo" in name, f"{page} names {name}"
