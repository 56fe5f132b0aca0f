"""``fairweir prove``: suites, what their verdicts mean, and a search for constants."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
import z3

from fairweir.cli.main import main
from fairweir.errors import ConfigError
from fairweir.formal.beliefs import Expiry, cbr_delay
from fairweir.formal.buffers import Buffer
from fairweir.formal.exact import violations
from fairweir.formal.handmade import HANDMADE
from fairweir.formal.lemmas import aimd, cc_probe_slow, starvation
from fairweir.formal.lemmas.ask_transition import inquire, inquire_bound
from fairweir.formal.lemmas.bounds import queue_below
from fairweir.formal.lemmas.cc_qdel_states import plan
from fairweir.formal.lemmas.inquiry import answer
from fairweir.formal.lemmas.result import LemmaResult, conclude
from fairweir.formal.lemmas.search import best
from fairweir.formal.lemmas.states import State
from fairweir.formal.lemmas.stitch import stitch, summary
from fairweir.formal.lemmas.suites import SUITES, Request, find
from fairweir.formal.lemmas.view import snapshot
from fairweir.formal.packets import scenario_of
from fairweir.formal.rule import RULES, Rule
from fairweir.formal.solve import Outcome, Question, VacuousError, ask
from fairweir.formal.solvers import Budget
from fairweir.formal.trace import Trace
from fairweir.run import run

PROVED = LemmaResult("a", "", Outcome.PROVED)


def test_unknown_is_never_success() -> None:
    unknown = replace(PROVED, outcome=Outcome.UNKNOWN)
    assert conclude([PROVED]) is Outcome.PROVED
    assert conclude([PROVED, unknown]) is Outcome.UNKNOWN
    assert conclude([replace(unknown, expects=Outcome.UNKNOWN)]) is Outcome.UNKNOWN
    assert conclude([]) is Outcome.UNKNOWN
    assert conclude([unknown, replace(PROVED, outcome=Outcome.REFUTED)]) is Outcome.REFUTED
    assert conclude([replace(PROVED, outcome=Outcome.REFUTED, expects=Outcome.REFUTED)]) is Outcome.PROVED
    assert conclude([replace(PROVED, expects=Outcome.REFUTED)]) is Outcome.REFUTED


def test_the_states_of_cc_qdel_fit_together_and_miss_each_lemma() -> None:
    whole = plan()
    assert {result.outcome for result in summary(stitch(whole))} == {Outcome.PROVED}
    for missing in whole.standing:
        less = replace(whole, standing=tuple(one for one in whole.standing if one is not missing))
        assert Outcome.UNKNOWN in {result.outcome for result in summary(stitch(less))}, missing.name


def test_the_states_of_cc_probe_slow_fit_together_and_miss_what_leads_back() -> None:
    whole = cc_probe_slow.PLAN
    assert {result.outcome for result in summary(stitch(whole))} == {Outcome.PROVED}
    for missing in whole.standing:
        less = replace(whole, standing=tuple(one for one in whole.standing if one is not missing))
        assert Outcome.UNKNOWN in {result.outcome for result in summary(stitch(less))}, missing.name


def test_published_time_outs_leave_a_stale_rate_and_its_queue() -> None:
    system = cc_probe_slow.build(cc_probe_slow.POINTS, Expiry.AT_END)
    start, queue = cc_probe_slow.KNOWN & cc_probe_slow.STALE, cc_probe_slow.STALE_QUEUE
    inquiry = inquire(system, cc_probe_slow.RECOVER, objectives=queue_below(system, queue, 3))
    given = [*system.assertions(), start.holds(snapshot(system, 0))]
    found = ask(Question("recovers", given, inquiry.then), Budget(20))
    assert found.outcome is Outcome.REFUTED
    trace = Trace.from_values(system, found.values)
    assert violations(trace, [Rule.load(RULES / "cc_probe_slow_3.toml").decide]) == []
    assert trace.flows[0].beliefs["C_L_lambda"][-1] > 1


@pytest.mark.parametrize(
    ("start", "outcome"), [(cc_probe_slow.SOUND, Outcome.PROVED), (cc_probe_slow.KNOWN, Outcome.REFUTED)]
)
def test_only_wrong_beliefs_are_contradicted(start: State, outcome: Outcome) -> None:
    system = cc_probe_slow.build(6)
    trusted = z3.Not(cbr_delay.contradicted(system))
    given = [*system.assertions(), start.holds(snapshot(system, 0))]
    assert ask(Question("trusted", given, trusted), Budget(20)).outcome is outcome


@pytest.mark.parametrize("at_once", [1, 2])
def test_a_search_ends_where_both_sides_meet(at_once: int) -> None:
    asked = []

    def half(value: Fraction) -> Outcome:
        asked.append(value)
        return Outcome.PROVED if value <= Fraction(83, 100) else Outcome.REFUTED

    found = best(half, Fraction(1, 2), Fraction(1), Fraction(1, 100), at_once)
    assert (found.proved, found.refuted) == (Fraction(83, 100), Fraction(84, 100))
    assert found.is_tight
    assert len(asked) <= 12


def test_a_search_takes_unknown_for_neither_side() -> None:
    def hazy(value: Fraction) -> Outcome:
        return Outcome.PROVED if value >= 7 else Outcome.UNKNOWN if value >= 5 else Outcome.REFUTED

    found = best(hazy, Fraction(10), Fraction(0), Fraction(1))
    assert found.proved == 7
    assert found.refuted is not None
    assert found.refuted < 5
    nothing = best(lambda _: Outcome.REFUTED, Fraction(0), Fraction(5), Fraction(1))
    assert nothing.proved is None
    assert not nothing.is_tight


def test_aimd_is_proved_and_its_refutations_obey_the_definition(tmp_path: Path) -> None:
    assert main(["prove", "aimd", "--out", str(tmp_path), "--json"]) == 0
    document = json.loads((tmp_path / "aimd.json").read_text())
    assert document["outcome"] == "proved"
    traces = list((tmp_path / "traces").iterdir())
    assert len(traces) == 3
    for path in traces:
        trace = Trace.load(path)
        assert [*violations(trace), *HANDMADE["aimd"].violations(trace)] == []


def test_answers_are_kept_and_not_asked_again(tmp_path: Path) -> None:
    inquiry = inquire(aimd.build(6), aimd.STAY, objectives=z3.BoolVal(True))
    request = Request(out=tmp_path)
    first = answer(inquiry, request)
    (kept,) = (tmp_path / "answers").iterdir()
    kept.write_text(kept.read_text().replace(first.solver, "from the folder"))
    assert answer(inquiry, request).solver == "from the folder"


def test_contradictory_assumptions_prove_nothing() -> None:
    system = aimd.build(4)
    nothing = inquire_bound(system, "nothing", aimd.STEADY, "", z3.BoolVal(False), assumed=(system.alpha > 1,))
    with pytest.raises(VacuousError, match="vacuous"):
        answer(nothing, Request())


def test_jitter_starves_a_vegas_like_flow_for_as_long_as_it_lasts() -> None:
    system = starvation.build("vegas_like", "cbr-delay", Buffer.INFINITE, 5)
    assumed = [*system.assertions(), *starvation.periodic(system), starvation.busy(system)]
    found = ask(Question("starved", assumed, starvation.fair(system, 100)), Budget(20))
    assert found.outcome is Outcome.REFUTED
    trace = Trace.from_values(system, found.values)
    cca = HANDMADE["vegas_like"]
    assert [*violations(trace), *cca.violations(trace, 0), *cca.violations(trace, 1)] == []
    starved, fed = (flow.S[-1] - flow.S[0] for flow in trace.flows)
    assert fed >= 100 * starved
    assert trace.flows[0].cwnd[0] == trace.flows[0].cwnd[-1]
    # The same in packets: what is sent, queued and held for jitter comes from the trace.
    replay = scenario_of(trace, "starved")
    flows = run(replay.scenario, interval=replay.interval).summary["flows"]
    assert flows[1]["throughput_mbps"] > 90 * flows[0]["throughput_mbps"]


def test_suites_by_name() -> None:
    assert find("aimd").load() is aimd.run
    with pytest.raises(ConfigError, match="no suite of lemmas has that name: `aimdd`") as told:
        find("aimdd")
    assert told.value.hint == "did you mean `aimd`?"


def test_prove_needs_a_suite(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove"]) == 2
    assert "which suite of lemmas?" in capsys.readouterr().err
    assert main(["prove", "--list", "--json"]) == 0
    assert {row["name"] for row in json.loads(capsys.readouterr().out)} == set(SUITES)
