"""Replay a solver's counterexample to a lemma about the CCA FRCC in exact fractions.

A counterexample is a round of two flows on a link with jitter. The replay computes errors of the flows' estimates that
jitter can cause and that lead to the solver's numbers; then it computes the state after the round. Symbols: N_C, link
rate divided by a flow's throughput; share, 1/N_C; N_T (in code: n_t), queueing delay divided by theta; theta, queueing
delay per flow; r, round-trip propagation delay divided by theta; factor1 and factor2, new cwnd divided by old cwnd of
the two flows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from fairweir.formal.frcc.encoding import possible, seen
from fairweir.formal.frcc.jittery import Bend, State, bend_for, step
from fairweir.formal.frcc.lemmas import Lemma
from fairweir.formal.solving.smtlib import Value


@dataclass(frozen=True)
class Replay:
    """A round that refutes a lemma.

    Attributes
    ----------
    before, after : State before and after the round
    bends : Bend, the errors of each flow's estimates
    """

    before: State
    after: State
    bends: tuple[Bend, Bend]

    def __str__(self) -> str:
        """Return the round in one line, with rounded numbers."""
        ends = " to ".join(
            f"N_C {_short(1 / state.share)}, N_T {_short(state.n_t)}" for state in (self.before, self.after)
        )
        bends = "; ".join(
            f"flow {flow} measures {_short(bend.rate)} of its throughput, N_T + {_short(bend.delay)}, "
            f"excess delay + {_short(bend.excess)} D"
            for flow, bend in enumerate(self.bends, start=1)
        )
        return f"R = {_short(self.before.r)} theta: {ends} ({bends})"


def _short(value: Fraction) -> str:
    return f"{float(value):.4g}"


def replay(lemma: Lemma, values: Mapping[str, Value]) -> Replay | None:
    """Replay a solver's counterexample.

    Parameters
    ----------
    lemma : Lemma that the solver refuted
    values : the solver's values of share, n_t, r, factor1 and factor2

    Returns
    -------
    Replay : the round; None if jitter cannot cause these values, or if they do not violate the lemma
    """
    share, n_t, r, *factors_found = (Fraction(values[name]) for name in ("share", "n_t", "r", "factor1", "factor2"))
    before, factors = State(share, n_t, r), (factors_found[0], factors_found[1])
    bends = [
        bend_for(lemma.jitter, share, before.n_t, factor) for share, factor in zip(before.shares, factors, strict=True)
    ]
    first, second = bends
    round_ = seen(before, factors)
    if first is None or second is None or not all(possible(lemma.jitter, round_)):
        return None
    if not lemma.given(round_) or lemma.then(round_):
        return None
    after = step(lemma.jitter, before, (first, second))
    is_same = after.n_t == round_.n_t_after and after.share == factors[0] * before.share / round_.growth
    return Replay(before, after, (first, second)) if is_same else None
