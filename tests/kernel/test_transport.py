"""The mechanisms of Linux's TCP in the simulator, compared with the kernel's (docs/measured/transport.md)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fairweir.errors import KernelError
from fairweir.play import kernel
from fairweir.play.run import Run, run
from fairweir.scenario.model import Scenario

pytestmark = pytest.mark.kernel

SCENARIOS = Path(__file__).parents[2] / "scenarios" / "transport"


@pytest.fixture(autouse=True, scope="module")
def kernel_world() -> None:
    """Skip these tests without root or the helper; the summary states the reason."""
    if os.geteuid() != 0:
        pytest.skip("not run: no root")
    try:
        kernel.ask(["doctor"])
    except KernelError as error:
        pytest.skip(f"not run: {error.message}")


def timeouts_per_retransmission(record: Run) -> float:
    flows = record.summary.document["flows"]
    timeouts, retransmits = (sum(flow[name] for flow in flows) for name in ("timeouts", "retransmits"))
    assert retransmits > 30
    return float(timeouts / retransmits)


def test_tail_loss_probes_replace_most_timeouts() -> None:
    scenario = Scenario.load(SCENARIOS / "lost-tails.toml")
    ideal, probes = (run(scenario.override({"transport": t})) for t in ("ideal", ["tail_loss_probe"]))
    assert timeouts_per_retransmission(ideal) > 0.9
    assert timeouts_per_retransmission(probes) < 0.3
    assert timeouts_per_retransmission(run(scenario, on="kernel")) < 0.3


def test_receivers_delay_acks_also_after_losses() -> None:
    scenario = Scenario.from_dict(
        {
            "duration": "4s",
            "warmup": "2s",
            "link": {"down": {"rate": "24Mbps", "buffer": "60kB"}, "up": {"rate": "100Mbps", "buffer": "infinite"}},
            "flow": [{"cca": "reno", "rtprop": "15ms", "delayed_ack": 2, "path": ["down"], "ack_path": ["up"]}],
        }
    )
    summary = run(scenario, on="kernel").summary
    assert summary.flows[0].lost_pkts > 0
    acks = summary.links[1].arrivals
    # A receiver acknowledges each packet at once only while packets are missing.
    assert 0.5 <= acks / summary.flows[0].delivered_pkts < 0.6


def test_cubic_in_whole_packets_loses_as_many_as_linux() -> None:
    document = {
        "duration": "10s",
        "warmup": "3s",
        "link": {"bottleneck": {"rate": "12Mbps", "buffer": "44kB"}},
        "flow": [{"cca": "cubic", "rtprop": "13.4ms", "count": 5, "stagger": "20ms"}],
    }
    scenario = Scenario.from_dict(document)

    def lost(record: Run) -> int:
        return sum(flow.lost_pkts for flow in record.summary.flows)

    real = lost(run(scenario, on="kernel"))
    linux, exact = (
        lost(run(scenario.override({"flow.0.cca": {"name": "cubic", "hystart": "linux", "counting": counting}})))
        for counting in ("linux", "exact")
    )
    # Seen: 90 to 93 on the kernel, 93, and 150.
    assert abs(linux - real) < 0.15 * real
    assert exact > 1.3 * real


def test_a_pause_reduces_the_window() -> None:
    scenario = Scenario.load(SCENARIOS / "pauses.toml")
    ideal, restart, on_kernel = (
        record.summary.flows[0]
        for record in (
            run(scenario.override({"transport": "ideal"})),
            run(scenario.override({"transport": ["idle_restart"]})),
            run(scenario, on="kernel"),
        )
    )
    assert ideal.lost_pkts > 40
    assert restart.lost_pkts <= 5
    assert on_kernel.lost_pkts <= 20
    assert on_kernel.throughput_mbps == pytest.approx(restart.throughput_mbps, rel=0.1)


def silent_flows(record: Run) -> int:
    """Return the number of flows that have sent no data."""
    return sum(flow["sent_pkts"] == 0 for flow in record.summary.document["flows"])


def test_flows_wait_for_their_lost_syns() -> None:
    scenario = Scenario.load(SCENARIOS / "lost-syns.toml")
    for duration, low, high in (("1s", 15, 45), ("2s", 2, 20), ("3s", 0, 8)):
        short = scenario.override({"duration": duration})
        assert silent_flows(run(short.override({"transport": "ideal"}))) == 0
        for record in (run(short.override({"transport": ["handshake"]})), run(short, on="kernel")):
            assert low <= silent_flows(record) <= high, (duration, silent_flows(record))
