"""Check attractors of the CCA FRCC against exact rounds from the corners of cells, and against long random runs.

A state is the flows' cwnd. The state space is divided into cells; an attractor is a set of cells that every run reaches
and does not leave. Each cell has a rank: cells of the attractor have rank 0, and a round from any other cell leads to a
cell of lower rank. In a round, each flow estimates N_C and N_T, with errors that jitter causes, and updates its cwnd
once. This module shares no code with the search for attractors, which encloses rounds in intervals.

Symbols: C, link rate; R, round-trip propagation delay; theta, queueing delay per flow; N_C, C divided by a flow's rate;
N_T, queueing delay divided by theta.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from fairweir.formal.frcc.main.rule import Assumed, Errors, after_round, corners
from fairweir.formal.frcc.main.update import Attractor, Case


@dataclass(frozen=True)
class Escape:
    """A round that ends in a cell of too high a rank, so that the attractor is wrong.

    Attributes
    ----------
    before, after : cwnd of all flows before and after the round, in C theta
    r : R/theta
    errors : errors of each flow's estimates
    """

    before: list[Fraction]
    after: list[Fraction]
    r: Fraction
    errors: tuple[Errors, ...]

    def __str__(self) -> str:
        """Return a description of the round."""
        before, after = (" and ".join(f"{float(w):.4g}" for w in cwnd) for cwnd in (self.before, self.after))
        return f"R/theta {float(self.r):.4g}, cwnd {before} C theta, goes to {after}"


def escapes(attractor: Attractor, assumed: Assumed, cells: list[int]) -> Iterator[Escape]:
    """Run exact rounds from the corners of the cells, with extreme errors; yield each round that contradicts the ranks.

    All flows update at the same time. A round from a cell of rank 0 must end in a cell of rank 0. A round from another
    cell must end in a cell of lower rank. The second condition does not apply to a round that ends outside the bounds
    on cwnd and N_T which the lemmas proved by hand (``hand.py``) imply for every run.

    Parameters
    ----------
    attractor : Attractor
    assumed : Assumed, FRCC's constants and maximum errors
    cells : indices of the cells from which rounds are run
    """
    for cell in cells:
        rank = attractor.rank[cell]
        for cwnd, r in attractor.corners(cell):
            n_t = sum(cwnd) - r
            for errors in product(corners(assumed, n_t), repeat=len(cwnd)):
                after = after_round(assumed, cwnd, r, errors)
                reached = attractor.rank_at(after, r)
                is_excused = rank != 0 and (reached is None or min(after) < attractor.found.cwnd_floor)
                if not is_excused and (reached is None or reached >= max(rank, 1)):
                    yield Escape(cwnd, after, r, errors)


def sample(attractor: Attractor, number: int, dice: random.Random) -> list[int]:
    """Draw cells at random: half from the border of the attractor, the others from all cells that have a rank.

    Parameters
    ----------
    attractor : Attractor
    number : int, number of cells
    dice : Random, the source of the draw
    """
    ranked = attractor.found.region_cells
    border = attractor.border()
    drawn = dice.sample(border, min(number // 2, len(border)))
    inner = [dice.randrange(len(attractor.rank)) for _ in range(20 * number)]
    drawn += [cell for cell in inner if attractor.rank[cell] < ranked][: number - len(drawn)]
    return drawn


@dataclass(frozen=True)
class Runs:
    """Results of random runs.

    Attributes
    ----------
    rounds : total number of rounds
    worst_ratio : maximum ratio of two flows' rates in the rounds that ended in the attractor
    strays : number of rounds that ended outside the attractor after the run had reached the attractor
    latest : maximum number of rounds until a run reached the attractor
    """

    rounds: int
    worst_ratio: float
    strays: int
    latest: int


#: Relative tolerance for a cwnd in floating point: if any cwnd within the tolerance is in a cell, the cwnd counts as
#: inside the cell.
HAIR = 1e-9


def play(attractor: Attractor, rounds: int, dice: random.Random, *, restart_every: int = 5_000) -> Runs:
    """Run rounds from random states, with errors of each flow that stay extreme or random for one to six rounds.

    Parameters
    ----------
    attractor : Attractor
    rounds : int, number of rounds in all runs together
    dice : Random, the source of states and errors
    restart_every : int, number of rounds in each run
    """
    assumed = attractor.case.assumed
    case = attractor.case
    worst, strays, latest = 1.0, 0, 0
    push = _as_float(Errors(-assumed.nt_under, assumed.rate_under, -assumed.excess))
    hold = [_as_float(Errors(nt, assumed.rate_over, assumed.excess)) for nt in (assumed.nt_over, -assumed.nt_under)]
    for start in range(0, rounds, restart_every):
        r = float(case.r_low) + dice.random() * float(case.r_high - case.r_low)
        cwnd = [10 ** dice.uniform(-4, 1) * (1 + r) for _ in range(case.flows)]
        arrived = None
        bias: list[Errors | None] = []
        left = 0
        for number in range(min(restart_every, rounds - start)):
            if left == 0:
                bias = [dice.choice([push, push, hold[0], hold[1], None]) for _ in cwnd]
                left = dice.choice([1, 1, 1, 2, 2, 3, 4, 6])
            left -= 1
            errors = [one or _any_errors(assumed, dice) for one in bias]
            cwnd = _after(attractor.case, cwnd, r, errors, dice)
            if _is_inside(attractor, cwnd, r):
                arrived = number if arrived is None else arrived
                worst = max(worst, max(cwnd) / min(cwnd))
            elif arrived is not None:
                strays += 1
        latest = max(latest, restart_every if arrived is None else arrived)
    return Runs(rounds, worst, strays, latest)


def _after(case: Case, cwnd: list[float], r: float, errors: list[Errors], dice: random.Random) -> list[float]:
    if case.schedule == "synchronous":
        return after_round(case.assumed, cwnd, r, errors)
    for flow in dice.sample(range(case.flows), case.flows):
        cwnd[flow] = after_round(case.assumed, cwnd, r, errors)[flow]
    return cwnd


def _is_inside(attractor: Attractor, cwnd: list[float], r: float) -> bool:
    if attractor.rank_at(cwnd, r) == 0:
        return True
    near = product(*([w * (1 - HAIR), w * (1 + HAIR)] for w in cwnd))
    return any(attractor.rank_at(one, r) == 0 for one in near)


def _as_float(errors: Errors) -> Errors:
    return Errors(float(errors.n_t), float(errors.rate), float(errors.excess))


def _any_errors(assumed: Assumed, dice: random.Random) -> Errors:
    return Errors(
        dice.uniform(-float(assumed.nt_under), float(assumed.nt_over)),
        dice.uniform(float(assumed.rate_under), float(assumed.rate_over)),
        dice.uniform(-float(assumed.excess), float(assumed.excess)),
    )
