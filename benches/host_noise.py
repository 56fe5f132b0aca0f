"""The time in which real TCP answers an ACK with data, in the kernel world: a host's noise (docs/measured/host.md).

Usage, as root: .venv/bin/python -m benches.host_noise [CCA...]
"""

from __future__ import annotations

import struct
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fairweir.play.run import run
from fairweir.play.simulate import Capture
from fairweir.scenario.dumbbell import dumbbell

RATES = ("10Mbps", "48Mbps", "200Mbps")
PERCENTILES = (1, 10, 50, 90, 99, 99.9)
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


def main() -> None:
    """Print a table: percentiles of the times, us."""
    print("| CCA | rate | answers | " + " | ".join(f"p{p}" for p in PERCENTILES) + " |")
    print("| --- | --- " + "| ---: " * (len(PERCENTILES) + 1) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for cca in sys.argv[1:] or ("reno", "cubic"):
            for rate in RATES:
                capture = Path(folder, "run.pcap")
                scenario = dumbbell(cca, rate=rate, rtprop="20ms", buffer="2bdp", duration="20s")
                played = run(scenario, on="kernel", capture=Capture(capture))
                found = answers_us(capture)
                row = " | ".join(f"{value:.0f}" for value in np.percentile(found, PERCENTILES))
                noise = " (not judged)" if played.not_judged else ""
                print(f"| `{cca}` | {rate}{noise} | {len(found):,} | {row} |", flush=True)


if __name__ == "__main__":
    main()
