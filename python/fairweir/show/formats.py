"""Format numbers with few digits; a value and its interval have the same number of decimals."""

from __future__ import annotations

import math
from typing import Final

from fairweir.documents.digits import SUPERSCRIPTS
from fairweir.judging.metrics import RATIO_CEILING

ABSENT: Final = "—"
SIGNIFICANT: Final = 3


def decimals(value: float) -> int:
    """Return the number of decimals for three significant digits of `value`."""
    if value == 0 or not math.isfinite(value):
        return 0
    # The value is rounded first, because 0.9996 is printed as 1.00 and has its number of decimals.
    return max(0, SIGNIFICANT - 1 - math.floor(math.log10(abs(_significant(value)))))


def _is_ceiling(value: float) -> bool:
    """Return whether `value` is `RATIO_CEILING`, an infinite ratio; geometric means of it have rounding errors."""
    return math.isclose(value, RATIO_CEILING, rel_tol=1e-9)


def power_of_ten(exponent: int) -> str:
    """Return a power of ten such as ``10⁶``."""
    return "10" + str(exponent).translate(SUPERSCRIPTS)


def _significant(value: float) -> float:
    return float(f"{value:.{SIGNIFICANT}g}")


def number(value: float | None, places: int | None = None) -> str:
    """Return `value` with three significant digits or with `places` decimals, and with commas between thousands.

    Parameters
    ----------
    value : float or None; None and NaN are printed as a dash
    places : int, number of decimals
    """
    if value is None or math.isnan(value):
        return ABSENT
    if _is_ceiling(value):
        return f"≥ {power_of_ten(6)}"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value != 0 and places is None and not 1e-4 <= abs(value) < 1e7:
        mantissa, exponent = f"{value:.2e}".split("e")
        return f"{mantissa}·{power_of_ten(int(exponent))}".replace("-", "−")
    value = _significant(value) if abs(value) >= 10**SIGNIFICANT else value
    text = f"{value:,.{decimals(value) if places is None else places}f}"
    return text.replace("-", "−")


def interval(lo: float | None, hi: float | None, value: float | None = None) -> str:
    """Return ``[lo, hi]`` with as many decimals as `value`; empty without an interval."""
    if lo is None or hi is None or (_is_ceiling(lo) and _is_ceiling(hi)):
        return ""
    reference = value if value is not None and math.isfinite(value) and value != 0 else hi
    extreme = any(x != 0 and math.isfinite(x) and not 1e-4 <= abs(x) < 1e7 for x in (lo, hi, reference))
    places = None if extreme or not math.isfinite(reference) else decimals(reference)
    return f"[{number(lo, places)}, {number(hi, places)}]"


def estimate(value: float | None, lo: float | None, hi: float | None, unit: str = "") -> str:
    """Return a value with interval and unit, ``0.41 [0.38, 0.44] ms``; without the interval if its ends are equal."""
    ends = "" if lo == hi else interval(lo, hi, value)
    return " ".join(part for part in (number(value), ends, unit if value is not None else "") if part)


def duration(seconds: float) -> str:
    """Return a duration of real time: ``48 s``, ``3 min 20 s``, ``1 h 5 min``."""
    if seconds < 60:
        return f"{number(seconds)} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def count(value: int) -> str:
    """Return a count: exact below a million, above it ``1.23 million`` or ``1.23 billion``."""
    for scale, word in ((1_000_000_000, "billion"), (1_000_000, "million")):
        if value >= scale:
            return f"{number(value / scale)} {word}"
    return f"{value:,}"
