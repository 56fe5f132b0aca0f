"""Rates, durations and amounts of data; operators are defined only where the dimensions are consistent.

Only ``fairweir._core`` parses and formats quantities as text. Numbers are converted with named units
(``Rate.from_mbps(24)``, ``rate.mbps``), and only this module has factors between units. For arrays, one object per
element would be too slow; divide an array by a constant of this module: ``table["t_ns"] / NS_PER_S``.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Final, Self, final, overload

from fairweir import _core

NS_PER_US: Final = 1_000
NS_PER_MS: Final = 1_000_000
NS_PER_S: Final = 1_000_000_000
US_PER_S: Final = 1_000_000
MS_PER_S: Final = 1_000
BITS_PER_BYTE: Final = 8
BITS_PER_MEGABIT: Final = 1_000_000
#: bytes/s in 1 Mbit/s
BYTES_PER_S_PER_MBPS: Final = 125_000
#: bytes that pass in 1 ms at 1 Mbit/s
BYTES_PER_MBPS_MS: Final = 125
BYTES_PER_KB: Final = 1_000


def _is_number(value: object) -> bool:
    """Return whether `value` is a real number of Python or NumPy, by which a quantity can be multiplied."""
    return isinstance(value, Real)


@dataclass(frozen=True, order=True, slots=True, repr=False)
class _Quantity:
    """A quantity of one dimension, which can be compared with and added to quantities of the same dimension only."""

    _amount: float

    #: Makes NumPy's scalars defer ``2.0 * rate`` to this class.
    __array_ufunc__ = None

    def __add__(self, other: Self) -> Self:
        return type(self)(self._amount + other._amount) if type(other) is type(self) else NotImplemented

    def __sub__(self, other: Self) -> Self:
        return type(self)(self._amount - other._amount) if type(other) is type(self) else NotImplemented

    def rounded(self, unit: Self) -> Self:
        """Return the nearest multiple of `unit`."""
        return type(self)(round(self._amount / unit._amount) * unit._amount)

    def __bool__(self) -> bool:
        return self._amount != 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}('{self}')"


@final
class Duration(_Quantity):
    """A length of time."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Duration:
        """Parse ``"40ms"``.

        Raises
        ------
        ConfigError : not a non-negative number with a unit of time
        """
        return cls(_core.parse_time(text))

    @classmethod
    def from_ns(cls, ns: float) -> Duration:
        """Return `ns` nanoseconds."""
        return cls(ns)

    @classmethod
    def from_us(cls, us: float) -> Duration:
        """Return `us` microseconds."""
        return cls(us * NS_PER_US)

    @classmethod
    def from_ms(cls, ms: float) -> Duration:
        """Return `ms` milliseconds."""
        return cls(ms * NS_PER_MS)

    @classmethod
    def from_s(cls, s: float) -> Duration:
        """Return `s` seconds."""
        return cls(s * NS_PER_S)

    @property
    def ns(self) -> int:
        """Nanoseconds, rounded."""
        return round(self._amount)

    @property
    def ms(self) -> float:
        """Milliseconds."""
        return self._amount / NS_PER_MS

    @property
    def s(self) -> float:
        """Seconds."""
        return self._amount / NS_PER_S

    def __str__(self) -> str:
        return _core.format_time(self.ns) if self._amount >= 0 else f"-{-self}"

    def __neg__(self) -> Duration:
        return Duration(-self._amount)

    def __mul__(self, factor: float) -> Duration:
        return Duration(self._amount * factor) if _is_number(factor) else NotImplemented

    def __rmul__(self, factor: float) -> Duration:
        return Duration(self._amount * factor) if _is_number(factor) else NotImplemented

    @overload
    def __truediv__(self, other: Duration) -> float: ...
    @overload
    def __truediv__(self, other: float) -> Duration: ...
    def __truediv__(self, other: Duration | float) -> Duration | float:
        if isinstance(other, Duration):
            return self._amount / other._amount
        return Duration(self._amount / other) if _is_number(other) else NotImplemented


@final
class Bytes(_Quantity):
    """An amount of data."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Bytes:
        """Parse ``"64KiB"``.

        Raises
        ------
        ConfigError : not a non-negative number with a unit of data
        """
        return cls(_core.parse_bytes(text))

    @property
    def bytes(self) -> int:
        """Bytes, rounded."""
        return round(self._amount)

    @property
    def kb(self) -> float:
        """Kilobytes of 1000 bytes."""
        return self._amount / BYTES_PER_KB

    @overload
    def __truediv__(self, other: Bytes) -> float: ...
    @overload
    def __truediv__(self, other: Rate) -> Duration: ...
    @overload
    def __truediv__(self, other: Duration) -> Rate: ...
    @overload
    def __truediv__(self, other: float) -> Bytes: ...
    def __truediv__(self, other: Bytes | Rate | Duration | float) -> Bytes | Rate | Duration | float:
        if isinstance(other, Rate):
            return Duration(self._amount * NS_PER_S / other._amount)
        if isinstance(other, Duration):
            return Rate(self._amount * NS_PER_S / other._amount)
        if isinstance(other, Bytes):
            return self._amount / other._amount
        return Bytes(self._amount / other) if _is_number(other) else NotImplemented

    def __mul__(self, factor: float) -> Bytes:
        return Bytes(self._amount * factor) if _is_number(factor) else NotImplemented

    def __rmul__(self, factor: float) -> Bytes:
        return Bytes(self._amount * factor) if _is_number(factor) else NotImplemented

    def __str__(self) -> str:
        return _core.format_bytes(self.bytes)


@final
class Rate(_Quantity):
    """A data rate."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Rate:
        """Parse ``"24Mbps"``.

        Raises
        ------
        ConfigError : not a non-negative number with a unit of rate
        """
        return cls(_core.parse_rate(text))

    @classmethod
    def from_bytes_per_s(cls, bytes_per_s: float) -> Rate:
        """Return `bytes_per_s` bytes per second."""
        return cls(bytes_per_s)

    @classmethod
    def from_mbps(cls, mbps: float) -> Rate:
        """Return `mbps` Mbit/s."""
        return cls(mbps * BYTES_PER_S_PER_MBPS)

    @property
    def bytes_per_s(self) -> int:
        """Bytes per second, rounded."""
        return round(self._amount)

    @property
    def bps(self) -> float:
        """Bits per second."""
        return self._amount * BITS_PER_BYTE

    @property
    def mbps(self) -> float:
        """Mbit/s."""
        return self._amount / BYTES_PER_S_PER_MBPS

    @overload
    def __mul__(self, other: Duration) -> Bytes: ...
    @overload
    def __mul__(self, other: float) -> Rate: ...
    def __mul__(self, other: Duration | float) -> Bytes | Rate:
        if isinstance(other, Duration):
            return Bytes(self._amount * other._amount / NS_PER_S)
        return Rate(self._amount * other) if _is_number(other) else NotImplemented

    def __rmul__(self, factor: float) -> Rate:
        return Rate(self._amount * factor) if _is_number(factor) else NotImplemented

    @overload
    def __truediv__(self, other: Rate) -> float: ...
    @overload
    def __truediv__(self, other: float) -> Rate: ...
    def __truediv__(self, other: Rate | float) -> Rate | float:
        if isinstance(other, Rate):
            return self._amount / other._amount
        return Rate(self._amount / other) if _is_number(other) else NotImplemented

    def __str__(self) -> str:
        return _core.format_rate(self.bytes_per_s)
