"""Prove claims of a controller, and search for steps that contradict the verdicts."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from benches.controller_attacks.judging import Broken, Encoding, broken
from benches.controller_attacks.mutants import CLAIMS, Document, mutant, random_controller
from benches.controller_attacks.steps import EXACT, closed_loops, random_states

from fairweir import _core
from fairweir.ccas.controller_file import FEATURES, Controller
from fairweir.formal.solving.solvers import Budget
from fairweir.game.claims import parse_claim
from fairweir.game.proofs import Prover
from fairweir.game.query import GameQuery
from fairweir.game.realise import Realiser, Refutation, parse

ROOT: Final = Path(__file__).parents[2]
QUERIES: Final = {"video": "conference", "rate": "bulk"}
#: Maximum difference between a bound in doubles and the bound in fractions, packets.
SAME: Final = 1e-3


@dataclass
class CampaignResult:
    """Results of attacks.

    Attributes
    ----------
    counts : numbers of verdicts by outcome, of steps, and of replayed refutations
    broken : verdicts that a step contradicts
    excluded : steps that the prover's encoding excludes, each with the part of the encoding that excludes it
    mistaken : refutations that cannot be reproduced, or that ``crates/game`` does not reproduce
    """

    counts: Counter[str] = field(default_factory=Counter)
    broken: list[Broken] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)
    mistaken: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        """Whether all verdicts withstood the attacks."""
        return not (self.broken or self.excluded or self.mistaken)


def game(document: Document) -> _core.GameQuery:
    """Return the game for a controller: the game of its kind, with the links of the controller's model."""
    return _game(document["kind"], json.dumps(document["model"]))


@cache
def _game(kind: str, model: str) -> _core.GameQuery:
    path = ROOT / "queries" / "game" / f"{QUERIES[kind]}.toml"
    return GameQuery.load(path, {**GameQuery.load(path).document, "model": json.loads(model)}).core


@cache
def published() -> str:
    """Return the text of the published controller."""
    return (ROOT / "controllers" / "published.json").read_text(encoding="utf-8")


def candidate(seed: int) -> Document:
    """Return a controller to attack: a modified published controller, or a random controller of either kind."""
    rng = random.Random(f"controller/{seed}")  # noqa: S311 (no secret)
    style = rng.random()
    if style < 0.15:
        return mutant(rng, json.loads(published()))
    return random_controller(rng, "video" if style < 0.7 else "rate")


def attack(
    outcome: CampaignResult,
    document: Document,
    claims: Sequence[str],
    seed: int,
    *,
    steps: int,
    windows: int = 0,
    encoded: int = 20,
) -> None:
    """Prove claims of a controller, and add to `outcome` the observations that contradict the verdicts.

    Parameters
    ----------
    steps : int, number of steps in closed loops; a fifth of this number of random states is added
    windows : int, number of windows among which refutations are searched
    encoded : int, number of steps that the prover's encoding must admit
    """
    text = json.dumps(document)
    made, core, query = Controller.parse(text), _core.GameController(text), game(document)
    realiser = Realiser(made.links, made.points, windows) if windows else None
    verdicts = Prover(Budget(20.0), realiser=realiser).prove(made, [parse_claim(one, made.kind) for one in claims])
    outcome.counts.update(verdict.outcome.value for verdict in verdicts)
    taken = [
        *closed_loops(query, core, seed, steps=steps, changes=seed % 2 == 1),
        *random_states(query, core, seed, count=steps // 5),
    ]
    outcome.counts["steps"] += len(taken)
    outcome.broken += broken(verdicts, taken)
    encoding, rng = Encoding(made), random.Random(seed)  # noqa: S311 (no secret)
    sound = [one for one in taken if one.source in EXACT]
    for one in rng.sample(sound, min(encoded, len(sound))):
        if part := encoding.excludes(one):
            outcome.excluded.append(f"{part} of leaf {one.leaf}: {one}")
    for verdict in verdicts:
        if verdict.refutation is not None:
            outcome.counts["replayed"] += 1
            outcome.mistaken += mistakes(verdict.refutation, core)


def attack_random(outcome: CampaignResult, seed: int, *, steps: int, windows: int = 0) -> Document:
    """Attack the controller of a seed with some claims; return the controller."""
    document = candidate(seed)
    rng = random.Random(f"claims/{seed}")  # noqa: S311 (no secret)
    known = CLAIMS[document["kind"]]
    attack(outcome, document, rng.sample(known, min(4, len(known))), seed, steps=steps, windows=windows)
    return document


def mistakes(refutation: Refutation, core: _core.GameController) -> list[str]:
    """Return the differences of a refutation from its replay and from the results of ``crates/game`` for its window."""
    name = f"leaf {refutation.leaf}, {refutation.claim.text}"
    document = json.loads(json.dumps(refutation.document()))
    again = parse(document, "refutation")
    found = [] if again.excess == refutation.excess > 0 else [f"{name}: another excess when replayed"]
    seen: dict[str, Any] = document["window"]
    window = {
        key: [_double(one) for one in value] if isinstance(value, list) else _double(value)
        for key, value in seen.items()
    }
    links = refutation.controller.links
    model = {"c": [float(end) for end in links.c], "b": [float(end) for end in links.b]}
    bounds = json.loads(_core.game_bounds(json.dumps([window]), json.dumps(model)))[0]
    if bounds is None:
        return [*found, f"{name}: no link explains its window in crates/game"]
    theirs = bounds.get("bounds", bounds)
    known = refutation.situation.bounds
    pairs = (
        (theirs["c"]["min"] if isinstance(theirs["c"], dict) else theirs["c"][0], known.c[0]),
        (theirs["q"]["max"] if isinstance(theirs["q"], dict) else theirs["q"][1], known.q[1]),
        (theirs["safe_rate"], known.safe_rate),
    )
    found += [f"{name}: bounds {one} and {float(other)}" for one, other in pairs if abs(one - float(other)) > SAME]
    features = refutation.situation.features()
    row = b"".join(_bytes(float(features[feature])) for feature in FEATURES)
    leaf = int.from_bytes(core.leaves(row), "little")
    if leaf != refutation.leaf:
        found.append(f"{name}: crates/game reaches node {leaf}")
    return found


def _double(text: str) -> float:
    from fractions import Fraction

    return float(Fraction(text))


def _bytes(value: float) -> bytes:
    import struct

    return struct.pack("=d", value)
