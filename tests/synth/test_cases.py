"""Cases of the verifier's question: together they are equivalent to the question; an unknown case is not a proof."""

from __future__ import annotations

from pathlib import Path

import pytest
import z3

from fairweir.formal.encoding.encode import encode
from fairweir.formal.solving.solve import Prepared
from fairweir.formal.solving.solvers import Budget, Satisfiable, SolverName
from fairweir.synth.query import Query
from fairweir.synth.space import Candidate
from fairweir.synth.verifier import Verifier

QUERIES = Path(__file__).parents[2] / "queries"
CORNER = {
    "template.condition": [{"C_L": [-2], "C_U": [1], "alpha": [0]}, {"qdel_L": [1], "R": [0]}],
    "template.rate": {"C_L": ["1/2", 2], "alpha": [0]},
}


def candidates(query: Query) -> list[Candidate]:
    conditions, rates = range(len(query.space.conditions)), range(len(query.space.rates))
    return [(condition, left, right) for condition in conditions for left in rates for right in rates]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("g1-5", {"points": 6}),
        ("g2", {"points": 5, "objectives.large_loss": "always"}),
        ("g2", {"points": 4, "beliefs.start": "any", "beliefs.expiry": "at-end"}),
    ],
)
def test_the_cases_together_are_the_question(name: str, settings: dict[str, object]) -> None:
    query = Query.load(QUERIES / f"{name}.toml", {**CORNER, **settings})
    verifier = Verifier(query)
    whole = Prepared([*verifier.system.assertions(), z3.Not(verifier.claim)])
    for candidate in candidates(query):
        decisions = encode(query.space.rule(candidate, "any"), verifier.system)
        undivided = whole.check(decisions, solvers=[SolverName.YICES]).verdict
        assert verifier.check(candidate).verdict is undivided


def test_a_trace_on_which_bounds_tighten_refutes() -> None:
    """cc_probe_fast on a small buffer loses much only while its bounds tighten, which counts where losses always do."""
    settings = {"template.condition": [{"C_L": [-2], "C_U": [1], "alpha": [0]}], "objectives.large_loss": "always"}
    query = Query.load(QUERIES / "g2.toml", {**settings, "template.rate": {"C_L": [1, 2], "alpha": [0]}})
    verifier, cc_probe_fast = Verifier(query), (0, 1, 0)
    finding = verifier.check(cc_probe_fast)
    assert finding.verdict is Satisfiable.SAT
    assert finding.trace is not None
    own = finding.trace.flows[0].beliefs
    assert own["C_L"][-1] > own["C_L"][0] or own["C_U"][-1] < own["C_U"][0]
    decisions = encode(query.space.rule(cc_probe_fast, "any"), verifier.system)
    still, _ = verifier._cases
    assert still.check(decisions, solvers=[SolverName.YICES]).verdict is Satisfiable.UNSAT


def test_a_case_that_is_unknown_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    query = Query.load(QUERIES / "g1-5.toml", {**CORNER, "points": 6})
    verifier = Verifier(query, Budget(), [SolverName.YICES])
    good = (query.space.conditions.index(query.space.conditions[-1]), 0, 1)
    assert verifier.check(good).verdict is Satisfiable.UNSAT
    asked = []
    real = verifier._ask

    def first_unknown(prepared: Prepared, further: list[z3.BoolRef]) -> object:
        asked.append(prepared)
        check = real(prepared, further)
        return check if len(asked) > 1 else type(check)(Satisfiable.UNKNOWN, reason="out of budget")

    monkeypatch.setattr(verifier, "_ask", first_unknown)
    finding = verifier.check(good)
    assert finding.verdict is Satisfiable.UNKNOWN
    assert finding.reason == "out of budget"
