"""Constraints on the delays that flows observe: the waiting times of the bytes served, in whole steps, rounded down.

Symbols: D, maximum jitter; A, S, L, cumulative bytes that a flow sent, that were served and that were lost, at sample
point t; T, number of points; C, link rate; beta, size of the buffer. ``waited[t][k]`` is S(t) <= A(t-k) - L(t-k): the
last byte served by t had arrived by t - k, so it waited for k steps or more. If t - k is before the trace, A - L is the
flow's `past`, whose values the solver may choose.

A trace is the value of each curve at each sample point; a step is the time between two points. A system is the
variables of a trace and the constraints on these variables, which form one question to a solver.
"""

from __future__ import annotations

import z3

from fairweir.formal.encoding.system import Acks, Bit, Flow, Sender, System, rising


def delays(system: System, flow: Flow, index: int | None = None) -> list[z3.BoolRef]:
    """Create the variables of a flow's `past` and of its observed delays, and return the constraints on these
    variables.

    If bytes are served in the step up to t, the delay observed at t is the waiting time of the last byte served.
    Otherwise the delay is that of the previous point.

    Parameters
    ----------
    system : System
    flow : Flow, a flow of the system
    index : int, index of the flow; None: the system has one flow
    """
    points, jitter = system.grid.points, system.grid.d_steps
    flow.past = [system.real("past", t, index) for t in range(1, points + 1)]
    flow.waited = [
        [z3.BoolVal(True), *(flow.S[t] <= flow.accepted(t - k) for k in range(1, points + 1))] for t in range(points)
    ]
    flow.delay = [system.bits("G", t, points, index) for t in range(points)]
    shown, waited = flow.delay, flow.waited
    out = rising([*reversed(flow.past), flow.accepted(0)])
    for t in range(points):
        out += [z3.Implies(shown[t][k + 1], shown[t][k]) for k in range(1, points)]
        out += [z3.Implies(shown[t][k], _possible(system, k)) for k in range(1, points + 1)]
    out += [z3.Implies(shown[0][k], waited[0][k]) for k in range(1, points + 1)]
    for t in range(1, points):
        moved = flow.S[t] > flow.S[t - 1]
        for k in range(1, points + 1):
            out.append(z3.Implies(moved, shown[t][k] == waited[t][k]))
            out.append(z3.Implies(z3.Not(moved), shown[t][k] == shown[t - 1][k]))
        if system.acks is Acks.STEADY:
            out += [z3.Implies(shown[t][k + 1], shown[t - 1][k]) for k in range(1, points)]
        if system.acks is Acks.STEADY or len(system.flows) > 1:
            continue
        # While bytes of a single flow wait, service pauses for at most D. The first delay observed after t = 0 is
        # therefore at most D + 1 steps larger than the delay at t = 0.
        rested = z3.And(moved, flow.S[t - 1] <= flow.S[0])
        out += [
            z3.Implies(z3.And(rested, shown[t][k]), shown[0][k - 1 - jitter]) for k in range(jitter + 2, points + 1)
        ]
    return out


def first_byte_delays(system: System, flow: Flow) -> list[list[Bit]]:
    """Return, for each point t and each k, whether the first byte served in the step up to t waited for k steps or
    more.

    This byte is the one after S(t-1). It had arrived by t - k if S(t-1) < A(t-k) - L(t-k).

    Parameters
    ----------
    system : System
    flow : Flow, a flow of the system
    """
    points = system.grid.points
    none = [z3.BoolVal(True)] + [z3.BoolVal(False)] * points
    return [none] + [
        [z3.BoolVal(True), *(flow.S[t - 1] < flow.accepted(t - k) for k in range(1, points + 1))]
        for t in range(1, points)
    ]


def _possible(system: System, steps: int) -> z3.BoolRef:
    """Return the condition on beta under which a byte can wait for `steps`: at most beta / C + D.

    If a flow may pause, because a window limits the flow or because other flows fill the queue, the flow can observe a
    delay that is one step longer.
    """
    if system.beta is None:
        return z3.BoolVal(True)
    pauses = len(system.flows) > 1 or system.flows[0].sender is not Sender.RATE
    in_queue = steps - system.grid.d_steps - int(pauses)
    return z3.BoolVal(True) if in_queue <= 0 else system.beta >= in_queue * system.grid.step
