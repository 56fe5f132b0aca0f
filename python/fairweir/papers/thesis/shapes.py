"""Thesis figure 6.2: effect of noise by shape of a contract, and effect of a shift on flows over two hops.

Without units, as the figure: rate(s) is 1/s, 1 - s, and 1/(s - b).
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
#: Fair shares of 1/s, and delays of 1 - s, at which noise is examined.
RATES: Final = (1.0, 4.0, 16.0, 64.0)
DELAYS: Final = (0.2, 0.5, 0.8, 0.9)


def vegas_error(rate: float, noise: float = NOISE) -> float:
    """Return the ratio of two flows' rates by 1/s, the first of which is at `rate` and the second sees `noise` more."""
    return 1 + noise * rate


def linear_error(delay: float, noise: float = NOISE) -> float:
    """Return the same by 1 - s at a delay; infinite if the second flow sees its intercept."""
    return (1 - delay) / (1 - delay - noise) if delay + noise < 1 else float("inf")


def parking_lot_ratio(shift: float, capacity: float = 1.0) -> float:
    """Return short by long rate of 1/(s - shift) on two hops: delays d and 2 d, rates that fill a hop."""

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
