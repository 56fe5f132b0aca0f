"""The figure of a tree: conditions in words, shares, marks; names that are markup."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from fairweir import _core
from fairweir.ccas.controller_file import FEATURES, Condition, Controller
from fairweir.game.picture import Mark, rows_of, share_text, tree_figure
from fairweir.game.words import NAMES, condition_text, path_texts

TREE: dict[str, Any] = {
    "format": "fairweir-tree-1", "name": "tree", "kind": "video", "query": "none", "query_sha256": "",
    "version": "0.1.0", "step": "50ms", "points": 6, "model": {"c": [1, 200], "b": [1, 200]},
    "nodes": [
        {"feature": {"converged": 1}, "at_most": 0.5, "then": 1, "else": 2},
        {"leaf": {"send": "newest", "encode": {"M": 1}, "name": "newest"}},
        {"feature": {"q": 1}, "at_most": 1.25, "then": 3, "else": 4},
        {"leaf": {"send": "all", "encode": {"M": 1}, "name": "all"}},
        {"leaf": {"send": "none", "name": "<b>&idle"}},
    ],
}  # fmt: skip
VISITS = {1: 5, 3: 94, 4: 1}
MARKS = {1: Mark("holds", "✓", "all 5 proved"), 3: Mark("fails", "✗", "4 of 5 proved"), 4: Mark("holds", "✓", "all")}


def condition(feature: str, at_most: float, *, is_within: bool) -> Condition:
    return Condition({feature: Fraction(1)}, Fraction(at_most), is_within=is_within)


@pytest.mark.parametrize(
    ("feature", "at_most", "within", "above"),
    [
        ("q", 1.25, "max queue ≤ 1.25 M", "max queue > 1.25 M"),
        ("converged", 0.5, "max C held: not yet", "max C held"),
        ("waiting", 1.5, "waiting batches ≤ 1", "waiting batches > 1"),
        ("oldest_age", 2.5, "age of the oldest batch ≤ 2.5 steps", "age of the oldest batch > 2.5 steps"),
    ],
)
def test_conditions_in_words_have_units(feature: str, at_most: float, within: str, above: str) -> None:
    assert condition_text(condition(feature, at_most, is_within=True)) == within
    assert condition_text(condition(feature, at_most, is_within=False)) == above


def test_a_path_has_one_range_for_each_form() -> None:
    path = [
        condition("q", 2, is_within=True), condition("r0", 3, is_within=False), condition("q", 0.5, is_within=False),
        condition("q", 1, is_within=True),
    ]  # fmt: skip
    assert path_texts(path) == ["0.5 < max queue ≤ 1 M", "safe rate R0 > 3 M"]
    several = Condition({"q": Fraction(1), "packet": Fraction(-2)}, Fraction(0), is_within=True)
    assert condition_text(several) == "q - 2 packet ≤ 0"


def test_every_feature_has_words() -> None:
    assert set(NAMES) == set(FEATURES) == {name for name, _, _ in _core.game_features()}


def test_rows_have_the_shares_of_what_is_below_them() -> None:
    rows = rows_of(Controller.parse(json.dumps(TREE)), VISITS)
    assert [(row.node, row.parent, row.depth, row.text, row.share) for row in rows] == [
        (0, -1, 0, "every decision", 1.0),
        (1, 0, 1, "max C held: not yet", 0.05),
        (2, 0, 1, "max C held", 0.95),
        (3, 2, 2, "max queue ≤ 1.25 M", 0.94),
        (4, 2, 2, "max queue > 1.25 M", 0.01),
    ]
    assert [share_text(share) for share in (0.0, 0.0001, 0.0494, 1.0)] == ["0 %", "< 0.1 %", "4.9 %", "100.0 %"]


@pytest.mark.parametrize("is_narrow", [False, True])
def test_a_figure_is_well_formed_and_escapes_names(is_narrow: bool) -> None:
    for visits in (VISITS, {}):
        rows = rows_of(Controller.parse(json.dumps(TREE)), visits)
        figure = ET.fromstring(tree_figure(rows, MARKS, is_narrow=is_narrow))  # noqa: S314 - our own
        texts = ["".join(text.itertext()) for text in figure.iter("text")]
        assert any("<b>&idle" in text for text in texts)
        assert sum("✓" in text for text in texts) == 2
        assert sum("✗" in text for text in texts) == 1
        assert len(list(figure.iter("path"))) == 4
        width, height = map(float, figure.attrib["viewBox"].split()[2:])
        for text in figure.iter("text"):
            assert 0 <= float(text.attrib["x"]) < width
            assert 0 < float(text.attrib["y"]) <= height


def test_a_tree_of_one_leaf_is_drawn() -> None:
    alone = {**TREE, "nodes": [{"leaf": {"send": "newest", "name": "only"}}]}
    rows = rows_of(Controller.parse(json.dumps(alone)), {0: 3})
    for is_narrow in (False, True):
        assert re.search("only", tree_figure(rows, {}, is_narrow=is_narrow))
