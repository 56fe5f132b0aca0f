"""The noise of hosts: seeds that differ, in every world that is simulated, and none where it is switched off."""

from __future__ import annotations

from typing import Any

import pytest

from fairweir.errors import ConfigError
from fairweir.judging.differences import are_identical, differences
from fairweir.judging.summary import Summary
from fairweir.play.run import run
from fairweir.scenario.dumbbell import dumbbell
from fairweir.scenario.model import Scenario


def six(noise: str) -> Scenario:
    scenario = dumbbell(["cubic"] * 6, rate="48Mbps", rtprop="40ms", duration="30s", warmup="10s")
    return scenario.override({"noise": noise})


def summaries(scenario: Scenario, seeds: int = 4) -> list[Summary]:
    return [run(scenario, seed=seed).summary for seed in range(1, seeds + 1)]


def largest(summary: Summary) -> float:
    return max(flow.throughput_mbps for flow in summary.flows)


def test_seeds_of_equal_flows_differ_by_more_than_a_permutation() -> None:
    locked, noisy = [sorted(map(largest, summaries(six(noise)))) for noise in ("none", "host")]
    assert locked[-1] - locked[0] < 0.1
    assert noisy[-1] - noisy[0] > 0.2


def alone(cca: str = "cubic") -> Scenario:
    return dumbbell(cca, rate="24Mbps", rtprop="20ms", duration="5s", warmup="1s")


def test_seeds_of_one_flow_are_identical_only_without_noise() -> None:
    assert are_identical(summaries(alone().override({"noise": "none"})))
    noisy = summaries(alone())
    assert not are_identical(noisy)
    assert not are_identical(noisy[:1])


def test_stacks_have_hosts_with_noise_and_the_same_seed_gives_the_same_run() -> None:
    scenario = alone("quinn/cubic")
    quiet, noisy, again = (
        run(one, on="quic").summary.document["flows"]
        for one in (scenario.override({"noise": "none"}), scenario, scenario)
    )
    assert noisy == again
    assert quiet != noisy
    assert quiet[0]["throughput_mbps"] == pytest.approx(noisy[0]["throughput_mbps"], rel=0.05)


def test_identical_seeds_have_no_interval() -> None:
    quiet, noisy = summaries(alone().override({"noise": "none"})), summaries(alone())
    assert {row.lo for row in differences(quiet, quiet)} == {None}
    assert None not in {row.lo for row in differences(noisy, noisy)}


@pytest.mark.parametrize(
    ("rate", "noise", "expected"),
    [
        ("48Mbps", "host", 100_000),
        ("1Gbps", "host", 12_000),
        ("48Mbps", "none", 0),
        ("1Gbps", "20us", 20_000),
        ("48Mbps", "0s", 0),
    ],
)
def test_the_maximum_is_that_of_a_host_or_a_packets_time(rate: str, noise: str, expected: int) -> None:
    [flow] = dumbbell("reno", rate=rate).override({"noise": noise}).resolve()["flows"]
    assert flow["processing"] == expected


@pytest.mark.parametrize("noise", ["hosts", "20", 20, True, "-5us", ["host"]])
def test_other_values_are_rejected(noise: Any) -> None:
    with pytest.raises(ConfigError, match="noise cannot be") as caught:
        dumbbell("reno").override({"noise": noise})
    assert caught.value.key == "noise"
    assert '"none"' in (caught.value.hint or "")
