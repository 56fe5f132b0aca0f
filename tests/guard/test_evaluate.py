"""The published challenges: configurations, runs, measurements, stored results and invalid input."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.summaries import filled

from fairweir.cli import main
from fairweir.errors import ConfigError
from fairweir.guard import evaluate as evaluation
from fairweir.guard.challenges import CHALLENGES, SERVICE, Case, draw
from fairweir.guard.configurations import BUFFERS_BDP, FLOWS, RATES_MBPS, RTTS_MS
from fairweir.guard.evaluate import Kept, NotJudgedError, Play, Shares, evaluate, play
from fairweir.guard.outcome import sum_up
from fairweir.guard.treatments import Policy, Treatment, treatments
from fairweir.play import kernel
from fairweir.play.run import Run
from fairweir.scenario.model import Scenario
from fairweir.units import Duration

SMALL = Case("services", rate_mbps=8, buffer_bdp=2.0, rtt_ms=40, flows=6, seed=1)
OWN = Treatment(Policy("service policy", SERVICE))


def test_draws_are_of_table_1_and_longer_ones_begin_alike() -> None:
    cases = list(draw("reno-cubic", 200, 1))
    assert cases[:50] == list(draw("reno-cubic", 50, 1))
    assert cases[:50] != list(draw("reno-cubic", 50, 2))
    assert {case.rate_mbps for case in cases} <= set(RATES_MBPS)
    assert len(RATES_MBPS) == 26
    assert {case.buffer_bdp for case in cases} == set(BUFFERS_BDP)
    assert {case.rtt_ms for case in cases} <= set(RTTS_MS)
    assert {case.flows for case in cases} == set(FLOWS)
    for case in cases[:5]:
        assert len(Scenario.from_dict(case.scenario()).flow) == len(case.senders()) == case.flows + 1


def test_networks_that_were_learnt_from_are_passed_over_and_the_others_stay() -> None:
    cases = list(draw("reno-cubic", 50, 1))
    left = list(draw("reno-cubic", 49, 1, avoid={cases[3].network}))
    assert left == cases[:3] + cases[4:]


@pytest.mark.parametrize("name", CHALLENGES)
def test_every_challenge_is_a_scenario(name: str) -> None:
    rules = CHALLENGES[name]
    case = next(iter(draw(name, 1, 1, duration=Duration.from_s(10))))
    flows = Scenario.from_dict(case.scenario()).resolve()["flows"]
    incumbents, newcomers = case.counts
    assert [flow["cca"] for flow in flows] == [rules.incumbent] * incumbents + [rules.newcomer] * newcomers
    starts_s = [flow["start"] / 1e9 for flow in flows]
    assert max(starts_s[:incumbents]) < 0.5
    assert min(starts_s[incumbents:]) >= 2.0
    is_limited = [flow["source"]["kind"] == "rate" for flow in flows]
    assert (
        is_limited
        == [rules.limited in ("incumbents", "all")] * incumbents + [rules.limited in ("newcomers", "all")] * newcomers
    )
    # bytes per second
    wanted = sum(flow["source"]["rate"] for flow, limited in zip(flows, is_limited, strict=True) if limited)
    assert wanted * 8 == pytest.approx(0.5e6 * case.rate_mbps * sum(is_limited) / len(flows), rel=0.01)


def test_half_of_the_incumbents_are_receiver_1s() -> None:
    case = Case("deployments", 8, 2.0, 40, flows=5, seed=1)
    first, second = case.senders("receiver 1"), case.senders("receiver 2")
    assert [host is not None for host in first] == [True, True, False, False, False, False]
    assert all((a is None) != (b is None) for a, b in zip(first, second, strict=True))
    assert None not in case.senders("all")
    assert [one.name for one in treatments("deployments", [], "sim")] == [
        "without",
        "perfect classifier, receiver 1 only",
        "perfect classifier, receiver 2 only",
        "perfect classifier",
    ]


def test_a_service_of_six_flows_shares_with_one_flow() -> None:
    without, guarded = play(Play(SMALL)), play(Play(SMALL, OWN))
    assert without.jain < 0.75
    assert guarded.jain > 0.9
    assert guarded.utilization > 0.9
    assert len(guarded.throughputs_mbps) == 7


def test_finished_plays_are_stored_and_distinguished(tmp_path: Path) -> None:
    kept, one = Kept(tmp_path), Play(replace(SMALL, duration=Duration.from_s(10)), OWN)
    first = evaluate([one], kept, workers=1).shares[one]
    (file,) = tmp_path.glob("*.json")
    document = json.loads(file.read_text())
    file.write_text(json.dumps({**document, "jain": 0.123}))
    assert evaluate([one], kept).shares[one].jain == 0.123 != first.jain
    for other in (
        replace(one, treatment=Treatment(Policy("own", "[service]\nmodel = 'mathis'\n"))),
        replace(one, treatment=replace(OWN, deployment="receiver 2")),
        replace(one, case=replace(one.case, duration=Duration.from_s(12))),
        replace(one, world="kernel"),
        replace(one, treatment=Treatment()),
    ):
        assert kept.get(other) is None


def test_the_kernels_plays_go_one_by_one_and_late_ones_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plays = [Play(SMALL, treatment, "kernel") for treatment in (Treatment(), OWN)]
    flows = [{"throughput_mbps": 1.0, "delivered_pkts": 1, "rtt_ms": {"mean": 40.0}}] * 7
    seen = []

    def run(scenario: Scenario, **how: object) -> Run:
        options = how["options"]
        assert isinstance(options, kernel.Options)
        assert options.words()[:2] == ["--receive-windows", "autotuned"]
        guarding = options.guarding
        seen.append(None if guarding is None else guarding.config.read_text())
        is_late = guarding is not None
        emulator = {"judged": not is_late, "reason": "late by 3 ms" if is_late else ""}
        return Run(scenario, filled({"flows": flows, "links": [{"utilization": 0.5}], "emulator": emulator}))

    monkeypatch.setattr(evaluation, "run", run)
    monkeypatch.setattr(evaluation, "find_daemon", lambda: Path("fairweir-guard"))
    monkeypatch.setattr(kernel, "find_helper", lambda: Path("fairweir-kernel"))
    monkeypatch.setattr(kernel, "need_root", lambda *what: None)
    reported: list[str] = []
    results = evaluate(plays, Kept(tmp_path), on_done=reported.append)
    assert seen == [None, SERVICE, SERVICE]
    assert (list(results.shares), results.late, results.failures) == (plays[:1], plays[1:], [])
    assert results.shares[plays[0]].jain == pytest.approx((6 + 1) ** 2 / (2 * (36 + 1)))
    assert "late by 3 ms" in reported[1]
    assert len(list(tmp_path.glob("*.json"))) == 1
    with pytest.raises(NotJudgedError):
        evaluation.play_on_kernel(plays[1])


def _shares(jain: float, utilization: float, rates: list[float]) -> Shares:
    return Shares(jain, utilization, rates, 40.0)


def test_an_outcome_sums_up_and_doubts() -> None:
    def outcome(name: str, pairs: list[tuple[float, float, float]]):  # type: ignore[no-untyped-def]
        cases = [Case(name, 8, 2.0, 40, 1, seed) for seed in range(len(pairs))]
        plays = {case: [Play(case), Play(case, OWN)] for case in cases}
        shares = {}
        for case, (without, guarded, utilization) in zip(cases, pairs, strict=True):
            shares[plays[case][0]] = _shares(without, 1.0, [2.0, 6.0])
            shares[plays[case][1]] = _shares(guarded, utilization, [3.0, 3.0])
        return plays, shares

    plays, shares = outcome("cubic-bbr", [(0.4 + i / 100, 0.8 + i / 100, 0.5) for i in range(11)])
    better = sum_up("cubic-bbr", plays, shares)
    assert better is not None
    (verdict,) = better.verdicts
    assert (better.without.median_jain, verdict.measures.median_jain) == pytest.approx((0.45, 0.85))
    assert (better.without.p10_jain, verdict.measures.p10_jain) == pytest.approx((0.41, 0.81))
    assert (better.without.median_utilization, verdict.measures.p10_utilization) == (1.0, 0.5)
    assert (better.without.incumbents, better.without.newcomers) == (0.25, 0.75)
    assert (better.fair_incumbents, verdict.measures.newcomers) == (0.5, 0.375)
    assert verdict.gain_percent == pytest.approx(100 * (0.85 / 0.45 - 1))
    assert verdict.gain_interval[0] < verdict.gain_percent < verdict.gain_interval[1]
    assert better.holds

    del shares[plays[next(iter(plays))][1]]
    fewer = sum_up("cubic-bbr", plays, shares)
    assert fewer is not None
    assert (fewer.without.configurations, fewer.incomplete) == (10, 1)

    doubted = sum_up("cubic-bbr", *outcome("cubic-bbr", [(0.5, 0.9, 1.0), (0.5, 0.4, 1.0), (0.5, 0.45, 1.0)]))
    assert doubted is not None
    assert not doubted.holds
    for utilization, holds in ((0.97, True), (0.9, False)):
        kept = sum_up("all-limited", *outcome("all-limited", [(0.99, 0.98, utilization)] * 3))
        assert kept is not None
        assert kept.holds is holds


def test_bad_policies_are_named_with_line_and_value(tmp_path: Path) -> None:
    def refused(text: str) -> str:
        file = tmp_path / "mine.toml"
        file.write_text(text)
        with pytest.raises(ConfigError) as error:
            play(Play(SMALL, Treatment(Policy.read(file))))
        return str(error.value)

    assert "line 2: unknown field `grup`" in refused("[service]\ngrup = 'all'\n")
    assert "not TOML" in refused("[service")
    assert "x.json" in refused("[flow]\nmodel = 'x.json'\n")
    (tmp_path / "x.json").write_text('{"features": [], "baseline": [1.0], "trees": []}')
    assert "baseline must have 3 numbers" in refused("[flow]\nmodel = 'x.json'\n")


def test_a_forest_names_its_training_networks(tmp_path: Path) -> None:
    file = tmp_path / "flow.toml"
    file.write_text('[flow]\nmodel = "forest.json"\n')
    forest = {"features": [], "baseline": [0.0, 0.0, 1.0], "trees": []}
    origin = {"mix": "reno-cubic", "runs": 80, "rows": 10, "duration_s": 8.0, "seed": 1}
    (tmp_path / "forest.json").write_text(json.dumps({**forest, "trained_on": origin}))
    learnt = Policy.read(file).trained_on()
    assert learnt is not None
    assert 70 < len(learnt) <= 80
    (tmp_path / "forest.json").write_text(json.dumps(forest))
    assert Policy.read(file).trained_on() is None
    assert Policy("service policy", SERVICE).trained_on() == frozenset()


def test_a_forest_holds_flows(tmp_path: Path) -> None:
    file = tmp_path / "flow.toml"
    file.write_text('[flow]\nmodel = "forest.json"\nidle = 1.0\n')
    # a forest whose class is always above
    (tmp_path / "forest.json").write_text('{"features": [], "baseline": [0, 0, 1], "trees": []}')
    case = Case("reno-cubic", 8, 2.0, 40, flows=1, seed=1, duration=Duration.from_s(10))
    without, guarded = play(Play(case)), play(Play(case, Treatment(Policy.read(file))))
    assert guarded.utilization < 0.5 < without.utilization


def test_bad_input_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["guard", "evaluate", "renocubic"]) == 2
    assert "unknown challenge `renocubic`" in capsys.readouterr().err
    assert main.main(["guard", "evaluate", "reno-cubic", "--on", "kernel"]) == 2
    assert "`reno-cubic` has no default policy on the kernel" in capsys.readouterr().err


def test_challenges_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["guard", "evaluate", "--list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["challenge"] for row in rows] == list(CHALLENGES)
    assert rows[-1]["incumbents"] == "2-10 cubic"


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["guard", "evaluate", "cubic-bbr", "-n", "2", "--duration", "8s", "--workers", "1", "--json"]
    plot = tmp_path / "cdf.svg"
    code = main.main([*words, "--out", str(tmp_path / "kept"), "--plot", str(plot)])
    document = json.loads(capsys.readouterr().out)
    (challenge,) = document["challenges"]
    assert code == (0 if challenge["treatments"][0]["holds"] else 1)
    assert challenge["configurations"] == 2
    assert challenge["treatments"][0]["treatment"] == "perfect classifier"
    assert challenge["treatments"][0]["published"]["jain"] == [0.51, 0.94]
    assert "Jain" in plot.read_text() or plot.stat().st_size > 5_000
