"""The times in which real TCP answers an ACK with data, and data with an ACK, and how much its hosts add to rtprop
(docs/measured/host.md).

Usage, as root: .venv/bin/python -m benches.host_noise [CCA...]
"""

from __future__ import annotations

import struct
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairweir.play.run import run
from fairweir.play.simulate import Capture
from fairweir.scenario.dumbbell import dumbbell

RATES = ("10Mbps", "48Mbps", "200Mbps")
PERCENTILES = (1, 10, 50, 90, 99, 99.9)
#: Rates of the link and of the application, and sizes of packets, of flows without a queue.
UNLOADED = (
    ("10Mbps", "2.5Mbps", "1500B"),
    ("48Mbps", "12Mbps", "1500B"),
    ("140Mbps", "35Mbps", "1500B"),
    ("200Mbps", "50Mbps", "9000B"),
    ("500Mbps", "125Mbps", "9000B"),
    ("900Mbps", "225Mbps", "9000B"),
)
#: Magic number of a pcap file with ns.
PCAP_NS = 0xA1B23C4D


def segments(path: Path) -> Iterator[tuple[int, bytes, int]]:
    """Return time, ns, source address and payload length of each segment of a pcap file of IPv4 packets."""
    data = path.read_bytes()
    if struct.unpack_from("<I", data)[0] != PCAP_NS:
        raise SystemExit(f"{path}: not a pcap file with ns")
    at = 24
    while at < len(data):
        s, ns, captured, _ = struct.unpack_from("<4I", data, at)
        ip = data[at + 16 : at + 16 + captured]
        header = (ip[0] & 15) * 4
        payload = struct.unpack_from(">H", ip, 2)[0] - header - (ip[header + 12] >> 4) * 4
        yield s * 10**9 + ns, ip[12:16], payload
        at += 16 + captured


def answers_us(path: Path) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the times from each ACK to the first data packet after it, if no other ACK comes between, us."""
    found, sender, acked_at = [], b"", None
    for at, source, payload in segments(path):
        if payload > 0:
            sender = sender or source
            if acked_at is not None:
                found.append(at - acked_at)
            acked_at = None
        elif source != sender:
            acked_at = at
    return np.array(found) / 1e3


def acks_us(path: Path) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the times from each data packet to its ACK beyond the shortest one, us, if none is lost."""
    sent, acked, sender = [], [], b""
    for at, source, payload in segments(path):
        if payload > 0:
            sender = sender or source
            sent.append(at)
        elif sender and source != sender:
            acked.append(at)
    number = min(len(sent), len(acked))
    found = (np.array(acked[:number]) - np.array(sent[:number])) / 1e3
    # Slow start has queues.
    found = found[number // 4 :]
    return found - found.min()


def main() -> None:
    """Print two tables: percentiles of the times, us."""
    print("Data after an ACK\n")
    measure(answers_us, sys.argv[1:] or ("reno", "cubic"), {})
    print("\nACK after data, of a flow that the application limits to a quarter of the link\n")
    measure(acks_us, ("reno",), {"10Mbps": "2.5Mbps", "48Mbps": "12Mbps", "200Mbps": "50Mbps"})
    print("\nRTT beyond that of the path, us")
    latency()


def latency() -> None:
    """Print a row for each rate: the RTT on the kernel, and with simulated hosts, beyond that of the path."""
    print("| rate | packets | kernel, mean | smallest | simulated hosts, mean |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for rate, application, packet in UNLOADED:
        scenario = dumbbell("reno", rate=rate, rtprop="20ms", buffer="2bdp", duration="6s").override(
            {"flow.*.app_rate": application, "packet": packet, "warmup": "1s"}
        )
        real = run(scenario, on="kernel")
        path, simulated = (run(scenario.override({"noise": noise})).summary.flows[0] for noise in ("none", "host"))
        found = real.summary.flows[0].rtt_ms
        known = [ms for ms in (path.rtt_ms.mean, found.mean, found.min, simulated.rtt_ms.mean) if ms is not None]
        beyond = (1e3 * (ms - known[0]) for ms in known[1:])
        row = " | ".join(f"{us:.0f}" for us in beyond)
        print(f"| {rate}{' (not judged)' if real.not_judged else ''} | {packet} | {row} |", flush=True)


def measure(
    times: Callable[[Path], np.ndarray[Any, np.dtype[np.float64]]], ccas: Sequence[str], limits: Mapping[str, str]
) -> None:
    """Print a row for each controller and rate; `limits` has the application's rate, if there is one."""
    print("| CCA | rate | answers | " + " | ".join(f"p{p}" for p in PERCENTILES) + " |")
    print("| --- | --- " + "| ---: " * (len(PERCENTILES) + 1) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for cca in ccas:
            for rate in RATES:
                capture = Path(folder, "run.pcap")
                scenario = dumbbell(cca, rate=rate, rtprop="20ms", buffer="2bdp", duration="20s")
                if rate in limits:
                    scenario = scenario.override({"flow.*.app_rate": limits[rate]})
                played = run(scenario, on="kernel", capture=Capture(capture))
                found = times(capture)
                row = " | ".join(f"{value:.0f}" for value in np.percentile(found, PERCENTILES))
                noise = " (not judged)" if played.not_judged else ""
                print(f"| `{cca}` | {rate}{noise} | {len(found):,} | {row} |", flush=True)


if __name__ == "__main__":
    main()
