"""Properties that a trace may have, such as a minimum utilization, with constants of the published code and the thesis.

A system is the variables and constraints of one question to a solver. Each property is a function that takes a system
and returns a condition on its traces, from the first sample point to the last. The thesis states asymptotic bounds; the
properties use its fixed constants, such as 50 % utilization and 5 C (R + D) bytes in flight (section 4.2.1). A trace
may start in any state, so a bound that holds only in a steady state needs that state as an assumption.

Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; units are such that C = R = 1. A, S, L, Ld:
cumulative bytes sent, served, lost, and known to be lost by their sender, at a sample point. TA: cumulative bytes that
have left the bottleneck's queue or, on a CCAC link (a token bucket with jitter), the tokens admitted. alpha: one MSS.
T: number of sample points.

A trace is the value of each curve at each sample point; a step is the time between two points.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import z3

from fairweir.errors import ConfigError
from fairweir.formal.encoding.demands import LARGE_LOSS, QUEUE, QUEUE_PACKETS, UTILIZATION
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.system import Bit, System


@dataclass(frozen=True)
class Constant:
    """The constant of a property: its default value, unit and source."""

    default: Fraction
    unit: str
    reason: str


class Claim(Protocol):
    """A function that returns the condition of a property for a given constant."""

    def __call__(self, system: System, bound: Fraction) -> Bit:
        """Return the condition that a trace of the system satisfies the property with the constant `bound`."""


@dataclass(frozen=True)
class Property:
    """A property with its constant.

    Attributes
    ----------
    claim : function that returns the condition for solvers
    constant : Constant
    is_at_least : bool, whether the constant is a lower bound
    meaning : str, description for the output of ``verify --list``
    statement : function that returns the inequality as text, with numbers
    """

    claim: Claim
    constant: Constant
    is_at_least: bool
    meaning: str
    statement: Callable[[Grid, Fraction], str]


def utilization(system: System, bound: Fraction = UTILIZATION) -> Bit:
    """Return the condition that the bytes served in the trace are at least `bound` C times the length of the trace
    minus D.

    Parameters
    ----------
    system : System
    bound : fraction of C
    """
    return system.S[system.grid.last] - system.S[0] >= bound * (system.grid.span - system.grid.jitter)


def queue(system: System, bound: Fraction = QUEUE) -> Bit:
    """Return the condition A - L - S <= bound C (R + D) + 3 alpha, at every point but the first.

    Parameters
    ----------
    system : System
    bound : maximum, in C (R + D)
    """
    most = bound * (1 + system.grid.jitter) + QUEUE_PACKETS * system.alpha
    return z3.And(*(system.queue(t) <= most for t in range(1, system.grid.points)))


def inflight(system: System, bound: Fraction = Fraction(5)) -> Bit:
    """Return the condition A - Ld - S <= bound C (R + D), summed over all flows, at every point but the first.

    Parameters
    ----------
    system : System
    bound : maximum, in C (R + D)
    """
    most = bound * (1 + system.grid.jitter)
    return z3.And(*(system.A[t] - system.Ld[t] - system.S[t] <= most for t in range(1, system.grid.points)))


def bottleneck_queue(system: System, bound: Fraction = Fraction(33, 10)) -> Bit:
    """Return the condition A - L - TA <= bound C (R + D), at the last point (thesis lemma B.4.5).

    Parameters
    ----------
    system : System
    bound : maximum, in C (R + D)
    """
    return system.bottleneck_queue(system.grid.last) <= bound * (1 + system.grid.jitter)


def loss_events(system: System, bound: Fraction | None = None) -> Bit:
    """Return the condition that at most `bound` steps have losses; by default, one step in every second R, and one
    more.

    Parameters
    ----------
    system : System
    bound : number of steps; None: half the length of the trace in R, plus 1
    """
    most = system.grid.span / 2 + 1 if bound is None else bound
    return count_at_most(_losses(system), int(most))


def large_losses(system: System, bound: Fraction = Fraction(0), packets: Fraction = Fraction(LARGE_LOSS)) -> Bit:
    """Return the condition that at most `bound` steps lose more than `packets` alpha (thesis section 4.2.1: 3 MSS).

    Parameters
    ----------
    system : System
    bound : number of steps
    packets : the loss in units of alpha above which a step counts
    """
    return count_at_most(_losses(system, packets * system.alpha), int(bound))


def loss_amount(system: System, bound: Fraction | None = None) -> Bit:
    """Return the condition that the bytes lost in the trace are at most `bound` C (R + D) + (T - 1) alpha.

    By default, `bound` is the maximum number of steps with losses, as in :func:`loss_events`.
    """
    most = system.grid.span / 2 + 1 if bound is None else bound
    lost = system.L[system.grid.last] - system.L[0]
    return lost <= most * (1 + system.grid.jitter) + system.grid.last * system.alpha


def share(system: System, bound: Fraction = Fraction(1, 10)) -> Bit:
    """Return the condition that the bytes served to each flow are at least `bound` times those served to any other
    flow.

    Parameters
    ----------
    system : System, with several flows
    bound : ratio of the bytes served to two flows

    Raises
    ------
    ConfigError : the system has only one flow
    """
    if len(system.flows) < 2:
        raise ConfigError(
            "`share` compares flows, and there is only one", key="--property", hint="add --flows 2, or more"
        )
    served = [flow.S[system.grid.last] - flow.S[0] for flow in system.flows]
    return z3.And(*(mine >= bound * other for mine in served for other in served if mine is not other))


def _steps(grid: Grid) -> str:
    """Return the length of a trace minus D as text, such as ``(T - 1 - D)``: T points have T - 1 steps between them."""
    return "(T - 1 - D)" if grid.per_r == 1 else f"((T - 1)/{grid.per_r} - D)"


def _says_utilization(grid: Grid, bound: Fraction) -> str:
    length = grid.span - grid.jitter
    filled = f"{bound} C ({grid.span} R - {grid.jitter} R) = {bound * length} C R"
    return f"S({grid.last}) - S(0) >= {bound} C {_steps(grid)} = {filled}"


def _says_queue(grid: Grid, bound: Fraction) -> str:
    filled = f"{bound * (1 + grid.jitter)} C R + {QUEUE_PACKETS} alpha"
    most = f"{bound} C (R + D) + {QUEUE_PACKETS} alpha = {filled}"
    return f"A(t) - L(t) - S(t) <= {most}, at t = 1 .. {grid.last}"


def _says_inflight(grid: Grid, bound: Fraction) -> str:
    most = f"{bound} C (R + D) = {bound * (1 + grid.jitter)} C R"
    return f"A(t) - Ld(t) - S(t) <= {most}, at t = 1 .. {grid.last}"


def _says_bottleneck_queue(grid: Grid, bound: Fraction) -> str:
    t, most = grid.last, f"{bound} C (R + D) = {bound * (1 + grid.jitter)} C R"
    return f"A({t}) - L({t}) - TA({t}) <= {most}"


def _says_loss_events(grid: Grid, bound: Fraction) -> str:
    return f"L(t) > L(t-1) in at most {bound} of the {grid.last} steps"


def _says_large_losses(grid: Grid, bound: Fraction) -> str:
    return f"L(t) - L(t-1) > {LARGE_LOSS} alpha in at most {bound} of the {grid.last} steps"


def _says_loss_amount(grid: Grid, bound: Fraction) -> str:
    filled = f"{bound * (1 + grid.jitter)} C R + {grid.last} alpha"
    return f"L({grid.last}) - L(0) <= {bound} C (R + D) + (T - 1) alpha = {filled}"


def _says_share(grid: Grid, bound: Fraction) -> str:
    t = grid.last
    return f"S_i({t}) - S_i(0) >= {bound} (S_j({t}) - S_j(0)) for all flows i, j"


#: The properties by their names on the command line.
PROPERTIES: Mapping[str, Property] = {
    "utilization": Property(
        utilization,
        Constant(UTILIZATION, "C", "thesis section 4.2.1"),
        True,
        "bytes served over the trace, divided by what C could serve in its length minus D",
        _says_utilization,
    ),
    "queue": Property(
        queue,
        Constant(QUEUE, "C (R + D)", f"published code; beyond {QUEUE_PACKETS} alpha"),
        False,
        f"all bytes queued or delayed, at every point but the first, beyond {QUEUE_PACKETS} packets",
        _says_queue,
    ),
    "inflight": Property(
        inflight,
        Constant(Fraction(5), "C (R + D)", "thesis section 4.2.1"),
        False,
        "bytes neither acknowledged nor known to be lost, at every point but the first",
        _says_inflight,
    ),
    "bottleneck-queue": Property(
        bottleneck_queue,
        Constant(Fraction(33, 10), "C (R + D)", "thesis lemma B.4.5, at the last point"),
        False,
        "bytes queued at the link at the last point; bytes delayed by jitter do not count",
        _says_bottleneck_queue,
    ),
    "loss-events": Property(
        loss_events,
        Constant(Fraction(3), "steps", "published code, steady state of cc_qdel; thesis 4.2.1: one every other R"),
        False,
        "steps in which anything is lost",
        _says_loss_events,
    ),
    "large-losses": Property(
        large_losses,
        Constant(Fraction(0), "steps", f"thesis section 4.2.1: a loss of more than {LARGE_LOSS} MSS is large"),
        False,
        f"steps that lose more than {LARGE_LOSS} packets",
        _says_large_losses,
    ),
    "loss-amount": Property(
        loss_amount,
        Constant(Fraction(1), "C (R + D)", "beyond (T - 1) alpha"),
        False,
        "bytes lost over the trace, beyond one packet a step",
        _says_loss_amount,
    ),
    "share": Property(
        share,
        Constant(Fraction(1, 10), "of the largest flow", "bounded unfairness"),
        True,
        "minimum bytes served to a flow, divided by the maximum; needs --flows 2 or more",
        _says_share,
    ),
}


def _losses(system: System, size: z3.ArithRef | None = None) -> list[Bit]:
    """Return, for each step, the condition that more than `size` bytes are lost in the step, with `size` in C R."""
    if not system.buffer.is_finite:
        return []
    least = z3.RealVal(0) if size is None else size
    return [system.L[t] - system.L[t - 1] > least for t in range(1, system.grid.points)]


def count_at_most(bits: list[Bit], most: int) -> Bit:
    """Return the condition that at most `most` of `bits` are true. The condition uses only and, or, not, which all
    solvers have.

    Parameters
    ----------
    bits : the conditions
    most : int, the maximum number of true conditions
    """
    if len(bits) <= most:
        return z3.BoolVal(True)
    if most == 0:
        return z3.And(*(z3.Not(bit) for bit in bits))
    # more[k]: more than k of the bits examined so far are true
    more = [z3.BoolVal(False)] * (most + 1)
    for bit in bits:
        more = [z3.Or(more[0], bit)] + [z3.Or(more[k], z3.And(bit, more[k - 1])) for k in range(1, most + 1)]
    return z3.Not(more[most])
