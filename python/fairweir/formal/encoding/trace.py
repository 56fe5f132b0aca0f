"""A trace: the behavior of a network and of its flows as exact numbers, in memory and in a JSON file.

A trace has a value of each curve at each sample point. Curves: A, S, L, Ld, cumulative bytes that a flow sent, that
were served, that were lost, and that the flow knows to be lost; TA, cumulative bytes that have left the bottleneck's
queue or, on a CCAC link (a token bucket with jitter), the tokens admitted. :mod:`fairweir.formal.encoding.system`
defines the curves and their origin. T is the number of sample points; data are in units of link rate times round-trip
propagation delay (C R). In a file, a fraction is a string: ``"7/3"``.

A belief is a bound on the network that a flow infers from what it observes. A system is the variables of a trace and
the constraints on these variables, which form one question to a solver.
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

#: Numbers with an exponent are rejected, because `1e999999999` as a fraction would exhaust memory.
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
    """The curves of one flow, with a value for each point; :class:`fairweir.formal.encoding.system.Flow` defines them.

    Attributes
    ----------
    delay : observed waiting time of the last bytes served, in whole steps; T means T or more
    left : the flow's bytes that have left the bottleneck's queue (CBR-delay); in other models, equal to S
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
        """Return A - L, the cumulative bytes that entered the queue by t, in C R. A negative t is before the trace."""
        return self.past[-t - 1] if t < 0 else self.A[t] - self.L[t]

    def inflight(self, t: int) -> Fraction:
        """Return A - Ld - S, the bytes that at t are neither acknowledged nor known to be lost, in C R."""
        return self.A[t] - self.Ld[t] - self.S[t]


class Trace(BaseModel):
    """A trace of a network model."""

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
        """Return the trace with a solver's values. If the solver gave a variable no value, the
        variable gets 0 or false.

        Parameters
        ----------
        system : System, whose variables have these names
        values : the value of each variable, by name
        """
        return cls.read(system, lambda term: _value(term, values))

    @classmethod
    def from_model(cls, system: System, model: z3.ModelRef) -> Self:
        """Return the trace with the values of a z3 model. A variable without a value gets z3's default.

        Parameters
        ----------
        system : System, whose constraints the z3 model satisfies
        model : the result of z3's solver
        """
        return cls.read(system, lambda term: _constant(model.eval(term, model_completion=True)))

    @classmethod
    def read(cls, system: System, value: Callable[[z3.ExprRef], Fraction | bool]) -> Self:
        """Return the trace of a system, with each variable replaced by its value.

        Parameters
        ----------
        system : System
        value : function that returns the value of a z3 term
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
        """Read a trace from a JSON file.

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
        """Parse the text of a trace file. The exceptions are those of :meth:`load`.

        Parameters
        ----------
        text : str, JSON
        source : str, name of the file, for error messages
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise explain(error, cls, _raw(text), source) from error

    def is_of(self, system: System) -> bool:
        """Return whether this is a trace of the system's network, with the same senders and beliefs.

        The definitions that check a trace are selected by the model and the buffer that the trace names. A trace of
        another network may therefore satisfy all definitions and still prove nothing about this system.
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
        """The cumulative bytes sent by all flows, at each point."""
        return self._sum("A")

    @property
    def S(self) -> Column:  # noqa: N802 - the paper's symbol
        """The cumulative bytes served to all flows, at each point."""
        return self._sum("S")

    @property
    def L(self) -> Column:  # noqa: N802 - the paper's symbol
        """The cumulative bytes lost by all flows, at each point."""
        return self._sum("L")

    def accepted(self, t: int) -> Fraction:
        """Return A - L at t, summed over all flows, in C R."""
        return sum((flow.accepted(t) for flow in self.flows), Fraction(0))

    def bottleneck_queue(self, t: int) -> Fraction:
        """Return A - L - TA, the bytes that wait at t for the link's capacity, in C R."""
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
