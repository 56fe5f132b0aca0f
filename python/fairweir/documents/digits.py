"""Print numbers for sentences and tables, with few digits, and with an exponent only if necessary."""

from __future__ import annotations

from typing import Final

#: Numbers below `SMALL`, or at least `LARGE`, are printed with a power of ten.
SMALL: Final = 1e-6
LARGE: Final = 1e15
SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def plain(value: float, digits: int = 6) -> str:
    """Return a number with `digits` significant digits: ``5.6``, ``1,000,000``, ``0.00002``, ``3·10²⁰``.

    If the format ``g`` prints no exponent, the result has the same digits, with commas between thousands. Texts that
    programs parse must use ``g``, because programs cannot parse the commas.

    Parameters
    ----------
    value : float; infinity and NaN are printed as the format ``g`` prints them
    digits : int, number of significant digits
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
