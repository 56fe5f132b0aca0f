"""Differences between the summaries of two sides, each with one run per seed, with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fairweir.errors import ConfigError
from fairweir.judging.difference import paired, unpaired
from fairweir.judging.interval import Scale
from fairweir.judging.summary import FlowSummary, LinkSummary, Summary

OF_A_FLOW: dict[str, tuple[str, Callable[[FlowSummary], float | None]]] = {
    "throughput": ("Mbit/s", lambda flow: flow.throughput_mbps),
    "mean RTT": ("ms", lambda flow: flow.rtt_ms.mean),
    "mean queueing delay": ("ms", lambda flow: flow.qdelay_ms.mean),
    "loss rate": ("", lambda flow: flow.loss_rate),
}
OF_A_LINK: dict[str, tuple[str, Callable[[LinkSummary], float | None]]] = {
    "utilization": ("", lambda link: link.utilization),
    "mean wait": ("ms", lambda link: link.queue_ms.mean),
}


@dataclass(frozen=True)
class Difference:
    """The difference of one quantity between the two sides.

    Attributes
    ----------
    at : str; for sweeps, the settings of the points; else empty
    of : str; id of the flow, name of the link, or "all flows"
    quantity, unit : str
    first, second : float; mean over the runs of each side
    difference : float, second - first
    lo, hi : float; ends of the 95 % t-interval of the difference; None if a side has only one run, or all its
        runs are identical
    """

    at: str
    of: str
    quantity: str
    unit: str
    first: float
    second: float
    difference: float
    lo: float | None
    hi: float | None

    @property
    def is_significant(self) -> bool | None:
        """Whether the interval excludes 0; None without an interval."""
        return None if self.lo is None or self.hi is None else not self.lo <= 0.0 <= self.hi


def differences(first: list[Summary], second: list[Summary], at: str = "") -> Iterator[Difference]:
    """Yield the differences, second minus first; flows and links are matched by their position.

    Parameters
    ----------
    at : str; for sweeps, the settings of the points

    Raises
    ------
    ConfigError : a side has two runs with the same seed
    """
    seeds = [[summary.seed for summary in side] for side in (first, second)]
    for side in seeds:
        if len(set(side)) < len(side):
            # The interval of a run and its copy would have width 0.
            repeated = next(seed for seed in side if side.count(seed) > 1)
            raise ConfigError(f"two runs on a side have seed {repeated}", hint="compare runs that differ in the seed")
    is_paired = seeds[0] == seeds[1]
    has_interval = not any(are_identical(side) for side in (first, second))

    def row(of: str, quantity: str, unit: str, read: Callable[[Summary], float | None]) -> Iterator[Difference]:
        values = [[read(summary) for summary in side] for side in (first, second)]
        known = [[value for value in side if value is not None] for side in values]
        if all(known) and [len(side) for side in known] == [len(side) for side in values]:
            yield _difference(at, of, quantity, unit, known[0], known[1], is_paired, has_interval)

    yield from row("all flows", "Jain's index", "", lambda summary: summary.jain)
    yield from row(
        "all flows", "throughput", "Mbit/s", lambda summary: sum(flow.throughput_mbps for flow in summary.flows)
    )
    sides = first[0], second[0]
    for i in range(min(len(side.flows) for side in sides)):
        ids = dict.fromkeys(side.flows[i].id for side in sides)
        for quantity, (unit, of_flow) in OF_A_FLOW.items():
            yield from row(" / ".join(ids), quantity, unit, lambda s, i=i, read=of_flow: read(s.flows[i]))  # type: ignore[misc]
    for i in range(min(len(side.links) for side in sides)):
        link_names = dict.fromkeys(side.links[i].name for side in sides)
        for quantity, (unit, of_link) in OF_A_LINK.items():
            yield from row(" / ".join(link_names), quantity, unit, lambda s, i=i, read=of_link: read(s.links[i]))  # type: ignore[misc]


def are_identical(summaries: Sequence[Summary]) -> bool:
    """Return whether several seeds gave the same numbers: an interval would have width 0, and mean nothing."""
    if len(summaries) < 2:
        return False
    first = [vars(flow) for flow in summaries[0].flows]
    return all([vars(flow) for flow in one.flows] == first for one in summaries[1:])


def _difference(
    at: str,
    of: str,
    quantity: str,
    unit: str,
    first: list[float],
    second: list[float],
    is_paired: bool,
    has_interval: bool,
) -> Difference:
    means = [math.fsum(side) / len(side) for side in (first, second)]
    lo = hi = None
    if not has_interval:
        pass
    elif is_paired and len(first) > 1:
        found = paired(first, second, Scale.REAL)
        lo, hi = found.lo, found.hi
    elif len(first) > 1 and len(second) > 1:
        found = unpaired(first, second)
        lo, hi = found.lo, found.hi
    return Difference(at, of, quantity, unit, means[0], means[1], means[1] - means[0], lo, hi)
