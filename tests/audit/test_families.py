"""Each family of the battery has valid scenarios, and its claims refer to its metrics."""

from __future__ import annotations

import pytest
from tests.summaries import filled

from fairweir.audit.exhibits.arrivals import epochs, settling_times_s
from fairweir.audit.exhibits.family import Depth, Family, Place, Reading, Series, Subject
from fairweir.audit.exhibits.finite import slow_start
from fairweir.audit.exhibits.laws import IdealLink, rtt_law
from fairweir.audit.exhibits.parking_lot import short_by_long
from fairweir.audit.exhibits.rate_steps import RATES, adaptation_times_s
from fairweir.audit.exhibits.registry import FAMILIES, names, select
from fairweir.audit.exhibits.rtprops import frcc_ratio
from fairweir.audit.jobs import Job, packets_of
from fairweir.errors import ConfigError
from fairweir.scenario.dumbbell import start_times
from fairweir.units import Duration, Rate

SUBJECT = Subject("reno", "reno", "3bdp")
CCAS = ("frcc", "bbr", "cubic", "reno", "copa", "vegas", "pcc_allegro", "pcc_vivace")


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())
@pytest.mark.parametrize("depth", list(Depth))
def test_scenarios_of_all_points_can_be_run(family: Family, depth: Depth) -> None:
    for index, place in enumerate(family.places[depth]):
        job = Job(SUBJECT, family.name, depth, index, seed=1, patience=1.0)
        scenario = job.scenario()
        assert scenario.resolve()["seed"] == 1
        assert scenario.name == family.name
        assert place.label
        assert job.packets() > 0


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())
def test_claims_and_laws_are_about_metrics_that_the_family_has(family: Family) -> None:
    measured = {metric.name for metric in family.metrics}
    assert {claim.metric for claim in family.claims} <= measured
    assert len({claim.key for claim in family.claims}) == len(family.claims)
    for cca in CCAS:
        assert set(family.laws(cca)) <= measured


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())
def test_every_threshold_has_a_reason_and_a_source(family: Family) -> None:
    for claim in family.claims:
        if claim.threshold is not None:
            assert len(claim.threshold.reason) > 20
            assert len(claim.threshold.source) > 5


def test_deeper_batteries_have_the_points_of_shallower_ones_somewhere() -> None:
    assert all(family.places[Depth.DEEP] for family in FAMILIES.values())


def test_seeds_change_start_times_and_nothing_else_does() -> None:
    assert start_times(1, 3) == start_times(1, 3)
    assert start_times(1, 3) != start_times(2, 3)
    assert all(0.0 <= t.s < 2.0 for t in start_times(7, 100))


def test_a_prefix_selects_a_group_and_nothing_selects_all() -> None:
    assert select(["ideal"]) == ["ideal-rate", "ideal-rtprop", "ideal-flows"]
    assert select(["policer,contract"]) == ["policer", "contract"]
    assert select(None) == names()


def test_a_misspelt_exhibit_is_reported_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="no exhibit called `policier`") as error:
        select(["policier"])
    assert error.value.hint is not None
    assert "did you mean `policer`" in error.value.hint


def test_costs_are_what_full_links_carry() -> None:
    link = {"rate": "12Mbps", "buffer": "1bdp"}
    assert packets_of({"duration": "10s", "link": {"a": link, "b": link}, "flow": [{"cca": "x"}]}) == 20_000
    assert packets_of({"duration": "10s", "link": {"a": link}, "flow": [{"cca": "x", "bytes": "15000B"}]}) == 10


def test_frcc_closed_form_gives_the_published_numbers() -> None:
    # docs/derivations.md, Rates of flows with different rtprops
    assert frcc_ratio(tuple(map(Duration.from_ms, (10, 20, 30)))) == pytest.approx(1.25)
    assert frcc_ratio(tuple(map(Duration.from_ms, (4, 256)))) == pytest.approx(4.94, abs=0.005)


@pytest.mark.parametrize(
    ("cca", "rtt_ms"),
    [("frcc", 80.0), ("bbr", 102.25), ("copa", 51.5), ("vegas", 52.25), ("reno", 200.0), ("cubic", 200.0)],
)
def test_laws_of_the_mean_rtt(cca: str, rtt_ms: float) -> None:
    law = rtt_law(cca)
    assert law is not None
    assert law.rtt_ms(IdealLink(Rate.from_mbps(48), Duration.from_ms(50), 3)) == pytest.approx(rtt_ms)


def test_there_is_no_law_for_an_unknown_cca() -> None:
    assert rtt_law("mine") is None


def test_slow_start_of_transfers_that_fit_a_window_takes_one_rtt() -> None:
    assert slow_start(10).s == pytest.approx(0.0425)
    # 10, 20, 40 and then 30 packets: three doublings and the rest at the link's rate
    assert slow_start(100).s == pytest.approx(0.1675)


def test_the_parking_lots_ratio_is_mean_of_short_by_long() -> None:
    summary = filled({"flows": [{"throughput_mbps": r} for r in (10.0, 90.0, 70.0)]})
    assert short_by_long(summary) == pytest.approx(8.0)


def test_epochs_of_three_flows() -> None:
    found = [(start, list(active)) for start, _, active in epochs(3, 10.0)]
    assert found == [(0, [0]), (10, [0, 1]), (20, [0, 1, 2]), (30, [1, 2]), (40, [2])]


def test_settling_is_found_where_the_throughputs_meet() -> None:
    # Two flows that start and stop 60 s apart: the second flow gets nothing for 20 s of the common minute, then half.
    times = [float(t) for t in range(1, 181)]
    first = [10.0 if t <= 80 else 5.0 if t <= 120 else 0.0 for t in times]
    second = [0.0 if t <= 80 else 5.0 if t <= 120 else 10.0 for t in times]
    (settled,) = settling_times_s(Series(t_s=times, throughput_mbps=[first, second]), 2)
    # Most seconds of the 10 s window must have equal shares before the window's index reaches 0.9.
    assert 20.0 < settled <= 30.0


def test_throughputs_that_never_meet_count_with_the_whole_epoch() -> None:
    times = [float(t) for t in range(1, 181)]
    series = Series(t_s=times, throughput_mbps=[[10.0] * 180, [0.0] * 180])
    assert list(settling_times_s(series, 2)) == [60.0]


def test_adaptation_is_counted_from_each_step() -> None:
    # 20 s at each of 24, 24, 48, 96 Mbps; the flow takes 5 s to follow the last step.
    times = [float(t) for t in range(1, 81)]
    rates = [24.0 if t <= 40 else 48.0 if t <= 65 else 96.0 for t in times]
    assert list(adaptation_times_s(Series(t_s=times, throughput_mbps=[rates]), RATES["doubling"])) == [1.0, 6.0]


def test_metrics_of_pairs_are_silent_about_lone_flows() -> None:
    family = FAMILIES["random-loss"]
    lone = Reading(
        summary=filled(
            {
                "flows": [{"throughput_mbps": 5.0, "rtt_ms": {"mean": 1.0}, "lost_pkts": 0, "delivered_pkts": 1}],
                "links": [{"utilization": 0.7, "queue_ms": {"mean": 0.0}}],
            }
        ),
        place=Place(0.0, "alone"),
        measured_s=1.0,
    )
    values = {metric.name: metric.read(lone) for metric in family.metrics}
    assert values["ratio"] is None
    assert values["solo_utilization"] == 0.7
