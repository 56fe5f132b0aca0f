"""Contracts solved from fixed-point conditions, and their costs."""

from __future__ import annotations

import math

import pytest
import sympy as sp
from scipy.optimize import minimize_scalar

from fairweir.contracts.analytical import CONDITIONS, RTPROP, A, B, Condition, S, Setting, alpha_fair, costs
from fairweir.contracts.costs import Fold

BY_CCA = {name: condition for condition in CONDITIONS for name in condition.ccas}


@pytest.mark.parametrize(
    ("cca", "rate"),
    [
        ("vegas", A / S),
        ("copa", 1 / (A * S)),
        ("vegas, kernel_diff", A * RTPROP / (S * (RTPROP + S))),
        ("swift", A**2 / (S**2 * (RTPROP + S))),
        ("dctcp", 2 / (RTPROP * S**2)),
        ("expo", A * sp.exp(-S / B)),
    ],
)
def test_conditions_of_rest_give_the_published_contracts(cca: str, rate: sp.Expr) -> None:
    assert sp.simplify(BY_CCA[cca].rate - rate) == 0


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda c: c.ccas[0])
def test_every_contract_falls(condition: Condition) -> None:
    scale = 1e-4 if condition.fold is Fold.SURVIVAL else 1.0
    shift = 40.0 * condition.from_rtprop
    curve = condition.curve(shift + 0.5 * scale, shift + 100 * scale, 40.0, b=101.0)
    rates = [curve.f(shift + scale * s) for s in (0.5, 1.0, 5.0, 20.0, 99.0)]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] > 0


def test_costs_in_the_order_of_table_6_2() -> None:
    row = {name: costs(BY_CCA[name], Setting()) for name in ("reno", "vegas", "swift", "Astraea", "poseidon")}
    assert row["reno"].robustness == pytest.approx(math.sqrt(3.0))
    assert row["vegas"].robustness == pytest.approx(3.0)
    assert row["swift"].robustness == pytest.approx(9.0, rel=0.05)
    assert row["Astraea"].robustness > 10
    assert row["poseidon"].unfairness == pytest.approx(1.0)
    assert row["swift"].growth < row["vegas"].growth == pytest.approx(4.0)


@pytest.mark.parametrize(("alpha", "long"), [(1.0, 1 / 3), (2.0, math.sqrt(2) - 1)])
def test_alpha_fair_rates_maximise_the_utility(alpha: float, long: float) -> None:
    """Thesis Table 6.1, two hops; the utility maximized numerically agrees."""

    def lack(r: float) -> float:
        def utility(rate: float) -> float:
            return math.log(rate) if alpha == 1 else rate ** (1 - alpha) / (1 - alpha)

        return -(utility(r) + 2 * utility(1 - r))

    assert alpha_fair(alpha, 2)[0] == pytest.approx(long)
    assert minimize_scalar(lack, bounds=(0.01, 0.99), method="bounded").x == pytest.approx(long, abs=1e-4)
