"""Solvers find no trace that violates beliefs, and find traces that violate slightly stronger beliefs."""

from __future__ import annotations

import pickle
from fractions import Fraction

import pytest

from fairweir.ccas.rule import RULES, Rule
from fairweir.formal.beliefs import Resolution, cbr_delay, ccac, sampled
from fairweir.formal.beliefs.soundness import Bound, bounds, controls
from fairweir.formal.encoding import properties
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.demands import Demands, LargeLoss
from fairweir.formal.encoding.encode import attach
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.invariant import invariant
from fairweir.formal.encoding.system import System
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact import violations
from fairweir.formal.lemmas.beliefs import settle, steps_by_solver
from fairweir.formal.models import MODELS
from fairweir.formal.solving.solve import Answer, ProofOutcome, Question, ask


def named(bound: Bound) -> str:
    return bound.name


@pytest.mark.parametrize("bound", [*bounds(Grid(5)), *bounds(Grid(6, per_r=2))][::3], ids=named)
def test_no_trace_leaves_a_belief(bound: Bound) -> None:
    assert settle(bound, 60.0).outcome is ProofOutcome.PROVED


def test_steps_are_data_for_other_processes() -> None:
    steps = list(steps_by_solver(3, 60.0))
    for step in (steps[0], steps[-1]):
        result = pickle.loads(pickle.dumps(step.job))()  # noqa: S301
        assert (result.name, result.outcome) == (step.name, result.expects)


@pytest.mark.parametrize("bound", list(controls(Grid(6))), ids=named)
def test_stronger_bounds_are_refuted_by_traces_that_replay(bound: Bound) -> None:
    result = settle(bound, 60.0)
    assert result.outcome is ProofOutcome.REFUTED
    assert result.note == "its trace replays exactly"


@pytest.mark.parametrize("bound", list(sampled.bounds(5, 2)), ids=named)
def test_observations_once_per_r_of_finer_time(bound: Bound) -> None:
    assert settle(bound, 60.0).outcome is (ProofOutcome.PROVED if bound.is_sound else ProofOutcome.REFUTED)


def keeps_invariant(system: System, rule: str, demands: Demands) -> Answer:
    chosen = Rule.load(RULES / f"{rule}.toml")
    attach(chosen, system)
    answer = ask(Question(rule, system.assertions(), invariant(system, demands)))
    if answer.outcome is ProofOutcome.REFUTED:
        assert violations(Trace.from_values(system, answer.values), [chosen.decide]) == []
    return answer


@pytest.mark.parametrize(
    ("model", "points", "outcome"),
    [
        ("ccac-published", 5, ProofOutcome.REFUTED),
        ("ccac-published", 6, ProofOutcome.PROVED),
        ("ccac", 8, ProofOutcome.REFUTED),
        ("ccac", 9, ProofOutcome.PROVED),
    ],
)
def test_cc_qdel_needs_longer_traces_where_acknowledgements_may_pause(
    model: str, points: int, outcome: ProofOutcome
) -> None:
    system = MODELS[model].build(Grid(points), Buffer.INFINITE)
    ccac.attach(system)
    assert keeps_invariant(system, "cc_qdel", Demands()).outcome is outcome


@pytest.mark.parametrize("resolution", list(Resolution))
@pytest.mark.parametrize("rule", ["cc_probe_slow", "cc_probe_slow_3"])
def test_cc_probe_slow_probes_at_what_its_belief_divides_by(rule: str, resolution: Resolution) -> None:
    system = MODELS["cbr-delay"].build(Grid(6), Buffer.ARBITRARY)
    ccac.attach(system)
    cbr_delay.attach(system, resolution=resolution)
    demands = Demands(utilization=Fraction(3, 10), large_loss=LargeLoss.ALWAYS)
    fits = (rule == "cc_probe_slow") == (resolution is Resolution.EXACT)
    assert keeps_invariant(system, rule, demands).outcome is (ProofOutcome.PROVED if fits else ProofOutcome.REFUTED)


@pytest.mark.parametrize(
    ("most", "true", "holds"), [(0, 0, True), (0, 1, False), (2, 2, True), (2, 3, False), (5, 5, True)]
)
def test_counting_without_numbers(most: int, true: int, holds: bool) -> None:
    import z3

    bits = [z3.BoolVal(i < true) for i in range(5)]
    assert z3.is_true(z3.simplify(properties.count_at_most(bits, most))) == holds
