"""A trace's flows with beliefs, computed from given or drawn first values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from random import Random

from fairweir.formal.beliefs.choices import Family, Start, Terms
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.beliefs import FAMILIES, room_of


def believe(trace: Trace, index: int, family: Family, terms: Terms, first: Mapping[str, Fraction]) -> Trace:
    """Return the trace with a flow's beliefs of a family, from their values at t = 0 on."""
    flow = trace.flows[index]
    columns = {name: tuple(column) for name, column in FAMILIES[family](trace, flow, terms, first).items()}
    believing = flow.model_copy(update={"beliefs": flow.beliefs | columns, "attached": flow.attached | {family: terms}})
    flows: Sequence[object] = [believing if i == index else other for i, other in enumerate(trace.flows)]
    return trace.model_copy(update={"flows": tuple(flows)})


def first_values(trace: Trace, family: Family, terms: Terms, random: Random) -> dict[str, Fraction]:
    """Draw values at t = 0 that the terms admit: consistent with the network, or any."""
    part = Fraction(random.randint(0, 8), 8)
    if family is Family.CCAC:
        if terms.start is Start.ANY:
            low = trace.alpha + part * random.randint(0, 4)
            return {"C_L": low, "C_U": low + Fraction(random.randint(0, 16), 8)}
        return {"C_L": trace.alpha + part * (1 - trace.alpha), "C_U": 1 + Fraction(random.randint(0, 16), 8)}
    if family is Family.BUFFER:
        size = Fraction(0) if terms.start is Start.ANY else (trace.beta or Fraction(0))
        return {"beta_L": part * size, "beta_U": size + Fraction(random.randint(0, 16), 8)}
    most = Fraction(1) if trace.beta is None else min(Fraction(1), (1 + trace.beta) / room_of(trace, terms))
    if terms.start is Start.ANY:
        most *= 4
    min_queue = Fraction(0) if terms.start is Start.ANY else max(Fraction(0), trace.bottleneck_queue(0))
    low = trace.alpha + part * max(Fraction(0), most - trace.alpha)
    return {"C_L_lambda": low, "q_U": min_queue + Fraction(random.randint(0, 8), 4)}
