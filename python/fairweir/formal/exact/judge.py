"""All conditions on a trace, in one list."""

from __future__ import annotations

from collections.abc import Sequence

from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.believe import belief_violations
from fairweir.formal.exact.network import flow_violations, network_violations
from fairweir.formal.exact.report import Violation
from fairweir.formal.exact.senders import Decider, arrivals, decisions

__all__ = ["Decider", "violations"]


def violations(trace: Trace, deciders: Sequence[Decider | None] = ()) -> list[Violation]:
    """Check a trace against its model, its flows' beliefs and its rules.

    Parameters
    ----------
    deciders : per flow, its rule's ``decide``, or None for a flow that may send arbitrarily

    Returns
    -------
    list of Violation, empty if the trace is one of the model's
    """
    found = list(network_violations(trace))
    for i in range(len(trace.flows)):
        found += [*flow_violations(trace, i), *arrivals(trace, i), *belief_violations(trace, i)]
    for i, decide in enumerate(deciders):
        if decide is not None:
            found += decisions(trace, i, decide)
    return found
