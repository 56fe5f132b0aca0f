"""Theorem 4.2.1: F and its inverse against closed forms, and cc_probe_slow_k compared with them."""

from __future__ import annotations

import itertools
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairweir.cli.main import main
from fairweir.errors import ConfigError
from fairweir.formal.lemmas.tradeoff import Allowance, min_time, ramp, rounds_to
from fairweir.judging.summary import OverTime
from fairweir.papers.catalogue import computed_entries
from fairweir.papers.thesis.frontier import OPENS_S, RTPROP_MS, Prober, packets_per_r, read_climb
from fairweir.play.batch import play
from fairweir.play.run import run

positive = st.floats(min_value=0.5, max_value=100)


@given(st.integers(1, 50), st.integers(1, 40), st.integers(0, 2_000))
def test_a_constant_loss_buys_a_constant_rate_a_round_trip(lost: int, start: int, gap: int) -> None:
    assert rounds_to([start + gap], Allowance(str(lost)), start, 0.5) == [math.ceil(gap / (lost / 0.5))]


@given(st.sampled_from([0.25, 0.5, 1.0, 2.0]), positive, st.floats(min_value=1, max_value=1e6))
def test_a_loss_in_proportion_buys_a_factor_a_round_trip(share: float, start: float, factor: float) -> None:
    rounds = rounds_to([start * factor], Allowance(f"{share}*C"), start, 1.0)[0]
    assert start * (1 + share) ** rounds >= start * factor * (1 - 1e-9)
    assert rounds == 0 or start * (1 + share) ** (rounds - 1) < start * factor * (1 + 1e-9)


@given(st.sampled_from(["5", "sqrt(C)", "max(1, log(C))", "C/3", "min(C, 20)"]), positive, positive)
def test_the_inverse_is_the_first_round_trip_that_reaches_the_rate(text: str, start: float, factor: float) -> None:
    f, goals = Allowance(text), [start, start * (1 + factor), start * (1 + 2 * factor)]
    for goal, rounds in zip(goals, rounds_to(goals, f, start, 0.7), strict=True):
        known = list(itertools.islice(ramp(f, start, 0.7), rounds + 1))
        assert known[-1] >= goal
        assert all(rate < goal for rate in known[:-1])
        assert min_time(goal, f, start, 0.7) == pytest.approx(max(rounds - 1, 0) * 1.7)


@pytest.mark.parametrize(
    ("text", "value"),
    [("2*C + 1", 19), ("C**0.5", 3), ("sqrt(C) - -1", 4), ("log2(C - 1)", 3), ("max(C/3, 5, 2)", 5), ("min(7, C)", 7)],
)
def test_an_allowance_is_an_expression_in_c(text: str, value: float) -> None:
    assert Allowance(text)(9) == pytest.approx(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "D",
        "C +",
        "True",
        "'5'",
        "open('x')",
        "C.real",
        "(lambda: 1)()",
        "[C]",
        "C if C else 1",
        "log(x=C)",
        "sqrt()",
    ],
)
def test_nothing_but_arithmetic_is_an_allowance(text: str) -> None:
    with pytest.raises(ConfigError, match="not a loss allowance"):
        Allowance(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("C - 9", "`C - 9` is not positive at C = 9: 0"),
        ("log(C - 9)", "`log(C - 9)` has no value at C = 9"),
        ("1/(C - 9)", "`1/(C - 9)` has no value at C = 9"),
        ("C**C**C**C", "has no value at C = 9"),
        ("sqrt(C, C)", "has no value at C = 9"),
    ],
)
def test_an_allowance_without_a_positive_value_is_reported_where(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        rounds_to([20.0], Allowance(text), 9.0, 1.0)
    assert message in caught.value.message


def test_invalid_questions_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="buffer must be positive: `0`"):
        rounds_to([20.0], Allowance("1"), 9.0, 0.0)
    with pytest.raises(ConfigError, match="start must be positive: `0`"):
        rounds_to([20.0], Allowance("1"), 0.0, 1.0)
    with pytest.raises(ConfigError, match="rates do not ascend"):
        rounds_to([20.0, 10.0], Allowance("1"), 1.0, 1.0)
    monkeypatch.setattr("fairweir.formal.lemmas.tradeoff.MAX_ROUNDS", 100)
    with pytest.raises(ConfigError, match="does not lead from 1 to 1000 packets per R in 100 round trips"):
        rounds_to([1000.0], Allowance("1"), 1.0, 1.0)


