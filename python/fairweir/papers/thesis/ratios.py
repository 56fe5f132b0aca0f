"""Compute thesis figure 7.16: the throughput ratios at which FRCC settles, for different rtprops and several
bottlenecks.

The module computes the curves of the figure from the thesis's equations (section D.4) and from a closed form. It then
computes the ratios in rounds of the fluid model, which includes the queues, and in packet simulations.

Symbols: theta, the queueing delay per flow at which FRCC aims; N_T, queueing delay / theta; gamma D, a constant time: a
probe raises the window by N_T gamma D times the flow's rate; N_C = N_T gamma D / (increase of the RTT during the
probe), a flow's estimate of the number of flows; RTT_i, RTT of flow i.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import fmean
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from fairweir.papers.thesis.frcc_fluid import Network, one_link, parking_lot
from fairweir.papers.thesis.frcc_packets import Played, on_one_link, on_parking_lot, play
from fairweir.reproduce.computed import Computation, Number, computed
from fairweir.reproduce.experiment import Bound

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fairweir.play.batch import Archive

#: Values of N_T gamma D, divided by the short flow's RTT; each is a curve. The figure's legend omits the factor N_T.
PROBES: Final = [2.0**power for power in range(-7, 9)]
RTT_RATIOS: Final = [2.0**power for power in range(8)]
HOPS: Final = [2, 3, 4, 5, 6, 8]
#: A number of slots per round that is so large that probes rarely overlap.
MANY_SLOTS: Final = 240
#: A probe so small that the ratio is the limit of small probes.
TINY_PROBE: Final = 1e-6
#: Results of the published code of figure 7.16 (proofs/fluid_parking_lot.py), by hops and gamma D N_T / RTT.
OF_PUBLISHED_CODE: Final = {
    (2, 2.0**-7): 3.9862089,
    (3, 2.0**-7): 8.9477755,
    (3, 1.0): 5.9417317,
    (8, 2.0**-7): 63.3254504,
    (8, 2.0**8): 8.2205825,
}
BETWEEN_HOPS: Final = "between hops and hops²"
BETWEEN_ONE_AND_RTTS: Final = "between 1 and the RTT ratio"
RULE: Final = "proportional to RTT + gamma D"


def ratio_by_rtts(rtt_ratio: float, probe: float) -> float:
    """Return the long flow's throughput divided by the short flow's. Root finding solves eq. D.1 for equal N_C.

    Parameters
    ----------
    rtt_ratio : the long flow's RTT divided by the short flow's
    probe : N_T gamma D divided by the short flow's RTT
    """
    rtts = np.array([1.0, rtt_ratio])

    def difference(share: float) -> float:
        shares = np.array([share, 1 - share])
        return _excess(rtts, shares, probe, 0) - _excess(rtts, shares, probe, 1)

    share = _root(difference, 1e-9, 1 - 1e-9)
    return (1 - share) / share


def _excess(rtts: np.ndarray, shares: np.ndarray, probe: float, flow: int) -> float:
    windows = shares * rtts
    windows[flow] += probe * shares[flow]
    return _root(lambda excess: float(np.sum(windows / (rtts + excess)) - 1), 0.0, 2 * probe + 1)


def ratio_by_rtts_closed(rtt_ratio: float, probe: float) -> float:
    """Return :func:`ratio_by_rtts` in closed form: rates are proportional to RTT_i + N_T gamma D/2."""
    return (rtt_ratio + probe / 2) / (1 + probe / 2)


Reading = Literal["every hop", "own hop", "free queues"]
"""How a short flow's probe changes the queues of a parking lot. Eq. D.2 is about the long flow's probe, which lengthens
the queues of all hops alike; section D.4 does not print the equation of a short flow's probe.

- "every hop": all queues become longer alike, as if the short flows of all hops probed at the same time. The published
  code of figure 7.16 computes this.
- "own hop": the queue of the flow's own hop becomes longer, and the other queues do not change.
- "free queues": as "own hop", but the other queues shrink because the long flow, whose RTT has grown, sends less. This
  is the fluid model's equilibrium while one flow probes (``frcc_fluid.py``).
