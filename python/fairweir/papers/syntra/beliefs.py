"""Compute insight 1 of Syntra: the formulas of belief sets that quantifier elimination gives, and exact bounds.

A *window* is what a sender observed at its latest points in time. Its *belief set* is the set of all links that can
explain the window. Quantifier elimination *projects* the formula of the belief set to the link rate C. The exact bounds
are the minimum and maximum of C over the belief set.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairweir.game.elimination import POINTS, WINDOWS, Projection, disagreements, project, visible_windows
from fairweir.reproduce.computed import Computation, Number, computed
from fairweir.reproduce.experiment import Bound

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fairweir.play.batch import Archive


@computed(
    "syntra-figure-beliefs",
    title="Belief sets by quantifier elimination",
    source="thesis section 4.5, insight 1 (Syntra)",
    published="the formulas of projections of belief sets are exponentially larger than the network model",
    setup=(
        "z3's qe2 on windows of 2 to 4 points in which all losses are known; C and B from 1 to 200 packets; compared "
        "with exact bounds in random windows. The published code, for up to 6 points, is not available"
    ),
    items=("syntra insight 1",),
)
def belief_sets(_: Archive) -> Computation:
    """Compute how projections grow with the number of points, and compare them with the exact bounds."""
    found = [project(points) for points in POINTS]
    grown = "computations of beliefs are exponentially larger than the network model"
    # z3's choices depend on the order of terms: the sizes vary by a fifth, which is much less than the growth that
    # the bounds below require.
    first, last = found[0], found[-1]
    numbers = [
        Number(
            f"{last.points} points",
            grown,
            f"terms of the projection, divided by those for {first.points} points",
            last.terms / first.terms,
            Bound(at_least=4.0),
            "exponential growth",
        ),
        Number(
            f"{last.points} points",
            grown,
            "terms of the projection divided by those of the model",
            last.terms / last.model_terms,
            Bound(at_least=1.5),
            "larger",
        ),
    ]
    numbers += [
        Number(
            f"{one.points} points",
            "the formula that remains after elimination describes the same capacities",
            f"number of the {WINDOWS} random windows in which it differs from the exact bounds",
            disagreements(one, visible_windows(WINDOWS, one.points)),
            Bound(at_most=0.0),
            "the same",
        )
        for one in found
    ]
    return Computation(numbers, lambda: _draw(found))


def _draw(found: Sequence[Projection]) -> Figure:
    from matplotlib.figure import Figure as Sheet

    sheet = Sheet(figsize=(6, 4), layout="constrained")
    axes = sheet.subplots()
    points = [one.points for one in found]
    axes.semilogy(points, [one.terms for one in found], marker="o", label="capacities that explain it (projection)")
    axes.semilogy(points, [one.model_terms for one in found], marker="o", label="network model")
    axes.set_xticks(points)
    axes.set_xlabel("points of the window")
    axes.set_ylabel("distinct terms of the formula")
    axes.legend(fontsize=8)
    return sheet
