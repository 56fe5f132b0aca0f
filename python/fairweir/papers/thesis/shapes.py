"""Thesis figure 6.2: how the shape of a contract determines the effects of noise, of an intercept, and of a shift.

A contract is the decreasing function from the signal s that a flow observes (here the queueing delay) to its rate. The
figure has the contracts 1/s, 1 - s and 1/(s - b), with a shift b, without units. Two quantities are computed: the ratio
of the rates of two flows whose observations of s differ by noise, and the ratio of rates on a parking lot, where one
long flow crosses two links and one short flow crosses each link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.optimize import brentq

from fairweir.reproduce.computed import Computation, Number, computed
from fairweir.reproduce.experiment import Bound

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fairweir.play.batch import Archive

#: Noise: the difference between the two flows' observations of the same delay.
NOISE: Final = 0.05
#: Shifts b of the contract 1/(s - b).
SHIFTS: Final = (0.0, 0.5, 1.0, 2.0)
#: The effect of noise is computed at these rates for the contract 1/s, and at these delays for the contract 1 - s.
RATES: Final = (1.0, 4.0, 16.0, 64.0)
DELAYS: Final = (0.2, 0.5, 0.8, 0.9)


def vegas_error(rate: float, noise: float = NOISE) -> float:
    """Return the ratio of the rates of two flows with the contract 1/s.

    The first flow has the rate `rate`. The second flow observes a delay that is larger by `noise`.
    """
    return 1 + noise * rate


def linear_error(delay: float, noise: float = NOISE) -> float:
    """Return the ratio of the rates of two flows with the contract 1 - s.

    The first flow observes `delay`, the second `delay + noise`. If the second flow observes at least 1, the contract's
    intercept, its rate is 0 and the ratio is infinite.
    """
    return (1 - delay) / (1 - delay - noise) if delay + noise < 1 else float("inf")


def parking_lot_ratio(shift: float, capacity: float = 1.0) -> float:
    """Return a short flow's rate divided by the long flow's, with the contract 1/(s - shift), on two hops.

    The short flows observe the delay d of one hop and the long flow observes 2 d. At d, a short flow and the long flow
    together have the rate `capacity` of a hop.
    """

    def surplus(delay: float) -> float:
        return 1 / (delay - shift) + 1 / (2 * delay - shift) - capacity

    delay = float(brentq(surplus, shift + 1e-9, shift + 10 / capacity))
    return (2 * delay - shift) / (delay - shift)


@computed(
    "thesis-6.2",
    title="Noise, intercepts and shifts: effects of a contract's shape",
    source="thesis figure 6.2, sections 6.2 and 6.3",
    published=(
        "with 1/s the same noise changes the rate by a factor that grows with the link rate; with a linear contract "
        "it grows towards the intercept; a shift makes rates on the parking lot more unequal"
    ),
    setup="closed forms, without units (as in the figure)",
    items=("thesis figure 6.2",),
)
def shapes(_: Archive) -> Computation:
    """Compute figure 6.2 from closed forms."""
    numbers = [
        Number("1/s", "the same noise changes the rate more on a faster link", "error at 64 / error at 1",
               vegas_error(RATES[-1]) / vegas_error(RATES[0]), Bound(at_least=2), "grows"),
        Number("1 - s", "errors grow towards the intercept", "error at s = 0.9 / error at 0.2",
               linear_error(DELAYS[-1]) / linear_error(DELAYS[0]), Bound(at_least=1.5), "grow"),
        Number("1/(s - b), two hops", "without a shift delays d and 2 d give rates of 2 to 1", "short / long, b = 0",
               parking_lot_ratio(0.0), Bound(within=0.001), 2.0),
        Number("1/(s - b), two "
            "hops", "a shift makes rates more unequal", "short / long for b = 2, divided by that for b = 0",
               parking_lot_ratio(SHIFTS[-1]) / parking_lot_ratio(0.0), Bound(at_least=1.2), "more"),
    ]  # fmt: skip
    return Computation(numbers, _draw)


def _draw() -> Figure:
    from matplotlib.figure import Figure as Sheet

    sheet = Sheet(figsize=(11, 3.6), layout="constrained")
    left, middle, right = sheet.subplots(1, 3)
    delays = np.linspace(0.02, 1.2, 400)
    left.plot(delays, 1 / delays)
    left.set_ylim(0, 20)
    left.set_title("1/s", fontsize=10)
    middle.plot(delays, np.clip(1 - delays, 0, None))
    middle.set_title("1 - s", fontsize=10)
    for axes, curve in ((left, 1 / delays), (middle, np.clip(1 - delays, 0, None))):
        for delay in (0.1, 0.5, 0.9):
            axes.fill_between(delays, 0, curve, where=(delays >= delay) & (delays <= delay + NOISE), alpha=0.4)
        axes.set_xlabel("qdelay")
        axes.set_ylabel("rate")
    shifts = np.linspace(0, 4, 60)
    right.plot(shifts, [parking_lot_ratio(shift) for shift in shifts])
    right.set_xlabel("shift b of 1/(s - b)")
    right.set_ylabel("short / long rate, two hops")
    return sheet
