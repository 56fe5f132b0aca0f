"""Identities about rounds of the CCA FRCC that sympy derives from its update rule: theorem 7.5.1, and colliding probes.

The theorem is about flows on a link without jitter. In one round, every flow sends a probe (packets that lengthen the
queue for a short time), estimates N_C and N_T, and updates its cwnd once. FRCC has two update rules, the main and the
alternate update (Algorithm 1 of the thesis). Only the statements that are checked are taken from the paper. With x =
1/N_C, a flow's share of the link, and C = 1, a flow's cwnd is x (R + theta N_T). For both updates, the cwnd after a
round is affine in x. The sum over flows therefore depends only on the number of flows, because their shares add up to
1.

Symbols: C, link rate; R, round-trip propagation delay; N_C, C divided by a flow's throughput; N_T, queueing delay
divided by theta; N_G, number of flows; theta, queueing delay per flow; alpha, weight of the new cwnd in the update; D,
jitter that FRCC tolerates; gamma, size of a probe, in D N_T times the flow's throughput; N_C' and N_T', after the
round.
"""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import sympy as sp

from fairweir.formal.lemmas.result import About, LemmaResult, ProofOutcome

X, N_T, R, THETA, ALPHA, N_G, GAMMA_D = sp.symbols("x N_T R theta alpha N_G gamma_D", positive=True)
SOLVER: Final = f"sympy {sp.__version__}"
#: Number of random points at which an identity is evaluated in fractions, in addition to simplification.
POINTS: Final = 25

Update = Callable[[Any, Any], Any]
"""Function from the estimates of N_C and N_T to the target cwnd divided by cwnd."""


def main_update(n_c: Any, n_t: Any) -> Any:
    """Return target cwnd divided by cwnd, by Algorithm 1, line 7.

    Parameters
    ----------
    n_c : N_C, the number of flows estimated from the rate
    n_t : N_T, the number of flows estimated from the delay
    """
    return (R + THETA * n_c) / (R + THETA * n_t)


def alternate_update(n_c: Any, n_t: Any) -> Any:
    """Return target cwnd divided by cwnd, by Algorithm 1, line 6.

    Parameters
    ----------
    n_c : N_C, the number of flows estimated from the rate
    n_t : N_T, the number of flows estimated from the delay
    """
    return n_c / n_t


@dataclass(frozen=True)
class Transition:
    """A flow's share x and N_T after a round on a link without jitter, in which probes do not overlap."""

    share: Any
    n_t: Any


@functools.cache
def transition(update: Update) -> Transition:
    """Derive the outcome of a round of N_G flows that measure without errors and update at the same time."""
    window = X * (R + THETA * N_T)
    after = sp.expand(sp.simplify(window * (1 - ALPHA + ALPHA * update(1 / X, N_T))))
    slope, level = sp.Poly(after, X).all_coeffs()
    total = sp.simplify(slope + N_G * level)
    return Transition(share=sp.simplify(after / total), n_t=sp.simplify((total - R) / THETA))


@dataclass(frozen=True)
class Identity:
    """Two expressions that should be equal for all positive values of their symbols."""

    name: str
    claim: str
    left: Any
    right: Any
    expects: ProofOutcome = ProofOutcome.PROVED
    note: str = ""

    def check(self) -> LemmaResult:
        """Return whether the identity holds.

        If simplification and evaluation at random fractions disagree, the outcome is unknown.
        """
        began_s = time.process_time()
        is_zero = sp.simplify(self.left - self.right) == 0
        agrees = all(self._agrees_at(random.Random(seed)) for seed in range(POINTS))  # noqa: S311
        outcome = (
            (ProofOutcome.PROVED if is_zero else ProofOutcome.REFUTED) if is_zero == agrees else ProofOutcome.UNKNOWN
        )
        spent_s = time.process_time() - began_s
        return LemmaResult(
            self.name,
            self.claim,
            outcome,
            self.expects,
            solver=SOLVER,
            cpu_s=spent_s,
            note=self.note,
            about=About.LOGIC,
        )

    def _agrees_at(self, dice: random.Random) -> bool:
        symbols = sorted((self.left - self.right).free_symbols, key=str)
        at = {symbol: sp.Rational(dice.randrange(1, 60), dice.randrange(60, 90)) for symbol in symbols}
        return bool((self.left - self.right).subs(at) == 0)


def main_identities() -> list[Identity]:
    """Return the identities of theorem 7.5.1 for the main update: one round, and the distance from the fixed point."""
    to = transition(main_update)
    base = R + THETA * (1 - ALPHA) * N_T
    shrinks = base / (base + ALPHA * THETA * N_G)
    n_c = 1 / X
    published = n_c * (R + THETA * ((1 - ALPHA) * N_T + ALPHA * N_G)) / (R + THETA * ((1 - ALPHA) * N_T + ALPHA * n_c))
    return [
        Identity("eq. C.8", "main update: N_T' = (1-alpha) N_T + alpha N_G", to.n_t, (1 - ALPHA) * N_T + ALPHA * N_G),
        Identity("eq. C.9", "main update: N_C' as published", 1 / to.share, published),
        Identity("C.4", "main update: N_T' - N_G = (1-alpha) (N_T - N_G)", to.n_t - N_G, (1 - ALPHA) * (N_T - N_G)),
        Identity(
            "C.5 for any N_T",
            "main update: x' - 1/N_G = k (x - 1/N_G), k = b/(b + alpha theta N_G), b = R + theta (1-alpha) N_T",
            to.share - 1 / N_G,
            shrinks * (X - 1 / N_G),
            note="a linear contraction of every share from every state: C.5 is the case N_T = N_G, in N_C",
        ),
        Identity(
            "C.5 with alpha = 1",
            "main update: N_T' = N_G, and each share's distance to 1/N_G shrinks by R/(R + theta N_G)",
            (to.share - 1 / N_G).subs(ALPHA, 1),
            R / (R + THETA * N_G) * (X - 1 / N_G),
        ),
    ]


