"""All outcomes of a round of two FRCC flows on a jittery link, as polynomial constraints.

The constraints use shares instead of N_C, and do not contain the estimates: each flow's factor s (new cwnd divided by
old cwnd) may have any value between those for the extreme errors,

    1/s in [rate_low N_T share - e/gamma, rate_high (N_T + delay_error) share + e/gamma],   e = excess_error,

and 1/s is at most N_T + delay_error, since an estimate of N_C is at least 1; all of it clamped. With this, five
variables and products of three suffice, and a published lemma takes a solver fractions of a second.

``seen`` evaluates the same rules on fractions, so that a lemma has the same meaning for solvers and for replays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairweir.formal.frcc.jittery import Jitter, State

if TYPE_CHECKING:
    import z3


@dataclass(frozen=True)
class Round:
    """The state before and after a round. Numbers are fractions or z3 reals; conditions are Python's or z3's Booleans.

    Attributes
    ----------
    shares : the flows' shares of the link before the round
    n_t : N_T before
    r : R/theta
    factors : the factors of the flows' windows
    """

    shares: tuple[Any, Any]
    n_t: Any
    r: Any
    factors: tuple[Any, Any]

    @property
    def growth(self) -> Any:
        """The sum of all windows after the round divided by their sum before."""
        return self.factors[0] * self.shares[0] + self.factors[1] * self.shares[1]

    @property
    def n_t_after(self) -> Any:
        """N_T after (eq. C.12)."""
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
        """Return the constraint that N_C of a flow decreases at least by the factor `by`."""
        return by * self.growth <= self.factors[flow]


def possible(jitter: Jitter, seen: Round, *, any_sender: bool = False) -> list[Any]:
    """Return the conditions on a round that jitter can cause.

    Parameters
    ----------
    any_sender : whether flows change their windows by an arbitrary positive factor instead of FRCC's
    """
    conditions = [seen.shares[0] > 0, seen.shares[1] > 0, seen.n_t > 0, seen.r > 0, seen.r < jitter.r_below]
    if any_sender:
        return [*conditions, *(factor > 0 for factor in seen.factors)]
    for share, factor in zip(seen.shares, seen.factors, strict=True):
        conditions += factor_rule(jitter, share, seen.n_t, factor)
    return conditions


def factor_rule(jitter: Jitter, share: Any, n_t: Any, factor: Any) -> list[Any]:
    """Return the conditions on the factor of a flow with that share.

    Parameters
    ----------
    jitter : Jitter, the maximum errors
    share : of the link
    n_t : N_T before the round
    factor : of the flow's window
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
    """Return a round whose numbers are unknowns."""
    import z3

    share, n_t, r, first, second = (z3.Real(name) for name in ("share", "n_t", "r", "factor1", "factor2"))
    return Round((share, 1 - share), n_t, r, (first, second))


def seen(state: State, factors: tuple[Any, Any]) -> Round:
    """Return a round with given numbers.

    Parameters
    ----------
    state : State, before the round
    factors : of both flows' windows
    """
    return Round(state.shares, state.n_t, state.r, factors)


def constraints(jitter: Jitter, of: Round, *, any_sender: bool = False) -> list[z3.BoolRef]:
    """Return :func:`possible` for the solver.

    Parameters
    ----------
    jitter : Jitter, the maximum errors
    of : Round, of unknowns
    any_sender : as in :func:`possible`
    """
    return list(possible(jitter, of, any_sender=any_sender))
