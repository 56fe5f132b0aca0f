"""The game from Python: queries, states, values, trees on arrays, closed loops."""

import json
import math
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairweir import _core
from fairweir.errors import ConfigError

QUERIES = Path(__file__).parents[2] / "queries" / "game"
FIXED = {"c": 12.5, "b": 200, "steps": 30, "jitter": "none", "warm_up": 12, "seed": 1}
MAX = 2**31 - 1


def text(name: str) -> dict[str, Any]:
    query = tomllib.loads((QUERIES / f"{name}.toml").read_text(encoding="utf-8"))
    return {key: value for key, value in query.items() if key not in ("sampling", "tree")}


def query(name: str, depth: int = 2) -> _core.GameQuery:
    return _core.GameQuery(json.dumps(text(name))).with_depth(depth)


def controller(nodes: list[Any], **changes: Any) -> dict[str, Any]:
    file = {
        "format": "fairweir-tree-1",
        "name": "t",
        "kind": "video",
        "query": "conference",
        "query_sha256": "00",
        "version": "0.1.0",
        "step": "50ms",
        "points": 6,
        "model": {"c": [1, 200], "b": [1, 200]},
        "nodes": nodes,
        "shield": text("conference").get("shield", [{"unless": "message <= R0", "do": "hold"}]),
    }
    return file | changes


@pytest.mark.parametrize("path", sorted(QUERIES.glob("*.toml")), ids=lambda path: path.stem)
def test_a_shipped_query_finds_the_capacity_and_gives_reasons(path: Path) -> None:
    shipped = query(path.stem, depth=3)
    assert shipped.name == path.stem
    _, rows = _core.game_play(shipped, json.dumps(FIXED), rows=True)
    assert rows is not None
    found = [state.bounds[0] for state in rows["state"]]
    assert max(found) >= 0.95 * 12.5
    document = text(path.stem)
    assert document["description"]
    assert any(
        component.get("why") for component in document["objective"]["searching"] + document["objective"]["converged"]
    )


def test_values_have_the_decision_as_their_first_minimum() -> None:
    conference = query("conference")
    states = _core.game_random_states(conference, 40, seed=3)
    raw = _core.game_values(conference, states, threads=2)
    values = np.frombuffer(raw, dtype=np.int32).reshape(len(states), len(conference.actions), 8)
    assert raw == _core.game_values(conference, states)
    decided = 0
    for state, value in zip(states, values, strict=True):
        best = _core.game_decide(conference, state)
        if best is None:
            assert (value == MAX).all()
            continue
        order = sorted(range(len(value)), key=lambda i: (tuple(value[i]), i))
        assert order[0] == best
        decided += 1
    assert decided >= 35


def test_features_are_rows_of_the_list() -> None:
    names = [name for name, _, _ in _core.game_features()]
    states = _core.game_random_states(query("conference"), 20, seed=4)
    rows = np.frombuffer(_core.game_feature_rows(states), dtype=np.float64).reshape(20, len(names))
    assert rows.tolist() == [state.features() for state in states]
    assert np.isfinite(rows).all()
    m, q, _, max_c = states[0].bounds
    assert rows[0][names.index("q")] == q / m
    assert rows[0][names.index("packet")] == 1 / m
    assert states[0].converged or math.isclose(rows[0][names.index("max_c")], max_c / m)


