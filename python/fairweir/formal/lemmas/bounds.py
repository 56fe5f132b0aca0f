"""Constraints that bound the queue, or the losses in each step, throughout a trace.

Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; alpha, bytes of one packet (MSS); t, index of
a sample point of the trace. The units are such that C = R = 1.
"""

from __future__ import annotations

from fractions import Fraction

import z3

from fairweir.formal.encoding.system import System


def queue_below(system: System, bound: Fraction, packets: int = 0) -> z3.BoolRef:
    """Return the constraint that the queue is at most `bound` C (R + D) + `packets` alpha at each point with t >= 1.

    Parameters
    ----------
    system : System
    bound : Fraction, in C (R + D)
    packets : int, number of packets
    """
    most = bound * (1 + system.grid.jitter) + packets * system.alpha
    return z3.And(*(system.queue(t) <= most for t in range(1, system.grid.points)))


def loss_below(system: System, packets: int) -> z3.BoolRef:
    """Return the constraint that at most `packets` packets are lost in each step between two points.

    Parameters
    ----------
    system : System
    packets : int, number of packets
    """
    size = packets * system.alpha
    return z3.And(*(system.L[t] - system.L[t - 1] <= size for t in range(1, system.grid.points)))
