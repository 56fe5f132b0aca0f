"""Decide by closed-loop runs between the templates that are equally good in a leaf of a decision tree.

A *template* is a possible action. The search compares templates over a horizon of a few steps, on the worst link that
explains the sender's observations. Templates that are equally good within the horizon may differ beyond it: two trees
that agree with the search equally often may differ by a fifth in goodput. Two templates of a leaf *tie* if they are
best in almost equal fractions of the leaf's situations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from fairweir.game.distil import Tree

#: Minimum gain of merit for which a template is replaced; smaller gains may be noise of the random sessions.
WORTH_A_CHANGE: Final = 0.001
#: Maximum number of passes over all leaves. Several passes are needed, because the best template of a leaf depends on
#: the templates of the other leaves.
PASSES: Final = 3


def decide_ties(
    tree: Tree,
    places: npt.NDArray[np.intp],
    is_free: npt.NDArray[np.bool_],
    *,
    tie: float,
    spare: float,
    merit: Callable[[Tree], float],
) -> Tree:
    """Return the tree in which each leaf has, among its tied templates, the template that gives the tree the highest
    merit in closed loop.

    Leaves are processed in decreasing order of the number of situations that reach them.

    Parameters
    ----------
    tree : Tree
    places : (n,), index of the leaf that each labeled situation reaches
    is_free : (n, templates), whether a template has no regret in a situation: it is worse than the best template
        at most in the last component of the objective
    tie : two templates of a leaf tie if the fractions of the leaf's situations in which they have no regret differ by
        at most this number
    spare : maximum decrease, by all changes together, of the fraction of situations without regret
    merit : function from a tree to its merit in closed loop; larger is better
    """
    leaves = sorted((i for i, node in enumerate(tree.nodes) if node.is_leaf), key=lambda i: -int(np.sum(places == i)))
    here = {leaf: is_free[places == leaf] for leaf in leaves}
    least, best = _free(tree, here) - spare, merit(tree)
    for _ in range(PASSES):
        before = tree
        for leaf in leaves:
            for template in _tied(here[leaf], tree.nodes[leaf].template, tie):
                changed = _changed(tree, leaf, template)
                if _free(changed, here) < least:
                    continue
                if (worth := merit(changed)) > best + WORTH_A_CHANGE:
                    tree, best = changed, worth
        if tree is before:
            break
    return tree


def _tied(is_free: npt.NDArray[np.bool_], template: int, tie: float) -> list[int]:
    """Return the indices of the templates that tie with the leaf's best template, except the leaf's own template."""
    if not len(is_free):
        return []
    fractions = is_free.mean(axis=0)
    return [int(t) for t in np.flatnonzero(fractions >= fractions.max() - tie) if t != template]


def _changed(tree: Tree, leaf: int, template: int) -> Tree:
    nodes = list(tree.nodes)
    nodes[leaf] = replace(nodes[leaf], template=template)
    return Tree(tuple(nodes))


def _free(tree: Tree, here: dict[int, npt.NDArray[np.bool_]]) -> float:
    """Return the fraction of all situations in which the template of the tree has no regret."""
    return sum(int(rows[:, tree.nodes[leaf].template].sum()) for leaf, rows in here.items()) / max(
        sum(len(rows) for rows in here.values()), 1
    )
