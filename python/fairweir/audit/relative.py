"""Compare a candidate with a reference: the same scenarios with the same seeds, metric by metric.

Hundreds of metrics at hundreds of points differ somewhere by chance. The first seeds therefore only *suggest*
differences; a verdict of better or worse needs new seeds, which had no part in the suggestion. The intervals of all
suggested differences hold together with 95 % (Bonferroni: each is an interval of 1 - 0.05/k, for k suggestions in the
audit). So the probability that an audit of equal controllers reports any difference is at most 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from fairweir.audit.exhibits.registry import FAMILIES
from fairweir.audit.results import CcaResults, ClaimResult, Curve, FamilyResult, Fault, Point
from fairweir.audit.standings import Relative, Side, Standing
from fairweir.judging.difference import Relation, is_multiplicative, judge_difference, paired, smallest_relevant
from fairweir.judging.interval import CONFIDENCE, Scale
from fairweir.judging.outcome import Direction, Interval, Outcome

ONE_SIGMA = 0.6
"""Confidence of the interval that suggests a difference if it excludes 0: with three seeds about one standard error."""
RUNS = "runs"
"""Name of the standing of runs that do not end; no family measures it."""


@dataclass(frozen=True)
class Suspect:
    """A difference that the first seeds suggest."""

    family: str
    metric: str
    label: str
    """Point on the axis."""


@dataclass(frozen=True)
class _Measure:
    """A metric that has a good side."""

    family: str
    name: str
    title: str
    unit: str
    scale: Scale
    better: Direction
    relevant: float | None


@dataclass(frozen=True)
class _Pairs:
    """Values of one metric at one point on both sides, with the same seeds."""

    seeds: list[int]
    reference: list[float]
    candidate: list[float]

    def __add__(self, other: _Pairs) -> _Pairs:
        return _Pairs(self.seeds + other.seeds, self.reference + other.reference, self.candidate + other.candidate)


@dataclass(frozen=True)
class _Verdict:
    """A metric at one point."""

    label: str
    relation: Relation
    pairs: _Pairs
    difference: Interval
    relevant: float
    confidence: float

    @property
    def size(self) -> float:
        """The difference in units of the smallest relevant one."""
        return abs(self.difference.value) / self.relevant if self.relevant > 0.0 else abs(self.difference.value)


def suspects(reference: CcaResults, candidate: CcaResults) -> list[Suspect]:
    """Return the differences that the first seeds suggest: relevant, and larger than their standard error."""
    found = []
    for measure, first, second in _comparable(reference, candidate):
        for label, before, now in _points(first, second):
            pairs = _pairs_of(before, now, measure.scale)
            if len(pairs.seeds) < 2:
                continue
            one_sigma = paired(pairs.reference, pairs.candidate, measure.scale, confidence=ONE_SIGMA)
            relevant = _relevant(measure, pairs)
            if abs(one_sigma.value) > relevant and not one_sigma.lo <= 0.0 <= one_sigma.hi:
                found.append(Suspect(measure.family, measure.name, label))
    return found


def undecided_points(reference: CcaResults, candidate: CcaResults) -> list[tuple[str, str]]:
    """Return the points (family, label) at which the first seeds cannot exclude a relevant difference."""
    found: dict[tuple[str, str], None] = {}
    for measure, first, second in _comparable(reference, candidate):
        for label, before, now in _points(first, second):
            pairs = _pairs_of(before, now, measure.scale)
            if len(pairs.seeds) < 2 or _within(measure, pairs) is not Relation.SAME:
                found[measure.family, label] = None
    return list(found)


def relate(reference: CcaResults, candidate: CcaResults, suspected: Sequence[Suspect], comparisons: int) -> Relative:
    """Compare `candidate` with `reference`.

    Parameters
    ----------
    reference, candidate : CcaResults, with the runs of the first seeds and those that confirm
    suspected : as :func:`suspects` returned, of this candidate
    comparisons : suggested differences of the whole audit, whose intervals must hold together

    Returns
    -------
    Relative, with standings in the order of the battery
    """
    confidence = 1.0 - (1.0 - CONFIDENCE) / max(comparisons, 1)
    to_confirm = set(suspected)
    standings: list[Standing] = list(_of_faults(reference, candidate))
    for measure, first, second in _comparable(reference, candidate):
        verdicts = [
            verdict
            for label, before, now in _points(first, second)
            if (verdict := _judge(measure, label, before, now, to_confirm, confidence)) is not None
        ]
        if verdicts:
            standings.append(_standing(measure, verdicts))
    standings += _of_searches(reference, candidate)
    return Relative(
        cca=candidate.cca,
        reference=reference.cca,
        standings=standings,
        suspected=comparisons,
        not_compared=list(_not_compared(reference, candidate)),
    )


def _comparable(reference: CcaResults, candidate: CcaResults) -> Iterator[tuple[_Measure, Curve, Curve]]:
    """Yield the metrics that both measured on the same scenarios and that have a better and a worse."""
    for family in candidate.families:
        other = reference.family(family.name)
        if other is None or family.name not in FAMILIES or not _has_same_scenarios(reference, candidate, family.name):
            continue
        curves = {curve.metric: curve for curve in family.curves}
        others = {curve.metric: curve for curve in other.curves}
        for metric in FAMILIES[family.name].metrics:
            if metric.better is not None and metric.name in curves and metric.name in others:
                measure = _Measure(
                    family.name, metric.name, metric.label, metric.unit, metric.scale, metric.better, metric.relevant
                )
                yield measure, others[metric.name], curves[metric.name]


def _has_same_scenarios(reference: CcaResults, candidate: CcaResults, family: str) -> bool:
    return reference.scenarios.get(family) == candidate.scenarios.get(family)


def _points(reference: Curve, candidate: Curve) -> Iterator[tuple[str, Point, Point]]:
    others = {point.label: point for point in reference.points}
    for point in candidate.points:
        if point.label in others:
            yield point.label, others[point.label], point


def _pairs_of(reference: Point, candidate: Point, scale: Scale, *, is_new: bool = False) -> _Pairs:
    """Pair the values of the first seeds, or of the new ones, where both sides have one that the scale admits."""
    sides = []
    for point in (reference, candidate):
        columns = (point.new_seeds, point.new_samples) if is_new else (point.seeds, point.samples)
        sides.append(
            {
                seed: value
                for seed, value in zip(*columns, strict=True)
                if math.isfinite(value) and (value > 0.0 or not is_multiplicative(scale))
            }
        )
    seeds = [seed for seed in sides[1] if seed in sides[0]]
    return _Pairs(seeds, [sides[0][seed] for seed in seeds], [sides[1][seed] for seed in seeds])


def _relevant(measure: _Measure, pairs: _Pairs) -> float:
    mean = math.fsum(pairs.reference) / len(pairs.reference)
    return smallest_relevant(measure.scale, mean, measure.relevant)


def _within(measure: _Measure, pairs: _Pairs) -> Relation:
    """Return ``same`` if the 95 % interval is within the smallest relevant difference, otherwise ``undecided``."""
    relation = judge_difference(
        paired(pairs.reference, pairs.candidate, measure.scale), _relevant(measure, pairs), measure.better
    )
    return relation if relation is Relation.SAME else Relation.UNDECIDED


def _judge(
    measure: _Measure, label: str, reference: Point, candidate: Point, suspected: set[Suspect], confidence: float
) -> _Verdict | None:
    new = _pairs_of(reference, candidate, measure.scale, is_new=True)
    every = _pairs_of(reference, candidate, measure.scale) + new
    if not every.seeds:
        return None
    within = _Verdict(
        label,
        _within(measure, every),
        every,
        paired(every.reference, every.candidate, measure.scale),
        _relevant(measure, every),
        CONFIDENCE,
    )
    if Suspect(measure.family, measure.name, label) in suspected and len(new.seeds) > 1:
        difference = paired(new.reference, new.candidate, measure.scale, confidence=confidence)
        relevant = _relevant(measure, new)
        relation = judge_difference(difference, relevant, measure.better)
        if relation in (Relation.WORSE, Relation.BETTER) or within.relation is not Relation.SAME:
            return _Verdict(label, relation, new, difference, relevant, confidence)
    return within


def _standing(measure: _Measure, verdicts: Sequence[_Verdict]) -> Standing:
    at = {relation: [v for v in verdicts if v.relation is relation] for relation in Relation}
    order = (Relation.WORSE, Relation.BETTER, Relation.UNDECIDED, Relation.SAME)
    relation = next(one for one in order if at[one])
    decisive = max(at[relation], key=lambda v: v.size)
    pairs, found = decisive.pairs, decisive.difference
    return Standing(
        name=f"{measure.family}.{measure.name}",
        family=measure.family,
        metric=measure.name,
        title=measure.title,
        unit=measure.unit,
        scale=measure.scale,
        better=measure.better,
        relation=relation,
        why=_why(relation, at, len(verdicts)),
        at=decisive.label,
        reference=_mean(pairs.reference, measure.scale),
        candidate=_mean(pairs.candidate, measure.scale),
        difference=_shown(found.value, measure.scale),
        lo=_shown(found.lo, measure.scale),
        hi=_shown(found.hi, measure.scale),
        confidence=decisive.confidence,
        relevant=_shown(decisive.relevant, measure.scale),
        pairs=len(pairs.seeds),
        points=len(verdicts),
        worse_at=[v.label for v in at[Relation.WORSE]],
        better_at=[v.label for v in at[Relation.BETTER]],
        undecided_at=[v.label for v in at[Relation.UNDECIDED]],
    )


def _why(relation: Relation, at: dict[Relation, list[_Verdict]], points: int) -> str:
    if relation is Relation.SAME:
        return (
            "within the smallest relevant difference at every point"
            if points > 1
            else "within the smallest relevant difference"
        )
    where = f"at {len(at[relation])} of {points} points" if points > 1 else "at the only point"
    if relation is Relation.UNDECIDED:
        if any(len(v.pairs.seeds) < 2 for v in at[relation]):
            return f"{where}: fewer than two pairs of runs"
        return f"{where}: the interval contains relevant differences and is not confirmed to exclude 0"
    both = f"; better at {', '.join(v.label for v in at[Relation.BETTER])}" if relation is Relation.WORSE else ""
    return f"{where}, confirmed with new seeds{both if at[Relation.BETTER] else ''}"


def _mean(values: Sequence[float], scale: Scale) -> float:
    if is_multiplicative(scale):
        return math.exp(math.fsum(map(math.log, values)) / len(values))
    return math.fsum(values) / len(values)


def _shown(difference: float, scale: Scale) -> float | None:
    """Return a difference as results show it: that of logarithms as a factor; None where it has no bound."""
    if not math.isfinite(difference):
        return None
    if is_multiplicative(scale):
        return math.exp(difference) if difference < 700.0 else None
    return difference


def _of_faults(reference: CcaResults, candidate: CcaResults) -> Iterator[Standing]:
    """Compare the runs that did not end: a controller that crashes where the reference does not is worse."""
    for family in candidate.families:
        other = reference.family(family.name)
        if other is None or not _has_same_scenarios(reference, candidate, family.name):
            continue
        mine, theirs = (_failed(one) for one in (family, other))
        if not mine and not theirs:
            continue
        relation = Relation.WORSE if not theirs else Relation.BETTER if not mine else Relation.UNDECIDED
        shares = [len(failed) / max(one.planned, 1) for failed, one in ((theirs, other), (mine, family))]
        fault = (mine or theirs)[0]
        more = {Relation.WORSE: "the candidate's", Relation.BETTER: "the reference's"}.get(relation, "both sides'")
        yield Standing(
            name=f"{family.name}.{RUNS}",
            family=family.name,
            metric=RUNS,
            title="runs that did not end, as a fraction",
            better=Direction.AT_MOST,
            relation=relation,
            why=f"{more} runs did not end: {len(theirs)} of {other.planned} -> {len(mine)} of {family.planned}; "
            f"{fault.message}",
            at=fault.label,
            reference=shares[0],
            candidate=shares[1],
            difference=shares[1] - shares[0],
            points=1,
            worse_at=[fault.label] if relation is Relation.WORSE else [],
            better_at=[fault.label] if relation is Relation.BETTER else [],
            shown_by=[Side(cca=candidate.cca, scenario_toml=fault.scenario_toml)] if relation is Relation.WORSE else [],
        )


def _failed(family: FamilyResult) -> list[Fault]:
    """Return the faults of the controller, not those of this program."""
    return [fault for fault in family.faults if fault.kind != "error"]


def _of_searches(reference: CcaResults, candidate: CcaResults) -> Iterator[Standing]:
    """Compare the verdicts of searches, which have no seeds in common."""
    searched = {exhibit.name: exhibit for exhibit in reference.exhibits if exhibit.family not in FAMILIES}
    for exhibit in candidate.exhibits:
        other = searched.get(exhibit.name)
        if other is None:
            continue
        yield Standing(
            name=exhibit.name,
            family=exhibit.family,
            metric=exhibit.metric,
            title=exhibit.title,
            unit=exhibit.unit,
            relation=_by_verdict(other, exhibit),
            why=f"verdict of the search: {other.verdict} -> {exhibit.verdict}",
            at=exhibit.at,
            reference=other.value,
            candidate=exhibit.value,
            shown_by=[
                Side(cca=cca, value=one.value, scenario_toml=one.scenario_toml)
                for cca, one in ((candidate.cca, exhibit), (reference.cca, other))
                if one.scenario_toml is not None
            ],
        )


def _by_verdict(before: ClaimResult, now: ClaimResult) -> Relation:
    if before.verdict is now.verdict and now.verdict is not Outcome.UNKNOWN:
        return Relation.SAME
    if (before.verdict, now.verdict) == (Outcome.HOLDS, Outcome.FAILS):
        return Relation.WORSE
    if (before.verdict, now.verdict) == (Outcome.FAILS, Outcome.HOLDS):
        return Relation.BETTER
    return Relation.UNDECIDED


def _not_compared(reference: CcaResults, candidate: CcaResults) -> Iterator[str]:
    """Yield what only one side has, or what the two ran on different scenarios."""
    for one, other, name in ((candidate, reference, reference.cca), (reference, candidate, candidate.cca)):
        for family in one.families:
            if other.family(family.name) is None:
                yield f"{family.name}: not run for {name}"
    for family in candidate.families:
        other_family = reference.family(family.name)
        if other_family is None:
            continue
        if not _has_same_scenarios(reference, candidate, family.name):
            yield f"{family.name}: the scenarios differ"
            continue
        mine, theirs = (_measured_labels(one) for one in (family, other_family))
        for label in dict.fromkeys(chain(mine, theirs)):
            if label not in mine or label not in theirs:
                yield f"{family.name}, {label}: no runs for {reference.cca if label in mine else candidate.cca}"
    searches = [[e.name for e in one.exhibits if e.family not in FAMILIES] for one in (candidate, reference)]
    for name in dict.fromkeys(chain(*searches)):
        if name not in searches[0] or name not in searches[1]:
            yield f"{name}: not run for {reference.cca if name in searches[0] else candidate.cca}"


def _measured_labels(family: FamilyResult) -> list[str]:
    return list(dict.fromkeys(p.label for curve in family.curves for p in curve.points if p.samples))


def nearest_seed(standing: Standing, reference: CcaResults, candidate: CcaResults) -> int | None:
    """Return the seed of the pair of new runs whose difference is nearest their mean; None without pairs."""
    curves = [
        next((c for c in family.curves if c.metric == standing.metric), None)
        for one in (reference, candidate)
        if (family := one.family(standing.family)) is not None
    ]
    if len(curves) < 2 or curves[0] is None or curves[1] is None:
        return None
    for label, before, now in _points(curves[0], curves[1]):
        if label == standing.at:
            pairs = _pairs_of(before, now, standing.scale, is_new=True)
            if not pairs.seeds:
                return None
            each = [
                paired([r], [c], standing.scale).value for r, c in zip(pairs.reference, pairs.candidate, strict=True)
            ]
            mean = math.fsum(each) / len(each)
            return min(zip(pairs.seeds, each, strict=True), key=lambda pair: (abs(pair[1] - mean), pair[0]))[0]
    return None
