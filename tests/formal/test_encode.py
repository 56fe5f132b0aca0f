"""The encoding of a rule admits exactly the rate that the rule decides."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
import z3

from fairweir.ccas.beliefs import CCAC
from fairweir.ccas.rule import RULES, Rule
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.encode import attach
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.system import Sender, System
from fairweir.formal.models import MODELS

FILES = sorted(RULES.glob("*.toml"))
POINTS = 3

MINE = [
    'beliefs = "ccac"\nbranch = [{ when = ["qdel_L <= 1/2 R"], rate = "alpha - C_L" }, { rate = "3/2 alpha" }]',
    'beliefs = "ccac"\nbranch = [{ when = ["2 R > qdel_L", "C_U >= 2 C_L"], rate = "C_U - C_L" }, { rate = "0" }]',
    'beliefs = "ccac"\nbranch = [{ when = ["qdel_L >= 2 R"], rate = "C_L" }, { rate = "1/2 C_U - alpha" }]',
    'beliefs = "cbr-delay"\nbranch = [{ when = ["C_L_lambda R < q_U + MSS"], rate = "q_U/R" }, { rate = "alpha" }]',
]


def bare_system(rule: Rule, per_r: int) -> System:
    """Return a system whose beliefs are unconstrained variables."""
    system = System(MODELS["ccac"], Grid(points=per_r + POINTS, per_r=per_r), Buffer.INFINITE, [Sender.RATE])
    flow = system.flows[0]
    for name in rule.beliefs.names:
        if name != "qdel_L":
            flow.beliefs[name] = system.reals(name)
    most = 4 * per_r
    flow.delay = [system.bits("delay", t, most) for t in range(system.grid.points)]
    return system


def number(value: Fraction) -> z3.RatNumRef:
    return z3.RatVal(*value.as_integer_ratio())


@pytest.mark.parametrize("per_r", [1, 2])
@pytest.mark.parametrize(
    "rule",
    [Rule.load(file) for file in FILES] + [Rule.from_toml(f'name = "mine_{i}"\n{t}') for i, t in enumerate(MINE)],
    ids=lambda rule: rule.name,
)
def test_the_constraints_hold_for_the_rates_that_are_decided_and_no_others(rule: Rule, per_r: int) -> None:
    system = bare_system(rule, per_r)
    flow, delay, points = system.flows[0], system.grid.r_steps, system.grid.points
    # the minimum rate is a constraint of the system
    constraint = z3.And(*attach(rule, system), *(rate >= system.alpha for rate in flow.rate[delay:]))
    rng = random.Random(3)  # noqa: S311
    branches_taken = set()
    for _ in range(60):
        alpha = Fraction(rng.randint(1, 19), 100)
        values: list[tuple[z3.ExprRef, z3.ExprRef]] = [(system.alpha, number(alpha))]
        seen: list[dict[str, Fraction]] = []
        for t in range(points):
            beliefs = {
                name: Fraction(rng.choice([rng.randint(1, 400), 2, 50, 100, 150, 200]), 100)
                for name in rule.beliefs.names
                if name != "qdel_L"
            }
            waited = rng.randrange(len(flow.delay[t]))
            values += [(flow.beliefs[name][t], number(value)) for name, value in beliefs.items()]
            values += [(bit, z3.BoolVal(k <= waited)) for k, bit in enumerate(flow.delay[t]) if k]
            # qdel_L = max(0, delay - D), in R
            qdel_l = max(Fraction(0), Fraction(waited - system.grid.d_steps, per_r))
            seen.append({**beliefs, "qdel_L": qdel_l, "alpha": alpha})
        fixed = z3.substitute(constraint, *values)

        def holds(rates: list[Fraction], fixed: z3.ExprRef = fixed) -> bool:
            chosen = [(flow.rate[delay + i], number(rate)) for i, rate in enumerate(rates)]
            return bool(z3.is_true(z3.simplify(z3.substitute(fixed, *chosen))))

        decided = [rule.decide(seen[t - delay]) for t in range(delay, points)]
        branches_taken |= {rule.branch_of(seen[t - delay]) for t in range(delay, points)}
        assert holds(decided)
        for i, rate in enumerate(decided):
            for other in (rate + alpha / 7, rate - alpha / 7, alpha):
                assert holds([*decided[:i], other, *decided[i + 1 :]]) is (other == rate)
    assert branches_taken == set(range(len(rule.branches)))


def test_the_rule_is_a_group_of_its_own() -> None:
    rule = Rule.load(RULES / "cc_qdel.toml")
    assert rule.beliefs is CCAC
    system = bare_system(rule, 1)
    assert system.groups.get("rule 0") is None
    constraints = attach(rule, system)
    assert system.groups["rule 0"] == constraints
