"""A fitted tree: the numbers in the controller file give the same decisions in Rust as in the fitting program."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fairweir import _core
from fairweir.game.distil import Tree, fit, regrets
from fairweir.game.export import controller_document, controller_text
from fairweir.game.query import GameQuery
from fairweir.game.sampling import COMPONENTS, Floats, Labelled, feature_names
from fairweir.game.ties import decide_ties

ROWS = 1_000_000
ROOT = Path(__file__).parents[2]
CONFERENCE = ROOT / "queries" / "game" / "conference.toml"


@pytest.fixture(scope="module")
def query() -> GameQuery:
    return GameQuery.load(CONFERENCE)


def labelled(query: GameQuery, seed: int, count: int = 2000) -> Labelled:
    """Return situations whose values depend on a few features, so that a tree has many splits."""
    random = np.random.default_rng(seed)
    features = random.uniform(0.0, 4.0, (count, len(feature_names())))
    values = np.zeros((count, len(query.core.actions), COMPONENTS), np.int32)
    columns = random.integers(features.shape[1], size=values.shape[1])
    values[:, :, 0] = np.abs(features[:, columns] - random.uniform(0.0, 4.0, values.shape[1]))
    return Labelled(features, values)


def fitted(query: GameQuery, found: Labelled) -> Tree:
    return fit(found, regrets(found, query.trees), leaves=40, min_samples=8, preference=0.03)


def rows(tree: Tree, seed: int) -> Floats:
    """Return random rows; in a tenth of them a feature is at a threshold of the tree or next to it."""
    random = np.random.default_rng(seed)
    found = random.uniform(-1.0, 5.0, (ROWS, len(feature_names())))
    splits = [node for node in tree.nodes if not node.is_leaf]
    for row in range(0, ROWS, 10):
        node = splits[row // 10 % len(splits)]
        found[row, node.feature] = (node.at_most, np.nextafter(node.at_most, 9.0), np.nextafter(node.at_most, -9.0))[
            row // 10 // len(splits) % 3
        ]
    return found


@pytest.mark.parametrize("seed", [1, 2])
def test_rust_and_the_trainer_reach_the_same_leaf_on_a_million_rows(query: GameQuery, seed: int) -> None:
    tree = fitted(query, labelled(query, seed))
    assert tree.leaves > 10
    found = rows(tree, seed)
    core = _core.GameController(controller_text(controller_document(query, tree)))
    leaves = np.frombuffer(core.leaves(found.tobytes()), np.uint32)
    assert np.array_equal(leaves, tree.places(found))
    assert len(np.unique(leaves)) == tree.leaves


def test_ties_are_decided_by_merit_within_what_agreement_has_to_spare(query: GameQuery) -> None:
    found = labelled(query, 3)
    tree = fitted(query, found)
    places = tree.places(found.features)
    regret = regrets(found, query.trees)
    is_free = regret.order >= 1
    free = is_free[np.arange(len(found)), tree.choices(found.features)].mean()

    def merit(changed: Tree) -> float:
        return sum(node.template for node in changed.nodes if node.is_leaf) / 100

    # Here a change has value only if it raises a leaf's template, and every change reduces agreement.
    changed = decide_ties(tree, places, is_free, tie=1.0, spare=0.02, merit=merit)
    after = is_free[np.arange(len(found)), changed.choices(found.features)].mean()
    assert merit(changed) > merit(tree)
    assert free - 0.02 <= after
    same = decide_ties(tree, places, is_free, tie=1.0, spare=0.0, merit=merit)
    assert is_free[np.arange(len(found)), same.choices(found.features)].mean() >= free
    assert decide_ties(tree, places, is_free, tie=1.0, spare=1.0, merit=lambda _: 0.0) == tree


@pytest.mark.parametrize("name", ["bulk", "cloud-gaming", "conference", "live"])
def test_a_shipped_controller_is_of_its_query_as_it_stands_and_proved(name: str) -> None:
    document = json.loads((ROOT / "controllers" / f"{name}.json").read_text("utf-8"))
    assert document["query_sha256"] == GameQuery.load(ROOT / "queries" / "game" / f"{name}.toml").fingerprint
    assert {row["status"] for row in document["proofs"]} == {"proved"}
    assert {row["leaf"] for row in document["proofs"]} == {i for i, n in enumerate(document["nodes"]) if "leaf" in n}
