"""Compute thesis table 6.2: its closed forms, and the values that follow from the metrics' definitions.

A *contract* is the decreasing function from a statistic s that a flow observes (here a delay) to the flow's rate, for s
between S_min and S_max. The metrics of a contract are robustness, unfairness, growth and generality; their definitions
are in ``contracts/costs.py``. k is the number of hops, n the number of flows, S_0 the decay of an exponential contract.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fairweir.contracts.costs import Curve, Fold, generality, growth, robustness, unfairness
from fairweir.reproduce.computed import Computation, Number, computed
from fairweir.reproduce.experiment import Bound

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fairweir.play.batch import Archive

S_MIN: Final = 0.5
S_MAX: Final = 100.0
NOISE: Final = 0.5
HOPS: Final = 3
FLOWS: Final = 4
DECAY: Final = 10.0
"""S_0: the exponential contracts are exp(-s/S_0). The unit of every s is 1 ms."""
SPAN: Final = S_MAX / S_MIN
INTERCEPT: Final = 1.001 * S_MAX
"""The s at which the contracts of ICC and Astraea reach rate 0. As it approaches S_MAX, their robustness and unfairness
grow without bound."""
EXACT: Final = Bound(at_least=1.0 - 1e-3, at_most=1.0 + 1e-3)


@dataclass(frozen=True)
class Row:
    """A row of the table, with numbers for the parameters in this module.

    Attributes
    ----------
    name : names of the CCAs in the row
    f : contract, a function from s to a rate
    fold : whether a flow observes the sum or the maximum of the hops' s
    robustness, unfairness, growth, generality : values of the printed formulas
    why : dict from a metric to the reason why its definition gives another value
    """

    name: str
    f: Callable[[float], float]
    fold: Fold
    robustness: float
    unfairness: float
    growth: float
    generality: float
    why: dict[str, str]


def power(name: str, exponent: float) -> Row:
    """Return the row of the contract 1/s^exponent."""
    robust, unfair = (1.0 + NOISE / S_MIN) ** exponent, HOPS**exponent
    return Row(name, lambda s: s**-exponent, Fold.SUM, robust, unfair, FLOWS ** (1.0 / exponent), SPAN**exponent, {})


def _exponential(name: str, fold: Fold, unfair: float, why: dict[str, str]) -> Row:
    log_growth = 1.0 + DECAY * math.log(FLOWS) / S_MIN
    wide = math.exp((S_MAX - S_MIN) / DECAY)
    return Row(name, lambda s: math.exp(-s / DECAY), fold, math.exp(NOISE / DECAY), unfair, log_growth, wide, why)


def rows() -> list[Row]:
    """Return all rows. The table prints the growth of the exponential contracts as log n; the rows have the exact
    value, 1 + S_0 ln n / S_min.
    """
    bound = (
        "the printed form is a bound: inside the domain the long flow observes at most S_max, the short flows S_max / k"
    )
    c_max = 1.0 - S_MIN / INTERCEPT
    return [
        power("FAST, Vegas, Copa", 1.0),
        power("Swift, DCTCP", 2.0),
        power("Reno", 0.5),
        power("alpha-fair, alpha 3", 1 / 3),
        _exponential("Poseidon", Fold.MAX, 1.0, {}),
        _exponential("Exponential", Fold.SUM, math.exp(HOPS * S_MAX / DECAY), {"unfairness": bound}),
        Row(
            "ICC",
            lambda s: math.log(INTERCEPT / s),
            Fold.SUM,
            math.inf,
            math.inf,
            (INTERCEPT / S_MIN) ** ((FLOWS - 1) / FLOWS),
            math.log(INTERCEPT / S_MIN) / math.log(INTERCEPT / S_MAX),
            {},
        ),
        Row(
            "Astraea",
            lambda s: 1.0 - s / INTERCEPT,
            Fold.SUM,
            math.inf,
            math.inf,
            (FLOWS - c_max) / (FLOWS * (1.0 - c_max)),
            (INTERCEPT - S_MIN) / (INTERCEPT - S_MAX),
            {},
        ),
    ]


@computed(
    "thesis-table-6.2",
    title="Trade-offs of CCAs",
    source="thesis table 6.2",
    published="closed forms of robustness, unfairness, growth and generality for nine contracts",
    setup=(
        "s from 0.5 to 100 ms, noise 0.5 ms, 3 hops, 4 flows, decay 10 ms, intercepts at 100.1 ms; metrics by "
        "search from their definitions. AIMD on delay is figure 6.3"
    ),
    items=("thesis table 6.2",),
)
def table(archive: Archive) -> Computation:
    """Compare the printed formulas with the metrics' definitions; `archive` is not used."""
    numbers = []
    for row in rows():
        curve = Curve(row.f, S_MIN, S_MAX)
        ours = {
            "robustness": robustness(curve, NOISE),
            "unfairness": unfairness(curve, HOPS, row.fold),
            "growth": growth(curve, FLOWS),
            "generality": generality(curve),
        }
        numbers += [_number(row, metric, value) for metric, value in ours.items()]
    return Computation(numbers, lambda: draw(rows()))


def _number(row: Row, metric: str, ours: float) -> Number:
    printed: float = getattr(row, metric)
    why = row.why.get(metric, "")
    if math.isinf(printed):
        # The metric is inversely proportional to the distance between intercept and S_max, so it has no bound.
        nearer = _at_intercept(row.name, metric, 1.0 + 1e-4) / _at_intercept(row.name, metric, 1.0 + 1e-3)
        reading = f"{metric}, intercept ten times nearer to S_max, divided by the value before"
        return Number(row.name, "unbounded at the intercept", reading, nearer, Bound(at_least=8.0), "infinite", why)
    return Number(
        row.name, "as printed", f"{metric} divided by the printed form, {printed:.4g}", ours / printed, EXACT, 1.0, why
    )


def _at_intercept(name: str, metric: str, ratio: float) -> float:
    end = ratio * S_MAX
    f = (lambda s: math.log(end / s)) if name == "ICC" else (lambda s: 1.0 - s / end)
    curve = Curve(f, S_MIN, S_MAX)
    return robustness(curve, NOISE) if metric == "robustness" else unfairness(curve, HOPS, Fold.SUM)


def draw(shown: list[Row]) -> Figure:
    """Draw the two pairs of metrics that conflict: robustness against generality, and unfairness against growth."""
    from matplotlib.figure import Figure

    from fairweir.contracts.draw import DOT_MARKS
    from fairweir.show.style import colour

    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for number, row in enumerate(shown):
        curve = Curve(row.f, S_MIN, S_MAX)
        mark = {"marker": DOT_MARKS[number % len(DOT_MARKS)], "color": colour(number), "linestyle": "none"}
        left.plot([generality(curve)], [robustness(curve, NOISE)], **mark, label=row.name)
        right.plot([growth(curve, FLOWS)], [unfairness(curve, HOPS, row.fold)], **mark)
    left.set(
        xscale="log",
        yscale="log",
        xlabel="generality, largest by smallest rate",
        ylabel=f"robustness, ratio of rates for {NOISE:g} ms",
    )
    right.set(
        xscale="log",
        yscale="log",
        xlabel=f"growth of the statistic, {FLOWS} flows",
        ylabel=f"unfairness, short by long flow, {HOPS} hops",
    )
    figure.legend(loc="outside lower center", ncols=4)
    return figure
