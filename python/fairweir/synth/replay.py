"""Check in exact fractions, without a solver, that a counterexample is a trace and violates the invariant.

:mod:`fairweir.formal.exact.invariant` defines the invariant, and :mod:`fairweir.formal.encoding.invariant` encodes it
for solvers. :mod:`fairweir.formal.exact` judges the network, the beliefs and the decisions.
"""

from __future__ import annotations

from fairweir.ccas.rule import Rule
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact import violations
from fairweir.formal.exact.invariant import keeps
from fairweir.synth.query import Query


def objections(trace: Trace, rule: Rule, query: Query) -> list[str]:
    """Return the reasons why a trace is not a counterexample to a rule; empty if it is a counterexample."""
    found = [str(violation) for violation in violations(trace, [rule.decide])]
    return [*found, "the invariant holds"] if keeps(trace, query.demands) else found
