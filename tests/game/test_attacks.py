"""Compare verdicts on controllers with steps of ``crates/game``; ``python -m benches.controller_attacks`` runs more."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
import z3
from benches.controller_attacks.campaign import CampaignResult, attack, attack_random, game, published
from benches.controller_attacks.judging import Encoding, broken
from benches.controller_attacks.mutants import EMPTY
from benches.controller_attacks.steps import EXACT, closed_loops, random_states

from fairweir import _core
from fairweir.ccas.controller_file import Controller
from fairweir.errors import ConfigError
from fairweir.formal.solving.solve import ProofOutcome as Said
from fairweir.game.claims import parse_claim
from fairweir.game.model import number
from fairweir.game.proofs import LeafVerdict, Prover
from fairweir.game.state import State


def controller(nodes: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    return {**EMPTY, "nodes": nodes, **changes}


@pytest.mark.parametrize("seed", range(3))
def test_proved_claims_of_random_controllers_are_never_broken(seed: int) -> None:
    outcome = CampaignResult()
    attack_random(outcome, seed, steps=1500)
    assert outcome.is_clean, (outcome.broken, outcome.excluded, outcome.mistaken)
    assert outcome.counts["steps"] > 1500


def test_proved_claims_of_the_published_controller_are_never_broken() -> None:
    outcome = CampaignResult()
    attack(outcome, json.loads(published()), ("decodable", "queue<=2"), 1, steps=3000, encoded=30)
    assert outcome.is_clean, (outcome.broken, outcome.excluded)
    assert outcome.counts["proved"] == 40


def test_refutations_replay_and_agree_with_the_program() -> None:
    outcome = CampaignResult()
    leaf = {"leaf": {"send": "all", "rate": {"M": 3}, "encode": {"M": 1}}}
    attack(outcome, controller([leaf]), ("decodable", "loss<=0"), 3, steps=200, windows=10)
    assert outcome.is_clean, outcome.mistaken
    assert outcome.counts["replayed"] == 2


def test_steps_that_break_a_claim_are_seen() -> None:
    """Steps contradict a false verdict and an encoding of another tree."""
    harmful = controller([{"leaf": {"send": "newest", "rate": {"M": 3}, "encode": {"M": 1}}}])
    steps = list(closed_loops(game(harmful), _core.GameController(json.dumps(harmful)), 1, steps=500))
    made = Controller.parse(json.dumps(harmful))
    for text in ("decodable", "loss<=0", "queue<=1", "encode<=1/2"):
        assert broken([LeafVerdict(0, parse_claim(text, made.kind), Said.PROVED)], steps), text
    other = controller([{"leaf": {"send": "newest", "rate": {"M": 2}, "encode": {"M": 1}}}])
    assert Encoding(Controller.parse(json.dumps(other))).excludes(steps[-1]) == "action"
    assert Encoding(made).excludes(replace(steps[-1], features=(0.5, *steps[-1].features[1:]))) == "facts"


def test_each_without_a_batch_is_not_capped() -> None:
    """``each`` sends batches at a rate of at most R0; without a batch, the rate is the leaf's."""
    nodes: list[dict[str, Any]] = [
        {"feature": {"waiting": 1}, "at_most": 0.5, "then": 1, "else": 2},
        {"leaf": {"send": "each", "rate": {"M": 5}, "encode": {"M": 1}}},
        {"leaf": {"rate": {}, "encode": {"M": 1}}},
    ]
    outcome = CampaignResult()
    attack(outcome, controller(nodes), ("loss<=0",), 1, steps=500)
    assert outcome.is_clean, (outcome.broken, outcome.excluded)
    assert outcome.counts["unknown"] == 1


def test_a_safe_rate_below_m_is_covered() -> None:
    """With a packet of slack R0 can be below M, and sending at M may then lose a packet."""
    nodes: list[dict[str, Any]] = [
        {"feature": {"r0": 1}, "at_most": 0.99, "then": 1, "else": 2},
        {"leaf": {"rate": {"M": 1}}},
        {"leaf": {"rate": {"R0": 1}}},
    ]
    made = Controller.parse(json.dumps(controller(nodes)))
    found = Prover().prove(made, [parse_claim("loss<=0", made.kind)])
    assert {one.leaf: one.outcome for one in found} == {1: Said.UNKNOWN, 2: Said.PROVED}


def test_the_queue_of_the_link_is_not_the_maximum_of_the_belief() -> None:
    state = State.unknown()
    solver = z3.Solver()
    solver.add(*state.facts(Controller.parse(json.dumps(controller([{"leaf": {}}])))))
    solver.add(state.features["q"] == 2, state.truth.q == number(Fraction(1, 2)))
    assert solver.check() == z3.sat


def test_rates_that_rounding_could_decide_are_rejected() -> None:
    text = json.dumps(controller([{"leaf": {}}], model={"c": [1e-5, 200], "b": [1, 200]}))
    with pytest.raises(ConfigError, match="below 1 packet"):
        Controller.parse(text)


def test_beliefs_say_what_they_rest_on() -> None:
    core = _core.GameController(published())
    rng = random.Random(3)  # noqa: S311 (no secret)
    sources = {one.source for seed in range(3) for one in random_states(game(EMPTY), core, seed, count=50)}
    sources |= {one.source for one in closed_loops(game(EMPTY), core, rng.randrange(99), steps=500, changes=True)}
    assert "window" in sources
    assert set(EXACT) == {"window", "fewer-points", "packet-slack"}
