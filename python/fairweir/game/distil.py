"""Fit small decision trees to labeled situations.

A *situation* is the input of a sender's decision, described by numbers, the *features*. Its label is the value that a
search computes for each *template*, that is, for each possible action. A value has one component per component of the
query's *objective*, the most important first. The *cost* of a template in a situation says how much worse it is than
the best template. A tree is a regression of the costs of all templates (scikit-learn; the trees in thesis section 4.5
are fitted to the search's decisions instead). Each leaf has the template with the minimum mean cost. Situations in
which a wrong decision is costly therefore determine the template; situations in which all templates are equally good do
not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fairweir.game.query import GameQuery, Trees
from fairweir.game.sampling import COMPONENTS, Floats, Labelled

Choices = npt.NDArray[np.intp]

#: Numbers of significant digits that are tried for a threshold. The smallest that separates the situations in the same
#: way is used.
DIGITS: Final = range(1, 17)


@dataclass(frozen=True)
class Regrets:
    """How much worse each template is than the best template, in each situation.

    Attributes
    ----------
    order : (n, templates), int; index of the first component of the objective in which the template is worse than the
        best; COMPONENTS if it is as good in all components
    costs : (n, templates), cost between 0 (the best template) and 1
    """

    order: npt.NDArray[np.intp]
    costs: Floats

    def is_free(self, choices: Choices, last: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
        """Return, for each situation, whether the chosen template has no regret: it is worse than the best template at
        most in the last component of the objective.

        The last component of an objective only decides between templates that are otherwise equally good.

        Parameters
        ----------
        choices : (n,), the template chosen in each situation
        last : (n,), index of the objective's last component in each situation
        """
        return self.order[np.arange(len(choices)), choices] >= last


def regrets(found: Labelled, trees: Trees) -> Regrets:
    """Return how much worse each template is than the best, in each situation.

    A template's cost depends on the first component of the objective in which it is worse than the best. Let `size` be
    the difference in this component, divided by the 90th percentile of such differences, and at most 1. The cost is
    `trees.decay` to the power of the component's index, times (base + (1 - base) * size), with base = `trees.base`.
    """
    count, templates, _ = found.values.shape
    # lexsort sorts by its last key first. Of several equally good templates, the first in the list becomes the best.
    places = np.broadcast_to(np.arange(templates), (count, templates))
    keys = np.stack([places, *(found.values[:, :, c] for c in reversed(range(COMPONENTS)))])
    best = np.lexsort(keys)[:, 0]
    excess = found.values.astype(np.int64) - found.values[np.arange(count), best].astype(np.int64)[:, None, :]
    differs = excess != 0
    order = np.where(differs.any(axis=2), differs.argmax(axis=2), COMPONENTS)
    costs = np.zeros((count, templates))
    for component in range(COMPONENTS):
        where = order == component
        if where.any():
            size = excess[:, :, component][where].astype(float)
            scale = max(float(np.quantile(size, 0.9)), 1.0)
            costs[where] = trees.decay**component * (trees.base + (1 - trees.base) * np.minimum(size / scale, 1.0))
    return Regrets(order, costs)


def last_components(query: GameQuery, found: Labelled) -> npt.NDArray[np.intp]:
    """Return, for each situation, the index of the objective's last component. The objective differs before and after
    the controller has found a maximum link rate.
    """
    searching, converged = (len(query.core.components(phase)) - 1 for phase in (False, True))
    return np.where(found.is_converged, converged, searching).astype(np.intp)


@dataclass(frozen=True)
class Node:
    """A node of a tree: a split, or a leaf with a template.

    Attributes
    ----------
    feature : int, index of the feature; -1 for a leaf
    at_most : float, the threshold
    then, other : int, index of the next node if the feature is at most the threshold, and if it is above
    template : int, index of the template; -1 for a split
    count : int, number of situations that reach the node
    """

    feature: int
    at_most: float
    then: int
    other: int
    template: int
    count: int

    @property
    def is_leaf(self) -> bool:
        """Whether the node is a leaf."""
        return self.feature < 0


@dataclass(frozen=True)
class Tree:
    """A decision tree as a list of nodes: the root first, children after their parents."""

    nodes: tuple[Node, ...]

    @property
    def leaves(self) -> int:
        """Number of leaves."""
        return sum(node.is_leaf for node in self.nodes)

    def places(self, features: Floats) -> Choices:
        """Return the index of the leaf that each row of features reaches. Comparisons are in doubles, as in
        controllers.
        """
        place = np.zeros(len(features), np.intp)
        for index, node in enumerate(self.nodes):
            if not node.is_leaf:
                here = place == index
                place[here] = np.where(features[here, node.feature] <= node.at_most, node.then, node.other)
        return place

    def choices(self, features: Floats) -> Choices:
        """Return the index of the template that the tree takes for each row of features."""
        return np.array([node.template for node in self.nodes], np.intp)[self.places(features)]


def fit(found: Labelled, regret: Regrets, *, leaves: int, min_samples: int, preference: float) -> Tree:
    """Fit a tree to labeled situations.

    Parameters
    ----------
    leaves : maximum number of leaves
    min_samples : minimum number of situations in a leaf
    preference : additional cost of a template, times its place in the list divided by the number of templates; the
        first of several equally good templates is therefore taken

    Returns
    -------
    Tree, with short thresholds, and without splits whose two leaves have the same template
    """
    from sklearn.tree import DecisionTreeRegressor

    templates = regret.costs.shape[1]
    costs = regret.costs + preference * np.arange(templates) / templates
    model = DecisionTreeRegressor(max_leaf_nodes=max(leaves, 2), min_samples_leaf=min_samples, random_state=0)
    model.fit(found.features, costs)
    return _short(_merged(_grown(model, templates)), found.features)


def _grown(model: Any, templates: int) -> Tree:
    """Return a fitted scikit-learn model as a tree. scikit-learn, too, numbers children after their parents."""
    tree = model.tree_
    best = tree.value.reshape(-1, templates).argmin(axis=1)
    nodes = [
        Node(-1, 0.0, -1, -1, int(best[i]), int(tree.n_node_samples[i]))
        if tree.children_left[i] < 0
        else Node(
            int(tree.feature[i]),
            float(tree.threshold[i]),
            int(tree.children_left[i]),
            int(tree.children_right[i]),
            -1,
            int(tree.n_node_samples[i]),
        )
        for i in range(tree.node_count)
    ]
    return Tree(tuple(nodes))


def _merged(tree: Tree) -> Tree:
    """Return the tree in which each split is replaced by a leaf if both of its branches have the same template."""
    same: dict[int, int] = {}  # a split that became a leaf -> its template

    def template(index: int) -> int:
        return same.get(index, tree.nodes[index].template)

    for index in reversed(range(len(tree.nodes))):
        node = tree.nodes[index]
        if not node.is_leaf and template(node.then) == template(node.other) >= 0:
            same[index] = template(node.then)
    kept: list[Node] = []

    def copy(index: int) -> int:
        node, place = tree.nodes[index], len(kept)
        if template(index) >= 0:
            kept.append(Node(-1, 0.0, -1, -1, template(index), node.count))
            return place
        kept.append(node)
        then = copy(node.then)
        other = copy(node.other)
        kept[place] = Node(node.feature, node.at_most, then, other, -1, node.count)
        return place

    copy(0)
    return Tree(tuple(kept))


def _short(tree: Tree, features: Floats) -> Tree:
    """Return the tree with the shortest decimal thresholds that separate the situations in the same way."""
    places = [np.arange(0)] * len(tree.nodes)
    places[0] = np.arange(len(features))
    nodes = list(tree.nodes)
    for index, node in enumerate(tree.nodes):
        if node.is_leaf:
            continue
        values = features[places[index], node.feature]
        is_then = values <= node.at_most
        places[node.then], places[node.other] = places[index][is_then], places[index][~is_then]
        below = float(values[is_then].max()) if is_then.any() else node.at_most
        above = float(values[~is_then].min()) if (~is_then).any() else np.inf
        nodes[index] = Node(
            node.feature, _shortest(node.at_most, below, above), node.then, node.other, -1, node.count
        )  # fmt: skip
    return Tree(tuple(nodes))


def _shortest(threshold: float, below: float, above: float) -> float:
    """Return the shortest decimal number that is at least `below` and less than `above`, near `threshold`."""
    for digits in DIGITS:
        short = float(f"{threshold:.{digits}g}")
        if below <= short < above:
            return short
    return threshold


def candidates(query: GameQuery, found: Labelled, regret: Regrets) -> Iterator[tuple[str, Tree]]:
    """Fit each combination of options in the query's table ``[tree]``, and yield the trees with their names."""
    trees = query.trees
    for preference in trees.preferences:
        for leaves in trees.leaves:
            tree = fit(found, regret, leaves=leaves, min_samples=trees.min_samples, preference=preference)
            yield f"{leaves} leaves, preference {preference:g}", tree
