"""The constant-rate link with jitter and a finite buffer, as linear constraints for the solvers.

The time between two *points* is a *step* of one propagation delay. A *window* is what the sender observed at its latest
points: the cumulative numbers of packets sent A, lost L, and delivered S. The sender does not know the rate C, the
buffer B, or the cumulative number of packets served I. N = A - L is the number of packets that the queue accepted. The
model (thesis section 4.5 on section 2.2's CBR-delay link) is:

    N[t] = min(N[t-1] + A[t] - A[t-1], I[t-1] + C + B)      packets beyond the buffer are lost
    I[t] = min(I[t-1] + C, N[t])                            a rate of C, unless the queue is empty
    I[t-1] <= S[t] <= I[t]                                  jitter: at most one step

L[t] is *visible* to the sender if and only if S at the latest point is at least N[t], that is, all packets accepted by
point t have been delivered. A[t] counts the packets that have reached the queue by point t; they were sent one
propagation delay before S[t] was read.

The *belief set* of a window is the set of all links that can explain the window. This module implements the equations
independently of ``crates/game``, so that the bounds that both compute for a belief set can be compared.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from fairweir.ccas.controller_file import POINTS, LinkRange
from fairweir.errors import SolverError

if TYPE_CHECKING:
    import z3

#: Limit of z3's resources (rlimit) for the computation of one bound. A window of six points needs a thousandth of it.
BOUND_STEPS: Final = 200_000_000


@dataclass(frozen=True)
class Window:
    """Observations of a sender at its latest points, oldest first, as cumulative packets.

    Attributes
    ----------
    sent, delivered, lost : A, S and L at each point; only the first `visible` entries of `lost` are known
    visible : int, number of points whose losses are known
    lost_before : number of losses that were known before the window
    sent_next : A at the next point: packets that were sent and will have reached the queue by then
    """

    sent: tuple[Fraction, ...]
    delivered: tuple[Fraction, ...]
    lost: tuple[Fraction, ...]
    visible: int
    lost_before: Fraction
    sent_next: Fraction

    @classmethod
    def fresh(cls, points: int = POINTS) -> Window:
        """Return the window of a link over which nothing was sent."""
        zeros = (Fraction(0),) * points
        return cls(zeros, zeros, zeros, points, Fraction(0), Fraction(0))

    @property
    def points(self) -> int:
        """Number of points."""
        return len(self.sent)


@dataclass(frozen=True)
class Terms:
    """A window whose numbers are the solver's constants or unknowns; :class:`Window` explains the attributes."""

    sent: Sequence[z3.ArithRef]
    delivered: Sequence[z3.ArithRef]
    lost: Sequence[z3.ArithRef]
    visible: int
    lost_before: z3.ArithRef
    sent_next: z3.ArithRef

    @classmethod
    def of(cls, window: Window) -> Terms:
        """Return the window with its numbers as constants."""
        return cls(
            [number(one) for one in window.sent],
            [number(one) for one in window.delivered],
            [number(one) for one in window.lost],
            window.visible,
            number(window.lost_before),
            number(window.sent_next),
        )

    @classmethod
    def unknown(cls, points: int, visible: int, name: str = "") -> Terms:
        """Return a window of unknowns with this number of points. The losses at the first `visible` points are visible;
        `name` distinguishes the unknowns of several windows.
        """
        import z3

        def series(letter: str, length: int) -> list[z3.ArithRef]:
            return [z3.Real(f"{letter}{name}_{t}") for t in range(length)]

        return cls(
            series("A", points), series("S", points), series("L", visible) + [z3.RealVal(0)] * (points - visible),
            visible, z3.Real(f"L{name}_before"), z3.Real(f"A{name}_next"),
        )  # fmt: skip

    def orderly(self) -> list[z3.BoolRef]:
        """Return the constraints on every window: counts never fall, and only sent packets are delivered or lost."""
        rising = [*zip(self.sent, [*self.sent[1:], self.sent_next], strict=True)]
        rising += itertools.pairwise(self.delivered)
        known = [self.lost_before, *self.lost[: self.visible]]
        rising += itertools.pairwise(known)
        start = [self.lost_before >= 0, self.delivered[0] >= 0, self.sent[0] - self.lost_before >= self.delivered[0]]
        return [*start, *(a <= b for a, b in rising)]


@dataclass(frozen=True)
class Path:
    """The unknowns of one link and its queue.

    Attributes
    ----------
    c, b : rate and buffer
    accepted, served : N and I at the window's points and at the next point
    """

    c: z3.ArithRef
    b: z3.ArithRef
    accepted: Sequence[z3.ArithRef]
    served: Sequence[z3.ArithRef]

    @classmethod
    def named(cls, name: str, points: int) -> Path:
        """Return the unknowns of a link for this number of points and the next point."""
        import z3

        return cls(
            z3.Real(f"C{name}"),
            z3.Real(f"B{name}"),
            [z3.Real(f"N{name}_{t}") for t in range(points + 1)],
            [z3.Real(f"I{name}_{t}") for t in range(points + 1)],
        )

    @property
    def queue(self) -> z3.ArithRef:
        """Number of packets that wait at the next point."""
        return self.accepted[-1] - self.served[-1]

    @property
    def room(self) -> z3.ArithRef:
        """Number of packets that can be sent next without a loss: C + B minus the queue."""
        return self.c + self.b - self.queue


