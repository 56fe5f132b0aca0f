"""ACKs per second of real time that a controller written in Python handles. ``make bench`` runs this file.

The target is 300 000. The best of five runs is reported, because noise can only slow a run down.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fairweir.play.run import run
from fairweir.scenario.dumbbell import dumbbell

HERE = Path(__file__).parent
REPEATS = 5


def acks_per_second(cca: str) -> float:
    """Run eight flows with different rtprops on 100 Mbit/s for 60 s: half a million packets with one ACK each."""
    rtprops = [f"{30 + 5 * i}ms" for i in range(8)]
    summary = run(dumbbell(cca, rate="100Mbps", rtprop=rtprops, buffer="416pkts", duration="60s")).summary
    return float(summary.packets / summary.wall.s)


def main() -> None:
    """Print a row for Reno in Python and in Rust."""
    for name, cca in (("python", f"{HERE}/reno.py:Reno"), ("built-in", "reno")):
        best = max(acks_per_second(cca) for _ in range(REPEATS))
        sys.stdout.write(f"reno, {name}: {best / 1e6:.2f} million ACKs/s\n")


main()
