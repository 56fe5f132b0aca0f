"""The bounds qdel_L and qdel_U of a flow on its queueing delay, in R, for solvers (thesis equation 4.1.1).

Symbols: R, round-trip propagation delay; D, maximum jitter; T, number of sample points. The network model has Booleans
for observed delays: bit k is true if the delay is at least k steps. If the observed delay is k steps, qdel_L is max(0,
k - D); a delay of T steps or more gives T - D. Rules (congestion control algorithms that read beliefs) compare qdel_L
with multiples of R; for each comparison, :meth:`System.qdel_l_above` returns one Boolean. The functions here build
qdel_L and qdel_U as numbers, which few questions need.

A belief is a bound on the network that a flow infers from what it observes. A system is the variables of a trace and
the constraints on these variables, which form one question to a solver.
"""

from __future__ import annotations

from collections.abc import Sequence

import z3

from fairweir.formal.encoding.system import Curve, System


def attach(system: System, *, flow: int = 0) -> None:
    """Add the beliefs ``qdel_L`` and ``qdel_U`` to a flow, as expressions of its observed delays."""
    own = system.flows[flow]
    own.beliefs["qdel_L"] = least(system, flow)
    own.beliefs["qdel_U"] = most(system, flow)


def least(system: System, flow: int = 0) -> Curve:
    """Return qdel_L at each point, in R: the observed delay in whole steps, minus D, at least 0.

    Parameters
    ----------
    system : System
    flow : int, index of the flow
    """
    grid = system.grid
    return [_length(system, bits[grid.d_steps + 1 :]) for bits in system.flows[flow].delay]


def most(system: System, flow: int = 0) -> Curve:
    """Return qdel_U at each point, in R: if the observed delay is k steps, the byte was delayed by less than k + 1
    steps.

    Parameters
    ----------
    system : System
    flow : int, index of the flow
    """
    return [_length(system, bits[1:]) + system.grid.step for bits in system.flows[flow].delay]


def _length(system: System, bits: Sequence[z3.BoolRef]) -> z3.ArithRef:
    return z3.Sum([z3.If(bit, z3.RealVal(system.grid.step), z3.RealVal(0)) for bit in bits])
