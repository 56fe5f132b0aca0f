"""Speed, memory and results of simulations with many flows, against theory.

    python -m benches.many_flows                    (100,000 flows on a link; 10,000 on a grid of 10 by 10 links)
    python -m benches.many_flows --flows 1000 --side 3

Each case runs in a separate process, whose peak memory is measured. The contract is delay = s0 c0 / rate, so that flows
share a link equally; on the grid, long flows cross all links of a row or of a column, and get 1 / side of the
throughput of the short flows, which cross one link (proportional fairness; thesis, section 6.5). Reno has no such exact
theory; its case is for the speed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from dataclasses import dataclass
from typing import Any

import fairweir

#: Throughput of a flow on the single link, and of a long flow on the grid, Mbit/s.
SHARE_MBPS = 0.5
#: Long flows of each row and column, and short flows of each link.
LONG, SHORT = 400, 20


@dataclass(frozen=True)
class Case:
    """A scenario, and the throughput of its flows in theory, Mbit/s, by the start of their names."""

    name: str
    scenario: dict[str, Any]
    theory: dict[str, float]


def contract(delay_ms: float) -> dict[str, Any]:
    """Return a controller whose flows have :data:`SHARE_MBPS` each if they wait `delay_ms`.

    They follow the mean delay: the minimum delay of a path is more than the sum of its links' minima, since the queues
    are not at their shortest at the same time, so that long flows would get less.
    """
    constants = {"c0": f"{SHARE_MBPS}Mbps", "s0": f"{delay_ms}ms"}
    return {"name": "contract", "exponent": 1.0, "statistic": "mean"} | constants


def one_link(count: int, cca: Any, theory: dict[str, float]) -> Case:
    """Return a case of `count` flows on one link; their queue in theory takes 50 ms."""
    flows = {"id": "flow", "cca": cca, "rtprop": "100ms", "oracle_rtprop": True, "count": count}
    flows["stagger"] = f"{1e9 / count:.0f}ns"
    link = {"rate": f"{count * SHARE_MBPS}Mbps", "buffer": "1bdp"}
    name = f"{count:,} flows, {cca if isinstance(cca, str) else cca['name']}"
    return Case(name, scenario({"bottleneck": link}, [flows], "10s", "5s"), theory)


def grid(side: int, long: int, short: int) -> Case:
    """Return a case of `side` by `side` links: `long` flows on each row and column, `short` ones on each link."""
    rate = 2 * long * SHARE_MBPS + short * side * SHARE_MBPS
    links = {f"r{r}c{c}": {"rate": f"{rate}Mbps", "buffer": "2bdp"} for r in range(side) for c in range(side)}
    cca = contract(10.0 * side)
    rows = [("row", r, [f"r{r}c{c}" for c in range(side)]) for r in range(side)]
    columns = [("column", c, [f"r{r}c{c}" for r in range(side)]) for c in range(side)]
    paths = [(kind, number, path, long) for kind, number, path in rows + columns]
    paths += [("short", number, [link], short) for number, link in enumerate(links)]
    flows = [
        {"id": f"{kind}{number}", "cca": cca, "rtprop": "100ms", "oracle_rtprop": True, "path": path, "count": count}
        | {"stagger": f"{1e9 / count:.0f}ns"}
        for kind, number, path, count in paths
    ]
    theory = {"row": SHARE_MBPS, "column": SHARE_MBPS, "short": SHARE_MBPS * side}
    total = sum(count for *_, count in paths)
    return Case(f"{total:,} flows, {side} x {side} links, contract", scenario(links, flows, "10s", "5s"), theory)


def scenario(links: dict[str, Any], flows: list[dict[str, Any]], duration: str, warmup: str) -> dict[str, Any]:
    """Return a scenario."""
    return {"name": "many", "duration": duration, "warmup": warmup, "link": links, "flow": flows}


def measure(case: Case) -> str:
    """Run a case; return a row of the table."""
    start = time.perf_counter()
    run = fairweir.run(case.scenario)
    wall_s = time.perf_counter() - start
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    summary = run.summary
    speed = summary.packets / summary.wall.s / 1e6
    row = f"{case.name:42} {summary.packets:12,} {speed:8.2f} {wall_s:8.1f} {peak_mb:8.0f}"
    for kind, share in case.theory.items():
        ratios = sorted(flow.throughput_mbps / share for flow in summary.flows if flow.id.startswith(kind))
        low, middle, high = (ratios[round(part * (len(ratios) - 1))] for part in (0.05, 0.5, 0.95))
        row += f"  {kind}: {middle:.3f} [{low:.3f}, {high:.3f}]"
    return row


def main() -> None:
    """Measure the cases that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flows", type=int, default=100_000, help="flows of the single link")
    parser.add_argument("--side", type=int, default=10, help="links in a row of the grid")
    asked = parser.parse_args()
    cases = [
        one_link(asked.flows, "reno", {}),
        one_link(asked.flows, contract(50.0), {"flow": SHARE_MBPS}),
        grid(asked.side, LONG, SHORT),
    ]
    print(f"{'case':42} {'packets':>12} {'M/s':>8} {'wall s':>8} {'MB':>8}  throughput / theory: median [p5, p95]")
    for case in cases:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(pool.apply(measure, [case]), flush=True)


if __name__ == "__main__":
    main()
