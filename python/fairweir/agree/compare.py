"""Compare one scenario with one CCA between the two worlds.

A world is an implementation that runs scenarios: the simulator, or Linux TCP in the kernel. A cell is one CCA in one
scenario; the cells of all CCAs and scenarios make a matrix.

Flows of the same table of a scenario are exchangeable: which of them gets most is chance. Their throughputs are
therefore compared by rank, the largest of a run with the largest of others. A throughput agrees if the means of the
worlds differ by at most 10 % of a scale. The scale is the larger of two values: the flow's fair share (the simulator's
total throughput divided by the number of flows) and the throughput in the simulator. The mean RTT of the flows of a
table agrees if the worlds differ by at most 10 % or 1 ms, whichever is larger; the loss rate of all flows, if they
differ by at most 10 % or a tenth of a percentage point.

A larger difference also counts as agreement, and is marked, if chance can explain it: if the runs of both worlds are
enough for a test, because a permutation test does not tell their distributions apart
(:mod:`fairweir.judging.permutation`), else because the kernel's value is within the 95 % prediction interval of a
further simulated run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from fairweir.agree.measured import Measured
from fairweir.judging import permutation
from fairweir.judging.interval import student_t
from fairweir.judging.outcome import Outcome

#: Maximum difference that counts as agreement, as a fraction of a throughput's scale or of an RTT.
TOLERANCE = 0.10
#: Difference of mean RTTs that is always allowed, ms. Timers and the lateness of the kernel world's link emulator cause
#: differences of this size.
RTT_SLACK_MS = 1.0
#: Difference of loss rates that is always allowed, percentage points.
LOSS_SLACK = 0.1

#: The quantities that are compared.
Quantity = Literal["throughput_mbps", "rtt_ms", "loss_percent"]
#: The unit and the name of each quantity.
NAMES: Final[dict[Quantity, tuple[str, str]]] = {
    "throughput_mbps": ("Mbit/s", "throughput"),
    "rtt_ms": ("ms", "mean RTT"),
    "loss_percent": ("%", "loss rate"),
}


class Standing(StrEnum):
    """The result of comparing the worlds in one cell."""

    AGREES = "agrees"
    DIFFERS = "differs"
    NOT_JUDGED = "not judged"
    NOT_PLAYED = "not run"

    @property
    def verdict(self) -> Outcome:
        """The outcome of the claim that both worlds agree."""
        return {"agrees": Outcome.HOLDS, "differs": Outcome.FAILS, "not judged": Outcome.UNKNOWN}.get(
            self.value, Outcome.INFO
        )


class Comparison(BaseModel):
    """One quantity in both worlds.

    Attributes
    ----------
    flow : str; id of the flow, the rank among the flows of a table, or "all flows"
    quantity : "throughput_mbps", "rtt_ms" or "loss_percent"
    first, second : float; mean over the runs of the first side (the simulator), and of the second side (the kernel)
    lo, hi : float; 95 % prediction interval of a further run of the first side
    allowed : float; maximum difference that counts as agreement
    off : float; (second - first) divided by the scale
    p : float; p-value of the permutation test; None if there are too few runs for a test
    by : why the values count as equal: "tolerance" (the difference is allowed) or "chance" (the permutation test does
        not tell the distributions apart, or the second value is in the prediction interval); empty if they differ
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    flow: str
    quantity: Quantity
    first: float
    second: float
    lo: float
    hi: float
    allowed: float
    off: float
    p: float | None = None
    by: Literal["tolerance", "chance", ""]

    @property
    def agrees(self) -> bool:
        """Whether the worlds agree on this quantity."""
        return bool(self.by)


class Cell(BaseModel):
    """One CCA in one scenario.

    Attributes
    ----------
    cca, scenario : str
    standing : Standing
    why : str; the largest difference in words, or the reason why the cell is not judged
    known : str; the known reason for a difference; empty if there is none
    comparisons : list of Comparison; empty if nothing was compared
    setting : str; the cell in words, if a design drew it
    runs : int; number of runs of the second side, such as the kernel
    release_p99_us : float, us; the lateness of the emulator's packets: the 99th percentile in a run, and the maximum
        over the kernel's runs
    """

    model_config = ConfigDict(extra="forbid")

    cca: str
    scenario: str
    standing: Standing
    why: str = ""
    known: str = ""
    comparisons: list[Comparison] = []
    setting: str = ""
    runs: int = 0
    release_p99_us: float | None = None

    @property
    def worst(self) -> Comparison | None:
        """The comparison with the largest difference; comparisons in which the worlds disagree take precedence."""
        return max(self.comparisons, key=lambda c: (not c.agrees, abs(c.off)), default=None)

    @property
    def only_by_chance(self) -> bool:
        """Whether the worlds agree, but for at least one value only because chance can explain the difference."""
        return self.standing is Standing.AGREES and any(c.by == "chance" for c in self.comparisons)


