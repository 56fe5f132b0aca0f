"""The model's equations for z3: no link that explains a window may exceed its bounds, and one must be near each bound.

This shows that a bound is an optimum to within 1e-3, and takes a hundredth of the time of `z3.Optimize`, which fails on
some windows.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import z3
from benches.game_bounds.link import Model, Window

#: Maximum difference of equal bounds, packets.
SAME: Final = Fraction(1, 1000)
#: Maximum time of one query, ms.
TIMEOUT_MS: Final = 60_000


def real(value: Fraction) -> Any:
    """Return an exact z3 number."""
    return z3.RealVal(f"{value.numerator}/{value.denominator}")


def is_min(result: Any, one: Any, two: Any) -> list[Any]:
    """Return the constraints of result = min(one, two)."""
    return [result <= one, result <= two, z3.Or(result == one, result == two)]


class LinkProblem:
    """All links of the model that explain a window, with their states since `jitter` points before the window."""

    def __init__(self, window: Window, model: Model) -> None:
        """Assert the model's equations at the points from -jitter to the next point."""
        self.model = model
        # With slack, the bound of the queue's minimum is not tight.
        self.outer = {"min q"} if model.slack else set()
        first, last = -model.jitter, len(window.sent)
        name = range(first, last + 1)
        self.c, self.b = z3.Reals("C B")
        sent = {t: z3.Real(f"A{t}") for t in name}
        lost = {t: z3.Real(f"L{t}") for t in name}
        accepted = {t: sent[t] - lost[t] for t in name}
        served = {t: z3.Real(f"I{t}") for t in name}
        self.queue = accepted[last] - served[last]
        self.constraints: list[Any] = [
            self.c >= real(model.c[0]),
            self.c <= real(model.c[1]),
            self.b >= real(model.b[0]),
            self.b <= real(model.b[1]),
            # The initial state is arbitrary.
            served[first] <= accepted[first],
            accepted[first] <= served[first] + self.b,
        ]
        for t in name[1:]:
            arrived = accepted[t - 1] + sent[t] - sent[t - 1]
            full = served[t - 1] + self.c + self.b
            if model.slack:
                self.constraints += [accepted[t] <= arrived, accepted[t] <= full]
                self.constraints += [z3.Or(accepted[t] == arrived, accepted[t] >= full - real(model.slack))]
            else:
                self.constraints += is_min(accepted[t], arrived, full)
            self.constraints += is_min(served[t], served[t - 1] + self.c, accepted[t])
            self.constraints += [sent[t] >= sent[t - 1], lost[t] >= lost[t - 1]]
        self.constraints.append(lost[0] >= real(window.lost_before))
        for t, (amount, delivered) in enumerate(zip(window.sent, window.delivered, strict=True)):
            self.constraints += [sent[t] == real(amount)]
            self.constraints += [served[t - model.jitter] <= real(delivered), real(delivered) <= served[t]]
            if t < len(window.lost):
                self.constraints.append(lost[t] == real(window.lost[t]))
            else:
                self.constraints.append(accepted[t] > real(window.delivered[-1]))
        self.constraints.append(sent[last] == real(window.sent_next))

        self.solver = z3.SolverFor("QF_LRA")
        self.solver.set("timeout", TIMEOUT_MS)
        self.solver.add(*self.constraints)

    def has(self, *more: Any) -> bool:
        """Return whether a link that explains the window has these properties, too."""
        self.solver.push()
        self.solver.add(*more)
        answer = self.solver.check()
        self.solver.pop()
        if answer == z3.unknown:
            raise TimeoutError(f"z3 answers unknown: {self.solver.reason_unknown()}")
        return bool(answer == z3.sat)

    def wrong(self, bounds: dict[str, Any] | None) -> list[str]:
        """Return the bounds that a link exceeds ("narrow") or to which no link is near ("wide")."""
        if bounds is None:
            return ["empty"] if self.has() else []
        found = []
        near = real(SAME)
        for name, goal, value in self._goals(bounds):
            # The goal of an upper end is negated, so that it is a lower end.
            at = real(Fraction(value))
            if self.has(goal < at - near):
                found.append(f"narrow {name}")
            if name not in self.outer and not self.has(goal <= at + near):
                found.append(f"wide {name}")
        return found

    def _goals(self, bounds: dict[str, Any]) -> list[tuple[str, Any, float]]:
        goals = []
        for name, goal in (("c", self.c), ("b", self.b), ("q", self.queue)):
            goals += [(f"min {name}", goal, bounds[name][0]), (f"max {name}", -goal, -bounds[name][1])]
        room = self.c + self.b - self.queue - real(self.model.slack)
        return [
            *goals,
            ("safe_rate", room, bounds["safe_rate"]),
            ("min_c_plus_b", self.c + self.b, bounds["min_c_plus_b"]),
        ]