def test_the_command_prints_rounds_and_time(capsys: pytest.CaptureFixture[str]) -> None:
    # 12 to 192 Mbps at 40 ms: 40 to 640 packets; 5 packets by half an R are 10 packets per R a round trip
    assert main(["tradeoff", "5", "C", "--from", "12Mbps", "--to", "192Mbps", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["from_pkts"], document["to_pkts"]) == (40, 640)
    assert document["bounds"][0] == {
        "allowance": "5", "lost_pkts_at_goal": 5, "rounds": 60, "min_s": pytest.approx(59 * 0.06),
    }  # fmt: skip
    # each round trip multiplies by three: 40, 120, 360, 1080
    assert document["bounds"][1]["rounds"] == 3
    assert main(["tradeoff", "x"]) == 2
    assert "not a loss allowance: `x`" in capsys.readouterr().err


def test_a_climb_is_read_from_the_gates_opening() -> None:
    prober, step_s = Prober(), 0.01
    t_s = [(i + 1) * step_s for i in range(int((OPENS_S + 20) / step_s))]
    # 10 Mbps until 5 s after the gate opens, then 50 Mbps; the gate's losses at 0.1 s, the link's from 12 s on
    rates = [10.0 if t < OPENS_S + 5 else 50.0 for t in t_s]
    lost = [0] * len(t_s)
    lost[round((OPENS_S + 0.1) / step_s)] = 99
    for at in (12.0, 12.01, 12.03):
        lost[round((OPENS_S + at) / step_s)] = 2
    climb = read_climb(prober, 96, OverTime(t_s, [rates], [lost]))
    window_s = 2 * (prober.k + 3) * RTPROP_MS / 1e3
    assert climb.converged_s == pytest.approx(5 + (45 - 10) / 40 * window_s, abs=2 * step_s)
    assert climb.max_lost == 6
    goal, start = 0.9 * packets_per_r(96), packets_per_r(12)
    assert climb.bound_s == pytest.approx((math.ceil((goal - start) * 0.5 / 10) - 1) * 1.5 * 0.04)


def test_cc_probe_slow_stands_above_the_bound_loses_a_constant_and_pays_in_time() -> None:
    slow = Prober(has_jitter=False)
    climbs = [read_climb(slow, mbps, play(slow.task(mbps)).over_time) for mbps in (24, 48)]
    assert all(climb.converged_s > climb.bound_s > 0 for climb in climbs)
    assert all(0 < climb.max_lost <= 10 for climb in climbs)
    # from 12 Mbps: the way to 48 Mbps is about three times that to 24 Mbps
    assert 2 < climbs[1].converged_s / climbs[0].converged_s < 4


def test_the_scenarios_are_the_theorems() -> None:
    """The link's buffer is below C D, and the gate passes only its own rate."""
    task = Prober(alpha=10).task(24)
    config = task.scenario.resolve()
    gate, link = config["links"]
    assert [link["name"], gate["name"]] == ["bottleneck", "gate"]
    assert link["hop"]["queue"]["limit"] < packets_per_r(24) * 1500
    before = run(task.scenario.override({"duration": f"{OPENS_S}s", "warmup": "10s"})).summary
    assert 6 < before.flows[0].throughput_mbps < 12


def test_reproduce_knows_the_figure() -> None:
    assert any(entry.id == "thesis-4.4" for entry in computed_entries())
