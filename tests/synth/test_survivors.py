"""Compare the generator with the rules' decisions, candidate by candidate."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest

from fairweir.ccas.beliefs import CCAC
from fairweir.ccas.linear import Atom
from fairweir.synth.space import Candidate, Shape, Space, combinations
from fairweir.synth.survivors import Step, Survivors

HALF = Fraction(1, 2)


def of(*values: Fraction | int) -> list[Fraction]:
    return [Fraction(value) for value in values]


def small_space(shape: Shape, rates: int) -> Space:
    """Return a template with 4 rates and 7 conditions of both unit groups."""
    rate_group = combinations({Atom("C_U", 0): of(-1, 1), Atom("C_L", 0): of(-2, 2), Atom("alpha", 0): of(1)})
    time_group = combinations({Atom("qdel_L", 0): of(1), Atom("", 1): of(-1, 0, 1)})
    forms = combinations({Atom("C_L", 0): of(HALF, 2), Atom("alpha", 0): of(-1, 1)})
    return Space(CCAC, shape.tree(rates), rate_group + time_group, forms)


def all_candidates(space: Space) -> list[Candidate]:
    conditions, rates = range(len(space.conditions)), range(len(space.rates))
    n = space.n_conditions
    return [
        (*some, *others)
        for some in itertools.product(conditions, repeat=n)
        for others in itertools.product(rates, repeat=n + 1)
    ]


def random_trace(space: Space, dice: random.Random, steps: int) -> list[Step]:
    """Return a trace with random beliefs and the rates of one candidate, so that some candidates are eliminated."""
    rule = space.rule(dice.choice(all_candidates(space)), "any")
    trace = []
    for _ in range(steps):
        quantities = {
            "C_L": Fraction(dice.randint(1, 9), 10),
            "C_U": Fraction(dice.randint(5, 20), 10),
            "qdel_L": Fraction(dice.randint(0, 2)),
            "alpha": Fraction(1, dice.randint(5, 8)),
            "R": Fraction(1),
        }
        trace.append(Step(quantities, rule.decide(quantities)))
    return trace


def repeats(space: Space, candidate: Candidate, trace: list[Step]) -> bool:
    rule = space.rule(candidate, "any")
    return all(rule.decide(step.quantities) == step.rate for step in trace)


@pytest.mark.parametrize(("shape", "rates"), [(Shape.CHAIN, 2), (Shape.CHAIN, 3), (Shape.UNBALANCED, 3)])
@pytest.mark.parametrize("seed", range(3))
def test_the_dead_are_those_that_repeat_a_trace(shape: Shape, rates: int, seed: int) -> None:
    space, dice = small_space(shape, rates), random.Random(seed)  # noqa: S311
    traces = [random_trace(space, dice, 3) for _ in range(4)]
    survivors = Survivors(space)
    for trace in traces:
        survivors.kill(trace)
    some = dice.sample(all_candidates(space), 60)
    for candidate in some:
        killers = [i for i, trace in enumerate(traces) if repeats(space, candidate, trace)]
        assert survivors.kills(candidate) == (killers[0] if killers else None)
    if rates == 2:
        alive = {c for c in all_candidates(space) if not any(repeats(space, c, trace) for trace in traces)}
        assert survivors.count() == len(alive)


def test_picks_walk_through_all_that_is_left_of_a_tree() -> None:
    space, dice = small_space(Shape.TREE, 4), random.Random(5)  # noqa: S311
    survivors, rng = Survivors(space), np.random.default_rng(1)
    for turn in range(3000):
        found = survivors.pick(frozenset(), rng)
        if found is None:
            break
        assert survivors.kills(found) is None
        if turn % 3 == 0:
            before = survivors.count()
            key = space.class_of(found)
            alive = sum(survivors.kills(c) is None for c in space.members(key))
            survivors.settle(key)
            assert survivors.count() == before - alive
            continue
        trace = random_trace(space, dice, 1)
        rule = space.rule(found, "any")
        survivors.kill([Step(step.quantities, rule.decide(step.quantities)) for step in trace])
        assert survivors.kills(found) is not None
    assert survivors.count() == 0
    assert survivors.pick(frozenset(), rng) is None


def test_a_pick_avoids_what_is_taken() -> None:
    space, rng = small_space(Shape.CHAIN, 2), np.random.default_rng(1)
    survivors = Survivors(space)
    taken: set[Candidate] = set()
    while (found := survivors.pick(frozenset(taken), rng)) is not None:
        assert found not in taken
        taken.add(found)
    assert taken == set(all_candidates(space))
