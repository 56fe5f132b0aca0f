"""Derive a contract from measured points, or the reason why there is none.

A contract is a decreasing function from a statistic (queueing delay, loss rate or mark rate that a flow observes) to an
output (the flow's rate, window or share of the link). A point is what one flow observed in one run, with the flow's
rate. The function determines how flows of a CCA share a link. The propagation delay is called rtprop.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fairweir.contracts.fit import FAMILIES, POWER, RESOLVED, Fit, bootstrap, choose, fit
from fairweir.contracts.flags import flags_of
from fairweir.contracts.points import OUTPUTS, PAIRS, ContractPoint, points_of
from fairweir.contracts.result import Candidate, RtpropFit
from fairweir.contracts.unfairness import repeat_ratio, unexplained_unfair
from fairweir.judging.outcome import Interval

UNFAIR_RUNS = 1 / 3
"""If flows with equal observations get different rates in more than this fraction of the runs, the CCA has no contract.
In a smaller fraction of the runs, the difference is not a property of the CCA.
"""

MIN_R_SQUARED = 0.85
"""Minimum R² (explained fraction of the variance) of ln(rate), averaged per run. A statistic that explains less does
not determine the fair share. In the simulator, CCAs with a known contract reach 0.89 to 0.99; PCC Allegro and Vivace,
which have no contract, reach 0.4 to 0.8.
"""

GAINS = {"window": 0.7, "share": 0.7, "turning_rate": 0.8}
"""Outputs that may be reported instead of the rate, each with a limit: the error of its fit, relative to the spread of
the output (`Fit.unexplained`), divided by that of the rate must be below the limit. The limit for the rate at turning
points of the window is higher because the thesis also uses turning points (section 5.2.1).
"""

RESAMPLES = 200
BOOTSTRAP_SEED = 1
CURVE_POINTS = 64


def judge(points: Sequence[ContractPoint], elsewhere: Sequence[ContractPoint] = ()) -> dict[str, object]:
    """Fit measured points, and judge whether they follow a contract.

    Parameters
    ----------
    points : points of runs with the same rtprop
    elsewhere : points of runs with other rtprops, which show a bias with respect to rtprop

    Returns
    -------
    dict : those fields of a `ContractResult` that follow from the points
    """
    rates = [p.rate_mbps for p in points]
    found: dict[str, object] = {
        "rates_mbps": (min(rates), max(rates)),
        "repeat_ratio": repeat_ratio(points),
    }
    fits = _all_fits(points)
    if not fits:
        unfair = unexplained_unfair(points, None)
        why = _unfair_text(unfair) if unfair > UNFAIR_RUNS else "no statistic varies enough to distinguish rates"
        return {**found, "outcome": "none", "reason": why, "unfair_runs": unfair}
    statistic, output, best = _choose_output(fits)
    chosen = points_of(points, statistic, output)
    assert chosen is not None  # noqa: S101 - it was fitted
    unfair = unexplained_unfair(points, (statistic, output, best))
    power = fit(POWER, chosen)
    refits = bootstrap(best, chosen, resamples=RESAMPLES, seed=BOOTSTRAP_SEED)
    intervals = intervals_of(best, refits)
    power_exponent = intervals_of(power, bootstrap(power, chosen, resamples=RESAMPLES, seed=BOOTSTRAP_SEED))["c"]
    exponent = intervals.get("c", power_exponent)
    domain = float(chosen.statistic.min()), float(chosen.statistic.max())
    grid = np.geomspace(*domain, CURVE_POINTS)
    rtprops = _by_rtprop([*points, *elsewhere], statistic, output, best)
    found |= {
        "best": as_candidate(statistic, output, best),
        "smallest_error": min(
            (as_candidate(s, o, f) for (s, o), fs in fits.items() if o == "rate" for f in fs),
            key=lambda c: c.mse,
            default=None,
        ),
        "candidates": [as_candidate(s, o, f) for (s, o), fs in fits.items() for f in fs],
        "exponent": exponent,
        "exponent_of": best.family.name if best.family.has_exponent else POWER.name,
        "power_exponent": power_exponent,
        "intervals": intervals,
        "domain": domain,
        "curve": [(float(s), float(r)) for s, r in zip(grid, best.predict(grid), strict=True)],
        "rtprops": rtprops,
        "unfair_runs": unfair,
    }
    refusal = _refusal(best, exponent, unfair)
    if refusal is not None:
        return {**found, "outcome": "none", "reason": refusal}
    reason = f"R² {best.r_squared:.3f}, {100 * math.expm1(best.capacity_rmse):.0f} % error at held-out capacities"
    flags = flags_of(statistic, output, best, intervals, domain, rtprops, points, elsewhere)
    return {**found, "outcome": "contract", "reason": reason, "flags": flags}


def _refusal(best: Fit, exponent: Interval, unfair: float) -> str | None:
    if unfair > UNFAIR_RUNS:
        return _unfair_text(unfair)
    if best.between_r_squared < MIN_R_SQUARED:
        explained = 100 * max(best.between_r_squared, 0.0)
        return f"no statistic determines the fair share: the best explains {explained:.0f} % of its variance"
    if exponent.value >= 0.0:
        return f"the rate does not fall with congestion: exponent {exponent.value:.2f}"
    return None


def _unfair_text(unfair: float) -> str:
    return f"flows that observe the same get different rates in {100 * unfair:.0f} % of the runs"


def _all_fits(points: Sequence[ContractPoint]) -> dict[tuple[str, str], list[Fit]]:
    usable = {(s, o): points_of(points, s, o) for s, o in PAIRS}
    return {key: [fit(family, p) for family in FAMILIES] for key, p in usable.items() if p is not None}


def _choose_output(fits: dict[tuple[str, str], list[Fit]]) -> tuple[str, str, Fit]:
    """Return the statistic, output and fit to report. The output is the rate unless another output is predicted far
    better.
    """
    best: tuple[str, str, Fit] | None = None
    for output in OUTPUTS:
        of_output = [(s, output, choose(fs)) for (s, o), fs in fits.items() if o == output]
        if not of_output:
            continue
        nearest = min(of_output, key=lambda c: c[2].capacity_rmse)
        if best is None or (
            best[2].capacity_rmse > RESOLVED and nearest[2].unexplained < GAINS[output] * best[2].unexplained
        ):
            best = nearest
    assert best is not None  # noqa: S101 - the caller has at least one fit
    return best


def as_candidate(statistic: str, output: str, fitted: Fit) -> Candidate:
    """Return a fit in the form in which results list it."""
    return Candidate(
        statistic=statistic,
        output=output,
        family=fitted.family.name,
        formula=fitted.family.formula,
        parameters=fitted.parameters,
        mse=fitted.mse,
        r_squared=fitted.r_squared,
        between_r_squared=fitted.between_r_squared,
        aic=fitted.aic,
        bic=fitted.bic,
        capacity_rmse=fitted.capacity_rmse,
    )


def intervals_of(fitted: Fit, refits: np.ndarray) -> dict[str, Interval]:
    """Return a 95 % interval for each parameter: percentiles over `refits`, the parameters of fits to resampled
    runs.
    """
    low, high = np.percentile(refits, [2.5, 97.5], axis=0)
    return {
        name: Interval(value=value, lo=min(float(lo), value), hi=max(float(hi), value))
        for name, value, lo, hi in zip(fitted.family.parameters, fitted.values, low, high, strict=True)
    }


def _by_rtprop(points: Sequence[ContractPoint], statistic: str, output: str, best: Fit) -> list[RtpropFit]:
    fits = []
    for rtprop in sorted({p.rtprop_ms for p in points}):
        here = points_of([p for p in points if p.rtprop_ms == rtprop], statistic, output, min_spread=1.0)
        if here is not None and here.runs > len(best.values):
            again = fit(best.family, here)
            fits.append(RtpropFit(rtprop_ms=rtprop, parameters=again.parameters, r_squared=again.r_squared))
    return fits
