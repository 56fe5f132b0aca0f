"""A trace: the behavior of a network and its flows, as exact numbers, in memory and as JSON.

:mod:`fairweir.formal.encoding.system` defines the curves and their origin. In a file, a fraction is a string:
``"7/3"``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Self

import z3
from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, ValidationError

from fairweir.documents.validation_errors import explain
from fairweir.errors import ConfigError
from fairweir.formal.beliefs.choices import Terms
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.system import Acks, Curve, Flow, Sender, System

#: Exponents are rejected: `1e999999999` as a fraction would exhaust memory.
_NUMBER = re.compile(r"[+-]?\d+(\.\d+|/\d+)?", re.ASCII)


def _exactly(value: object) -> object:
    if isinstance(value, str):
        try:
            if not _NUMBER.fullmatch(value):
                raise ValueError(value)
            return Fraction(value)
        except (ValueError, ZeroDivisionError):
            raise ValueError("not a fraction such as `7/3`") from None
    if isinstance(value, float):
        raise ValueError("a number with a decimal point is not exact; write a fraction as a string, `7/3`")
    return Fraction(value) if isinstance(value, int) else value


Exact = Annotated[Fraction, BeforeValidator(_exactly), PlainSerializer(str, return_type=str)]
Column = tuple[Exact, ...]


class FlowTrace(BaseModel):
    """One flow's columns, with a value for each point; :class:`fairweir.formal.encoding.system.Flow` defines them.

    Attributes
    ----------
    delay : observed waiting time of the last bytes served, in whole steps; T means T or more
    left : the flow's data that have left the bottleneck's queue (CBR-delay); in other models, its S
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    sender: Sender
    A: Column
    S: Column
    L: Column
    Ld: Column
    left: Column
    past: Column
    rate: Column
    cwnd: Column
    delay: tuple[int, ...]
    beliefs: dict[str, Column] = {}
    attached: dict[str, Terms] = {}

    def accepted(self, t: int) -> Fraction:
        """Return A - L at t, which may be before the trace."""
        return self.past[-t - 1] if t < 0 else self.A[t] - self.L[t]

    def inflight(self, t: int) -> Fraction:
        """Return A - Ld - S at t, C R."""
        return self.A[t] - self.Ld[t] - self.S[t]


class Trace(BaseModel):
    """A trace of a model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str
    acks: Acks
    grid: Grid
    buffer: Buffer
    alpha: Exact
    beta: Exact | None
    TA: Column
    flows: tuple[FlowTrace, ...]

    @classmethod
    def from_values(cls, system: System, values: Mapping[str, Fraction | bool]) -> Self:
        """Read a solver's values by the variables' names. A variable without a value may have any; it becomes 0 or
        false.

        Parameters
        ----------
        system : System, with these variables
        values : the value of each variable
        """
        return cls.read(system, lambda term: _value(term, values))

    @classmethod
    def from_model(cls, system: System, model: z3.ModelRef) -> Self:
        """Read a z3 model; variables without a value get a default.

        Parameters
        ----------
        system : System, with the model's variables
        model : from z3's solver
        """
        return cls.read(system, lambda term: _constant(model.eval(term, model_completion=True)))

    @classmethod
    def read(cls, system: System, value: Callable[[z3.ExprRef], Fraction | bool]) -> Self:
        """Return the trace whose columns are a system's, evaluated.

        Parameters
        ----------
        system : System, whose columns are evaluated
        value : returns the value of a z3 term
        """

        def exact(term: z3.ExprRef) -> Fraction:
            return Fraction(value(term))

        def column(curve: Curve) -> tuple[Fraction, ...]:
            return tuple(exact(term) for term in curve)

        def flow(own: Flow, left: Curve) -> FlowTrace:
            return FlowTrace(
                sender=own.sender,
                A=column(own.A),
                S=column(own.S),
                L=column(own.L),
                Ld=column(own.Ld),
                left=column(left),
                past=column(own.past),
                rate=column(own.rate),
                cwnd=column(own.cwnd),
                delay=tuple(sum(bool(value(bit)) for bit in bits[1:]) for bits in own.delay),
                beliefs={name: column(curve) for name, curve in own.beliefs.items()},
                attached=dict(own.attached),
            )

        flows = tuple(flow(own, left) for own, left in zip(system.flows, system.left, strict=True))
        beta = None if system.beta is None else exact(system.beta)
        return cls(
            model=system.model,
            acks=system.acks,
            grid=system.grid,
            buffer=system.buffer,
            alpha=exact(system.alpha),
            beta=beta,
            TA=column(system.TA),
            flows=flows,
        )

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file.

        Raises
        ------
        ConfigError : the file cannot be read, or is not a trace
        """
        source = str(path)
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"the trace cannot be read: {error.strerror}", source=source) from error
        return cls.from_json(text, source=source)

    @classmethod
    def from_json(cls, text: str, source: str | None = None) -> Self:
        """Parse a trace file's text; raise the errors of :meth:`load`.

        Parameters
        ----------
        text : str, JSON
        source : str, the file, for messages
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise explain(error, cls, _raw(text), source) from error

    def is_of(self, system: System) -> bool:
        """Return whether this is a trace of the system's network, with the same senders and beliefs.

        A trace's header selects the definitions that judge it. A trace of another network may therefore satisfy all of
        them and still prove nothing about this system.
        """
        own = (self.model, self.acks, self.grid, self.buffer)
        same = own == (system.model, system.acks, system.grid, system.buffer)
        flows = [(flow.sender, dict(flow.attached)) for flow in system.flows]
        return same and [(flow.sender, flow.attached) for flow in self.flows] == flows

    def to_json(self) -> str:
        """Return the text of a trace file."""
        return self.model_dump_json(indent=1) + "\n"

    @property
    def A(self) -> Column:  # noqa: N802 - the paper's symbol
        """The sum of all flows' arrivals."""
        return self._sum("A")

    @property
    def S(self) -> Column:  # noqa: N802 - the paper's symbol
        """The sum of all flows' service."""
        return self._sum("S")

    @property
    def L(self) -> Column:  # noqa: N802 - the paper's symbol
        """The sum of all flows' losses."""
        return self._sum("L")

    def accepted(self, t: int) -> Fraction:
        """Return A - L at t, summed over all flows."""
        return sum((flow.accepted(t) for flow in self.flows), Fraction(0))

    def bottleneck_queue(self, t: int) -> Fraction:
        """Return A - L - TA at t, C R."""
        return self.accepted(t) - self.TA[t]

    def _sum(self, name: str) -> Column:
        return tuple(sum(column) for column in zip(*(getattr(flow, name) for flow in self.flows), strict=True))


def _value(term: z3.ExprRef, values: Mapping[str, Fraction | bool]) -> Fraction | bool:
    if z3.is_const(term) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED:
        return values.get(term.decl().name(), Fraction(0))
    known = [(const, _literal(const, values)) for const in z3.z3util.get_vars(term)]
    return _constant(z3.simplify(z3.substitute(term, *known)))


def _literal(const: z3.ExprRef, values: Mapping[str, Fraction | bool]) -> z3.ExprRef:
    value = values.get(const.decl().name(), Fraction(0))
    return z3.BoolVal(bool(value)) if z3.is_bool(const) else z3.RealVal(value)


def _constant(term: z3.ExprRef) -> Fraction | bool:
    if z3.is_bool(term):
        return bool(z3.is_true(term))
    return Fraction(term.as_fraction())


def _raw(text: str) -> Any:
    import json

    try:
        return json.loads(text)
    except ValueError:
        return None
