"""Many flows share links as in theory, and a run prints a row per controller instead of a row per flow."""

from __future__ import annotations

import dataclasses
import io
import statistics
from typing import TYPE_CHECKING

import pytest
from benches.many_flows import SHARE_MBPS, Case, contract, grid, one_link
from rich.console import Console

import fairweir
from fairweir.cli.flow_tables import MAX_ROWS, flow_table
from fairweir.cli.main import main
from fairweir.cli.run import default_interval
from fairweir.scenario.dumbbell import dumbbell
from fairweir.units import Duration

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = """
name = "many"
duration = "4s"
warmup = "1s"
[link.bottleneck]
rate = "100Mbps"
buffer = "1bdp"
[[flow]]
cca = "reno"
rtprop = "40ms"
count = {reno}
[[flow]]
cca = "cubic"
rtprop = "40ms"
count = {cubic}
"""


@pytest.mark.parametrize(
    "case",
    [one_link(300, contract(50.0), {"flow": SHARE_MBPS}), grid(3, 20, 5)],
    ids=["one-link", "grid"],
)
def test_flows_share_links_as_in_theory(case: Case) -> None:
    flows = fairweir.run(case.scenario).summary.flows
    for kind, share in case.theory.items():
        ratios = [flow.throughput_mbps / share for flow in flows if flow.id.startswith(kind)]
        assert statistics.fmean(ratios) == pytest.approx(1.0, abs=0.02), kind
        assert max(abs(ratio - 1) for ratio in ratios) < 0.2, kind


def test_a_run_of_many_flows_prints_a_row_per_controller(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    scenario = tmp_path / "many.toml"
    scenario.write_text(SCENARIO.format(reno=MAX_ROWS - 1, cubic=2))
    assert main(["run", str(scenario)]) == 0
    shown = capsys.readouterr().out
    heading, reno, cubic, note = (line.split() for line in shown.splitlines()[:4])
    summary = fairweir.run(str(scenario)).summary
    own = sorted(flow.throughput_mbps for flow in summary.flows if flow.cca == "reno")
    assert heading[:3] == ["cca", "flows", "Mbit/s"]
    assert reno[:2] == ["reno", str(MAX_ROWS - 1)]
    assert cubic[:2] == ["cubic", "2"]
    assert [float(cell) for cell in reno[2:6]] == pytest.approx([sum(own), own[5], own[49], own[93]], rel=5e-3)
    lost, delivered = (
        sum(counts)
        for counts in zip(*((f.lost_pkts, f.delivered_pkts) for f in summary.flows if f.cca == "reno"), strict=True)
    )
    assert reno[-1] == f"{lost / (lost + delivered):.3%}"
    assert note[:4] == ["more", "than", str(MAX_ROWS), "flows:"]


def test_numbers_keep_their_digits_on_a_narrow_terminal() -> None:
    (flow,) = fairweir.run(dumbbell("reno", rate="12Mbps", rtprop="20ms", duration="2s")).summary.flows
    rtt = dataclasses.replace(flow.rtt_ms, mean=12345.67)
    large = dataclasses.replace(flow, cca="folder/mine.py:Mine", throughput_mbps=951.2, rtt_ms=rtt, qdelay_ms=rtt)
    written = io.StringIO()
    Console(width=80, file=written).print(flow_table([large] * 20_000))
    shown = written.getvalue()
    assert "\u2026" not in shown
    assert {"20,000", "19024000.0", "951.2", "12345.67"} <= set(shown.split())


def test_a_hundred_flows_have_a_row_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = tmp_path / "many.toml"
    scenario.write_text(SCENARIO.format(reno=MAX_ROWS - 2, cubic=2))
    assert main(["run", str(scenario)]) == 0
    assert (
        len([line for line in capsys.readouterr().out.splitlines() if line.startswith((" reno-", " cubic-"))])
        == MAX_ROWS
    )


@pytest.mark.parametrize(
    ("duration", "flows", "interval"),
    [
        ("60s", 1, "100ms"),
        ("60s", 10_000, "100ms"),
        ("60s", 100_000, "1s"),
        ("119ms", 100_000, "2ms"),
        ("10ms", 100_000, "1ms"),
    ],
)
def test_time_series_of_many_flows_have_longer_intervals(duration: str, flows: int, interval: str) -> None:
    assert default_interval(Duration.parse(duration), flows=flows) == interval
