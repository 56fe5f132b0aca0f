"""Controls of the proof about the CCA FRCC: claims that are false under weaker assumptions, and runs that refute them.

In a round, each flow estimates N_C and N_T, with errors that jitter causes, and updates its cwnd once. A control runs
exact rounds from the fixed point of the link without jitter until the claim is violated; if no run violates the claim,
the proof's method would accept a false claim.

Symbols: C, link rate; R (in code: r, in units of theta), round-trip propagation delay; theta, queueing delay per flow;
N_C, C divided by a flow's rate; N_T, queueing delay divided by theta; D, jitter that FRCC tolerates; Delta_R, maximum
error of a difference of RTTs; gamma_R, maximum factor by which a measured rate is wrong.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Final

from fairweir.formal.frcc.main.check import escapes, sample
from fairweir.formal.frcc.main.rule import THESIS, Assumed, Errors, after_round, factor, printed_factor
from fairweir.formal.frcc.main.update import Case, attractor
from fairweir.formal.lemmas.result import About, LemmaResult, ProofOutcome

Cwnd = list[Fraction]
#: Maximum number of rounds in a run; if the claim still holds then, the control has failed.
MAX_ROUNDS: Final = 200


@dataclass(frozen=True)
class Control:
    """A false claim, and the search for a run that violates the claim.

    Attributes
    ----------
    name, claim : str, the name, and the claim in words
    note : str, the reason why the claim is checked
    broken : function that searches for a run that violates the claim, and returns the run's description; the function
        returns None if it finds no such run
    """

    name: str
    claim: str
    note: str
    broken: Callable[[], str | None]

    def check(self) -> LemmaResult:
        """Return the result: ``refuted`` if a run violates the claim, otherwise ``unknown``."""
        how = self.broken()
        outcome = ProofOutcome.UNKNOWN if how is None else ProofOutcome.REFUTED
        note = f"{self.note}: {how}" if how else f"{self.note}; no run was found that breaks it"
        return LemmaResult(
            self.name, self.claim, outcome, ProofOutcome.REFUTED, solver="exact run", note=note, about=About.CCA
        )


def controls() -> list[Control]:
    """Return the controls of ``fairweir prove frcc-main``."""
    return [
        Control(
            "control: larger errors",
            "the attractor for exact rates holds for gamma_R = 2",
            "sets of cells are found to be wrong",
            _larger_errors,
        ),
        Control(
            "control: published ceiling",
            "N_T <= 3.3 for rates seen too small by gamma_R = 2 (R = theta)",
            "3.3 is published for rates seen too large",
            _published_ceiling,
        ),
        Control(
            "control: theta = Delta_R/4",
            "the link is used for any jitter (R = theta)",
            "a queue of two flows' worth looks like none",
            _idle_link,
        ),
        Control(
            "control: D = Delta_R/6",
            "no flow has more than 100 times the other's rate (R = theta)",
            "a probe that drowns in jitter starves a flow",
            _drowned_probe,
        ),
        Control(
            "control: clamps as printed",
            "a link used by half is used by 51 % after 100 rounds (R = 10 theta), clamping N_C (line 5)",
            "the printed clamps let jitter stop all growth; the kernel's, on cwnd, do not",
            _printed_clamps,
        ),
    ]


def fair(r: Fraction, flows: int = 2) -> Cwnd:
    """Return each flow's cwnd at the fixed point of a link without jitter, in C theta: N_T = N_C = number of flows.

    Parameters
    ----------
    r : R/theta
    flows : int, number of flows
    """
    return [(r + flows) / flows] * flows


def lead(assumed: Assumed, cwnd: Cwnd, r: Fraction, score: Callable[[Cwnd], Fraction]) -> Iterator[Cwnd]:
    """Run exact rounds with the extreme errors that maximize `score` in each round; yield all cwnd after each round.

    Parameters
    ----------
    assumed : Assumed, FRCC's constants and maximum errors
    cwnd : initial cwnd of all flows, in C theta
    r : R/theta
    score : function from all cwnd after a round to the number that the errors maximize
    """
    push = Errors(Fraction(0), assumed.rate_under, -assumed.excess)
    hold = Errors(assumed.nt_over, assumed.rate_over, assumed.excess)
    for _ in range(MAX_ROUNDS):
        choices = product((push, hold), repeat=len(cwnd))
        cwnd = max((after_round(assumed, cwnd, r, errors) for errors in choices), key=score)
        yield cwnd


def _larger_errors() -> str | None:
    case = Case(
        Fraction(1), Fraction(11, 10), assumed=replace(THESIS, rate_under=Fraction(1)), odds_step=Fraction(1, 20)
    )
    found = attractor(case)
    if isinstance(found, str):
        return None
    cells = sample(found, 20, random.Random(1))  # noqa: S311
    escape = next(escapes(found, THESIS, cells), None)
    return None if escape is None else str(escape)


def _published_ceiling() -> str | None:
    r = Fraction(1)
    for number, cwnd in enumerate(lead(THESIS, fair(r), r, lambda cwnd: sum(cwnd, Fraction(0))), 1):
        n_t = sum(cwnd) - r
        if n_t > Fraction(33, 10):
            return f"N_T = {float(n_t):.3f} after {number} rounds"
    return None


def _idle_link() -> str | None:
    r = Fraction(1)
    assumed = replace(THESIS, nt_over=Fraction(2))
    for number, cwnd in enumerate(lead(assumed, fair(r), r, lambda cwnd: -sum(cwnd, Fraction(0))), 1):
        if sum(cwnd) < r:
            return f"{float(sum(cwnd) / r):.1%} of the link are used after {number} rounds"
    return None


def _drowned_probe() -> str | None:
    r = Fraction(1)
    assumed = replace(THESIS, excess=Fraction(6))

    def score(cwnd: Cwnd) -> Fraction:
        # The score is the ratio of cwnd while 1 <= N_T < 3. In this range clamps decide the factors of cwnd, so the
        # numerators and denominators of the fractions stay small.
        n_t = sum(cwnd, Fraction(0)) - r
        return cwnd[0] / cwnd[1] if 1 <= n_t < 3 else -abs(n_t - 2)

    for number, cwnd in enumerate(lead(assumed, fair(r), r, score), 1):
        if cwnd[0] > 100 * cwnd[1]:
            return f"{float(cwnd[0] / cwnd[1]):.0f} times after {number} rounds"
    return None


def _printed_clamps() -> str | None:
    r, rounds = Fraction(10), 100
    errors = [Errors(Fraction(1, 1000), Fraction(1), Fraction(0))] * 2
    used = {}
    for name, rule in (("printed", printed_factor), ("kernel", factor)):
        cwnd = [r / 4, r / 4]
        played = 0
        while played < rounds and sum(cwnd) < r:
            cwnd = after_round(THESIS, cwnd, r, errors, rule)
            played += 1
        used[name] = (sum(cwnd) / r, played)
    if used["printed"][0] > Fraction(51, 100):
        return None
    return f"{float(used['printed'][0]):.2%}; with the kernel's clamps all of it after {used['kernel'][1]} rounds"