def test_a_tree_decides_on_arrays_as_python_does() -> None:
    names = [name for name, _, _ in _core.game_features()]
    leaves = json.loads(query("conference").leaves())
    nodes = [
        {"feature": {"q": 1.0}, "at_most": 0.1, "then": 1, "else": 2},
        {"feature": {"r0": 0.3, "newest": -1.7}, "at_most": 0.25, "then": 3, "else": 4},
        {"leaf": leaves[0]},
        {"leaf": leaves[1]},
        {"leaf": leaves[3]},
    ]
    tree = _core.GameController(json.dumps(controller(nodes)))
    rng = np.random.default_rng(5)
    x = rng.choice([0.1, 0.25, 1.0, math.nan, *rng.normal(size=40)], size=(20_000, len(names)))
    left = 0.0 + 0.3 * x[:, names.index("r0")] + -1.7 * x[:, names.index("newest")]
    expected = np.where(x[:, names.index("q")] <= 0.1, np.where(left <= 0.25, 3, 4), 2)
    assert (np.frombuffer(tree.leaves(x.tobytes()), dtype=np.uint32) == expected).all()
    assert _core.GameController(tree.to_json()).to_json() == tree.to_json()
    with pytest.raises(ConfigError, match="7 bytes are not rows of 22 features"):
        tree.leaves(b"1234567")


def test_a_tree_a_function_and_the_search_play_the_same_link() -> None:
    conference = query("conference")
    index = conference.actions.index("newest+room")
    leaf = json.loads(conference.leaves())[index]
    file = controller([{"leaf": leaf}])
    file["shield"] = json.loads(conference.to_json())["shield"]
    tree = _core.GameController(json.dumps(file))
    session = json.dumps(FIXED | {"jitter": "random"})
    by_tree, _ = _core.game_play(conference, session, tree)
    by_function, _ = _core.game_play(conference, session, lambda _: index)
    by_search, _ = _core.game_play(conference, session)
    assert by_tree == by_function != by_search
    with pytest.raises(ConfigError, match="action is out of range: `99`"):
        _core.game_play(conference, session, lambda _: 99)
    with pytest.raises(ZeroDivisionError):
        _core.game_play(conference, session, lambda _: 1 // 0)


def test_an_explanation_names_the_cost_of_each_action() -> None:
    conference = query("conference", depth=3)
    _, rows = _core.game_play(conference, json.dumps(FIXED), rows=True)
    assert rows is not None
    tree = _core.GameController(
        json.dumps(
            controller(
                [
                    {"feature": {"q": 1.0}, "at_most": 0.1, "then": 1, "else": 2},
                    {"leaf": {"name": "go", "send": "newest", "encode": {"M": 1}}},
                    {"leaf": {"encode": {"M": 1}}},
                ]
            )
        )
    )
    why = json.loads(_core.game_explain(conference, rows["state"][8], tree))
    assert why["phase"] in ("searching", "converged")
    best = why["actions"][why["best"]]
    assert best["costs"] is None
    assert any(action["costs"] and action["costs"]["by"] > 0 for action in why["actions"])
    assert why["actions"][0]["reply"]["c"] > 0
    assert why["line"][0]["name"] == best["name"]
    assert len(why["binding"]) == 2
    assert why["leaf"]["path"][0].startswith("q = ")


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"nodes": [{"feature": {"q": 1}, "at_most": 1, "then": 0, "else": 1}, {"leaf": {}}]}, "nodes[0].then"),
        (
            {"nodes": [{"feature": {"q": 1}, "at_most": "1", "then": 1, "else": 2}, {"leaf": {}}, {"leaf": {}}]},
            "nodes[0].at_most",
        ),
        ({"format": "fairweir-tree-2"}, "format"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_a_wrong_controller_is_one_error_with_its_key(change: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _core.GameController(json.dumps(controller([{"leaf": {}}]) | change))
    assert caught.value.key == key
    assert caught.value.hint


def test_a_wrong_query_or_session_is_one_error() -> None:
    with pytest.raises(ConfigError) as caught:
        _core.GameQuery(json.dumps(text("conference") | {"actions": []}))
    assert caught.value.key == "actions"
    for change in ({"c": -1}, {"steps": 0}, {"noise": 2}, {"jitter": "some"}, {"c": None}):
        with pytest.raises(ConfigError):
            _core.game_play(query("conference"), json.dumps(FIXED | change))
    with pytest.raises(ConfigError, match="depth is out of range: `9`"):
        query("conference").with_depth(9)
