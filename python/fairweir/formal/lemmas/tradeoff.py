"""Theorem 4.2.1: minimum time for a CCA to find a link's rate, given its allowed loss (thesis 4.2.2, B.2).

A CBR-delay link serves a queue at the constant rate C and then delays each packet by jitter of at most D. If the buffer
is at most C D, delays are not informative, so a CCA must lose packets to find the link rate. C_L_lambda is the lower
bound on C that data sent without a loss imply. A round trip later, the CCA may send f(C_L_lambda) more packets than are
certain to fit, where f is the number of packets that the CCA may lose. Let the buffer hold the data of a time beta_s,
and let C_0 be the lower bound on C at the start. Then the largest lower bound that a CCA can know after k round trips
is

    F(0) = C_0,   F(k) = F(k-1) + f(F(k-1)) / beta_s.

To reach C, a CCA needs F^-1(C) round trips: the smallest k with F(k) >= C. Each round trip takes R + beta_s, where R is
the round-trip propagation delay.

Units: data in packets, time in R. Rates, including f's argument, are therefore in packets per R, and beta_s is in R.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from fairweir.errors import ConfigError

#: Maximum number of round trips that are computed; at 40 ms each, they take five days.
MAX_ROUNDS: Final = 10_000_000

_FUNCTIONS: Final[Mapping[str, Callable[..., float]]] = {
    "sqrt": math.sqrt,
    "log": math.log,
    "log2": math.log2,
    "min": min,
    "max": max,
}
_OPERATORS: Final[Mapping[type[ast.operator], Callable[[float, float], float]]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
}
_HINT: Final = "write f with C, numbers, + - * / **, sqrt, log, log2, min, max: `sqrt(C)`, `0.1*C`, `5`"


@dataclass(frozen=True)
class Allowance:
    """Number f of packets that a CCA may lose in one round trip, as a function of C_L_lambda.

    Parameters
    ----------
    text : str, an expression for f, in which ``C`` denotes C_L_lambda in packets per R

    Raises
    ------
    ConfigError : the text is not an arithmetic expression in ``C``
    """

    text: str

    def __post_init__(self) -> None:
        try:
            tree = ast.parse(self.text.strip(), mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            raise ConfigError(f"not a loss allowance: `{self.text}`", key="allowance", hint=_HINT) from None
        object.__setattr__(self, "_evaluate", _compile(tree, self.text))

    def __call__(self, rate: float) -> float:
        """Return f(rate), packets.

        Raises
        ------
        ConfigError : f is undefined at `rate`, or is not positive, so that the CCA could never probe
        """
        evaluate: Callable[[float], float] = self.__dict__["_evaluate"]
        try:
            value = evaluate(rate)
        except (ValueError, ZeroDivisionError, OverflowError, TypeError) as error:
            reason = str(error).lower()
            raise ConfigError(f"`{self.text}` has no value at C = {rate:g}: {reason}", key="allowance") from None
        if isinstance(value, complex) or not 0 < value < math.inf:
            hint = "a CCA that must not lose anything never finds a faster link: add a constant, as in `max(1, log(C))`"
            raise ConfigError(f"`{self.text}` is not positive at C = {rate:g}: {value:g}", key="allowance", hint=hint)
        return value


def _compile(node: ast.expr, text: str) -> Callable[[float], float]:
    """Return the function of C that the expression `node` defines; an expression may contain only arithmetic."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return lambda _: value
        case ast.Name(id="C"):
            return lambda rate: rate
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            negated = _compile(inner, text)
            return lambda rate: -negated(rate)
        case ast.BinOp(op=operator, left=left, right=right) if type(operator) in _OPERATORS:
            combine, first, second = _OPERATORS[type(operator)], _compile(left, text), _compile(right, text)
            return lambda rate: combine(first(rate), second(rate))
        case ast.Call(func=ast.Name(id=name), args=[_, *_] as args, keywords=[]) if name in _FUNCTIONS:
            function, values = _FUNCTIONS[name], [_compile(arg, text) for arg in args]
            return lambda rate: function(*(value(rate) for value in values))
    raise ConfigError(f"not a loss allowance: `{text}`", key="allowance", hint=_HINT)


def ramp(allowance: Allowance, start: float, buffer: float) -> Iterator[float]:
    """Yield F(0), F(1), ...: the largest known lower bound on C after 0, 1, ... round trips, in packets per R.

    Parameters
    ----------
    start : C_0, packets per R, positive
    buffer : beta_s, R, positive

    Raises
    ------
    ConfigError : the start, the buffer or the allowance is not positive
    """
    for key, value in (("start", start), ("buffer", buffer)):
        if not 0 < value < math.inf:
            raise ConfigError(f"{key} must be positive: `{value:g}`", key=key)
    known = start
    while True:
        yield known
        known += allowance(known) / buffer


def rounds_to(rates: list[float], allowance: Allowance, start: float, buffer: float) -> list[int]:
    """Return F^-1(C) for each C in `rates`: the smallest number k of round trips with F(k) >= C.

    Parameters
    ----------
    rates : link rates C, in packets per R, ascending
    allowance, start, buffer : as in :func:`ramp`

    Raises
    ------
    ConfigError : as for :func:`ramp`; the rates do not ascend; more than `MAX_ROUNDS` round trips are needed
    """
    if rates != sorted(rates):
        raise ConfigError("rates do not ascend", key="rates")
    found: list[int] = []
    for k, known in enumerate(ramp(allowance, start, buffer)):
        while len(found) < len(rates) and known >= rates[len(found)]:
            found.append(k)
        if len(found) == len(rates):
            return found
        if k >= MAX_ROUNDS:
            break
    raise ConfigError(
        f"`{allowance.text}` does not lead from {start:g} to {rates[-1]:g} packets per R in {MAX_ROUNDS:,} round trips",
        key="allowance",
    )


def min_time(rate: float, allowance: Allowance, start: float, buffer: float) -> float:
    """Return the theorem's lower bound on the time that a CCA needs to find the link rate, in R.

    A CCA can lose packets, and thus learn the link rate, only after k round trips with F(k + 1) > C (B.2.1, step 4).
    This takes at least F^-1(C) - 1 round trips, each of R + beta_s.

    Parameters
    ----------
    rate : C, packets per R
    allowance : f, the number of packets that the CCA may lose, as a function of C_L_lambda
    start : C_0, packets per R
    buffer : beta_s, R
    """
    rounds = rounds_to([rate], allowance, start, buffer)[0]
    return max(rounds - 1, 0) * (1 + buffer)
