"""Compute belief sets by quantifier elimination, the published method (thesis section 4.5, insight 1), for few points.

A *window* is what a sender observed at its latest *points* in time: packets sent, delivered and lost. The *belief set*
is the set of all links that can explain the window. A link rate C explains the window if there are a buffer B,
cumulative packets served I, and not yet visible losses that satisfy the model (thesis equation 4.5.3). z3's tactic
``qe2`` eliminates these unknowns: the result, the *projection*, is a formula over C and the observations. The size of
the formula grows exponentially with the number of points. `crates/game` therefore computes the bounds of belief sets in
another way, and this module compares the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Final

from fairweir.ccas.controller_file import LinkRange
from fairweir.errors import SolverError
from fairweir.game.model import Path, Terms, Window, bounds, explains, number
from fairweir.game.windows import random_windows

if TYPE_CHECKING:
    import z3

#: Time limit of one elimination, ms.
TIMEOUT_MS: Final = 60_000
LINKS: Final = LinkRange()
POINTS: Final = (2, 3, 4)
WINDOWS: Final = 12


@dataclass(frozen=True)
class Projection:
    """The formula for the link rates that explain a window.

    Attributes
    ----------
    points : int, number of points of the window; the losses at all points are visible
    model_terms, terms : int, number of distinct subterms of the model, and of the formula after elimination
    """

    points: int
    window: Terms
    c: z3.ArithRef
    formula: z3.BoolRef
    model_terms: int
    terms: int

    def holds(self, window: Window, c: Fraction) -> bool:
        """Return whether the formula states that the link rate `c` explains the window."""
        import z3

        terms = Terms.of(window)
        pairs = [(self.c, number(c)), (self.window.lost_before, terms.lost_before)]
        for mine, given in ((self.window.sent, terms.sent), (self.window.delivered, terms.delivered)):
            pairs += zip(mine, given, strict=True)
        pairs += zip(self.window.lost[: self.window.visible], terms.lost, strict=False)
        found = z3.simplify(z3.substitute(self.formula, *pairs))
        if not (z3.is_true(found) or z3.is_false(found)):
            raise SolverError(f"the formula has unknowns left after elimination: {found}")
        return bool(z3.is_true(found))


def project(points: int, links: LinkRange = LINKS) -> Projection:
    """Eliminate all unknowns except C from the model. In the model's window, the losses at all points are visible.

    Raises
    ------
    SolverError : z3 does not finish within :data:`TIMEOUT_MS`
    """
    import z3

    window, path = Terms.unknown(points, points), Path.named("", points)
    model = z3.And(*explains(path, window, links, to_next=False))
    hidden = [path.b, *path.accepted[:-1], *path.served[:-1]]
    tactic = z3.TryFor(z3.Then("simplify", "propagate-values", "qe2", "simplify"), TIMEOUT_MS)
    try:
        formula = z3.simplify(tactic(z3.Exists(hidden, model)).as_expr())
    except z3.Z3Exception as error:
        raise SolverError(f"quantifier elimination of {points} points: {error}") from None
    return Projection(points, window, path.c, formula, count_terms(model), count_terms(formula))


def count_terms(formula: z3.ExprRef) -> int:
    """Return the number of distinct subterms of a formula."""
    seen: set[int] = set()
    waiting = [formula]
    while waiting:
        term = waiting.pop()
        if term.get_id() not in seen:
            seen.add(term.get_id())
            waiting += term.children()
    return len(seen)


def visible_windows(count: int, points: int, seed: int = 0) -> list[Window]:
    """Return `count` windows of random links, with visible losses at all points. If possible, half of the windows have
    losses.
    """
    known = [window for window in islice(random_windows(seed, LINKS, points), 60 * count) if window.visible == points]
    lossy = [window for window in known if window.lost[-1] > window.lost[0]][: count // 2]
    return [*lossy, *known[: count - len(lossy)]]


def disagreements(projection: Projection, windows: Sequence[Window]) -> int:
    """Return the number of windows in which formula and exact bounds disagree about the minimum or maximum of C."""
    hair, count = Fraction(1, 1000), 0
    for window in windows:
        known = bounds(window, LINKS)
        if known is None:
            # No link explains the window, so no rate may satisfy the formula.
            count += any(projection.holds(window, Fraction(c)) for c in (1, 10, 50, 200))
            continue
        low, high = known.c
        inside = [low, high]
        outside = [c for c in (low - hair, high + hair) if LINKS.c[0] <= c <= LINKS.c[1]]
        count += not all(projection.holds(window, c) for c in inside) or any(
            projection.holds(window, c) for c in outside
        )
    return count
