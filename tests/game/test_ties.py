"""Unusual values of keys of ``[tree]``: one clear error if invalid, else they work; and ties in unusual samples."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairweir.documents import shipped
from fairweir.documents.toml import read_document
from fairweir.errors import ConfigError
from fairweir.game.distil import Node, Tree
from fairweir.game.query import GameQuery, Trees
from fairweir.game.ties import decide_ties

SOURCE = Path("mine.toml")
QUERY = read_document(shipped.find("game-queries", "conference"))
LISTS = {"leaves", "preferences"}
#: Values that are invalid for each key.
BAD = [
    math.nan, math.inf, -math.inf, -1, -0.1, 1e300, 10**30, 2**63, True, False, "x", "0.5", "", None, {}, {"a": 1}, [],
    [[]], ["8"], [True], [math.nan], [math.inf], [-1], [1e308], [None], b"x", [1] * 50,
]  # fmt: skip


def query(table: Any) -> GameQuery:
    return GameQuery.load(SOURCE, {**copy.deepcopy(QUERY), "tree": table})


@pytest.mark.parametrize("key", sorted(Trees.model_fields))
@pytest.mark.parametrize("value", BAD, ids=repr)
def test_a_bad_value_is_one_error_with_file_key_value_and_hint(key: str, value: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        query({key: value})
    error = caught.value
    assert error.source == str(SOURCE)
    assert str(error.key).startswith(f"tree.{key}")
    assert not error.others
    assert f"`{key}" in error.message or key in error.message
    # The value as it was written, or the first item of a list that is wrong.
    assert "`" in error.message
    assert f"such as {key} = " in str(error.hint)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("leaves", [1]), ("leaves", [0]), ("leaves", [12, 1]), ("leaves", [2.0]), ("min_samples", 0), ("trials", 1),
        ("min_samples", 1_000_001), ("decay", 0), ("decay", 0.0), ("decay", 5e-324), ("decay", 1.0001), ("tie", 1.5),
        ("zero_regret", 95), ("base", 2), ("leaf_price", 2), ("preferences", [1001]), ("trials", 2.5),
    ],
)  # fmt: skip
def test_values_just_outside_are_rejected(key: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=key):
        query({key: value})


def test_a_table_that_is_none_and_keys_that_do_not_exist() -> None:
    none: list[Any] = [3, "x", [], None, True]
    for table in none:
        with pytest.raises(ConfigError, match="tree must be a table"):
            query(table)
    for key, hint in (("ties", "`tie`"), ("zero-regret", "`zero_regret`"), ("leafprice", "`leaf_price`"), ("", "tie")):
        with pytest.raises(ConfigError, match="unknown key") as caught:
            query({key: 1})
        assert hint in str(caught.value.hint)


def test_valid_extremes_are_accepted() -> None:
    tables: list[dict[str, Any]] = [
        {"tie": 0, "zero_regret": 1, "leaf_price": 1, "base": 0, "decay": 1},
        {"tie": 1.0, "zero_regret": 0.0, "base": 1.0, "decay": 0.01, "preferences": [0, 1000]},
        {"leaves": [2, 2, 5000], "min_samples": 1_000_000},
    ]
    for table in tables:
        assert query(table).trees == Trees(**table)


def leaf(template: int) -> Node:
    return Node(-1, 0.0, -1, -1, template, 1)


TWO = Tree((Node(0, 0.5, 1, 2, -1, 2), leaf(0), leaf(1)))


def decided(places: list[int], is_free: Any, **options: Any) -> Tree:
    rows = np.array(is_free, bool).reshape(len(places), -1)
    return decide_ties(
        TWO, np.array(places, np.intp), rows, **{"tie": 1.0, "spare": 1.0, "merit": lambda _: 0.0, **options}
    )


def test_without_situations_nothing_ties() -> None:
    def refuse(tree: Tree) -> float:
        assert tree == TWO
        return 0.0

    empty = np.zeros((0, 3), bool)
    assert decide_ties(TWO, np.zeros(0, np.intp), empty, tie=1.0, spare=1.0, merit=refuse) == TWO
    # All situations are in one leaf, so the other leaf has no ties.
    found = decided([1, 1], [[1, 1], [1, 1]], merit=lambda tree: float(tree.nodes[2].template == 0))
    assert found == TWO


def test_a_merit_that_is_no_number_changes_nothing() -> None:
    for worth in (math.nan, math.inf, -math.inf):
        assert decided([1, 2], [[1, 1], [1, 1]], merit=lambda _, worth=worth: worth) == TWO


@given(st.data())
def test_ties_are_decided_within_what_may_be_spared(data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 12))
    places = data.draw(st.lists(st.sampled_from([1, 2]), min_size=count, max_size=count))
    is_free = data.draw(st.lists(st.tuples(*[st.booleans()] * 3), min_size=count, max_size=count))
    rows = np.array(is_free, bool).reshape(count, 3)
    tie, spare = data.draw(st.floats(0, 1)), data.draw(st.floats(-1, 1))
    worth = {(a, b): data.draw(st.floats(-1, 1)) for a in range(3) for b in range(3)}
    found = decide_ties(
        TWO,
        np.array(places, np.intp),
        rows,
        tie=tie,
        spare=spare,
        merit=lambda tree: worth[tree.nodes[1].template, tree.nodes[2].template],
    )

    def free(tree: Tree) -> float:
        chosen = [tree.nodes[place].template for place in places]
        return sum(bool(rows[i, template]) for i, template in enumerate(chosen)) / max(count, 1)

    templates = found.nodes[1].template, found.nodes[2].template
    assert worth[templates] >= worth[0, 1]
    assert found == TWO or free(found) >= free(TWO) - spare
