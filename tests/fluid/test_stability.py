"""The fluid model compared with exact results, and multipliers with one another."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fairweir.cli.main import main
from fairweir.fluid.cycle import limit_cycle, throughputs
from fairweir.fluid.model import weighted
from fairweir.fluid.orbit import NoOrbitError, Past, integrate
from fairweir.fluid.report import analyse
from fairweir.fluid.stability import decay, history_multipliers, return_decay, return_matrix


def test_without_losses_the_windows_grow_as_the_closed_form() -> None:
    # On a full pipe without losses W' = A/(1 + q) and the sum's balance keep W1/W2 growing by A1/A2.
    fluid = weighted("wcc_ai", [2, 1], 20.0)
    orbit = integrate(fluid, np.array([8.0, 4.0, -0.3]), until=0.8)
    assert orbit.state[0] / orbit.state[1] == pytest.approx(2.0, rel=1e-9)


def test_the_delay_is_one_and_the_jump_sits_where_q_crossed() -> None:
    fluid = weighted("wcc_md", [2, 1], 5.0)
    cycle = limit_cycle(fluid)
    before, after = cycle.orbit.slope(1 - 1e-6), cycle.orbit.slope(1 + 1e-6)
    windows, past = cycle.orbit.at(1.0)[:-1], cycle.orbit.at(0.0)[:-1]
    assert after[:-1] - before[:-1] == pytest.approx(-fluid.decrease * windows * past, rel=1e-4)


@pytest.mark.parametrize(
    ("scheme", "wbar", "psi", "ratio"),
    [
        ("wcc_ai", 5.0, 1.0, 1.516),
        ("wcc_ai", 100.0, 1.0, 1.99),
        ("wcc_md", 5.0, 1.0, 1.369),
        ("wcc_md", 100.0, 1.0, 1.004),
    ],
)
def test_ratios_are_those_of_an_independent_integration(scheme: str, wbar: float, psi: float, ratio: float) -> None:
    assert analyse(weighted(scheme, [2, 1], wbar, psi)).ratio() == pytest.approx(ratio, rel=0.003)


def test_a_link_whose_queue_never_empties_is_full() -> None:
    cycle = limit_cycle(weighted("wcc_ai", [2, 1], 10.0))
    assert throughputs(cycle.orbit, cycle.period).sum() == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("scheme", ["wcc_ai", "wcc_md"])
def test_three_ways_to_the_multipliers_agree(scheme: str) -> None:
    cycle = limit_cycle(weighted(scheme, [2, 1], 5.0))
    values = np.sort(np.abs(np.linalg.eigvals(return_matrix(cycle))))[::-1]
    trivial, *others = history_multipliers(cycle)
    assert trivial == pytest.approx(1, abs=0.01)
    assert others[:2] == pytest.approx(values, rel=0.02)
    assert decay(cycle) == pytest.approx(values[0], rel=0.15)


def test_windows_come_back_to_the_fixed_point_at_the_rate_of_its_root() -> None:
    fluid = weighted("wcc_ai", [2, 1], 2.0)
    found = analyse(fluid)
    assert found.period is None
    disturbed = fluid.fixed_point * 1.05
    orbit = integrate(fluid, disturbed, Past(lambda _: disturbed, was_full=True), until=24.0)
    early, late = (abs(orbit.at(t) - fluid.fixed_point)[0] for t in (12, 24))
    assert (late / early) ** (1 / 12) == pytest.approx(found.multiplier, rel=5e-3)


def test_a_start_above_full_is_known_a_delay_later() -> None:
    fluid = weighted("wcc_ai", [2, 1], 2.0)
    orbit = integrate(fluid, fluid.fixed_point * 1.05, until=30.0)
    assert orbit.state == pytest.approx(fluid.fixed_point, rel=1e-4)


def test_five_to_one_rises_twice_a_period() -> None:
    found = analyse(weighted("wcc_ai", [5, 1], 5.0))
    assert (found.rises, found.is_stable) == (2, True)


def test_no_cycle_where_windows_rest() -> None:
    with pytest.raises(NoOrbitError, match="windows are constant"):
        limit_cycle(weighted("wcc_ai", [2, 1], 3.0))


def test_the_command_prints_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fluid", "wcc_ai", "--wbar", "3,5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [point["period"] is None for point in found["points"]] == [True, False]
    assert found["ratio_at_large_wbar"] == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["reno"], "no fluid model for `reno`"),
        (["wcc_md", "--weights", "0.4,1"], "needs weights above 0.5"),
        (["wcc_ai", "--wbar", "x"], "must be numbers"),
        (["wcc_ai", "--wbar", "0"], "wbar must be positive"),
    ],
)
def test_bad_input_is_reported(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fluid", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_cycle_that_remembers_is_found_and_fades_as_its_disturbance() -> None:
    # Just above the threshold, data are lost in each delay before the queue fills, so that no matrix is small.
    cycle = limit_cycle(weighted("wcc_ai", [5, 4], 6.1))
    assert not cycle.is_forgetful
    assert cycle.orbit.at(cycle.period)[:-1] == pytest.approx(cycle.start[:-1], rel=1e-7)
    assert throughputs(cycle.orbit, cycle.period).sum() == pytest.approx(1, abs=1e-6)


def test_the_decay_of_a_disturbance_is_the_largest_multiplier() -> None:
    cycle = limit_cycle(weighted("wcc_ai", [5, 5], 7.5))
    largest = np.max(np.abs(np.linalg.eigvals(return_matrix(cycle))))
    assert return_decay(cycle) == pytest.approx(largest, rel=0.01)