def alternate_identities() -> list[Identity]:
    """Return the identities for the alternate update, which is the update of theorem 7.5.2."""
    to = transition(alternate_update)
    n_c = 1 / X
    left = (1 - ALPHA) * N_T
    at_once = to.n_t.subs(ALPHA, 1)
    return [
        Identity(
            "eq. C.7",
            "alternate update: N_T' as published",
            to.n_t,
            left + ALPHA * N_G + ALPHA * R / THETA * (N_G / N_T - 1),
        ),
        Identity(
            "eq. C.6",
            "alternate update: N_C' as published",
            1 / to.share,
            n_c * (left + ALPHA * N_G) / (left + ALPHA * n_c),
        ),
        Identity(
            "C.2's factor",
            "alternate update: N_T' - N_G = (1 - alpha - alpha R/(theta N_T)) (N_T - N_G)",
            to.n_t - N_G,
            (1 - ALPHA - ALPHA * R / (THETA * N_T)) * (N_T - N_G),
        ),
        Identity(
            "C.2 repaired",
            "alternate update, alpha = 1: z = (N_T - N_G)/(N_T + R/theta) becomes -R/(theta N_G) z",
            (at_once - N_G) / (at_once + R / THETA),
            -R / (THETA * N_G) * (N_T - N_G) / (N_T + R / THETA),
            note="so N_T converges from every N_T > 0 if theta N_G > R, the condition on the network",
        ),
        Identity(
            "C.3 for any N_T",
            "alternate update: x' - 1/N_G = (1-alpha) N_T/((1-alpha) N_T + alpha N_G) (x - 1/N_G)",
            to.share - 1 / N_G,
            left / (left + ALPHA * N_G) * (X - 1 / N_G),
        ),
    ]


def collision_identities() -> list[Identity]:
    """Return the identities between the derived rounds of two flows with overlapping probes and ``maps.py``.

    The rounds are those of thesis section 7.5.4.
    """
    from fairweir.formal.frcc import maps

    path = maps.Path(r=R, theta=THETA)
    n_c = sp.Symbol("N_C", positive=True) + 1  # N_C of the first flow is above 1
    shares = (1 / n_c, 1 - 1 / n_c)
    # E_i = gamma N_T throughput_i D is the size of the probe of flow i. On a link with C = 1 and without jitter, the
    # probe adds a delay of E_i, and the delays that overlapping probes add are summed.
    probes = [GAMMA_D * N_T * share for share in shares]
    found = []
    for panel, sees_both, closed in (
        ("a", (False, False), maps.together),
        ("c", (True, True), maps.both_see_both),
        ("d", (True, False), maps.first_sees_both),
        ("e", (False, True), maps.second_sees_both),
    ):
        windows = []
        for share, probe, both in zip(shares, probes, sees_both, strict=True):
            rate = probe / (sum(probes) if both else probe)
            windows.append(share * (R + THETA * N_T) * main_update(rate / share, N_T))
        derived = maps.next_state(path, *windows)
        for symbol, left, right in zip(("N_C", "N_T"), derived, closed(path, n_c, N_T), strict=True):
            found.append(
                Identity(f"7.12 ({panel}) {symbol}", f"main update, figure 7.12 ({panel}): {symbol}'", left, right)
            )
    return found


def fluid_identities() -> list[Identity]:
    """Return the identities for fixed points of flows with different propagation delays.

    Thesis sections 7.5.5 and D.4 have no closed form. At the fixed point N_C = N_T. Because N_C is estimated as N_T
    gamma D divided by the delay that a probe adds, each probe adds a delay of gamma D. The rates solve, for each flow
    i,

        sum over j of w_j/(RTT_j + gamma D) + E_i/(RTT_i + gamma D) = C,   w_j = rate_j RTT_j, E_i = N_T rate_i gamma D.

    The first sum is equal for all flows, so rate_i/(RTT_i + gamma D) is equal for all flows. The rates add up to C, so
    N_T = N_G.
    """
    found = []
    for flows in (2, 3, 4):
        rtts = sp.symbols(f"RTT_1:{flows + 1}", positive=True)
        total = sum(rtts) + flows * GAMMA_D
        rates = [(rtt + GAMMA_D) / total for rtt in rtts]
        carried = sum(rate * rtt / (rtt + GAMMA_D) for rate, rtt in zip(rates, rtts, strict=True))
        for flow, (rate, rtt) in enumerate(zip(rates, rtts, strict=True), start=1):
            probe = flows * rate * GAMMA_D
            found.append(
                Identity(
                    f"7.16, {flows} rtprops, flow {flow}",
                    "rates in proportion to RTT_i + gamma D and N_T = N_G: its probe adds a delay of gamma D",
                    carried + probe / (rtt + GAMMA_D),
                    sp.Integer(1),
                )
            )
    return found
