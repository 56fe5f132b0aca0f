"""A flow's beliefs in a trace: checked, or computed from initial values that are given or drawn at random."""

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
    """Check each belief attached to a flow: compute it again from its initial value, and compare.

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
    """Return the trace with one flow's beliefs of a family added, computed from their values at t = 0.

    Parameters
    ----------
    index : int, index of the flow
    family : str, name of the family of beliefs
    terms : Terms, under which the beliefs are attached
    first : initial values, by belief
    """
    flow = trace.flows[index]
    computed = beliefs_named(family).columns(trace, flow, terms, first)
    columns = {name: tuple(column) for name, column in computed.items()}
    believing = flow.model_copy(update={"beliefs": flow.beliefs | columns, "attached": flow.attached | {family: terms}})
    flows: Sequence[object] = [believing if i == index else other for i, other in enumerate(trace.flows)]
    return trace.model_copy(update={"flows": tuple(flows)})


def first_values(trace: Trace, family: str, terms: Terms, random: Random) -> dict[str, Fraction]:
    """Draw initial values as the terms require: consistent with the network, or arbitrary.

    Parameters
    ----------
    trace : Trace
    family : str, name of the family of beliefs
    terms : Terms, under which it is attached
    random : Random, the source of the draw
    """
    part = Fraction(random.randint(0, 8), 8)
    return beliefs_named(family).first_values(trace, terms, part, random)


def is_consistent(trace: Trace, family: str, terms: Terms, values: Values, t: int) -> bool:
    """Return whether the trace's network is consistent with a family's values at t.

    Parameters
    ----------
    trace : Trace
    family : str, name of the family of beliefs
    terms : Terms, under which it is attached
    values : values at t, by belief
    t : int, the point
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
