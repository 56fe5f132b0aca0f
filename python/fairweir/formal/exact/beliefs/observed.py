"""A flow's observations in one step of a trace: whether the link was busy, was loaded, or lost bytes.

Symbols: A, S, L, Ld are the cumulative bytes that the flow has sent, that were served, that were lost, and whose loss
the flow knows, at sample point t. qdel_L is the flow's lower bound on the queueing delay: the observed delay minus D,
the maximum jitter.

A trace is the value of each curve at each sample point; a step is the time between two points.

A belief is a bound on the network that a flow infers from what it observes.
"""

from __future__ import annotations

from fairweir.formal.encoding.trace import FlowTrace, Trace
from fairweir.formal.exact.networks import definition_of
from fairweir.formal.exact.senders import min_qdelay


def knows_loss(trace: Trace, flow: FlowTrace, t: int) -> bool:
    """Return whether the flow detected a loss in the step up to t."""
    known = flow.L if definition_of(trace).knows_losses_at_once else flow.Ld
    return known[t] > known[t - 1]


def is_busy(trace: Trace, flow: FlowTrace, t: int) -> bool:
    """Return whether the flow sent in the step up to t and observed qdel_L > 0, or detected a loss."""
    sends = flow.A[t] > flow.A[t - 1]
    return (min_qdelay(trace, flow, t) > 0 and sends) or knows_loss(trace, flow, t)


def is_loaded(trace: Trace, flow: FlowTrace, t: int, steps: int) -> bool:
    """Return whether the first byte served in the step up to t waited longer than `steps`, or a loss was detected.

    Parameters
    ----------
    trace : Trace
    flow : FlowTrace, one of its flows
    t : int, the point at the end of the step
    steps : int, the waiting time above which the link counts as loaded
    """
    is_served, sends = flow.S[t] > flow.S[t - 1], flow.A[t] > flow.A[t - 1]
    # The first byte served after t - 1 has waited longer than `steps` if the byte had arrived by t - steps - 1.
    is_old = steps < trace.grid.points and flow.accepted(t - steps - 1) > flow.S[t - 1]
    return (is_served and sends and is_old) or knows_loss(trace, flow, t)
