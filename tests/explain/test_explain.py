"""``fairweir explain`` on captures, written by these tests, of a link with known numbers."""

from __future__ import annotations

import json
import re
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairweir import _core
from fairweir.explain.explanation import explain
from fairweir.explain.findings import findings
from fairweir.explain.limits import shares
from fairweir.explain.view import flow_view
from fairweir.show.packed import unpack

RATE_BYTES_PER_S = 1_250_000
RTPROP_NS = 20_000_000
JITTER_NS = 1_000_000
PACKETS = 1200
PAYLOAD = 1448
#: Size of the IPv4 and TCP headers without options, bytes.
HEADERS = 40
SENDER, RECEIVER = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
RAW_IP, MAGIC_NS, SYN, PUSH, ACK = 101, 0xA1B23C4D, 2, 8, 16


def frame(at_ns: int, src: bytes, dst: bytes, seq: int, ack: int, payload: int, flags: int) -> tuple[int, bytes]:
    """A frame of pcap that holds the headers only, with its time, ns."""
    ports = (40000, 5001) if src == SENDER else (5001, 40000)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, HEADERS + payload, 0, 0, 64, 6, 0, src, dst)
    tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, 0x50, flags, 60000, 0, 0)
    header = struct.pack("<IIII", *divmod(at_ns, 10**9), HEADERS, HEADERS + payload)
    return at_ns, header + ip + tcp


def capture(frames: list[tuple[int, bytes]]) -> bytes:
    header = struct.pack("<IHHiIII", MAGIC_NS, 2, 4, 0, 0, 128, RAW_IP)
    return header + b"".join(data for _, data in sorted(frames, key=lambda frame: frame[0]))


def transfer(*, has_acks: bool = True, lost: int | None = None) -> bytes:
    """A flow over a CBR-delay link, seen at its sender: it sends twice as fast as the link in bursts, ACKs in pairs.

    Each burst's last packet is pushed: there is no more data for now.
    """
    frames = [
        frame(0, SENDER, RECEIVER, 0, 0, 0, SYN),
        frame(RTPROP_NS, RECEIVER, SENDER, 0, 1, 0, SYN | ACK),
        frame(RTPROP_NS, SENDER, RECEIVER, 1, 1, 0, ACK),
    ]
    bytes_a_packet = PAYLOAD + HEADERS
    service_ns = bytes_a_packet * 10**9 // RATE_BYTES_PER_S
    free_ns = acked_ns = 0
    for n in range(PACKETS):
        burst, place = divmod(n, 40)
        sent_ns = 2 * RTPROP_NS + burst * 60 * service_ns + place * service_ns // 2
        seq = 1 + n * PAYLOAD
        frames.append(frame(sent_ns, SENDER, RECEIVER, seq, 1, PAYLOAD, ACK | PUSH if place == 39 else ACK))
        if n == lost:
            # the retransmission is sent a burst after the first copy, which is lost
            frames.append(frame(sent_ns + 1000, SENDER, RECEIVER, seq, 1, PAYLOAD, ACK))
        free_ns = max(free_ns, sent_ns) + service_ns
        acked_ns = max(acked_ns, free_ns + RTPROP_NS + JITTER_NS * (n * 7919 % 101) // 100)
        if has_acks and n % 2:
            frames.append(frame(acked_ns, RECEIVER, SENDER, 1, seq + PAYLOAD, 0, ACK))
    return capture(frames)


def holds(ends: dict[str, float], value: float) -> bool:
    return ends["lo"] <= value * 1.001 and ends["hi"] >= value * 0.999


def test_the_true_path_is_in_the_belief_set_and_a_wrong_one_is_not(call: Any) -> None:
    shown = call(transfer(), "--json")
    assert (shown.code, shown.err) == (0, "")
    (flow,) = json.loads(shown.out)["flows"]
    assert (flow["src"], flow["dst"], flow["view"]) == ("10.0.0.1:40000", "10.0.0.2:5001", "sender")
    assert (flow["packets"], flow["lost_packets"]) == (PACKETS, 0)
    assert flow["delivered_bytes"] == PACKETS * (PAYLOAD + HEADERS)
    belief, bounds = flow["cbr_delay"], flow["ccac"]
    assert belief["jitter_assumed_ns"] >= 0.9 * JITTER_NS
    assert holds(belief["rate_bytes_per_s"], RATE_BYTES_PER_S)
    assert holds(belief["rtprop_ns"], RTPROP_NS)
    assert not holds(belief["rate_bytes_per_s"], 1.2 * RATE_BYTES_PER_S)
    assert not holds(belief["rate_bytes_per_s"], 0.8 * RATE_BYTES_PER_S)
    assert holds({"lo": bounds["min_bytes_per_s"], "hi": bounds["max_bytes_per_s"]}, RATE_BYTES_PER_S)


def test_retransmitted_packets_count_as_lost(call: Any) -> None:
    (flow,) = json.loads(call(transfer(lost=100), "--json").out)["flows"]
    assert (flow["packets"], flow["lost_packets"]) == (PACKETS + 1, 1)
    # other packets arrived at a longer queue and were not lost, so this loss is not a buffer overflow
    assert flow["cbr_delay"]["buffer_bytes"]["hi"] is None
    assert [model["explains"] for model in flow["models"]] == [False, False, False]
    assert all(model["losses_contradict"] for model in flow["models"])


def test_the_table_has_the_fields_words(call: Any) -> None:
    shown = call(transfer())
    assert shown.code == 0
    lines = shown.out.splitlines()
    assert lines[0] == "flow 1: 10.0.0.1:40000 to 10.0.0.2:5001"
    assert re.fullmatch(r"  Limited by its application, which had no more data to send \d+% of the time\.", lines[1])
    first = [line.strip().split("  ")[0] for line in lines[2:]]
    words = ["captured", "delivered", "packets", "time limited by", "bottleneck rate", "propagation", "queueing delay"]
    assert first[:12] == [*words, "buffer", "C, CBR-delay", "C, CCAC", "jitter D", "explained by"]
    assert "at the sender" in shown.out


def test_omissions_are_reported(call: Any) -> None:
    shown = call(transfer()[:-10])
    assert shown.code == 0
    assert "ends within a packet" in shown.err


def test_pauses_behind_pushed_packets_are_the_applications(call: Any) -> None:
    (flow,) = json.loads(call(transfer(), "--json").out)["flows"]
    assert {period["limit"] for period in flow["limits"]} <= {"application", "pacing", "window", "unknown"}
    assert max(shares(flow["limits"]).items(), key=lambda item: item[1])[0] == "application"
    for before, after in pairwise(flow["limits"]):
        assert (before["to_ns"], before["last_frame"]) == (after["from_ns"], after["first_frame"])
        assert before["limit"] != after["limit"]


def test_findings_name_frames_of_the_capture(call: Any) -> None:
    shown = call(transfer(lost=100), "--json")
    document = json.loads(shown.out)
    reported = findings(document["flows"][0], document)
    frames = [frame for finding in reported if finding.frames for frame in finding.frames]
    assert frames
    assert all(1 <= frame <= document["capture"]["frames"] for frame in frames)
    lost = next(finding for finding in reported if "buffer overflow" in finding.text)
    assert lost.frames is not None
    assert all(f"frame {frame}" in lost.text for frame in lost.frames)


def test_a_figure_and_a_page_are_written_whole(call: Any) -> None:
    shown = call(transfer(), "--plot", "figures", "--report", "a.html")
    assert shown.code == 0
    assert Path("figures/flow-1.png").read_bytes().startswith(b"\x89PNG")
    page = Path("a.html").read_text(encoding="utf-8")
    assert "<strong>Limited by its application, which had no more data to send" in page
    assert "10.0.0.1:40000 to 10.0.0.2:5001" in page
    (packed,) = re.findall(r'<script type="application/octet-stream" id="specs">(.*?)</script>', page)
    spec = json.loads(unpack(packed))["flow-1"]
    names = {trace["name"] for trace in spec["data"]}
    assert {"delivered", "inflight", "receiver window", "C believed, CBR-delay", "application"} <= names
    assert sorted(path.name for path in Path().iterdir()) == ["a.html", "a.pcap", "figures"]
    lines = [trace for trace in spec["data"] if "line" in trace and trace.get("showlegend", True)]
    legend = [(trace["line"]["color"], trace["line"]["dash"]) for trace in lines]
    assert len(legend) == len(set(legend)), "two lines of the legend are indistinguishable"


def test_a_notebook_shows_verdicts(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(transfer())
    shown = explain(path)._repr_html_()
    assert "<td>10.0.0.1:40000</td><td>10.0.0.2:5001</td>" in shown
    assert "<td>Limited by its application, which had no more data to send" in shown
    (image,) = explain(str(path)).plot()
    assert image._repr_png_()[0].startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--plot", "a.pcap"], "error: not a directory: `a.pcap` (--plot)\n"),
        (["--report", "nowhere/a.html"], "error: report cannot be written: no such directory: `nowhere` (--report)\n"),
        (["--report", "."], "error: report cannot be written: is a directory (--report)\n"),
    ],
)
def test_an_invalid_place_is_found_first(call: Any, words: list[str], message: str) -> None:
    shown = call(transfer(), *words)
    assert (shown.code, shown.out) == (2, "")
    assert shown.err.startswith(message)


