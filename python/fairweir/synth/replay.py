"""Check counterexamples in exact fractions, without a solver.

Terms: a trace is a time series of what is sent, served, lost and delayed in a network model. A rule is a CCA as data.
The invariant is the property that a query demands of a rule on every trace. A trace is a counterexample to a rule if
the trace is possible in the model, contains the rates that the rule decides, and violates the invariant.

:mod:`fairweir.formal.exact.invariant` evaluates the invariant in fractions, independently of the encoding for solvers
in :mod:`fairweir.formal.encoding.invariant`. :mod:`fairweir.formal.exact` checks the network, the sender's bounds on
network parameters, and the rule's decisions.
"""

from __future__ import annotations

from fairweir.ccas.rule import Rule
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact import violations
from fairweir.formal.exact.invariant import keeps
from fairweir.synth.query import Query


def objections(trace: Trace, rule: Rule, query: Query) -> list[str]:
    """Return the reasons why a trace is not a counterexample to `rule`; the list is empty if the trace is a
    counterexample.
    """
    found = [str(violation) for violation in violations(trace, [rule.decide])]
    return [*found, "the invariant holds"] if keeps(trace, query.demands) else found
