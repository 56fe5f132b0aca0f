"""A controller, its verdicts, and many steps that try to break them."""

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
#: Packets; bounds in doubles are compared with those in fractions.
SAME: Final = 1e-3


@dataclass
class CampaignResult:
    """Results of attacks.

    Attributes
    ----------
    counts : verdicts by outcome, steps, refutations that were replayed
    broken : verdicts that a step contradicts
    excluded : steps that the prover's encoding excludes, with the part that does
    mistaken : refutations that do not replay, or not in ``crates/game``
    """

    counts: Counter[str] = field(default_factory=Counter)
    broken: list[Broken] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)
    mistaken: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        """Return whether nothing fell."""
        return not (self.broken or self.excluded or self.mistaken)


def game(document: Document) -> _core.GameQuery:
    """Return the game in which a controller is played: that of its kind, on links of its own model."""
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
    """Return a controller to attack: a changed published one, or a random one of either kind."""
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
    """Prove claims of a controller, and add to `outcome` what contradicts the verdicts.

    Parameters
    ----------
    steps : int, in closed loops; a fifth as many random states are added
    windows : int, among which refutations are looked for
    encoded : int, how many of the steps the prover's encoding is asked to admit
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
    """Attack the controller of a seed, asking for some claims; return it."""
    document = candidate(seed)
    rng = random.Random(f"claims/{seed}")  # noqa: S311 (no secret)
    known = CLAIMS[document["kind"]]
    attack(outcome, document, rng.sample(known, min(4, len(known))), seed, steps=steps, windows=windows)
    return document


def mistakes(refutation: Refutation, core: _core.GameController) -> list[str]:
    """Return how a refutation differs when its file is replayed, and from what ``crates/game`` makes of its window."""
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
