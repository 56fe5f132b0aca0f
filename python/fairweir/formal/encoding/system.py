"""The variables of one question and the constraints that bind them, in named groups.

The symbols are those of the thesis (Table 2.1, Listing A.1); docs/formal/models.md lists them. Curves are cumulative,
in units of C R, relative to the service and the detected losses at t = 0: S(0) = Ld(0) = 0. This loses no generality,
because senders, beliefs and properties depend only on differences. With an infinite buffer L and Ld are the constant 0.

Delays are order-encoded: ``delay[t][k]`` is true if the bytes served at t waited for k steps or more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import z3

from fairweir.formal.beliefs.choices import Terms
from fairweir.formal.encoding.buffers import Buffer, admits, fixed_size
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.senders import Sender

if TYPE_CHECKING:
    from fairweir.formal.encoding.trace import Trace
    from fairweir.formal.exact.report import Violation
    from fairweir.formal.models.model import Model

__all__ = ["Acks", "Bit", "Curve", "Flow", "Sender", "System", "is_max", "is_min", "less", "rising"]

#: alpha < C R / 5: a link carries at least five packets per R. On slower links, rounding would dominate the results.
LARGEST_ALPHA = Fraction(1, 5)

Curve: TypeAlias = Sequence[z3.ArithRef]
Bit: TypeAlias = z3.BoolRef
#: Returns where a trace differs from a CCA's decisions, computed from the CCA's definition.
Judge: TypeAlias = "Callable[[Trace], Iterable[Violation]]"


class Acks(StrEnum):
    """Whether acknowledgments may pause for a step while bytes wait."""

    MAY_PAUSE = "may-pause"
    """They may, as long as D allows. After a pause of n steps the observed delay may have grown by n + 1 steps."""
    STEADY = "steady"
    """The published code's rule: the observed delay grows by at most one step per step. It forbids pauses
    that D admits, so its proofs cover fewer traces. Use it only to compare with published results.
    """


@dataclass
class Flow:
    """One flow's variables.

    Attributes
    ----------
    A, S, L, Ld : cumulative arrivals, service, losses, detected losses at each point, C R
    rate, cwnd : the sender's rate (C) and window (C R) at each point; the sender decides them from t = R on
    delay : ``delay[t][k]`` for k = 0 .. T: the flow's bytes served at t waited k steps or more; ``delay[t][0]`` is true
    waited : as `delay`, for the last byte served up to t, even if nothing was served at t
    past : A - L at t = -1, -2, .. -T, in C R
    beliefs : the values of the attached beliefs (:mod:`fairweir.formal.beliefs`) at each point
    attached : the families of those beliefs, and the terms under which they are attached
    """

    A: Curve
    S: Curve
    L: Curve
    Ld: Curve
    rate: Curve
    cwnd: Curve
    sender: Sender
    delay: Sequence[Sequence[Bit]] = ()
    waited: Sequence[Sequence[Bit]] = ()
    past: Curve = ()
    beliefs: dict[str, Curve] = field(default_factory=dict)
    attached: dict[str, Terms] = field(default_factory=dict)

    def accepted(self, t: int) -> z3.ArithRef:
        """Return A - L: the bytes that entered the queue up to t, which may be before the trace."""
        return self.past[-t - 1] if t < 0 else less(self.A[t], self.L[t])

    def inflight(self, t: int) -> z3.ArithRef:
        """Return A - Ld - S: data neither acknowledged nor known to be lost at t, C R."""
        return less(self.A[t], self.Ld[t]) - self.S[t]


class System:
    """A question's variables and constraints.

    Parameters
    ----------
    network : Model
    grid : Grid
    buffer : Buffer
    senders : constraint on each flow's arrivals, one per flow
    acks : whether acknowledgments may pause

    Attributes
    ----------
    model : str, the model's name
    A, S, L, Ld : the sums over all flows
    TA : tokens admitted (CCAC), bytes that left the bottleneck's queue (CBR-delay), S (ideal); set by the model
    left : per flow, its data that has left the bottleneck's queue (CBR-delay), else its S
    alpha : MSS, in C R; any value in (0, C R / 5), so a question covers all link rates
    beta : the buffer, C R, or None if infinite
    groups : the constraints by name
    decided : the groups that define CCAs' decisions, each with a function that returns a trace's violations without the
        encoding. Without these groups senders are arbitrary
    assumed : names of the groups that narrow the model for one question
    """

    def __init__(
        self, network: Model, grid: Grid, buffer: Buffer, senders: Sequence[Sender], acks: Acks = Acks.MAY_PAUSE
    ) -> None:
        self.network = network
        self.model = network.name
        self.acks = acks
        self.grid = grid
        self.buffer = buffer
        self.groups: dict[str, list[z3.BoolRef]] = {}
        self.decided: dict[str, Judge] = {}
        self.assumed: set[str] = set()
        self.alpha = z3.Real("alpha")
        self.beta = self._size()
        self.flows = [self._flow(i, sender, len(senders)) for i, sender in enumerate(senders)]
        self.A, self.S, self.L, self.Ld = (self._total(name) for name in ("A", "S", "L", "Ld"))
        self.TA: Curve = self.S
        self.left: list[Curve] = [flow.S for flow in self.flows]
        self.require("alpha", self.alpha > 0, self.alpha < LARGEST_ALPHA)
        if self.beta is not None:
            self.require("buffer", *admits(buffer, grid, self.beta, self.alpha))

    def require(self, group: str, *constraints: z3.BoolRef) -> None:
        """Add constraints to a named group."""
        self.groups.setdefault(group, []).extend(constraints)

    def decide(self, group: str, judge: Judge, *constraints: z3.BoolRef) -> None:
        """Add a named group that defines the decisions of a flow's CCA, with the function that judges traces.

        Parameters
        ----------
        group : str, the name
        judge : returns where a trace differs from the decisions, without the encoding
        constraints : for the solvers
        """
        self.decided[group] = judge
        self.require(group, *constraints)

    def assume(self, group: str, *constraints: z3.BoolRef) -> None:
        """Add a named group that narrows the model for one question."""
        self.assumed.add(group)
        self.require(group, *constraints)

    def assertions(self) -> list[z3.BoolRef]:
        """Return all constraints."""
        return [constraint for group in self.groups.values() for constraint in group]

    def of_any_sender(self) -> list[z3.BoolRef]:
        """Return the constraints without those that define CCAs' decisions.

        A flow then sends at any rate of at least alpha, or with any positive window; its beliefs are still computed.
        """
        return [constraint for name, group in self.groups.items() if name not in self.decided for constraint in group]

    def reals(self, symbol: str, flow: int | None = None) -> list[z3.ArithRef]:
        """Create a real variable for each point: ``S_0 S_1 ...``, or ``S.1_0 ...`` for one of several flows.

        Parameters
        ----------
        symbol : str, the paper's
        flow : int, index of the flow; None: there is only one flow, or the variable is the network's
        """
        return [self.real(symbol, t, flow) for t in range(self.grid.points)]

    def real(self, symbol: str, t: int, flow: int | None = None) -> z3.ArithRef:
        """Create a real variable for one point.

        Parameters
        ----------
        symbol : str, the paper's
        t : int, the point
        flow : as in :meth:`reals`
        """
        return z3.Real(f"{self._stem(symbol, flow)}_{t}")

    def bits(self, symbol: str, t: int, count: int, flow: int | None = None) -> list[Bit]:
        """Return Booleans for one point: the constant true, then the variables ``G_3_1 G_3_2 ...``.

        Parameters
        ----------
        symbol : str
        t : int, the point
        count : int, number of variables
        flow : as in :meth:`reals`
        """
        return [z3.BoolVal(True)] + [z3.Bool(f"{self._stem(symbol, flow)}_{t}_{k}") for k in range(1, count + 1)]

    def accepted(self, t: int) -> z3.ArithRef:
        """Return A - L: the bytes that entered the queue up to t."""
        return less(self.A[t], self.L[t])

    def queue(self, t: int) -> z3.ArithRef:
        """Return A - L - S: all bytes that wait at t, in the queue or because of jitter, in C R."""
        return self.accepted(t) - self.S[t]

    def bottleneck_queue(self, t: int) -> z3.ArithRef:
        """Return bq = A - L - TA: the bytes that wait for the link's capacity, in C R (equation A.2.6)."""
        return self.accepted(t) - self.TA[t]

    def qdel_l_above(self, t: int, bound: Fraction | int, flow: int = 0) -> Bit:
        """Return whether qdel_L(t) > bound: a single Boolean, because delays are whole steps.

        Parameters
        ----------
        t : int, the point
        bound : R
        flow : int, index of the flow
        """
        steps = Fraction(bound) * self.grid.per_r
        if steps < 0:
            return z3.BoolVal(True)
        return self._delay_at_least(t, self.grid.d_steps + int(steps) + 1, flow)

    def qdel_l_at_least(self, t: int, bound: Fraction | int, flow: int = 0) -> Bit:
        """Return whether qdel_L(t) >= bound.

        Parameters
        ----------
        t : int, the point
        bound : R
        flow : int, index of the flow
        """
        steps = -(-Fraction(bound) * self.grid.per_r // 1)
        return z3.BoolVal(True) if steps <= 0 else self._delay_at_least(t, self.grid.d_steps + int(steps), flow)

    def _delay_at_least(self, t: int, steps: int, flow: int) -> Bit:
        bits = self.flows[flow].delay[t]
        return bits[steps] if steps < len(bits) else z3.BoolVal(False)

    def _size(self) -> z3.ArithRef | None:
        if not self.buffer.is_finite:
            return None
        size = fixed_size(self.buffer, self.grid)
        return z3.Real("beta") if size is None else z3.RealVal(size)

    def _stem(self, symbol: str, flow: int | None) -> str:
        return symbol if flow is None else f"{symbol}.{flow}"

    def _flow(self, index: int, sender: Sender, count: int) -> Flow:
        flow = index if count > 1 else None
        arrivals, rate = self.reals("A", flow), self.reals("rate", flow)
        # The first point of S is the origin.
        served = [z3.RealVal(0), *self.reals("S", flow)[1:]]
        lost, detected = self._losses(flow)
        cwnd = [] if sender is Sender.RATE else self.reals("cwnd", flow)
        paced = [] if sender is Sender.WINDOW else rate
        self.require(
            "curves",
            arrivals[0] >= lost[0],
            *(rising(arrivals)),
            *(rising(served)),
            *(rising([less(a, lo) for a, lo in zip(arrivals, lost, strict=True)])),
        )
        if self.buffer.is_finite:
            self.require("curves", lost[0] >= 0, *rising(lost))
            self.require("detection", *rising(detected[: self.grid.r_steps + 1]))
        self.require(f"sender {index}", *(_sends(self, sender, arrivals, served, detected, paced, cwnd)))
        return Flow(arrivals, served, lost, detected, paced, cwnd, sender)

    def _losses(self, flow: int | None) -> tuple[Curve, Curve]:
        """Return L and Ld. Senders know of a loss one R later, as with ECN; the solver chooses losses before the
        trace.
        """
        zero = z3.RealVal(0)
        if not self.buffer.is_finite:
            return [zero] * self.grid.points, [zero] * self.grid.points
        lost, delay = self.reals("L", flow), self.grid.r_steps
        recent = self.reals("Ld", flow)[1:delay]
        return lost, [zero, *recent, *lost[: self.grid.points - delay]]

    def _total(self, name: str) -> Curve:
        curves = [getattr(flow, name) for flow in self.flows]
        if len(curves) == 1:
            return list(curves[0])
        return [z3.Sum(column) for column in zip(*curves, strict=True)]


def _sends(
    system: System, sender: Sender, arrivals: Curve, served: Curve, detected: Curve, rate: Curve, cwnd: Curve
) -> list[z3.BoolRef]:
    """Return the constraints on a flow's arrivals from t = 1 on. A window needs feedback, so it applies from t = R
    on.
    """
    grid, out = system.grid, []
    out += [c > 0 for c in cwnd]
    if sender is Sender.RATE:
        # The sender chose the rate at t = 0 before the trace; it only shows whether the rate increased.
        out.append(rate[0] > 0)
        out += [r >= system.alpha for r in rate[1:]]
        out += [arrivals[t] == arrivals[t - 1] + grid.step * rate[t] for t in range(1, grid.points)]
        return out
    out += [r > 0 for r in rate]
    for t in range(grid.r_steps, grid.points):
        allowed = served[t - grid.r_steps] + detected[t] + cwnd[t]
        options = [allowed] + ([arrivals[t - 1] + grid.step * rate[t]] if rate else [])
        # A = max(A(t-1), min(options)); the constraints on curves include A >= A(t-1).
        out += [z3.Or(arrivals[t] <= arrivals[t - 1], arrivals[t] <= option) for option in options]
        out.append(z3.Or(*[arrivals[t] >= option for option in options]))
    if rate:
        out += [arrivals[t] <= arrivals[t - 1] + grid.step * rate[t] for t in range(1, grid.r_steps)]
    return out


def less(left: z3.ArithRef, right: z3.ArithRef) -> z3.ArithRef:
    """Return left - right, or left if right is the constant 0."""
    return left if z3.is_rational_value(right) and right.as_fraction() == 0 else left - right


def rising(curve: Curve) -> list[z3.BoolRef]:
    """Return the constraints by which a curve never falls."""
    return [after >= before for before, after in pairwise(curve) if not after.eq(before)]


def is_max(value: z3.ArithRef, options: Sequence[z3.ArithRef]) -> list[z3.BoolRef]:
    """Return constraints equivalent to value = max(options): bounds and one disjunction."""
    return [*(value >= option for option in options), z3.Or(*(value <= option for option in options))]


def is_min(value: z3.ArithRef, options: Sequence[z3.ArithRef]) -> list[z3.BoolRef]:
    """Return constraints equivalent to value = min(options)."""
    return [*(value <= option for option in options), z3.Or(*(value >= option for option in options))]
