"""FRCC's probes and cc_probe_slow's cycle: the data of figures and tables."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairweir.judging.outcome import Outcome
from fairweir.papers.thesis import probes
from fairweir.papers.thesis.probe_slow import ALPHA, BELIEVED, T_STAR, D, cycle
from fairweir.play.batch import Archive
from fairweir.reproduce.computed import Computation, judge_number

NOWHERE = Archive(None)


def outcomes(found: Computation) -> set[Outcome]:
    return {judge_number("test", number).outcome for number in found.numbers}


def test_published_statements_on_probes_hold() -> None:
    for compute in (probes.probe_sizes, probes.trains, probes.oscillations, probes.paced, probes.aligned_intervals):
        assert outcomes(compute(NOWHERE)) == {Outcome.HOLDS}, compute


def test_at_rest_a_probe_is_worth_its_packets_only_if_rtprops_agree() -> None:
    assert probes.persistent_excess(40, 40) == pytest.approx(1.0)
    short, long = probes.persistent_excess(20, 100), probes.persistent_excess(100, 20)
    assert long < 1 < short


@given(st.fractions(Fraction(1, 2), 4), st.fractions(0, 3))
def test_a_cycle_keeps_every_byte(rate: Fraction, buffer: Fraction) -> None:
    phases = cycle(rate, buffer)
    sent, gone = sum(p.sent for p in phases), sum(p.serviced + p.lost for p in phases)
    assert sent == gone + phases[-1].queue
    assert all(0 <= p.queue <= buffer and p.lost >= 0 and 0 <= p.utilization <= 1 for p in phases)


@given(st.fractions(0, 1))
def test_all_paths_between_the_corners_lose_alike(part: Fraction) -> None:
    # The line from P_1 to P_2: rates between C_L,lambda and twice that, the buffer what is left of C_L,lambda D.
    rate = BELIEVED * (1 + part * D / T_STAR)
    assert cycle(rate, BELIEVED * D - (rate - BELIEVED) * T_STAR)[0].lost == ALPHA
