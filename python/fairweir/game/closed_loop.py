"""Closed-loop runs of policies on random links.

Agreement with the search is weak evidence for a tree: a tree that agrees in 97 % of situations may idle in all
situations in which actions tie. Trees are therefore compared with the search in closed loop, on links that were not
used for training.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairweir import _core
from fairweir.game.export import controller_text
from fairweir.game.parallel import Progress, in_order
from fairweir.game.query import GameQuery
from fairweir.game.sampling import Floats, Policy
from fairweir.judging.interval import Scale, interval


@dataclass(frozen=True)
class Score:
    """A policy's results on each of several sessions.

    Attributes
    ----------
    goodput : (sessions,), message packets received in time (rate controllers: packets delivered), divided by the number
        of packets that the link could carry
    frames : (sessions,), batches received in time per step; 0 for rate controllers
    queue : (sessions,), mean queue, in steps of the link's capacity
    lost : (sessions,), packets lost
    """

    goodput: Floats
    frames: Floats
    queue: Floats
    lost: Floats

    def document(self) -> dict[str, Any]:
        """Return means with 95 % confidence intervals."""
        return {
            name: {"mean": found.value, "lo": found.lo, "hi": found.hi}
            for name in ("goodput", "frames", "queue", "lost")
            for found in [interval(list(getattr(self, name)), Scale.POSITIVE)]
        }


def score(query: GameQuery, played: Sequence[str], policy: Policy, *, workers: int, progress: Progress) -> Score:
    """Run every session with a policy.

    Parameters
    ----------
    played : the sessions, as JSON
    policy : a controller; None: the search
    workers : int, number of threads
    """

    def play(session: str) -> dict[str, float]:
        return dict(json.loads(_core.game_play(query.core, session, policy)[0]))

    rows = in_order(play, played, workers=workers, progress=progress)
    is_video = query.kind == "video"

    def column(name: str) -> Floats:
        return np.array([row[name] for row in rows], float)

    return Score(
        column("goodput" if is_video else "utilization"),
        column("frames_per_step") if is_video else np.zeros(len(rows)),
        column("mean_queue"),
        column("lost"),
    )


def leaf_visits(query: GameQuery, played: Sequence[str], document: dict[str, Any]) -> dict[int, int]:
    """Return how often a controller reaches each of its leaves in the sessions, by the index of the leaf's node."""
    policy = _core.GameController(controller_text(document))
    found: Counter[int] = Counter()
    for session in played:
        _, rows = _core.game_play(query.core, session, policy, rows=True)
        found.update(rows["chosen"] if rows else [])
    return dict(sorted(found.items()))


@dataclass(frozen=True)
class Comparison:
    """A tree compared with the search on the same sessions.

    Attributes
    ----------
    goodput, frames : the tree's mean divided by the search's
    queue : the tree's mean queue minus the search's, in steps
    """

    goodput: float
    frames: float
    queue: float

    @property
    def merit(self) -> float:
        """Return the merit of a tree: the smaller ratio, limited to 1.02, minus a price for a longer queue."""
        return min(self.goodput, self.frames, 1.02) - 0.05 * max(self.queue, 0.0)


def compare(tree: Score, search: Score) -> Comparison:
    """Compare a tree's scores with the search's."""

    def ratio(of: Floats, by: Floats) -> float:
        return float(of.mean() / by.mean()) if by.mean() > 0 else 1.0

    return Comparison(
        ratio(tree.goodput, search.goodput), ratio(tree.frames, search.frames),
        float(tree.queue.mean() - search.queue.mean()),
    )  # fmt: skip
