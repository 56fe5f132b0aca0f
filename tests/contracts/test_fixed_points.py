"""Fixed points of contracts, compared with packets (thesis sections 6.1 and 6.5)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairweir.contracts.datacentre import CAPACITY_GBPS, FINE_PACKET, PACKET, canonical, place, swift, vegas
from fairweir.contracts.fixed_points import FlowGroup, Grain, band, fixed_point
from fairweir.play.run import run
from fairweir.scenario.model import Scenario

SCENARIOS = Path(__file__).parents[2] / "scenarios"

exponents = st.floats(0.3, 4.0)


@given(exponent=exponents, hops=st.integers(2, 12))
def test_a_power_is_alpha_fair_on_the_parking_lot(exponent: float, hops: int) -> None:
    found = fixed_point(lambda s: s**-exponent, (FlowGroup(hops=hops), FlowGroup()), 1.0)
    assert found.ratio == pytest.approx(hops**exponent, rel=1e-9)
    assert sum(found.rates) == pytest.approx(1.0, rel=1e-9)


@given(exponent=exponents, flows=st.integers(2, 64))
def test_a_power_grows_by_its_inverse(exponent: float, flows: int) -> None:
    assert fixed_point(lambda s: s**-exponent, (FlowGroup(flows=flows),), 1.0).s == pytest.approx(
        flows ** (1 / exponent), rel=1e-9
    )


@given(exponent=exponents, noise=st.floats(0.01, 10.0))
def test_noise_leaves_both_flows_on_the_contract(exponent: float, noise: float) -> None:
    found = fixed_point(lambda s: s**-exponent, (FlowGroup(noise=noise), FlowGroup()), 1.0)
    assert found.ratio == pytest.approx(((found.s + noise) / found.s) ** exponent, rel=1e-9)
    assert sum(found.rates) == pytest.approx(1.0, rel=1e-9)


@settings(max_examples=20)
@given(exponent=st.floats(0.5, 2.0), packet=st.floats(0.01, 0.1))
def test_the_band_of_whole_packets_holds_the_fixed_point_and_narrows_with_them(exponent: float, packet: float) -> None:
    crowds = (FlowGroup(hops=3), FlowGroup())

    def width(data: float) -> float:
        low, high = band(lambda s: s**-exponent, crowds, 1.0, Grain(data, 10.0, data), lambda at: at.ratio)
        assert low < fixed_point(lambda s: s**-exponent, crowds, 1.0).ratio < high
        return high - low

    assert width(packet / 4) < 0.5 * width(packet)


def test_no_fixed_point_is_an_error() -> None:
    with pytest.raises(ValueError, match="no rates of the flows add up to the capacity"):
        fixed_point(lambda s: 2.0 + 1.0 / s, (FlowGroup(),), 1.0)


@pytest.mark.parametrize("follower", [canonical(1.0), vegas(), swift()], ids=lambda f: f.name)
def test_one_flow_fills_the_link_at_the_minimum_delay(follower) -> None:  # type: ignore[no-untyped-def]
    alone = place("growth", 1).exact(follower)
    assert alone.rates[0] == pytest.approx(CAPACITY_GBPS)
    assert alone.s == pytest.approx(1.2, rel=0.1)  # vegas has whole packets


@pytest.mark.parametrize(("metric", "at"), [("robustness", 3.6), ("unfairness", 4), ("growth", 8)])
@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_packets_are_as_near_as_whole_packets_allow(metric, at: float, exponent: float) -> None:  # type: ignore[no-untyped-def]
    follower, spot = canonical(exponent, gain=min(exponent, 1.0)), place(metric, at)
    for packet in (PACKET, FINE_PACKET):
        measured = spot.measured(follower, run(spot.scenario(follower, packet, 7)).summary)
        low, high = spot.band(follower, packet)
        assert low <= measured <= high, packet


def test_the_scenario_file_shows_it_too() -> None:
    scenario = Scenario.load(SCENARIOS / "data-centre.toml")
    spot, follower = place("unfairness", 3), canonical(1.0)
    by_hand, built = (s.resolve()["flows"] for s in (scenario, spot.scenario(follower, PACKET, 1)))
    of_its_own = {"id": "", "start": 0, "params": {}}
    assert [flow | of_its_own for flow in by_hand] == [flow | of_its_own for flow in built]
    assert by_hand[0]["params"].items() <= built[0]["params"].items()
    for packet in (PACKET, FINE_PACKET):
        low, high = spot.band(follower, packet)
        summary = run(scenario.override({"packet": f"{packet}B"})).summary
        assert low <= spot.measured(follower, summary) <= high
