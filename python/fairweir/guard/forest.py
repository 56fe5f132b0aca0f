"""The flow policy's forest: trained by scikit-learn, reduced to few features, and exported for the guard.

Source: CMU-CS-24-129, sections 5.2 and A.3. Rows of rare classes have larger weights. Features are grouped into 20
clusters of similar features, and one feature of each cluster is used. Deviation: trees have tens of leaves instead of
thousands, so that a decision takes microseconds.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, ward
from scipy.spatial.distance import squareform
from scipy.stats import rankdata

from fairweir import _core
from fairweir.documents.atomic_write import write_text
from fairweir.errors import ConfigError
from fairweir.guard.examples import CLASSES, Examples, Floats, Labels

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sklearn.ensemble import HistGradientBoostingClassifier

#: Number of features of the final model.
FEATURES = 20
#: Maximum number of rows for comparing and ranking features.
_RANKED_ROWS = 4000


@dataclass(frozen=True)
class Shape:
    """Maximum size of a forest: number of trees per class, and of leaves per tree."""

    iterations: int = 40
    leaves: int = 31


def fit(examples: Examples, shape: Shape, seed: int) -> HistGradientBoostingClassifier:
    """Train a forest.

    Raises
    ------
    ConfigError : a class has too few examples
    """
    from fairweir.guard.boosting import Boosting

    counts = np.bincount(examples.labels, minlength=len(CLASSES))
    # One example of each class is used for validation.
    if counts.min() < 2:
        rare = CLASSES[int(counts.argmin())]
        raise ConfigError(
            f"too few examples of class `{rare}`: {counts.min()}", hint="use more runs: --runs", key="--runs"
        )
    weights = (1 - counts / counts.sum())[examples.labels]
    model = Boosting(
        learning_rate=0.1,
        max_iter=shape.iterations,
        max_leaf_nodes=shape.leaves,
        min_samples_leaf=10,
        early_stopping=True,
        validation_fraction=0.1,
        n_iter_no_change=10,
        tol=1e-6,
        random_state=seed,
    )
    return model.fit(examples.values, examples.labels, sample_weight=weights)


def accuracy(model: HistGradientBoostingClassifier, examples: Examples) -> float:
    """Return the fraction of `examples` that the model classifies correctly; NaN if there are none."""
    if not len(examples.labels):
        return float("nan")
    return float(np.mean(model.predict(examples.values) == examples.labels))


def importance(model: HistGradientBoostingClassifier, examples: Examples, seed: int) -> Floats:
    """Return for each feature the decrease of accuracy when its values are shuffled once."""
    dice = np.random.default_rng(seed)
    rows = dice.permutation(len(examples.labels))[:_RANKED_ROWS]
    values, labels = examples.values[rows], examples.labels[rows]
    whole = np.mean(model.predict(values) == labels)
    costs = np.zeros(values.shape[1])
    # Shuffling a feature that no tree uses has no effect.
    for column in _asked(model):
        kept = values[:, column].copy()
        values[:, column] = dice.permutation(kept)
        costs[column] = whole - np.mean(model.predict(values) == labels)
        values[:, column] = kept
    return costs


def _asked(model: HistGradientBoostingClassifier) -> list[int]:
    nodes = [tree.nodes for trees in model._predictors for tree in trees]
    return sorted({int(f) for tree in nodes for f in tree["feature_idx"][tree["is_leaf"] == 0]})


def clusters(values: Floats, n: int, seed: int) -> Labels:
    """Group features by rank correlation; constant features are in group 0, the others in groups 1 to `n`.

    Parameters
    ----------
    values : rows x features; NaN counts as the mean
    n : int; maximum number of groups without group 0
    """
    rows = np.random.default_rng(seed).permutation(len(values))[:_RANKED_ROWS]
    some = values[rows]
    known = np.isfinite(some)
    means = np.where(known, some, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    some = np.where(known, some, means)
    varies = np.ptp(some, axis=0) > 0
    ranks = rankdata(some[:, varies], axis=0)
    distance = 1 - np.abs(np.corrcoef(ranks, rowvar=False))
    distance = np.clip((distance + distance.T) / 2, 0.0, None)
    np.fill_diagonal(distance, 0.0)
    groups = np.zeros(values.shape[1], np.uint8)
    groups[varies] = fcluster(ward(squareform(distance, checks=False)), n, criterion="maxclust")
    return groups


def select(groups: Labels, costs: Floats) -> list[int]:
    """Return the most important feature of each group, in descending order of importance."""
    members = [np.flatnonzero(groups == group) for group in np.unique(groups[groups > 0])]
    best = [max(group, key=lambda f: (costs[f], -f)) for group in members]
    return sorted((int(f) for f in best), key=lambda f: (-costs[f], f))


def document(
    model: HistGradientBoostingClassifier, features: list[str], trained_on: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the forest in the format that the guard reads (``crates/guard/src/trees.rs``).

    `trained_on` records the source of the examples; the guard ignores it.
    """
    trees = [{"class": kind, **_columns(tree.nodes)} for trees in model._predictors for kind, tree in enumerate(trees)]
    baseline = [float(x) for x in model._baseline_prediction[0]]
    return {"trained_on": dict(trained_on or {}), "features": features, "baseline": baseline, "trees": trees}


def _columns(nodes: Any) -> dict[str, list[Any]]:
    is_leaf = nodes["is_leaf"].astype(bool)
    # A split between known and unknown values has an infinite threshold, which JSON cannot represent.
    thresholds = np.minimum(nodes["num_threshold"], sys.float_info.max)
    return {
        "feature": np.where(is_leaf, -1, nodes["feature_idx"]).tolist(),
        "value": np.where(is_leaf, nodes["value"], thresholds).tolist(),
        "left": np.where(is_leaf, 0, nodes["left"]).tolist(),
        "right": np.where(is_leaf, 0, nodes["right"]).tolist(),
        "is_unknown_left": nodes["missing_go_to_left"].astype(bool).tolist(),
    }


def write(forest: dict[str, Any], path: Path) -> None:
    """Write a forest; the file is written completely or not at all."""
    write_text(path, json.dumps(forest) + "\n")


def walk(forest: dict[str, Any], values: Floats) -> tuple[Floats, Labels]:
    """Return the scores (rows x 3) and the classes that the guard computes for rows of the forest's features."""
    scores, classes = _core.guard_scores(json.dumps(forest), np.ascontiguousarray(values).tobytes())
    return np.frombuffer(scores).reshape(-1, len(CLASSES)), np.frombuffer(classes, np.uint8)
