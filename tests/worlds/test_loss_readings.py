"""Losses over time: the thesis' definition of a large loss, and their number."""

from __future__ import annotations

from typing import Any

import pytest
from tests.summaries import filled

from fairweir.reproduce.experiment import Check, Reading
from fairweir.reproduce.readings import read
from fairweir.scenario.model import Scenario

#: Two flows of 40 and 20 ms, 100 ms that count, in steps of 10 ms.
FLOWS = [{"id": "a", "cca": "reno", "rtprop": "40ms"}, {"id": "b", "cca": "reno", "rtprop": "20ms"}]
SCENARIO = Scenario.from_dict(
    {"duration": "200ms", "warmup": "100ms", "link": {"l": {"rate": "10Mbps", "buffer": "1bdp"}}, "flow": FLOWS}
)


def summary(a: list[int], b: list[int]) -> dict[str, Any]:
    before = [50] * 10
    return {
        "flows": [{"id": "a"}, {"id": "b"}],
        "over_time": {"t_s": [(i + 1) / 100 for i in range(20)], "lost_pkts": [before + a, before + b]},
    }


def reading(name: Reading, of: list[str], a: list[int], b: list[int]) -> float:
    return read(Check(claim="c", reading=name, of=of, at_most=1), SCENARIO, filled(summary(a, b)))


def test_the_most_is_taken_over_every_rtprop_and_flow_after_the_warmup() -> None:
    a, b = [0, 3, 0, 4, 2, 0, 0, 0, 0, 5], [0, 0, 6, 0, 7, 0, 0, 2, 1, 0]
    assert reading("max_lost_in_rtprop", ["a"], a, b) == 9
    assert reading("max_lost_in_rtprop", ["b"], a, b) == 7
    assert reading("max_lost_in_rtprop", ["*"], a, b) == 9


def test_large_losses_are_a_share_of_rtprops() -> None:
    # of the seven windows of 40 ms, those that begin at 0 to 3 have all eleven packets
    assert reading("large_losses", ["a"], [0, 0, 0, 11, 0, 0, 0, 0, 0, 0], [0] * 10) == pytest.approx(4 / 7)
    assert reading("large_losses", ["a"], [0, 0, 0, 10, 0, 0, 0, 0, 0, 0], [0] * 10) == 0
    assert reading("large_losses", ["b"], [99] * 10, [0] * 10) == 0
