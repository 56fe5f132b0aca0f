"""Decide in exact fractions, without a solver, whether a trace satisfies the synthesis invariant.

The synthesis invariant is the condition that each trace of a candidate algorithm must satisfy. In short: at the last
point, the flow's beliefs (its bounds on the network) are true of the network; and either the beliefs are tighter than
at the first point, or each objective (utilization, queue, losses) is met or the quantity that misses the objective
moves in the right direction. :mod:`fairweir.formal.encoding.invariant` has the constraints for solvers.

Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; units are such that C = R = 1.

A trace is the value of each curve at each sample point; a step is the time between two points.
"""

from __future__ import annotations

from fractions import Fraction

from fairweir.formal.beliefs.choices import Start
from fairweir.formal.encoding.demands import QUEUE_PACKETS, Demands, LargeLoss
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.beliefs import attached_to
from fairweir.formal.exact.believe import is_consistent
from fairweir.formal.exact.networks import definition_of


def keeps(trace: Trace, asked: Demands) -> bool:
    """Return whether a trace of one flow satisfies the synthesis invariant.

    Parameters
    ----------
    trace : Trace
    asked : Demands, the constants of the invariant
    """
    flow, last = trace.flows[0], trace.grid.last
    own = flow.beliefs
    shrinks = _shrinks(trace)
    kept = _is_consistent(trace) and (shrinks or _makes_progress(trace, asked))
    has_to_spare = trace.beta is not None and (
        asked.large_loss is LargeLoss.ALWAYS
        or (asked.large_loss is LargeLoss.LARGE_BUFFERS and trace.beta >= asked.large_buffer * _reach(trace))
    )
    if has_to_spare:
        kept = kept and (_large_losses(trace, asked) == 0 or _goes(trace, -1))
    families = attached_to(flow)
    for family in families:
        kept = kept and family.may_end(trace, {name: own[name][last] for name in family.names})
    if asked.start is Start.CONSISTENT or not families:
        return kept
    harmless = _is_utilized(trace, asked) and all(_bounds(trace, asked))
    return families[-1].unless_stale(trace, kept=kept, harmless=harmless, shrinks=shrinks)


def _reach(trace: Trace) -> Fraction:
    """Return C (R + D), in C R."""
    return 1 + trace.grid.jitter


def _is_consistent(trace: Trace) -> bool:
    flow, last = trace.flows[0], trace.grid.last
    return all(
        is_consistent(trace, family, terms, {name: column[last] for name, column in flow.beliefs.items()}, last)
        for family, terms in flow.attached.items()
    )


def _shrinks(trace: Trace) -> bool:
    flow = trace.flows[0]
    families = attached_to(flow)
    return any(one.gains(flow.beliefs) for one in families) and all(one.loses_nothing(flow.beliefs) for one in families)


def _makes_progress(trace: Trace, asked: Demands) -> bool:
    falls = _goes(trace, -1)
    return (_is_utilized(trace, asked) or _goes(trace, 1)) and all(met or falls for met in _bounds(trace, asked))


def _is_utilized(trace: Trace, asked: Demands) -> bool:
    return trace.S[-1] - trace.S[0] >= asked.utilization * (trace.grid.span - trace.grid.jitter)


def _bounds(trace: Trace, asked: Demands) -> list[bool]:
    """Return, for each upper bound on queue and losses, whether the trace satisfies it."""
    most = asked.queue * _reach(trace) + QUEUE_PACKETS * trace.alpha
    met = [all(trace.accepted(t) - trace.S[t] <= most for t in range(1, trace.grid.points))]
    if trace.beta is None:
        return met
    events = trace.grid.span / 2 + 1
    amount = events * _reach(trace) + trace.grid.last * trace.alpha
    return [
        *met,
        sum(lost > 0 for lost in _losses(trace)) <= events,
        _large_losses(trace, asked) == 0,
        trace.L[-1] - trace.L[0] <= amount,
    ]


def _losses(trace: Trace) -> list[Fraction]:
    return [after - before for before, after in zip(trace.L, trace.L[1:], strict=False)]


def _large_losses(trace: Trace, asked: Demands) -> int:
    return sum(lost > asked.large(trace.grid) * trace.alpha for lost in _losses(trace))


def _goes(trace: Trace, sign: int) -> bool:
    """Return whether the rate, the queue or the bottleneck queue is larger (sign 1) or smaller (-1) at the last point
    than at t = R. The queue is all bytes that wait; the bottleneck queue excludes bytes that wait because of jitter.
    """
    first, last, rate = trace.grid.r_steps, trace.grid.last, trace.flows[0].rate
    queues = [trace.accepted(t) - trace.S[t] for t in (first, last)]
    changes = [rate[last] - rate[first], queues[1] - queues[0]]
    if definition_of(trace).has_jitter:
        changes.append(trace.bottleneck_queue(last) - trace.bottleneck_queue(first))
    return any(sign * change > 0 for change in changes)
