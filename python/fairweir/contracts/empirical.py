"""The empirical contract: by which function of which statistic a CCA's flows share a link, or that there is none.

Flows of one CCA run on dumbbells of several capacities, flow counts and rtprops. Shapes are fitted to (statistic,
rate), and the one that carries over best to a capacity it has not seen is reported, with its exponent and what is odd
about it; unless flows that see the same get different rates, for then no function describes the CCA.

References
----------
Thesis sections 5.2.1 (procedure, Table 5.1) and 6.1; deviations: a shape must carry over to unseen capacities and pay
for its parameters, where the thesis takes the smallest error; the output may be a window or a share of the link
besides a rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairweir.contracts.fit import FAMILIES, POWER, RESOLVED, Fit, Points, bootstrap, choose, fit
from fairweir.contracts.keep import kept_in
from fairweir.contracts.points import OUTPUTS, PAIRS, STATISTICS, TURNING, ContractPoint, Setting, points_of, read
from fairweir.contracts.result import Candidate, ContractResult, RtpropFit
from fairweir.dumbbell import Cca, cca_name
from fairweir.measure import Measure, RunFault
from fairweir.metrics import jain, max_min_ratio
from fairweir.verdict import Interval
from fairweir.worlds import Archive

Progress = Callable[[str], object]

UNFAIR_RATIO = 3.0
UNFAIR_JAIN = 0.8
"""A run is unfair beyond either. Vegas, which has a contract, holds two to four packets a flow, so that its flows may
differ 2.5-fold (Jain's index 0.84) when packets are counted whole; the thresholds of specs/ccas.md section 21 (2 and
0.9) are to be tuned on it."""

UNFAIR_RUNS = 1 / 3
"""A contract is refuted when more than this part of the runs is unfair while the flows see the same: an accident of one
seed is not a property of the CCA, and a CCA that is fair in two runs of three only is not described by a function."""

LEAST_R_SQUARED = 0.85
"""Of the runs' means. A statistic that explains less of ln(rate) does not determine the fair share: in the simulator,
CCAs with a known contract reach 0.89 to 0.99, PCC Allegro and Vivace, which have none, 0.4 to 0.8."""

QUEUE_GROWTH = 2.0
"""A CCA fills buffers if its queue grows by more than this when the buffer grows fivefold."""

CLAMPED_FLOWS = 0.25
"""A larger part of flows that overflow the buffer bends a contract in delay: a deeper buffer is tried, or a flag
raised."""

GAINS = {"window": 0.7, "share": 0.7, "turning_rate": 0.8}
"""Another output is reported instead of a rate only if it leaves unexplained this part of it at unseen capacities;
turning points are nearer to what thesis section 5.2.1 asks for than windows and shares are."""

RTPROP_BIAS = 0.25
"""Smallest exponent of rtprop that is called a bias: doubling rtprop then changes the rate by a fifth."""

RESAMPLES = 200
BOOTSTRAP_SEED = 1
CURVE_POINTS = 64


@dataclass(frozen=True)
class Plan:
    """Which runs to make.

    Attributes
    ----------
    capacities_mbps, flows : all combinations, at the first rtprop
    rtprops_ms : the first for the fit; the others, at fewer settings, for what depends on rtprop
    deep_buffer, ample_buffer, shallow_buffer : as scenarios write them; the ample one is for CCAs that overflow the
        deep one now and then, the shallow one for those that fill any buffer: the thesis gives Cubic one BDP, the
        others four
    duration_s, warmup_s : of each run
    seeds : of each setting
    ecn : may the bottleneck mark, and flows react?
    oracle : are the flows told their rtprop from the start?
    """

    capacities_mbps: tuple[float, ...] = (24.0, 48.0, 96.0)
    flows: tuple[int, ...] = (2, 3, 4, 6, 8)
    rtprops_ms: tuple[float, ...] = (40.0, 20.0, 80.0)
    deep_buffer: str = "4bdp"
    ample_buffer: str = "20bdp"
    shallow_buffer: str = "1bdp"
    duration_s: float = 90.0
    warmup_s: float = 30.0
    seeds: tuple[int, ...] = (1, 2)
    ecn: bool = False
    oracle: bool = False

    def settings(self, buffer: str) -> list[Setting]:
        """Give settings of the fit."""
        return [self._setting(c, self.rtprops_ms[0], n, buffer) for c in self.capacities_mbps for n in self.flows]

    def corners(self, rtprops_ms: Sequence[float], buffer: str) -> list[Setting]:
        """First, middle and last capacity and flow count, at each of `rtprops_ms`."""
        capacities, flows = self.capacities_mbps, self.flows
        picked_capacities = sorted({capacities[0], capacities[len(capacities) // 2], capacities[-1]})
        picked_flows = sorted({flows[0], flows[len(flows) // 2], flows[-1]})
        return [self._setting(c, r, n, buffer) for r in rtprops_ms for c in picked_capacities for n in picked_flows]

    def _setting(self, capacity_mbps: float, rtprop_ms: float, flows: int, buffer: str) -> Setting:
        return Setting(capacity_mbps, rtprop_ms, flows, buffer, self.ecn, self.oracle)


PYTHON_PLAN = Plan(
    capacities_mbps=(6.0, 12.0, 24.0), flows=(2, 4, 8), rtprops_ms=(40.0,), duration_s=40.0, warmup_s=15.0
)
"""For Python classes, which are called for every ACK: a million of them."""


def plan_for(cca: Cca) -> Plan:
    """Give the plan that suits the kind of CCA."""
    return PYTHON_PLAN if ":" in cca_name(cca) else Plan()


class _Collector:
    """Plays settings and keeps what their flows saw."""

    def __init__(self, cca: Cca, plan: Plan, measure: Measure, progress: Progress) -> None:
        self.cca, self.plan, self._measure, self._progress = cca, plan, measure, progress
        self.runs = self.packets = 0
        self.faults: list[str] = []

    def play(self, what: str, settings: Iterable[Setting], seeds: Sequence[int]) -> list[ContractPoint]:
        """Points of all flows of all runs that ended well, in the order of the settings and seeds."""
        plan = self.plan
        jobs = [(s, seed) for s in settings for seed in seeds]
        order = sorted(range(len(jobs)), key=lambda i: -jobs[i][0].packets(plan.duration_s))
        self._progress(what)
        scenarios = [jobs[i][0].scenario(self.cca, plan.duration_s, plan.warmup_s, jobs[i][1]) for i in order]
        measured = dict(zip(order, self._measure(scenarios), strict=True))
        points: list[ContractPoint] = []
        for i, (setting, seed) in enumerate(jobs):
            got = measured[i]
            if isinstance(got, RunFault):
                self.faults.append(got.reason)
            else:
                points += read(setting, seed, self.runs, got)
                self.packets += setting.packets(plan.duration_s)
                self.runs += 1
        return points


def derive(
    cca: Cca, *, measure: Measure | None = None, plan: Plan | None = None, on_progress: Progress | None = None
) -> ContractResult:
    """Derive the contract of a CCA from runs.

    Parameters
    ----------
    cca : name, path, or table with parameters, as scenarios have it
    measure : plays scenarios; default the simulator on all cores, with turning points (`contracts/turnings.py`)
    plan : which runs; default by what kind of CCA it is
    on_progress : called before each batch

    Returns
    -------
    ContractResult : ``outcome`` is "contract", "none" (no function describes it), or "failed" (runs do not end well)

    Raises
    ------
    ConfigError, CcaError : the CCA does not exist, or its parameters are wrong
    """
    plan = plan or plan_for(cca)
    measure = measure or kept_in(Archive(None))
    progress = on_progress or (lambda what: None)
    result = _derive(cca, plan, measure, progress)
    if result.outcome == "none" and result.unfair_runs > UNFAIR_RUNS and not plan.oracle:
        informed = _derive(cca, replace(plan, oracle=True), measure, lambda what: progress(f"{what}, rtprop known"))
        if informed.has_contract:
            flag = f"only if rtprop is known: otherwise {result.reason}"
            spent = {"runs": result.runs + informed.runs, "packets": result.packets + informed.packets}
            return informed.model_copy(update={"flags": [flag, *informed.flags], **spent})
    return result


def _derive(cca: Cca, plan: Plan, measure: Measure, progress: Progress) -> ContractResult:
    collector = _Collector(cca, plan, measure, progress)
    buffer = _pick_buffer(collector, plan)
    points = collector.play("points", plan.settings(buffer), plan.seeds)
    elsewhere = collector.play("other rtprops", plan.corners(plan.rtprops_ms[1:], buffer), plan.seeds[:1])
    common = {
        "cca": cca_name(cca),
        "buffer": buffer,
        "oracle": plan.oracle,
        "points": points,
        "runs": collector.runs,
        "packets": collector.packets,
        "faults": list(dict.fromkeys(collector.faults)),
    }
    if len(collector.faults) > collector.runs:
        reason = (
            f"{len(collector.faults)} of {len(collector.faults) + collector.runs} runs failed: {collector.faults[0]}"
        )
        return ContractResult.model_validate({**common, "outcome": "failed", "reason": reason})
    return ContractResult.model_validate({**common, **judge(points, elsewhere)})


def _pick_buffer(collector: _Collector, plan: Plan) -> str:
    """Give the deep buffer if it cuts off the delay of few flows; else a shallow or an ample one.

    Shallow for CCAs that fill any buffer, ample for those whose queue stays what it is when the buffer grows.
    """
    base = plan.rtprops_ms[:1]
    deep = collector.play("deep buffers", plan.corners(base, plan.deep_buffer), plan.seeds[:1])
    if _overflowing(deep) <= CLAMPED_FLOWS:
        return plan.deep_buffer
    ample = collector.play("ample buffers", plan.corners(base, plan.ample_buffer), plan.seeds[:1])
    if not ample:
        return plan.shallow_buffer
    before, after = (float(np.median([p.p50_qdelay_ms for p in some])) for some in (deep, ample))
    return plan.shallow_buffer if after > QUEUE_GROWTH * before else plan.ample_buffer


def _overflowing(points: Sequence[ContractPoint]) -> float:
    """Part of the flows that lose more than now and then: the buffer cuts off their delay."""
    return sum(p.loss_rate > 1e-4 for p in points) / len(points) if points else 0.0


def judge(points: Sequence[ContractPoint], elsewhere: Sequence[ContractPoint] = ()) -> dict[str, object]:
    """Fit and judge points that were measured before.

    Parameters
    ----------
    points : of one rtprop
    elsewhere : of other rtprops, for what depends on it

    Returns
    -------
    dict : the fields of a `ContractResult` that follow from the points
    """
    rates = [p.rate_mbps for p in points]
    found: dict[str, object] = {
        "rates_mbps": (min(rates), max(rates)),
        "repeat_ratio": _repeat_ratio(points),
    }
    fits = _all_fits(points)
    if not fits:
        unfair = unexplained_unfair(points, None)
        why = _unfair_text(unfair) if unfair > UNFAIR_RUNS else "no statistic varies enough to tell rates apart"
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
    reason = f"R² {best.r_squared:.3f}, {100 * math.expm1(best.capacity_rmse):.0f} % off at capacities left out"
    flags = _flags(statistic, output, best, intervals, domain, rtprops, points, elsewhere)
    return {**found, "outcome": "contract", "reason": reason, "flags": flags}


def _refusal(best: Fit, exponent: Interval, unfair: float) -> str | None:
    if unfair > UNFAIR_RUNS:
        return _unfair_text(unfair)
    if best.between_r_squared < LEAST_R_SQUARED:
        explained = 100 * max(best.between_r_squared, 0.0)
        return f"no statistic determines the fair share: the best explains {explained:.0f} % of its variance"
    if exponent.value >= 0.0:
        return f"the rate does not fall with congestion: exponent {exponent.value:.2f}"
    return None


def _unfair_text(unfair: float) -> str:
    return f"flows that see the same get different rates in {100 * unfair:.0f} % of the runs"


def _all_fits(points: Sequence[ContractPoint]) -> dict[tuple[str, str], list[Fit]]:
    usable = {(s, o): points_of(points, s, o) for s, o in PAIRS}
    return {key: [fit(family, p) for family in FAMILIES] for key, p in usable.items() if p is not None}


def _choose_output(fits: dict[tuple[str, str], list[Fit]]) -> tuple[str, str, Fit]:
    """Give the statistic, output and shape to report: a rate, unless another output predicts far better."""
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


def unexplained_unfair(points: Sequence[ContractPoint], contract: tuple[str, str, Fit] | None) -> float:
    """Part of the runs that are unfair, and stay so when each flow is compared with what the contract gives it.

    A flow that sees more congestion may get less: that is what a contract says. What counts is a rate that differs from
    the contract's by different factors in one run.
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
    """Give the flow's output by the contract's for what the flow saw; its rate if the contract has no say."""
    if contract is None:
        return point.rate_mbps
    statistic, output, fitted = contract
    predicted = (
        float(fitted.predict(np.array([point.statistic(statistic)]))[0]) if point.statistic(statistic) > 0 else 0.0
    )
    return point.output(output) / predicted if math.isfinite(predicted) and predicted > 0.0 else point.rate_mbps


