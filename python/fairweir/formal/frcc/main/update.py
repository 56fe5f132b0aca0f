"""The ratio of rates that the *main* cwnd update guarantees, from the cells that all runs reach (beyond theorem 7.5.2).

This module is the interface to the compiled search (``crates/reach``). See ``docs/formal/frcc-main.md``.
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
    assumed : Assumed
    schedule : all flows measure, then all update; or one after another, each once per round, in any order
    odds_step : relative width of a cell in the ratio of rates
    nt_step : width of a cell in N_T; multiplied by N_T if N_T is above 1
    """

    r_low: Fraction
    r_high: Fraction
    flows: int = 2
    assumed: Assumed = THESIS
    schedule: Literal["synchronous", "sequential"] = "synchronous"
    odds_step: Fraction = Fraction(1, 100)
    nt_step: Fraction = Fraction(1, 50)

    def document(self) -> dict[str, Any]:
        """Return the case as the compiled part reads it, numbers as "p/q"."""
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
    worst_ratio : maximum ratio of two flows' rates from some round on
    hand_worst_ratio : maximum ratio by the lemmas by hand, without cells
    n_t : (minimum, maximum) N_T from some round on
    cwnd_floor : minimum cwnd of every flow from some round on, C theta
    rounds : number of rounds from the bounds by hand to the attractor (updates, if sequential)
    region_cells, attractor_cells : int
    """

    worst_ratio: float
    hand_worst_ratio: float
    n_t: tuple[float, float]
    cwnd_floor: float
    rounds: int
    region_cells: int
    attractor_cells: int


class Attractor:
    """Cells of (rates of all flows by the last one's, N_T) and their ranks.

    Rank 0 is the attractor; from another cell every run within the bounds by hand moves to lower ranks. If flows update
    one after another, each set of flows that are yet to update in a round has its own copy of the cells.
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
        """Where the cells of the start of a round begin: the last copy."""
        copy = (len(self.n_t) - 1) * (len(self.odds) - 1) ** (self.case.flows - 1)
        return int(len(self.rank) - copy)

    def cells_at(self, cwnd: Sequence[Number], r: Number) -> Iterator[int]:
        """Yield the cells that contain this state at the start of a round; several on a border, none outside.

        Parameters
        ----------
        cwnd : of all flows, C theta
        r : R/theta
        """
        axes = [_cells(self.n_t, sum(cwnd) - r), *(_cells(self.odds, w / cwnd[-1]) for w in cwnd[:-1])]
        for indices in product(*axes):
            number = indices[0]
            for index in indices[1:]:
                number = number * (len(self.odds) - 1) + index
            yield self.start + number

    def rank_at(self, cwnd: Sequence[Number], r: Number) -> int | None:
        """Return the minimum rank of the cells that contain this state; None if it is in no ranked cell.

        Parameters
        ----------
        cwnd : of all flows, C theta
        r : R/theta
        """
        ranks = [rank for cell in self.cells_at(cwnd, r) if (rank := self.rank[cell]) != UNRANKED]
        return min(ranks, default=None)

    def corners(self, cell: int) -> Iterator[tuple[list[Fraction], Fraction]]:
        """Yield the states at the corners of a cell (of the first copy), exactly: cwnd of all flows, and R/theta."""
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
        """Return the attractor as runs of cell numbers, each from the first to the one after the last."""
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
        """Return the cells of the attractor next to one, in its row, that is not in it."""
        last = len(self.rank) - 1
        return [
            cell
            for cell, rank in enumerate(self.rank)
            if rank == 0 and (self.rank[max(cell - 1, 0)] != 0 or self.rank[min(cell + 1, last)] != 0)
        ]


def _cells(borders: list[float], x: Number) -> range:
    """Return the cells between borders that have `x`; a cell has both its borders."""
    return range(max(bisect_left(borders, x) - 1, 0), min(bisect_right(borders, x), len(borders) - 1))


def attractor(case: Case, on_progress: Callable[[int], object] | None = None) -> Attractor | str:
    """Find the attractor of a case; a text with the reason if there is none.

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
