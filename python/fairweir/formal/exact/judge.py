"""Check all conditions that a trace must satisfy: those of the network model, the flows' beliefs and the flows' rules.

A trace is the value of each curve at each sample point. A belief is a bound on the network that a flow infers from what
it observes. A rule is a congestion control algorithm whose rate is a function of beliefs.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.believe import belief_violations
from fairweir.formal.exact.network import flow_violations, network_violations
from fairweir.formal.exact.report import Violation
from fairweir.formal.exact.senders import Decider, arrivals, decisions

__all__ = ["Decider", "violations"]


def violations(trace: Trace, deciders: Sequence[Decider | None] = ()) -> list[Violation]:
    """Return each condition of the network model, the flows' beliefs or the flows' rules that a trace violates.

    Parameters
    ----------
    trace : Trace
    deciders : for each flow, the function that computes its rule's rate; None if the flow may send at any rate

    Returns
    -------
    list of Violation, empty if the trace satisfies all conditions
    """
    found = list(network_violations(trace))
    for i in range(len(trace.flows)):
        found += [*flow_violations(trace, i), *arrivals(trace, i), *belief_violations(trace, i)]
    for i, decide in enumerate(deciders):
        if decide is not None:
            found += decisions(trace, i, decide)
    return found
