"""Bounds on queue and loss that hold throughout a window of time."""

from __future__ import annotations

from fractions import Fraction

import z3

from fairweir.formal.encoding.system import System


def queue_below(system: System, bound: Fraction, packets: int = 0) -> z3.BoolRef:
    """Return the constraint that the queue is at most `bound` C (R + D) + `packets` alpha, from t = 1 on.

    Parameters
    ----------
    system : System
    bound : in C (R + D)
    packets : int, number of packets of alpha each
    """
    most = bound * (1 + system.grid.jitter) + packets * system.alpha
    return z3.And(*(system.queue(t) <= most for t in range(1, system.grid.points)))


def loss_below(system: System, packets: int) -> z3.BoolRef:
    """Return the constraint that no step loses more than `packets` packets.

    Parameters
    ----------
    system : System
    packets : int, number of packets of alpha each
    """
    size = packets * system.alpha
    return z3.And(*(system.L[t] - system.L[t - 1] <= size for t in range(1, system.grid.points)))
