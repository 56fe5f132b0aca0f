"""Parse axes of a grid: values separated by commas, and ranges of numbers and quantities.

``1..3`` is 1, 2, 3. ``0.5..0.9/0.1`` and ``10ms..50ms/10ms`` have a step after the slash and include both ends.
``cubic{beta=0.5,c=0.4},bbr`` has two values. ``["a,b"]`` is a TOML list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

from fairweir.errors import ConfigError
from fairweir.scenario.overrides import parse_value

#: Maximum number of points of a grid; a larger number is probably a mistake in a range.
MAX_POINTS: Final = 1_000_000

_QUANTITY: Final = r"([+-]?(?:\d+\.?\d*|\.\d+))\s*([A-Za-zµ%]*(?:/s)?)"
_RANGE: Final = re.compile(rf"{_QUANTITY}\s*\.\.\s*{_QUANTITY}(?:\s*/\s*{_QUANTITY})?")
#: One end of a range, for the detection of texts that were meant as ranges but are invalid.
_END: Final = re.compile(rf"{_QUANTITY}(?:\s*/\s*{_QUANTITY})?")

_OPENING, _CLOSING = "[{", "]}"


def parse_axis(text: str) -> tuple[str, list[Any]]:
    """Parse ``KEY=V1,V2,...``; return the key and the values.

    Raises
    ------
    ConfigError : there are no values, a list is not TOML, or a range lacks a step, has two units, descends, or is too
        long
    """
    key, equals, values = text.partition("=")
    key, values = key.strip(), values.strip()
    if not equals or not key or not values:
        raise ConfigError(f"grid axis has no values: `{text}`", hint="write KEY=V1,V2 or seed=1..5")
    if values.startswith("["):
        listed = parse_value(values)
        if not isinstance(listed, list) or not listed:
            raise ConfigError(f"grid axis is not a list: `{text}`", hint='write KEY=["a", "b"]')
        return key, listed
    return key, [value for part in _parts(values) for value in _values(part, text)]


def _parts(values: str) -> Iterator[str]:
    """Split a text at the commas outside brackets and quotes."""
    depth, quote, start = 0, "", 0
    for i, letter in enumerate(values):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
        elif letter == "," and depth == 0:
            yield values[start:i].strip()
            start = i + 1
    yield values[start:].strip()


def _values(part: str, axis: str) -> list[Any]:
    first, dots, last = part.partition("..")
    is_range = bool(dots) and (_END.fullmatch(first.strip()) or _END.fullmatch(last.strip()))
    return _range(part, axis) if is_range else [parse_value(part)]


def _range(part: str, axis: str) -> list[Any]:
    found = _RANGE.fullmatch(part.strip())
    if found is None:
        raise ConfigError(f"not a range: `{part}` (in `{axis}`)", hint="write 1..5, 0.5..0.9/0.1 or 10ms..50ms/10ms")
    first, last, by = (found[i] for i in (1, 3, 5))
    units = {found[i] for i in (2, 4, 6) if found[i] is not None}
    if len(units) > 1:
        raise ConfigError(
            f"range with more than one unit: `{part}`", hint="use the same unit for all its numbers: 10ms..50ms/10ms"
        )
    unit = units.pop()
    if by is None:
        if unit or not (_is_whole(first) and _is_whole(last)):
            raise ConfigError(
                f"range without a step: `{part}`", hint=f"write `{part}/STEP`, such as 0.5..0.9/0.1 or 10ms..50ms/5ms"
            )
        by = "1"
    low, high, step = Decimal(first), Decimal(last), Decimal(by)
    if high < low:
        raise ConfigError(f"grid axis descends: `{axis}`", hint=f"write {last}{unit}..{first}{unit}")
    if step <= 0:
        raise ConfigError(f"range with a step that is not positive: `{part}`")
    if (high - low) / step >= MAX_POINTS:
        raise ConfigError(f"grid axis has more than {MAX_POINTS} values: `{axis}`")
    numbers = [low + i * step for i in range(int((high - low) / step) + 1)]
    if unit:
        return [f"{number:f}{unit}" for number in numbers]
    is_whole = all(map(_is_whole, (first, last, by)))
    return [int(number) if is_whole else float(number) for number in numbers]


def _is_whole(text: str) -> bool:
    return "." not in text
