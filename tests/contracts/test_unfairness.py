"""Statistics over runs, some of which have a flow without an RTT sample and so without a point."""

from __future__ import annotations

import pytest

from fairweir.contracts.points import ContractPoint
from fairweir.contracts.unfairness import repeat_ratio


def points(seed: int, *shares: float) -> list[ContractPoint]:
    """The points of a run of two flows."""
    nothing = dict.fromkeys(("window_pkts", "p50_qdelay_ms", "mean_qdelay_ms", "loss_rate", "mark_rate"), 0.0)
    setting = {"capacity_mbps": 10.0, "rtprop_ms": 40.0, "flows": 2, "seed": seed, "run": seed, **nothing}
    return [ContractPoint.model_validate({**setting, "rate_mbps": 10 * one, "share": one}) for one in shares]


def test_shares_of_one_flow_are_compared_over_seeds() -> None:
    assert repeat_ratio([*points(1, 0.8, 0.2), *points(2, 0.2, 0.8)]) == pytest.approx(4)


@pytest.mark.parametrize("starved", [1, 2, 3])
def test_a_run_with_a_flow_that_measured_nothing_is_left_out(starved: int) -> None:
    runs = [points(seed, 1.0) if seed == starved else points(seed, 0.4 + seed / 10, 0.4) for seed in (1, 2, 3)]
    assert repeat_ratio([point for run in runs for point in run]) == pytest.approx(
        {1: 0.7 / 0.6, 2: 0.7 / 0.5, 3: 0.6 / 0.5}[starved]
    )


def test_without_two_whole_runs_there_is_no_ratio() -> None:
    assert repeat_ratio([*points(1, 0.8, 0.2), *points(2, 1.0)]) is None
    assert repeat_ratio([]) is None
