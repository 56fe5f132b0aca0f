"""The throughput ratio that the *main* cwnd update guarantees, from an attractor of all runs (beyond theorem 7.5.2).

The state space is divided into cells; the attractor is a set of cells that all runs reach and do not leave. This module
is the interface to the compiled search for it (``crates/reach``). See ``docs/formal/frcc-main.md``.
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import product
from typing import Any, Final, Literal

from fairweir import _core
from fairweir.formal.frcc.main.rule import THESIS, Assumed, Number

UNRANKED: Final = 2**32 - 1


@dataclass(frozen=True)
class Case:
    """A range of R/theta and its assumptions.

    Attributes
    ----------
    r_low, r_high : bounds of R/theta
    flows : int, 2 or 3
    assumed : Assumed, the assumed bounds on errors
    schedule : ``synchronous``: in each round all flows measure, and then all update; ``sequential``: in each round the
        flows measure and update one after another, in any order
    odds_step : relative width of a cell in the ratio of rates
    nt_step : width of a cell in N_T; if N_T is above 1, the relative width
    """

    r_low: Fraction
    r_high: Fraction
    flows: int = 2
    assumed: Assumed = THESIS
    schedule: Literal["synchronous", "sequential"] = "synchronous"
    odds_step: Fraction = Fraction(1, 100)
    nt_step: Fraction = Fraction(1, 50)

    def document(self) -> dict[str, Any]:
        """Return the case as JSON for the compiled search, with numbers as "p/q"."""
        return {
            "assumptions": {name: str(value) for name, value in asdict(self.assumed).items()},
            "schedule": self.schedule,
            "flows": self.flows,
            "rtprop": [str(self.r_low), str(self.r_high)],
            "odds_step": str(self.odds_step),
            "nt_step": str(self.nt_step),
        }


@dataclass(frozen=True)
class Found:
    """Proved bounds of a case.

    Attributes
    ----------
    worst_ratio : maximum ratio of two flows' rates in the attractor
    hand_worst_ratio : maximum ratio according to the manual lemmas (``hand.py``), without cells
    n_t : (minimum, maximum) of N_T in the attractor
    cwnd_floor : minimum cwnd of any flow in the attractor, in C theta
    rounds : maximum number of rounds (updates, if sequential) from the manual lemmas' bounds to the attractor
    region_cells, attractor_cells : int, number of cells within the manual lemmas' bounds, and in the attractor
    """

    worst_ratio: float
    hand_worst_ratio: float
    n_t: tuple[float, float]
    cwnd_floor: float
    rounds: int
    region_cells: int
    attractor_cells: int


class Attractor:
    """Cells of the state (the flows' rates divided by the last flow's, and N_T), with their ranks.

    The attractor has rank 0. From any other cell, every run within the manual lemmas' bounds moves to lower ranks. If
    flows update sequentially, each set of flows that have not yet updated in a round has its own copy of the cells.
    """

    def __init__(self, case: Case, found: Found, odds: list[float], n_t: list[float], rank: bytes) -> None:
        self.case = case
        self.found = found
        self.odds = odds
        self.n_t = n_t
        self.rank = array("I")
        self.rank.frombytes(rank)

    @property
    def start(self) -> int:
        """The index of the first cell in the last copy, which is that of the start of a round."""
        copy = (len(self.n_t) - 1) * (len(self.odds) - 1) ** (self.case.flows - 1)
        return int(len(self.rank) - copy)

    def cells_at(self, cwnd: Sequence[Number], r: Number) -> Iterator[int]:
        """Yield the cells that contain a state at the start of a round: several on a border, none outside the region.

        Parameters
        ----------
        cwnd : cwnd of each flow, in C theta
        r : R/theta
        """
        axes = [_cells(self.n_t, sum(cwnd) - r), *(_cells(self.odds, w / cwnd[-1]) for w in cwnd[:-1])]
        for indices in product(*axes):
            number = indices[0]
            for index in indices[1:]:
                number = number * (len(self.odds) - 1) + index
            yield self.start + number

    def rank_at(self, cwnd: Sequence[Number], r: Number) -> int | None:
        """Return the minimum rank of the cells that contain a state; None if it is in no ranked cell.

        Parameters
        ----------
        cwnd : cwnd of each flow, in C theta
        r : R/theta
        """
        ranks = [rank for cell in self.cells_at(cwnd, r) if (rank := self.rank[cell]) != UNRANKED]
        return min(ranks, default=None)

    def corners(self, cell: int) -> Iterator[tuple[list[Fraction], Fraction]]:
        """Yield the exact states at the corners of a cell of the first copy: cwnd of each flow, and R/theta."""
        columns = len(self.odds) - 1
        indices: list[int] = []
        for _ in range(self.case.flows - 1):
            cell, index = divmod(cell, columns)
            indices.insert(0, index)
        row = cell
        ends = [(Fraction(self.odds[k]), Fraction(self.odds[k + 1])) for k in indices]
        for r in {self.case.r_low, self.case.r_high}:
            for n_t in (Fraction(self.n_t[row]), Fraction(self.n_t[row + 1])):
                for odds in product(*ends):
                    unit = (r + n_t) / (sum(odds) + 1)
                    yield [*(odd * unit for odd in odds), unit], r

    def runs(self) -> list[tuple[int, int]]:
        """Return the attractor as ranges of cell numbers, [first, last + 1)."""
        found: list[tuple[int, int]] = []
        start = None
        for cell, rank in enumerate([*self.rank, UNRANKED]):
            if rank == 0 and start is None:
                start = cell
            elif rank != 0 and start is not None:
                found.append((start, cell))
                start = None
        return found

    def border(self) -> list[int]:
        """Return the cells of the attractor whose neighbor in the same row is not in the attractor."""
        last = len(self.rank) - 1
        return [
            cell
            for cell, rank in enumerate(self.rank)
            if rank == 0 and (self.rank[max(cell - 1, 0)] != 0 or self.rank[min(cell + 1, last)] != 0)
        ]


def _cells(borders: list[float], x: Number) -> range:
    """Return the cells that contain `x`; a cell includes both its borders."""
    return range(max(bisect_left(borders, x) - 1, 0), min(bisect_right(borders, x), len(borders) - 1))


def attractor(case: Case, on_progress: Callable[[int], object] | None = None) -> Attractor | str:
    """Find the attractor of a case, or return the reason why none was found.

    Parameters
    ----------
    case : Case, the range of R/theta, the errors and the size of the cells
    on_progress : called periodically with the number of settled cells

    Raises
    ------
    ConfigError : the case is invalid, such as a range of R/theta that ends before it starts
    """
    answer, cells = _core.frcc_attractor(json.dumps(case.document()), on_progress)
    if cells is None:
        return answer
    facts = json.loads(answer)
    found = Found(n_t=tuple(facts.pop("nt")), **facts)
    return Attractor(case, found, *cells)
