"""Finds unfair runs that the contract does not explain; flows that observe more congestion may get a lower rate."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fairweir.contracts.fit import Fit
from fairweir.contracts.points import ContractPoint
from fairweir.judging.metrics import jain, max_min_ratio

UNFAIR_RATIO = 3.0
UNFAIR_JAIN = 0.8
"""A run is unfair if it exceeds either limit. Vegas has a contract, but queues two to four packets per flow, so rates
of its flows may differ by a factor of 2.5 (Jain's index 0.84) with whole packets (docs/derivations.md)."""


def unexplained_unfair(points: Sequence[ContractPoint], contract: tuple[str, str, Fit] | None) -> float:
    """Fraction of the runs that are unfair, and remain so when each flow is compared with the contract's rate for it.

    By its contract a flow that observes more congestion gets less. A run is unfair if flows' rates differ from the
    contract's by different factors.
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
    """Return the flow's output divided by the contract's; the flow's rate if the contract is undefined there."""
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
    """Return the median over settings of the largest ratio of one flow's shares in runs that differ only in their
    seed.
    """
    shares: dict[tuple[float, float, int], dict[int, list[float]]] = {}
    for p in points:
        shares.setdefault((p.capacity_mbps, p.rtprop_ms, p.flows), {}).setdefault(p.seed, []).append(p.share)
    ratios = [
        max(max_min_ratio(flow) for flow in zip(*by_seed.values(), strict=True))
        for by_seed in shares.values()
        if len(by_seed) > 1
    ]
    return float(np.median(ratios)) if ratios else None
