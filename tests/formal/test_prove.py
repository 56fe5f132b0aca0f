"""``fairweir prove``: suites, the meaning of their verdicts, and a search for constants."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import z3

from fairweir.ccas.rule import RULES, Rule
from fairweir.cli.main import main
from fairweir.errors import ConfigError, SolverError
from fairweir.formal.beliefs import Expiry, cbr_delay
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.senders import Sender
from fairweir.formal.encoding.system import Acks
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact import violations
from fairweir.formal.hand_encoded import HAND_ENCODED
from fairweir.formal.lemmas import aimd, cc_probe_slow, cc_qdel, starvation
from fairweir.formal.lemmas import inquiry as inquiry_module
from fairweir.formal.lemmas.ask_transition import inquire, inquire_bound
from fairweir.formal.lemmas.bounds import queue_below
from fairweir.formal.lemmas.cc_qdel_states import plan
from fairweir.formal.lemmas.inquiry import Ask, Inquiry, answer_all, recall
from fairweir.formal.lemmas.result import About, LemmaResult, conclude
from fairweir.formal.lemmas.search import Found, bisection
from fairweir.formal.lemmas.states import ANYWHERE, State
from fairweir.formal.lemmas.stitch import stitch, summary
from fairweir.formal.lemmas.suites import SUITES, Request, find
from fairweir.formal.lemmas.view import snapshot
from fairweir.formal.models import MODELS
from fairweir.formal.replay.packets import scenario_of
from fairweir.formal.solving.solve import Answer, ProofOutcome, Question, VacuousError, ask
from fairweir.formal.solving.solvers import Budget
from fairweir.play.run import run

PROVED = LemmaResult("a", "", ProofOutcome.PROVED, about=About.LOGIC)


def test_unknown_is_never_success() -> None:
    unknown = replace(PROVED, outcome=ProofOutcome.UNKNOWN)
    assert conclude([PROVED]) is ProofOutcome.PROVED
    assert conclude([PROVED, unknown]) is ProofOutcome.UNKNOWN
    assert conclude([replace(unknown, expects=ProofOutcome.UNKNOWN)]) is ProofOutcome.UNKNOWN
    assert conclude([]) is ProofOutcome.UNKNOWN
    assert conclude([unknown, replace(PROVED, outcome=ProofOutcome.REFUTED)]) is ProofOutcome.REFUTED
    assert (
        conclude([replace(PROVED, outcome=ProofOutcome.REFUTED, expects=ProofOutcome.REFUTED)]) is ProofOutcome.PROVED
    )
    assert conclude([replace(PROVED, expects=ProofOutcome.REFUTED)]) is ProofOutcome.REFUTED


def test_the_states_of_cc_qdel_fit_together_and_miss_each_lemma() -> None:
    whole = plan()
    assert {result.outcome for result in summary(stitch(whole))} == {ProofOutcome.PROVED}
    for missing in whole.standing:
        less = replace(whole, standing=tuple(one for one in whole.standing if one is not missing))
        assert ProofOutcome.UNKNOWN in {result.outcome for result in summary(stitch(less))}, missing.name


def test_the_states_of_cc_probe_slow_fit_together_and_miss_what_leads_back() -> None:
    whole = cc_probe_slow.PLAN
    assert {result.outcome for result in summary(stitch(whole))} == {ProofOutcome.PROVED}
    for missing in whole.standing:
        less = replace(whole, standing=tuple(one for one in whole.standing if one is not missing))
        assert ProofOutcome.UNKNOWN in {result.outcome for result in summary(stitch(less))}, missing.name


def test_published_time_outs_leave_a_stale_rate_and_its_queue() -> None:
    system = cc_probe_slow.build(cc_probe_slow.POINTS, Expiry.AT_END)
    start, queue = cc_probe_slow.KNOWN & cc_probe_slow.STALE, cc_probe_slow.STALE_QUEUE
    inquiry = inquire(system, cc_probe_slow.RECOVER, objectives=queue_below(system, queue, 3))
    given = [*system.assertions(), start.holds(snapshot(system, 0))]
    found = ask(Question("recovers", given, inquiry.then), Budget(20))
    assert found.outcome is ProofOutcome.REFUTED
    trace = Trace.from_values(system, found.values)
    assert violations(trace, [Rule.load(RULES / "cc_probe_slow_3.toml").decide]) == []
    assert trace.flows[0].beliefs["C_L_lambda"][-1] > 1


@pytest.mark.parametrize(
    ("start", "outcome"), [(cc_probe_slow.SOUND, ProofOutcome.PROVED), (cc_probe_slow.KNOWN, ProofOutcome.REFUTED)]
)
def test_only_wrong_beliefs_are_contradicted(start: State, outcome: ProofOutcome) -> None:
    system = cc_probe_slow.build(6)
    trusted = z3.Not(cbr_delay.contradicted(system))
    given = [*system.assertions(), start.holds(snapshot(system, 0))]
    assert ask(Question("trusted", given, trusted), Budget(20)).outcome is outcome


def best(ask: Callable[[Fraction], ProofOutcome], weakest: int, strongest: int, step: Fraction, at_once: int) -> Found:
    """Run a bisection with the outcomes of `ask`."""
    search = bisection(Fraction(weakest), Fraction(strongest), step, at_once)
    values = next(search)
    while True:
        try:
            values = search.send([ask(value) for value in values])
        except StopIteration as end:
            found: Found = end.value
            return found


@pytest.mark.parametrize("at_once", [1, 2])
def test_a_search_ends_where_both_sides_meet(at_once: int) -> None:
    asked = []

    def half(value: Fraction) -> ProofOutcome:
        asked.append(value)
        return ProofOutcome.PROVED if value <= Fraction(83, 100) else ProofOutcome.REFUTED

    found = best(half, 0, 1, Fraction(1, 100), at_once)
    assert (found.proved, found.refuted) == (Fraction(83, 100), Fraction(84, 100))
    assert found.is_tight
    assert len(asked) <= 12


def test_a_search_takes_unknown_for_neither_side() -> None:
    def hazy(value: Fraction) -> ProofOutcome:
        return ProofOutcome.PROVED if value >= 7 else ProofOutcome.UNKNOWN if value >= 5 else ProofOutcome.REFUTED

    found = best(hazy, 10, 0, Fraction(1), 1)
    assert found.proved == 7
    assert found.refuted is not None
    assert found.refuted < 5
    nothing = best(lambda _: ProofOutcome.REFUTED, 0, 5, Fraction(1), 1)
    assert nothing.proved is None
    assert not nothing.is_tight


def test_aimd_is_proved_and_its_refutations_satisfy_the_definition(tmp_path: Path) -> None:
    assert main(["prove", "aimd", "--out", str(tmp_path), "--json"]) == 0
    document = json.loads((tmp_path / "aimd.json").read_text())
    assert document["outcome"] == "proved"
    traces = list((tmp_path / "traces").iterdir())
    assert len(traces) == 3
    for path in traces:
        trace = Trace.load(path)
        assert [*violations(trace), *HAND_ENCODED["aimd"].violations(trace)] == []


def lemma(expects: ProofOutcome = ProofOutcome.PROVED) -> Inquiry:
    """Return the lemma that AIMD's window grows by at most one packet per R, or the false one that it does not grow."""
    system = aimd.build(4)
    cwnd, packets = system.flows[0].cwnd, 2 if expects is ProofOutcome.PROVED else 0
    return inquire_bound(system, "growth", ANYWHERE, "", cwnd[3] <= cwnd[1] + packets * system.alpha, expects=expects)


