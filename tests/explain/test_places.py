"""Captures that cannot show a queue, several flows of one link, and captures of very many flows."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.explain import test_bad_captures as made

from fairweir.explain.table import rows
from fairweir.explain.verdict import verdict
from fairweir.explain.words import grade, nearly, span
from fairweir.play.run import run
from fairweir.play.simulate import Capture, Side
from fairweir.scenario.dumbbell import dumbbell


def captured(tmp_path: Path, side: Side = "sender", **keys: Any) -> bytes:
    path = tmp_path / "played.pcap"
    ccas, noise = keys.pop("ccas", ["cubic"]), keys.pop("noise", "host")
    scenario = dumbbell(ccas, duration="6s", rate="20Mbps", rtprop="40ms", **keys).override({"noise": noise})
    run(scenario, capture=Capture(path, side))
    return path.read_bytes()


def test_at_the_receiver_only_a_lower_bound_is_given(call: Any, tmp_path: Path) -> None:
    data = captured(tmp_path, "receiver")
    document = json.loads(call(data, "--json").out)
    (flow,), (link,) = document["flows"], document["links"]
    assert (flow["view"], flow["cbr_delay"], flow["queue"]) == ("receiver", None, None)
    ends = link["rates"][0]["rate_bytes_per_s"]
    assert 0.95 * 2.5e6 <= ends["lo"] <= 2.5e6 * 1.002
    assert ends["hi"] is None
    shown = call(data).out
    assert "Its link carried at least 19" in shown
    assert "of the bottleneck's rate" not in shown


def test_a_path_below_a_millisecond_is_not_taken_for_one_between_the_ends(call: Any) -> None:
    # all times of the capture are divided by 1000: the RTT is 20 us
    frames = [replace(frame, at_ns=frame.at_ns // 1000) for frame in made.transfer()]
    shown = call(made.pcap(frames), "--json")
    (flow,) = json.loads(shown.out)["flows"]
    assert (flow["view"], flow["cbr_delay"]) == ("short", None)
    assert "between the ends" not in call(made.pcap(frames)).out


def test_flows_of_one_link_are_one_link(call: Any, tmp_path: Path) -> None:
    data = captured(tmp_path, ccas=["cubic", "cubic", "reno"], flows=[{}, {"start": "1.5s"}, {"start": "2s"}])
    shown = call(data, "--json")
    document = json.loads(shown.out)
    (link,) = document["links"]
    assert sorted(link["flows"]) == [1, 2, 3]
    assert (link["changes"], link["token_bucket"]) == ([], None)
    ends = link["rates"][0]["rate_bytes_per_s"]
    assert ends["lo"] <= 2.5e6 * 1.002 <= 1.004 * ends["hi"]
    assert ends["hi"] < 1.05 * ends["lo"]
    sizes = [flow["delivered_bytes"] for flow in document["flows"]]
    assert sizes == sorted(sizes, reverse=True)
    lines = call(data).out.splitlines()
    assert "Limited by a 20.0 Mbit/s bottleneck, shared with 2 other flows of this capture," in lines[1]
    assert "bufferbloat grade" in lines[1]


def test_jitter_is_not_claimed_below_what_propagation_leaves_unknown(call: Any, tmp_path: Path) -> None:
    """A capture of an ideal link does not show on which side of the queue a flow's propagation delay is longer."""
    data = captured(tmp_path, ccas=["cubic", "cubic"], flows=[{}, {"start": "1.5s", "rtprop": "20ms"}], noise="none")
    (link,) = json.loads(call(data, "--json").out)["links"]
    assert link["propagation_spread_ns"] == pytest.approx(20e6, abs=1e6)
    shown = call(data).out
    assert "explains this: minimum jitter" not in shown
    assert "no model" not in shown
    assert "jitter D          at least" not in shown
    assert "explained by      ideal link" in shown


def ipv6(data: bytes) -> bytes:
    """The same capture with IPv6 headers, whose addresses have brackets in front of a port."""
    out, at = [data[:24]], 24
    ends = {made.SENDER: bytes([0xFE, 0x80, *[0] * 13, 1]), made.RECEIVER: bytes([0xFE, 0x80, *[0] * 13, 2])}
    while at < len(data):
        seconds, ns, kept, wire = struct.unpack_from("<IIII", data, at)
        packet = data[at + 16 : at + 16 + kept]
        header = struct.pack(">IHBB", 6 << 28, wire - 20, 6, 64) + ends[packet[12:16]] + ends[packet[16:20]]
        out.append(struct.pack("<IIII", seconds, ns, kept + 20, wire + 20) + header + packet[20:])
        at += 16 + kept
    return b"".join(out)


