"""Compute figures 3 to 6 and observations 1 to 4 of the WCC paper for ``fairweir reproduce``.

Symbols: a1, a2, weights of two flows; wbar, the number of packets in flight when the buffer is full; psi, the buffer
divided by the BDP; R*, the RTT when the buffer is full; Z, the matrix whose spectral radius, rho(Z), is the paper's
criterion of stability. The *threshold* is the largest wbar at which the windows have a fixed point; at larger wbar they
have a limit cycle. :mod:`fairweir.fluid` has the equations.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from fairweir.fluid.cycle import limit_cycle
from fairweir.fluid.draw import draw_ratios
from fairweir.fluid.model import weighted
from fairweir.fluid.orbit import integrate
from fairweir.fluid.packets import Link, run_packets
from fairweir.fluid.report import Analysis, analyse, limits
from fairweir.play.batch import Archive
from fairweir.reproduce.computed import Computation, Number, computed
from fairweir.reproduce.experiment import Bound

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Weighted AIMD by increase (equation 3) and by decrease (equation 4).
PANELS: Final = ("wcc_ai", "wcc_md")
WEIGHTS: Final = (1, 2, 3, 4, 5)
#: The value of wbar in figure 3, packets.
PUBLISHED_WBAR: Final = 5.0
#: For wbar >= 7 all pairs of weights have a limit cycle: the largest threshold, for weights 5 and 5, is 2 sqrt(10) =
#: 6.32 packets.
RADIUS_WBARS: Final = (PUBLISHED_WBAR, 7.0, 10.0, 20.0)
#: Values of wbar in the runs with packets, in packets; and the maximum random delays of their ACKs, in packet times.
PACKET_WBARS: Final = (20.0, 50.0, 100.0, 200.0, 500.0)
NOISES: Final = (1.0, 4.0)
_ONE_LOSS: Final = (
    "the fluid model loses every packet of an RTT, so that windows fall to nearly 0 for any decrease factor; "
    "in packet simulations each flow loses about one packet, and for synchronized losses mean windows are in the ratio "
    "(4 a1 - 1)/(4 a2 - 1): 7/3 for weights 2 and 1, 19/3 for 5 and 1"
)
DRAWN_WBARS: Final = (PUBLISHED_WBAR, 7.0)
#: Values of wbar for figure 4, in packets. The smallest, 3.414, is the threshold for weights 2 and 1.
RATIO_WBARS: Final = (3.414, 3.5, 4.0, 5.0, 7.0, 10.0, 20.0, 50.0, 100.0)
_NO_CYCLE: Final = (
    "for 10 pairs sqrt(2 a1) + sqrt(2 a2) is above 5 (up to 6.32): by the paper's condition their windows have a fixed "
    "point, so Z is not defined. With wbar above this sum all pairs have a limit cycle"
)


@computed(
    "wcc-figure-3",
    title="Limit cycles of the weighted fluid models are stable",
    source="WCC paper, figure 3, lemma 1, theorem 1",
    published="the spectral radius of the Poincare map's matrix is below 1 in all cases",
    setup=(
        "weights 1 to 5, wbar = 5 as published, and 7, 10, 20; the matrix as published, and the exact derivative "
        "of the return map"
    ),
    items=(
        "wcc figure 3",
        "wcc lemma 1",
        "wcc theorem 1",
    ),
)
def spectral_radius(_: Archive) -> Computation:
    """Compute figure 3: the stability of the limit cycle for each pair of weights, at the published wbar and above."""
    grids = {(scheme, wbar): _grid(scheme, wbar) for scheme in PANELS for wbar in RADIUS_WBARS}
    numbers = []
    for (scheme, wbar), grid in grids.items():
        cells = [cell for row in grid for cell in row]
        cycles = [cell for cell in cells if cell.period is not None]
        case = f"{scheme}, wbar {wbar:g}"
        numbers += [
            Number(case, "limit cycles are stable", "maximum rho(Z), Z as published",
                   max(cell.published_radius or 0.0 for cell in cycles), Bound(at_most=0.999), "always below 1"),
            Number(case, "limit cycles are stable", "maximum multiplier of the return map",
                   max(cell.multiplier for cell in cycles), Bound(at_most=0.999), "always below 1"),
        ]  # fmt: skip
        if wbar == PUBLISHED_WBAR:
            numbers.append(
                Number(case, "fixed points are stable", "maximum multiplier per R* of fixed points",
                       max(cell.multiplier for cell in cells if cell.period is None), Bound(at_most=0.999),
                       "not stated")
            )  # fmt: skip
        numbers.append(
            Number(case, "every pair of weights has a limit cycle", (
                "number of the 25 pairs that have one"
            ), float(len(cycles)),
                   Bound(at_least=25), "25", _NO_CYCLE if wbar == PUBLISHED_WBAR else "")
        )  # fmt: skip

    def draw() -> Figure:
        return _draw_grids({key: grid for key, grid in grids.items() if key[1] in DRAWN_WBARS})

    return Computation(numbers, draw)


def _grid(scheme: str, wbar: float) -> list[list[Analysis]]:
    """Analyze all pairs of weights. The pairs (a, b) and (b, a) have the same analysis, which is computed once."""
    pairs = {(a, b): analyse(weighted(scheme, [a, b], wbar)) for a in WEIGHTS for b in WEIGHTS if a >= b}
    return [[pairs[max(a, b), min(a, b)] for b in WEIGHTS] for a in WEIGHTS]


@computed(
    "wcc-figure-4",
    title="Throughput ratio of two weighted flows in the fluid models",
    source="WCC paper, figure 4, observations 1 and 2",
    published="sqrt(a1/a2) at the threshold; for large wbar a1/a2 (WCC-AI) and 1 (WCC-MD)",
    setup="weights 2 and 1; a queue that never empties, and psi = 1, where it does",
    items=(
        "wcc figure 4",
        "wcc observation 1",
        "wcc observation 2",
    ),
)
def throughput_ratio(_: Archive) -> Computation:
    """Compute figure 4 and observations 1 and 2: the throughput ratio from the threshold to large wbar."""
    curves = {
        (scheme, psi): [analyse(weighted(scheme, [2, 1], wbar, psi)).ratio() for wbar in RATIO_WBARS]
        for scheme in PANELS
        for psi in (math.inf, 1.0)
    }
    numbers = []
    for (scheme, psi), curve in curves.items():
        name = f"{scheme}, psi {psi:g}"
        numbers += [
            Number(name, "sqrt(a1/a2) at the threshold", "ratio, wbar 3.414", curve[0], Bound(within=0.01), 2**0.5),
            Number(name, "a1/a2 for large wbar (AI), 1 (MD)", "ratio, wbar 100", curve[-1], Bound(within=0.02),
                   2.0 if scheme == "wcc_ai" else 1.0),
        ]  # fmt: skip

    def draw() -> Figure:
        from matplotlib.figure import Figure as Sheet

        figure = Sheet(figsize=(7, 4.5), layout="constrained")
        axes = figure.subplots()
        for (scheme, psi), curve in curves.items():
            axes.semilogx(
                RATIO_WBARS, curve, "-" if math.isinf(psi) else "--", marker=".", label=f"{scheme}, psi {psi:g}"
            )
        axes.set_xlabel("wbar, packets")
        axes.set_ylabel("throughput ratio, weights 2 and 1")
        axes.legend()
        return figure

    return Computation(numbers, draw)


@computed(
    "wcc-observations",
    title="Limits of weighted flows: fluid model and packets at equal wbar",
    source="WCC paper, observations 1 to 4",
    published="for large wbar throughputs tend to a1 : a2 : ... (WCC-AI), and to 1 (WCC-MD)",
    setup=(
        "weights 2 and 1, and 1 to 5; psi = 1; packets on the same link, ACKs delayed by up to one packet time "
        "(synchronized losses) and four (a common loss rate); 3 runs"
    ),
    items=(
        "wcc observation 1",
        "wcc observation 2",
        "wcc observation 3",
        "wcc observation 4",
    ),
)
def beside_packets(archive: Archive) -> Computation:
    """Compute observations 1 to 4: throughput ratios for large wbar, in the fluid model and with packets."""
    links = [Link(scheme, weights, 1.0) for weights in ((2.0, 1.0), (5.0, 4.0, 3.0, 2.0, 1.0)) for scheme in PANELS]
    played = {
        link: run_packets(link, PACKET_WBARS, {"sim": NOISES}, runs={"sim": 3}, archive=archive, workers=1)
        for link in links
    }
    fluids = {link: [analyse(weighted(link.scheme, link.weights, w, 1.0)) for w in PACKET_WBARS] for link in links}
    numbers = []
    for link, rows in played.items():
        last = {row.noise: row for row in rows if row.wbar == PACKET_WBARS[-1]}
        at_threshold, published = limits(link.scheme, link.weights)
        case = f"{link.scheme}, weights {' '.join(f'{weight:g}' for weight in link.weights)}, wbar {PACKET_WBARS[-1]:g}"
        together, apart = (last[noise].ratios[0].value for noise in NOISES)
        numbers += [
            Number(case, "the limit for large wbar", "first / last, fluid", fluids[link][-1].ratio(),
                   Bound(within=0.02), published),
            Number(case, "the limit for large wbar", f"first / last, packets, noise of {NOISES[0]:g} packet", together,
                   Bound(within=0.1), published, "" if link.scheme == "wcc_ai" else _ONE_LOSS),
            Number(case, "sqrt(a1/a2) at the threshold; a common loss rate gives it at any wbar",
                   f"first / last, packets, noise of {NOISES[1]:g} packets", apart,
                   Bound(at_least=0.85 * at_threshold, at_most=math.sqrt(at_threshold * together)), at_threshold),
        ]  # fmt: skip

    def draw() -> Figure:
        from matplotlib.figure import Figure as Sheet

        sheet = Sheet(figsize=(11, 8), layout="constrained")
        for axes, link in zip(sheet.subplots(2, 2).flat, links, strict=True):
            draw_ratios(axes, link, fluids[link], played[link])
        return sheet

    return Computation(numbers, draw)


@computed(
    "wcc-figure-5",
    title="Windows over time in the fluid model of WCC-AI",
    source="WCC paper, figure 5",
    published="a fixed point up to wbar = 2 + sqrt(2), a limit cycle above",
    setup="weights 2 and 1",
    items=("wcc figure 5",),
)
def windows_ai(_: Archive) -> Computation:
    """Compute figure 5: windows over time in the fluid model of equation (3)."""
    return _windows("wcc_ai")


@computed(
    "wcc-figure-6",
    title="Windows over time in the fluid model of WCC-MD",
    source="WCC paper, figure 6",
    published="a fixed point up to wbar = 2/sqrt(3) + sqrt(2), a limit cycle above",
    setup="weights 2 and 1",
    items=("wcc figure 6",),
)
def windows_md(_: Archive) -> Computation:
    """Compute figure 6: windows over time in the fluid model of equation (4)."""
    return _windows("wcc_md")


def _windows(scheme: str) -> Computation:
    threshold = weighted(scheme, [2, 1], 1.0).threshold
    wbars = (threshold, threshold + 0.01, 10.0, 100.0)
    tracks = []
    for wbar in wbars:
        fluid = weighted(scheme, [2, 1], wbar)
        cycle = None if fluid.has_fixed_point else limit_cycle(fluid)
        start = fluid.fixed_point * 1.2 if cycle is None else cycle.start
        end = 40.0 if cycle is None else 3 * cycle.period
        orbit = integrate(fluid, start, until=end)
        t = np.linspace(0, end, 1500)
        tracks.append((t, np.array([orbit.at(now)[:-1] for now in t])))
    printed = 2 / 3**0.5 + 2**0.5
    numbers = [
        Number(f"wbar {wbars[0]:.4g}", "windows converge", "flow 1's window at the end, packets",
               float(tracks[0][1][-1, 0]),
               Bound(within=0.05), 2.0),
        Number(f"wbar {wbars[1]:.4g}", "windows oscillate", "maximum / minimum window of flow 1",
               float(tracks[1][1][:, 0].max() / tracks[1][1][:, 0].min()), Bound(at_least=1.0001), "a limit cycle"),
    ]  # fmt: skip
    if scheme == "wcc_md":
        numbers.append(
            Number("threshold", "windows are constant up to wbar = 2/sqrt(3) + "
                "sqrt(2)", "threshold, packets", threshold,
                   Bound(within=0.01), printed,
                   "2/sqrt(3) is for a decrease of 1 - 1/(2a); equation (4) and observation 2 give sqrt(2a): 3.414")
        )  # fmt: skip

    def draw() -> Figure:
        from matplotlib.figure import Figure as Sheet

        sheet = Sheet(figsize=(9, 6), layout="constrained")
        for axes, wbar, (t, windows) in zip(sheet.subplots(2, 2).flat, wbars, tracks, strict=True):
            axes.plot(t, windows, label=["weight 2", "weight 1"])
            axes.set_title(f"wbar {wbar:.4g} packets")
            axes.set_xlabel("time, R*")
            axes.set_ylabel("cwnd, packets")
            axes.legend()
        return sheet

    return Computation(numbers, draw)


def _draw_grids(grids: dict[tuple[str, float], list[list[Analysis]]]) -> Figure:
    from matplotlib.figure import Figure as Sheet

    sheet = Sheet(figsize=(9, 7.5), layout="constrained")
    for axes, ((scheme, wbar), grid) in zip(sheet.subplots(2, 2).flat, grids.items(), strict=True):
        values = np.array([[np.nan if cell.period is None else cell.multiplier for cell in row] for row in grid])
        image = axes.imshow(values.T, origin="lower", extent=(0.5, 5.5, 0.5, 5.5), vmin=0, vmax=0.6)
        blank = " (blank: rests)" if np.isnan(values).any() else ""
        axes.set_title(f"{scheme}, wbar {wbar:g}{blank}")
        axes.set_xlabel("weight of flow 1")
        axes.set_ylabel("weight of flow 2")
        sheet.colorbar(image, label="maximum multiplier of a period")
    return sheet
