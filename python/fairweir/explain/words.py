"""Print ranges and amounts in words.

Only digits that are known are printed. A range is rounded outward, so that the printed range contains the true range.
"""

from __future__ import annotations

import math
from typing import Any, Final

from fairweir.units import BYTES_PER_KB, BYTES_PER_S_PER_MBPS, NS_PER_MS, NS_PER_S

#: Maximum number of significant digits of an end of a range.
MAX_DIGITS: Final = 4
#: Number of significant digits if a range has only one end.
BOUND_DIGITS: Final = 3
#: Maximum number of decimals; with the units used here, a resolution of 1 us, 1 kbit/s or 1 byte.
MAX_DECIMALS: Final = 3
#: The ends of a range are rounded to steps of at most a third of the range's width.
STEPS: Final = 3
#: Factors that convert bytes per second to Mbit/s, ns to s and ms, and bytes to kB.
MBPS: Final = 1 / BYTES_PER_S_PER_MBPS
S: Final = 1 / NS_PER_S
MS: Final = 1 / NS_PER_MS
KB: Final = 1 / BYTES_PER_KB
#: (upper limit of the added latency under load in ms, grade); higher latencies have grade F. Source: DSLReports,
#: "Bufferbloat Grades" (dslreports.com/faq/17930), which grades the increase of the round-trip delay when the
#: connection is fully used.
GRADES: Final = ((5.0, "A+"), (30.0, "A"), (60.0, "B"), (200.0, "C"), (400.0, "D"))


def grade(added_ms: float) -> str:
    """Return the bufferbloat grade for the latency (ms) that a link adds under load."""
    return next((name for below, name in GRADES if added_ms < below), "F")


def span(ends: dict[str, Any], scale: float, unit: str) -> str:
    """Return a range as text: ``19.79 to 19.84 Mbit/s``, ``at least 19.8 Mbit/s``, ``at most 40.2 ms``.

    Parameters
    ----------
    ends : dict, ``lo`` and ``hi``; `lo` is None or 0 if there is no lower end, `hi` is None if there is no upper end
    scale : float; factor from the unit of `ends` to `unit`
    """
    lo, hi = (ends["lo"] or 0.0) * scale, ends["hi"]
    if hi is None:
        return f"at least {down(lo, _decimals(lo, BOUND_DIGITS))} {unit}"
    hi *= scale
    if lo <= 0:
        return f"at most {up(hi, _decimals(hi, BOUND_DIGITS))} {unit}"
    most = _decimals(hi, MAX_DIGITS)
    width = hi - lo
    decimals = most if width <= 0 else min(most, -math.floor(math.log10(width / STEPS)))
    texts = down(lo, decimals), up(hi, decimals)
    middle = about((lo + hi) / 2)
    # If the ends differ only in the last of four digits, the middle is printed instead of a range.
    if decimals >= most and float(texts[1]) - float(texts[0]) <= 2 * 10.0**-most:
        return f"{middle} {unit}"
    return f"{texts[0]} to {texts[1]} {unit}"


def about(value: float, digits: int = 3) -> str:
    """Return a number with at most `digits` significant digits and without a power of ten."""
    decimals = _decimals(value, digits)
    return _fixed(round(value, decimals), decimals)


def nearly(ends: dict[str, Any], scale: float) -> str:
    """Return the middle of a range with as many digits as are known; if the range has no upper end, return its lower
    end.
    """
    lo, hi = (ends["lo"] or 0.0) * scale, ends["hi"]
    if hi is None:
        return down(lo, _decimals(lo, BOUND_DIGITS))
    middle, width = (lo + hi * scale) / 2, hi * scale - lo
    decimals = _decimals(middle, BOUND_DIGITS)
    if width > 0:
        decimals = min(decimals, max(-math.floor(math.log10(width)), _decimals(middle, 1)))
    return _fixed(round(middle, decimals), decimals)


def size(count: float) -> str:
    """Return an amount of data with its unit: ``747 bytes``, ``12.3 kB``, ``47.2 MB``, ``1.01 GB``."""
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= unit:
            return f"{about(count / unit)} {name}"
    return f"{count:.0f} bytes"


def down(value: float, decimals: int) -> str:
    """Return a number rounded down to `decimals` decimals; -1 rounds to tens, -2 to hundreds."""
    unit = 10.0**-decimals
    # The tolerance prevents a floating-point error from lowering the last digit.
    return _fixed(math.floor(value / unit + 1e-6) * unit, decimals)


def up(value: float, decimals: int) -> str:
    """Return a number rounded up to `decimals` decimals."""
    unit = 10.0**-decimals
    return _fixed(math.ceil(value / unit - 1e-6) * unit, decimals)


def _fixed(value: float, decimals: int) -> str:
    return f"{value:.{max(0, decimals)}f}"


def _decimals(value: float, digits: int) -> int:
    """Return the number of decimals for `digits` significant digits, at most three."""
    return min(MAX_DECIMALS, digits - 1 - math.floor(math.log10(value))) if value > 0 else 0
