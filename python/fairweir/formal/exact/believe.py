"""Beliefs of a flow in a trace: check given beliefs, or compute beliefs from initial values.

A belief is a bound on the network that a flow infers from what it observes, such as the lower bound C_L on the link
rate. A family is a group of beliefs that are computed together. A family's terms are options: whether its initial
values may be stale (true of an earlier link only), when its beliefs time out, and the resolution of delays. A trace is
the value of each curve at each sample point t. qdel_L and qdel_U are a flow's bounds on its queueing delay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from random import Random

from fairweir.formal.beliefs.choices import Start, Terms
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.beliefs import BeliefDefinition, Values, beliefs_named
from fairweir.formal.exact.report import Report, Violation
from fairweir.formal.exact.senders import min_qdelay


def belief_violations(trace: Trace, index: int) -> Iterator[Violation]:
    """Yield a violation for each belief of a flow that differs from its definition, computed from the initial values.

    Parameters
    ----------
    trace : Trace
    index : int, index of the flow
    """
    flow, report = trace.flows[index], Report(index)
    for attached, terms in flow.attached.items():
        family = beliefs_named(attached)
        first = {name: flow.beliefs[name][0] for name in family.names}
        yield from _valid_start(trace, family, terms, first, report)
        for name, column in family.columns(trace, flow, terms, first).items():
            for t, expected in enumerate(column):
                yield from report.equal(name, flow.beliefs[name][t], expected, "beliefs", t)
    for name, offset in (("qdel_L", None), ("qdel_U", trace.grid.step)):
        for t, found in enumerate(flow.beliefs.get(name, ())):
            expected = min_qdelay(trace, flow, t) if offset is None else flow.delay[t] * trace.grid.step + offset
            yield from report.equal(name, found, expected, "beliefs", t)


def believe(trace: Trace, index: int, family: str, terms: Terms, first: Values) -> Trace:
    """Return a copy of the trace in which one flow has the beliefs of a family, computed from their values at t = 0.

    Parameters
    ----------
    index : int, index of the flow
    family : str, name of the family of beliefs
    terms : Terms, the family's options
    first : for each belief of the family, its value at t = 0
    """
    flow = trace.flows[index]
    computed = beliefs_named(family).columns(trace, flow, terms, first)
    columns = {name: tuple(column) for name, column in computed.items()}
    believing = flow.model_copy(update={"beliefs": flow.beliefs | columns, "attached": flow.attached | {family: terms}})
    flows: Sequence[object] = [believing if i == index else other for i, other in enumerate(trace.flows)]
    return trace.model_copy(update={"flows": tuple(flows)})


def first_values(trace: Trace, family: str, terms: Terms, random: Random) -> dict[str, Fraction]:
    """Draw initial values of a family's beliefs: true of the trace's network, or arbitrary if the terms permit it.

    Parameters
    ----------
    trace : Trace
    family : str, name of the family of beliefs
    terms : Terms, the family's options
    random : Random, source of random numbers
    """
    part = Fraction(random.randint(0, 8), 8)
    return beliefs_named(family).first_values(trace, terms, part, random)


def is_consistent(trace: Trace, family: str, terms: Terms, values: Values, t: int) -> bool:
    """Return whether a family's values at t are true bounds on the trace's network.

    Parameters
    ----------
    trace : Trace
    family : str, name of the family of beliefs
    terms : Terms, the family's options
    values : for each belief of the family, its value at t
    t : int, the sample point
    """
    return beliefs_named(family).is_consistent(trace, terms, values, t)


def _valid_start(
    trace: Trace, family: BeliefDefinition, terms: Terms, first: Values, report: Report
) -> Iterator[Violation]:
    is_valid = family.may_start(trace, first)
    yield from report.unless(is_valid, "beliefs", 0, f"{family.name}: impossible initial values")
    if terms.start is Start.CONSISTENT:
        fits = family.is_consistent(trace, terms, first, 0)
        yield from report.unless(fits, "beliefs", 0, f"{family.name}: initial values inconsistent with the network")
