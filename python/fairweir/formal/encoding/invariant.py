"""The synthesis invariant as a constraint for solvers (thesis equation 4.1.3).

The synthesis invariant is a condition that each short trace of a candidate algorithm must satisfy. The objectives are
bounds on utilization, queue and losses. A belief is a bound on the network that a flow infers from what it observes;
beliefs of one family are computed together. A system is the variables and constraints of one question to a solver.

The constants are those of the published code. The invariant is deliberately weak: for example, an increase of the rate
counts as progress towards utilization. A candidate that satisfies the invariant must therefore still be proved (thesis
section 4.1.2, "Post synthesis"). R is the round-trip propagation delay.

A trace is the value of each curve at each sample point; a step is the time between two points.
"""

from __future__ import annotations

from collections.abc import Sequence

import z3

from fairweir.formal.beliefs import Start
from fairweir.formal.beliefs.families import FAMILIES
from fairweir.formal.beliefs.family import Family
from fairweir.formal.encoding import properties
from fairweir.formal.encoding.demands import Demands, LargeLoss
from fairweir.formal.encoding.system import Bit, System


def invariant(system: System, demands: Demands) -> Bit:
    """Return the synthesis invariant for a system with one flow, to which beliefs are attached.

    Parameters
    ----------
    system : System, with one flow that has beliefs
    demands : Demands, the constants of the invariant (docs/formal/synthesis.md)
    """
    families = [FAMILIES[name] for name in system.flows[0].attached]
    improves = _improves(system, families)
    # A rule reads the beliefs of the family that was attached last.
    consistent = [bit for family in reversed(families) for bit in family.consistent(system, system.grid.last)]
    kept = [_all(consistent), z3.Or(improves, necessary(system, demands))]
    if demands.large_loss is not LargeLoss.NEVER and system.beta is not None:
        excuses = [_no_large_loss(system, demands), went_down(system)]
        if demands.large_loss is LargeLoss.LARGE_BUFFERS:
            excuses.append(system.beta < demands.large_buffer * (1 + system.grid.jitter))
        kept.append(z3.Or(*excuses))
    kept += [bit for family in families for bit in family.may_end(system)]
    claim = z3.And(*kept)
    if demands.start is Start.CONSISTENT or not families:
        return claim
    return families[-1].unless_stale(system, claim, objectives(system, demands), improves)


def necessary(system: System, demands: Demands) -> Bit:
    """Return the condition that each objective is met, or the quantity that misses the objective moves in the right
    direction.

    Parameters
    ----------
    system : System, with one flow
    demands : Demands, the constants of the invariant
    """
    down = went_down(system)
    parts = [
        z3.Or(properties.utilization(system, demands.utilization), went_up(system)),
        z3.Or(properties.queue(system, demands.queue), down),
    ]
    if system.buffer.is_finite:
        claims = (properties.loss_events(system), _no_large_loss(system, demands), properties.loss_amount(system))
        parts += [z3.Or(claim, down) for claim in claims]
    return z3.And(*parts)


def _no_large_loss(system: System, demands: Demands) -> Bit:
    return properties.large_losses(system, packets=demands.large(system.grid))


def went_up(system: System) -> Bit:
    """Return the condition that the rate, the queue or the bottleneck queue is larger at the last point than at t = R,
    when the sender decides for the first time. Only the queue includes bytes that wait because of jitter.
    """
    return z3.Or(*(after > before for before, after in _trend(system)))


def went_down(system: System) -> Bit:
    """Return the condition that the rate, queue or bottleneck queue is smaller at the last point than at t = R."""
    return z3.Or(*(after < before for before, after in _trend(system)))


def objectives(system: System, demands: Demands) -> Bit:
    """Return the condition that all objectives are met; progress towards an objective is not enough.

    Parameters
    ----------
    system : System, with one flow
    demands : Demands, the constants of the invariant
    """
    return z3.And(
        properties.utilization(system, demands.utilization),
        properties.queue(system, demands.queue),
        properties.loss_events(system),
        _no_large_loss(system, demands),
        properties.loss_amount(system),
    )


def _trend(system: System) -> list[tuple[z3.ArithRef, z3.ArithRef]]:
    first, last, rate = system.grid.r_steps, system.grid.last, system.flows[0].rate
    pairs = [(rate[first], rate[last]), (system.queue(first), system.queue(last))]
    if not system.network.has_jitter:
        return pairs
    return [*pairs, (system.bottleneck_queue(first), system.bottleneck_queue(last))]


def _improves(system: System, families: Sequence[Family]) -> Bit:
    """Return the condition that one family of beliefs excludes more networks than at t = 0, and no family fewer."""
    if len(families) == 1:
        return families[0].gains(system)
    return z3.And(
        z3.Or(*(family.gains(system) for family in families)), *(family.loses_nothing(system) for family in families)
    )


def _all(bits: Sequence[Bit]) -> Bit:
    return bits[0] if len(bits) == 1 else z3.And(*bits)