def asked_again(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the names of questions that solvers receive."""
    asked: list[str] = []

    def spy(question: Question, *rest: Any) -> Answer:
        asked.append(question.name)
        return ask(question, *rest)

    monkeypatch.setattr(inquiry_module, "ask", spy)
    return asked


def answer(inquiry: Inquiry, request: Request) -> LemmaResult:
    """Return the result of a suite with one lemma."""
    (result,) = answer_all(lambda _: [inquiry], request, lambda at, result: None)
    return result


def test_answers_are_stored_and_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asked_again(monkeypatch)
    plain, certified = Request(out=tmp_path), Request(out=tmp_path, certificate=True)
    first, refuted = answer(lemma(), plain), answer(lemma(ProofOutcome.REFUTED), plain)
    assert (first.outcome, refuted.outcome) == (ProofOutcome.PROVED, ProofOutcome.REFUTED)
    assert len(asked) == 2
    again = answer(lemma(), plain)
    assert (again.outcome, again.kept) == (ProofOutcome.PROVED, "not re-checked")
    assert "an earlier run's proof without a certificate" in again.note
    assert answer(lemma(ProofOutcome.REFUTED), plain).kept == "trace judged again"
    assert "certificate of" in answer(lemma(), certified).note
    assert answer(lemma(), plain).kept == "certificate checked again"
    assert len(asked) == 2


def test_stored_answers_are_kept_if_ctrl_c_comes_while_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = [lemma(), lemma(ProofOutcome.REFUTED)]
    request, read = Request(out=tmp_path), []
    answer_all(lambda _: both, request, lambda at, result: None)

    def interrupted(inquiry: Inquiry, request: Request) -> tuple[LemmaResult | None, str]:
        if inquiry is both[1]:
            raise KeyboardInterrupt
        return recall(inquiry, request)

    monkeypatch.setattr(inquiry_module, "recall", interrupted)
    with pytest.raises(KeyboardInterrupt):
        answer_all(lambda _: both, request, lambda at, result: read.append(result))
    assert [result.outcome for result in read if result is not None] == [ProofOutcome.PROVED]


def test_the_answer_to_another_question_is_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by a worker of a cluster with other lemmas."""
    settled = Ask(lambda _: [lemma(ProofOutcome.REFUTED)], Request(), 0, is_stored=True)()
    monkeypatch.setattr(Ask, "__call__", lambda self: settled)
    with pytest.raises(SolverError, match="answered another question"):
        answer(lemma(), Request(out=tmp_path))
    assert not (tmp_path / "answers").exists()


CHANGED = "was changed, or was not written by this installation"


@pytest.mark.parametrize(
    ("of", "edit", "why"),
    [
        (ProofOutcome.REFUTED, lambda text: text.replace('"refuted"', '"proved"'), CHANGED),
        (
            ProofOutcome.PROVED,
            lambda text: text.replace('"proved"', '"refuted"'),
            "is missing, too large, or not a file",
        ),
        (ProofOutcome.PROVED, lambda text: text.replace('"solver": "', '"solver": "un'), CHANGED),
        (ProofOutcome.PROVED, lambda text: text.replace('"question": "', '"question": "f'), "answers another question"),
        (ProofOutcome.PROVED, lambda text: text.replace('"proved"', '"vacuous"'), "is damaged"),
        (ProofOutcome.PROVED, lambda text: text[: len(text) // 2], "is damaged: not JSON"),
        (ProofOutcome.PROVED, lambda _: "[]", "is damaged: not a JSON object"),
        (ProofOutcome.PROVED, lambda _: "[" * 100_000, "is damaged: not JSON"),
        (ProofOutcome.PROVED, lambda text: text.replace('"cpu_s": ', '"cpu_s": -'), "is damaged"),
    ],
)
def test_a_stored_answer_that_was_edited_is_asked_again(
    of: ProofOutcome, edit: Callable[[str], str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asked_again(monkeypatch)
    assert answer(lemma(of), Request(out=tmp_path)).outcome is of
    (file,) = (tmp_path / "answers").iterdir()
    before = file.read_text()
    file.write_text(edit(before))
    assert file.read_text() != before
    again = answer(lemma(of), Request(out=tmp_path))
    assert len(asked) == 2
    assert (again.outcome, again.kept) == (of, "")
    assert "a stored result was rejected and the question was asked again" in again.note
    assert why in again.note
    assert answer(lemma(of), Request(out=tmp_path)).kept


def test_a_stored_trace_is_judged_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asked_again(monkeypatch)
    answer(lemma(ProofOutcome.REFUTED), Request(out=tmp_path))
    (file,) = (tmp_path / "traces").iterdir()
    good = Trace.load(file)
    flow = good.flows[0]
    forged: dict[str, dict[str, Any]] = {
        "not one of the model's": {"TA": (*good.TA[:-1], good.TA[-1] + 5)},
        "another grid": {"grid": Grid(7)},
        "the lemma holds on it": {"flows": (flow.model_copy(update={"cwnd": (*flow.cwnd[:-1], good.alpha)}),)},
    }
    for changes in forged.values():
        file.write_text(good.model_copy(update=changes).to_json())
        again = answer(lemma(ProofOutcome.REFUTED), Request(out=tmp_path))
        assert (again.outcome, again.kept) == (ProofOutcome.REFUTED, "")
        assert "a stored result was rejected" in again.note
    assert len(asked) == 1 + len(forged)
    answer(lemma(ProofOutcome.REFUTED), Request(out=tmp_path))
    assert len(asked) == 1 + len(forged)


def test_a_trace_of_another_network_refutes_nothing(tmp_path: Path) -> None:
    """The trace satisfies the definitions of the network that it names, and violates those of the lemma's network."""

    def late(jitter: int) -> Inquiry:
        system = MODELS["ccac"].build(Grid(5, jitter=Fraction(jitter)), Buffer.INFINITE)
        # Bytes with tokens are served at most D later.
        return Inquiry("late", "", system, (), system.TA[4] - system.S[4] <= 1, about=About.NETWORK)

    lemma, other = late(1), late(2)
    trace = Trace.from_values(other.system, ask(other.question, Budget(20.0)).values)
    assert not other.objections(trace)
    assert any("of another network" in objection for objection in lemma.objections(trace))
    changes: list[dict[str, Any]] = [{"model": "ideal"}, {"acks": Acks.STEADY}, {"buffer": Buffer.LARGE}]
    changes += [{"flows": (trace.flows[0].model_copy(update={"sender": Sender.WINDOW}),)}]
    assert not any(trace.model_copy(update=change).is_of(other.system) for change in changes)
    assert answer(lemma, Request(out=tmp_path)).outcome is ProofOutcome.PROVED
    (file,) = (tmp_path / "answers").iterdir()
    file.write_text(file.read_text().replace('"proved"', '"refuted"'))
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / f"late.{lemma.fingerprint[:8]}.json").write_text(trace.to_json())
    assert answer(lemma, Request(out=tmp_path)).outcome is ProofOutcome.PROVED


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("certificate.txt", lambda text: text.replace(b"\n", b"\r\n")),
        ("certificate.txt", lambda text: text.replace(b"\n", b"\x0c")),
        ("question.smt2", lambda text: text.replace(b"(assert ", b"(assert false)(assert ", 1)),
    ],
)
def test_stored_answers_that_checkers_reject_are_rejected(
    name: str, edit: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    answer(lemma(), Request(out=tmp_path, certificate=True))
    file = next(tmp_path.glob(f"certificates/*/{name}"))
    file.write_bytes(edit(file.read_bytes()))
    again = answer(lemma(), Request(out=tmp_path))
    assert (again.outcome, again.kept) == (ProofOutcome.PROVED, "")
    assert "a stored result was rejected" in again.note


def test_a_stored_certificate_is_checked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asked_again(monkeypatch)
    request = Request(out=tmp_path, certificate=True)
    answer(lemma(), request)
    proof = next(tmp_path.glob("certificates/*/certificate.txt"))
    good = proof.read_text()
    dice = random.Random(7)  # noqa: S311
    for _ in range(5):
        lines = good.splitlines()
        del lines[dice.randrange(len(lines))]
        proof.write_text("\n".join(lines) + "\n")
        again = answer(lemma(), request)
        assert (again.outcome, again.kept) == (ProofOutcome.PROVED, "")
        assert "is rejected" in again.note
        proof.write_text(good)
    assert len(asked) == 6
    # In another installation the seal is invalid: the certificate is checked, and the controls are solved again.
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
    (file,) = (tmp_path / "answers").iterdir()
    file.write_text(file.read_text().replace('"solver": "', '"solver": "\\u001b[2Jnobody '))
    again = answer(lemma(), request)
    assert (again.kept, again.solver, again.cpu_s) == ("certificate checked again", "checkers", 0.0)
    proof.unlink()
    assert answer(lemma(), Request(out=tmp_path)).kept == ""
    assert len(asked) == 7


@pytest.mark.parametrize("is_sealed", [True, False])
def test_random_edits_of_a_folder_never_make_a_proof(
    is_sealed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A false lemma is still refuted after any change of its stored answer."""
    wrong = lemma(ProofOutcome.REFUTED)
    answer(wrong, Request(out=tmp_path))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    kept = {path: path.read_bytes() for path in files}
    right = answer(lemma(), Request(out=tmp_path / "other", certificate=True))
    donors = [path.read_bytes() for path in (tmp_path / "other").rglob("*") if path.is_file()]
    assert right.outcome is ProofOutcome.PROVED
    if not is_sealed:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
    dice = random.Random(11)  # noqa: S311
    for _ in range(12):
        for path, content in kept.items():
            data = bytearray(content)
            match dice.randrange(4):
                case 0:
                    data[dice.randrange(len(data))] = dice.randrange(256)
                case 1:
                    data = data.replace(b"refuted", b"proved")
                case 2:
                    data = bytearray(dice.choice(donors))
                case 3:
                    del data[dice.randrange(len(data)) :]
            path.write_bytes(data)
        assert answer(wrong, Request(out=tmp_path)).outcome is ProofOutcome.REFUTED


def test_a_lemma_that_no_sender_can_violate_makes_a_suite_vacuous() -> None:
    empty = inquire_bound(aimd.build(4), "empty", aimd.STEADY, "", queue_below(aimd.build(4), Fraction(1000)))
    assert empty.about is About.CCA
    served = empty.system.S[3] >= 0
    found = answer(replace(empty, then=served), Request())
    assert found.outcome is ProofOutcome.VACUOUS
    assert not found.stands
    assert conclude([PROVED, found]) is ProofOutcome.VACUOUS
    assert "no sender can violate it" in found.note
    # Told that it is about the network, it is asked of any sender, and proved; what the CCA does is then refuted.
    assert answer(replace(empty, then=served, about=About.NETWORK), Request()).outcome is ProofOutcome.PROVED
    assert answer(replace(lemma(), about=About.NETWORK), Request()).outcome is ProofOutcome.REFUTED


def test_every_lemma_says_what_it_is_about() -> None:
    network = {
        cc_qdel: {"valid, C_L stale", "valid, C_U stale", "B.4.1 C_L sound", "B.4.1 C_U sound"},
        cc_probe_slow: {"rate bound has a floor", "rate bound stays sound", "q_U recovers", "no false time-outs"},
    }
    for suite, system in ((cc_qdel, cc_qdel.build("ccac", 4)), (cc_probe_slow, cc_probe_slow.build(4))):
        inquiries = list(suite.ours(system))
        assert {one.name for one in inquiries if one.about is About.NETWORK} == network[suite]
        for one in inquiries:
            assert (one.question.anyone is None) == (one.about is About.NETWORK)


def test_contradictory_assumptions_prove_nothing() -> None:
    system = aimd.build(4)
    nothing = inquire_bound(system, "nothing", aimd.STEADY, "", z3.BoolVal(False), assumed=(system.alpha > 1,))
    with pytest.raises(VacuousError, match="vacuous"):
        answer(nothing, Request())


def test_jitter_starves_a_vegas_like_flow_for_as_long_as_it_lasts() -> None:
    system = starvation.build("vegas_like", "cbr-delay", Buffer.INFINITE, 5)
    assumed = [*system.assertions(), *starvation.periodic(system), starvation.busy(system)]
    found = ask(Question("starved", assumed, starvation.fair(system, 100)), Budget(20))
    assert found.outcome is ProofOutcome.REFUTED
    trace = Trace.from_values(system, found.values)
    cca = HAND_ENCODED["vegas_like"]
    assert [*violations(trace), *cca.violations(trace, 0), *cca.violations(trace, 1)] == []
    starved, fed = (flow.S[-1] - flow.S[0] for flow in trace.flows)
    assert fed >= 100 * starved
    assert trace.flows[0].cwnd[0] == trace.flows[0].cwnd[-1]
    # The same in packets: what is sent, queued and held for jitter comes from the trace.
    replay = scenario_of(trace, "starved")
    flows = run(replay.scenario, interval=replay.interval).summary.document["flows"]
    assert flows[1]["throughput_mbps"] > 90 * flows[0]["throughput_mbps"]


def test_suites_by_name() -> None:
    assert find("aimd").load() is aimd.run
    with pytest.raises(ConfigError, match="no suite of lemmas has that name: `aimdd`") as reported:
        find("aimdd")
    assert reported.value.hint == "did you mean `aimd`?"


def test_a_suite_on_another_model_asks_what_it_needs_there(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "aimd", "--model", "cbr-delay", "--out", str(tmp_path), "--json"]) == 0
    there = json.loads(capfd.readouterr().out)
    assert (there["model"], there["outcome"]) == ("cbr-delay", "proved")
    assert {one["expects"] for one in there["lemmas"]} == {"proved"}
    assert json.loads((tmp_path / "aimd-cbr-delay.json").read_text()) == there
    # Each question of that run is about the other link: none of CCAC's is kept there.
    kept = {path.stem for path in (tmp_path / "answers").iterdir()}
    assert kept.isdisjoint(inquire(aimd.build(10), aimd.FALL).fingerprint[:16] for _ in range(1))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["aimd", "--model", "ideal"],
            "the suite aimd does not support the model `ideal` (--model)\n\nhint: known are ccac",
        ),
        (["cc_probe_slow", "--model", "ccac"], "the suite cc_probe_slow does not support the model `ccac`"),
        (["beliefs", "--model", "ccac"], "--model has no effect for the suite beliefs"),
    ],
)
def test_models_that_make_no_sense_are_rejected(
    words: list[str], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["prove", *words]) == 2
    assert message in capfd.readouterr().err


def test_prove_needs_a_suite(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove"]) == 2
    assert "no suite of lemmas was given" in capsys.readouterr().err
    assert main(["prove", "--list", "--json"]) == 0
    assert {row["name"] for row in json.loads(capsys.readouterr().out)} == set(SUITES)
