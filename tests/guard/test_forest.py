"""The forest: selected features; and the guard evaluates it exactly as the trainer does, to the last bit."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fairweir import _core
from fairweir.errors import ConfigError
from fairweir.guard import forest
from fairweir.guard.examples import Examples, label
from fairweir.guard.forest import Shape

NAMES = ["rtt_us", "loss_rate.window8", "throughput_mbps.window8", "interarrival_us"]


def examples(seed: int, n: int = 4000) -> Examples:
    """Return examples whose labels depend on the second and third of four columns, with noise and missing values."""
    dice = np.random.default_rng(seed)
    values = dice.lognormal(size=(n, 4))
    share = values[:, 1] / np.maximum(values[:, 2], 0.3) + 0.1 * dice.standard_normal(n)
    values[dice.random((n, 4)) < 0.1] = np.nan
    return Examples(values, label(share))


def test_labels() -> None:
    assert label(np.array([0.0, 0.89, 0.9, 1.0, 1.1, 1.11])).tolist() == [0, 0, 1, 1, 1, 2]


def test_scores_are_the_trainer_s_to_the_last_bit() -> None:
    taught, asked = examples(1), examples(2)
    model = forest.fit(taught, Shape(20, 15), seed=5)
    document = json.loads(json.dumps(forest.document(model, NAMES)))
    scores, classes = forest.walk(document, asked.values)
    assert np.array_equal(scores, model.decision_function(asked.values))
    assert np.array_equal(classes, model.predict(asked.values))
    assert len(set(classes)) == 3
    assert forest.accuracy(model, asked) > 0.6


def test_the_same_seed_grows_the_same_forest() -> None:
    def grown(seed: int) -> str:
        return json.dumps(forest.document(forest.fit(examples(1), Shape(5, 7), seed), NAMES))

    assert grown(1) == grown(1) != grown(2)


def test_like_features_are_in_one_cluster_and_the_best_of_each_is_chosen() -> None:
    dice = np.random.default_rng(1)
    a, b = dice.standard_normal((2, 2000))
    values = np.column_stack([a, np.exp(a), b, -b, np.ones(2000)])
    values[:100, 2] = np.nan
    groups = forest.clusters(values, 2, seed=1)
    assert groups[0] == groups[1] != groups[2] == groups[3]
    assert groups[4] == 0, "a constant feature is not informative"
    assert forest.select(groups, np.array([0.1, 0.2, 0.4, 0.3, 0.9])) == [2, 1]


def test_shuffling_what_counts_costs() -> None:
    model = forest.fit(examples(1), Shape(20, 15), seed=1)
    costs = forest.importance(model, examples(3), seed=1)
    assert min(costs[1], costs[2]) > 0.05 > max(costs[0], costs[3])


def test_a_class_without_examples_is_rejected() -> None:
    one = examples(1)
    with pytest.raises(ConfigError, match="too few examples of class `near`: 0"):
        forest.fit(Examples(one.values, np.where(one.labels == 1, 0, one.labels).astype(np.uint8)), Shape(), 1)


def test_a_forest_with_an_unknown_feature_is_rejected() -> None:
    with pytest.raises(ConfigError, match="features: unknown feature `rtt`"):
        _core.guard_scores('{"features": ["rtt"], "baseline": [0, 0, 0], "trees": []}', b"")