"""

#: For each reading, the limit of the ratio of small probes as a function of the number of hops.
SMALL_PROBES: Final[Mapping[Reading, Callable[[int], float]]] = {
    "every hop": lambda hops: hops**2,
    "own hop": lambda hops: hops / 2 * (hops - 1 + ((hops - 1) ** 2 + 4) ** 0.5),
    "free queues": lambda hops: hops**2 - hops + 1,
}


def ratio_by_hops(hops: int, probe: float, reading: Reading = "every hop") -> float:
    """Return a short flow's throughput divided by the long flow's. All RTTs are equal, as in figure 7.16.

    At the fixed point the long flow's N_C is `hops` times that of a short flow, so both measure the same excess delay.

    Parameters
    ----------
    probe : gamma D times the short flows' N_T, divided by the RTT
    """

    def lack(ratio: float) -> float:
        excess = _excess_of_short(hops, probe, ratio, reading)
        return (hops * probe - excess) / (1 + excess) - ratio * excess / (hops + excess)

    return _root(lack, 0.5, 2.0 * hops**2)


def _excess_of_short(hops: int, probe: float, ratio: float, reading: Reading) -> float:
    """Return the excess delay of a short flow's probe, divided by the RTT; `ratio` is short / long throughput."""
    if reading == "own hop":
        return probe * ratio / (1 + ratio)
    if reading == "every hop":

        def unused(excess: float) -> float:
            return ratio * (probe - excess) / (1 + excess) - hops * excess / (1 + hops * excess)

        return _root(unused, 0.0, probe)

    # On every other hop the short flow has the throughput of the probing flow, so (1 + shrunk) (1 + probe)
    # = 1 + excess; `shrunk`, the change of the other queues, is negative.
    def surplus(shrunk: float) -> float:
        rtt_of_long = (1 + probe) * (1 + shrunk) + (hops - 1) * shrunk
        return 1 / rtt_of_long + ratio / (1 + shrunk) - 1 - ratio

    lowest = -probe / (probe + hops)  # here the long flow's RTT is what it was before the probe
    return (1 + probe) * (1 + _root(surplus, lowest, 0.0)) - 1


def _root(of: Callable[[float], float], low: float, high: float) -> float:
    from scipy.optimize import brentq

    return float(brentq(of, low, high, xtol=1e-15, rtol=1e-14))


def ratio_at_rest(network: Network) -> float:
    """Return the last flow's throughput divided by the first's in the fluid model's equilibrium."""
    rates, _ = network.fixed_point()
    return float(rates[-1] / rates[0])


@computed(
    "thesis-7.16",
    title="FRCC's throughput ratios with different RTTs and over several bottlenecks",
    source="thesis figure 7.16 and section D.4, FRCC paper figure 18",
    published="between 1 and the RTT ratio; between hops and hops squared; larger probes give smaller ratios",
    setup=(
        "the figure's equations, then rounds of the fluid model and packet simulations at 48 Mbps with theta = 10 "
        "ms, gamma D = 40 ms. The figure's probe size is N_T gamma D / RTT; in its parking lot long and short flows "
        "have the same RTT. Three readings of a short flow's probe (docs/formal/frcc.md)"
    ),
    items=(
        "thesis figure 7.16",
        "frcc figure 18",
    ),
)
def ratios(archive: Archive) -> Computation:
    """Compute figure 7.16, and compare packet simulations with the fluid model."""
    rtprops = {(4, 8): 17 / 16, (4, 32): 23 / 16, (4, 256): 79 / 16, (10, 20, 30): 5 / 4}
    scenarios = {key: on_one_link(list(key)) for key in rtprops} | {
        hops: on_parking_lot(hops, MANY_SLOTS) for hops in (2, 3)
    }
    played = play(scenarios, archive)
    numbers = [*_of_rtts(), *_of_hops()]
    for key, closed in rtprops.items():
        numbers += _beside_packets(key, closed, played[key])
    for hops in (2, 3):
        numbers.append(_of_lot(hops, played[hops]))
    return Computation(numbers, draw)


def _of_rtts() -> list[Number]:
    case = "different RTTs"
    worst = max(
        abs(ratio_by_rtts(rtts, probe) / ratio_by_rtts_closed(rtts, probe) - 1)
        for rtts in RTT_RATIOS
        for probe in PROBES
    )
    farthest = RTT_RATIOS[-1]
    return [
        Number(
            case,
            "no closed form, by root finding",
            f"maximum relative difference from the closed form, {len(RTT_RATIOS) * len(PROBES)} points",
            worst,
            Bound(at_most=1e-6),
            "none",
        ),
        Number(
            case,
            "small probes: the RTT ratio",
            "ratio / RTT ratio, smallest probe",
            ratio_by_rtts(farthest, PROBES[0]) / farthest,
            Bound(at_least=0.99, at_most=1.0),
            1.0,
        ),
        Number(
            case,
            "large probes: 1",
            f"ratio at RTTs {farthest:g} to 1, largest probe",
            ratio_by_rtts(farthest, PROBES[-1]),
            Bound(at_least=1.0, at_most=2.0),
            1.0,
        ),
    ]


