"""Mechanisms that explain a difference: measures in which the sides differ, and the cause that they suggest."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict

from fairweir.judging.difference import unpaired
from fairweir.judging.interval import Scale, interval
from fairweir.judging.outcome import Interval
from fairweir.show import formats

#: Minimum number of runs on each side that must have a measure.
_MIN_RUNS: Final = 2
#: Tolerance within which a decrease counts as 1, or as the other side's decrease applied twice (its square).
_NEAR: Final = 0.04


@dataclass(frozen=True)
class Measure:
    """A measure of a mechanism.

    Attributes
    ----------
    text : sentence about the candidate's value, which replaces ``{}``
    unit : str
    scale : scale of the measure's intervals
    relevant : smallest relevant difference
    is_relative : whether `relevant` is a fraction of the reference's value
    cause : function of (candidate's value, reference's value) that returns the suggested cause, or an empty text
    """

    text: str
    unit: str
    scale: Scale
    relevant: float
    is_relative: bool
    cause: Callable[[float, float], str]


#: Measures of a start that competing flows disturb; they are compared only where a flow is alone.
ALONE: Final = frozenset({"exits_before_loss", "first_loss_bdp"})
#: Confidence of a difference. A table has hundreds of differences, and a wrong cause misleads.
CONFIDENCE: Final = 0.99


class Mechanism(BaseModel):
    """A measure that differs.

    Attributes
    ----------
    measure : str, a name in :data:`MEASURES`
    candidate, reference : Interval over runs
    text : str; both values in words
    cause : str; the known cause that these values suggest, empty if none is known
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    measure: str
    candidate: Interval
    reference: Interval
    text: str
    cause: str = ""

    def __str__(self) -> str:
        return f"{self.text}: {self.cause}?" if self.cause else self.text


def _decrease(candidate: float, reference: float) -> str:
    if reference < 1 and abs(candidate - reference**2) <= _NEAR:
        return "decrease applied twice, or another multiplicative decrease (beta)"
    if candidate < 1 and abs(reference - candidate**2) <= _NEAR:
        return "the reference applies its decrease twice"
    if candidate > 1 - _NEAR:
        return "losses tolerated, or the decrease undone (rollback)"
    return "another multiplicative decrease (beta)"


def _regain(candidate: float, reference: float) -> str:
    if candidate > reference:
        return "slower growth: a smaller C or additive increase, or fast convergence applied more often"
    return "faster growth: a larger C or additive increase, or no fast convergence"


def _exits(candidate: float, reference: float) -> str:
    return "no HyStart" if candidate < reference else "HyStart, which the reference lacks"


def _paced(candidate: float, reference: float) -> str:
    return (
        "no pacing, or a rate that is not published" if candidate < reference else "pacing, which the reference lacks"
    )


def _pacing(candidate: float, reference: float) -> str:
    if candidate > 1 > reference:
        return "the rate of the controller's model ignored, and a multiple of cwnd per RTT used"
    if reference > 1 > candidate:
        return "paced by a model's rate"
    return "another pacing gain"


def _min_cwnd(candidate: float, reference: float) -> str:
    return f"another minimum window: {candidate:.0f} packets" if min(candidate, reference) <= 8 else ""


def _used(candidate: float, reference: float) -> str:
    return "cwnd is not the limit: pacing or the application is" if candidate < reference else ""


def _nothing(candidate: float, reference: float) -> str:
    return ""


def _losses(candidate: float, reference: float) -> str:
    return "bursts, or losses tolerated" if candidate > 5 * reference else ""


#: Measures, in the order in which they explain a difference.
MEASURES: Final[Mapping[str, Measure]] = {
    "decrease": Measure(
        "cwnd falls to {} of its value per loss event", "", Scale.POSITIVE, 0.03, is_relative=False, cause=_decrease
    ),
    "regain_s": Measure(
        "cwnd regains 90 % of its value {} after a loss",
        "s",
        Scale.POSITIVE,
        0.15,
        is_relative=True,
        cause=_regain,
    ),
    "pacing": Measure("the pacing rate is {} cwnd per RTT", "", Scale.POSITIVE, 0.1, is_relative=True, cause=_pacing),
    "paced": Measure("a pacing rate is set {} of the time", "", Scale.FRACTION, 0.5, is_relative=False, cause=_paced),
    "exits_before_loss": Measure(
        "slow start ends before a loss in {} of the runs",
        "",
        Scale.FRACTION,
        0.5,
        is_relative=False,
        cause=_exits,
    ),
    "first_loss_bdp": Measure(
        "cwnd reaches {} BDP before the first loss", "", Scale.POSITIVE, 0.2, is_relative=True, cause=_nothing
    ),
    "used": Measure("{} of cwnd is in flight", "", Scale.POSITIVE, 0.1, is_relative=False, cause=_used),
    "min_cwnd_pkts": Measure("cwnd is at least {}", "packets", Scale.POSITIVE, 0.3, is_relative=True, cause=_min_cwnd),
    "loss_rate": Measure("{} of the packets are lost", "", Scale.FRACTION, 0.001, is_relative=False, cause=_losses),
    "loss_events_per_s": Measure(
        "loss events occur {}", "per s", Scale.POSITIVE, 0.2, is_relative=True, cause=_nothing
    ),
    "timeouts": Measure("timeouts occur {}", "per run", Scale.POSITIVE, 1.0, is_relative=False, cause=_nothing),
}


def explain(
    candidate: Sequence[Mapping[str, float]], reference: Sequence[Mapping[str, float]], *, is_alone: bool
) -> list[Mechanism]:
    """Return the measures that differ, in the order of :data:`MEASURES`.

    Parameters
    ----------
    candidate, reference : the measures of each run
    is_alone : whether the runs have a single flow

    Returns
    -------
    list of Mechanism ; a measure differs if the 99 % interval of the difference of means excludes 0, and the
    difference is relevant
    """
    found = []
    for name, measure in MEASURES.items():
        if name in ALONE and not is_alone:
            continue
        sides = [[run[name] for run in runs if name in run] for runs in (candidate, reference)]
        if min(map(len, sides)) < _MIN_RUNS:
            continue
        difference = unpaired(sides[1], sides[0], confidence=CONFIDENCE)
        old = math.fsum(sides[1]) / len(sides[1])
        relevant = measure.relevant * (abs(old) if measure.is_relative else 1.0)
        if abs(difference.value) > relevant and not difference.lo <= 0.0 <= difference.hi:
            ours, theirs = (interval(side, measure.scale) for side in sides)
            found.append(
                Mechanism(
                    measure=name,
                    candidate=ours,
                    reference=theirs,
                    text=_text(measure, ours.value, theirs.value),
                    cause=measure.cause(ours.value, theirs.value),
                )
            )
    return found


def _text(measure: Measure, candidate: float, reference: float) -> str:
    shown = [" ".join(part for part in (formats.number(v), measure.unit) if part) for v in (candidate, reference)]
    return f"{measure.text.format(shown[0])}, reference {shown[1]}"
