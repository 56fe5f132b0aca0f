"""The page of published outcomes and our outcomes."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairweir import __version__
from fairweir.cli.main import main
from fairweir.judging.outcome import Outcome
from fairweir.reproduce.judge import Finding
from fairweir.reproduce.page import outcomes_page
from fairweir.reproduce.runner import Reproduction


def test_every_check_has_a_row_with_both_outcomes_and_its_reason() -> None:
    about = {"title": "Two flows", "source": "paper", "published": "2 to 1", "setup": "as told."}
    common = {"experiment": "figure", "world": "sim", "reading": "gain", "bound": "±10%", "is_relative": True}
    near = Finding(case="a|b", claim="near", value=1.02, lo=1.0, hi=1.04, outcome=Outcome.HOLDS, runs=3, **common)
    far = Finding(case="c", claim="far", value=3.0, lo=2.0, hi=4.0, outcome=Outcome.FAILS, runs=3, why="noise",
                  is_known=True, **common)  # fmt: skip
    page = outcomes_page(Reproduction(experiments={"figure": about}, findings=[near, far]), "fairweir reproduce figure")
    assert f"`fairweir reproduce figure`, fairweir {__version__}: 1 experiments, 2 checks" in page
    assert "1 hold, 1 fail (1 for a documented reason)" in page
    assert "| a\\|b | near (gain) |  | ×1.02 [1.00, 1.04] | ±10% | holds |" in page
    assert "| ×3.00 [2.00, 4.00] | ±10% | fails, reason below |" in page
    assert "- c: noise" in page


def test_a_page_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    assert main(["reproduce", "thesis-table-4.2", "--page", str(page), "--out", str(tmp_path)]) == 0
    assert "## thesis-table-4.2" in page.read_text(encoding="utf-8")
    assert main(["reproduce", "thesis-table-4.2", "--page", str(tmp_path / "nowhere" / "page.md")]) == 2
    assert "no such directory" in capsys.readouterr().err
