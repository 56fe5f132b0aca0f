"""Hand-encoded algorithms: traces that solvers find with the encoding satisfy the definition, and vice versa."""

from __future__ import annotations

from fractions import Fraction

import pytest
import z3

from fairweir.errors import ConfigError
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.evaluate import Evaluator
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.system import System
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact import violations
from fairweir.formal.hand_encoded import HAND_ENCODED, HandEncodedCca
from fairweir.formal.models import MODELS
from fairweir.formal.solving.solve import ProofOutcome, Question, ask
from fairweir.formal.solving.solvers import Budget

POINTS = 7
ALL = sorted(HAND_ENCODED)


def alone(cca: HandEncodedCca, model: str = "ccac", buffer: Buffer = Buffer.ARBITRARY) -> System:
    system = MODELS[model].build(Grid(POINTS), buffer, (cca.sender,))
    cca.encode(system)
    return system


def made(system: System, *wanted: z3.BoolRef) -> Trace:
    """Return a trace that satisfies a given constraint."""
    answer = ask(Question("made", [*system.assertions(), *wanted], z3.BoolVal(False)), Budget(20))
    assert answer.outcome is ProofOutcome.REFUTED, answer.reason
    return Trace.from_values(system, answer.values)


def changed(trace: Trace, column: str, t: int, by: Fraction) -> Trace:
    own = trace.flows[0]
    values = list(getattr(own, column))
    values[t] += by
    return trace.model_copy(update={"flows": (own.model_copy(update={column: tuple(values)}),)})


@pytest.mark.parametrize("name", ALL)
def test_traces_of_the_encoding_satisfy_the_definition(name: str) -> None:
    cca = HAND_ENCODED[name]
    system = alone(cca)
    last = system.grid.last
    own = system.flows[0]
    moved = own.rate if name == "expo" else own.cwnd
    for wanted in ([moved[last] > moved[1]], [moved[last] < moved[1]], [system.L[last - 1] > system.L[0]]):
        trace = made(system, *wanted, system.S[last] > system.S[0])
        assert [*violations(trace), *cca.violations(trace)] == []


@pytest.mark.parametrize("name", ALL)
def test_the_definition_finds_what_is_changed(name: str) -> None:
    cca = HAND_ENCODED[name]
    trace = made(alone(cca))
    column = "rate" if name == "expo" else "cwnd"
    for t in range(1, POINTS):
        wrong = changed(trace, column, t, Fraction(1, 1000))
        assert any(found.t in {t, t + 1} for found in cca.violations(wrong)), t


@pytest.mark.parametrize("name", ["aimd", "vegas_like", "expo"])
def test_the_encoding_admits_no_other_window_or_rate(name: str) -> None:
    cca = HAND_ENCODED[name]
    system = alone(cca)
    trace = made(system)
    own = system.flows[0]
    fixed = [term == value for curve, values in (
        (own.A, trace.flows[0].A), (own.S, trace.flows[0].S), (own.L, trace.flows[0].L), (system.TA, trace.TA),
        *((own.beliefs[key], trace.flows[0].beliefs[key][:1]) for key in own.beliefs),
    ) for term, value in zip(curve, values, strict=False)]  # fmt: skip
    fixed += [system.alpha == trace.alpha, system.beta == trace.beta]
    solver = z3.Solver()
    solver.add(*(c for name, group in system.groups.items() if not name.startswith("sender") for c in group), *fixed)
    column, values = (own.rate, trace.flows[0].rate) if name == "expo" else (own.cwnd, trace.flows[0].cwnd)
    delays = [bit == (k <= seen) for bits, seen in zip(own.delay, trace.flows[0].delay, strict=True)
              for k, bit in enumerate(bits) if k]  # fmt: skip
    solver.add(*delays, column[0] == values[0])
    assert solver.check() == z3.sat
    solver.add(z3.Or(*(term != value for term, value in zip(column, values, strict=True))))
    assert solver.check() == z3.unsat


def test_aimd_answers_one_loss_in_a_window() -> None:
    cca = HAND_ENCODED["aimd"]
    system = alone(cca)
    own = system.flows[0]
    lost_twice = [system.L[1] > system.L[0], system.L[2] > system.L[1]]
    halves = [own.cwnd[2] == own.cwnd[1] / 2, own.cwnd[3] == own.cwnd[2] / 2, own.cwnd[3] > system.alpha]
    twice = Question("twice", [*system.assertions(), *lost_twice, *halves[:1]], z3.Not(z3.And(*halves[1:])))
    assert ask(twice, Budget(20)).outcome is ProofOutcome.PROVED


def test_encodings_that_do_not_exist_are_rejected() -> None:
    fine = MODELS["ccac"].build(Grid(5, per_r=2), Buffer.INFINITE, (HAND_ENCODED["vegas_like"].sender,))
    with pytest.raises(ConfigError, match="one step per R"):
        HAND_ENCODED["vegas_like"].encode(fine)
    jittery = MODELS["ccac"].build(Grid(5, jitter=Fraction(2)), Buffer.INFINITE, (HAND_ENCODED["copa_like"].sender,))
    with pytest.raises(ConfigError, match="a jitter of 1 R: `2`"):
        HAND_ENCODED["copa_like"].encode(jittery)


def test_evaluated_constraints_agree_with_the_definition() -> None:
    cca = HAND_ENCODED["bbr_like"]
    system = alone(cca)
    trace = made(system)
    group = {name: found for name, found in system.groups.items() if name.startswith("bbr_like")}
    own = trace.flows[0]
    columns = {"A": own.A, "S": own.S, "L": own.L, "Ld": own.Ld, "cwnd": own.cwnd, "rate": own.rate, **own.beliefs}
    values = {f"{name}_{t}": value for name, column in columns.items() for t, value in enumerate(column)}
    values["alpha"] = trace.alpha
    assert Evaluator(group).broken(values) == []
    assert Evaluator(group).broken(values | {"cwnd_3": own.cwnd[3] + 1}) != []
