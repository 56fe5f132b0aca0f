"""Check all conditions on a trace."""

from __future__ import annotations

from collections.abc import Sequence

from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.believe import belief_violations
from fairweir.formal.exact.network import flow_violations, network_violations
from fairweir.formal.exact.report import Violation
from fairweir.formal.exact.senders import Decider, arrivals, decisions

__all__ = ["Decider", "violations"]


def violations(trace: Trace, deciders: Sequence[Decider | None] = ()) -> list[Violation]:
    """Return where a trace violates its model, its flows' beliefs or their rules.

    Parameters
    ----------
    deciders : for each flow, the ``decide`` of its rule, or None if the flow may send arbitrarily

    Returns
    -------
    list of Violation, empty if the model admits the trace
    """
    found = list(network_violations(trace))
    for i in range(len(trace.flows)):
        found += [*flow_violations(trace, i), *arrivals(trace, i), *belief_violations(trace, i)]
    for i, decide in enumerate(deciders):
        if decide is not None:
            found += decisions(trace, i, decide)
    return found
