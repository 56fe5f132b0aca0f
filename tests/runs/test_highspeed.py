"""HighSpeed TCP against RFC 3649's response function: the window at a rate of loss."""

from __future__ import annotations

import pytest

from fairweir.play.run import run
from fairweir.scenario.model import Scenario

PACKET_BYTES = 1500


@pytest.mark.parametrize(("loss", "duration_s"), [(1e-3, 200), (1e-4, 200), (1e-5, 200)])
def test_the_window_is_rfc_3649s(loss: float, duration_s: int) -> None:
    flow = {"cca": "highspeed", "rtprop": "50ms", "loss": f"{100 * loss:g}%"}
    scenario = {
        "name": "lossy",
        "duration": f"{duration_s}s",
        "warmup": "40s",
        "seed": 1,
        "link": {"bottleneck": {"rate": "2Gbps"}},
        "flow": [flow],
    }
    summary = run(Scenario.from_dict(scenario)).summary.document["flows"][0]
    cwnd_pkts = summary["throughput_mbps"] * 1e6 / 8 / PACKET_BYTES * summary["rtt_ms"]["mean"] / 1e3
    # section 5; Reno's would be 1.2 / sqrt(p): 38, 120, 379
    assert cwnd_pkts == pytest.approx(0.12 / loss**0.835, rel=0.25)
