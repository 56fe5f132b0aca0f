"""The inequalities in the proof of theorem 7.5.1, as claims for solvers: in each round, FRCC moves towards fair shares.

Theorem 7.5.1 of the thesis is about flows of the CCA FRCC on a link without jitter. :mod:`fairweir.formal.frcc.algebra`
derives the factors by which one round changes the distance from the fixed point; the inequalities state that these
factors are below 1. C.2 is a lemma of the FRCC paper. The main and the alternate update are FRCC's two rules for cwnd.

Symbols: N_T, queueing delay divided by theta; N_T', N_T after the round; N_G, number of flows; theta, queueing delay
per flow; R, round-trip propagation delay; alpha, weight of the new cwnd in the update, in (0, 1].
"""

from __future__ import annotations

from typing import Any

from fairweir.formal.frcc.claim import Claim
from fairweir.formal.lemmas.result import About, ProofOutcome
from fairweir.formal.solving.solve import Question


def inequalities() -> list[Claim]:
    """Return the claims for the main update and for the alternate update, with the expected results."""
    return [
        Claim(
            "7.5.1 contracts",
            "main update: 0 <= 1-alpha < 1 and 0 < k < 1, for any R, theta > 0, N_G >= 1, N_T >= 0, 0 < alpha <= 1",
            _main_contracts,
            About.LOGIC,
        ),
        Claim(
            "C.2",
            "alternate update: theta N_T > R makes |N_T' - N_G| < |N_T - N_G|",
            lambda: _alternate_shrinks(of_state=True),
            About.LOGIC,
        ),
        Claim(
            "C.2 from theta N_G > R",
            "alternate update: theta N_G > R makes |N_T' - N_G| < |N_T - N_G|",
            lambda: _alternate_shrinks(of_state=False),
            About.LOGIC,
            expects=ProofOutcome.REFUTED,
            note="the published condition is on the state and is not kept; the condition on the network does not make "
            "every step shorter, but N_T converges all the same (C.2 repaired)",
        ),
    ]


def _unknowns() -> Any:
    import z3

    alpha, r, theta, n_g, n_t = z3.Reals("alpha R theta N_G N_T")
    return alpha, r, theta, n_g, n_t, [alpha > 0, alpha <= 1, r > 0, theta > 0, n_g >= 1, n_t >= 0]


def _main_contracts() -> Question:
    alpha, r, theta, n_g, n_t, assumptions = _unknowns()
    base = r + theta * (1 - alpha) * n_t
    claim = (1 - alpha >= 0) & (1 - alpha < 1) & (base > 0) & (base < base + alpha * theta * n_g)
    return Question("main contracts", assumptions, claim, (alpha, r, theta, n_g, n_t), "QF_NRA")


def _alternate_shrinks(*, of_state: bool) -> Question:
    """Return the question whether |N_T' - N_G| < |N_T - N_G| in a round of the alternate update.

    The claim is |1 - alpha - alpha R/(theta N_T)| < 1, multiplied by theta N_T. The assumption is theta N_T > R if
    `of_state`, otherwise theta N_G > R.
    """
    alpha, r, theta, n_g, n_t, assumptions = _unknowns()
    enough = theta * n_t > r if of_state else theta * n_g > r
    whole = theta * n_t
    part = (1 - alpha) * whole - alpha * r
    return Question(
        "alternate shrinks",
        [*assumptions, n_t > 0, enough],
        (part < whole) & (part > -whole),
        (alpha, r, theta, n_g, n_t),
        "QF_NRA",
    )
