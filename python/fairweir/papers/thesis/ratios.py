"""Compute thesis figure 7.16: the throughput ratios at which FRCC settles, for different rtprops and several
bottlenecks.

The module computes the curves of the figure from the thesis's equations (section D.4) and from a closed form. It then
computes the ratios in rounds of the fluid model, which includes the queues, and in packet simulations.

Symbols: theta, the queueing delay per flow at which FRCC aims; N_T, queueing delay / theta; gamma D, a constant time: a
probe raises the window by N_T gamma D times the flow's rate; N_C = N_T gamma D / (increase of the RTT during the
probe), a flow's estimate of the number of flows; RTT_i, RTT of flow i.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean
from typing import TYPE_CHECKING, Final

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


def ratio_by_hops(hops: int, probe: float) -> float:
    """Return a short flow's throughput divided by the long flow's, from eq. D.2. All RTTs are equal, as in the figure.

    Parameters
    ----------
    probe : gamma D times the short flows' N_T, divided by the RTT
    """

    def lack(ratio: float) -> float:
        # `excess` is the excess delay of a short flow's probe, from its hop alone. The long flow's must be the same.
        excess = probe * ratio / (1 + ratio)
        return (hops * probe - excess) / (1 + excess) - ratio * excess / (hops + excess)

    return _root(lack, 0.5, 2.0 * hops**2)


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
        "have the same RTT"
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
    by_hops = [(hops, ratio_by_hops(hops, probe)) for hops in HOPS for probe in PROBES]
    return [
        Number(
            "parking lot, equal RTTs",
            "at least the number of hops",
            "minimum ratio / hops",
            min(ratio / hops for hops, ratio in by_hops),
            Bound(at_least=1.0),
            BETWEEN_HOPS,
        ),
        Number(
            "parking lot, equal RTTs",
            "at most its square",
            "maximum ratio / hops²",
            max(ratio / hops**2 for hops, ratio in by_hops),
            Bound(at_most=1.0),
            BETWEEN_HOPS,
        ),
    ]


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
