"""``fairweir verify``: verdicts, refutations judged exactly and replayed in packets, stored files, errors."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
import z3

from fairweir.cli.main import main
from fairweir.errors import ConfigError, InvariantError
from fairweir.formal.certificates.certificate import Certificate
from fairweir.formal.certificates.checker import check, read
from fairweir.formal.claims.measure import Curves
from fairweir.formal.claims.syntax import parse_assumption, parse_claim
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.demands import LARGE_LOSS
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.models import MODELS
from fairweir.formal.replay.packets import R_MS, curves_of, scenario_of
from fairweir.formal.solving.solve import Prepared, ProofOutcome
from fairweir.formal.solving.solvers import Budget, Satisfiable
from fairweir.formal.verdicts.evidence import claim_stem, gather, keep
from fairweir.formal.verdicts.subjects import find_subject
from fairweir.formal.verdicts.verify import Case, judge, verify
from fairweir.play.run import run
from fairweir.scenario.model import Scenario


def case(cca: str, model: str, claim: str, points: int, buffer: str = "infinite", flows: int = 1, *given: str) -> Case:
    assumed = tuple(map(parse_assumption, given))
    return Case(find_subject(cca), model, parse_claim(claim), Grid(points), Buffer(buffer), flows, assumed)


#: Cases for each model, kind of sender and property; the last column is the maximum difference of packets from the
#: trace.
REFUTED = [
    (case("cc_qdel", "ccac", "utilization>=0.5", 7), 0.005),
    (case("cc_qdel", "ccac", "queue<=2", 6), 0.005),
    (case("cc_qdel", "ideal", "queue<=1", 6), 0.005),
    (case("cc_qdel", "cbr-delay", "inflight<=1", 6, "large"), 0.005),
    (case("cc_probe_slow_3", "cbr-delay", "utilization>=0.3", 6), 0.005),
    (case("cc_probe_drain", "ccac", "large-losses", 5, "arbitrary"), 0.0),
    (case("cc_probe_fast", "ccac", "loss-amount<=0.5", 6, "small"), 0.005),
    (case("cc_probe_fast", "ccac", "loss-events<=2", 6, "small"), 0.0),
    (case("cc_probe_qdel", "ccac", "bottleneck-queue<=1", 6), 0.005),
    (case("aimd", "ccac", "utilization>=0.5", 6, "small"), 0.005),
    (case("copa_like", "ccac", "utilization>=0.5", 6), 0.005),
    (case("bbr_like", "ccac", "queue<=2", 6), 0.005),
    (case("vegas_like", "cbr-delay", "share>=0.1", 6, "infinite", 2), 0.01),
    (case("expo", "cbr-delay", "share>=0.1", 6, "infinite", 2), 0.01),
]


def _name(value: object) -> str | None:
    return f"{value.subject.name}-{value.model}-{claim_stem(value.claim)}" if isinstance(value, Case) else None


@pytest.mark.parametrize(("asked", "apart"), REFUTED, ids=_name)
def test_refutations_show_the_same_violation_in_packets(asked: Case, apart: float) -> None:
    found = verify(asked, Budget(30))
    assert found.outcome is ProofOutcome.REFUTED
    assert found.value is not None
    assert found.trace is not None
    assert asked.claim.holds(found.trace) is False
    played = gather(found).played
    assert played is not None
    assert played.value is not None
    assert played.breaks
    assert abs(float(played.value - found.value)) <= apart


def test_packets_follow_all_curves() -> None:
    found = verify(case("cc_probe_fast", "ccac", "loss-amount<=0.5", 6, "small"), Budget(30))
    assert found.trace is not None
    replay = scenario_of(found.trace, "replay")
    trace, packets = (
        Curves.of(found.trace),
        curves_of(run(replay.scenario, interval=replay.interval), replay, found.trace),
    )
    for name in ("A", "S", "L", "out"):
        pairs = zip(getattr(trace, name), getattr(packets, name), strict=True)
        assert max(abs(float(a - b)) for a, b in pairs) < 0.006, name


def test_finer_steps_replay_too() -> None:
    fine = Case(find_subject("cc_qdel"), "ccac", parse_claim("queue<=1"), Grid(7, 2, Fraction(1, 2)), Buffer.INFINITE)
    found = verify(fine, Budget(30))
    played = gather(found).played
    assert played is not None
    assert played.breaks
    assert played.replay.step_ms == Fraction(R_MS, 2)


def test_a_bound_that_holds_is_proved_and_certified() -> None:
    found = verify(case("cc_qdel", "ccac", "utilization>=0.5", 7, "infinite", 1, "C_L>=69/100"), Budget(30))
    assert found.outcome is ProofOutcome.PROVED
    assert found.trace is None
    certificate = gather(found, with_certificate=True).certificate
    assert isinstance(certificate, Certificate)
    assert check(read(found.case.question(found.case.claim).negated()), certificate.lines) > 10


def test_a_proof_without_a_certificate_stays_a_proof_and_reports_it() -> None:
    found = verify(case("cc_qdel", "ccac", "utilization>=0.5", 7, "infinite", 1, "C_L>=69/100"), Budget(30))
    evidence = gather(found, with_certificate=True, z3_steps=10)
    assert evidence.certificate is None
    assert evidence.uncertified.startswith("z3 found no certificate within its budget")
    assert evidence.document()["uncertified"] == evidence.uncertified
    assert evidence.document()["outcome"] == "proved"


def test_the_margin_is_the_largest_that_is_found() -> None:
    found = verify(case("cc_qdel", "ccac", "queue<=2", 6), Budget(30))
    assert found.margin == Fraction(1, 2)
    assert found.value is not None
    assert found.value > 3


def test_contradictory_assumptions_are_vacuous() -> None:
    found = verify(case("cc_qdel", "ccac", "queue", 4, "infinite", 1, "C_L>=2", "C_L<=1"), Budget(30))
    assert found.outcome is ProofOutcome.VACUOUS
    assert "contradict each other" in found.answer.reason


#: Claims that no sender can violate there; a rule that sends at 4 C_U satisfies them, too.
EMPTY = [
    (Grid(2), "infinite", "utilization>=100", "T - 1 - D = 0 R requires no bytes; use --points 3"),
    (Grid(4, 1, Fraction(3)), "infinite", "utilization>=100", "use --points 5 or more"),
    (Grid(3, 2), "infinite", "utilization>=100", "use --points 4 or more"),
    (Grid(5), "small", "utilization>=0", ""),
    (Grid(5), "infinite", "large-losses", "an infinite buffer loses nothing"),
    (Grid(5), "infinite", "loss-amount", "an infinite buffer loses nothing"),
    (Grid(5), "infinite", "loss-events<=0", "an infinite buffer loses nothing"),
    (Grid(5), "small", "loss-events<=4", ""),
    (Grid(5), "infinite", "C_L@end<=1", ""),
    (Grid(5), "infinite", "rate@end >= alpha or queue", ""),
    (Grid(5), "infinite", "A@end >= S@end", ""),
]


@pytest.mark.parametrize("cca", ["cc_qdel", "flood"])
@pytest.mark.parametrize(("grid", "buffer", "claim", "why"), EMPTY)
def test_a_claim_that_no_sender_can_violate_is_vacuous_and_never_proved(
    cca: str, grid: Grid, buffer: str, claim: str, why: str, tmp_path: Path
) -> None:
    if cca == "flood":
        cca = str(tmp_path / "flood.toml")
        Path(cca).write_text('name = "flood"\nbeliefs = "ccac"\nbranch = [{ rate = "4 C_U" }]\n')
    found = verify(Case(find_subject(cca), "ccac", parse_claim(claim), grid, Buffer(buffer)), Budget(30))
    assert found.outcome is ProofOutcome.VACUOUS
    assert "no sender can violate it" in found.answer.reason
    assert why in found.answer.reason
    assert gather(found, with_certificate=True).certificate is None


def test_the_command_ends_vacuous_claims_with_2(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["verify", "cc_qdel", "--points", "2", "--property", "utilization>=100", "--property", "queue<=0"]
    assert main([*words, "--json"]) == 2
    empty, real = json.loads(capfd.readouterr().out)["verdicts"]
    assert (empty["outcome"], real["outcome"]) == ("vacuous", "refuted")
    assert empty["asked"] == "S(1) - S(0) >= 100 C (T - 1 - D) = 100 C (1 R - 1 R) = 0 C R"
    assert main(words) == 2
    assert "∅ vacuous  cc_qdel on ccac: utilization >= 100 C" in capfd.readouterr().out


def test_the_verdict_names_parts_that_any_sender_keeps(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["verify", "cc_qdel", "--points", "7", "--given", "C_L>=69/100"]
    mixed = "C_L@end <= 1 and utilization>=0.5"
    assert main([*words, "--property", mixed, "--property", "utilization>=0.5", "--json"]) == 0
    found, alone = json.loads(capfd.readouterr().out)["verdicts"]
    assert (found["outcome"], found["empty"]) == ("proved", ["C_L@end <= 1"])
    assert (alone["outcome"], "empty" in alone) == ("proved", False)
    assert main([*words, "--property", mixed]) == 0
    assert "(`C_L@end <= 1` is vacuous: every sender satisfies it)" in capfd.readouterr().out


def test_a_utilization_of_no_time_next_to_a_claim_that_is_broken() -> None:
    found = verify(case("cc_qdel", "ccac", "utilization>=100 and queue<=0", 2), Budget(30))
    assert found.outcome is ProofOutcome.REFUTED
    assert set(found.shown) == {"queue"}
    assert gather(found).document()["refutation"]["packets"]["breaks_the_claim"] is True


def test_share_of_one_flow_is_bad_input(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "cc_qdel", "--property", "share>=0.1"]) == 2
    reported = capfd.readouterr().err
    assert "error: `share` compares flows, and there is only one (--property)" in reported
    assert "hint: add --flows 2, or more" in reported


@pytest.mark.parametrize(("packets", "breaks"), [(3, False), (4, True)])
def test_a_large_loss_is_one_of_more_than_3_packets_in_text_encoding_and_measure(packets: int, breaks: bool) -> None:
    claim = parse_claim("large-losses")
    assert claim.statement(MODELS["ccac"].build(Grid(6), Buffer.SMALL)).startswith(
        f"L(t) - L(t-1) > {LARGE_LOSS} alpha"
    )
    system = MODELS["ccac"].build(Grid(6), Buffer.SMALL)
    lost = z3.And(*(system.L[t] - system.L[t - 1] == packets * system.alpha for t in (3,)))
    none = z3.And(*(system.L[t] == system.L[t - 1] for t in (1, 2, 4, 5)))
    found = Prepared(system.assertions()).check([lost, none, claim.over(system) if not breaks else ~claim.over(system)])
    assert found.verdict is Satisfiable.SAT
    trace = Trace.from_values(system, found.values)
    assert claim.value(trace) == (1 if breaks else 0)
    assert claim.holds(trace) is not breaks
    wrong = ~claim.over(system) if not breaks else claim.over(system)
    assert Prepared(system.assertions()).check([lost, none, wrong]).verdict is Satisfiable.UNSAT


def test_a_trace_that_is_tampered_with_is_not_accepted() -> None:
    asked = case("cc_qdel", "ccac", "queue<=2", 5)
    trace = verify(asked, Budget(30)).trace
    assert trace is not None
    flow = trace.flows[0]
    sent = (*flow.A[:-1], flow.A[-1] + 1)
    forged = trace.model_copy(update={"flows": (flow.model_copy(update={"A": sent}),)})
    with pytest.raises(InvariantError, match="not one of the model's"):
        judge(asked, forged)
    lenient = Case(asked.subject, asked.model, parse_claim("queue<=100"), asked.grid, asked.buffer)
    with pytest.raises(InvariantError, match="does not violate the claim"):
        judge(lenient, trace)


def test_all_that_shows_a_refutation_is_stored(tmp_path: Path) -> None:
    asked = case("cc_qdel", "ccac", "queue<=2", 5)
    found = verify(asked, Budget(30))
    keep(gather(found), tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"verdict.json", "question.smt2", "trace.json", "scenario.toml", "run", "picture.svg"}
    kept = Trace.load(tmp_path / "trace.json")
    assert judge(asked, kept) == found.value
    again = run(Scenario.load(tmp_path / "scenario.toml"))
    assert again.summary.document["packets"] == json.loads((tmp_path / "run" / "summary.json").read_text())["packets"]
    assert (tmp_path / "picture.svg").read_text(encoding="utf-8").count("<path") > 20


def test_the_command_says_what_is_assumed(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["verify", "cc_qdel", "--points", "5", "--property", "queue<=8"]
    assert main([*words, "--given", "queue<=4"]) == 0
    shown = capfd.readouterr().out
    assert "✓ proved  cc_qdel on ccac: queue <= 8 C (R + D)" in shown
    assert "5 sample points, 1 a R: traces of 4 R" in shown
    assert "an infinite buffer" in shown
    assert "queue <= 4 at the start" in shown


def test_the_command_prints_one_document(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["verify", "cc_qdel", "--points", "4", "--property", "queue<=1", "--property", "queue<=8"]
    assert main([*words, "--given", "queue<=4", "--json", "--out", str(tmp_path)]) == 1
    first, second = json.loads(capfd.readouterr().out)["verdicts"]
    assert (first["outcome"], second["outcome"]) == ("refuted", "proved")
    assert Fraction(first["refutation"]["value"]) > 1
    assert first["refutation"]["packets"]["breaks_the_claim"] is True
    assert json.loads((tmp_path / "cc_qdel-ccac-queue-1" / "verdict.json").read_text()) == first


def test_unknown_is_no_success(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["verify", "cc_qdel", "--points", "12", "--model", "ccac-published", "--property", "invariant"]
    assert main([*words, "--budget", "0.1"]) == 1
    shown = capfd.readouterr().out
    assert "? unknown  cc_qdel on ccac-published: invariant" in shown
    assert "out of budget (0.1 CPU s)" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no CCA was given"),
        (["cc_qdle"], "no such CCA to verify: `cc_qdle`\n\nhint: did you mean `cc_qdel`?"),
        (["cc_qdel", "--model", "cac"], "no such model: `cac` (--model)\n\nhint: did you mean `ccac`?"),
        (
            ["cc_qdel", "--property", "utilisation"],
            "no such property: `utilisation` (--property)\n\nhint: did you mean",
        ),
        (["cc_qdel", "--property", "queue>=1"], "`queue` is bounded the other way"),
        (["cc_qdel", "--property", "queue<=x"], "not a number: `queue<=x`"),
        (["cc_qdel", "--property", "queue<=-1"], "a bound must not be negative"),
        (["cc_qdel", "--property", "invariant<=1"], "the invariant takes no bound"),
        (["cc_qdel", "--given", "C_L"], "not an assumption: no comparison in: `C_L`"),
        (["cc_qdel", "--given", "C_K>=1"], "nothing is called `C_K` in a trace of this model, buffer and CCA"),
        (
            ["cc_qdel", "--given", "queue@6<=1"],
            "no such sample point, `queue@6`: `queue@6<=1` (--given)",
        ),
        (["cc_qdel", "--given", "queue@-1<=1"], "cannot be read at `@-1<=1`"),
        (["cc_qdel", "--given", "queue<=1e999999999"], "nothing is called `e999999999`"),
        (["cc_qdel", "--property", "queue<=1e999999999"], "not a number: `queue<=1e999999999`"),
        (["cc_qdel", "--property", "rate.1@end<=1"], "no such flow, `rate.1@end`: `rate.1@end<=1`"),
        (["cc_qdel", "--property", "cwnd@end<=1"], "nothing is called `cwnd`"),
        (["cc_qdel", "--property", "queue.0@end<=1"], "`queue` is the path's, not a flow's: `queue.0@end<=1`"),
        (["cc_qdel", "--property", "beta<=queue@end"], "nothing is called `beta`"),
        (["cc_qdel", "--property", "queue@end"], "no comparison in: `queue@end`"),
        (["cc_qdel", "--property", "queue@end <= queue"], "`queue` at which point?"),
        (["cc_qdel", "--property", "C_L<=1"], "no such property: `C_L` (--property)\n\nhint: known are"),
        (["cc_qdel", "--property", "queue<=4 or"], "not a property: `queue<=4 or`"),
        (["cc_qdel", "--property", "invariant(queue>=4)"], "demand `queue` needs a value, or the other sign"),
        (["cc_qdel", "--property", "invariant(quue<=4)"], "no such demand: `quue`"),
        (["cc_qdel", "--property", "invariant(large-loss=sometimes)"], "no such choice for `large-loss`"),
        (["cc_qdel", "--property", "invariant(large-loss=always)"], "an infinite buffer loses nothing"),
        (["reno"], "no such CCA to verify: `reno`\n\nhint: use `aimd` in its place: CCAC section 5"),
        (["bbr"], "hint: use `bbr_like` in its place"),
        (["cubic"], "hint: it can be simulated, but only rules and hand-encoded CCAs can be verified"),
        (["zzzz"], "no such CCA to verify: `zzzz`\n\nhint: known are cc_"),
        (["cc_qdel", "--points", "1"], "a trace needs at least 2 points"),
        (["cc_qdel", "--jitter", "1/3"], "jitter"),
        (["cc_qdel", "--buffer", "huge"], "no such buffer: `huge`"),
        (["cc_probe_slow"], "the beliefs of `cc_probe_slow` are not sound on ccac"),
        (["aimd", "--beliefs", "any"], "`aimd` has no beliefs, so none can be stale"),
        (["aimd", "--property", "invariant"], "the invariant is about rules and their beliefs"),
    ],
)
def test_bad_input_is_reported(words: list[str], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", *words]) == 2
    reported = capfd.readouterr()
    assert message in reported.err
    assert not reported.out


def test_the_list_names_all(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--list", "--json"]) == 0
    shown = json.loads(capfd.readouterr().out)
    assert "cc_qdel" in shown["ccas"]["rules"]
    assert "aimd" in shown["ccas"]["by_hand"]
    assert set(shown["properties"]) >= {"utilization", "queue", "share"}
    assert all(len(one["meaning"].split()) > 3 for one in shown["properties"].values())
    assert "beliefs" in shown["invariant"]["meaning"]
    assert {"queue", "bq", "rate", "alpha"} <= set(shown["quantities"])
    assert main(["verify", "--list"]) == 0
    text = " ".join(capfd.readouterr().out.split())
    assert "what synthesis asks of candidates" in text
    assert "large-loss=never|always|large-buffers" in text


@pytest.mark.parametrize("schedule", [[[0, 0]], [[0, 0], [0, 5]], [[0, 5], [1, 4]]])
def test_a_schedule_must_rise(schedule: list[list[float]]) -> None:
    flow = {"cca": {"name": "fairweir.formal.replay:Scheduled", "schedule": schedule}, "rtprop": "10ms"}
    document = {"duration": "1s", "link": {"one": {"rate": "10Mbps"}}, "flow": [flow]}
    with pytest.raises(ConfigError, match="a schedule needs at least two points"):
        run(Scenario.from_dict(document))
