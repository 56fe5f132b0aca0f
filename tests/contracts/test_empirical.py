"""Contracts derived from worlds with a known law, and from the simulator for CCAs with a known contract."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.summaries import filled

from fairweir.contracts.empirical import derive
from fairweir.contracts.plan import PYTHON_PLAN
from fairweir.contracts.points import Setting
from fairweir.play.measure import Measured, RunFault, here
from fairweir.units import Duration, Rate

Flow = dict[str, Any]
Law = Callable[[float, float, int, random.Random], list[Flow]]
"""(capacity in Mbps, rtprop in ms, flows, random numbers) -> each flow's rate and observations."""


def saw(rate: float, qdelay: float, rtprop: float, loss: float = 0.0, mark: float = 0.0) -> Flow:
    return {
        "throughput_mbps": rate,
        "rtt_ms": {"mean": rtprop + qdelay},
        "qdelay_ms": {"p50": qdelay, "mean": qdelay},
        "loss_rate": loss,
        "mark_rate": mark,
    }


def world(law: Law) -> Callable[[Sequence[dict[str, Any]]], list[Measured]]:
    """Return a measure that computes results by `law`, with random numbers from the scenario's seed."""

    def measure(scenarios: Sequence[dict[str, Any]]) -> list[Measured]:
        answers: list[Measured] = []
        for s in scenarios:
            capacity = float(s["link"]["bottleneck"]["rate"].removesuffix("Mbps"))
            rtprop = float(s["flow"][0]["rtprop"].removesuffix("ms"))
            n = len(s["flow"])
            dice = random.Random(f"{capacity} {rtprop} {n} {s['seed']}")  # noqa: S311
            answers.append(filled({"flows": law(capacity, rtprop, n, dice)}))
        return answers

    return measure


def vegas(capacity: float, rtprop: float, n: int, dice: random.Random) -> list[Flow]:
    """Three packets in the queue for each flow: rate = 3 x 12 kbit / qdelay."""
    rate = capacity / n
    return [saw(rate * dice.uniform(0.97, 1.03), 36.0 / rate, rtprop) for _ in range(n)]


def reno(capacity: float, rtprop: float, n: int, dice: random.Random) -> list[Flow]:
    """Reno's law cwnd = sqrt(3 / 2p), with a queue of three quarters of a BDP at any rate."""
    rtt, rate = 1.75 * rtprop, capacity / n
    window = rate * rtt / 12.0
    return [saw(rate, 0.75 * rtprop, rtprop, 1.5 / window**2 * dice.uniform(0.9, 1.1)) for _ in range(n)]


def bbr(capacity: float, rtprop: float, n: int, dice: random.Random) -> list[Flow]:
    """Limited by cwnd: qdelay = rtprop + 3 packets per flow."""
    rate = capacity / n
    return [saw(rate * dice.uniform(0.99, 1.01), rtprop + 36.0 / rate, rtprop) for _ in range(n)]


def frcc(capacity: float, rtprop: float, n: int, dice: random.Random) -> list[Flow]:
    """The delay is proportional to the number of flows, at any link rate."""
    return [saw(capacity / n * dice.uniform(0.95, 1.05), 10.0 * n + 5.0, rtprop) for _ in range(n)]


def allegro(capacity: float, rtprop: float, n: int, dice: random.Random) -> list[Flow]:
    """All flows observe the same; their rates are random."""
    parts = [dice.uniform(0.1, 1.0) ** 2 for _ in range(n)]
    loss = 0.02 * dice.uniform(0.8, 1.2)
    return [saw(capacity * part / sum(parts), 0.9 * rtprop, rtprop, loss) for part in parts]


def rising(capacity: float, rtprop: float, n: int, dice: random.Random) -> list[Flow]:
    """The rate increases with the delay."""
    rate = capacity / n
    return [saw(rate * dice.uniform(0.97, 1.03), rate, rtprop) for _ in range(n)]


def test_vegas_has_a_power_law_in_delay() -> None:
    result = derive("vegas", measure=world(vegas))
    assert result.has_contract
    assert result.best is not None
    assert result.best.family == "power"
    assert result.best.output == "rate"
    assert result.best.statistic in ("p50_qdelay_ms", "mean_qdelay_ms")
    assert result.exponent is not None
    assert result.exponent.lo <= -1.0 <= result.exponent.hi
    assert result.exponent.hi - result.exponent.lo < 0.05
    assert result.best.parameters["a"] == pytest.approx(36.0, rel=0.05)
    assert result.buffer == "4bdp"
    assert result.flags == []
    assert result.text == "rate ∝ (p50 qdelay)^-1.00"


def test_reno_has_a_power_law_in_loss_and_an_rtprop_bias() -> None:
    result = derive("reno", measure=world(reno))
    assert result.best is not None
    assert (result.best.statistic, result.best.family) == ("loss_rate", "power")
    assert result.exponent is not None
    assert result.exponent.value == pytest.approx(-0.5, abs=0.02)
    assert [flag[:30] for flag in result.flags] in (
        ["rtprop bias: rate ∝ rtprop^-0."],
        ["rtprop bias: rate ∝ rtprop^-1."],
    )


def test_bbr_has_a_shift_of_one_rtprop() -> None:
    result = derive("bbr", measure=world(bbr))
    assert result.best is not None
    assert result.best.family == "shifted-power"
    assert result.best.parameters["b"] == pytest.approx(40.0, abs=0.5)
    assert any(flag.startswith("shift: ") and flag.endswith(", 1 rtprop") for flag in result.flags)
    assert any(flag.startswith("Y-asymptote") for flag in result.flags)
    assert [fit.rtprop_ms for fit in result.rtprops] == [20.0, 40.0, 80.0]


