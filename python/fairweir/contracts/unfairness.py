"""Find runs with unfair rates that the CCA's contract does not explain.

A contract is a flow's rate as a decreasing function of what the flow observes, such as the queueing delay. A flow that
observes more congestion may therefore get a lower rate; such a difference is not counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fairweir.contracts.fit import Fit
from fairweir.contracts.points import ContractPoint
from fairweir.judging.metrics import jain, max_min_ratio

UNFAIR_RATIO = 3.0
UNFAIR_JAIN = 0.8
"""A run counts as unfair if the ratio of its largest to its smallest rate exceeds `UNFAIR_RATIO`, or if Jain's index is
below `UNFAIR_JAIN`. Vegas has a contract, but queues two to four packets per flow. Because packets are whole, the rates
of its flows may therefore differ by a factor of 2.5, with a Jain's index of 0.84 (docs/derivations.md).
"""


def unexplained_unfair(points: Sequence[ContractPoint], contract: tuple[str, str, Fit] | None) -> float:
    """Return the fraction of runs that are unfair and whose unfairness the contract does not explain.

    For the second condition, each rate is divided by the contract's rate for what the flow observed; the quotients must
    be unfair as well. If `contract` is None, the rates alone decide.
    """
    runs: dict[int, list[ContractPoint]] = {}
    for point in points:
        runs.setdefault(point.run, []).append(point)
    unfair = sum(
        _is_unfair([p.rate_mbps for p in flows]) and _is_unfair([_by_contract(p, contract) for p in flows])
        for flows in runs.values()
    )
    return unfair / len(runs) if runs else 0.0


def _by_contract(point: ContractPoint, contract: tuple[str, str, Fit] | None) -> float:
    """Return the flow's output (such as its rate) divided by the contract's output at the same statistic.

    If the contract is undefined at this statistic, return the flow's rate.
    """
    if contract is None:
        return point.rate_mbps
    statistic, output, fitted = contract
    predicted = (
        float(fitted.predict(np.array([point.statistic(statistic)]))[0]) if point.statistic(statistic) > 0 else 0.0
    )
    return point.output(output) / predicted if math.isfinite(predicted) and predicted > 0.0 else point.rate_mbps


def _is_unfair(rates: Sequence[float]) -> bool:
    return max_min_ratio(rates) > UNFAIR_RATIO or jain(rates) < UNFAIR_JAIN


def repeat_ratio(points: Sequence[ContractPoint]) -> float | None:
    """Return how much one flow's share of the link differs between runs that differ only in their seed.

    For each setting, the largest ratio of one flow's shares in two runs is taken; the result is the median over
    settings. Runs in which a flow measured no RTT are left out: they have no point for it.
    """
    shares: dict[tuple[float, float, int], dict[int, list[float]]] = {}
    for p in points:
        shares.setdefault((p.capacity_mbps, p.rtprop_ms, p.flows), {}).setdefault(p.seed, []).append(p.share)
    whole = [[run for run in by_seed.values() if len(run) == flows] for (_, _, flows), by_seed in shares.items()]
    ratios = [max(max_min_ratio(flow) for flow in zip(*runs, strict=True)) for runs in whole if len(runs) > 1]
    return float(np.median(ratios)) if ratios else None
