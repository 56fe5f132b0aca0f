"""Compare the bounds of `fairweir._core.game_bounds` for a window with those of a solver or of a grid of links."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from benches.game_bounds.grid import explaining
from benches.game_bounds.link import Link, Model, Window
from benches.game_bounds.solver import LinkProblem

from fairweir import _core

#: Distance beyond a bound at which a link is outside, packets; smaller distances are rounding errors of the bound.
SAME: Final = 1e-5
NAMES: Final = (("c", 0), ("c", 1), ("b", 0), ("b", 1), ("q", 0), ("q", 1))


@dataclass(frozen=True)
class Case:
    """A window, and the link that produced it, at the next point."""

    model: Model
    link: Link
    window: Window

    def bounds(self) -> dict[str, Any] | None:
        """Return the exact bounds."""
        text = _core.game_bounds(json.dumps([self.window.document()]), json.dumps(self.model.document()))
        found: dict[str, Any] | None = json.loads(text)[0]
        return found


def by_solver(case: Case) -> tuple[Case, list[str]]:
    """Return the case and the bounds that z3 refutes."""
    return case, LinkProblem(case.window, case.model).wrong(case.bounds())


def by_grid(case: Case) -> tuple[Case, list[str]]:
    """Return the case and the bounds that a link of the grid exceeds; the grid always contains the true link."""
    bounds, seen = case.bounds(), explaining(case.window, case.model, case.link)
    if bounds is None or seen is None:
        return case, ["empty"]
    found = {
        f"{'min' if end == 0 else 'max'} {name}": (bounds[name][end], seen[name][end], 1 - 2 * end)
        for name, end in NAMES
    }
    found |= {name: (bounds[name], seen[name], 1) for name in ("safe_rate", "min_c_plus_b")}
    return case, [name for name, (ours, theirs, side) in found.items() if not side * (theirs - ours) >= -SAME]
