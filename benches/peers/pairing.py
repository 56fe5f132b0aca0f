"""Run two programs by turns, and compare their speed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, Self

#: Difference of the packet counts, percent, and utilization beyond which the programs did not do the same work.
MOST_APART: Final = 3.0
LEAST_UTILIZATION: Final = 0.95
LINE: Final = re.compile(r"(\d+) packets, .* (\d+\.\d+) Mpkt/s, .* utilization (\d+\.\d+)")


@dataclass(frozen=True)
class Workload:
    """A workload under its name in tables, with the arguments that both programs take."""

    name: str
    title: str
    words: tuple[str, ...]


#: Each takes our program a second or more, so that a clock's or a scheduler's tick is nothing.
WORKLOADS: Final = (
    Workload("W1-min", "8 flows of different rtprops, Reno", ("w1-min", "reno", "8", "2000")),
    Workload(
        "W1-full",
        "8 flows, Reno: access link, bottleneck and exit link, both directions",
        ("w1-full", "reno", "8", "1000"),
    ),
    Workload("W2-min", "8 flows, DCTCP at 100 Gbps", ("w2-min", "dctcp", "8", "5")),
    Workload("W3", "1024 flows at 10 Gbps, Reno", ("w3", "reno", "1024", "10")),
)


@dataclass(frozen=True)
class Run:
    """Result of a program: packets, millions of packets per second of wall time, utilization of the bottleneck."""

    packets: int
    mpps: float
    utilization: float


def parse(text: str) -> Run:
    """Read the last line that a program printed."""
    lines = text.strip().splitlines()
    found = LINE.search(lines[-1]) if lines else None
    if found is None:
        raise ValueError(f"not a result of a workload: {text!r}")
    return Run(int(found[1]), float(found[2]), float(found[3]))


@dataclass(frozen=True)
class Spread:
    """Median and range of a few measurements."""

    median: float
    minimum: float
    maximum: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Self:
        """Summarise measurements."""
        known = sorted(values)
        return cls(median(known), known[0], known[-1])

    def text(self, digits: int) -> str:
        """Return `median (minimum to maximum)`."""
        return f"{self.median:.{digits}f} ({self.minimum:.{digits}f} to {self.maximum:.{digits}f})"


@dataclass(frozen=True)
class Comparison:
    """Pairs of runs of a workload: ours and the peer's, one directly after the other."""

    workload: Workload
    pairs: tuple[tuple[Run, Run], ...]

    @property
    def ours(self) -> Spread:
        """Our million packets per second."""
        return Spread.of(ours.mpps for ours, _ in self.pairs)

    @property
    def peer(self) -> Spread:
        """The peer's million packets per second."""
        return Spread.of(peer.mpps for _, peer in self.pairs)

    @property
    def ratio(self) -> Spread:
        """Our speed divided by the peer's of the same pair."""
        return Spread.of(ours.mpps / peer.mpps for ours, peer in self.pairs)

    def doubts(self) -> list[str]:
        """Say where the programs did not do the same work, by the first pair: each is deterministic."""
        ours, peer = self.pairs[0]
        apart = 100 * abs(ours.packets / peer.packets - 1)
        found = [f"packet counts differ by {apart:.1f} %"] if apart > MOST_APART else []
        if (lowest := min(ours.utilization, peer.utilization)) < LEAST_UTILIZATION:
            found.append(f"a utilization is {lowest:.2f}")
        return [f"{self.workload.name}: not the same work, {what}" for what in found]


def compare(workload: Workload, pairs: int, ours: Callable[[], Run], peer: Callable[[], Run]) -> Comparison:
    """Run both programs `pairs` times; who goes first changes from pair to pair."""
    done = []
    for number in range(pairs):
        if number % 2 == 0:
            first = ours()
            done.append((first, peer()))
        else:
            first = peer()
            done.append((ours(), first))
    return Comparison(workload, tuple(done))


def table(comparisons: Sequence[Comparison]) -> str:
    """Return a Markdown table: medians, with ranges in parentheses."""
    rows = [
        "| workload | fairweir, million packets/s | htsim, million packets/s | ratio |",
        "| --- | ---: | ---: | ---: |",
    ]
    for one in comparisons:
        numbers = f"{one.ours.text(1)} | {one.peer.text(2)} | {one.ratio.text(1)}"
        rows.append(f"| {one.workload.name}, {one.workload.title} | {numbers} |")
    return "\n".join(rows)
