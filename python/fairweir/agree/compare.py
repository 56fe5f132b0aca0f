"""One cell of the matrix: the same scenario in both worlds, flow by flow.

A flow's throughput agrees if the worlds differ by at most 10 % of the larger of its fair share (the simulator's total
divided by the number of flows) and its throughput in the simulator; its mean RTT, by at most 10 % or 2 ms, whichever is
larger. Randomness of the scenario is not disagreement: a difference that another seed of the simulator would also show
(the 95 % prediction interval of a further run, over the seeds run) counts as agreement, and is marked.
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

#: Share of a throughput's scale, and of an RTT, by which the worlds may differ.
TOLERANCE = 0.10
#: ms by which mean RTTs may differ at any value: timers and the emulator's own lateness.
RTT_SLACK_MS = 2.0


class Standing(StrEnum):
    """How a cell compares."""

    AGREES = "agrees"
    DIFFERS = "differs"
    NOT_JUDGED = "not judged"
    NOT_PLAYED = "not run"

    @property
    def verdict(self) -> Outcome:
        """Of the claim that both worlds agree."""
        return {"agrees": Outcome.HOLDS, "differs": Outcome.FAILS, "not judged": Outcome.UNKNOWN}.get(
            self.value, Outcome.INFO
        )


class Comparison(BaseModel):
    """One quantity of one flow in both worlds.

    Attributes
    ----------
    flow : str, id
    quantity : "throughput_mbps" or "rtt_ms"
    sim, kernel : float; means over the runs of each world
    lo, hi : float; interval that contains 95 of 100 further simulations
    allowed : float; maximum difference that counts as agreement
    off : float; kernel less sim, by the scale of the tolerance: 0.1 is a tenth
    by : "tolerance", "seeds" (only chance explains it), or empty where they differ
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    flow: str
    quantity: Literal["throughput_mbps", "rtt_ms"]
    sim: float
    kernel: float
    lo: float
    hi: float
    allowed: float
    off: float
    by: Literal["tolerance", "seeds", ""]

    @property
    def agrees(self) -> bool:
        """Whether the worlds agree."""
        return bool(self.by)


class Cell(BaseModel):
    """One controller in one scenario.

    Attributes
    ----------
    cca, scenario : str
    standing : Standing
    why : str; the largest difference, or the reason why it is not judged
    known : str; the reason for a difference, where one has been found
    comparisons : list of Comparison; two per flow, empty if nothing was compared
    release_p99_us : float; the emulator's lateness, the largest over the kernel's runs
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
        """The comparison with the largest difference, disagreeing ones first."""
        return max(self.comparisons, key=lambda c: (not c.agrees, abs(c.off)), default=None)

    @property
    def only_by_seeds(self) -> bool:
        """Whether it agrees only because the seeds' spread explains a difference."""
        return self.standing is Standing.AGREES and any(c.by == "seeds" for c in self.comparisons)


def compare(cca: str, scenario: str, sims: Sequence[Summary], kernels: Sequence[Summary]) -> Cell:
    """Judge one cell.

    Parameters
    ----------
    sims, kernels : summaries of the runs in each world, at least one each; of the same flows

    Returns
    -------
    Cell ; ``not judged`` if a run on the kernel may not be judged
    """
    emulators = [kernel.emulator for kernel in kernels if kernel.emulator is not None]
    late = max((emulator.release_error_us.p99 for emulator in emulators), default=None)
    reasons = [emulator.reason for emulator in emulators if not emulator.judged]
    comparisons = [*_throughputs(sims, kernels), *_rtts(sims, kernels)]
    cell = Cell(cca=cca, scenario=scenario, standing=Standing.AGREES, comparisons=comparisons, release_p99_us=late)
    if reasons:
        cell.standing, cell.why = Standing.NOT_JUDGED, reasons[0]
    elif not all(c.agrees for c in comparisons):
        cell.standing = Standing.DIFFERS
    if not reasons and cell.worst is not None:
        cell.why = describe(cell.worst)
    return cell


def describe(comparison: Comparison) -> str:
    """Return in words how far a flow's quantity is off."""
    unit, noun = ("Mbit/s", "throughput") if comparison.quantity == "throughput_mbps" else ("ms", "mean RTT")
    return (
        f"{comparison.flow}: {noun} {comparison.kernel:.3g} {unit} on the kernel, {comparison.sim:.3g} simulated"
        f" [{comparison.lo:.3g}, {comparison.hi:.3g}] ({comparison.off:+.0%})"
    )


def _throughputs(sims: Sequence[Summary], kernels: Sequence[Summary]) -> list[Comparison]:
    flows = range(len(sims[0].flows))
    columns = [[sim.flows[i].throughput_mbps for sim in sims] for i in flows]
    fair = sum(map(_mean, columns)) / len(columns)
    found = []
    for i in flows:
        measured = [kernel.flows[i].throughput_mbps for kernel in kernels]
        scale = max(fair, _mean(columns[i]))
        found.append(_judge(sims[0].flows[i].id, "throughput_mbps", columns[i], measured, scale, scale * TOLERANCE))
    return found


def _rtts(sims: Sequence[Summary], kernels: Sequence[Summary]) -> list[Comparison]:
    found = []
    for i, flow in enumerate(sims[0].flows):
        samples, measured = _mean_rtts(sims, i), _mean_rtts(kernels, i)
        if not samples or not measured:
            # A flow that never got an ACK has no RTT to compare; its throughput differs, if it does.
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
    sim, kernel = _mean(samples), _mean(measured)
    half = prediction_half_width(samples, len(measured))
    lo, hi = max(0.0, sim - half), sim + half
    by: Literal["tolerance", "seeds", ""] = ""
    if abs(kernel - sim) <= allowed:
        by = "tolerance"
    elif lo <= kernel <= hi:
        by = "seeds"
    return Comparison(
        flow=flow,
        quantity=quantity,
        sim=sim,
        kernel=kernel,
        lo=lo,
        hi=hi,
        allowed=allowed,
        off=(kernel - sim) / scale if scale > 0 else 0.0,
        by=by,
    )


def prediction_half_width(samples: Sequence[float], further: int) -> float:
    """Half of the 95 % prediction interval of the mean of `further` more runs, by Student's t.

    Zero for a single sample, which has no spread.
    """
    n = len(samples)
    if n < 2:
        return 0.0
    mean = _mean(samples)
    deviation = math.sqrt(math.fsum((x - mean) ** 2 for x in samples) / (n - 1))
    return student_t(n - 1) * deviation * math.sqrt(1 / n + 1 / further)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
