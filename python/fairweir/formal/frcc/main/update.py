"""The throughput ratio that the *main* cwnd update of the CCA FRCC guarantees (beyond theorem 7.5.2 of the thesis).

A state is the flows' cwnd. The state space is divided into cells; the attractor is a set of cells that all runs reach
and do not leave. The ratio is the maximum in the attractor. This module is the interface to the compiled search for the
attractor (``crates/reach``). See ``docs/formal/frcc-main.md``.

Symbols: C, link rate; R, round-trip propagation delay; theta, queueing delay per flow; N_T, queueing delay divided by
theta. In a round, each flow estimates N_T and its share of the link, with errors that jitter causes, and updates its
cwnd once. Odds are the flows' rates divided by the last flow's rate.
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
    """A range of R/theta, the assumptions, and the size of the cells.

    Attributes
    ----------
    r_low, r_high : bounds of R/theta
    flows : int, number of flows, 2 or 3
    assumed : Assumed, FRCC's constants and the maximum errors of estimates
    schedule : ``synchronous``: in each round all flows measure, and then all update; ``sequential``: in each round the
        flows measure and update one after another, in any order
    odds_step : width of a cell in each of the odds, relative to the odds
    nt_step : width of a cell in N_T; where N_T is above 1, the width relative to N_T
    """

    r_low: Fraction
    r_high: Fraction
    flows: int = 2
    assumed: Assumed = THESIS
    schedule: Literal["synchronous", "sequential"] = "synchronous"
    odds_step: Fraction = Fraction(1, 100)
    nt_step: Fraction = Fraction(1, 50)

    def document(self) -> dict[str, Any]:
        """Return the case as a JSON object for the compiled search, with numbers as "p/q"."""
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
    hand_worst_ratio : maximum ratio of two flows' rates that follows from the lemmas of ``hand.py`` alone
    n_t : (minimum, maximum) of N_T in the attractor
    cwnd_floor : lower bound on cwnd of every flow from some round on, by the lemmas of ``hand.py``, in C theta
    rounds : maximum number of rounds (of updates, if the schedule is sequential) until a run reaches the attractor; a
        run is counted from the time at which it satisfies the bounds of the lemmas of ``hand.py``
    region_cells, attractor_cells : int, number of cells within the bounds of these lemmas, and in the attractor
    """

    worst_ratio: float
    hand_worst_ratio: float
    n_t: tuple[float, float]
    cwnd_floor: float
    rounds: int
    region_cells: int
    attractor_cells: int


class Attractor:
    """The cells of a case, in the coordinates N_T and odds, with a rank for each cell.

    Cells of the attractor have rank 0. From any other cell, every run that satisfies the bounds of the lemmas of
    ``hand.py`` moves to a cell of lower rank. If flows update sequentially, there is one copy of the cells for each set
    of flows that have not yet updated in the current round.
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
        """The index of the first cell in the last copy; this copy is for the start of a round."""
        copy = (len(self.n_t) - 1) * (len(self.odds) - 1) ** (self.case.flows - 1)
        return int(len(self.rank) - copy)

    def cells_at(self, cwnd: Sequence[Number], r: Number) -> Iterator[int]:
        """Yield the indices of the cells that contain a state at the start of a round.

        A state on a border is in several cells; a state outside all cells is in none.

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
        """Return the minimum rank of the cells that contain a state; None if the state is in no cell that has a rank.

        Parameters
        ----------
        cwnd : cwnd of each flow, in C theta
        r : R/theta
        """
        ranks = [rank for cell in self.cells_at(cwnd, r) if (rank := self.rank[cell]) != UNRANKED]
        return min(ranks, default=None)

    def corners(self, cell: int) -> Iterator[tuple[list[Fraction], Fraction]]:
        """Yield the exact states at the corners of a cell of the first copy: each cwnd in C theta, and R/theta."""
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
        """Return the attractor as ranges [first, end) of cell indices."""
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
        """Return the indices of the attractor's cells of which the previous or next cell is not in the attractor."""
        last = len(self.rank) - 1
        return [
            cell
            for cell, rank in enumerate(self.rank)
            if rank == 0 and (self.rank[max(cell - 1, 0)] != 0 or self.rank[min(cell + 1, last)] != 0)
        ]


def _cells(borders: list[float], x: Number) -> range:
    """Return the indices of the intervals between `borders` that contain `x`; an interval includes both its ends."""
    return range(max(bisect_left(borders, x) - 1, 0), min(bisect_right(borders, x), len(borders) - 1))


def attractor(case: Case, on_progress: Callable[[int], object] | None = None) -> Attractor | str:
    """Return the attractor of a case; if the search finds no attractor, return the reason.

    Parameters
    ----------
    case : Case, the range of R/theta, the errors and the size of the cells
    on_progress : called periodically with the number of cells whose rank is known

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
