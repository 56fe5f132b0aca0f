"""The hunt finds the minimum jitter for known response functions, and in the simulator if the theory has a value."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.summaries import filled

from fairweir.audit.exhibits.thresholds import BOUNDED
from fairweir.errors import CcaError
from fairweir.formal.frcc.lemmas import PUBLISHED
from fairweir.hunting.result import BOUND, BOUND_REASON, FRCC_RATIO, save
from fairweir.hunting.search import PRECISION, hunt
from fairweir.hunting.space import KINDS, Space, Spot, scenario
from fairweir.play.measure import Measured, RunFault, here, packets
from fairweir.play.worker import play
from fairweir.units import Duration, Rate

Response = Callable[[str, float, float, float], float]
"""(kind, D in ms, rate in Mbps, duration in s) -> share of the flow with jitter; for kind "none", of any flow."""

SMALL = Space(
    kinds=("offset", "uniform"),
    rates=(Rate.from_mbps(6), Rate.from_mbps(24)),
    buffers=("4bdp",),
    d=(Duration.from_ms(1), Duration.from_ms(10), Duration.from_ms(40)),
)


class World:
    """A measure that computes results with a response function and records its calls."""

    def __init__(self, share: Response, *, loss: float = 0.0) -> None:
        self.share, self.loss = share, loss
        self.asked: list[dict[str, Any]] = []

    def __call__(self, scenarios: Sequence[dict[str, Any]]) -> list[Measured]:
        self.asked += scenarios
        return [self.answer(s) for s in scenarios]

    def answer(self, s: dict[str, Any]) -> Measured:
        kind, d_ms = jitter_of(s["flow"][0])
        rate = Rate.parse(s["link"]["bottleneck"]["rate"]).mbps
        share = self.share(kind, d_ms, rate, Duration.parse(s["duration"]).s)
        # Seeds move the share by a per cent or two, up and down.
        share *= 1.0 + 0.02 * math.sin(float(s["seed"]))
        lost = round(1000 * self.loss)
        settled = {"lost_pkts": lost, "delivered_pkts": 1000 - lost}
        return filled({"flows": [{"throughput_mbps": part * rate, **settled} for part in (share, 1.0 - share)]})

    @property
    def packets(self) -> int:
        return sum(
            packets(Rate.parse(s["link"]["bottleneck"]["rate"]), Duration.parse(s["duration"])) for s in self.asked
        )


def jitter_of(flow: dict[str, Any]) -> tuple[str, float]:
    """Return kind and D (ms) of a flow's table."""
    table = flow.get("jitter") or flow.get("ack_jitter")
    if table is None:
        return "none", 0.0
    text = next(table[key] for key in ("delay", "max", "hold", "period", "offset", "bound") if key in table)
    return {"constant": "offset"}.get(table["kind"], table["kind"]), Duration.parse(text).ms


def vegas_like(kind: str, d_ms: float, rate: float, duration: float) -> float:
    """A CCA that keeps three packets in the queue; the victim counts the jitter as queueing: r_1 (D + 36/r_2) = 36."""
    if kind != "offset":
        return 0.5
    low, high = 0.0, 0.5
    for _ in range(60):
        mid = (low + high) / 2
        low, high = (mid, high) if 36.0 / (mid * rate) - 36.0 / ((1 - mid) * rate) > d_ms else (low, mid)
    return low


def smallest_offset_ms(rate: float) -> float:
    """Return the D at which `vegas_like` reaches the bound."""
    share = 1.0 / (1.0 + BOUND)
    return 36.0 / rate * (1.0 / share - 1.0 / (1.0 - share))


def test_the_smallest_d_is_found_to_the_precision_promised() -> None:
    world = World(vegas_like)
    result = hunt("fake", measure=world, space=SMALL)
    assert result.outcome == "starvation"
    assert result.kind == "offset"
    assert result.d_ms is not None
    assert result.d_below_ms is not None
    # The ratio must exceed the bound for every seed; the lowest is two percent below the mean.
    exact = smallest_offset_ms(24.0)
    assert exact <= result.d_ms <= 1.05 * PRECISION * exact
    assert result.d_below_ms < result.d_ms <= 1.001 * PRECISION * result.d_below_ms
    assert result.ratio is not None
    assert result.ratio.lo > BOUND
    assert result.control is not None
    assert result.control.hi < 1.2
    assert result.victim == "jittered"
    assert result.smallest_d_ms["uniform"] is None
    assert result.runs == len(world.asked)
    assert result.packets == world.packets


