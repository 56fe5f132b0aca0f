"""Theorem 4.2.1: minimum time for a CCA to find a link's rate, given its allowed loss (thesis 4.2.2, B.2).

On a CBR-delay link whose buffer is at most C D, delays are not informative, so a CCA must lose packets to find the
rate. Data sent without loss implies a rate of at least some C_{L,lambda}; a round trip later it may send
f(C_{L,lambda}) more than certainly fits, if f is its allowed loss. With a buffer of beta_s seconds the best possible
knowledge after k round trips is

    F(0) = C_0,   F(k) = F(k-1) + f(F(k-1)) / beta_s,

and F^-1(C), the smallest k with F(k) >= C, round trips are needed to reach C, each of R + beta_s.

Units: data in packets, time in R; so a rate is in packets per R, as is the bandwidth-delay product, and f too is asked
at that number. beta_s is in R.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from fairweir.errors import ConfigError

#: Round trips after which a ramp is given up: at 40 ms each, five days.
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
    """Allowed loss of a CCA's probe, as a function of its certain rate.

    Parameters
    ----------
    text : str, an expression in ``C``: packets lost, for a rate of C packets per R

    Raises
    ------
    ConfigError : not such an expression
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
        ConfigError : f is not defined there, or is not positive: the CCA could never probe
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
    """Return the function of C that an expression defines; only arithmetic is allowed."""
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
    """Yield F(0), F(1), ...: the maximum known rate after that many round trips, packets per R.

    Parameters
    ----------
    start : C_0, packets per R, positive
    buffer : beta_s, R, positive

    Raises
    ------
    ConfigError : a start or a buffer that is not positive, or an allowance that is not
    """
    for key, value in (("start", start), ("buffer", buffer)):
        if not 0 < value < math.inf:
            raise ConfigError(f"{key} must be positive: `{value:g}`", key=key)
    known = start
    while True:
        yield known
        known += allowance(known) / buffer


def rounds_to(rates: list[float], allowance: Allowance, start: float, buffer: float) -> list[int]:
    """Return F^-1 at several rates: the smallest k with F(k) >= C, for each C of `rates`.

    Parameters
    ----------
    rates : packets per R, ascending

    Raises
    ------
    ConfigError : as for :func:`ramp`; rates that do not ascend; more round trips than anyone would wait for
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
    """Return the theorem's bound on the time from `start` to `rate`, R.

    A CCA may lose packets, and so learn the rate, once F(k + 1) > C (B.2.1, step 4): not before F^-1(C) - 1 round
    trips, each of R + beta_s.

    Parameters
    ----------
    rate : the link's, packets per R
    allowance : the packets that may be lost, by the rate that is believed
    start : rate that is believed at first, packets per R
    buffer : beta_s, R
    """
    rounds = rounds_to([rate], allowance, start, buffer)[0]
    return max(rounds - 1, 0) * (1 + buffer)
