"""``fairweir synth``: exit codes and output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairweir.ccas.rule import Rule
from fairweir.cli.main import main

G1 = Path(__file__).parents[2] / "queries" / "g1-5.toml"
CORNER = [
    "--set",
    "template.condition=[{qdel_L = [1], R = [0]}]",
    "--set",
    'template.rate={C_L = ["1/2", 2], alpha = [0]}',
    "--workers",
    "1",
]


def test_solutions_are_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["synth", str(G1), *CORNER, "--set", "points=6", "--out", str(tmp_path), "--json"]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert reported["size"] == 4
    assert [row["rate"] for row in reported["solutions"][0]["branches"]] == ["1/2 C_L", "2 C_L"]
    assert reported["published"]["solutions"] == 4
    rule = Rule.load(tmp_path / "solutions" / "g1_5_1.toml")
    assert str(rule.branches[0].rate) == "1/2 C_L"


def test_a_template_without_solution_is_exit_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["synth", str(G1), *CORNER, "--set", "points=4", "--out", str(tmp_path)]
    assert main(words) == 1
    out = capsys.readouterr().out
    assert "no candidate maintains the invariant" in out
    assert main(words) == 1
    assert "findings reused" in capsys.readouterr().out


def test_bad_queries_are_exit_2_with_a_hint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["synth", str(G1), "--set", "template.rates=5", "--out", str(tmp_path)]) == 2
    reported = capsys.readouterr()
    assert reported.out == ""
    assert "template too large to search" in reported.err
    assert "hint: " in reported.err
    assert main(["synth", str(tmp_path / "none.toml")]) == 2
    assert "query cannot be read" in capsys.readouterr().err