def compare(
    cca: str,
    scenario: str,
    first: Sequence[Measured],
    second: Sequence[Measured],
    names: tuple[str, str] = ("simulated", "on the kernel"),
    tables: Sequence[int] = (),
) -> Cell:
    """Compare the runs of one cell.

    Parameters
    ----------
    first, second : values of the runs of the two sides, such as the simulator and the kernel; at least one each, with
        the same flows
    names : names of the sides, for the cell's reason
    tables : number of exchangeable flows of each table of the scenario; default: no flows are exchangeable

    Returns
    -------
    Cell, which is ``not judged`` if the emulator was too late in any run in the kernel
    """
    late = max((run.release_p99_us for run in second if run.release_p99_us is not None), default=None)
    reasons = [run.not_judged for run in second if run.not_judged]
    groups = list(_groups(tables or [1] * len(first[0].flows)))
    comparisons = [
        *_throughputs(first, second, groups),
        *_rtts(first, second, groups),
        _judge("all flows", "loss_percent", _losses(first), _losses(second)),
    ]
    cell = Cell(
        cca=cca,
        scenario=scenario,
        standing=Standing.AGREES,
        comparisons=comparisons,
        runs=len(second),
        release_p99_us=late,
    )
    if reasons:
        cell.standing, cell.why = Standing.NOT_JUDGED, reasons[0]
    elif not all(c.agrees for c in comparisons):
        cell.standing = Standing.DIFFERS
    if not reasons and cell.worst is not None:
        cell.why = describe(cell.worst, names)
    return cell


def describe(comparison: Comparison, names: tuple[str, str]) -> str:
    """Return a sentence with both values and their difference."""
    unit, noun = NAMES[comparison.quantity]
    return (
        f"{comparison.flow}: {noun} {comparison.second:.3g} {unit} {names[1]}, {comparison.first:.3g} {names[0]}"
        f" [{comparison.lo:.3g}, {comparison.hi:.3g}] ({comparison.off:+.0%})"
    )


def _groups(tables: Sequence[int]) -> Iterator[range]:
    """Yield the indices of the flows of each table."""
    first = 0
    for number in tables:
        yield range(first, first + number)
        first += number


def _throughputs(
    first: Sequence[Measured], second: Sequence[Measured], groups: Sequence[range]
) -> Iterator[Comparison]:
    fair = _mean([flow.throughput_mbps for run in first for flow in run.flows])
    for group in groups:
        sides = [[_ranked(run, group) for run in side] for side in (first, second)]
        for rank in range(len(group)):
            samples, measured = ([run[rank] for run in side] for side in sides)
            yield _judge(_rank(first[0], group, rank), "throughput_mbps", samples, measured, max(fair, _mean(samples)))


def _ranked(run: Measured, group: range) -> list[float]:
    return sorted((run.flows[i].throughput_mbps for i in group), reverse=True)


def _rank(run: Measured, group: range, rank: int) -> str:
    ids = [run.flows[i].id for i in group]
    return ids[0] if len(ids) == 1 else f"{ids[0]} to {ids[-1]}, rank {rank + 1}"


def _rtts(first: Sequence[Measured], second: Sequence[Measured], groups: Sequence[range]) -> Iterator[Comparison]:
    for group in groups:
        samples, measured = ([mean for run in side for mean in _mean_rtts(run, group)] for side in (first, second))
        # Flows without ACKs have no RTT to compare; only their throughput is compared.
        if samples and measured:
            ids = [first[0].flows[i].id for i in group]
            yield _judge(ids[0] if len(ids) == 1 else f"{ids[0]} to {ids[-1]}", "rtt_ms", samples, measured)


def _mean_rtts(run: Measured, group: range) -> list[float]:
    """Return the mean over the flows of their mean RTTs, or nothing if none has samples."""
    means = [mean for i in group if (mean := run.flows[i].mean_rtt_ms) is not None]
    return [_mean(means)] if means else []


def _losses(runs: Sequence[Measured]) -> list[float]:
    """Return the loss rate of all flows of each run, percent."""
    found = []
    for run in runs:
        lost, delivered = sum(f.lost_pkts for f in run.flows), sum(f.delivered_pkts for f in run.flows)
        found.append(100.0 * lost / max(lost + delivered, 1))
    return found


#: Difference that is always allowed.
SLACK: Final[dict[Quantity, float]] = {"throughput_mbps": 0.0, "rtt_ms": RTT_SLACK_MS, "loss_percent": LOSS_SLACK}


def _judge(
    flow: str, quantity: Quantity, samples: Sequence[float], measured: Sequence[float], scale: float | None = None
) -> Comparison:
    """Compare the values of two sides; the scale is the first side's mean unless it is given."""
    first, second = _mean(samples), _mean(measured)
    scale = first if scale is None else scale
    allowed = max(scale * TOLERANCE, SLACK[quantity])
    half = prediction_half_width(samples, len(measured))
    lo, hi = max(0.0, first - half), first + half
    p = permutation.p_value(samples, measured) if permutation.can_reject(len(samples), len(measured)) else None
    by: Literal["tolerance", "chance", ""] = ""
    if abs(second - first) <= allowed:
        by = "tolerance"
    elif p > permutation.LEVEL if p is not None else lo <= second <= hi:
        by = "chance"
    # A difference of small numbers, such as 0 and 0.2 % of losses, is measured by the slack.
    scale = max(scale, SLACK[quantity] / TOLERANCE)
    return Comparison(
        flow=flow,
        quantity=quantity,
        first=first,
        second=second,
        lo=lo,
        hi=hi,
        allowed=allowed,
        off=(second - first) / scale if scale > 0 else 0.0,
        p=p,
        by=by,
    )


def prediction_half_width(samples: Sequence[float], further: int) -> float:
    """Return half the width of the 95 % prediction interval (Student's t) of the mean over `further` more runs.

    If there is a single sample, which has no spread, return 0.
    """
    n = len(samples)
    if n < 2:
        return 0.0
    mean = _mean(samples)
    deviation = math.sqrt(math.fsum((x - mean) ** 2 for x in samples) / (n - 1))
    return student_t(n - 1) * deviation * math.sqrt(1 / n + 1 / further)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
