"""Decision trees from labelled situations: cost-sensitive, small, with thresholds that a person can read.

A tree is a regression of all templates' costs at once (scikit-learn; thesis section 4.5 fits trees to the search's
decisions): a leaf takes the template of minimum mean cost, so that situations where a wrong decision costs much decide,
and those where templates tie do not.
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

#: Thresholds are written with the fewest of these digits that separate the same situations.
DIGITS: Final = range(1, 17)


@dataclass(frozen=True)
class Regrets:
    """By how much each template is worse than the best.

    Attributes
    ----------
    order : (n, templates), int; the first component in which the template is worse than the best, COMPONENTS if in none
    costs : (n, templates), 0 for the best, at most 1
    """

    order: npt.NDArray[np.intp]
    costs: Floats

    def is_free(self, choices: Choices, last: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
        """Return per situation whether the choice has no regret: it is worse in no component but the last.

        The last component of an objective is never flat: it orders what is equally good otherwise.

        Parameters
        ----------
        choices : (n,), template of each situation
        last : (n,), index of the last component of the objective in each
        """
        return self.order[np.arange(len(choices)), choices] >= last


def regrets(found: Labelled, trees: Trees) -> Regrets:
    """Return the regret of each template in each situation.

    A template's cost depends on the first component in which it is worse than the best: `trees.decay` to the power of
    that component, by how much worse, in units of the 90th percentile of what is seen there.
    """
    count, templates, _ = found.values.shape
    # The last key of lexsort counts first; the first of equal templates is the plainest.
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
    """Return per situation the index of the last component of the objective that counts there."""
    searching, converged = (len(query.core.components(phase)) - 1 for phase in (False, True))
    return np.where(found.is_converged, converged, searching).astype(np.intp)


@dataclass(frozen=True)
class Node:
    """A node of a tree: a split, or a leaf with a template.

    Attributes
    ----------
    feature : int, -1 of a leaf
    at_most : float, the threshold
    then, other : int, indices of the nodes for values of at most the threshold, and above it
    template : int, -1 of a split
    count : int, situations that came there
    """

    feature: int
    at_most: float
    then: int
    other: int
    template: int
    count: int

    @property
    def is_leaf(self) -> bool:
        """Whether it is a leaf."""
        return self.feature < 0


@dataclass(frozen=True)
class Tree:
    """Nodes, the root first, children behind their parents."""

    nodes: tuple[Node, ...]

    @property
    def leaves(self) -> int:
        """The number of leaves."""
        return sum(node.is_leaf for node in self.nodes)

    def places(self, features: Floats) -> Choices:
        """Return the index of the leaf for each row of features; in doubles, as controllers are run."""
        place = np.zeros(len(features), np.intp)
        for index, node in enumerate(self.nodes):
            if not node.is_leaf:
                here = place == index
                place[here] = np.where(features[here, node.feature] <= node.at_most, node.then, node.other)
        return place

    def choices(self, features: Floats) -> Choices:
        """Return the template for each row of features."""
        return np.array([node.template for node in self.nodes], np.intp)[self.places(features)]


def fit(found: Labelled, regret: Regrets, *, leaves: int, min_samples: int, preference: float) -> Tree:
    """Fit a tree.

    Parameters
    ----------
    leaves : maximum number of leaves
    min_samples : situations in a leaf, at least
    preference : cost of each place further back in the list of templates, so that ties go to the plainest

    Returns
    -------
    Tree, without leaves that do the same as their sibling, with short thresholds
    """
    from sklearn.tree import DecisionTreeRegressor

    templates = regret.costs.shape[1]
    costs = regret.costs + preference * np.arange(templates) / templates
    model = DecisionTreeRegressor(max_leaf_nodes=max(leaves, 2), min_samples_leaf=min_samples, random_state=0)
    model.fit(found.features, costs)
    return _short(_merged(_grown(model, templates)), found.features)


def _grown(model: Any, templates: int) -> Tree:
    """Return a fitted model as a tree; scikit-learn numbers children behind their parents, too."""
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
    """Return the tree without splits whose two sides take the same template."""
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
    """Return the tree with the shortest thresholds that separate the situations as before."""
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
    """Return the shortest decimal number from `below` on and under `above`, near `threshold`."""
    for digits in DIGITS:
        short = float(f"{threshold:.{digits}g}")
        if below <= short < above:
            return short
    return threshold


def candidates(query: GameQuery, found: Labelled, regret: Regrets) -> Iterator[tuple[str, Tree]]:
    """Return every tree that the query's ``[tree]`` asks for, with a name."""
    trees = query.trees
    for preference in trees.preferences:
        for leaves in trees.leaves:
            tree = fit(found, regret, leaves=leaves, min_samples=trees.min_samples, preference=preference)
            yield f"{leaves} leaves, preference {preference:g}", tree
