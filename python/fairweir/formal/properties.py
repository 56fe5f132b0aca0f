"""What one may claim of a trace, by name, with the constants of the published code and of the thesis.

All take a system and give a truth value over the whole trace: from the first point to the last, C R for data.
The thesis' asymptotic bounds are read off at fixed constants: 50 % utilization, inflight of 5 C (R + D) and so on
(section 4.2.1); a trace starts anywhere, so bounds that hold only in a steady state need that as an assumption.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import z3

from fairweir.formal.system import Bit, System

#: Least part of C that is served over the trace; 3/10 for cc_probe_slow, which drains two R of three (Table 4.2).
UTILIZATION = Fraction(1, 2)
#: All waiting bytes, in C (R + D), beyond 3 alpha. Published code; the thesis has 5 for inflight.
QUEUE = Fraction(4)
#: Bytes that may wait beyond `QUEUE`, in alpha: what cannot be expressed in C R on slow links.
QUEUE_PACKETS = 3
#: Losses in a step of more packets than this are large. Thesis; the published code has T - 1.
LARGE_LOSS = 3


@dataclass(frozen=True)
class Constant:
    """A bound a property takes, with its value unless told otherwise, and why."""

    default: Fraction
    unit: str
    reason: str


class Claim(Protocol):
    """A property with its constant filled in."""

    def __call__(self, system: System, bound: Fraction) -> Bit:
        """Give the claim over a system."""


@dataclass(frozen=True)
class Property:
    """A named claim and its constant."""

    claim: Claim
    constant: Constant
    is_at_least: bool
    """Does a larger constant make a stronger claim?"""


def utilization(system: System, bound: Fraction = UTILIZATION) -> Bit:
    """S(T) - S(0) >= bound C (T - D): T steps of which D may be lost to jitter."""
    return system.S[system.grid.last] - system.S[0] >= bound * (system.grid.span - system.grid.jitter)


def queue(system: System, bound: Fraction = QUEUE) -> Bit:
    """A - L - S <= bound C (R + D) + 3 alpha at every point but the first."""
    most = bound * (1 + system.grid.jitter) + QUEUE_PACKETS * system.alpha
    return z3.And(*(system.queue(t) <= most for t in range(1, system.grid.points)))


def inflight(system: System, bound: Fraction = Fraction(5)) -> Bit:
    """A - Ld - S <= bound C (R + D) at every point but the first, all flows together."""
    most = bound * (1 + system.grid.jitter)
    return z3.And(*(system.A[t] - system.Ld[t] - system.S[t] <= most for t in range(1, system.grid.points)))


def bottleneck_queue(system: System, bound: Fraction = Fraction(33, 10)) -> Bit:
    """A - L - TA <= bound C (R + D) at the last point (lemma B.4.5)."""
    return system.bottleneck_queue(system.grid.last) <= bound * (1 + system.grid.jitter)


def loss_events(system: System, bound: Fraction | None = None) -> Bit:
    """At most `bound` steps with losses; one in every second R, and one, unless told otherwise."""
    most = system.grid.span / 2 + 1 if bound is None else bound
    return count_at_most(_losses(system), int(most))


def large_losses(system: System, bound: Fraction = Fraction(0), packets: Fraction | None = None) -> Bit:
    """At most `bound` steps that lose more than `packets` alpha (published code: as many as there are steps)."""
    size = (Fraction(system.grid.last) if packets is None else packets) * system.alpha
    return count_at_most(_losses(system, size), int(bound))


def loss_amount(system: System, bound: Fraction | None = None) -> Bit:
    """All losses together at most `bound` C (R + D) + (T - 1) alpha; a buffer's worth per loss event by default."""
    most = system.grid.span / 2 + 1 if bound is None else bound
    lost = system.L[system.grid.last] - system.L[0]
    return lost <= most * (1 + system.grid.jitter) + system.grid.last * system.alpha


def share(system: System, bound: Fraction = Fraction(1, 10)) -> Bit:
    """Each flow's bytes served are at least `bound` of the largest flow's (bounded unfairness)."""
    served = [flow.S[system.grid.last] - flow.S[0] for flow in system.flows]
    return z3.And(*(mine >= bound * other for mine in served for other in served if mine is not other))


#: By the name the command line uses.
PROPERTIES: Mapping[str, Property] = {
    "utilization": Property(utilization, Constant(UTILIZATION, "C", "thesis section 4.2.1"), True),
    "queue": Property(queue, Constant(QUEUE, "C (R + D)", "published code; beyond 3 alpha"), False),
    "inflight": Property(inflight, Constant(Fraction(5), "C (R + D)", "thesis section 4.2.1"), False),
    "bottleneck-queue": Property(
        bottleneck_queue, Constant(Fraction(33, 10), "C (R + D)", "thesis lemma B.4.5, at the last point"), False
    ),
    "loss-events": Property(loss_events, Constant(Fraction(3), "steps", "thesis lemma B.4.7"), False),
    "large-losses": Property(large_losses, Constant(Fraction(0), "steps", "thesis section 4.2.1"), False),
    "loss-amount": Property(loss_amount, Constant(Fraction(1), "C (R + D)", "beyond (T - 1) alpha"), False),
    "share": Property(share, Constant(Fraction(1, 10), "of the largest flow", "bounded unfairness"), True),
}


def _losses(system: System, size: z3.ArithRef | None = None) -> list[Bit]:
    """Tell per step whether more than `size` was lost in it."""
    if not system.buffer.is_finite:
        return []
    least = z3.RealVal(0) if size is None else size
    return [system.L[t] - system.L[t - 1] > least for t in range(1, system.grid.points)]


def count_at_most(bits: list[Bit], most: int) -> Bit:
    """At most that many of the bits are true, in plain propositional logic, which every solver reads."""
    if len(bits) <= most:
        return z3.BoolVal(True)
    if most == 0:
        return z3.And(*(z3.Not(bit) for bit in bits))
    # more[k]: more than k of the bits seen so far are true
    more = [z3.BoolVal(False)] * (most + 1)
    for bit in bits:
        more = [z3.Or(more[0], bit)] + [z3.Or(more[k], z3.And(bit, more[k - 1])) for k in range(1, most + 1)]
    return z3.Not(more[most])
