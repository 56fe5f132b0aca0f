"""Interface of a hand-encoded congestion control algorithm: constraints for solvers, and an independent definition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import z3

from fairweir.errors import ConfigError
from fairweir.formal.encoding.system import Curve, Sender, System
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.report import Violation


class HandEncodedCca(Protocol):
    """An algorithm with state of its own, which no rule over beliefs can express.

    Attributes
    ----------
    name, source : str, name on the command line, and publication
    sender : kind of sender, which constrains its arrivals
    """

    @property
    def name(self) -> str:
        """The name on the command line."""

    @property
    def source(self) -> str:
        """Source of the encoding."""

    @property
    def sender(self) -> Sender:
        """Constraint on its arrivals."""

    def encode(self, system: System, flow: int = 0) -> list[z3.BoolRef]:
        """Add the constraints on a flow's window or rate from t = R on to the system, and return them.

        The algorithm's state becomes columns of ``flow.beliefs``. Its initial state is any state that some past may
        lead to.

        Parameters
        ----------
        system : System, whose flow has the CCA's :attr:`sender`
        flow : int, index of the flow

        Raises
        ------
        ConfigError : the encoding does not exist for the system's grid
        """

    def violations(self, trace: Trace, flow: int = 0) -> Iterator[Violation]:
        """Check a trace's columns by the algorithm's definition, without the encoding.

        Parameters
        ----------
        trace : Trace, with the CCA's state in its beliefs
        flow : int, index of the flow
        """


def remember(system: System, flow: int, *names: str) -> list[Curve]:
    """Create columns for an algorithm's state, and add them to the flow's beliefs.

    Parameters
    ----------
    system : System
    flow : int, index of the flow
    names : names of the state's variables; each becomes a column
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
    cca : the algorithm, whose `violations` checks the flow in traces
    constraints : constraints on the algorithm's decisions
    """
    system.decide(f"{cca.name} {flow}", lambda trace: cca.violations(trace, flow), *constraints)
    return constraints


def need_whole_steps(system: System, name: str, jitter: int | None = None) -> None:
    """Reject grids for which there is no encoding.

    Parameters
    ----------
    system : System
    name : str, name of the algorithm
    jitter : the required D, in R; None: any

    Raises
    ------
    ConfigError : the grid has several steps per R, or another jitter
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
    """Return implications for ``if``, ``elif``, ...: the consequence of the first condition that holds."""
    out, earlier = [], list[z3.BoolRef]()
    for condition, then in cases:
        out.append(z3.Implies(z3.And(*(z3.Not(other) for other in earlier), condition), then))
        earlier.append(condition)
    return out


ELSE = z3.BoolVal(True)
