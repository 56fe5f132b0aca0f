"""How long the bytes that are served at a point have waited, in whole steps, rounded down.

``waited(t, k)`` says S(t) <= A(t-k) - L(t-k): the last byte served up to t had arrived k steps before t. Where t - k
lies before the trace it is a free truth value that is monotone in t and k, since there was one arrival curve there too.
"""

from __future__ import annotations

from collections.abc import Sequence

import z3

from fairweir.formal.system import Acks, Bit, Flow, Sender, System


def delays(system: System, flow: Flow, index: int | None = None) -> list[z3.BoolRef]:
    """Make a flow's delays, and give what binds them.

    When its service moves at t, the delay is how long the last byte served has waited; otherwise it is the last seen.
    """
    points, jitter = system.grid.points, system.grid.d_steps
    shown = [system.bits("G", t, points, index) for t in range(points)]
    waited = _waits(system, flow, index)
    out: list[z3.BoolRef] = []
    for t in range(points):
        out += [z3.Implies(waited[t][k + 1], waited[t][k]) for k in range(max(1, t), points)]
        out += [z3.Implies(shown[t][k + 1], shown[t][k]) for k in range(1, points)]
        out += [z3.Implies(shown[t][k], _possible(system, k)) for k in range(1, points + 1)]
    out += [z3.Implies(shown[0][k], waited[0][k]) for k in range(1, points + 1)]
    for t in range(1, points):
        moved = flow.S[t] > flow.S[t - 1]
        # What was there k steps before t - 1 was there k + 1 steps before t.
        out += [z3.Implies(waited[t][k + 1], waited[t - 1][k]) for k in range(t, points)]
        for k in range(1, points + 1):
            out.append(z3.Implies(moved, shown[t][k] == waited[t][k]))
            out.append(z3.Implies(z3.Not(moved), shown[t][k] == shown[t - 1][k]))
        if system.acks is Acks.STEADY:
            out += [z3.Implies(shown[t][k + 1], shown[t - 1][k]) for k in range(1, points)]
            continue
        # Service that rests while bytes wait rests for D at most: so the delay last seen at 0 cannot be much shorter.
        rested = z3.And(moved, flow.S[t - 1] <= flow.S[0])
        out += [
            z3.Implies(z3.And(rested, shown[t][k]), shown[0][k - 1 - jitter]) for k in range(jitter + 2, points + 1)
        ]
    flow.delay, flow.waited = shown, waited
    return out


def first_byte_delays(system: System, flow: Flow, index: int | None = None) -> tuple[list[list[Bit]], list[z3.BoolRef]]:
    """Give, per point, how long the first byte that is served in the step up to it has waited, and what binds that.

    The byte behind S(t-1) had arrived k steps before t if S(t-1) < A(t-k) - L(t-k). Before the trace the bit is free
    between what is known of its neighbours: the last byte of this step is no older, that of the step before no younger.
    """
    points, bits, out = system.grid.points, [system.bits("F", 0, 0, index)], []
    for t in range(1, points):
        free = system.bits("F", t, points, index)
        known = [flow.S[t - 1] < flow.accepted(t - k) for k in range(1, t + 1)]
        bits.append([free[0], *known, *free[t + 1 :]])
        moved = flow.S[t] > flow.S[t - 1]
        for k in range(t + 1, points + 1):
            out.append(z3.Implies(free[k], bits[t][k - 1]))
            out.append(z3.Implies(free[k], flow.waited[t - 1][k - 1]))
            out.append(z3.Implies(z3.And(moved, flow.waited[t][k]), free[k]))
    return bits, out


def _waits(system: System, flow: Flow, index: int | None) -> Sequence[Sequence[Bit]]:
    """Give per point t and k: had the last byte served up to t arrived k steps before?"""
    points = system.grid.points
    out = []
    for t in range(points):
        free = system.bits("H", t, points, index)
        out.append([free[0], *(flow.S[t] <= flow.accepted(t - k) for k in range(1, t + 1)), *free[t + 1 :]])
    return out


def _possible(system: System, steps: int) -> z3.BoolRef:
    """Give the condition on beta under which a byte can wait that long: at most beta / C + D.

    A window's sender may pause; then the step in which the queue runs empty counts in full.
    """
    if system.beta is None:
        return z3.BoolVal(True)
    pauses = any(flow.sender is not Sender.RATE for flow in system.flows)
    in_queue = steps - system.grid.d_steps - int(pauses)
    return z3.BoolVal(True) if in_queue <= 0 else system.beta >= in_queue * system.grid.step
