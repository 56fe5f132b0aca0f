"""Networks and mixes of the report's tables 1 and 7."""

from __future__ import annotations

from fairweir.guard.configurations import (
    HIGH_FAIR_RATE_MBPS,
    MIXES,
    Network,
    curriculum,
    networks,
)
from fairweir.units import Duration


def test_ranges_are_those_of_table_1() -> None:
    every = networks("a", 10**6)
    assert len(every) == 26 * 46 * 5 * 10
    assert {network.rate_mbps for network in every} == {1, *range(4, 101, 4)}
    assert {network.rtt_ms for network in every} == set(range(20, 201, 4))


def test_draws_are_without_replacement_and_repeat_themselves() -> None:
    drawn = networks("a", 500)
    assert len(set(drawn)) == 500
    assert drawn == networks("a", 500) != networks("b", 500)
    assert min(network.fair_rate_mbps for network in networks("a", 50, min_fair_rate_mbps=30.0)) >= 30.0


def test_a_mix_keeps_the_published_proportions() -> None:
    plan = list(curriculum(MIXES["reno-cubic"], 80, Duration.from_s(30), 1))
    by_kind = [sum(planned.part.kind == kind for planned in plan) for kind in ("random", "high fair rate", "alone")]
    assert by_kind == [50, 10, 20]
    assert len({planned.seed for planned in plan}) == 80
    for planned in plan:
        if planned.part.kind == "high fair rate":
            assert planned.network.fair_rate_mbps >= HIGH_FAIR_RATE_MBPS


def test_the_newcomer_comes_after_a_fifth() -> None:
    config = Network(24, 40, 2, 3).scenario("reno", "cubic", Duration.from_s(10), 7).resolve()
    assert [flow["cca"] for flow in config["flows"]] == ["reno", "reno", "reno", "cubic"]
    starts = [flow["start"] for flow in config["flows"]]
    assert starts[-1] == 2_000_000_000
    assert max(starts[:-1]) < 500_000_000
    assert len(set(starts)) == 4
    assert config["links"][0]["hop"]["queue"]["limit"] == 2 * 24_000_000 // 8 * 40 // 1000
