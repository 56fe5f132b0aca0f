"""A system: the variables and the constraints, in named groups, of one question to a solver.

A question is whether a trace exists, which is a value of each variable, that a network model and the senders allow and
that violates a claim. The symbols are those of the thesis (table 2.1, listing A.1); docs/formal/models.md lists them.

Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; units are such that C = R = 1. A, S, L, Ld:
cumulative bytes sent, served, lost, and known to be lost by their sender, at sample point t. TA: cumulative bytes that
have left the bottleneck's queue or, on a CCAC link (a token bucket with jitter), the tokens admitted. alpha: one MSS.
beta: size of the buffer. T: number of sample points. qdel_L: a flow's lower bound on its queueing delay, the observed
delay minus D.

Curves are relative to the service and the detected losses at t = 0, so S(0) = Ld(0) = 0. This loses no generality,
because senders, beliefs and properties depend only on differences. If the buffer is infinite, L and Ld are the constant
0. ``delay[t][k]`` is true if the bytes served at t waited for k steps or more.

A trace is the value of each curve at each sample point; a step is the time between two points.
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

#: Upper bound on alpha: a link carries at least five packets per R. On slower links, rounding would dominate results.
LARGEST_ALPHA = Fraction(1, 5)

Curve: TypeAlias = Sequence[z3.ArithRef]
Bit: TypeAlias = z3.BoolRef
#: A function that yields each point at which a trace differs from what a congestion control algorithm (CCA) decides.
Judge: TypeAlias = "Callable[[Trace], Iterable[Violation]]"


class Acks(StrEnum):
    """Whether acknowledgments may pause for a step while bytes wait."""

    MAY_PAUSE = "may-pause"
    """Acknowledgments may pause as long as D allows. After a pause of n steps the delay may be n + 1 steps longer."""
    STEADY = "steady"
    """The published code's rule: the observed delay grows by at most one step per step. The rule forbids pauses
    that D allows, so proofs under this rule cover fewer traces. Use the rule only to compare with published results.
    """


@dataclass
class Flow:
    """The variables of one flow.

    Attributes
    ----------
    A, S, L, Ld : bytes sent, served, lost, and known to be lost, cumulative, at each point, C R
    rate, cwnd : the sender's rate (C) and window (C R) at each point; from t = R on, the sender decides both
    delay : ``delay[t][k]`` for k = 0 .. T: the flow's bytes served at t waited k steps or more; ``delay[t][0]`` is true
    waited : ``waited[t][k]``: the last byte served up to t waited k steps or more, even if nothing was served at t
    past : A - L at t = -1, -2, .. -T, in C R
    beliefs : by name, the value at each point of each belief: a bound on the network that the flow infers from what it
        observes (:mod:`fairweir.formal.beliefs`)
    attached : the families (groups) of these beliefs, and each family's options
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
        """Return A - L, the cumulative bytes of the flow that entered the queue by t, in C R. A negative t is before
        the trace.
        """
        return self.past[-t - 1] if t < 0 else less(self.A[t], self.L[t])

    def inflight(self, t: int) -> z3.ArithRef:
        """Return A - Ld - S: the bytes that at t are neither acknowledged nor known to be lost, in C R."""
        return less(self.A[t], self.Ld[t]) - self.S[t]


