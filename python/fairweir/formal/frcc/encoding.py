"""All outcomes of a round of two flows of the CCA FRCC on a link with jitter, as polynomial constraints for solvers.

In a round, each flow estimates N_C and N_T, with errors that jitter causes, and updates its cwnd once. The constraints
use shares instead of N_C, and do not contain the estimates: each flow's factor s (new cwnd divided by old cwnd) may
have any value between the values for the extreme errors,

    1/s in [rate_low N_T share - e/gamma, rate_high (N_T + delay_error) share + e/gamma],   e = excess_error,

where :class:`~fairweir.formal.frcc.jittery.Jitter` defines the maximum errors and gamma, the size of a probe. Because
an estimate of N_C is at least 1, 1/s is also at most N_T + delay_error. FRCC limits (clamps) s to a range. These
constraints have five variables and products of at most three of them, so a solver decides a published lemma in less
than a second.

``seen`` evaluates the same constraints on fractions, so a lemma has the same meaning for a solver and for the replay of
a solver's counterexample.

Symbols: N_C, link rate divided by a flow's throughput; share, 1/N_C; N_T, queueing delay divided by theta; theta,
queueing delay per flow; R, round-trip propagation delay. Equations are those of the FRCC paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairweir.formal.frcc.jittery import Jitter, State

if TYPE_CHECKING:
    import z3


@dataclass(frozen=True)
class Round:
    """The state before a round, and what determines the state after the round.

    Numbers are fractions or z3 reals; conditions are Python's or z3's Booleans.

    Attributes
    ----------
    shares : both flows' shares of the link before the round
    n_t : N_T before the round
    r : R/theta
    factors : for each flow, cwnd after the round divided by cwnd before
    """

    shares: tuple[Any, Any]
    n_t: Any
    r: Any
    factors: tuple[Any, Any]

    @property
    def growth(self) -> Any:
        """The sum of both flows' cwnd after the round divided by the sum before."""
        return self.factors[0] * self.shares[0] + self.factors[1] * self.shares[1]

    @property
    def n_t_after(self) -> Any:
        """N_T after the round (eq. C.12)."""
        return (self.r + self.n_t) * self.growth - self.r

    def n_c_at_most(self, flow: int, bound: Any) -> Any:
        """Return the constraint that N_C of a flow is at most `bound` before the round."""
        return self.shares[flow] * bound >= 1

    def n_c_after_at_most(self, flow: int, bound: Any) -> Any:
        """Return the constraint that N_C of a flow is at most `bound` after the round (eq. C.11)."""
        return self.growth <= bound * self.factors[flow] * self.shares[flow]

    def n_c_after_at_least(self, flow: int, bound: Any) -> Any:
        """Return the constraint that N_C of a flow is at least `bound` after the round."""
        return self.growth >= bound * self.factors[flow] * self.shares[flow]

    def n_c_falls(self, flow: int, by: Any) -> Any:
        """Return the constraint that N_C of a flow is at least `by` times as large before the round as after."""
        return by * self.growth <= self.factors[flow]


def possible(jitter: Jitter, seen: Round, *, any_sender: bool = False) -> list[Any]:
    """Return the conditions that a round satisfies if and only if jitter within its bounds can cause the round.

    Parameters
    ----------
    jitter : Jitter, the maximum errors
    seen : Round
    any_sender : True: each flow changes its cwnd by any positive factor; False: by a factor that FRCC can choose
    """
    conditions = [seen.shares[0] > 0, seen.shares[1] > 0, seen.n_t > 0, seen.r > 0, seen.r < jitter.r_below]
    if any_sender:
        return [*conditions, *(factor > 0 for factor in seen.factors)]
    for share, factor in zip(seen.shares, seen.factors, strict=True):
        conditions += factor_rule(jitter, share, seen.n_t, factor)
    return conditions


def factor_rule(jitter: Jitter, share: Any, n_t: Any, factor: Any) -> list[Any]:
    """Return the conditions that one flow's factor satisfies (see the module's description).

    Parameters
    ----------
    jitter : Jitter, the maximum errors
    share : the flow's share of the link before the round
    n_t : N_T before the round
    factor : cwnd after the round divided by cwnd before
    """
    probe_error = jitter.excess_error / jitter.gamma
    most = jitter.rate_high * (n_t + jitter.delay_error) * share + probe_error
    least = jitter.rate_low * n_t * share - probe_error
    return [
        factor >= jitter.decrease,
        factor <= jitter.increase,
        (factor == jitter.decrease) | (factor * least <= 1),
        (factor == jitter.increase) | ((factor * most >= 1) & (factor * (n_t + jitter.delay_error) >= 1)),
    ]


def unknowns() -> Round:
    """Return a round whose numbers are unknowns of z3."""
    import z3

    share, n_t, r, first, second = (z3.Real(name) for name in ("share", "n_t", "r", "factor1", "factor2"))
    return Round((share, 1 - share), n_t, r, (first, second))


def seen(state: State, factors: tuple[Any, Any]) -> Round:
    """Return the round that begins in `state` and changes the flows' cwnd by `factors`.

    Parameters
    ----------
    state : State before the round
    factors : for each flow, cwnd after the round divided by cwnd before
    """
    return Round(state.shares, state.n_t, state.r, factors)


def constraints(jitter: Jitter, of: Round, *, any_sender: bool = False) -> list[z3.BoolRef]:
    """Return the conditions of :func:`possible` as constraints for a solver.

    Parameters
    ----------
    jitter : Jitter, the maximum errors
    of : Round whose numbers are unknowns of z3
    any_sender : as in :func:`possible`
    """
    return list(possible(jitter, of, any_sender=any_sender))
