"""Numbers in sentences and tables: few digits, and no exponent unless necessary."""

from __future__ import annotations

from typing import Final

#: Below and above, a number is written with a power of ten.
SMALL: Final = 1e-6
LARGE: Final = 1e15
SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def plain(value: float, digits: int = 6) -> str:
    """Return a number with that many significant digits: ``5.6``, ``1,000,000``, ``0.00002``, ``3·10²⁰``.

    Equal to the format ``g`` wherever that has no exponent. Texts that are parsed again keep ``g``: a comma would break
    them.

    Parameters
    ----------
    value : float; infinities and NaN print as ``g`` does
    digits : int, significant
    """
    text = f"{value:.{digits}g}"
    if "e" not in text:
        return text
    rounded = float(text)
    if 1 <= abs(rounded) < LARGE:
        return f"{rounded:,.0f}"
    if SMALL <= abs(rounded) < 1:
        return f"{rounded:.{digits + 5}f}".rstrip("0")
    mantissa, exponent = text.split("e")
    return f"{mantissa}·10{str(int(exponent)).translate(SUPERSCRIPTS)}"
