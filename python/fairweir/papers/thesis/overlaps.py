"""Compute thesis figure 7.14: FRCC's overlapping probes in packet simulations.

An FRCC flow updates cwnd once per round. It divides a round into slots, and probes in one randomly chosen slot of each
round. The fewer slots a round has, the more often the probes of two flows overlap. The first slot is never chosen. With
two slots per round, every flow therefore probes in the second slot, and if the rounds of two flows start at the same
time, their probes always overlap.

Symbols: theta, the queueing delay per flow at which FRCC aims; N_T, queueing delay / theta; N_G, number of flows.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Final

from fairweir.papers.thesis.frcc_fluid import THETA_MS, parking_lot
from fairweir.papers.thesis.frcc_packets import Played, on_one_link, on_parking_lot, play
from fairweir.papers.thesis.ratios import ratio_at_rest
from fairweir.reproduce.computed import Computation, Number, computed
from fairweir.reproduce.experiment import Bound

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fairweir.play.batch import Archive

SLOTS: Final = (2, 3, 6, 20)
#: Numbers of slots per round on the parking lot. None: FRCC's default, 2 N_T, limited to the range from 6 to 20.
LOT_SLOTS: Final = (None, 20, 60, 240)
HOPS: Final = 3


@computed(
    "thesis-7.14",
    title="FRCC's colliding probes, packet by packet",
    source="thesis figure 7.14 and section 7.5.4, FRCC paper figure 16",
    published=(
        "a probe that measures another probe's delay underestimates the link rate: N_T tends to 1, and the flow "
        "whose probes collide more often yields"
    ),
    setup="48 Mbps; two flows of 50 ms, 600 s; parking lot of 3 hops of 10 ms, 1200 s; fixed number of slots per round",
    items=(
        "thesis figure 7.14",
        "frcc figure 16",
    ),
)
def overlaps(archive: Archive) -> Computation:
    """Run two flows on one link, and a parking lot, with several numbers of slots per round."""
    scenarios = {("pair", slots): on_one_link([50, 50], slots) for slots in SLOTS} | {
        ("lot", slots): on_parking_lot(HOPS, slots) for slots in LOT_SLOTS
    }
    played = play(scenarios, archive)
    delays = [_delay(played["pair", slots]) for slots in SLOTS]
    ratios = [fmean(run.others_by_first for run in played["lot", slots]) for slots in LOT_SLOTS]
    apart = [max(_unfairness(run) for run in played["pair", slots]) for slots in SLOTS]
    fluid = ratio_at_rest(parking_lot(HOPS, 10, 10))
    numbers = [
        Number(
            "two flows, 2 slots",
            "full overlap: N_T tends to 1",
            "median qdelay / theta",
            delays[0],
            Bound(at_least=0.85, at_most=1.25),
            1.0,
        ),
        Number(
            "two flows, 2 slots",
            "full overlap: no convergence to fairness",
            "maximum throughput ratio over all seeds",
            apart[0],
            Bound(at_least=1.2),
            "ratios stay",
        ),
        Number(
            "two flows, 20 slots",
            "no overlap: N_T tends to N_G",
            "median qdelay / theta",
            delays[-1],
            Bound(at_least=1.85, at_most=2.25),
            2.0,
        ),
        Number(
            "two flows, 20 slots",
            "no overlap: fair",
            "maximum throughput ratio over all seeds",
            apart[-1],
            Bound(at_most=1.1),
            1.0,
        ),
        Number(
            f"parking lot, {HOPS} hops",
            "the flow whose probes collide more often yields",
            "ratio short/long with FRCC's slots, divided by that with 240 slots",
            ratios[0] / ratios[-1],
            Bound(at_least=1.15),
            "partial overlap: the flow yields",
        ),
        Number(
            f"parking lot, {HOPS} hops",
            f"without overlaps the ratio is that of the fluid model, {fluid:.3g}",
            "ratio short/long with 240 slots, divided by the fluid model's",
            ratios[-1] / fluid,
            Bound(at_least=0.85, at_most=1.15),
            "between hops and hops²",
        ),
    ]
    return Computation(numbers, lambda: draw(delays, ratios, fluid))


def _delay(played: list[Played]) -> float:
    return fmean(fmean(run.qdelays_ms) for run in played) / THETA_MS


def _unfairness(run: Played) -> float:
    return max(run.throughputs_mbps) / min(run.throughputs_mbps)


def draw(delays: list[float], ratios: list[float], fluid: float) -> Figure:
    """Draw the queueing delay and the parking lot's throughput ratio as functions of the number of slots."""
    from matplotlib.figure import Figure

    from fairweir.show.style import colour

    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(range(len(SLOTS)), delays, "o-", color=colour(0), label="packets")
    for level in (1, 2):
        left.axhline(level, linestyle=":", color="grey")
    left.set(xticks=range(len(SLOTS)), xticklabels=SLOTS, xlabel="slots a round", ylabel="median qdelay / theta")
    left.set_title("two flows: N_T = 1 in full overlap, 2 without")
    names = ["FRCC's" if slots is None else str(slots) for slots in LOT_SLOTS]
    right.plot(range(len(names)), ratios, "o-", color=colour(0), label="packets")
    right.axhline(fluid, linestyle=":", color="grey", label="fluid model, no overlaps")
    right.set(xticks=range(len(names)), xticklabels=names, xlabel="slots a round", ylabel="throughput, short / long")
    right.set_title(f"parking lot of {HOPS} hops")
    right.legend()
    return figure
