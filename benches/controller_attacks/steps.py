"""Steps of controllers in ``crates/game``: in closed loops, and in random states that no policy would reach."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fairweir import _core
from fairweir.ccas.controller_file import FEATURES

#: Sources of beliefs for which claims hold (docs/formal/game.md).
EXACT: Final = ("window", "fewer-points", "packet-slack")
#: Number of steps after a change of the link until the window has only later points.
SETTLED: Final = 8
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Played:
    """The step on the true link, packets.

    Attributes
    ----------
    c, b : rate and buffer of the link
    queue : at the next point, before the step's packets arrive
    queue_after : the queue after their arrival
    """

    c: float
    b: float
    queue: float
    queue_after: float


@dataclass(frozen=True)
class Taken:
    """A step that a controller took, packets.

    Attributes
    ----------
    features : in the order of :data:`FEATURES`
    m, r0 : min C, and the maximum rate at which no link of the belief set loses data
    source : source of the belief
    leaf : index of the leaf's node
    played : result of the step on the link; None if no link was simulated
    """

    features: tuple[float, ...]
    m: float
    q: float
    r0: float
    source: str
    leaf: int
    message: float
    rate: float
    encode: float
    played: Played | None = None

    def feature(self, name: str) -> float:
        """Return a feature by its name."""
        return self.features[_PLACES[name]]


_PLACES: Final = {name: place for place, name in enumerate(FEATURES)}


def closed_loops(
    query: _core.GameQuery, controller: _core.GameController, seed: int, *, steps: int, changes: bool = False
) -> Iterator[Taken]:
    """Yield `count` steps on random links, about 80 steps per link.

    Parameters
    ----------
    changes : bool; if true, the rate of half of the links changes. Steps within a window of a change are omitted.
    """
    rng = random.Random(f"loops/{seed}")  # noqa: S311 (no secret)
    count = 0
    while count < steps:
        session = json.loads(query.random_session(rng.randrange(1 << 40)))
        session |= {"noise": rng.choice((0.0, 0.0, 0.2, 0.6)), "encoder_noise": rng.random() < 0.7}
        if rng.random() < 0.5:
            session["b"] = max(1.0, session["c"] * rng.choice((0.05, 0.2, 0.5, 1.0)))
        if not changes:
            session |= {"change_at": None, "changed_c": None}
        for one in _session(query, controller, session):
            count += 1
            yield one


def _session(query: _core.GameQuery, controller: _core.GameController, session: dict[str, object]) -> Iterator[Taken]:
    _, rows = _core.game_play(query, json.dumps(session), controller, rows=True)
    if rows is None:
        return
    changed = session["change_at"]
    for t in range(len(rows["state"]) - 1):
        is_changing = isinstance(changed, int) and changed - 2 <= t < changed + SETTLED
        if rows["chosen"][t] is None or is_changing:
            continue
        link = Played(rows["c"][t + 1], float(str(session["b"])), rows["queue"][t], rows["queue"][t + 1])
        yield _taken(rows["state"][t], controller, link)


def random_states(
    query: _core.GameQuery, controller: _core.GameController, seed: int, *, count: int
) -> Iterator[Taken]:
    """Yield the steps of a controller in random states."""
    for state in _core.game_random_states(query, count, seed):
        yield _taken(state, controller, None)


def _taken(state: _core.GameState, controller: _core.GameController, link: Played | None) -> Taken:
    leaf, _, message, rate, encode = controller.decide(state)
    m, q, r0, _ = state.bounds
    return Taken(tuple(state.features()), m, q, r0, state.belief_source, leaf, message, rate, encode, link)
