"""Thesis figure 7.13: the states that two FRCC flows reach on a link with jitter, and the region that contains them.

Theorem 7.5.2 claims that N_C and N_T stay in a region. For each state (N_C, N_T) on a grid in the region, the module
computes the extreme states that jitter can cause after one round, and checks that these states are in the region.

Symbols: N_C, a flow's estimate of the number of flows, which is 1 / (its share of the link); N_T, queueing delay /
theta; theta, the queueing delay per flow at which FRCC aims; R, round-trip propagation delay; Delta_R, maximum error of
a measured RTT; gamma, size of a probe; gamma_R, maximum error factor of a measured throughput. Times are in theta.

The published proof lets jitter increase measured throughputs by up to gamma_R; the theorem as stated assumes that
jitter decreases them by up to gamma_R. Both variants are computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fairweir.formal.frcc.jittery import PROVED, STATED, Jitter
from fairweir.formal.frcc.lemmas import PUBLISHED, Range
from fairweir.formal.frcc.published import IN_THE_STATED_DIRECTION
from fairweir.reproduce.computed import Computation, Number, computed
from fairweir.reproduce.experiment import Bound

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fairweir.play.batch import Archive

#: R/theta. The theorem requires R/theta < 2, and the successors are most extreme for the largest R/theta.
R: Final = 2 * (1 - 1e-9)
GRID: Final = 400
VARIANTS: Final = {
    "as proved": (PROVED, PUBLISHED),
    "as stated": (STATED, IN_THE_STATED_DIRECTION),
}


def extremes(jitter: Jitter, share: Any, n_t: Any) -> tuple[Any, Any]:
    """Return the smallest and the largest factor by which jitter lets a flow change its window in a round.

    The factor is smallest if jitter makes the flow overestimate throughput, N_T and excess delay as far as possible. It
    is largest if jitter makes the flow underestimate them as far as possible. `share` is the flow's share of the link.
    All arguments and results except `jitter` may be arrays.
    """
    low, high, error = float(jitter.decrease), float(jitter.increase), float(jitter.excess_error / jitter.gamma)
    seen_n_t = n_t + float(jitter.delay_error)
    most = np.minimum(float(jitter.rate_high) * seen_n_t * share + error, seen_n_t)
    least = float(jitter.rate_low) * n_t * share - error
    return np.clip(1 / most, low, high), np.clip(1 / np.maximum(least, 1e-9), low, high)


def corners(jitter: Jitter, n_c: Any, n_t: Any, r: float = R) -> list[tuple[Any, Any]]:
    """Return four states (N_C, N_T) after a round, one per combination of the two flows' extreme window factors."""
    share = 1 / n_c
    firsts, seconds = extremes(jitter, share, n_t), extremes(jitter, 1 - share, n_t)
    found = []
    for first in firsts:
        for second in seconds:
            growth = first * share + second * (1 - share)
            found.append((growth / (first * share), (r + n_t) * growth - r))
    return found


@computed(
    "thesis-7.13",
    title="FRCC's region on the link with jitter",
    source="thesis figure 7.13, FRCC paper figure 15",
    published="for every jitter two flows reach N_C <= 6.6 and N_T in [0.15, 3.3], and stay there",
    setup=(
        "alternate cwnd update, gamma 4, clamps 0.8 and 1.3, gamma_R 2, theta = Delta_R, R < 2 theta; worst "
        "jitter at each state of a grid. gamma_R as proved (throughputs overestimated) and as stated (underestimated)"
    ),
    items=(
        "thesis figure 7.13",
        "frcc figure 15",
    ),
)
def jittery_link(archive: Archive) -> Computation:
    """Compute the region of figure 7.13 for both variants of gamma_R."""
    numbers = [number for name, (jitter, within) in VARIANTS.items() for number in _stays(name, jitter, within)]
    return Computation(numbers, draw)


def _stays(name: str, jitter: Jitter, within: Range) -> list[Number]:
    n_c_axis = np.geomspace(float(within.n_c_low), float(within.n_c_high), GRID)
    n_t_axis = np.geomspace(float(within.n_t_low), float(within.n_t_high), GRID)
    n_c, n_t = np.meshgrid(n_c_axis, n_t_axis)
    after = [corner for r in (1e-6, 1.0, R) for corner in corners(jitter, n_c, n_t, r)]
    sides = [np.maximum(to_c, to_c / (to_c - 1)).max() for to_c, _ in after]
    lows, highs = [to_t.min() for _, to_t in after], [to_t.max() for _, to_t in after]
    published = PUBLISHED if within is PUBLISHED else None
    case = f"gamma_R {name}"
    return [
        Number(
            case,
            "N_C stays in its range",
            f"maximum N_C after a round, {GRID} x {GRID} states",
            float(max(sides)),
            Bound(at_most=float(within.n_c_high) * (1 + 1e-9)),
            float(published.n_c_high) if published else "",
        ),
        Number(
            case,
            "N_T stays above its lower bound",
            "minimum N_T after a round",
            float(min(lows)),
            Bound(at_least=float(within.n_t_low) - 1e-6),
            float(published.n_t_low) if published else "",
        ),
        Number(
            case,
            "N_T stays below its upper bound",
            "maximum N_T after a round",
            float(max(highs)),
            Bound(at_most=float(within.n_t_high)),
            float(published.n_t_high) if published else "",
        ),
    ]


def draw() -> Figure:
    """Draw the region, and the band towards which N_T moves, for both directions of gamma_R. Lines lead from some
    states to their four extreme successors.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 5), layout="constrained")
    for axes, (name, (jitter, within)) in zip(figure.subplots(1, len(VARIANTS)), VARIANTS.items(), strict=True):
        _draw_one(axes, jitter, within)
        axes.set_title(f"gamma_R {name}: N_C at most {float(within.n_c_high):g}, ratio {float(within.ratio):g}")
    figure.suptitle("Two FRCC flows on the link with jitter, R just below 2 theta; lines: where a round may lead")
    return figure


def _draw_one(axes: Axes, jitter: Jitter, within: Range) -> None:
    from matplotlib.patches import Rectangle

    from fairweir.show.style import colour

    low, high = float(within.n_c_low) - 1, float(within.n_c_high) - 1
    floor, ceiling = float(within.n_t_low), float(within.n_t_high)
    axes.add_patch(Rectangle((low, floor), high - low, ceiling - floor, color=colour(2), alpha=0.25, label="region"))
    axes.axhspan(float(within.band_low), float(within.band_high), color=colour(5), alpha=0.2, label="band")
    for ratio in np.geomspace(0.08, 12, 13):
        for n_t in np.geomspace(0.1, 9, 11):
            for to_c, to_t in corners(jitter, 1 + ratio, n_t):
                axes.plot([ratio, to_c - 1], [n_t, to_t], color=colour(0), linewidth=0.5)
            axes.plot(ratio, n_t, ".", color=colour(0), markersize=3)
    axes.set(xscale="log", yscale="log", xlim=(0.06, 16), ylim=(0.08, 12), xlabel="N_C - 1", ylabel="N_T")
    axes.legend(loc="upper right")
