"""Judge whether fairweir's results agree with published results.

A reading is a number computed from one run. For each check, the mean of the readings over seeds, with its interval, is
compared with a bound. The axis of an experiment is the quantity that it varies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from fairweir.documents.digits import plain
from fairweir.judging.interval import Scale, interval
from fairweir.judging.outcome import Interval, Outcome
from fairweir.play.run import TcpWorld
from fairweir.reproduce.experiment import Bound, Case, Check
from fairweir.reproduce.readings import SCALES


class Finding(BaseModel):
    """The result of a check in one world, or of a check of a computed value.

    Attributes
    ----------
    experiment, case, claim : str
    world : "sim", "kernel" or "computed"
    reading : str, name of the reading; "growth of ..." if its growth along the axis is judged
    at : str, the value on the axis that determines the outcome; empty if there is no axis
    published : str, the published value, as printed
    value, lo, hi : float; fairweir's value and its interval over seeds, divided by the published value if
        `is_relative`. A single run has no interval; `lo` and `hi` then equal `value`
    bound : str, the bound as printed
    runs : int, number of runs from which the value was computed; 0 for a computed value
    outcome : Outcome
    why : str; the reason why the check is not judged, or the known reason for a difference
    is_known : bool; whether the experiment's file states a reason for the difference
    """

    model_config = ConfigDict(extra="forbid")

    experiment: str
    case: str
    claim: str
    world: TcpWorld | Literal["computed"]
    reading: str
    at: str = ""
    published: str = ""
    value: float | None = None
    lo: float | None = None
    hi: float | None = None
    is_relative: bool = False
    bound: str = ""
    runs: int = 0
    outcome: Outcome = Outcome.UNKNOWN
    why: str = ""
    is_known: bool = False


#: Index of a point on the axis -> label of the point, and one reading per run.
Samples = Mapping[int, tuple[str, Sequence[float]]]


def judge(experiment: str, case: Case, check: Check, world: TcpWorld, samples: Samples, trouble: str = "") -> Finding:
    """Judge one check in one world (the simulator or the kernel).

    Parameters
    ----------
    samples : dict from the index of a point on the axis to the point's label and its readings, one per run
    trouble : str; if a run failed or is not judged, the reason; the outcome of the check is then unknown
    """
    finding = Finding(
        experiment=experiment,
        case=case.name,
        claim=check.claim,
        world=world,
        reading=f"growth of {check.reading}" if check.at == "growth" else check.reading,
        published=_published(check),
        is_relative=check.within is not None,
        bound=bound_text(check),
    )
    estimates = _estimates(check, samples)
    if not estimates:
        finding.why = trouble or "no runs"
        return finding
    judged = [(outcome_of(check, estimate), label, estimate, runs) for label, estimate, runs in estimates]
    for wanted in (Outcome.FAILS, Outcome.UNKNOWN, Outcome.HOLDS):
        having = [row for row in judged if row[0] is wanted]
        if having:
            _, finding.at, estimate, finding.runs = max(having, key=lambda row: _distance(check, row[2].value))
            finding.value, finding.lo, finding.hi, finding.outcome = estimate.value, estimate.lo, estimate.hi, wanted
            break
    if trouble:
        finding.outcome, finding.why = Outcome.UNKNOWN, trouble
    elif finding.outcome is not Outcome.HOLDS and world in check.differs:
        finding.why, finding.is_known = check.differs[world], True
    return finding


def _estimates(check: Check, samples: Samples) -> list[tuple[str, Interval, int]]:
    places = sorted(samples)
    if check.at == "growth":
        if len(places) < 2:
            return []
        (first, early), (last, late) = samples[places[0]], samples[places[-1]]
        growths = [b / a for a, b in zip(early, late, strict=False) if a > 0]
        return [(f"{first} to {last}", _interval(growths, None), len(growths))] if growths else []
    if check.at != "each":
        places = places[:1] if check.at == "first" else places[-1:]
    found = []
    for place in places:
        label, readings = samples[place]
        published = check.published_at(place)
        scale = SCALES.get(check.reading)
        if check.within is not None and published:
            readings, scale = [value / published for value in readings], None
        found.append((label, _interval(readings, scale), len(readings)))
    return found


def _interval(readings: Sequence[float], scale: Scale | None) -> Interval:
    """Return the mean with its 95 % interval. If `scale` is None, errors multiply, as they do for rates and ratios."""
    if len(readings) == 1:
        return Interval(value=readings[0], lo=readings[0], hi=readings[0])
    if scale is None:
        scale = Scale.FACTOR if min(readings) > 0 else Scale.POSITIVE
    return interval(readings, scale)


def limits(check: Bound) -> tuple[float, float]:
    """Return the smallest and the largest value that satisfy the bounds of a check.

    If the check has `within`, the values are fractions of the published number.
    """
    if check.within is not None:
        return 1 - check.within, 1 + check.within
    low = check.at_least if check.at_least is not None else float("-inf")
    high = check.at_most if check.at_most is not None else float("inf")
    return low, high


def outcome_of(check: Bound, estimate: Interval) -> Outcome:
    """Return ``holds`` if the whole interval satisfies the bounds, ``fails`` if the whole interval violates them, and
    otherwise ``unknown``.
    """
    low, high = limits(check)
    if low <= estimate.lo and estimate.hi <= high:
        return Outcome.HOLDS
    if estimate.hi < low or estimate.lo > high:
        return Outcome.FAILS
    return Outcome.UNKNOWN


def _distance(check: Check, value: float) -> float:
    """Return the distance of a value from the nearest bound; it is negative if the value satisfies the bounds."""
    low, high = limits(check)
    return max(low - value, value - high)


def bound_text(check: Bound) -> str:
    """Return the bounds of a check as text."""
    if check.within is not None:
        return f"±{plain(100 * check.within)}%"
    low, high = limits(check)
    if low == float("-inf"):
        return f"≤ {plain(high)}"
    return f"≥ {plain(low)}" if high == float("inf") else f"{plain(low)} to {plain(high)}"


def _published(check: Check) -> str:
    if isinstance(check.published, list):
        return ", ".join(f"{plain(value)}" for value in check.published)
    return check.published if isinstance(check.published, str) else f"{plain(check.published)}"