def test_a_figure_shows_what_the_document_says(call: Any) -> None:
    (flow,) = json.loads(call(transfer(), "--json").out)["flows"]
    view = flow_view({"flow": 1, **flow}, max_points=50)
    assert len(view.t_s) <= 50
    width_s = view.t_s[1] - view.t_s[0]
    assert np.sum(view.rate_mbps) * width_s == pytest.approx(flow["delivered_bytes"] * 8e-6, rel=0.05)
    assert np.nanmin(view.rtt_min_ms) == pytest.approx((RTPROP_NS + 1.19e6) * 1e-6, rel=0.05)
    assert view.believed_rate_mbps is not None
    assert view.believed_rate_mbps.lo <= RATE_BYTES_PER_S * 8e-6 <= (view.believed_rate_mbps.hi or 0)
    assert view.stays[0].from_s == 0


@pytest.mark.parametrize(
    ("data", "words", "message"),
    [
        (None, [], "error: capture cannot be read: no such file or directory (a.pcap)\n"),
        (b"", [], "error: the capture is empty (a.pcap)\n\nhint: "),
        (b"not a capture" * 20, [], "error: not a pcap or pcapng capture, nor a qlog (a.pcap)\n\nhint: "),
        (capture([]), [], "error: no flow with data and ACKs in 0 frames (a.pcap)\n\nhint: "),
        (transfer(has_acks=False), ["--json"], f"error: no flow with data and ACKs in {PACKETS + 3} frames (a.pcap)"),
        (transfer(), ["--flow", "2"], "error: no flow 2, the capture has 1 (a.pcap: --flow)\n"),
    ],
)
def test_a_capture_that_cannot_be_explained_is_one_error(
    call: Any, data: bytes | None, words: list[str], message: str
) -> None:
    shown = call(data, *words)
    assert (shown.code, shown.out) == (2, "")
    assert shown.err.startswith(message)


def test_an_interruption_passes_through(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(transfer())

    def interrupt(_frames: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _core.explain(str(path), interrupt)
