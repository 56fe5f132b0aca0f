"""Controllers for attacks: modified controllers and random controllers."""

from __future__ import annotations

import copy
import random
from typing import Any, Final

from fairweir.ccas.controller_file import FEATURES, FORM_NAMES

Document = dict[str, Any]

SENDS: Final = ("none", "newest", "oldest", "all", "each")
INSTEAD: Final = ("hold", "skip", "newest", "oldest")
#: Edge cases of thresholds of trees, of shields and of facts about belief sets; and numbers far from them.
EDGES: Final = (0.0, 0.5, 1.0, 1.0 + 1e-9, 1.0 - 1e-7, 1.25, 2.0, 3.0, -1.0, 1e-9, -1e-9, 0.999, 4.0)
FACTORS: Final = (1.0, -1.0, 2.0, 3.0, 0.5, 1.5, -0.25, 1e-7, 10.0, 1e3, -1e3, 1e6, -1e6)
EMPTY: Final[Document] = {
    "format": "fairweir-tree-1", "name": "random", "kind": "video", "query": "conference", "query_sha256": "",
    "version": "0.1.0", "step": "50ms", "points": 6, "model": {"c": [1, 200], "b": [1, 200]}, "encoder": [0.6, 1.3],
}  # fmt: skip
#: Claims for both kinds of controllers; some are false for almost every controller.
CLAIMS: Final = {
    "video": (
        "decodable", "carries-message", "queue<=0", "queue<=1", "queue<=2", "queue<=3", "loss<=0", "loss<=1/2",
        "loss<=1", "loss<=3", "latency<=4", "latency<=5", "encode<=1", "encode<=3/2",
    ),
    "rate": ("queue<=0", "queue<=1", "queue<=2", "queue<=3", "loss<=0", "loss<=1/2", "loss<=1", "loss<=3"),
}  # fmt: skip


def form(rng: random.Random) -> dict[str, float]:
    """Return a linear form for a rate or a target size."""
    names = rng.sample(FORM_NAMES, rng.randint(0, 3))
    usual = FACTORS[:7] if rng.random() < 0.8 else FACTORS
    return {name: rng.choice(usual) for name in names}


def leaf(rng: random.Random, kind: str) -> Document:
    """Return a leaf."""
    if kind == "rate":
        return {"leaf": {"rate": form(rng)}}
    return {"leaf": {"send": rng.choice(SENDS), "rate": form(rng), "encode": rng.choice(({"M": 1}, {}, form(rng)))}}


def comparison(rng: random.Random) -> tuple[dict[str, float], float]:
    """Return the left side of a split and its threshold."""
    names = rng.sample(list(FEATURES), 1 if rng.random() < 0.7 else 2)
    factors = FACTORS if rng.random() < 0.2 else (1.0, -1.0)
    return {name: rng.choice(factors) for name in names}, rng.choice(EDGES)


def rule(rng: random.Random, kind: str) -> Document:
    """Return a rule of a shield."""
    limit = rng.choice(("R0", "3 M - Q", "M", "2 M - Q", "R0 + M", "0.5 R0", "R0 - packet", "M + Q"))
    if rng.random() < 0.4:
        return {"cap": "rate", "at": rng.choice(({"M": 3, "Q": -1}, {"R0": 1}, {"M": 1}, {"M": 2, "Q": -1}))}
    instead = "hold" if kind == "rate" else rng.choice(INSTEAD)
    return {"unless": f"{rng.choice(('message', 'rate'))} <= {limit}", "do": instead}


def random_controller(rng: random.Random, kind: str = "video") -> Document:
    """Return a controller with a random tree of up to eight leaves and a random shield."""
    nodes: list[Document] = [{}]
    growing = [0]
    leaves = rng.randint(1, 8)
    while growing:
        index = growing.pop(0)
        if len(growing) + 1 + sum("leaf" in node for node in nodes) >= leaves:
            nodes[index] = leaf(rng, kind)
            continue
        feature, at_most = comparison(rng)
        nodes[index] = {"feature": feature, "at_most": at_most, "then": len(nodes), "else": len(nodes) + 1}
        growing += [len(nodes), len(nodes) + 1]
        nodes += [{}, {}]
    shield = [rule(rng, kind) for _ in range(rng.randint(0, 4))]
    return {**copy.deepcopy(EMPTY), "kind": kind, "nodes": nodes, "shield": shield}


def mutant(rng: random.Random, document: Document) -> Document:
    """Return a copy of a controller with one to four changes."""
    made = copy.deepcopy(document)
    made["proofs"] = []
    for _ in range(rng.randint(1, 4)):
        rng.choice((_rate, _send, _threshold, _feature, _shield, _swap))(rng, made)
    return made


def _leaves(made: Document) -> list[Document]:
    return [node["leaf"] for node in made["nodes"] if "leaf" in node]


def _splits(made: Document) -> list[Document]:
    return [node for node in made["nodes"] if "leaf" not in node]


def _rate(rng: random.Random, made: Document) -> None:
    rng.choice(_leaves(made))["rate"] = form(rng)


def _send(rng: random.Random, made: Document) -> None:
    if made["kind"] == "video":
        rng.choice(_leaves(made))["send"] = rng.choice(SENDS)


def _swap(rng: random.Random, made: Document) -> None:
    one, other = rng.choice(_leaves(made)), rng.choice(_leaves(made))
    one["rate"], other["rate"] = other.get("rate", {}), one.get("rate", {})


def _threshold(rng: random.Random, made: Document) -> None:
    if splits := _splits(made):
        rng.choice(splits)["at_most"] = rng.choice(EDGES)


def _feature(rng: random.Random, made: Document) -> None:
    if splits := _splits(made):
        split = rng.choice(splits)
        split["feature"], split["at_most"] = comparison(rng)


def _shield(rng: random.Random, made: Document) -> None:
    rules = made.setdefault("shield", [])
    change = rng.randrange(4)
    if change == 0:
        made["shield"] = []
    elif change == 1 and rules:
        rules.pop(rng.randrange(len(rules)))
    elif change == 2:
        rng.shuffle(rules)
    else:
        rules.insert(rng.randint(0, len(rules)), rule(rng, made["kind"]))
