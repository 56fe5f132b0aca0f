"""Bounds that hold throughout a window."""

from __future__ import annotations

from fractions import Fraction

import z3

from fairweir.formal.encoding.system import System


def queue_below(system: System, bound: Fraction, packets: int = 0) -> z3.BoolRef:
    """All waiting bytes stay below `bound` C (R + D) and that many packets, from t = 1 on.

    Parameters
    ----------
    system : System
    bound : in C (R + D)
    packets : alpha, in addition
    """
    most = bound * (1 + system.grid.jitter) + packets * system.alpha
    return z3.And(*(system.queue(t) <= most for t in range(1, system.grid.points)))


def loss_below(system: System, packets: int) -> z3.BoolRef:
    """No step loses more than that many packets.

    Parameters
    ----------
    system : System
    packets : alpha
    """
    size = packets * system.alpha
    return z3.And(*(system.L[t] - system.L[t - 1] <= size for t in range(1, system.grid.points)))