def number(value: Fraction | int) -> z3.ArithRef:
    """Return an exact number as a constant of the solver."""
    import z3

    exact = Fraction(value)
    return z3.Q(exact.numerator, exact.denominator)


def is_minimum(value: z3.ArithRef, one: z3.ArithRef, other: z3.ArithRef) -> list[z3.BoolRef]:
    """Return constraints equivalent to ``value = min(one, other)``."""
    import z3

    return [value <= one, value <= other, z3.Or(value >= one, value >= other)]


def step(
    path_c: z3.ArithRef,
    path_b: z3.ArithRef,
    before: tuple[z3.ArithRef, z3.ArithRef],
    after: tuple[z3.ArithRef, z3.ArithRef],
    arriving: z3.ArithRef,
) -> list[z3.BoolRef]:
    """Return the model's equations for N and I over one step.

    Parameters
    ----------
    path_c, path_b : the link's rate and buffer
    before, after : pairs (N, I) at the first and at the second point
    arriving : number of packets that reach the queue between the two points
    """
    room = before[1] + path_c + path_b
    return [
        *is_minimum(after[0], before[0] + arriving, room),
        *is_minimum(after[1], before[1] + path_c, after[0]),
    ]


def explains(path: Path, window: Terms, links: LinkRange, *, to_next: bool = True) -> list[z3.BoolRef]:
    """Return the constraints by which a link is in the belief set of a window (thesis equation 4.5.2).

    The constraints include equality, so that minima and maxima over the belief set exist: if S equals N[t], the loss at
    t may also count as not yet visible.

    Parameters
    ----------
    to_next : bool, whether to extend the link's N and I to the next point; this constrains only the unknowns there
    """
    points = len(window.sent)
    accepted, served = path.accepted, path.served
    last = window.delivered[-1]
    held = [
        path.c >= number(links.c[0]), path.c <= number(links.c[1]),
        path.b >= number(links.b[0]), path.b <= number(links.b[1]),
        # This is I[-1] <= S[0] and I[0] = min(I[-1] + C, N[0]) after I[-1] has been eliminated.
        served[0] >= window.delivered[0], served[0] <= window.delivered[0] + path.c,
        served[0] <= accepted[0], accepted[0] <= served[0] + path.b,
    ]  # fmt: skip
    for t in range(points):
        if t < window.visible:
            held += [accepted[t] == window.sent[t] - window.lost[t], accepted[t] <= last]
        else:
            held.append(accepted[t] >= last)
    if window.visible == 0:
        held.append(accepted[0] <= window.sent[0] - window.lost_before)
    sent = [*window.sent, window.sent_next]
    for t in range(1, points + to_next):
        held += step(
            path.c,
            path.b,
            (accepted[t - 1], served[t - 1]),
            (accepted[t], served[t]),
            sent[t] - sent[t - 1],
        )
        if t < points:
            held += [served[t - 1] <= window.delivered[t], window.delivered[t] <= served[t]]
    return held


@dataclass(frozen=True)
class Bounds:
    """Minima and maxima over a belief set, in packets and packets per step.

    Attributes
    ----------
    c, b : minimum and maximum of the rate and of the buffer
    q : minimum and maximum of the queue at the next point
    safe_rate : the maximum rate at which no link of the set loses packets: the minimum of C + B minus the queue
    min_c_plus_b : the minimum of C + B
    """

    c: tuple[Fraction, Fraction]
    b: tuple[Fraction, Fraction]
    q: tuple[Fraction, Fraction]
    safe_rate: Fraction
    min_c_plus_b: Fraction


def bounds(window: Window, links: LinkRange | None = None) -> Bounds | None:
    """Return the exact bounds of a window's belief set, computed by optimization; None if no link explains the window.

    Raises
    ------
    SolverError : z3 gave no answer within :data:`BOUND_STEPS`
    """
    path = Path.named("", window.points)
    held = explains(path, Terms.of(window), links or LinkRange())
    ends: list[Fraction] = []
    for wanted, is_least in (
        (path.c, True), (path.c, False), (path.b, True), (path.b, False),
        (path.queue, True), (path.queue, False), (path.room, True), (path.c + path.b, True),
    ):  # fmt: skip
        end = _optimum(held, wanted, is_least=is_least)
        if end is None:
            return None
        ends.append(end)
    return Bounds((ends[0], ends[1]), (ends[2], ends[3]), (ends[4], ends[5]), ends[6], ends[7])


def _optimum(held: Sequence[z3.BoolRef], wanted: z3.ArithRef, *, is_least: bool) -> Fraction | None:
    import z3

    # z3 keeps its terms per context: after other queries of the process, one of these can take minutes instead of ms.
    context = z3.Context()
    optimizer = z3.Optimize(ctx=context)
    optimizer.set("rlimit", BOUND_STEPS)
    optimizer.add(*(one.translate(context) for one in held))
    wanted = wanted.translate(context)
    handle = optimizer.minimize(wanted) if is_least else optimizer.maximize(wanted)
    found = optimizer.check()
    if found == z3.unsat:
        return None
    if found != z3.sat:
        raise SolverError(f"z3 found no bound of `{wanted}`: {optimizer.reason_unknown()}")
    end = optimizer.lower(handle) if is_least else optimizer.upper(handle)
    return Fraction(str(end))
