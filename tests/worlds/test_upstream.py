"""Replay the findings of docs/upstream: each defect shows in its scenario.

A test that fails after an update of a stack means that the stack has changed: update the page.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import fairweir as fw
from fairweir.errors import ProgramError
from fairweir.judging.summary import FlowSummary
from fairweir.play.run import World

SCENARIOS = Path(__file__).parents[2] / "scenarios" / "stacks"


def flow(name: str, cca: str | None = None, *, on: World = "quic") -> FlowSummary:
    """Run the scenario and return the summary of its first flow."""
    scenario = fw.Scenario.load(SCENARIOS / f"{name}.toml")
    if cca is not None:
        scenario = scenario.override({"flow.*.cca": cca})
    return fw.run(scenario, on=on).summary.flows[0]


def qdelay_ms(of: FlowSummary) -> float:
    assert of.qdelay_ms.mean is not None
    return of.qdelay_ms.mean


def test_quinns_bbr_overestimates_the_bandwidth_if_acks_arrive_in_batches() -> None:
    assert flow("bursty-host").loss_rate > 0.3
    assert flow("bursty-host", "quinn/cubic").loss_rate < 0.001


@pytest.mark.parametrize("on", ["sim", "quic"])
def test_quinns_bbr_keeps_the_bandwidth_of_a_faster_link(on: World) -> None:
    assert qdelay_ms(flow("slower-link", on=on)) > 500


@pytest.mark.parametrize("on", ["sim", "quic"])
def test_quinns_bbr_keeps_the_rtt_of_a_shorter_path(on: World) -> None:
    # In the simulator 37 Mbit/s, less with less noise of hosts; other BBRs have more than 40.
    assert flow("longer-path", on=on).throughput_mbps < 40


@pytest.mark.parametrize("cca", ["quinn/cubic", "noq/cubic"])
def test_an_overshoot_closes_the_connection(cca: str) -> None:
    with pytest.raises(ProgramError, match="too many gaps in stream buffer"):
        flow("overshoot", cca)


@pytest.mark.parametrize("on", ["sim", "quic"])
def test_noqs_bbr3_forgets_the_bandwidth_of_its_last_probe(on: World) -> None:
    assert flow("steady-link", on=on).throughput_mbps < 44
    assert flow("steady-link", "bbr3", on="sim").throughput_mbps > 46


def test_s2n_quics_bbr_counts_a_burst_in_one_sample() -> None:
    assert qdelay_ms(flow("steady-link", "s2n-quic/bbr", on="sim")) > 20


@pytest.mark.parametrize("cca", ["bbr", "noq/bbr3"])
def test_other_bbrs_follow_the_path(cca: str) -> None:
    assert qdelay_ms(flow("slower-link", cca, on="sim")) < 60
    assert flow("longer-path", cca, on="sim").throughput_mbps > 40


def test_quinns_cubic_sends_full_packets() -> None:
    full = flow("small-packets", "quinn/cubic")
    assert full.goodput_mbps / full.throughput_mbps > 0.95


@pytest.mark.quiche
def test_quiche_fills_what_is_left_of_cwnd_with_short_packets() -> None:
    short = flow("small-packets")
    assert short.goodput_mbps / short.throughput_mbps < 0.9


@pytest.mark.quiche
def test_quiche_undoes_reductions() -> None:
    assert flow("undone-reductions").loss_rate > 0.01
    assert flow("undone-reductions", "quinn/cubic").loss_rate < 0.001
