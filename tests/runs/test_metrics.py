"""Metrics on summaries with known numbers."""

from __future__ import annotations

import pytest
from tests.summaries import filled

from fairweir.judging import metrics
from fairweir.judging.summary import Summary
from fairweir.play.run import fairness


def summary(*rates_mbps: float, utilization: float = 0.5) -> Summary:
    document = {
        "flows": [
            {
                "throughput_mbps": rate,
                "rtt_ms": {"mean": 10.0 + i if rate else None},
                "lost_pkts": 0,
                "delivered_pkts": 0 if rate == 0 else 100,
            }
            for i, rate in enumerate(rates_mbps)
        ],
        "links": [{"utilization": utilization, "queue_ms": {"mean": 3.0, "p95": 9.0}}],
    }
    return filled(document)


def test_the_ratio_is_largest_by_smallest() -> None:
    assert metrics.ratio(summary(2.0, 8.0, 4.0)) == 4.0
    assert metrics.ratio(summary(5.0)) == 1.0


@pytest.mark.parametrize("rates", [(0.0, 1.0), (0.0, 0.0), (1e-9, 1e3)])
def test_a_flow_that_got_nothing_has_the_largest_ratio_there_is(rates: tuple[float, ...]) -> None:
    assert metrics.ratio(summary(*rates)) == metrics.RATIO_CEILING


def test_jain_is_one_when_even_and_one_by_n_when_one_has_all() -> None:
    assert metrics.jain([3.0, 3.0, 3.0]) == pytest.approx(1.0)
    assert metrics.jain([1.0, 0.0, 0.0, 0.0]) == pytest.approx(0.25)
    assert metrics.jain([0.0, 0.0]) == 0.0


def test_a_link_is_used_at_most_wholly() -> None:
    assert metrics.utilization(summary(1.0, utilization=1.0000004)) == 1.0


def test_the_mean_rtt_leaves_out_flows_without_samples() -> None:
    assert metrics.mean_rtt_ms(summary(1.0, 1.0)) == 10.5
    assert metrics.mean_rtt_ms(summary(1.0, 0.0)) == 10.0
    assert metrics.mean_rtt_ms(summary(0.0)) is None


def test_loss_is_weighed_by_what_became_of_each_flows_packets() -> None:
    mixed = summary(1.0, 1.0)
    mixed.document["flows"][0] |= {"lost_pkts": 5, "delivered_pkts": 5}
    mixed.document["flows"][1] |= {"lost_pkts": 0, "delivered_pkts": 90}
    assert metrics.lost_pkts(mixed) == 5
    assert metrics.loss_rate(mixed) == pytest.approx(0.05)


def test_a_flow_of_which_nothing_is_settled_has_lost_nothing() -> None:
    assert metrics.loss_rate(summary(0.0)) == 0.0


def test_an_exponent_is_the_slope_of_logarithms() -> None:
    xs = [1.0, 2.0, 4.0, 8.0]
    assert metrics.exponent(xs, [5.0 * x**-0.5 for x in xs]) == pytest.approx(-0.5)
    assert metrics.exponent(xs, [1.0, 4.0, 1.0, 4.0]) == pytest.approx(0.4)


@pytest.mark.parametrize("rates", [[1.0, 1.0], [3.0, 0.0, 0.0], [1.0, 2.0, 4.0]])
def test_a_run_and_its_metrics_have_one_index_of_fairness(rates: list[float]) -> None:
    assert fairness(rates)["jain"] == metrics.jain(rates)
    assert fairness([0.0 for _ in rates])["jain"] is None
    assert metrics.jain([0.0 for _ in rates]) == 0.0