class System:
    """The variables and the constraints of one question.

    Parameters
    ----------
    network : Model, the network model
    grid : Grid, the sample points
    buffer : Buffer, kind of buffer at the bottleneck
    senders : for each flow, the limit on its sending: a rate, a window or both
    acks : Acks, whether acknowledgments may pause

    Attributes
    ----------
    model : str, the model's name
    A, S, L, Ld : the sums of these curves over all flows
    TA : tokens admitted (CCAC), bytes that left the bottleneck's queue (CBR-delay), or S (ideal); the model sets TA
    left : for each flow, its bytes that have left the bottleneck's queue (CBR-delay), or its S (other models)
    alpha : MSS, in C R; any value in (0, C R / 5), so a question covers all link rates
    beta : size of the buffer, C R; None if the buffer is infinite
    groups : lists of constraints, by the name of the group
    decided : for each group that defines what a congestion control algorithm (CCA) decides, a function that checks a
        trace without the constraints. Without these groups, flows send arbitrarily
    assumed : names of the groups that hold the assumptions of the question
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
        """Add constraints to the group with the name `group`."""
        self.groups.setdefault(group, []).extend(constraints)

    def decide(self, group: str, judge: Judge, *constraints: z3.BoolRef) -> None:
        """Add a group of constraints that define what a flow's CCA decides, and a function that checks traces.

        Parameters
        ----------
        group : str, name of the group
        judge : yields each point at which a trace differs from what the CCA decides, without a solver
        constraints : the decisions as constraints for solvers
        """
        self.decided[group] = judge
        self.require(group, *constraints)

    def assume(self, group: str, *constraints: z3.BoolRef) -> None:
        """Add a group of constraints that are assumptions of the question."""
        self.assumed.add(group)
        self.require(group, *constraints)

    def assertions(self) -> list[z3.BoolRef]:
        """Return the constraints of all groups."""
        return [constraint for group in self.groups.values() for constraint in group]

    def of_any_sender(self) -> list[z3.BoolRef]:
        """Return the constraints of all groups except those that define what CCAs decide.

        Without the excluded groups, a flow sends at any rate of at least alpha, or with any positive window. The
        constraints on its beliefs remain.
        """
        return [constraint for name, group in self.groups.items() if name not in self.decided for constraint in group]

    def reals(self, symbol: str, flow: int | None = None) -> list[z3.ArithRef]:
        """Create a real variable for each point: ``S_0 S_1 ...``, or ``S.1_0 ...`` for one of several flows.

        Parameters
        ----------
        symbol : str, the symbol in the thesis
        flow : int, index of the flow; None: there is only one flow, or the variable belongs to the whole network
        """
        return [self.real(symbol, t, flow) for t in range(self.grid.points)]

    def real(self, symbol: str, t: int, flow: int | None = None) -> z3.ArithRef:
        """Create a real variable for one point.

        Parameters
        ----------
        symbol : str, the symbol in the thesis
        t : int, the sample point
        flow : as in :meth:`reals`
        """
        return z3.Real(f"{self._stem(symbol, flow)}_{t}")

    def bits(self, symbol: str, t: int, count: int, flow: int | None = None) -> list[Bit]:
        """Return Booleans for one point: the constant true, then `count` variables such as ``G_3_1 G_3_2 ...``.

        Parameters
        ----------
        symbol : str, first part of the variables' names
        t : int, the sample point
        count : int, number of variables
        flow : as in :meth:`reals`
        """
        return [z3.BoolVal(True)] + [z3.Bool(f"{self._stem(symbol, flow)}_{t}_{k}") for k in range(1, count + 1)]

    def accepted(self, t: int) -> z3.ArithRef:
        """Return A - L, the cumulative bytes of all flows that entered the queue by t, in C R."""
        return less(self.A[t], self.L[t])

    def queue(self, t: int) -> z3.ArithRef:
        """Return A - L - S: all bytes that wait at t, in the queue or because of jitter, in C R."""
        return self.accepted(t) - self.S[t]

    def bottleneck_queue(self, t: int) -> z3.ArithRef:
        """Return A - L - TA: the bytes that wait at t for the link's capacity, in C R (thesis equation A.2.6, bq)."""
        return self.accepted(t) - self.TA[t]

    def qdel_l_above(self, t: int, bound: Fraction | int, flow: int = 0) -> Bit:
        """Return the condition qdel_L(t) > bound, which is a single Boolean, because delays are whole steps.

        Parameters
        ----------
        t : int, the sample point
        bound : in R
        flow : int, index of the flow
        """
        steps = Fraction(bound) * self.grid.per_r
        if steps < 0:
            return z3.BoolVal(True)
        return self._delay_at_least(t, self.grid.d_steps + int(steps) + 1, flow)

    def qdel_l_at_least(self, t: int, bound: Fraction | int, flow: int = 0) -> Bit:
        """Return the condition qdel_L(t) >= bound, which is a single Boolean, because delays are whole steps.

        Parameters
        ----------
        t : int, the sample point
        bound : in R
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
        # S(0) = 0 by definition, so this point has no variable.
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
        """Return L and Ld. Senders know of a loss R later; the solver chooses the losses before the trace."""
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
    """Return the constraints on the bytes that a flow sends: from t = 1 on for a rate, from t = R on for a window.

    A window needs feedback, which arrives after R.
    """
    grid, out = system.grid, []
    out += [c > 0 for c in cwnd]
    if sender is Sender.RATE:
        # The sender chose rate(0) before the trace; rate(0) only shows whether the rate has increased since.
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
    """Return the constraints that each value of a curve is at least the previous value."""
    return [after >= before for before, after in pairwise(curve) if not after.eq(before)]


def is_max(value: z3.ArithRef, options: Sequence[z3.ArithRef]) -> list[z3.BoolRef]:
    """Return the constraints that are equivalent to value = max(options)."""
    return [*(value >= option for option in options), z3.Or(*(value <= option for option in options))]


def is_min(value: z3.ArithRef, options: Sequence[z3.ArithRef]) -> list[z3.BoolRef]:
    """Return the constraints that are equivalent to value = min(options)."""
    return [*(value <= option for option in options), z3.Or(*(value >= option for option in options))]