def test_confirmation_uses_seeds_that_the_search_has_not_seen() -> None:
    world = World(vegas_like)
    result = hunt("fake", measure=world, space=SMALL)
    searched = {s["seed"] for s in world.asked[: len([d.ms for d in SMALL.d])]}
    assert searched.isdisjoint(result.seeds)
    assert len(result.seeds) >= 5


def test_a_ratio_that_grows_with_the_rate_is_starvation_and_one_that_does_not_is_not() -> None:
    growing = hunt("fake", measure=World(vegas_like), space=SMALL)
    rate = next(g for g in growing.growth if g.axis == "rate_mbps")
    assert rate.exponent == pytest.approx(1.0, abs=0.15)

    def bounded(kind: str, d_ms: float, rate: float, duration: float) -> float:
        return 1.0 / 11.0 if kind == "uniform" and d_ms >= 5.0 else 0.5

    result = hunt("fake", measure=World(bounded), space=SMALL)
    assert result.outcome == "bounded-unfairness"
    assert result.found
    assert result.kind == "uniform"
    assert result.d_ms == pytest.approx(5.0, rel=PRECISION - 1.0)
    assert all(abs(g.exponent) < 0.1 for g in result.growth)


def test_the_scenario_is_made_as_small_as_the_claim_allows() -> None:
    def anywhere(kind: str, d_ms: float, rate: float, duration: float) -> float:
        return 0.02 if kind == "uniform" and d_ms >= 3.0 else 0.5

    result = hunt("fake", measure=World(anywhere), space=SMALL)
    assert result.rate_mbps in (1.5, 6.0)
    assert result.duration_s == SMALL.duration.s / 4

    def only_long(kind: str, d_ms: float, rate: float, duration: float) -> float:
        return 0.02 if kind == "uniform" and d_ms >= 3.0 and duration >= SMALL.duration.s else 0.5

    assert hunt("fake", measure=World(only_long), space=SMALL).duration_s == SMALL.duration.s


def test_unfairness_that_time_cures_is_not_claimed() -> None:
    def transient(kind: str, d_ms: float, rate: float, duration: float) -> float:
        return 0.02 if kind == "offset" and duration <= SMALL.duration.s else 0.5

    result = hunt("fake", measure=World(transient), space=SMALL)
    assert result.outcome == "none"
    assert result.largest_ratio is not None
    assert result.largest_ratio > BOUND
    assert result.text.startswith("no ratio above 7 found up to D = 40 ms, 6 to 24 Mbps")


def test_flows_that_differ_without_jitter_are_not_blamed_on_jitter() -> None:
    def unequal(kind: str, d_ms: float, rate: float, duration: float) -> float:
        return 0.01

    result = hunt("fake", measure=World(unequal), space=SMALL)
    assert result.found
    assert result.kind == "none"
    assert result.d_ms == 0.0
    assert "without jitter" in result.text

    def unequal_when_fast(kind: str, d_ms: float, rate: float, duration: float) -> float:
        return (
            (0.01 if duration <= SMALL.duration.s else 0.5) if rate > 20.0 else vegas_like(kind, d_ms, rate, duration)
        )

    result = hunt(
        "fake", measure=World(unequal_when_fast), space=SMALL.but(rates=(Rate.from_mbps(12), Rate.from_mbps(24)))
    )
    assert result.left_out == ["24 Mbps, 4bdp"]
    assert result.rate_mbps == 12.0
    assert result.d_ms == pytest.approx(smallest_offset_ms(12.0), rel=1.05 * PRECISION - 1.0)


def test_shallow_buffers_are_tried_only_where_the_deep_one_overflows() -> None:
    both = SMALL.but(buffers=("4bdp", "1bdp"))

    def buffers(world: World) -> set[str]:
        hunt("fake", measure=world, space=both)
        return {s["link"]["bottleneck"]["buffer"] for s in world.asked}

    assert buffers(World(vegas_like)) == {"4bdp"}
    assert buffers(World(vegas_like, loss=0.01)) == {"4bdp", "1bdp"}


