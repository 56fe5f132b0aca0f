"""Compute verdicts from samples.

Each point of a curve is an interval over seeds. A claim on a curve holds if the whole interval of every point
satisfies the threshold, fails if the whole interval of at least one point violates it, and is unknown otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from fairweir.audit.exhibits.family import Claim, Depth, Family, Metric, Reduction
from fairweir.audit.results import ClaimResult, Curve, Fault, Point
from fairweir.documents.arguments import words_for_enums
from fairweir.documents.digits import plain
from fairweir.judging.interval import Scale, interval
from fairweir.judging.metrics import exponent
from fairweir.judging.outcome import Direction, Interval, Outcome, Threshold

Samples = Mapping[int, Mapping[int, Mapping[str, float]]]
"""Index of the place -> seed -> metric -> value."""


@words_for_enums
def curves(family: Family, depth: Depth, cca: str, samples: Samples, new: Samples | None = None) -> list[Curve]:
    """Return the curve of each metric of `family` along the axis, with the theoretical values for `cca`.

    Parameters
    ----------
    samples : of the runs that claims are judged by
    new : of the runs that confirm differences from a reference
    """
    laws = family.laws(cca)
    found = []
    for metric in family.metrics:
        law = laws.get(metric.name)
        points = []
        for index, place in enumerate(family.places[depth]):
            at_place = samples.get(index, {})
            seeds = sorted(seed for seed, values in at_place.items() if metric.name in values)
            values = [at_place[seed][metric.name] for seed in seeds]
            confirming = new.get(index, {}) if new else {}
            new_seeds = sorted(seed for seed, at_seed in confirming.items() if metric.name in at_seed)
            estimate = interval(values, metric.scale) if values else None
            points.append(
                Point(
                    x=place.x,
                    label=place.label,
                    value=estimate.value if estimate else None,
                    lo=_finite(estimate.lo) if estimate else None,
                    hi=_finite(estimate.hi) if estimate else None,
                    samples=values,
                    seeds=seeds,
                    new_samples=[confirming[seed][metric.name] for seed in new_seeds],
                    new_seeds=new_seeds,
                    theory=law.value(place.x) if law else None,
                )
            )
        found.append(Curve(metric=metric.name, unit=metric.unit, points=points, law=law.formula if law else ""))
    return found


def judge(
    family: Family, claim: Claim, cca: str, family_curves: Sequence[Curve], faults: Sequence[Fault]
) -> ClaimResult:
    """Return the verdict on one claim.

    Parameters
    ----------
    cca : name without path, as in `Claim.expectations`
    faults : runs of the family that did not complete. The family's claims fail, or are unknown if fairweir itself
        failed
    """
    metric = next(m for m in family.metrics if m.name == claim.metric)
    curve = next(c for c in family_curves if c.metric == claim.metric)
    result = ClaimResult(
        name=f"{family.name}.{claim.key}",
        family=family.name,
        metric=claim.key,
        title=claim.title,
        claim=claim.text,
        value=None,
        lo=None,
        hi=None,
        unit=metric.unit,
        threshold=claim.threshold,
        verdict=Outcome.UNKNOWN,
        why="no run completed",
        expectation=claim.expectations.get(cca, ""),
    )
    if claim.reduction is Reduction.SLOPE:
        _judge_slope(result, curve)
    else:
        _judge_worst(result, curve, metric)
    if faults:
        _blame(result, faults)
    return result


def undecided(claim: Claim, metric: Metric, curve: Curve) -> list[int]:
    """Return the indices of the points at which more seeds may decide the claim.

    These are the points whose interval contains the claim's threshold; or, if the claim is about the slope and the
    slope's interval contains the threshold, all points with samples.
    """
    if claim.threshold is None:
        return []
    if claim.reduction is Reduction.SLOPE:
        estimate = slope(curve)
        straddles = estimate is not None and estimate.outcome(claim.threshold) is Outcome.UNKNOWN
        return [i for i, p in enumerate(curve.points) if p.samples] if straddles else []
    return [
        i
        for i, point in enumerate(curve.points)
        if point.samples and interval(point.samples, metric.scale).outcome(claim.threshold) is Outcome.UNKNOWN
    ]


def slope(curve: Curve) -> Interval | None:
    """Fit metric = a x^k, by least squares on logarithms, for each seed that all points have; return the interval of k.

    Returns
    -------
    Interval ; None if fewer than two points have x > 0 and samples, or if no seed is common to them
    """
    points = [p for p in curve.points if p.samples and p.x > 0]
    if len(points) < 2:
        return None
    common = sorted(set.intersection(*(set(p.seeds) for p in points)))
    if not common:
        return None
    places = [p.x for p in points]
    exponents = [exponent(places, [max(p.samples[p.seeds.index(seed)], 1e-12) for p in points]) for seed in common]
    return interval(exponents, Scale.REAL)


def _judge_slope(result: ClaimResult, curve: Curve) -> None:
    estimate, threshold = slope(curve), result.threshold
    if estimate is None or threshold is None:
        result.why = "fewer than two points on the axis"
        return
    ends = [p.label for p in curve.points if p.samples]
    result.at = f"{ends[0]} to {ends[-1]}"
    _settle(result, threshold, estimate, "as the exponent against the axis")


def _judge_worst(result: ClaimResult, curve: Curve, metric: Metric) -> None:
    points = [(p, interval(p.samples, metric.scale)) for p in curve.points if p.samples]
    if not points:
        return
    threshold = result.threshold
    if threshold is None:
        point, estimate = points[-1] if curve.law else max(points, key=lambda p: _oddity(p[1].value, metric))
        result.at = point.label
        _fill(result, estimate)
        result.verdict, result.why = Outcome.INFO, _against_law(curve) or _range(points, metric)
        return
    outcomes = [(estimate.outcome(threshold), point, estimate) for point, estimate in points]
    for wanted in (Outcome.FAILS, Outcome.UNKNOWN, Outcome.HOLDS):
        having = [(p, e) for outcome, p, e in outcomes if outcome is wanted]
        if having:
            sign = 1.0 if threshold.direction is Direction.AT_MOST else -1.0
            point, estimate = max(having, key=lambda pe: sign * pe[1].value)
            result.at = point.label
            _settle(result, threshold, estimate, _count(wanted, len(having), len(points)))
            return


def _settle(result: ClaimResult, threshold: Threshold, estimate: Interval, what: str) -> None:
    _fill(result, estimate)
    result.verdict = estimate.outcome(threshold)
    says = {
        Outcome.HOLDS: f"{threshold}",
        Outcome.FAILS: f"not {threshold}",
        Outcome.UNKNOWN: f"the interval straddles {threshold}",
    }[result.verdict]
    result.why = f"{says} {what}"


def _count(outcome: Outcome, having: int, total: int) -> str:
    if outcome is Outcome.HOLDS:
        return "at every point" if total > 1 else "at the only point"
    return f"at {having} of {total} points"


def _fill(result: ClaimResult, estimate: Interval) -> None:
    result.value, result.lo, result.hi = estimate.value, _finite(estimate.lo), _finite(estimate.hi)


def _against_law(curve: Curve) -> str:
    by_law = [p.value / p.theory for p in curve.points if p.value is not None and p.theory]
    if not by_law:
        return ""
    low, high = min(by_law), max(by_law)
    return f"{low:.2f} to {high:.2f} times {curve.law}" if high - low >= 0.005 else f"{low:.2f} times {curve.law}"


def _oddity(value: float, metric: Metric) -> float:
    """Return the priority of a value for display: |ln value| for a ratio of rates, the value for other metrics."""
    is_gain = metric.scale is Scale.POSITIVE and not metric.unit
    return abs(math.log(max(value, 1e-12))) if is_gain else value


def _range(points: Sequence[tuple[Point, Interval]], metric: Metric) -> str:
    low, high = min(points, key=lambda p: p[1].value), max(points, key=lambda p: p[1].value)
    unit = f" {metric.unit}" if metric.unit else ""
    if low is high:
        return f"{plain(low[1].value, 3)}{unit}"
    return f"from {plain(low[1].value, 3)}{unit} ({low[0].label}) to {plain(high[1].value, 3)}{unit} ({high[0].label})"


def _blame(result: ClaimResult, faults: Sequence[Fault]) -> None:
    """Set the verdict if runs did not complete: fails, or unknown if fairweir and not the CCA failed in all of them."""
    first = next((f for f in faults if f.kind != "error"), faults[0])
    result.verdict = Outcome.UNKNOWN if first.kind == "error" else Outcome.FAILS
    more = f" (and {len(faults) - 1} more runs)" if len(faults) > 1 else ""
    result.why = f"{first.message}{more}"
    result.at = first.label


def threshold_text(threshold: Threshold | None) -> str:
    """Return a threshold as tables show it; ``-`` if there is none."""
    return str(threshold) if threshold else "-"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
