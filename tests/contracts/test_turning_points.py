"""Limit cycles: mean delays do not follow the contract, but turning points do."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairweir.contracts.judge import judge
from fairweir.contracts.points import ContractPoint, Setting
from fairweir.contracts.turning_points import turns_of, watch
from fairweir.units import Duration, Rate

S0_MS = 10.0 / math.log(2.0)
"""expo's decay: 10 ms a factor of two."""
C0_MBPS = 1024.0


def test_turns_are_where_the_window_changes_direction_and_may_rest_on_the_way() -> None:
    #                    0    1    2    3    4    5    6    7
    window = np.array([1.0, 2.0, 3.0, 3.0, 2.0, 2.0, 5.0, 4.0])
    up, down = turns_of(window)
    assert (up.tolist(), down.tolist()) == ([5], [3, 6])


def test_a_window_that_only_grows_never_turns() -> None:
    assert [turns.size for turns in turns_of(np.arange(10.0))] == [0, 0]


@pytest.mark.parametrize(("capacity", "flows"), [(24.0, 2), (96.0, 4)])
def test_expo_turns_on_its_curve_though_its_mean_delay_is_far_off(capacity: float, flows: int) -> None:
    setting = Setting(Rate.from_mbps(capacity), Duration.from_ms(40), flows, "20bdp", oracle=True)
    for flow in watch(setting.scenario("expo", Duration.from_s(60), Duration.from_s(20), 1)).document["flows"]:
        wanted = S0_MS * math.log(C0_MBPS / flow["turning"]["rate_mbps"])
        assert flow["turning"]["qdelay_ms"] == pytest.approx(wanted, rel=0.04)
    by_mean = S0_MS * math.log(C0_MBPS / flow["throughput_mbps"])
    assert capacity < 96.0 or flow["qdelay_ms"]["mean"] < 0.7 * by_mean


def test_flows_at_rest_have_no_turnings() -> None:
    setting = Setting(Rate.from_mbps(24), Duration.from_ms(40), 2, "20bdp", oracle=True)
    run = watch(setting.scenario({"name": "contract", "s0": "10ms"}, Duration.from_s(30), Duration.from_s(10), 1))
    assert [flow.extra["turning"] for flow in run.flows] == [None, None]


def cycling(run: int, rate: float, wobble: float) -> ContractPoint:
    """Return a flow whose window turns at 100 Mbps e^(-s/20 ms), while its mean delay follows another law."""
    return ContractPoint(
        run=run,
        capacity_mbps=4.0 * rate,
        rtprop_ms=40.0,
        flows=4,
        seed=1,
        rate_mbps=rate,
        window_pkts=rate,
        share=0.25,
        p50_qdelay_ms=200.0 / rate * wobble,
        mean_qdelay_ms=200.0 / rate / wobble,
        loss_rate=0.0,
        mark_rate=0.0,
        turning_qdelay_ms=20.0 * math.log(100.0 / rate),
        turning_rate_mbps=rate,
    )


def test_turnings_give_the_contract_only_where_they_explain_more() -> None:
    rates = [3.0, 5.0, 8.0, 12.0, 20.0, 30.0]

    def best(wobble: float) -> tuple[str, str]:
        points = [cycling(i, rate, wobble ** (-1) ** i) for i, rate in enumerate(rates)]
        candidate = judge(points)["best"]
        return candidate.statistic, candidate.family  # type: ignore[attr-defined]

    assert best(1.3) == ("turning_qdelay_ms", "exponential")
    assert best(1.0) == ("p50_qdelay_ms", "power")
