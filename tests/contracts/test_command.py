"""``fairweir contract`` from the command line: output, stored runs and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fairweir.cli.main import main
from fairweir.contracts.turning_points import watch
from fairweir.play.pool import map_jobs

SMALL = [
    "--capacities",
    "12Mbps,24Mbps,48Mbps",
    "--flows",
    "2,4",
    "--rtprops",
    "20ms",
    "--duration",
    "20s",
    "--seeds",
    "1",
]


def test_the_contract_that_is_followed_is_found_and_finished_runs_are_not_repeated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    followed = ["contract", "--set", "exponent=2", "--set", "s0=10ms", "--oracle"]
    words = ["contract", "derive", *followed, *SMALL, "--out", str(tmp_path), "--workers", "1", "--json"]
    assert main([*words, "--plot", str(tmp_path / "figure.png")]) == 0
    (first,) = json.loads(capsys.readouterr().out)["contracts"]
    assert first["outcome"] == "contract"
    assert first["power_exponent"]["value"] == pytest.approx(-2.0, rel=0.1)
    assert (tmp_path / "figure.png").stat().st_size > 1000
    again: list[object] = []

    def spy(play: Any, jobs: list[Any], **options: Any) -> list[Any]:
        again.extend(jobs if play is watch else [])
        return map_jobs(play, jobs, **options)

    monkeypatch.setattr("fairweir.contracts.cached_runs.map_jobs", spy)
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["contracts"] == [first]
    assert not again


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ([], "missing argument 'CCA...'"),
        (["nosuch"], "nosuch"),
        (["copa", "--set", "delta_=1"], "delta_"),
        (["copa", "--flows", "two"], "not a count: `two`"),
        (["copa", "--capacities", "24"], "24"),
        (["copa", "--plot", "contract.gif"], "plot must end in"),
    ],
)
def test_bad_words_are_rejected(
    words: list[str], error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["contract", "derive", *words, "--out", str(tmp_path)]) == 2
    assert error in capsys.readouterr().err


def test_the_table_has_every_condition_of_rest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["contract", "table", "--json"]) == 0
    rows = {row["ccas"][0]: row for row in json.loads(capsys.readouterr().out)["contracts"]}
    assert rows["vegas"]["rate"] == "a/s"
    assert rows["vegas"]["unfairness"] == pytest.approx(3.0)
    assert rows["poseidon"]["fold"] == "max"


def test_a_function_is_asked_for_its_action(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.py").write_text("def action(rate, s):\n    return 1.0 - rate / 100.0 - s / 40.0\n")
    words = ["contract", "open-loop", f"{tmp_path / 'mine.py'}:action", "--held", "qdelay=1ms..39ms", "--json"]
    assert main(words) == 0
    (found,) = json.loads(capsys.readouterr().out)["contracts"]
    assert found["best"]["family"] == "linear"
    assert found["best"]["parameters"]["b"] == pytest.approx(40.0, rel=1e-4)


def test_a_window_at_its_floor_is_no_contract(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """LEDBAT at its minimum window; the delay exceeds its target at any rate."""
    monkeypatch.setenv("COLUMNS", "200")
    held = ["--held", "qdelay=150ms..300ms", "--out", str(tmp_path), "--workers", "1"]
    assert main(["contract", "open-loop", "ledbat", *held]) == 1
    assert "its window is 2 packets at any value: a clamp" in capsys.readouterr().out


def test_links_have_the_rate_that_was_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--capacities", "24Mbps", "--flows", "2", "--rtprops", "20ms", "--duration", "9s", "--seeds", "1"]
    main(["contract", "derive", "vegas", *options, "--out", str(tmp_path), "--workers", "1", "--json"])
    (found,) = json.loads(capsys.readouterr().out)["contracts"]
    rates = [point["rate_mbps"] for point in found["points"]]
    assert {(point["capacity_mbps"], point["rtprop_ms"]) for point in found["points"]} == {(24.0, 20.0)}
    assert sum(rates) == pytest.approx(24.0, rel=0.1)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["--table", "--json"], "table --json"),
        (["vegas", "--capacities", "24Mbps"], "derive vegas --capacities 24Mbps"),
        (["vegas", "--open-loop", "--held", "loss=1%..2%"], "open-loop vegas --held loss=1%..2%"),
        (["--design", "noise=1ms", "--scenario", "x.toml"], "design noise=1ms --scenario x.toml"),
    ],
)
def test_a_call_without_subcommand_is_answered_with_the_one_to_write(
    words: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["contract", *words]) == 2
    said = capsys.readouterr()
    assert f"hint: write `fairweir contract {meant}`" in said.err
    assert not said.out
