"""Flows whose receiver reports no SACKs."""

from __future__ import annotations

from fairweir.play.run import run
from fairweir.scenario.model import Scenario


def test_a_window_grows_after_a_timeout_although_duplicate_acks_counted_its_packets() -> None:
    """Slow start overflows the queue by thousands of packets. Repaired one per RTT, they would take minutes."""
    jitter = {"kind": "uniform", "max": "4.107ms"}
    document = {
        "name": "overflow",
        "duration": "6s",
        "seed": 186,
        "transport": "ideal",
        "link": {"bottleneck": {"rate": "261.9Mbps", "buffer": "4bdp"}},
        "flow": [{"cca": "reno", "rtprop": "18.6ms", "sack": False, "jitter": jitter}],
    }
    scenario = Scenario.from_dict(document)
    assert run(scenario).summary.flows[0].timeouts > 0
    assert run(scenario.override({"warmup": "3s"})).summary.flows[0].throughput_mbps > 150


def test_each_packet_is_delivered_once() -> None:
    scenario = {
        "name": "finite",
        "duration": "60s",
        "link": {"bottleneck": {"rate": "20Mbps", "buffer": "20pkts"}},
        "flow": [{"cca": "cubic", "rtprop": "40ms", "sack": False, "bytes": "6MB", "loss": "5%"}],
    }
    (flow,) = run(Scenario.from_dict(scenario)).summary.flows
    assert flow.timeouts > 0
    assert flow.delivered_pkts == 6_000_000 // 1500
