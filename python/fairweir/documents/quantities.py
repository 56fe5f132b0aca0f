"""Define the types of quantities in scenario files: strings with a unit, which pydantic validates.

A field of type :data:`Time` contains a string such as ``"40ms"``, which :func:`fairweir._core.parse_time` converts to
ns. The limits in this module reject values that do not occur in any network, so that a wrong unit is reported before a
long simulation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from fairweir import _core
from fairweir.errors import ConfigError
from fairweir.units import NS_PER_S

#: Maximum time in a scenario: 30 days.
MAX_TIME_NS = 30 * 24 * 3600 * NS_PER_S
#: Maximum round-trip propagation delay: one hour.
MAX_RTPROP_NS = 3600 * NS_PER_S
#: Minimum and maximum rate, bytes/s: 1 kbit/s and 100 Tbit/s.
MIN_RATE, MAX_RATE = 125, 12_500_000_000_000
#: Maximum size of an IP packet, bytes.
MAX_PACKET_BYTES = 65_535

PARTS_PER_BILLION = 1_000_000_000


def invalid(problem: str, value: Any = None, hint: str = "", key: str = "") -> PydanticCustomError:
    """Return the exception for a pydantic validator to raise.

    Parameters
    ----------
    problem : str, the message; ``{noun}`` in the message is replaced by the key in words
    value : the invalid value, which the message shows at its end; None: no value is shown
    hint : str, a text that the user should write instead
    key : str, the dotted key of the invalid value, if it differs from the key that is validated
    """
    context = {"problem": problem, "shown": "" if value is None else show(value), "hint": hint, "key": key}
    return PydanticCustomError("fairweir", "{problem}", context)


def show(value: Any) -> str:
    """Return a value as TOML text, truncated to 60 characters."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _quantity(
    parse: Callable[[str], Any], example: str, check: Callable[[Any, str], None] | None = None
) -> Callable[[Any], str]:
    def validate(value: Any) -> str:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise invalid("{noun} must be a text with a unit", value, f'write "{example}"')
        if not isinstance(value, str):
            raise invalid("{noun} has no unit", value, f'write it with its unit and in quotes: "{example}"')
        try:
            number = parse(value)
        except ConfigError as error:
            raise invalid(error.message, hint=error.hint or "") from None
        if check is not None:
            check(number, value)
        return value.strip()

    return validate


def _between(lowest: float, highest: float, low: str, high: str, hint: str) -> Callable[[Any, str], None]:
    def check(number: Any, text: str) -> None:
        if number <= 0 < lowest:
            raise invalid("{noun} must be positive", text, hint)
        if number < lowest:
            raise invalid(f"{{noun}} must be at least {low}", text, hint)
        if number > highest:
            raise invalid(f"{{noun}} must be at most {high}", text, hint)

    return check


def _positive_size(number: tuple[str, float], text: str) -> None:
    if number[1] <= 0:
        raise invalid("{noun} must be positive", text, 'write a size: "1bdp", "64KiB", "512pkts" or "infinite"')
    if number[0] == "bdp" and number[1] > 1_000_000:
        raise invalid("{noun} must be at most 1000000bdp", text, 'for a buffer without limit write "infinite"')


def _finite_size(number: tuple[str, float], text: str) -> None:
    if number[0] == "infinite":
        raise invalid("{noun} must be finite", text, 'write a size: "10pkts", "64KiB" or "0.5bdp"')
    _positive_size(number, text)


_TIME_HINT = 'write a time with its unit: "40ms", "12us", "300s"'
_RATE_HINT = 'write a rate with its unit: "96Mbps", "1.5Gbps", "512kbps" or "96Mbit/s"'

Time = Annotated[
    str, BeforeValidator(_quantity(_core.parse_time, "40ms", _between(0, MAX_TIME_NS, "0s", "720h", _TIME_HINT)))
]
PositiveTime = Annotated[
    str, BeforeValidator(_quantity(_core.parse_time, "40ms", _between(1, MAX_TIME_NS, "1ns", "720h", _TIME_HINT)))
]
Rtprop = Annotated[
    str, BeforeValidator(_quantity(_core.parse_time, "40ms", _between(1, MAX_RTPROP_NS, "1ns", "1h", _TIME_HINT)))
]
Rate = Annotated[
    str,
    BeforeValidator(
        _quantity(_core.parse_rate, "96Mbps", _between(MIN_RATE, MAX_RATE, "1kbps", "100Tbps", _RATE_HINT))
    ),
]
#: A rate that may be zero, because the link's rate can be zero for a time.
StepRate = Annotated[
    str, BeforeValidator(_quantity(_core.parse_rate, "96Mbps", _between(0, MAX_RATE, "0bps", "100Tbps", _RATE_HINT)))
]
PacketSize = Annotated[
    str,
    BeforeValidator(
        _quantity(_core.parse_bytes, "1500B", _between(40, MAX_PACKET_BYTES, "40B", "65535B", 'write "1500B"'))
    ),
]
Data = Annotated[
    str, BeforeValidator(_quantity(_core.parse_bytes, "1MB", _between(1, 1 << 60, "1B", "1EiB", 'write "10MB"')))
]
#: An amount of data in bytes, as a multiple of the BDP or of the packet size, or "infinite".
Size = Annotated[str, BeforeValidator(_quantity(_core.parse_size, "1bdp", _positive_size))]
FiniteSize = Annotated[str, BeforeValidator(_quantity(_core.parse_size, "10pkts", _finite_size))]


def parse_fraction(text: str) -> int:
    """Parse a percentage such as "2%", and return the number of parts per billion.

    Raises
    ------
    ConfigError : the text is not a percentage between 0 and 100
    """
    number, percent, rest = text.strip().partition("%")
    whole, _, decimals = number.partition(".")
    is_decimal = (whole + decimals).isascii() and (whole + decimals).isdigit()
    if not percent or rest or not is_decimal or len(decimals) > 7:
        raise ConfigError(f"fraction `{text}` is not a percentage", hint='write it with a percent sign: "2%", "0.01%"')
    parts = int((whole or "0") + decimals.ljust(7, "0"))
    if parts > PARTS_PER_BILLION:
        raise ConfigError(f"fraction `{text}` exceeds 100 %", hint='write at most "100%"')
    return parts


Fraction = Annotated[str, BeforeValidator(_quantity(parse_fraction, "2%"))]


def as_pair(value: Any) -> Any:
    """Convert a list of two elements to a tuple, because TOML has no tuples."""
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise invalid("{noun} must be pairs", value, 'write ["10s", ...]')
    return tuple(value)


__all__ = [
    "Data",
    "FiniteSize",
    "Fraction",
    "PacketSize",
    "PositiveTime",
    "Rate",
    "Rtprop",
    "Size",
    "StepRate",
    "Time",
    "as_pair",
    "invalid",
    "parse_fraction",
    "show",
]
