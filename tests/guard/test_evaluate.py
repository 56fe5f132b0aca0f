"""The published challenges in the simulator: what is drawn, what is measured, what is kept, and bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairweir.cli import main
from fairweir.errors import ConfigError
from fairweir.guard.challenges import BUFFERS_BDP, CHALLENGES, FLOWS, RATES_MBPS, RTTS_MS, SERVICE, Case, draw
from fairweir.guard.evaluate import Job, Kept, Measured, Shares, evaluate, judge, play
from fairweir.scenario import Scenario

SMALL = Case("services", rate_mbps=8, buffer_bdp=2.0, rtt_ms=40, flows=6, seed=1)


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


def test_a_service_of_six_flows_shares_with_one_flow() -> None:
    measured = play(Job(SMALL, SERVICE))
    assert measured.without.jain < 0.75
    assert measured.guarded.jain > 0.9
    assert measured.guarded.utilization > 0.9
    assert len(measured.guarded.throughputs_mbps) == 7


def test_finished_configurations_are_kept_and_policies_tell_them_apart(tmp_path: Path) -> None:
    kept, job = Kept(tmp_path), Job(SMALL, SERVICE)
    first = evaluate([job], kept, workers=1)
    (file,) = tmp_path.glob("*.json")
    document = json.loads(file.read_text())
    document["guarded"]["jain"] = 0.123
    file.write_text(json.dumps(document))
    assert evaluate([job], kept)[job].guarded.jain == 0.123 != first[job].guarded.jain
    assert kept.get(Job(SMALL, "[service]\nmodel = 'mathis'\n")) is None


def test_a_verdict_sums_up_and_doubts() -> None:
    def one(without: float, guarded: float) -> Measured:
        return Measured(Shares(without, 1.0, [], 0.0), Shares(guarded, 0.5, [], 0.0))

    better = judge("services", [one(0.4 + i / 100, 0.8 + i / 100) for i in range(11)])
    assert better.median_jain == pytest.approx((0.45, 0.85))
    assert better.p10_jain == pytest.approx((0.41, 0.81))
    assert better.median_utilization == (1.0, 0.5)
    assert better.gain_percent == pytest.approx(100 * (0.85 / 0.45 - 1))
    assert better.gain_interval[0] < better.gain_percent < better.gain_interval[1]
    assert better.holds
    assert not judge("services", [one(0.5, 0.9), one(0.5, 0.4), one(0.5, 0.45)]).holds


def test_bad_policies_are_named_with_line_and_value() -> None:
    with pytest.raises(ConfigError, match=r"line 2: unknown field `grup`"):
        play(Job(SMALL, "[service]\ngrup = 'all'\n"))
    with pytest.raises(ConfigError, match=r"flow.model: no classifier `x.json`"):
        play(Job(SMALL, "[flow]\nmodel = 'x.json'\n"))


def test_an_unknown_challenge_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["guard", "evaluate", "renocubic"]) == 2
    assert "unknown challenge `renocubic`" in capsys.readouterr().err
    assert set(CHALLENGES) == {"services", "reno-cubic", "vegas-cubic", "cubic-bbr"}
