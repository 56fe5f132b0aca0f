"""Thesis figure 7.12: how the state of two FRCC flows changes, round by round, on an ideal link.

An FRCC flow probes once per round: it raises cwnd for a moment and measures the increase of the delay. The five panels
of the figure differ in how the probes of the two flows overlap. For each panel, the module applies the equations of one
round to a grid of initial states.

Symbols: N_C, the first flow's estimate of the number of flows from its probe, which is 1 / (its share of the link);
N_T, queueing delay / theta; theta, the queueing delay per flow at which FRCC aims; R, round-trip propagation delay.
Ideal link: constant rate, no jitter, no loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fairweir.formal.frcc.maps import PANELS, Map, Path, in_turn, in_turn_without_filters
from fairweir.reproduce.computed import Computation, Number, computed
from fairweir.reproduce.experiment import Bound

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fairweir.play.batch import Archive

#: R and theta, and the grid of initial states (N_C in (1, 4], N_T in [0.5, 4]), are those of the figure.
PATH: Final = Path(r=1.0, theta=0.2)
GRID: Final = 24
N_C_AXIS: Final = np.linspace(1, 4, GRID + 1)[1:]
N_T_AXIS: Final = np.linspace(0.5, 4, GRID)
#: N_C and N_T of the fair state: both equal the number of flows.
FAIR: Final = 2.0
ROUNDS: Final = 300
#: The map that the published code of the figure draws in panel (b).
WITHOUT_FILTERS: Final = "b: no overlap, in turn, without filters"


def after(rounds: int, move: Map, path: Path = PATH) -> tuple[Any, Any]:
    """Return N_C and N_T after `rounds` rounds, for each initial state of the grid."""
    n_c, n_t = np.meshgrid(N_C_AXIS, N_T_AXIS)
    for _ in range(rounds):
        n_c, n_t = move(path, n_c, n_t)
    return n_c, n_t


@computed(
    "thesis-7.12",
    title="FRCC's phase portraits on the ideal link",
    source="thesis figure 7.12, FRCC paper figure 14",
    published=(
        "without collisions the state converges to N_C = N_T = 2; with every overlap N_T tends to 1, and with a "
        "partial overlap the flow that measures both probes loses bandwidth to the other"
    ),
    setup="main cwnd update, R = 1, theta = 0.2, no clamps; grid of 24 x 24 states, N_C in (1, 4], N_T in [0.5, 4]",
    items=(
        "thesis figure 7.12",
        "frcc figure 14",
    ),
)
def ideal_link(archive: Archive) -> Computation:
    """Compute the five panels of figure 7.12, and check where the states converge."""
    return Computation(numbers=[*_alone(), *_full(), *_partial()], draw=draw)


def _alone() -> list[Number]:
    moves = {panel: PANELS[panel] for panel in list(PANELS)[:2]} | {WITHOUT_FILTERS: in_turn_without_filters}
    numbers = []
    for panel, move in moves.items():
        n_c, n_t = after(ROUNDS, move)
        numbers.append(
            Number(
                case=panel,
                claim="from every state to N_C = N_T = 2",
                reading=f"maximum distance after {ROUNDS} rounds",
                value=float(np.maximum(abs(n_c - FAIR), abs(n_t - FAIR)).max()),
                bound=Bound(at_most=1e-9),
                published="converges",
            )
        )
    (n_c, _), (without, _), (before, n_t) = after(1, in_turn), after(1, in_turn_without_filters), after(0, in_turn)
    # The first flow lengthens the queue if its N_C is above N_T; only there do the filters matter.
    lengthens = before > n_t
    numbers.append(
        Number(
            case=WITHOUT_FILTERS,
            claim="the filters matter only where the first flow lengthens the queue (footnote 2)",
            reading="maximum relative difference of N_C from the map with filters, elsewhere",
            value=float(abs(without / n_c - 1)[~lengthens].max()),
            bound=Bound(at_most=1e-12),
            published="updates remain synchronous if the first flow increases its cwnd",
        )
    )
    return numbers


def _full() -> list[Number]:
    panel = "c: full overlap"
    (before, _), (n_c, n_t) = after(0, PANELS[panel]), after(1, PANELS[panel])
    return [
        Number(
            panel,
            "N_T goes to 1",
            "largest |N_T - 1| after a round",
            float(abs(n_t - 1).max()),
            Bound(at_most=1e-12),
            "N_T = 1",
        ),
        Number(
            panel,
            "N_C does not change",
            "maximum change of N_C in a round",
            float(abs(n_c - before).max()),
            Bound(at_most=1e-12),
            0.0,
        ),
    ]


def _partial() -> list[Number]:
    yields, receives = PANELS["d: partial overlap, yields"], PANELS["e: partial overlap, receives"]
    n_c, n_t = after(ROUNDS, yields)
    got, got_t = after(ROUNDS, receives)
    step = PATH.theta / (PATH.r + PATH.theta)
    return [
        Number(
            "d: partial overlap, yields",
            "the fixed point is (infinity, 1)",
            "minimum gain of N_C per round, divided by theta/(R + theta)",
            float(((n_c - after(0, yields)[0]) / ROUNDS).min() / step),
            Bound(at_least=1 - 1e-9),
            "grows without bound",
        ),
        Number(
            "d: partial overlap, yields",
            "N_T tends to 1",
            f"largest |N_T - 1| after {ROUNDS} rounds",
            float(abs(n_t - 1).max()),
            Bound(at_most=0.05),
            "N_T = 1",
        ),
        Number(
            "e: partial overlap, receives",
            "the fixed point is (1, 1)",
            f"maximum distance after {ROUNDS} rounds",
            float(np.maximum(abs(got - 1), abs(got_t - 1)).max()),
            Bound(at_most=0.05),
            "(1, 1)",
        ),
    ]


def draw() -> Figure:
    """Draw the five panels: for each state an arrow towards its successor, and a dot at the fair state."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15, 3.6), layout="constrained")
    n_c, n_t = np.meshgrid(N_C_AXIS[::2], N_T_AXIS[::2])
    for axes, (panel, move) in zip(figure.subplots(1, len(PANELS), sharey=True), PANELS.items(), strict=True):
        to_c, to_t = move(PATH, n_c, n_t)
        length = np.hypot(to_c - n_c, to_t - n_t)
        scale = np.where(length > 0, length, 1)
        axes.quiver(n_c, n_t, (to_c - n_c) / scale, (to_t - n_t) / scale, length, cmap="viridis", pivot="mid")
        axes.plot(FAIR, FAIR, "o", color="#009E73", markersize=8)
        axes.set(title=panel, xlabel="N_C", xlim=(0.9, 4.1), ylim=(0.4, 4.1))
    figure.axes[0].set_ylabel("N_T")
    figure.suptitle(f"FRCC on the ideal link, R = {PATH.r:g}, theta = {PATH.theta:g}; colour: length of the step")
    return figure