def test_addresses_are_never_markup(call: Any) -> None:
    shown = call(ipv6(made.pcap(made.transfer())))
    assert shown.code == 0
    assert "[fe80::1]:40000 to [fe80::2]:5001" in shown.out


def many(flows: int) -> bytes:
    """Return a capture of many flows with one packet and one ACK each, and of one transfer."""
    big = made.pcap(made.transfer())
    out = [big]
    for n in range(flows):
        ports = struct.pack(">HH", 1024 + n % 60000, 7 + n // 60000)
        back = ports[2:] + ports[:2]
        for i, (src, dst, both, payload) in enumerate(
            [(made.SENDER, made.RECEIVER, ports, 100), (made.RECEIVER, made.SENDER, back, 0)]
        ):
            ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40 + payload, 0, 0, 64, 6, 0, src, dst)
            tcp = both + struct.pack(">IIBBHHH", 1 + 100 * i, 1 + 100 * i, 0x50, 16, 60000, 0, 0)
            out.append(struct.pack("<IIII", 100 + n // 1000, n % 1000 * 1000, 40, 40 + payload) + ip + tcp)
    return b"".join(out)


def test_small_flows_are_counted_beyond_a_limit_and_the_largest_comes_first(call: Any) -> None:
    shown = call(many(20_000), "--json")
    assert shown.code == 0
    document = json.loads(shown.out)
    assert len(document["flows"]) + document["flows_without_acks"] <= 1000
    assert document["flows"][0]["packets"] == made.PACKETS
    assert len(document["flows"]) + document["flows_without_acks"] + document["left_out"]["flows"] == 20_001
    shown = call(many(3))
    assert shown.out.startswith("flow 1: 10.0.0.1:40000 to 10.0.0.2:5001")
    assert "3 small flows (420 bytes in all; `--flow 2 to 4`)" in shown.out


@pytest.mark.parametrize(
    ("lo", "hi", "said"),
    [
        (19.785, 19.843, "19.78 to 19.85 ms"),
        (39.5, 40.2, "39.5 to 40.2 ms"),
        (22.627, 40.18, "22 to 41 ms"),
        (24.0, 24.0, "24.0 ms"),
        (0.0, 40.18, "at most 40.2 ms"),
        (19.81, None, "at least 19.8 ms"),
        (117_090.0, 123_950.0, "117000 to 124000 ms"),
    ],
)
def test_a_range_has_the_digits_that_are_known(lo: float, hi: float | None, said: str) -> None:
    assert span({"lo": lo, "hi": hi}, 1.0, "ms") == said


def test_grades_are_those_of_the_source() -> None:
    assert [grade(ms) for ms in (0.0, 4.99, 5.0, 30.0, 60.0, 200.0, 400.0)] == ["A+", "A+", "A", "B", "C", "D", "F"]
    assert nearly({"lo": 19.785, "hi": 19.843}, 1.0) == "19.8"


def test_a_limit_is_not_named_where_a_queue_or_nothing_explains_it(call: Any, tmp_path: Path) -> None:
    """With a standing queue a full window is not the limit; without any limit the verdict is not "no single cause"."""
    document = json.loads(call(captured(tmp_path), "--json").out)
    (facts,), (link,) = document["flows"], document["links"]
    for part in link["rates"]:
        part["rate_bytes_per_s"]["hi"] = None
    assert verdict(facts, document).startswith("Its congestion window is full, at ")
    assert verdict(facts, document).endswith("; the bottleneck's rate is not known")
    facts["queue"]["median_ns"] = 100_000
    assert verdict(facts, document).startswith("Limited by its congestion window, at ")
    for period in facts["limits"]:
        period["limit"] = "unknown"
    assert verdict(facts, document).startswith("What limited it cannot be determined, at ")


def test_a_buffer_below_a_packet_is_not_shown(call: Any, tmp_path: Path) -> None:
    document = json.loads(call(captured(tmp_path), "--json").out)
    (facts,) = document["flows"]
    assert "buffer" in dict(rows(facts, document))
    facts["cbr_delay"]["buffer_bytes"] = {"lo": 2.0, "hi": None}
    assert "buffer" not in dict(rows(facts, document))
