"""Check of a counterexample in exact fractions, without a solver: it is a trace, and violates the invariant.

The claim is that of :mod:`fairweir.formal.encoding.invariant`, stated by definition in
:mod:`fairweir.formal.exact.invariant`; network, beliefs and decisions are judged by :mod:`fairweir.formal.exact`.
"""

from __future__ import annotations

from fairweir.ccas.rule import Rule
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact import violations
from fairweir.formal.exact.invariant import keeps
from fairweir.synth.query import Query


def objections(trace: Trace, rule: Rule, query: Query) -> list[str]:
    """Return why a trace is not a counterexample to a rule; empty if it is one."""
    found = [str(violation) for violation in violations(trace, [rule.decide])]
    return [*found, "the invariant holds"] if keeps(trace, query.demands) else found
