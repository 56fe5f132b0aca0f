"""Closed-loop runs of decision trees, and of the search that the trees imitate, on random links.

The *search* looks several steps ahead for the action that is best on the worst link that explains the observations. A
*session* is one closed-loop run. Agreement with the search is weak evidence for a tree: a tree that agrees in 97 % of
decisions may send nothing in all decisions in which several actions are equally good. Trees are therefore compared
with the search in closed loop, on links that were not used for training.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fairweir import _core
from fairweir.game.export import controller_text
from fairweir.game.parallel import Progress, in_order
from fairweir.game.query import GameQuery
from fairweir.game.sampling import Floats, Policy
from fairweir.judging.interval import Scale, interval
from fairweir.play.pool import default_workers

if TYPE_CHECKING:
    from fairweir.play.cluster import Cluster


@dataclass(frozen=True)
class Score:
    """The results of a policy (a tree or the search) in several sessions.

    Attributes
    ----------
    goodput : (sessions,), packets of batches received in time (rate controllers: packets delivered), divided by the
        number of packets that the link could carry
    frames : (sessions,), batches (outputs of the encoder in one step) received in time, per step; 0 for rate
        controllers
    queue : (sessions,), mean queue divided by the packets that the link serves in a step
    lost : (sessions,), number of packets lost
    """

    goodput: Floats
    frames: Floats
    queue: Floats
    lost: Floats

    def document(self) -> dict[str, Any]:
        """Return the mean over sessions of each result, with its 95 % confidence interval."""
        return {
            name: {"mean": found.value, "lo": found.lo, "hi": found.hi}
            for name in ("goodput", "frames", "queue", "lost")
            for found in [interval(list(getattr(self, name)), Scale.POSITIVE)]
        }


def score(
    query: GameQuery, played: Sequence[str], policy: Policy, *, workers: int | Cluster, progress: Progress
) -> Score:
    """Run every session with a policy, and return the results.

    Parameters
    ----------
    played : the sessions, as JSON
    policy : a controller; None: the search decides
    workers : int, number of threads; or the cluster on which the search decides. Sessions of a controller take
        milliseconds, and are always run here
    """
    if policy is not None and not isinstance(workers, int):
        workers = default_workers()
    rows = in_order(partial(_play, query, policy), played, workers=workers, progress=progress)
    is_video = query.kind == "video"

    def column(name: str) -> Floats:
        return np.array([row[name] for row in rows], float)

    return Score(
        column("goodput" if is_video else "utilization"),
        column("frames_per_step") if is_video else np.zeros(len(rows)),
        column("mean_queue"),
        column("lost"),
    )


def _play(query: GameQuery, policy: Policy, session: str) -> dict[str, float]:
    return dict(json.loads(_core.game_play(query.core, session, policy)[0]))


def leaf_visits(query: GameQuery, played: Sequence[str], document: dict[str, Any]) -> dict[int, int]:
    """Return the number of times that a controller reaches each of its leaves in the sessions, by the index of the
    leaf's node.
    """
    policy = _core.GameController(controller_text(document))
    found: Counter[int] = Counter()
    for session in played:
        _, rows = _core.game_play(query.core, session, policy, rows=True)
        found.update(rows["chosen"] if rows else [])
    return dict(sorted(found.items()))


@dataclass(frozen=True)
class Comparison:
    """Results of a tree compared with the search's results in the same sessions.

    Attributes
    ----------
    goodput, frames : the tree's mean over sessions divided by the search's
    queue : the tree's mean queue minus the search's, in steps of the link's service
    """

    goodput: float
    frames: float
    queue: float

    @property
    def merit(self) -> float:
        """Merit of the tree: the smaller of the ratios, at most 1.02, minus a price for a longer queue."""
        return min(self.goodput, self.frames, 1.02) - 0.05 * max(self.queue, 0.0)


def compare(tree: Score, search: Score) -> Comparison:
    """Compare the results of a tree with the results of the search."""

    def ratio(of: Floats, by: Floats) -> float:
        return float(of.mean() / by.mean()) if by.mean() > 0 else 1.0

    return Comparison(
        ratio(tree.goodput, search.goodput), ratio(tree.frames, search.frames),
        float(tree.queue.mean() - search.queue.mean()),
    )  # fmt: skip