def _is_unfair(rates: Sequence[float]) -> bool:
    return max_min_ratio(rates) > UNFAIR_RATIO or jain(rates) < UNFAIR_JAIN


def _repeat_ratio(points: Sequence[ContractPoint]) -> float | None:
    """Median over settings of the largest ratio between one flow's shares in repeats that differ in their seed only."""
    shares: dict[tuple[float, float, int], dict[int, list[float]]] = {}
    for p in points:
        shares.setdefault((p.capacity_mbps, p.rtprop_ms, p.flows), {}).setdefault(p.seed, []).append(p.share)
    ratios = [
        max(max_min_ratio(flow) for flow in zip(*by_seed.values(), strict=True))
        for by_seed in shares.values()
        if len(by_seed) > 1
    ]
    return float(np.median(ratios)) if ratios else None


def as_candidate(statistic: str, output: str, fitted: Fit) -> Candidate:
    """Give a fit as results have it."""
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
    """95 % percentile intervals of the parameters."""
    low, high = np.percentile(refits, [2.5, 97.5], axis=0)
    return {
        name: Interval(value=value, lo=min(float(lo), value), hi=max(float(hi), value))
        for name, value, lo, hi in zip(fitted.family.parameters, fitted.values, low, high, strict=True)
    }


def _by_rtprop(points: Sequence[ContractPoint], statistic: str, output: str, best: Fit) -> list[RtpropFit]:
    fits = []
    for rtprop in sorted({p.rtprop_ms for p in points}):
        here = points_of([p for p in points if p.rtprop_ms == rtprop], statistic, output, least_spread=1.0)
        if here is not None and here.runs > len(best.values):
            again = fit(best.family, here)
            fits.append(RtpropFit(rtprop_ms=rtprop, parameters=again.parameters, r_squared=again.r_squared))
    return fits


