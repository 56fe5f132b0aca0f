"""Judge whether fairweir's results agree with published results.

A reading is a number computed from one run. For each check, the mean of the readings over seeds, with its interval, is
compared with a bound. The axis of an experiment is the quantity that it varies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

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
    times : float, fairweir's value divided by the published number at `at`; None if no number was published, if it is
        0, and if `value` is already relative
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
    times: float | None = None
    bound: str = ""
    runs: int = 0
    outcome: Outcome = Outcome.UNKNOWN
    why: str = ""
    is_known: bool = False


#: A value that differs from the published number by more than this factor does not confirm it, regardless of the bound.
FACTOR: Final = 2.0

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
        bound=bound_text(check, _numbers(check)),
    )
    estimates = _estimates(check, samples)
    if not estimates:
        finding.why = trouble or "no runs"
        return finding
    judged = [(outcome_of(check, row.estimate, row.published), row) for row in estimates]
    for wanted in (Outcome.FAILS, Outcome.UNKNOWN, Outcome.HOLDS):
        having = [row for outcome, row in judged if outcome is wanted]
        if having:
            worst = max(having, key=lambda row: _distance(check, row.estimate.value, row.published))
            finding.at, finding.runs, finding.outcome = worst.label, worst.runs, wanted
            finding.value, finding.lo, finding.hi = worst.estimate.value, worst.estimate.lo, worst.estimate.hi
            finding.times = times_published(check, worst.estimate.value, worst.published)
            break
    if trouble:
        finding.outcome, finding.why = Outcome.UNKNOWN, trouble
    elif finding.outcome is not Outcome.HOLDS and world in check.differs:
        finding.why, finding.is_known = check.differs[world], True
    return finding


@dataclass(frozen=True)
class _Estimate:
    """The mean reading at one point of the axis, with the number that was published for this point, if any."""

    label: str
    estimate: Interval
    runs: int
    published: float | None


def _estimates(check: Check, samples: Samples) -> list[_Estimate]:
    places = sorted(samples)
    if check.at == "growth":
        if len(places) < 2:
            return []
        (first, early), (last, late) = samples[places[0]], samples[places[-1]]
        growths = [b / a for a, b in zip(early, late, strict=False) if a > 0]
        published = check.published if isinstance(check.published, float) else None
        return [_Estimate(f"{first} to {last}", _interval(growths, None), len(growths), published)] if growths else []
    if check.at != "each":
        places = places[:1] if check.at == "first" else places[-1:]
    found = []
    for place in places:
        label, readings = samples[place]
        published = check.published_at(place)
        scale = SCALES.get(check.reading)
        if check.within is not None and published:
            readings, scale = [value / published for value in readings], None
        found.append(_Estimate(label, _interval(readings, scale), len(readings), published))
    return found


def _interval(readings: Sequence[float], scale: Scale | None) -> Interval:
    """Return the mean with its 95 % interval. If `scale` is None, errors multiply, as they do for rates and ratios."""
    if len(readings) == 1:
        return Interval(value=readings[0], lo=readings[0], hi=readings[0])
    if scale is None:
        scale = Scale.FACTOR if min(readings) > 0 else Scale.POSITIVE
    return interval(readings, scale)


def limits(check: Bound, published: float | None = None) -> tuple[float, float]:
    """Return the smallest and the largest value that satisfy the bounds of a check.

    If the check has `within`, the values are fractions of the published number. Otherwise, if a number was published,
    the value must also be within a factor of :data:`FACTOR` of it; a wider bound would hold for results that differ.

    Parameters
    ----------
    published : the published number; None or 0 if there is none
    """
    if check.within is not None:
        return 1 - check.within, 1 + check.within
    low = check.at_least if check.at_least is not None else float("-inf")
    high = check.at_most if check.at_most is not None else float("inf")
    if published and not _is_bound(check, published):
        ends = sorted((published / FACTOR, published * FACTOR))
        low, high = max(low, ends[0]), min(high, ends[1])
    return low, high


def _is_bound(check: Bound, published: float) -> bool:
    """Return whether the published number is a bound itself, as in "at most 6.6"; values far from it are no
    contradiction.
    """
    return any(bound is not None and abs(bound / published - 1) < 1e-3 for bound in (check.at_least, check.at_most))


def outcome_of(check: Bound, estimate: Interval, published: float | None = None) -> Outcome:
    """Return ``holds`` if the whole interval satisfies the bounds, ``fails`` if the whole interval violates them, and
    otherwise ``unknown``. The bounds are those of :func:`limits`.
    """
    low, high = limits(check, published)
    if low <= estimate.lo and estimate.hi <= high:
        return Outcome.HOLDS
    if estimate.hi < low or estimate.lo > high:
        return Outcome.FAILS
    return Outcome.UNKNOWN


def times_published(check: Bound, value: float, published: float | None) -> float | None:
    """Return a value divided by the published number; None if there is none, or if the value is already relative."""
    return value / published if published and check.within is None else None


def _distance(check: Check, value: float, published: float | None) -> float:
    """Return the distance of a value from the nearest bound; it is negative if the value satisfies the bounds."""
    low, high = limits(check, published)
    return max(low - value, value - high)


def bound_text(check: Bound, published: Sequence[float] = ()) -> str:
    """Return the bounds of a check as text.

    Parameters
    ----------
    published : the published numbers, to which the factor of :func:`limits` applies
    """
    if check.within is not None:
        return f"±{plain(100 * check.within)}%"
    low, high = limits(check)
    if low == float("-inf"):
        text = f"≤ {plain(high)}"
    else:
        text = f"≥ {plain(low)}" if high == float("inf") else f"{plain(low)} to {plain(high)}"
    numbers = [value for value in published if value]
    is_narrower = any(limits(check, value) != (low, high) for value in numbers)
    return f"{text}, ×{plain(1 / FACTOR)} to ×{plain(FACTOR)}" if is_narrower else text


def _numbers(check: Check) -> list[float]:
    if isinstance(check.published, str):
        return []
    return check.published if isinstance(check.published, list) else [check.published]


def _published(check: Check) -> str:
    return check.published if isinstance(check.published, str) else ", ".join(plain(v) for v in _numbers(check))
