"""Damaged captures and logs of QUIC senders are explained, or rejected with a reason."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.explain.conftest import Shown

RATE_BYTES_PER_S = 1_250_000
RTPROP_NS = 20_000_000
PACKETS = 600
PAYLOAD, HEADERS = 1448, 40
#: The sender's packets come in bursts, of which a few may be in flight, so that a queue builds up and drains.
BURST, BURSTS_AHEAD = 8, 5
SENDER, RECEIVER = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
SYN, ACK = 2, 16


@dataclass(frozen=True)
class Frame:
    """A packet of the capture; sequence numbers count from 0 and are not wrapped."""

    at_ns: int
    is_data: bool
    seq: int
    ack: int
    payload: int
    flags: int = ACK
    captured: int = HEADERS

    def write(self, start: int) -> bytes:
        src, dst = (SENDER, RECEIVER) if self.is_data else (RECEIVER, SENDER)
        ports = (40000, 5001) if self.is_data else (5001, 40000)
        own, other = (start, 0) if self.is_data else (0, start)
        wire = HEADERS + self.payload
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, wire, 0, 0, 64, 6, 0, src, dst)
        numbers = ((own + self.seq) % 2**32, (other + self.ack) % 2**32)
        tcp = struct.pack(">HHIIBBHHH", *ports, *numbers, 0x50, self.flags, 60000, 0, 0)
        return struct.pack("<IIII", *divmod(self.at_ns, 10**9), self.captured, wire) + (ip + tcp)[: self.captured]


def sent_and_acked() -> list[tuple[int, int]]:
    """Return the times (ns) at which each packet of a flow over a CBR link was sent and acknowledged."""
    service_ns = (PAYLOAD + HEADERS) * 10**9 // RATE_BYTES_PER_S
    free_ns = 0
    out: list[tuple[int, int]] = []
    for n in range(PACKETS):
        burst = n // BURST
        ready = 0 if burst < BURSTS_AHEAD else out[(burst - BURSTS_AHEAD) * BURST][1] + BURST * service_ns // 2
        sent_ns = max(ready, out[-1][0] + 1 if out else 0)
        free_ns = max(free_ns, sent_ns) + service_ns
        out.append((sent_ns, free_ns + RTPROP_NS))
    return out


def transfer() -> list[Frame]:
    frames = [
        Frame(0, True, 0, 0, 0, SYN),
        Frame(RTPROP_NS, False, 0, 1, 0, SYN | ACK),
        Frame(RTPROP_NS, True, 1, 1, 0),
    ]
    for n, (sent_ns, acked_ns) in enumerate(sent_and_acked()):
        seq = 1 + n * PAYLOAD
        frames.append(Frame(2 * RTPROP_NS + sent_ns, True, seq, 1, PAYLOAD))
        if n % 2:
            frames.append(Frame(2 * RTPROP_NS + acked_ns, False, 1, seq + PAYLOAD, 0))
    return sorted(frames, key=lambda frame: frame.at_ns)


def pcap(frames: list[Frame], start: int = 0) -> bytes:
    return struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 128, 101) + b"".join(f.write(start) for f in frames)


def super_packets(frames: list[Frame]) -> list[Frame]:
    """Merge the packets of each burst, as with segmentation offload at the sender."""
    out: list[Frame] = []
    data: list[int] = []
    for frame in frames:
        last = data[-1] if data else None
        joins = last is not None and out[last].payload > 0 and out[last].seq + out[last].payload == frame.seq
        if last is not None and joins and frame.payload and frame.at_ns - out[last].at_ns < BURST:
            out[last] = replace(out[last], payload=out[last].payload + frame.payload)
            continue
        if frame.is_data:
            data.append(len(out))
        out.append(frame)
    return out


def cut_headers(frames: list[Frame]) -> list[Frame]:
    return [replace(f, captured=30) if i % 50 == 49 and not f.payload else f for i, f in enumerate(frames)]


def clock_step(frames: list[Frame]) -> list[Frame]:
    middle = len(frames) // 2
    return frames[:middle] + [replace(f, at_ns=f.at_ns - 5_000_000) for f in frames[middle:]]


def believes(shown: Shown, packets: int = PACKETS) -> None:
    assert shown.code == 0, shown.err
    (flow,) = json.loads(shown.out)["flows"]
    assert flow["packets"] == packets
    rate, rtprop = flow["cbr_delay"]["rate_bytes_per_s"], flow["cbr_delay"]["rtprop_ns"]
    assert 0.9 * RATE_BYTES_PER_S < rate["lo"] <= RATE_BYTES_PER_S <= rate["hi"] < 1.1 * RATE_BYTES_PER_S
    assert rtprop["lo"] <= RTPROP_NS <= rtprop["hi"] + 1


def test_sequence_numbers_wrap(call: Any) -> None:
    believes(call(pcap(transfer(), 2**32 - 300_000), "--json"))


def test_super_packets_are_cut(call: Any) -> None:
    frames = super_packets(transfer())
    assert sum(1 for frame in frames if frame.payload) < PACKETS / 4
    believes(call(pcap(frames), "--json"))


def test_headers_that_are_cut_are_counted(call: Any) -> None:
    shown = call(pcap(cut_headers(transfer())), "--json")
    believes(shown)
    assert json.loads(shown.out)["capture"]["cut"] > 0
    assert "not whole TCP packets" in call(pcap(cut_headers(transfer()))).err


def test_a_clock_that_is_set_back_is_reported(call: Any) -> None:
    shown = call(pcap(clock_step(transfer())))
    assert shown.code == 0
    assert "the clock went back" in shown.err
    assert "the clock" not in call(pcap(transfer())).err


@pytest.mark.parametrize("keep", [lambda f: not f.is_data or not f.payload, lambda f: f.is_data])
def test_one_side_is_not_enough(call: Any, keep: Callable[[Frame], bool]) -> None:
    shown = call(pcap([frame for frame in transfer() if keep(frame)]))
    assert (shown.code, shown.out) == (2, "")
    assert "no flow with data and ACKs" in shown.err
    assert "capture both directions" in shown.err


def qlog_events() -> list[dict[str, Any]]:
    """Return the log of a QUIC sender of the same flow: packets of the same size on the wire, an ACK for two."""
    events: list[dict[str, Any]] = []
    for n, (sent_ns, acked_ns) in enumerate(sent_and_acked()):
        header = {"packet_type": "1RTT", "packet_number": n}
        raw = {"length": PAYLOAD + HEADERS - 28}
        sent = {"header": header, "raw": raw, "frames": [{"frame_type": "stream"}]}
        events.append({"time": sent_ns / 1e6, "name": "transport:packet_sent", "data": sent})
        if n % 2:
            ack = {"frame_type": "ack", "ack_delay": 0, "acked_ranges": [[0, n]]}
            received = {"header": {"packet_type": "1RTT", "packet_number": n}, "frames": [ack]}
            events.append({"time": acked_ns / 1e6, "name": "transport:packet_received", "data": received})
    return sorted(events, key=lambda event: event["time"])


def document(events: list[dict[str, Any]]) -> bytes:
    trace = {"vantage_point": {"type": "server"}, "common_fields": {"time_format": "relative"}, "events": events}
    return json.dumps({"qlog_version": "0.3", "qlog_format": "JSON", "traces": [trace]}).encode()


def sequence(events: list[dict[str, Any]]) -> bytes:
    head = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": {"common_fields": {}}}
    return b"".join(b"\x1e" + json.dumps(record).encode() + b"\n" for record in [head, *events])


@pytest.mark.parametrize("form", [document, sequence])
def test_a_qlog_is_explained_as_a_capture_is(call: Any, form: Callable[[list[dict[str, Any]]], bytes]) -> None:
    shown = call(form(qlog_events()), "--json")
    believes(shown)
    assert json.loads(shown.out)["flows"][0]["view"] == "sender"
    assert call(form(qlog_events())).code == 0


def test_a_sequence_that_is_cut_off_is_explained_so_far(call: Any) -> None:
    shown = call(sequence(qlog_events())[:-30])
    assert shown.code == 0
    assert "ends within a packet" in shown.err


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x1f\x8b\x08\x00 and what gzip made of it", "not a pcap or pcapng capture, nor a qlog"),
        (b'{"version": "1.2"}', "it has no `qlog_version`"),
        (document(qlog_events())[:-10], "EOF"),
        (document([]), "no flow with data and ACKs"),
        (b'{"qlog_version":"draft-01","traces":[{"event_fields":[],"events":[]}]}', "rows without names"),
    ],
)
def test_other_values_are_rejected(call: Any, data: bytes, message: str) -> None:
    shown = call(data)
    assert (shown.code, shown.out) == (2, "")
    assert message in shown.err
    assert "hint: " in shown.err
