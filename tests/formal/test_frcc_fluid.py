"""FRCC in the fluid model: equilibria of queues and of rounds, and the figures computed from them."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairweir.formal.frcc import maps
from fairweir.formal.frcc.jittery import PROVED, STATED, State, any_bend, step
from fairweir.formal.frcc.lemmas import PUBLISHED
from fairweir.papers.thesis import region
from fairweir.papers.thesis.frcc_fluid import Network, NoFixedPointError, one_link, parking_lot, shares_of_one_link
from fairweir.papers.thesis.frcc_packets import on_one_link, on_parking_lot, play
from fairweir.papers.thesis.portraits import after
from fairweir.papers.thesis.ratios import (
    HOPS,
    PROBES,
    SMALL_PROBES,
    Reading,
    ratio_at_rest,
    ratio_by_hops,
    ratio_by_rtts,
    ratio_by_rtts_closed,
)
from fairweir.play.batch import Archive
from fairweir.play.run import run
from fairweir.scenario.dumbbell import dumbbell
from fairweir.scenario.model import Scenario

PATH = maps.Path(r=1.0, theta=0.2)


@pytest.mark.parametrize("seed", range(4))
def test_queues_settle_where_full_links_carry_their_rate_and_empty_ones_less(seed: int) -> None:
    dice = np.random.default_rng(seed)
    flows, links = 6, 3
    routes = (dice.random((flows, links)) < 0.5).astype(float)
    routes[:links] = np.eye(links)
    network = Network(dice.uniform(1, 50, flows), routes)
    windows = dice.uniform(1, 40, flows)
    q = network.settle(windows)
    carried = routes.T @ network.rates(windows, q)
    assert np.all(q >= 0)
    assert carried[q > 0] == pytest.approx(1)
    assert np.all(carried[q == 0] <= 1 + 1e-12)


def test_a_link_that_is_not_full_has_no_queue() -> None:
    assert one_link([10, 20]).settle(np.array([2.0, 4.0])) == pytest.approx([0.0], abs=0)


def test_a_probe_on_one_link_with_equal_rtprops_adds_its_own_transmission_time() -> None:
    network = one_link([10, 10])
    windows = np.array([12.0, 18.0])
    q = network.settle(windows)
    n_t, rate = q[0] / network.theta, network.rates(windows, q)[0]
    assert network.excess_delay(windows, q, 0) == pytest.approx(n_t * rate * network.gamma_d)


@pytest.mark.parametrize(
    ("rtprops", "published"), [([10, 20, 30], 1.25), ([4, 256], 4.94), ([7, 7, 7, 7], 1.0), ([5, 100, 20], None)]
)
def test_rounds_converge_to_the_closed_form(rtprops: list[float], published: float | None) -> None:
    rates, q = one_link(rtprops).fixed_point()
    assert rates == pytest.approx(shares_of_one_link(rtprops), rel=1e-9)
    assert q == pytest.approx([10.0 * len(rtprops)], rel=1e-9)
    if published is not None:
        assert rates.max() / rates.min() == pytest.approx(published, abs=0.005)


def test_the_closed_form_is_that_of_figure_7_16() -> None:
    for rtts in (1.5, 8.0, 64.0):
        for probe in PROBES[::5]:
            assert ratio_by_rtts(rtts, probe) == pytest.approx(ratio_by_rtts_closed(rtts, probe), rel=1e-9)


@pytest.mark.parametrize("reading", SMALL_PROBES)
def test_a_parking_lot_lies_between_hops_and_their_square_if_rtts_are_equal(reading: Reading) -> None:
    for hops in HOPS:
        by_probe = [ratio_by_hops(hops, probe, reading) for probe in PROBES]
        assert by_probe == sorted(by_probe, reverse=True)
        assert hops < by_probe[-1] < by_probe[0] < hops**2
        assert ratio_by_hops(hops, 1e-6, reading) == pytest.approx(SMALL_PROBES[reading](hops), rel=1e-5)


def test_readings_of_a_short_flows_probe() -> None:
    # "every hop" is the published code's (its output), "free queues" the fluid model's with the same RTT for all flows.
    assert ratio_by_hops(3, 2**-7) == pytest.approx(8.9477755, rel=1e-7)
    assert ratio_by_hops(3, 2**-7, "own hop") == pytest.approx(7.2145524, rel=1e-7)
    for hops, probe in ((2, 0.25), (3, 1.0), (5, 4.0)):
        ratio = ratio_by_hops(hops, probe, "free queues")
        rates = np.array([1.0] + [ratio] * hops) / (1 + ratio)
        queue, rtt = 10.0, 10.0 * hops + 1
        network = parking_lot(hops, rtt - hops * queue, rtt - queue, theta=queue, gamma_d=probe * rtt)
        long, short = (network.excess_delay(rates * rtt, np.full(hops, queue), flow) for flow in (0, 1))
        assert long == pytest.approx(short, rel=1e-9)


def test_equal_rtprops_over_hops_are_not_equal_rtts() -> None:
    # The long flow's RTT holds every hop's queue; with small probes that alone takes it below the published range.
    assert ratio_at_rest(parking_lot(2, 10, 10)) == pytest.approx(2.000, abs=1e-3)
    assert ratio_at_rest(parking_lot(3, 10, 10)) == pytest.approx(3.228, abs=1e-3)
    assert ratio_at_rest(parking_lot(2, 10, 10, gamma_d=4)) < 2
    # As the figure has it, RTTs equal (50 ms here), the ratio is larger.
    network = parking_lot(3, 10, 10)
    _, q = network.fixed_point()
    long_rtt, short_rtt = 10 + q.sum(), 10 + q[0]
    assert long_rtt > 1.9 * short_rtt
    assert ratio_by_hops(3, q[0] / 10 * 40 / long_rtt, "free queues") > 3.3


def test_windows_without_fixed_point_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairweir.papers.thesis.frcc_fluid._ROUNDS", 3)
    with pytest.raises(NoFixedPointError, match="do not converge in 3 rounds"):
        one_link([4, 256]).fixed_point()


@pytest.mark.parametrize("rtprops", [[10, 20, 30]])
def test_packets_rest_there_too(rtprops: list[int], tmp_path: Path) -> None:
    shorter = on_one_link(rtprops).override({"duration": "300s", "warmup": "120s"})
    (runs,) = play({"one": shorter}, Archive(tmp_path)).values()
    mean = sum(run.last_by_first for run in runs) / len(runs)
    assert mean == pytest.approx(1.25, rel=0.12)


def test_a_flow_that_meets_more_probes_yields(tmp_path: Path) -> None:
    def lot(slots: int) -> Scenario:
        return on_parking_lot(3, slots).override({"duration": "400s", "warmup": "100s"})

    played = play({slots: lot(slots) for slots in (6, 60)}, Archive(tmp_path))
    few, many = (sum(run.others_by_first for run in played[slots]) / 3 for slots in (6, 60))
    assert few > 1.2 * many


def test_maps_do_what_the_figure_shows() -> None:
    for move in (maps.together, maps.in_turn, maps.in_turn_without_filters):
        n_c, n_t = after(200, move)
        assert np.max(np.abs(n_c - 2)) < 1e-9
        assert np.max(np.abs(n_t - 2)) < 1e-9
    assert maps.second_sees_both(PATH, 3.0, 2.0)[0] < 3.0 < maps.first_sees_both(PATH, 3.0, 2.0)[0]
    # With updates one after another, a flow does not observe its own lengthening of the queue: the result equals that
    # of simultaneous updates.
    assert maps.in_turn(PATH, 2.5, 1.0) == pytest.approx(maps.together(PATH, 2.5, 1.0))
    assert maps.in_turn(PATH, 1.5, 3.0) != pytest.approx(maps.together(PATH, 1.5, 3.0))
    # The published figure has no filters: the second flow observes a longer queue too.
    assert maps.in_turn_without_filters(PATH, 2.5, 1.0) != pytest.approx(maps.together(PATH, 2.5, 1.0))
    assert maps.in_turn_without_filters(PATH, 1.5, 3.0) == pytest.approx(maps.in_turn(PATH, 1.5, 3.0))


@pytest.mark.parametrize("jitter", [PROVED, STATED], ids=["proved", "stated"])
def test_no_round_leaves_the_corners_of_the_figure(jitter: Any) -> None:
    dice = random.Random(6)  # noqa: S311
    for _ in range(500):
        state = State(Fraction(dice.randrange(5, 95), 100), Fraction(dice.randrange(1, 700), 100), Fraction(19, 10))
        to = step(jitter, state, (any_bend(jitter, dice), any_bend(jitter, dice)))
        ends = region.corners(jitter, float(1 / state.share), float(state.n_t), float(state.r))
        n_c, n_t = float(1 / to.share), float(to.n_t)
        assert min(c for c, _ in ends) - 1e-9 <= n_c <= max(c for c, _ in ends) + 1e-9
        assert min(t for _, t in ends) - 1e-9 <= n_t <= max(t for _, t in ends) + 1e-9


def test_the_region_of_figure_7_13_is_reached_to_its_edge() -> None:
    numbers = {(number.case, number.claim): number for number in region.jittery_link(Archive(None)).numbers}
    assert numbers["gamma_R as proved", "N_C stays in its range"].value == pytest.approx(float(PUBLISHED.n_c_high))
    ceiling = numbers["gamma_R as stated", "N_T stays below its upper bound"].value
    assert ceiling is not None
    assert 5.8 < ceiling < 5.9


FIXED_WINDOW = '''
import fairweir


class Fixed(fairweir.Cca):
    """Keeps its window."""

    def __init__(self, start: fairweir.Start, packets: int = 100) -> None:
        super().__init__(start)
        self.cwnd_bytes = packets * self.mss_bytes

    def on_ack(self, ack: fairweir.Ack) -> None:
        """Do nothing."""
'''


def spread_ms(start: str, folder: Path) -> float:
    """Largest spread of a flow's RTTs after 10 s, with windows of 100 and 300 packets; the second flow begins late."""
    (folder / "fixed.py").write_text(FIXED_WINDOW)
    ccas = [{"name": str(folder / "fixed.py:Fixed"), "packets": packets} for packets in (100, 300)]
    link = dumbbell(ccas, rate="48Mbps", rtprop="40ms", buffer="100bdp", duration="20s", warmup="10s")
    flows = run(link.override({"flow.1.start": start})).summary.document["flows"]
    return max(float(flow["rtt_ms"]["p99"] - flow["rtt_ms"]["p50"]) for flow in flows)


def test_lemma_c1_with_equal_rtprops_and_fixed_windows_rtts_do_not_vary(tmp_path: Path) -> None:
    # A packet takes 0.25 ms. The lemma excludes another change of the window in the measured time.
    assert spread_ms("100ms", tmp_path) < 0.26
    assert spread_ms("19s", tmp_path) > 10
