"""Print the lengths of hosts' stalls that kernel runs measured (:data:`fairweir.agree.hosts.TYPICAL_STALLS`).

Run ``python -m benches.host_stalls kernel-runs.jsonl``, with the file that ``fairweir agree`` wrote.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fairweir.agree.hosts import TYPICAL_STALLS
from fairweir.agree.measured import KernelRuns


def main(path: Path) -> None:
    """Print how many seconds the file's judged runs have, and quantiles of their longest stalls."""
    runs = [line.run for line in KernelRuns.load(path).lines if not line.run.not_judged]
    stalls = sorted(us for run in runs for us in run.stalls_us)
    if not stalls:
        sys.exit(f"{path}: no judged run has stalls")
    print(f"{len(stalls)} seconds of {sum(bool(run.stalls_us) for run in runs)} judged runs")
    for fraction, typical in TYPICAL_STALLS:
        us = stalls[min(int(fraction * len(stalls)), len(stalls) - 1)]
        print(f"{fraction:5.1%} {us:9.0f} us  (typical: {typical:.0f})")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
