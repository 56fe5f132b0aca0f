"""Bounds on queueing delay: qdel_L and qdel_U (equation 4.1.1), in R.

The belief consists of the bits that encode the model's delays. An observed delay of k steps means qdel_L =
max(0, k - D); a delay of T steps or more means qdel_L = T - D. Rules compare qdel_L with multiples of R, for which
:meth:`System.qdel_l_above` is one Boolean; the numeric expression is created only on demand.
"""

from __future__ import annotations

from collections.abc import Sequence

import z3

from fairweir.formal.encoding.system import Curve, System


def attach(system: System, *, flow: int = 0) -> None:
    """Add the beliefs ``qdel_L`` and ``qdel_U`` to a flow as expressions."""
    own = system.flows[flow]
    own.beliefs["qdel_L"] = least(system, flow)
    own.beliefs["qdel_U"] = most(system, flow)


def least(system: System, flow: int = 0) -> Curve:
    """Return qdel_L at each point: the observed delay in whole steps, less D.

    Parameters
    ----------
    system : System
    flow : int, index of the flow
    """
    grid = system.grid
    return [_length(system, bits[grid.d_steps + 1 :]) for bits in system.flows[flow].delay]


def most(system: System, flow: int = 0) -> Curve:
    """Return qdel_U at each point: a byte whose observed delay is k steps was delayed by less than k + 1.

    Parameters
    ----------
    system : System
    flow : int, index of the flow
    """
    return [_length(system, bits[1:]) + system.grid.step for bits in system.flows[flow].delay]


def _length(system: System, bits: Sequence[z3.BoolRef]) -> z3.ArithRef:
    return z3.Sum([z3.If(bit, z3.RealVal(system.grid.step), z3.RealVal(0)) for bit in bits])
