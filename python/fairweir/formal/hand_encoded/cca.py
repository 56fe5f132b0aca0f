"""Interface of a hand-encoded congestion control algorithm (CCA): constraints for solvers, and a check of traces.

A system is the variables and constraints of one question to a solver. A trace is the value of each variable. D is the
maximum jitter, R the round-trip propagation delay.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import z3

from fairweir.errors import ConfigError
from fairweir.formal.encoding.system import Curve, Sender, System
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.report import Violation


class HandEncodedCca(Protocol):
    """An algorithm whose state cannot be expressed by a rule, which computes a rate from a flow's bounds on the
    network.

    Attributes
    ----------
    name : str, name on the command line
    source : str, publication from which the constraints are taken
    sender : Sender, the limit on the flow's sending: a rate, a window or both
    """

    @property
    def name(self) -> str:
        """The name on the command line."""

    @property
    def source(self) -> str:
        """The publication from which the constraints are taken."""

    @property
    def sender(self) -> Sender:
        """The limit on the flow's sending: a rate, a window or both."""

    def encode(self, system: System, flow: int = 0) -> list[z3.BoolRef]:
        """Add the constraints on a flow's window or rate from t = R on to the system, and return them.

        The variables of the algorithm's state are added to ``flow.beliefs``. The initial state is any state that the
        algorithm can reach before the trace.

        Parameters
        ----------
        system : System, in which the flow has the CCA's :attr:`sender`
        flow : int, index of the flow

        Raises
        ------
        ConfigError : there are no constraints for the system's number of steps per R, or for its D
        """

    def violations(self, trace: Trace, flow: int = 0) -> Iterator[Violation]:
        """Yield a violation for each point at which a flow differs from the algorithm, without using the constraints.

        Parameters
        ----------
        trace : Trace, with the CCA's state among the flow's beliefs
        flow : int, index of the flow
        """


def remember(system: System, flow: int, *names: str) -> list[Curve]:
    """Create variables for an algorithm's state at each sample point, and add them to the flow's beliefs.

    Parameters
    ----------
    system : System
    flow : int, index of the flow
    names : names of the parts of the state; each part gets one variable per point
    """
    index = flow if len(system.flows) > 1 else None
    columns: list[Curve] = [system.reals(name, index) for name in names]
    system.flows[flow].beliefs |= dict(zip(names, columns, strict=True))
    return columns


def bind(system: System, flow: int, cca: HandEncodedCca, constraints: list[z3.BoolRef]) -> list[z3.BoolRef]:
    """Add an algorithm's constraints to the system, and return them.

    Parameters
    ----------
    system : System
    flow : int, index of the flow
    cca : the algorithm, whose `violations` later checks traces
    constraints : constraints on the algorithm's decisions
    """
    system.decide(f"{cca.name} {flow}", lambda trace: cca.violations(trace, flow), *constraints)
    return constraints


def need_whole_steps(system: System, name: str, jitter: int | None = None) -> None:
    """Raise an error if the system has several steps per R, or a D for which the algorithm has no constraints.

    Parameters
    ----------
    system : System
    name : str, name of the algorithm
    jitter : the required D, in R; None: any

    Raises
    ------
    ConfigError : the system has several steps per R, or its D is not `jitter`
    """
    if system.grid.per_r != 1:
        raise ConfigError(f"{name} is encoded for one step per R: `{system.grid.per_r}`", key="per_r", hint="write 1")
    if jitter is not None and system.grid.jitter != jitter:
        raise ConfigError(
            f"{name} is encoded for a jitter of {jitter} R: `{system.grid.jitter}`",
            key="jitter",
            hint=f"write {jitter}",
        )


def choose(*cases: tuple[z3.BoolRef, z3.BoolRef]) -> list[z3.BoolRef]:
    """Return implications that mean ``if``, ``elif``, ...: of the first condition that holds, the consequence must
    hold.

    Each case is a pair of a condition and a consequence.
    """
    out, earlier = [], list[z3.BoolRef]()
    for condition, then in cases:
        out.append(z3.Implies(z3.And(*(z3.Not(other) for other in earlier), condition), then))
        earlier.append(condition)
    return out


ELSE = z3.BoolVal(True)
