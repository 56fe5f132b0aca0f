"""Compare steps with verdicts: proved claims that are violated, and steps that the encoding wrongly excludes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from benches.controller_attacks.steps import EXACT, Taken

from fairweir.ccas.controller_file import Controller
from fairweir.formal.solving.solve import ProofOutcome
from fairweir.game.action import on_path, shielded
from fairweir.game.claims import ARRIVED, SLACK, Claim
from fairweir.game.model import number
from fairweir.game.proofs import NOT_REACHED, Asked, LeafVerdict
from fairweir.game.state import TOLERANCE

if TYPE_CHECKING:
    import z3

#: Maximum rounding error of sums of doubles, in addition to the slack of a claim, packets.
ROUNDING = 2e-6


@dataclass(frozen=True)
class Broken:
    """A verdict that a step contradicts."""

    verdict: LeafVerdict
    taken: Taken
    excess: float

    def __str__(self) -> str:
        """Return the contradiction in words."""
        return f"leaf {self.verdict.leaf}, {self.verdict.claim.text}: broken by {self.excess:.6g} in {self.taken}"


def excess(claim: Claim, taken: Taken) -> float:
    """Return by how many packets the worst link that is known to be possible violates a claim.

    A link of the belief set attains R0, so the maximum loss is exactly ``rate - R0``. The queue is judged on the
    simulated link.
    """
    bound = float(claim.bound) * taken.m
    loss = max(0.0, taken.rate - taken.r0)
    if claim.name == "decodable":
        return max(loss - (taken.rate - taken.message), taken.message - taken.rate) - bound
    if claim.name == "carries-message":
        return taken.message - taken.rate
    if claim.name == "loss":
        return loss - bound
    if claim.name == "encode":
        return taken.encode - bound
    link = taken.played
    if link is None:
        return float("-inf")
    if claim.name == "latency":
        drained = float(claim.bound - ARRIVED - 1) * link.c
        return link.queue_after - drained if taken.message > 2 * float(SLACK) * taken.m else -drained
    return link.queue_after - max(bound, link.queue - link.c)


def broken(verdicts: Iterable[LeafVerdict], steps: Iterable[Taken]) -> list[Broken]:
    """Return the first step that contradicts each verdict."""
    of: dict[int, list[LeafVerdict]] = {}
    for verdict in verdicts:
        if verdict.outcome is ProofOutcome.PROVED or (
            verdict.outcome is ProofOutcome.VACUOUS and verdict.reason == NOT_REACHED
        ):
            of.setdefault(verdict.leaf, []).append(verdict)
    found: list[Broken] = []
    for taken in steps:
        if taken.source not in EXACT:
            continue
        for verdict in list(of.get(taken.leaf, ())):
            over = excess(verdict.claim, taken)
            if verdict.outcome is ProofOutcome.VACUOUS or over > _allowed(taken):
                found.append(Broken(verdict, taken, over))
                of[taken.leaf].remove(verdict)
    return found


def _allowed(taken: Taken) -> float:
    """Return the tolerance of a proved claim, packets; for a latency it is a fraction of a step of C."""
    return float(SLACK) * max(taken.m, taken.played.c if taken.played is not None else 0.0) + ROUNDING


@dataclass(frozen=True)
class Encoding:
    """The prover's encoding of a controller, which must admit each step that the controller takes."""

    controller: Controller

    def excludes(self, taken: Taken) -> str:
        """Return the part of the encoding that excludes a step; an empty text if the encoding admits the step."""
        index, leaf, path = next(one for one in self.controller.leaves if one[0] == taken.leaf)
        asked = Asked(self.controller, index, leaf, path)
        state = asked.state
        free = [name for name in state.features if str(state.features[name]) == name]
        known: list[z3.BoolRef] = []
        for name in free:
            value = Fraction(taken.feature(name))
            is_count = name in ("converged", "waiting", "groups", "oldest_age", "group_age")
            known += [state.features[name] == number(value)] if is_count else _near(state.features[name], value)
        parts = {"facts": asked.facts, "path": on_path(state, path, TOLERANCE)}
        if taken.played is not None:
            m = Fraction(taken.m)
            link = state.truth
            pairs = ((link.c, taken.played.c), (link.b, taken.played.b), (link.q, taken.played.queue))
            # The queue of a link is a difference of sums of doubles, which has a rounding error.
            near = [one for term, value in pairs for one in _near(term, Fraction(value) / m)]
            parts["facts"] = [*parts["facts"], *near]
        action, held = shielded(state, self.controller, leaf, "", TOLERANCE)
        done = ((action.message, taken.message), (action.rate, taken.rate), (action.encode, taken.encode))
        parts["action"] = [*held, *(one for term, value in done for one in _near(term, Fraction(value / taken.m)))]
        return next((name for name, assertions in parts.items() if not _is_possible([*known, *assertions])), "")


def _near(term: z3.ArithRef, value: Fraction) -> list[z3.BoolRef]:
    hair = Fraction(1, 10**8) * max(Fraction(1), abs(value))
    return [term >= number(value - hair), term <= number(value + hair)]


def _is_possible(assertions: Sequence[z3.BoolRef]) -> bool:
    import z3

    solver = z3.Solver()
    solver.add(*assertions)
    return bool(solver.check() == z3.sat)
