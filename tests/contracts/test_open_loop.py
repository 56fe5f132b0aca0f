"""Contracts in open loop: zero crossings of maps, and fixed points of CCAs with prescribed observations."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from fairweir.cli.contract_open_loop import read_held
from fairweir.contracts.action_map import Crossing, Held, crossings, load_action
from fairweir.contracts.open_loop import Bench, held_contract, of_map, settled
from fairweir.errors import CcaError, ConfigError
from fairweir.play.batch import Archive
from fairweir.units import Duration, Rate

BRIEF = Bench(duration=Duration.from_s(32))


def astraea(c0: float, s0: float):  # type: ignore[no-untyped-def]
    """The surrogate of a learned CCA: its action falls from 1 to -1 across the line C0 (1 - s/S0)."""
    return lambda rate, qdelay: max(-1.0, min(1.0, 5.0 * (1.0 - rate / c0 - qdelay / s0)))


@pytest.mark.parametrize(("c0", "s0"), [(100.0, 40.0), (7.0, 150.0)])
def test_a_linear_map_gives_back_its_constants(c0: float, s0: float) -> None:
    held = Held(low=0.05 * s0, high=0.95 * s0)
    result = of_map("astraea", held, crossings(astraea(c0, s0), held))
    assert result.best is not None
    assert result.best.family == "linear"
    assert result.best.parameters["b"] == pytest.approx(s0, rel=1e-3)
    assert result.best.parameters["a"] * s0 == pytest.approx(c0, rel=1e-3)


def test_beyond_its_intercept_a_map_has_no_fixed_point() -> None:
    held = Held(low=10.0, high=80.0)
    result = of_map("astraea", held, crossings(astraea(100.0, 40.0), held))
    assert result.has_contract
    assert result.flags == ["no rate at which growth turns into decline at 45.4 to 80 ms"]


def test_crossings_tell_rests_from_where_a_flow_is_driven_away() -> None:
    def action(rate: float, qdelay: float) -> float:
        return -(rate - 1.0) * (rate - 10.0) * (rate - 100.0)

    (found,) = crossings(action, Held(low=1.0, high=1.0, count=1))
    assert found.rates_mbps == pytest.approx((1.0, 100.0))
    assert found.repelling_mbps == pytest.approx((10.0,))
    result = of_map("two", Held(), [Crossing(s, found.rates_mbps) for s in Held().values])
    assert result.outcome == "none"
    assert "2 rates at which growth turns into decline" in result.reason


def test_a_plateau_stands_for_its_middle() -> None:
    (found,) = crossings(lambda rate, q: (rate < 4.0) - (rate > 9.0), Held(low=1.0, high=1.0, count=1))
    assert found.rates_mbps == pytest.approx((6.0,), rel=0.1)


def test_a_map_that_rises_with_congestion_is_no_contract() -> None:
    held = Held()
    assert of_map("rising", held, crossings(lambda rate, q: q - rate, held)).reason.startswith("the rate does not fall")


def test_a_map_that_fails_or_gives_no_number_is_named(tmp_path: Path) -> None:
    with pytest.raises(CcaError, match=r"failed at rate 0\.001 Mbps and statistic 2: ZeroDivisionError"):
        crossings(lambda rate, q: 1.0 / 0.0, Held())
    with pytest.raises(CcaError, match="returned no number at rate"):
        crossings(lambda rate, q: math.nan, Held())
    file = tmp_path / "mine.py"
    file.write_text("def action(rate, s):\n    return s - rate\nclass Mine:\n    pass\nvalue = 3\n")
    assert load_action(f"{file}:Mine") is None
    loaded = load_action(f"{file}:action")
    assert loaded is not None
    assert loaded(1.0, 3.0) == 2.0
    for name in ("value", "nope"):
        with pytest.raises(CcaError, match=f"no function `{name}`"):
            load_action(f"{file}:{name}")


@pytest.mark.parametrize(
    ("ends", "why"),
    [
        ([(5.0, 5.2), (4.9, 5.0)], ""),
        ([(5.0, 7.0), (5.0, 5.0)], "it does not converge"),
        ([(5.0, 5.0), (16.0, 16.0)], "its equilibrium depends on the initial rate"),
        ([(95.0, 95.0), (95.0, 95.0)], "it fills 100 Mbps"),
        ([(0.0, 0.0), (5.0, 5.0)], "it sends nothing"),
    ],
)
def test_runs_are_a_rest_only_if_they_end_and_agree(ends: list[tuple[float, float]], why: str) -> None:
    assert settled(1.0, ends, Rate.from_mbps(100)).why_not == why


@pytest.mark.parametrize(
    ("cca", "held", "family", "decay", "rate"),
    [
        ("expo", Held(low=50.0, high=90.0, count=6), "exponential", 10.0 / math.log(2.0), 1024.0),
        ("poseidon", Held(low=20.0, high=45.0, count=6), "exponential", 50.0 / math.log(1000.0), 1000.0),
    ],
)
def test_ccas_give_back_their_constants(cca: str, held: Held, family: str, decay: float, rate: float) -> None:
    best = held_contract(cca, held, Archive(None), bench=BRIEF).best
    assert best is not None
    assert best.family == family
    assert best.parameters["b"] == pytest.approx(decay, rel=0.1)
    assert best.parameters["a"] == pytest.approx(rate, rel=0.1)


def test_fast_rests_at_its_packets_by_the_delay() -> None:
    result = held_contract("fast", Held(low=5.0, high=40.0, count=5), Archive(None), bench=BRIEF)
    assert result.exponent is not None
    assert result.exponent.value == pytest.approx(-1.0, abs=0.03)
    assert result.best is not None
    assert result.best.parameters["a"] == pytest.approx(20 * 12.0, rel=0.05)  # alpha packets of 12 kbit


def test_ledbat_looks_at_delay_alone_and_runs_away() -> None:
    result = held_contract(
        "ledbat", Held(low=5.0, high=40.0, count=5), Archive(None), bench=Bench(link=Rate.from_mbps(20))
    )
    assert result.outcome == "none"
    assert "it fills 20 Mbps" in result.reason


def test_reno_rests_by_the_square_root_of_its_losses() -> None:
    held, bench = Held("loss_rate", 1e-3, 2e-2, 6), Bench(loss_duration=Duration.from_s(240))
    result = held_contract("reno", held, Archive(None), bench=bench)
    assert result.power_exponent is not None
    assert result.power_exponent.value == pytest.approx(-0.5, abs=0.06)


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("qdelay=2ms..50ms", Held()),
        ("loss=0.01%..1%", Held("loss_rate", 1e-4, 1e-2)),
    ],
)
def test_fixed_statistics_are_parsed(text: str, held: Held) -> None:
    assert read_held(text) == held


@pytest.mark.parametrize("text", ["", "rate=1..2", "qdelay=2ms", "qdelay=5ms..2ms", "loss=0%..1%", "qdelay=2..5ms"])
def test_statistics_that_cannot_be_fixed_are_rejected(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_held(text)
    assert refused.value.key == "--held"
    assert refused.value.hint
