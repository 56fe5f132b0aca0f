"""How long the bytes that are served at a point have waited, in whole steps, rounded down.

``waited(t, k)`` says S(t) <= A(t-k) - L(t-k): the last byte served up to t had arrived k steps before t. Where t - k
lies before the trace it is a free truth value that is monotone in t and k, since there was one arrival curve there too.
"""

from __future__ import annotations

from collections.abc import Sequence

import z3

from fairweir.formal.system import Bit, Flow, Sender, System


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
        # Service that rests while bytes wait rests for D at most: so the delay last seen at 0 cannot be much shorter.
        rested = z3.And(moved, flow.S[t - 1] <= flow.S[0])
        out += [
            z3.Implies(z3.And(rested, shown[t][k]), shown[0][k - 1 - jitter]) for k in range(jitter + 2, points + 1)
        ]
    flow.delay = shown
    return out


def first_byte_delays(system: System, flow: Flow) -> list[list[Bit]]:
    """Give, per point, how long the first byte that is served in the step up to it has waited: bits as of `delays`.

    The byte behind S(t-1) arrived k steps before t if S(t-1) < A(t-k) - L(t-k); the bits say <=, as the published
    prototype does, which can only take a byte for older.
    """
    out: list[list[Bit]] = [[z3.BoolVal(True)] + [z3.BoolVal(False)] * system.grid.points]
    for t in range(1, system.grid.points):
        known = [flow.S[t - 1] <= flow.accepted(t - k) for k in range(1, t + 1)]
        # Older than the trace: as old as the last byte of the step before, which it follows.
        unknown = [flow.delay[t - 1][k - 1] for k in range(t + 1, system.grid.points + 1)]
        out.append([z3.BoolVal(True), *known, *unknown])
    return out


def _waits(system: System, flow: Flow, index: int | None) -> Sequence[Sequence[Bit]]:
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
