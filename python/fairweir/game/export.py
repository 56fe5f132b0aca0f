"""Write a fitted decision tree as a controller file (docs/formal/game.md, "Controller files")."""

from __future__ import annotations

import json
from typing import Any, Final

from fairweir import __version__
from fairweir.ccas.controller_file import FORMAT, Kind
from fairweir.game.distil import Tree
from fairweir.game.query import GameQuery
from fairweir.game.sampling import feature_names

#: Defaults of optional query keys, as in ``crates/game``.
_DEFAULTS: Final[dict[str, Any]] = {"step": "50ms", "points": 6, "encoder": [1.0, 1.0], "probe_period": 200}

#: For controllers that send no frames: features that are equal because no batch waits, and the feature that replaces
#: each of them.
_WITHOUT_BATCHES: Final = {"spare_newest": "r0", "spare_sum": "r0", "room_newest": "room", "room_sum": "room"}


def controller_document(query: GameQuery, tree: Tree, name: str | None = None) -> dict[str, Any]:
    """Return the controller file's contents: the tree, the query's *shield* (rules that limit each action), and the
    model.

    Parameters
    ----------
    name : str, name of the controller; default: the name of the query
    """
    game = json.loads(query.core.to_json())
    leaves = json.loads(query.core.leaves())
    features = feature_names()
    if query.kind is Kind.RATE:
        features = [_WITHOUT_BATCHES.get(name, name) for name in features]
    nodes = [
        {"leaf": leaves[node.template]}
        if node.is_leaf
        else {"feature": {features[node.feature]: 1.0}, "at_most": node.at_most, "then": node.then, "else": node.other}
        for node in tree.nodes
    ]
    return {
        "format": FORMAT,
        "name": name or query.name,
        "kind": query.kind.value,
        "query": query.name,
        "query_sha256": query.fingerprint,
        "version": __version__,
        **{key: game.get(key, default) for key, default in _DEFAULTS.items()},
        "model": {"c": game["model"]["c"], "b": game["model"]["b"]},
        "nodes": nodes,
        "shield": game["shield"],
        "proofs": [],
    }


def controller_text(document: dict[str, Any]) -> str:
    """Return the controller file's contents as text."""
    return json.dumps(document, indent=1) + "\n"
