"""Rules of Linux's TCP that the simulator follows: reductions of cwnd, ACKs (docs/measured/transport.md)."""

from __future__ import annotations

import pytest

from fairweir.play.run import run
from fairweir.scenario.model import Scenario


def marked(transport: str | list[str], delayed_ack: int) -> Scenario:
    """Return one Reno flow over a link that marks packets beyond four."""
    link = {"rate": "10Mbps", "buffer": "60kB", "aqm": {"kind": "ecn-threshold", "threshold": "6kB"}}
    flow = {"cca": "reno", "rtprop": "10ms", "delayed_ack": delayed_ack, "ecn": True}
    return Scenario.from_dict(
        {"duration": "8s", "warmup": "2s", "transport": transport, "link": {"bottleneck": link}, "flow": [flow]}
    )


@pytest.mark.parametrize("transport", ["ideal", ["quick_acks"], "linux"])
@pytest.mark.parametrize(("delayed_ack", "kernel_mbps"), [(1, 8.0), (2, 8.9)])
def test_marks_of_packets_sent_before_a_reduction_do_not_cause_another(
    transport: str | list[str], delayed_ack: int, kernel_mbps: float
) -> None:
    # With a second reduction after each: 7.2 Mbit/s with delayed ACKs.
    found = run(marked(transport, delayed_ack)).summary.flows[0].throughput_mbps
    assert found == pytest.approx(kernel_mbps, abs=0.2)


def policed(transport: list[str], delayed_ack: int) -> Scenario:
    """Return one flow that loses many packets to a policer, as in docs/measured/transport.md."""
    flow = {
        "cca": "copa",
        "rtprop": "10.1ms",
        "delayed_ack": delayed_ack,
        "policer": {"rate": "14.5Mbps", "burst": "90kB"},
    }
    link = {"rate": "25.6Mbps", "buffer": "54kB"}
    return Scenario.from_dict(
        {"duration": "6s", "warmup": "2s", "transport": transport, "link": {"bottleneck": link}, "flow": [flow]}
    )


def test_acks_of_packets_out_of_order_wait() -> None:
    with_them, without = ["quick_acks", "sack_compression"], ["quick_acks"]
    rtts = [run(policed(transport, 2)).summary.flows[0].rtt_ms.mean for transport in (with_them, without)]
    # 5 % of 10.1 ms and 0.1 ms; on the kernel 11.2 ms, and 10.65 ms without.
    assert rtts == pytest.approx([11.23, 10.65], abs=0.05)
    every = [run(policed(transport, 1)).summary.flows[0] for transport in (with_them, without)]
    assert every[0] == every[1]


def test_retransmitted_data_give_rtt_samples_by_timestamps() -> None:
    receivers = ["quick_acks", "sack_compression"]
    without, with_them = (run(policed([*receivers, *more], 2)).summary.flows[0] for more in ([], ["timestamps"]))
    # On the kernel 36.9 %: timestamps of whole milliseconds are among Copa's samples of the minimum RTT.
    assert without.loss_rate > 0.55
    assert 0.3 < with_them.loss_rate < 0.5
