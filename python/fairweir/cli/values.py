"""Parsers for the values of options: quantities, counts, lists and ranges."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from fairweir.errors import ConfigError
from fairweir.units import Duration, Rate

T = TypeVar("T")
Ordered = TypeVar("Ordered", float, Rate, Duration)


def read(text: str, key: str, parse: Callable[[str], T], *, hint: str | None = None) -> T:
    """Parse one positive value of the option `key`.

    Parameters
    ----------
    parse : function that parses a text, such as ``Rate.parse``; its result is false for zero
    hint : hint of the error, if the parser's error has none

    Raises
    ------
    ConfigError : `parse` rejects the text, or the value is zero; the error names the option
    """
    try:
        value = parse(text.strip())
    except ConfigError as error:
        raise ConfigError(error.message, key=key, hint=error.hint or hint) from None
    if not value:
        raise ConfigError(f"must be positive: `{text.strip()}`", key=key, hint=hint)
    return value


def read_list(text: str, key: str, parse: Callable[[str], T], *, hint: str | None = None) -> tuple[T, ...]:
    """Parse positive values that are separated by commas.

    Raises
    ------
    ConfigError : a part is invalid, as for :func:`read`
    """
    return tuple(read(part, key, parse, hint=hint) for part in text.split(","))


def read_range(text: str, key: str, parse: Callable[[str], Ordered], *, hint: str) -> tuple[Ordered, Ordered]:
    """Parse the ends of ``LOW..HIGH``.

    Raises
    ------
    ConfigError : there is no ``..``, the ends do not ascend, or an end is invalid, as for :func:`read`
    """
    low, dots, high = text.partition("..")
    if not dots:
        raise ConfigError(f"not a range: `{text}`", key=key, hint=hint)
    ends = read(low, key, parse, hint=hint), read(high, key, parse, hint=hint)
    if ends[0] >= ends[1]:
        raise ConfigError(f"range must ascend: `{text}`", key=key, hint=hint)
    return ends


def count(text: str) -> int:
    """Parse a count.

    Raises
    ------
    ConfigError : the text has characters other than ASCII digits
    """
    if not (text.isascii() and text.isdigit()):
        raise ConfigError(f"not a count: `{text}`", hint="write a whole number, such as 4")
    return int(text)