def test_frcc_contracts_on_a_share_of_the_link() -> None:
    result = derive("frcc", measure=world(frcc))
    assert result.has_contract
    assert result.best is not None
    assert result.best.output == "share"
    assert result.best.r_squared > 0.98


def test_unfairness_at_the_same_statistic_is_no_contract() -> None:
    result = derive("pcc_allegro", measure=world(allegro))
    assert result.outcome == "none"
    assert result.unfair_runs > 0.8
    assert result.repeat_ratio is not None
    assert result.repeat_ratio > 1.5
    assert result.text.startswith("no contract: flows that observe the same get different rates")


def test_a_contract_that_needs_the_rtprop_is_found_with_it() -> None:
    """Late flows that mistake the standing queue for propagation get unfair shares; with a known rtprop they do not."""

    def measure(scenarios: Sequence[dict[str, Any]]) -> list[Measured]:
        fair, unfair = world(vegas)(scenarios), world(allegro)(scenarios)
        reported = [s["flow"][0].get("oracle_rtprop", False) for s in scenarios]
        return [f if t else u for f, u, t in zip(fair, unfair, reported, strict=True)]

    result = derive("latecomer", measure=measure)
    assert result.has_contract
    assert result.oracle
    assert result.flags[0].startswith(
        "only if rtprop is known: otherwise flows that observe the same get different rates"
    )


def test_the_buffer_follows_what_the_cca_does_to_it() -> None:
    """The buffer is 4 BDP without losses; 1 BDP if 4 and 20 BDP are filled; 20 BDP if only 4 BDP overflow."""

    def answer(per_bdp_ms: float, loss: float) -> str:
        def measure(scenarios: Sequence[dict[str, Any]]) -> list[Measured]:
            answers: list[Measured] = []
            for s in scenarios:
                buffer = float(s["link"]["bottleneck"]["buffer"].removesuffix("bdp"))
                rate = float(s["link"]["bottleneck"]["rate"].removesuffix("Mbps")) / len(s["flow"])
                queue = 36.0 / rate + per_bdp_ms * buffer
                answers.append(filled({"flows": [saw(rate, queue, 40.0, loss) for _ in s["flow"]]}))
            return answers

        return derive("any", measure=measure).buffer

    assert answer(0.0, 0.0) == "4bdp"
    assert answer(0.0, 0.001) == "20bdp"
    assert answer(30.0, 0.001) == "1bdp"


def test_a_rate_that_grows_with_congestion_is_no_contract() -> None:
    result = derive("rising", measure=world(rising))
    assert result.outcome == "none"
    assert "does not fall with congestion" in result.reason


def test_unfairness_that_the_statistic_explains_is_a_contract() -> None:
    """Flows whose delays differ by a factor of 5 get rates that differ by a factor of 5, as the contract predicts."""

    def unlike(capacity: float, rtprop: float, n: int, dice: random.Random) -> list[Flow]:
        parts = [1.0 if i % 2 else 5.0 for i in range(n)]
        rates = [capacity * part / sum(parts) for part in parts]
        return [saw(rate, 36.0 / rate * dice.uniform(0.97, 1.03), rtprop) for rate in rates]

    result = derive("unlike", measure=world(unlike))
    assert result.has_contract
    assert result.unfair_runs == 0.0


def test_runs_that_fail_are_counted_and_many_end_it() -> None:
    good = world(vegas)

    def often(scenarios: Sequence[dict[str, Any]]) -> list[Measured]:
        return [
            RunFault("error", "cwnd is NaN") if s["seed"] == 1 else got
            for s, got in zip(scenarios, good(scenarios), strict=True)
        ]

    result = derive("broken", measure=often)
    assert result.outcome == "failed"
    assert "cwnd is NaN" in result.text

    def once(scenarios: Sequence[dict[str, Any]]) -> list[Measured]:
        return [RunFault("timeout", "did not end") if i == 0 else got for i, got in enumerate(good(scenarios))]

    result = derive("hiccup", measure=once)
    assert result.has_contract
    assert result.faults == ["did not end"]


def test_the_same_runs_give_the_same_result() -> None:
    first, second = (derive("vegas", measure=world(vegas)) for _ in range(2))
    assert first.model_dump_json() == second.model_dump_json()


def test_marks_are_asked_for_only_with_ecn() -> None:
    place, times = (Rate.from_mbps(24), Duration.from_ms(40), 2, "4bdp"), (Duration.from_s(10), Duration.from_s(4))
    plain = Setting(*place).scenario("reno", *times, 1)
    marked = Setting(*place, ecn=True).scenario("reno", *times, 1)
    assert "aqm" not in plain["link"]["bottleneck"]
    assert all("ecn" not in flow for flow in plain["flow"])
    assert marked["link"]["bottleneck"]["aqm"]["kind"] == "ecn-threshold"
    assert all(flow["ecn"] for flow in marked["flow"])


def test_reno_in_the_simulator_follows_the_square_root_law() -> None:
    """Mathis: cwnd = sqrt(3/2) p^-1/2; simulated at rates at which a minute has enough losses, and with windows of at
    least 16 packets: with half of that, the packets that recovery sends make the exponent -0.58.
    """
    plan = replace(PYTHON_PLAN, flows=(1, 2), duration=Duration.from_s(60), warmup=Duration.from_s(20))
    result = derive("reno", measure=here, plan=plan)
    assert result.has_contract
    assert result.best is not None
    assert result.best.statistic == "loss_rate"
    assert result.exponent is not None
    assert result.exponent.value == pytest.approx(-0.5, abs=0.06)
