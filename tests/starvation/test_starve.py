"""Theorems 1 and 2 by construction, and CCAs for which the construction is rejected."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from fairweir.cli.values import read_range
from fairweir.errors import ConfigError
from fairweir.judging.outcome import Outcome
from fairweir.play.run import run
from fairweir.scenario.model import Scenario
from fairweir.starvation import links, starve
from fairweir.starvation.pairs import hold, pairs, scanned_rates
from fairweir.starvation.question import Question
from fairweir.starvation.result import Point
from fairweir.units import Duration, Rate


def point(rate_mbps: float, dmin_ms: float, dmax_ms: float, efficiency: float = 1.0) -> Point:
    return Point(
        rate_mbps=rate_mbps,
        rtprop_ms=40.0,
        duration_s=100.0,
        throughput_mbps=efficiency * rate_mbps,
        dmin_ms=dmin_ms,
        dmax_ms=dmax_ms,
        late_dmin_ms=dmin_ms,
        late_dmax_ms=dmax_ms,
    )


def test_rates_end_at_the_highest_and_two_steps_are_s_by_f() -> None:
    rates = [rate.mbps for rate in scanned_rates(Rate.from_mbps(1), Rate.from_mbps(1000), 10.0)]
    assert rates[-1] == 1000.0
    assert rates[0] >= 1.0
    assert rates[-1] / rates[-3] == pytest.approx(10.0 / 0.9, rel=1e-3)


def test_the_pair_with_the_smallest_hold_comes_first() -> None:
    points = [point(10.0, 44.0, 45.0), point(100.0, 40.4, 40.5), point(1000.0, 40.0, 40.1, efficiency=0.95)]
    found = pairs(points, 9.0)
    assert (found[0].slow_mbps, found[0].fast_mbps) == (100.0, 1000.0)
    assert found[0].d_ms == pytest.approx(hold(points[1]).ms)
    # An inefficient flow on the fast link is less than ten times as fast.
    assert all(pair.slow_mbps == 10.0 for pair in pairs(points, 9.6))


def test_a_range_that_moves_does_not_settle() -> None:
    assert point(10.0, 41.0, 45.0).settles
    assert not point(10.0, 41.0, 45.0).model_copy(update={"late_dmin_ms": 43.0}).settles


def test_vegas_starves_with_its_four_packets_of_jitter_and_the_file_shows_it(tmp_path: Path) -> None:
    result = starve(
        Question(
            "vegas", jitter=Duration.from_ms(8), lowest=Rate.from_mbps(8), highest=Rate.from_mbps(100), seeds=(1, 2)
        ),
        workers=1,
    )
    assert result.word == "starves"
    assert result.verdict is Outcome.FAILS
    assert result.pair is not None
    # Vegas keeps alpha to beta packets queued: 4 and its own transmission's share, of 1500 bytes at 9 Mbps.
    assert result.pair.d_ms == pytest.approx(4 * 1500 * 8 / 9e3, rel=1e-3)
    assert result.confirmation is not None
    assert result.confirmation.violations == [0, 0]
    assert result.confirmation.d_ms <= 8.0
    assert result.underuse is not None
    assert result.underuse.utilization < 0.02
    starving, idle = result.save(tmp_path)
    replayed = run(Scenario.load(starving))
    assert replayed.summary.document["fairness"]["max_min_ratio"] > 10.0
    assert run(Scenario.load(idle)).summary.document["links"][0]["utilization"] == result.underuse.utilization


def test_bbr_starves_where_the_link_is_large_enough_for_its_probes() -> None:
    result = starve(Question("bbr", lowest=Rate.from_mbps(9), highest=Rate.from_mbps(100), seeds=(1, 2)), workers=1)
    assert result.word == "starves"
    assert result.confirmation is not None
    # At the sum of both rates the fast flow's probes (gain 1.25) would delay the slow one by more than its own link.
    assert result.confirmation.link_mbps >= 1.25 * 109.0
    assert min(result.confirmation.ratios) > 10.0


def test_the_bound_binds_only_once_flows_have_converged() -> None:
    slow, fast, link = Rate.from_mbps(9), Rate.from_mbps(100), Rate.from_mbps(136.25)
    document = links.shared("bbr", slow, fast, link, Duration.from_ms(24), Duration.from_ms(40), seed=1)
    early = copy.deepcopy(document)
    for flow in early["flow"]:
        del flow["jitter"]["after"]
    late, from_the_start = (
        run(Scenario.from_dict(d)).summary.document["fairness"]["max_min_ratio"] for d in (document, early)
    )
    assert late is not None
    assert from_the_start is not None
    assert late > 10.0
    assert from_the_start < 10.0


def test_reno_is_rejected_and_bounded() -> None:
    result = starve(
        Question("reno", jitter=Duration.from_ms(1), lowest=Rate.from_mbps(2), highest=Rate.from_mbps(25)), workers=1
    )
    assert result.word == "not-delay-convergent"
    assert "does not settle" in result.why
    assert result.hunt is not None
    assert result.hunt.outcome == "none"
    assert result.hunt.bound == 10.0
    assert result.hunt.largest_ratio is not None
    assert result.hunt.largest_ratio < 5.0


@pytest.mark.parametrize("text", ["5Mbps", "1Gbps..1Mbps"])
def test_an_invalid_range_is_rejected(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_range(text, "--rate-range", Rate.parse, hint='write "1Mbps..1Gbps"')
    assert caught.value.key == "--rate-range"
    assert caught.value.hint