def _of_hops() -> list[Number]:
    numbers = []
    for reading, limit in SMALL_PROBES.items():
        case = f"parking lot, equal RTTs, {reading}"
        by_hops = [(hops, ratio_by_hops(hops, probe, reading)) for hops in HOPS for probe in PROBES]
        smallest = max(abs(ratio_by_hops(hops, TINY_PROBE, reading) / limit(hops) - 1) for hops in HOPS)
        numbers += [
            Number(
                case,
                "at least the number of hops",
                "minimum ratio / hops",
                min(ratio / hops for hops, ratio in by_hops),
                Bound(at_least=1.0),
                BETWEEN_HOPS,
            ),
            Number(
                case,
                "at most its square",
                "maximum ratio / hops²",
                max(ratio / hops**2 for hops, ratio in by_hops),
                Bound(at_most=1.0),
                BETWEEN_HOPS,
            ),
            Number(
                case,
                f"limit of small probes: {limit(3):.4g} for 3 hops",
                f"maximum relative difference from the limit in closed form, {HOPS[0]} to {HOPS[-1]} hops",
                smallest,
                Bound(at_most=1e-4),
                "hops²" if reading == "every hop" else "not printed",
            ),
        ]
    published = [
        Number(
            "parking lot, equal RTTs, every hop",
            f"the published code's ratio for {hops} hops",
            f"ratio, gamma D N_T / RTT = {probe:g}",
            ratio_by_hops(hops, probe),
            Bound(within=1e-6),
            ratio,
        )
        for (hops, probe), ratio in OF_PUBLISHED_CODE.items()
    ]
    return numbers + published


def _beside_packets(rtprops_ms: tuple[int, ...], closed: float, played: list[Played]) -> list[Number]:
    case = f"rtprops {'/'.join(map(str, rtprops_ms))} ms"
    return [
        Number(
            case,
            f"{RULE}: {closed:.4g}",
            "ratio in the fluid model's equilibrium, divided by this value",
            ratio_at_rest(one_link(list(rtprops_ms))) / closed,
            Bound(at_least=1 - 1e-9, at_most=1 + 1e-9),
            BETWEEN_ONE_AND_RTTS,
        ),
        Number(
            case,
            f"{RULE}: {closed:.4g}",
            f"ratio in packet simulations, divided by this value; mean of {len(played)} runs",
            fmean(run.last_by_first for run in played) / closed,
            Bound(at_least=0.85, at_most=1.15),
            BETWEEN_ONE_AND_RTTS,
        ),
    ]


def _of_lot(hops: int, played: list[Played]) -> Number:
    fluid = ratio_at_rest(parking_lot(hops, 10, 10))
    return Number(
        f"parking lot, {hops} hops of 10 ms",
        f"as in the fluid model with the flows' measured RTTs: {fluid:.3g}",
        f"ratio in packet simulations, divided by this value; {MANY_SLOTS} slots per round, mean of {len(played)} runs",
        fmean(run.others_by_first for run in played) / fluid,
        Bound(at_least=0.85, at_most=1.15),
        BETWEEN_HOPS,
    )


def draw() -> Figure:
    """Draw the ratio for different RTTs on the left, and for several hops on the right. Each grey line is a size of
    probe; the line with dots has FRCC's own probes.
    """
    from matplotlib.figure import Figure

    from fairweir.show.style import colour

    figure = Figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    shades = np.linspace(0.1, 0.9, len(PROBES))
    for probe, shade in zip(PROBES, shades, strict=True):
        left.plot(RTT_RATIOS, [ratio_by_rtts(rtts, probe) for rtts in RTT_RATIOS], color=(shade, shade, shade))
        right.plot(HOPS, [ratio_by_hops(hops, probe) for hops in HOPS], color=(shade, shade, shade))
    own = [ratio_at_rest(parking_lot(hops, 10, 10)) for hops in HOPS]
    right.plot(HOPS, own, "o-", color=colour(1), label="rtprop 10 ms each, theta 10 ms, gamma D 40 ms")
    right.plot(HOPS, HOPS, ":", color=colour(2), label="hops")
    right.plot(HOPS, [hops**2 for hops in HOPS], "--", color=colour(2), label="hops²")
    left.set(xscale="log", yscale="log", xlabel="RTT of the long flow by the short's", ylabel="throughput ratio")
    right.set(yscale="log", xlabel="hops", ylabel="throughput, short / long")
    figure.legend(loc="outside lower right", ncols=3)
    figure.suptitle("FRCC in equilibrium; grey: N_T gamma D by RTT from 2⁻⁷ (dark) to 2⁸ (light)")
    return figure
