"""A family of beliefs consists of its encoding, its definition and the names for rules; no other code names it."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
import z3

from fairweir.ccas import beliefs as of_rules
from fairweir.ccas.beliefs.family import REGISTERED
from fairweir.ccas.generate import controller
from fairweir.ccas.rule import Rule
from fairweir.errors import ConfigError
from fairweir.formal.beliefs import Expiry, Start, Terms, families, soundness
from fairweir.formal.beliefs.family import USUAL, Family
from fairweir.formal.claims.syntax import parse_claim
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.system import Bit, System
from fairweir.formal.encoding.trace import FlowTrace, Trace
from fairweir.formal.exact import beliefs as exact
from fairweir.formal.exact.beliefs import BeliefDefinition
from fairweir.formal.lemmas.trial import try_out
from fairweir.formal.models import MODELS
from fairweir.formal.models.model import Model
from fairweir.formal.solving.solve import ProofOutcome, Question, ask
from fairweir.formal.solving.solvers import Budget
from fairweir.formal.verdicts.subjects import of_rule
from fairweir.formal.verdicts.verify import Case, verify


class Peak(Family):
    """P: the maximum served in any step so far, per R; without jitter, P is at most C."""

    name = "peak"
    names = ("P",)

    @property
    def claims(self) -> Mapping[str, object]:  # type: ignore[override]
        return {"P <= C": lambda system, t: system.flows[0].beliefs["P"][t] <= 1}

    def attach(self, system: System, *, flow: int = 0, terms: Terms = USUAL) -> None:
        own, peak = system.flows[flow], system.reals("P")
        own.beliefs["P"] = peak
        own.attached[self.name] = terms
        system.require(f"beliefs {flow}", peak[0] >= 0, *([peak[0] <= 1] if terms.start is Start.CONSISTENT else []))
        for t in range(1, system.grid.points):
            now = (own.S[t] - own.S[t - 1]) * system.grid.per_r
            system.require(f"beliefs {flow}", peak[t] == z3.If(now > peak[t - 1], now, peak[t - 1]))

    def is_sound_on(self, model: Model, buffer: Buffer) -> bool:
        return not model.has_jitter

    def consistent(self, system: System, t: int, flow: int = 0) -> list[Bit]:
        return [system.flows[flow].beliefs["P"][t] <= 1]


class ExactPeak(BeliefDefinition):
    """The belief P by definition, for the exact evaluator."""

    name = "peak"
    names = ("P",)

    def columns(
        self, trace: Trace, flow: FlowTrace, terms: Terms, first: Mapping[str, Fraction]
    ) -> dict[str, list[Fraction]]:
        rates = [(after - before) / trace.grid.step for before, after in zip(flow.S, flow.S[1:], strict=False)]
        return {"P": [max([first["P"], *rates[:t]]) for t in range(trace.grid.points)]}

    def may_start(self, trace: Trace, first: Mapping[str, Fraction]) -> bool:
        return first["P"] >= 0

    def is_consistent(self, trace: Trace, terms: Terms, values: Mapping[str, Fraction], t: int) -> bool:
        return values["P"] <= 1

    def first_values(self, trace: Trace, terms: Terms, part: Fraction, random: Random) -> dict[str, Fraction]:
        return {"P": part}


RULE = """
name = "peaks"
beliefs = "peak"
[[branch]]
when = ["P > 1/2 P + alpha"]
rate = "1/2 P"
[[branch]]
rate = "P + alpha"
"""


@pytest.fixture(autouse=True)
def peak(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the family; the keys that are set here are removed after the test."""
    rules = of_rules.BeliefFamily("peak", {"P": of_rules.Unit.RATE})
    monkeypatch.setitem(families._FAMILIES, "peak", Peak())
    monkeypatch.setitem(exact._DEFINITIONS, "peak", ExactPeak())
    monkeypatch.setitem(REGISTERED, "peak", rules)
    monkeypatch.setitem(of_rules._QUANTITIES, "P", of_rules.Unit.RATE)
    families.register(Peak(), ExactPeak(), rules)


def case(model: str, claim: str, points: int = 5) -> Case:
    subject = of_rule(Rule.from_toml(RULE), Start.CONSISTENT, Expiry.NEVER)
    return Case(subject, model, parse_claim(claim), Grid(points), Buffer.INFINITE)


def test_a_rule_that_reads_it_is_verified_and_its_counterexamples_are_judged() -> None:
    proved = verify(case("ideal", "P@end <= 1"))
    # The control shows that no sender makes the link serve more.
    assert proved.outcome is ProofOutcome.VACUOUS
    refuted = verify(case("ideal", "utilization >= 0.9"))
    assert refuted.outcome is ProofOutcome.REFUTED
    assert refuted.trace is not None
    assert refuted.trace.flows[0].attached == {"peak": Terms()}
    assert verify(case("ideal", "invariant")).outcome is ProofOutcome.REFUTED


def test_it_is_refused_where_it_is_not_sound() -> None:
    with pytest.raises(ConfigError, match="the beliefs of `peaks` are not sound on ccac"):
        verify(case("ccac", "queue"))


def test_its_bounds_are_checked_where_it_is_sound_and_random_traces_have_it() -> None:
    bounds = [bound for bound in soundness.bounds(Grid(5)) if bound.claim == "P <= C"]
    assert [bound.name for bound in bounds] == [f"ideal {buffer}: P <= C" for buffer in Buffer]
    for bound in bounds:
        answer = ask(Question(bound.name, bound.system.assertions(), bound.holds), Budget(20.0))
        assert answer.outcome is ProofOutcome.PROVED
    system = MODELS["ideal"].build(Grid(5), Buffer.INFINITE)
    for name in ("ccac", "cbr-delay", "peak"):
        families.FAMILIES[name].attach(system)
    assert try_out(system, range(20)).findings == ()


def test_a_wrong_definition_shows_in_random_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ExactPeak, "is_consistent", lambda *_: False)
    system = MODELS["ideal"].build(Grid(5), Buffer.INFINITE)
    for name in ("ccac", "cbr-delay", "peak"):
        families.FAMILIES[name].attach(system)
    assert len(try_out(system, range(3)).findings) >= 3


def test_kernel_c_that_cannot_compute_it_is_an_error() -> None:
    with pytest.raises(ConfigError, match="kernel C cannot compute peak beliefs"):
        controller(Rule.from_toml(RULE))


@pytest.mark.parametrize(("belief", "own"), [("C_L_lambda", "cbr_delay"), ("beta_L", "buffer")])
def test_a_family_is_named_in_its_own_files_alone(belief: str, own: str) -> None:
    """The exceptions are controls that must fail and lemmas about the family."""
    others = [path for path in Path("python/fairweir").rglob("*.py") if path.stem not in {own, "soundness"}]
    named = [path for path in others if f'"{belief}"' in path.read_text() and "lemmas" not in path.parts]
    assert named == []


def test_a_family_is_one_object_in_every_process() -> None:
    for family in of_rules.FAMILIES.values():
        assert pickle.loads(pickle.dumps(family)) is family  # noqa: S301 - our own
