"""Compare one scenario with one CCA between the two worlds, flow by flow.

A world is an implementation that runs scenarios: the simulator, or Linux TCP in the kernel. A cell is one CCA in one
scenario; the cells of all CCAs and scenarios make a matrix.

A flow's throughput agrees if the worlds differ by at most 10 % of a scale. The scale is the larger of two values: the
flow's fair share (the simulator's total throughput divided by the number of flows) and the flow's throughput in the
simulator. A flow's mean RTT agrees if the worlds differ by at most 10 % or 2 ms, whichever is larger. A larger
difference also counts as agreement if the kernel's value is within the 95 % prediction interval of a further simulated
run, because another seed could then cause the difference. Such an agreement is marked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict

from fairweir.judging.interval import student_t
from fairweir.judging.outcome import Outcome
from fairweir.judging.summary import Summary

#: Maximum difference that counts as agreement, as a fraction of a throughput's scale or of an RTT.
TOLERANCE = 0.10
#: Difference of mean RTTs that is always allowed, ms. Timers and the lateness of the kernel world's link emulator cause
#: differences of this size.
RTT_SLACK_MS = 2.0


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
    """One quantity of one flow in both worlds.

    Attributes
    ----------
    flow : str, id of the flow
    quantity : "throughput_mbps" or "rtt_ms"
    first, second : float; mean over the runs of the first side (the simulator), and of the second side (the kernel)
    lo, hi : float; 95 % prediction interval of a further run of the first side
    allowed : float; maximum difference that counts as agreement
    off : float; (second - first) divided by the scale
    by : why the values count as equal: "tolerance" (the difference is allowed) or "seeds" (the second value is in the
        prediction interval); empty if they differ
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    flow: str
    quantity: Literal["throughput_mbps", "rtt_ms"]
    first: float
    second: float
    lo: float
    hi: float
    allowed: float
    off: float
    by: Literal["tolerance", "seeds", ""]

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
    comparisons : list of Comparison, two per flow; empty if nothing was compared
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
    release_p99_us: float | None = None

    @property
    def worst(self) -> Comparison | None:
        """The comparison with the largest difference; comparisons in which the worlds disagree take precedence."""
        return max(self.comparisons, key=lambda c: (not c.agrees, abs(c.off)), default=None)

    @property
    def only_by_seeds(self) -> bool:
        """Whether the worlds agree, but for at least one value only because of the spread over seeds."""
        return self.standing is Standing.AGREES and any(c.by == "seeds" for c in self.comparisons)


def compare(
    cca: str,
    scenario: str,
    first: Sequence[Summary],
    second: Sequence[Summary],
    names: tuple[str, str] = ("simulated", "on the kernel"),
) -> Cell:
    """Compare the runs of one cell.

    Parameters
    ----------
    first, second : summaries of the runs of the two sides, such as the simulator and the kernel; at least one each,
        with the same flows
    names : names of the sides, for the cell's reason

    Returns
    -------
    Cell, which is ``not judged`` if the emulator was too late in any run in the kernel
    """
    emulators = [run.emulator for run in second if run.emulator is not None]
    late = max((emulator.release_error_us.p99 for emulator in emulators), default=None)
    reasons = [emulator.reason for emulator in emulators if not emulator.judged]
    comparisons = [*_throughputs(first, second), *_rtts(first, second)]
    cell = Cell(cca=cca, scenario=scenario, standing=Standing.AGREES, comparisons=comparisons, release_p99_us=late)
    if reasons:
        cell.standing, cell.why = Standing.NOT_JUDGED, reasons[0]
    elif not all(c.agrees for c in comparisons):
        cell.standing = Standing.DIFFERS
    if not reasons and cell.worst is not None:
        cell.why = describe(cell.worst, names)
    return cell


def describe(comparison: Comparison, names: tuple[str, str]) -> str:
    """Return a sentence with both values and their difference."""
    unit, noun = ("Mbit/s", "throughput") if comparison.quantity == "throughput_mbps" else ("ms", "mean RTT")
    return (
        f"{comparison.flow}: {noun} {comparison.second:.3g} {unit} {names[1]}, {comparison.first:.3g} {names[0]}"
        f" [{comparison.lo:.3g}, {comparison.hi:.3g}] ({comparison.off:+.0%})"
    )


def _throughputs(first: Sequence[Summary], second: Sequence[Summary]) -> list[Comparison]:
    flows = range(len(first[0].flows))
    columns = [[run.flows[i].throughput_mbps for run in first] for i in flows]
    fair = sum(map(_mean, columns)) / len(columns)
    found = []
    for i in flows:
        measured = [run.flows[i].throughput_mbps for run in second]
        scale = max(fair, _mean(columns[i]))
        found.append(_judge(first[0].flows[i].id, "throughput_mbps", columns[i], measured, scale, scale * TOLERANCE))
    return found


def _rtts(first: Sequence[Summary], second: Sequence[Summary]) -> list[Comparison]:
    found = []
    for i, flow in enumerate(first[0].flows):
        samples, measured = _mean_rtts(first, i), _mean_rtts(second, i)
        if not samples or not measured:
            # A flow without ACKs has no RTT to compare; only its throughput is compared.
            continue
        scale = _mean(samples)
        found.append(_judge(flow.id, "rtt_ms", samples, measured, scale, max(scale * TOLERANCE, RTT_SLACK_MS)))
    return found


def _mean_rtts(runs: Sequence[Summary], flow: int) -> list[float]:
    means = [run.flows[flow].rtt_ms.mean for run in runs]
    return [mean for mean in means if mean is not None]


def _judge(
    flow: str,
    quantity: Literal["throughput_mbps", "rtt_ms"],
    samples: Sequence[float],
    measured: Sequence[float],
    scale: float,
    allowed: float,
) -> Comparison:
    first, second = _mean(samples), _mean(measured)
    half = prediction_half_width(samples, len(measured))
    lo, hi = max(0.0, first - half), first + half
    by: Literal["tolerance", "seeds", ""] = ""
    if abs(second - first) <= allowed:
        by = "tolerance"
    elif lo <= second <= hi:
        by = "seeds"
    return Comparison(
        flow=flow,
        quantity=quantity,
        first=first,
        second=second,
        lo=lo,
        hi=hi,
        allowed=allowed,
        off=(second - first) / scale if scale > 0 else 0.0,
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
