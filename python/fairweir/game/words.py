"""Describe the conditions of a decision tree in words, with units: ``max queue ≤ 1.25 M``.

A *feature* is a number by which a tree decides. A *form* is a linear combination of features. A condition compares a
form with a threshold. M is the minimum link rate of the sender's belief set, the unit of amounts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from fairweir import _core
from fairweir.ccas.controller_file import Condition, Form, form_text

#: Readable names of the features; ``fairweir._core.game_features`` has their units and meanings.
NAMES: Final = {
    "converged": "max C held",
    "q": "max queue",
    "r0": "safe rate R0",
    "max_c": "max C",
    "c_plus_b": "min of C + B",
    "waiting": "waiting batches",
    "newest": "newest batch",
    "oldest": "oldest batch",
    "sum": "all waiting batches",
    "encoding": "batch being encoded",
    "in_flight": "in flight",
    "last_rate": "sent in the last step",
    "delivered_last": "delivered in the last step",
    "oldest_age": "age of the oldest batch",
    "group_age": "age of the oldest FEC frame",
    "groups": "FEC frames in flight",
    "packet": "one packet",
    "spare_newest": "R0 - newest batch",
    "spare_sum": "R0 - all batches",
    "room": "3 M - max queue",
    "room_newest": "3 M - max queue - newest batch",
    "room_sum": "3 M - max queue - all batches",
}
#: Units of counts. The threshold of a count may be between two integers; it is then written as the lower integer.
_COUNTS: Final = frozenset({"batches", "frames"})
_FLAG: Final = "0 or 1"


@dataclass(frozen=True)
class Range:
    """The range of a form under some conditions: more than `above` and at most `at_most`."""

    form: Form
    above: float = -math.inf
    at_most: float = math.inf

    def and_then(self, condition: Condition) -> Range:
        """Return the range after one more condition on this form."""
        bound = float(condition.at_most)
        if condition.is_within:
            return Range(self.form, self.above, min(self.at_most, bound))
        return Range(self.form, max(self.above, bound), self.at_most)

    def __str__(self) -> str:
        """Return the range in words."""
        name, unit = _named(self.form)
        if unit == _FLAG:
            return name if self.above >= 0 else f"{name}: not yet"
        low, high = (math.floor(end) if unit in _COUNTS and math.isfinite(end) else end for end in self._ends)
        shown = "" if unit in _COUNTS or not unit else f" {unit}"
        if math.isinf(low):
            return f"{name} ≤ {high:g}{shown}"
        return f"{name} > {low:g}{shown}" if math.isinf(high) else f"{low:g} < {name} ≤ {high:g}{shown}"

    @property
    def _ends(self) -> tuple[float, float]:
        return self.above, self.at_most


def condition_text(condition: Condition) -> str:
    """Return the condition in words."""
    return str(Range(condition.feature).and_then(condition))


def path_texts(path: Sequence[Condition]) -> list[str]:
    """Return the conditions on the path to a leaf in words. Conditions on the same form are merged into one range."""
    found: dict[tuple[tuple[str, float], ...], Range] = {}
    for one in path:
        key = tuple((name, float(factor)) for name, factor in one.feature.items())
        found[key] = found.get(key, Range(one.feature)).and_then(one)
    return [str(one) for one in found.values()]


def _named(form: Form) -> tuple[str, str]:
    """Return a form in words, and its unit. A form of several features is written as in the controller file."""
    if len(form) == 1:
        ((feature, factor),) = form.items()
        if factor == 1:
            return NAMES[feature], _units()[feature]
    return form_text(form), ""


@cache
def _units() -> dict[str, str]:
    return {name: unit for name, unit, _ in _core.game_features()}
