"""Compute each number of docs/derivations.md from its definition."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
import sympy as sp

from fairweir.audit.exhibits import thresholds
from fairweir.audit.exhibits.rtprops import frcc_ratio
from fairweir.contracts.unfairness import UNFAIR_JAIN, UNFAIR_RATIO
from fairweir.judging.metrics import jain
from fairweir.units import Duration

PAGE = (Path(__file__).parents[2] / "docs" / "derivations.md").read_text(encoding="utf-8")


def test_a_bound_on_n_c_bounds_the_ratio_by_one_less() -> None:
    slow, fast = sp.symbols("slow fast", positive=True)
    n_c = (slow + fast) / slow
    assert sp.simplify(n_c - 1 - fast / slow) == 0
    assert thresholds.BOUNDED.bound == pytest.approx(6.6 - 1)


def test_frcc_with_different_rtprops_rests_at_the_closed_form() -> None:
    """Every equation of the derivation, solved for three flows without using its result."""
    theta, gamma_d, capacity = Fraction(10), Fraction(40), Fraction(1)
    rtprops = [Fraction(10), Fraction(20), Fraction(30)]
    rates = sp.symbols("r1:4", positive=True)
    queue = sp.Symbol("q", positive=True)
    n_t = queue / theta
    excess = gamma_d  # N_C = gamma N_T D / excess = N_T
    rtts = [rtprop + queue for rtprop in rtprops]
    equations = [sum(rates) - capacity]
    for rate, rtt in zip(rates, rtts, strict=True):
        probe = gamma_d * n_t * rate
        others = sum(r * t / (t + excess) for r, t in zip(rates, rtts, strict=True))
        equations.append(others + probe / (rtt + excess) - capacity)
    start = [0.3, 0.33, 0.36, 25.0]
    found = [float(value) for value in sp.nsolve(equations, [*rates, queue], start)]
    assert found[3] == pytest.approx(3 * 10)
    assert found[2] / found[0] == pytest.approx(1.25)
    assert frcc_ratio((Duration.from_ms(10), Duration.from_ms(20), Duration.from_ms(30))) == pytest.approx(1.25)
    assert frcc_ratio((Duration.from_ms(4), Duration.from_ms(256))) == pytest.approx(316 / 64)
    assert "throughput ratio is 1.25" in PAGE
    assert "throughput ratio is 4.94" in PAGE


def test_frcc_s_clamp_on_n_c() -> None:
    theta, rtprop = Fraction(1), Fraction(5)
    growth = [(rtprop + Fraction(13, 10) * theta * n) / (rtprop + theta * n) for n in (1, 2)]
    assert [round(float(g), 3) for g in growth] == [1.05, 1.086]
    assert "1.05 for N_T = 1 and 1.086 for N_T = 2" in PAGE


def test_copa_after_one_early_packet() -> None:
    packets_per_s = 1 / (Fraction(1, 2) * Fraction(1, 1000))
    mbps = packets_per_s * 1500 * 8 / 10**6
    assert mbps == 24
    assert mbps / 120 == Fraction(1, 5)


def test_weighted_aimd_with_synchronous_losses() -> None:
    a = sp.Symbol("a", positive=True)
    half = sp.Rational(1, 2)
    laws = {"wcc_ai": (a, half), "ewtcp": (a**2, half), "multcp": (a, 1 / (2 * a)), "wcc_md": (1, 1 / (2 * a))}
    for name, (rise, cut) in laws.items():
        mean = rise / cut * (1 - cut / 2)
        ratio = float((mean.subs(a, 2) / mean.subs(a, 1)).evalf())
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| {name} |"))
        assert float(row.split("|")[-2]) == pytest.approx(ratio, abs=0.005)


def test_single_laws() -> None:
    assert pytest.approx(1.054, abs=5e-4) == (0.4 * 3.7 / (4 * 0.3)) ** 0.25
    window, marks = sp.symbols("w f", positive=True)
    assert sp.solve(window * marks / 2 - 1 / marks, window) == [2 / marks**2]
    rate, rtt, rtprop, alpha = sp.symbols("r rtt rtprop alpha", positive=True)
    (bbr,) = sp.solve(sp.Eq(rate * rtt, 2 * rate * rtprop + alpha), rate)
    assert sp.simplify(bbr - alpha / (rtt - 2 * rtprop)) == 0


def test_settled_vegas_flows_are_not_called_unfair() -> None:
    assert jain([2, 5]) == pytest.approx(0.845, abs=5e-4)
    assert jain([2, 5]) > UNFAIR_JAIN
    assert UNFAIR_RATIO > 5 / 2
    assert jain([2, 1]) == pytest.approx(thresholds.CONVERGED.bound)
