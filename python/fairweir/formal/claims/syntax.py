"""Parse claims and assumptions of the command line (docs/formal/verify.md has the syntax).

A claim is a statement about every trace (behavior of a network and its flows). Examples:

- ``utilization>=0.5``, ``queue<=22/5``: a property with its bound.
- ``invariant(utilization>=3/10, large-loss=always)``: the synthesis invariant, the condition that each trace of a
  candidate algorithm must satisfy, with the given constants, which are called demands.
- ``bq@end <= bq@0 - 1/2``: a comparison of quantities, here of bytes that wait, at the last and the first
  sample point (:mod:`fairweir.formal.claims.comparisons`).
- ``CLAIM or CLAIM``, ``CLAIM and CLAIM``: combinations; ``and`` binds tighter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Final

from fairweir.documents.suggestions import did_you_mean
from fairweir.errors import ConfigError
from fairweir.formal.claims.claim import INVARIANT, KEY, Assumption, AtPoints, Bound, Claim, Invariant, Joined
from fairweir.formal.claims.comparisons import FIXED, parse_comparison
from fairweir.formal.encoding.demands import QUEUE_PACKETS, Demands, LargeLoss
from fairweir.formal.encoding.properties import PROPERTIES

_COMPARISON = re.compile(r"^\s*([A-Za-z_][\w-]*)\s*(?:(>=|<=|=|>|<)\s*(\S+)(?:\s+(\S.*?))?)?\s*$", re.ASCII)
_INVARIANT = re.compile(r"^\s*invariant\s*(?:\((.*)\))?\s*$", re.DOTALL)
_NUMBER = re.compile(r"[+-]?\d{1,100}(\.\d{1,100})?(/\d{1,100})?", re.ASCII)


def parse_claim(text: str) -> Claim:
    """Parse a claim. If a property has no bound, it gets its default bound.

    Raises
    ------
    ConfigError : unknown property, bound with the wrong direction, invalid number, or wrong syntax
    """
    for word in ("or", "and"):
        parts = _split(text, word)
        if len(parts) > 1:
            return Joined(word, tuple(parse_claim(part) for part in parts))
    asked = _INVARIANT.match(text)
    if asked:
        return Invariant(_demands(asked[1], text))
    if "@" in text or not set(re.findall(r"\w+", text)).isdisjoint(FIXED):
        return AtPoints(parse_comparison(text))
    found = _COMPARISON.match(text)
    if found is None:
        raise ConfigError(
            f"not a property: `{text}`",
            key=KEY,
            hint="write it like `utilization>=0.5`, `queue`, or `bq@end <= bq@0 - 1/2`; fairweir verify --list",
        )
    return _bound(found, text)


def _split(text: str, word: str) -> list[str]:
    """Split a text at each occurrence of `word` outside brackets."""
    parts, depth, begin = [], 0, 0
    for found in re.finditer(rf"[()]|\s{word}\s", text):
        if found.group() in "()":
            depth += 1 if found.group() == "(" else -1
        elif depth == 0:
            parts.append(text[begin : found.start()])
            begin = found.end()
    return [*parts, text[begin:]]


def _bound(found: re.Match[str], text: str) -> Claim:
    known = [*PROPERTIES, INVARIANT]
    name, sign, number, unit = found.groups()
    if name == INVARIANT:
        raise ConfigError(
            f"the invariant takes no bound: `{text}`",
            key=KEY,
            hint="write `invariant`, or demands in brackets: `invariant(utilization>=3/10, queue<=5)`",
        )
    if name not in known:
        raise ConfigError(
            f"no such property: `{name}`",
            key=KEY,
            hint=f"{did_you_mean(name, known)}; a quantity needs a point, such as `{name}@end`",
        )
    good = ">=" if PROPERTIES[name].is_at_least else "<="
    if sign is None:
        return Bound(name, PROPERTIES[name].constant.default)
    if sign != good:
        raise ConfigError(f"`{name}` is bounded the other way: `{text}`", key=KEY, hint=f"write {name}{good}...")
    own = PROPERTIES[name].constant.unit
    if unit not in (None, own):
        raise ConfigError(f"not a property: `{text}`", key=KEY, hint=f"`{name}` is bounded in {own}, not in `{unit}`")
    bound = parse_number(number, text, KEY)
    if bound < 0:
        raise ConfigError(f"a bound must not be negative: `{text}`", key=KEY)
    return Bound(name, bound)


#: For each demand of the invariant with a number: its sign, and a function that sets the number in a `Demands`.
_DEMANDS: Final[Mapping[str, tuple[str, Callable[[Demands, Fraction], Demands]]]] = {
    "utilization": (">=", lambda asked, value: replace(asked, utilization=value)),
    "queue": ("<=", lambda asked, value: replace(asked, queue=value)),
    "large-buffer": ("=", lambda asked, value: replace(asked, large_buffer=value)),
    "large-size": ("=", lambda asked, value: replace(asked, large_size=value)),
}
#: Syntax and meaning of the demands.
DEMANDS: Final[Mapping[str, str]] = {
    "utilization>=U": "minimum part of C",
    "queue<=Q": f"maximum queue, C (R + D), beyond {QUEUE_PACKETS} packets",
    "large-loss=never|always|large-buffers": "when a large loss counts although beliefs shrink",
    "large-buffer=B": "C (R + D); from there on a buffer is large",
    "large-size=N": "packets lost in a step above which a loss is large; default T - 1, as published",
}


def _demands(text: str | None, whole: str) -> Demands:
    asked = Demands()
    seen: set[str] = set()
    for word in [] if text is None or not text.strip() else text.split(","):
        found = _COMPARISON.match(word)
        name, sign, value, unit = found.groups() if found else (word.strip(), None, None, None)
        if unit is not None:
            raise ConfigError(f"unexpected text after a demand, `{unit}`: `{whole}`", key=KEY)
        known = [*_DEMANDS, "large-loss"]
        if name not in known:
            raise ConfigError(f"no such demand: `{name}`: `{whole}`", key=KEY, hint=did_you_mean(name, known))
        good = _DEMANDS[name][0] if name in _DEMANDS else "="
        if sign != good or name in seen:
            problem = "given twice" if name in seen else "needs a value, or the other sign"
            raise ConfigError(f"demand `{name}` {problem}: `{whole}`", key=KEY, hint=f"write {name}{good}...")
        seen.add(name)
        if name == "large-loss":
            if value not in list(LargeLoss):
                raise ConfigError(
                    f"no such choice for `large-loss`: `{value}`", key=KEY, hint=f"known are {', '.join(LargeLoss)}"
                )
            asked = replace(asked, large_loss=LargeLoss(value))
            continue
        number = parse_number(value or "", whole, KEY)
        if number < 0:
            raise ConfigError(f"a demand must not be negative: `{whole}`", key=KEY)
        asked = _DEMANDS[name][1](asked, number)
    return asked


def parse_assumption(text: str) -> Assumption:
    """Parse an assumption: ``C_L>=69/100`` (at the first point), ``queue@1<=4``, ``rate@end >= rate@1``.

    Raises
    ------
    ConfigError : the text is not an assumption
    """
    try:
        found = parse_comparison(text, "--given", default_point=0)
    except ConfigError as error:
        raise ConfigError(f"not an assumption: {error.message}", key="--given", hint=error.hint) from None
    is_at_start = "@" not in text
    return Assumption(found, found.text.replace("@0", ""), is_at_start)


def parse_number(word: str, text: str, key: str) -> Fraction:
    """Parse an exact number such as ``4.4`` or ``22/5``.

    Parameters
    ----------
    word : str, the number
    text : str, the whole claim or value, for error messages
    key : str, the command-line option, for error messages

    Raises
    ------
    ConfigError : `word` is not a number
    """
    try:
        if not _NUMBER.fullmatch(word.strip()):
            raise ValueError(word)
        return Fraction(word)
    except (ValueError, ZeroDivisionError):
        raise ConfigError(f"not a number: `{text}`", key=key, hint="write 4.4 or 22/5") from None
