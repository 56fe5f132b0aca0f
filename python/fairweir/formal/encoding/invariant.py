"""The synthesis invariant: what every candidate must do in a short trace (equation 4.1.3; published constants).

It is under-specified on purpose: "the rate went up" counts as progress towards utilization, so that a candidate that
satisfies the invariant still has to be proved (thesis section 4.1.2, "Post synthesis").
"""

from __future__ import annotations

import z3

from fairweir.formal.beliefs import Start, cbr_delay, ccac
from fairweir.formal.encoding import properties
from fairweir.formal.encoding.demands import Demands, LargeLoss
from fairweir.formal.encoding.system import Bit, System


def invariant(system: System, demands: Demands) -> Bit:
    """Return the invariant of a single flow with attached beliefs."""
    reads_cbr = "C_L_lambda" in system.flows[0].beliefs
    improves, consistent = (_improves_cbr, _consistent_cbr) if reads_cbr else (_improves, ccac.consistent)
    fine = z3.Or(improves(system), necessary(system, demands))
    kept = [consistent(system, system.grid.last), fine]
    if demands.large_loss is not LargeLoss.NEVER and system.beta is not None:
        excuses = [_no_large_loss(system, demands), went_down(system)]
        if demands.large_loss is LargeLoss.LARGE_BUFFERS:
            excuses.append(system.beta < demands.large_buffer * (1 + system.grid.jitter))
        kept.append(z3.Or(*excuses))
    if reads_cbr:
        own, last = system.flows[0].beliefs, system.grid.last
        kept += [own["C_L_lambda"][last] >= system.alpha, own["q_U"][last] >= 0]
    claim = z3.And(*kept)
    return claim if demands.start is Start.CONSISTENT else _unless_stale(system, demands, claim)


def necessary(system: System, demands: Demands) -> Bit:
    """Each objective holds, or the quantity that violates it moves in the right direction."""
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
    """The rate, the queue or the bottleneck's queue is larger at the last point than when the flow begins to act."""
    return z3.Or(*(after > before for before, after in _trend(system)))


def went_down(system: System) -> Bit:
    """The rate, the queue or the bottleneck's queue is smaller at the last point than when the flow begins to act."""
    return z3.Or(*(after < before for before, after in _trend(system)))


def objectives(system: System, demands: Demands) -> Bit:
    """All steady-state objectives, with no excuse."""
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


def _improves(system: System) -> Bit:
    own, last = system.flows[0].beliefs, system.grid.last
    return own["C_U"][last] - own["C_L"][last] < own["C_U"][0] - own["C_L"][0]


def _improves_cbr(system: System) -> Bit:
    own, last = system.flows[0].beliefs, system.grid.last
    grew = own["C_L_lambda"][last] > own["C_L_lambda"][0]
    if "C_L" not in own:
        return grew
    width = [own["C_U"][t] - own["C_L"][t] for t in (0, last)]
    return z3.And(
        z3.Or(width[1] < width[0], grew), width[1] <= width[0], own["C_L_lambda"][last] >= own["C_L_lambda"][0]
    )


def _consistent_cbr(system: System, t: int) -> Bit:
    parts = [cbr_delay.consistent_rate(system, t), cbr_delay.consistent_queue(system, t)]
    if "C_L" in system.flows[0].beliefs:
        parts.append(ccac.consistent(system, t))
    return z3.And(*parts)


def _unless_stale(system: System, demands: Demands, claim: Bit) -> Bit:
    """Stale bounds must move towards C, become invalid, or do no harm."""
    own, last = system.flows[0].beliefs, system.grid.last
    harmless = objectives(system, demands)
    if "C_L_lambda" in own:
        lower = own["C_L_lambda"]
        return z3.If(lower[0] > 1, z3.Or(lower[last] < lower[0], lower[last] < system.alpha, harmless), claim)
    lower, upper = own["C_L"], own["C_U"]
    excuses = z3.Or(lower[last] > upper[last], harmless, _improves(system))
    high = z3.Or(lower[last] < lower[0], excuses)
    low = z3.Or(upper[last] > upper[0], excuses)
    return z3.If(lower[0] > 1, high, z3.If(upper[0] < 1, low, claim))