def _flags(
    statistic: str,
    output: str,
    best: Fit,
    intervals: dict[str, Interval],
    domain: tuple[float, float],
    rtprops: Sequence[RtpropFit],
    points: Sequence[ContractPoint],
    elsewhere: Sequence[ContractPoint],
) -> list[str]:
    """Give what is odd about a contract (thesis section 6.3): shifts, intercepts, asymptotes, clamps, biases."""
    unit = f" {STATISTICS[statistic]}" if STATISTICS[statistic] else ""
    flags = []
    shift_scales = False
    if best.family.name == "shifted-power" and intervals["b"].lo > 0.05 * domain[0]:
        shift = intervals["b"]
        text = f"shift: congestion counts from {shift.value:.3g}{unit} [{shift.lo:.3g}, {shift.hi:.3g}] on"
        parts = [r.parameters["b"] / r.rtprop_ms for r in rtprops]
        if unit and len(parts) > 1 and min(parts) > 0.0 and max(parts) < 1.5 * min(parts):
            text += f", {sum(parts) / len(parts):.2g} rtprop"
            shift_scales = True
        flags += [text, f"Y-asymptote: the rate has no limit as the statistic nears {shift.value:.3g}{unit}"]
    if best.family.name in ("linear", "logarithmic"):
        flags.append(f"X-intercept: the rate is zero at {best.parameters['b']:.3g}{unit}, where noise starves a flow")
    if best.family.name == "affine-power" and intervals["d"].hi < 0.0:
        p = best.parameters
        flags.append(f"X-intercept: the rate is zero at {(-p['d'] / p['a']) ** (1 / p['c']) - p['b']:.3g}{unit}")
    overflowing = _overflowing(points)
    if unit and overflowing > CLAMPED_FLOWS:
        lossy = f"{100 * overflowing:.0f} % of the flows lose packets"
        flags.append(f"clamp: {lossy}, so that the buffer cuts off their delay")
    if statistic == TURNING[0]:
        flags.append("limit cycle: mean and median delay are off the contract, on which windows turn")
    bias = None if shift_scales else _rtprop_bias(statistic, output, best, points, elsewhere)
    if bias is not None and abs(bias) > RTPROP_BIAS:
        flags.append(
            f"rtprop bias: {output} ∝ rtprop^{bias:.2f} at the same {statistic.removesuffix('_ms').replace('_', ' ')}"
        )
    return flags


def _rtprop_bias(
    statistic: str, output: str, best: Fit, points: Sequence[ContractPoint], elsewhere: Sequence[ContractPoint]
) -> float | None:
    """Exponent of rtprop in what the contract leaves unexplained; none without other rtprops inside its domain."""
    if not elsewhere:
        return None
    pairs = []
    low, high = (f(p.statistic(statistic) for p in points if p.statistic(statistic) > 0) for f in (min, max))
    for p in [*points, *elsewhere]:
        if not low <= p.statistic(statistic) <= high or p.output(output) <= 0.0:
            continue
        predicted = float(best.predict(np.array([p.statistic(statistic)]))[0])
        if math.isfinite(predicted) and predicted > 0.0:
            pairs.append((math.log(p.rtprop_ms), math.log(p.output(output) / predicted)))
    if len({x for x, _ in pairs}) < 2:
        return None
    x, y = np.array(pairs).T
    return float(np.polyfit(x, y, 1)[0])


__all__ = ["PYTHON_PLAN", "ContractResult", "Plan", "Points", "derive", "judge", "plan_for", "unexplained_unfair"]
