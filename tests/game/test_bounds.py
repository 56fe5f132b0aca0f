"""Compare bounds of ``crates/game`` with a second implementation of the model for z3, and with simulated links."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from typing import Any

import pytest
from benches.game_bounds.__main__ import MODELS
from benches.game_bounds.compare import Case, by_grid, by_solver
from benches.game_bounds.link import Window, random_case
from benches.game_bounds.solver import LinkProblem

from fairweir import _core
from fairweir.errors import ConfigError

WINDOW = {"sent": [5, 10, 15], "delivered": [5, 8, 11], "lost": [0, 1], "sent_next": 20}


def cases(model: str, count: int) -> list[Case]:
    """Return random windows of the model's links."""
    rng = random.Random(f"test/{model}")  # noqa: S311 (no secret)
    return [Case(MODELS[model], *random_case(rng, MODELS[model])) for _ in range(count)]


@pytest.mark.parametrize("model", MODELS)
def test_no_explaining_link_is_beyond_a_bound_and_one_is_at_each(model: str) -> None:
    """``python -m benches.game_bounds z3`` compares more."""
    for case in cases(model, 40):
        assert by_solver(case)[1] == [], case


def test_links_played_forward_are_inside() -> None:
    """``python -m benches.game_bounds grid`` simulates more links."""
    for case in cases("fluid", 40):
        assert by_grid(case)[1] == [], case


def test_a_window_that_no_link_explains_has_no_bounds() -> None:
    """If the rate changes within a window, neither z3 nor the bounds find a link that explains it."""
    model, points = MODELS["fluid"], range(6)
    sent = tuple(Fraction(1000 + 20 * t) for t in points)
    delivered = tuple(Fraction(10 * t + 40 * max(0, t - 2)) for t in points)
    changed = Window(sent, delivered, (), Fraction(0), sent[-1])
    assert LinkProblem(changed, model).wrong(None) == []
    assert json.loads(_core.game_bounds(json.dumps([changed.document()])))[0] is None
    belief = json.loads(_core.game_believe(json.dumps([changed.document()])))[0]
    assert belief["from"] != "window"


def test_a_wrong_bound_is_seen() -> None:
    """The comparison refutes bounds that are wrong by a hundredth of a packet in either direction."""
    case = next(case for case in cases("fluid", 20) if (case.bounds() or {})["c"][0] > 1)
    bounds = case.bounds()
    assert bounds is not None
    problem = LinkProblem(case.window, case.model)
    for name, end, side in (("c", 0, 1), ("c", 1, -1), ("b", 0, 1), ("q", 1, -1)):
        for off, word in ((0.01 * side, "narrow"), (-0.01 * side, "wide")):
            shifted = json.loads(json.dumps(bounds))
            shifted[name][end] += off
            assert problem.wrong(shifted) == [f"{word} {'max' if end else 'min'} {name}"]


def test_fast_bounds_have_the_same_capacity_and_are_never_wider() -> None:
    """Corner bounds are for searches; only their bounds on C are exact."""
    windows = json.dumps([case.window.document() for case in cases("fluid", 200)])
    exact, fast = (json.loads(_core.game_bounds(windows, exact=exact)) for exact in (True, False))
    for one, two in zip(exact, fast, strict=True):
        assert one["c"] == pytest.approx(two["c"], abs=1e-5)
        for name in ("b", "q"):
            assert one[name][0] <= two[name][0] + 1e-5
            assert two[name][1] <= one[name][1] + 1e-5
        assert one["safe_rate"] <= two["safe_rate"] + 1e-5


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"sent": [5, 4, 15]}, "[0].sent[1]"),
        ({"delivered": [5, 8, 20]}, "[0].delivered[2]"),
        ({"delivered": [5, 8]}, "[0].delivered"),
        ({"sent": []}, "[0].sent"),
        ({"sent": [5, 10, float("nan")]}, "[0].sent[2]"),
        ({"sent_next": 1}, "[0].sent_next"),
        ({"lost": []}, "[0].lost"),
        ({"rate": 1}, "[0].rate"),
    ],
)
def test_windows_that_cannot_be_are_rejected(change: dict[str, Any], key: str) -> None:
    """Any invalid window gives one error with the key."""
    for function in (_core.game_bounds, _core.game_believe):
        with pytest.raises(ConfigError) as wrong:
            function(json.dumps([WINDOW | change]))
        assert wrong.value.key == key
        assert wrong.value.hint


@pytest.mark.parametrize(("model", "key"), [({"c": [0, 5]}, "c"), ({"jitter": 0}, "jitter"), ({"slack": -1}, "slack")])
def test_models_that_cannot_be_are_rejected(model: dict[str, Any], key: str) -> None:
    """Any invalid model gives one error with the key."""
    with pytest.raises(ConfigError) as wrong:
        _core.game_bounds(json.dumps([WINDOW]), json.dumps(model))
    assert wrong.value.key == key