def test_the_search_stays_within_its_budget() -> None:
    for budget in (1_000_000, 3_000_000, 20_000_000):
        world = World(vegas_like)
        result = hunt("fake", measure=world, space=SMALL, packet_budget=budget)
        assert world.packets <= budget
        assert result.packets == world.packets
    cut = hunt("fake", measure=World(vegas_like), space=SMALL, packet_budget=1_000_000)
    assert cut.budget_exhausted
    assert cut.searched_rates_mbps == [6.0]


def test_the_same_question_has_the_same_answer() -> None:
    first, second = (hunt("fake", measure=World(vegas_like), space=SMALL) for _ in range(2))
    assert first.model_dump_json() == second.model_dump_json()


def test_runs_that_fail_are_reported_not_counted() -> None:
    def broken(scenarios: Sequence[dict[str, Any]]) -> list[Measured]:
        return [RunFault("error", "cwnd is NaN") for _ in scenarios]

    result = hunt("broken", measure=broken, space=SMALL)
    assert result.outcome == "failed"
    assert "cwnd is NaN" in result.text

    world = World(vegas_like)

    def broken_under_uniform(scenarios: Sequence[dict[str, Any]]) -> list[Measured]:
        answers = world(scenarios)
        return [
            RunFault("timeout", "did not end") if jitter_of(s["flow"][0])[0] == "uniform" else answer
            for s, answer in zip(scenarios, answers, strict=True)
        ]

    result = hunt("fake", measure=broken_under_uniform, space=SMALL)
    assert result.kind == "offset"
    assert result.faults == ["did not end"]


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_every_kind_makes_a_scenario_that_runs(kind: str) -> None:
    spot = Spot(kind, Duration.from_ms(8), Rate.from_mbps(6), "4bdp", Duration.from_s(4))
    summary = play(scenario("reno", Space(), spot, seed=3))
    assert len(summary.flows) == 2
    assert all(flow.delivered_pkts > 100 for flow in summary.flows)


def test_vegas_starves_in_the_simulator_and_the_file_replays(tmp_path: Path) -> None:
    """Three packets at 24 Mbps take 1.5 ms, so about 10 ms of jitter make the link appear seven times slower."""
    space = Space(
        kinds=("virtual-link",),
        rates=(Rate.from_mbps(24),),
        buffers=("4bdp",),
        d=(Duration.from_ms(2), Duration.from_ms(8), Duration.from_ms(32)),
        duration=Duration.from_s(40),
    )
    result = hunt("vegas", measure=here, space=space)
    assert result.found
    assert result.victim == "jittered"
    assert result.d_ms is not None
    assert 2.0 < result.d_ms <= 32.0
    command = save(result, tmp_path / "starve.toml")
    assert command == f"fairweir run {tmp_path / 'starve.toml'}"
    saved = tomllib.loads((tmp_path / "starve.toml").read_text(encoding="utf-8"))
    ratio = play(saved).max_min_ratio
    assert ratio is not None
    assert ratio > BOUND


def test_nothing_found_cannot_be_saved(tmp_path: Path) -> None:
    result = hunt("fake", measure=World(lambda kind, d_ms, rate, duration: 0.5), space=SMALL)
    assert result.outcome == "none"
    with pytest.raises(ValueError, match="no scenario"):
        save(result, tmp_path / "none.toml")


def test_an_unknown_cca_is_an_error_not_a_finding() -> None:
    with pytest.raises(CcaError, match="no congestion controller `nosuch`"):
        hunt("nosuch", measure=here, space=SMALL)


def test_the_ratio_proved_for_frcc_has_one_value_everywhere() -> None:
    assert float(PUBLISHED.ratio) == FRCC_RATIO == BOUNDED.bound
    for text in (BOUND_REASON, BOUNDED.source):
        assert f"{FRCC_RATIO:g}" in text
        assert "N_C - 1" in text
    assert "6.6 proved" not in BOUND_REASON
