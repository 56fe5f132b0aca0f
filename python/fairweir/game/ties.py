"""Resolve ties between the templates of a leaf by closed loops.

A label compares templates over the search's horizon, on the worst link of the belief set. Templates that tie within the
horizon may differ beyond it: two trees that agree with the search equally often may differ by a fifth in goodput.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from fairweir.game.distil import Tree

#: Minimum gain of merit; smaller gains are noise of the sampled sessions.
WORTH_A_CHANGE: Final = 0.001
#: Maximum number of passes over all leaves; several are needed because the best template of a leaf depends on the
#: others.
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
    """Return the tree in which each leaf has, of its tied templates, the template with the highest merit in closed
    loop.

    Leaves are processed in decreasing order of the number of situations that reach them.

    Parameters
    ----------
    tree : Tree
    places : (n,), leaf of each labeled situation in the tree
    is_free : (n, templates), whether a template has no regret in a situation
    tie : templates of a leaf tie if the fractions of its situations in which they have no regret differ by at most this
    spare : maximum decrease of the fraction of situations without regret, over all changes
    merit : merit of a tree in closed loop; larger is better
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
    """Return the templates that tie with the leaf's best template, without the leaf's current template."""
    if not len(is_free):
        return []
    fractions = is_free.mean(axis=0)
    return [int(t) for t in np.flatnonzero(fractions >= fractions.max() - tie) if t != template]


def _changed(tree: Tree, leaf: int, template: int) -> Tree:
    nodes = list(tree.nodes)
    nodes[leaf] = replace(nodes[leaf], template=template)
    return Tree(tuple(nodes))


def _free(tree: Tree, here: dict[int, npt.NDArray[np.bool_]]) -> float:
    """Return the fraction of all situations in which the tree's template has no regret."""
    return sum(int(rows[:, tree.nodes[leaf].template].sum()) for leaf, rows in here.items()) / max(
        sum(len(rows) for rows in here.values()), 1
    )
