"""Label situations: compute, for the input of a sender's decision, the value of each possible action by search.

A *situation* consists of the bounds of the links that explain the sender's observations, and of the waiting frames; its
*features* describe it by numbers. A *template* is a possible action. A *session* is a run of a sender on a random link.
In thesis section 4.5, trees imitate the decisions of a search. Situations come from three sources here: sessions in
which the search decides, with occasional random actions; random situations from all states that the model allows; and
sessions in which the fitted trees decide (dataset aggregation, Ross et al. 2011), because a tree reaches situations
that the search avoids.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fairweir import _core
from fairweir.documents.store import Store
from fairweir.game.query import GameQuery

Floats = npt.NDArray[np.float64]
Values = npt.NDArray[np.int32]

#: Number of components of an action's value (``MAX_COMPONENTS`` of ``crates/game``).
COMPONENTS: Final = 8
#: First component of the value of a situation that no link explains.
_UNEXPLAINED: Final = np.iinfo(np.int32).max
#: Difference between the seeds of two sequences of sessions.
SEEDS_APART: Final = 1_000_003

Policy = _core.GameController | Callable[[list[float]], int] | None


def feature_names() -> list[str]:
    """Return the names of the features, in the order of the columns of a feature array."""
    return [name for name, _unit, _doc in _core.game_features()]


@dataclass(frozen=True)
class Labelled:
    """Situations, with the value of each template in each situation.

    Attributes
    ----------
    features : array of shape (n, features)
    values : array of shape (n, templates, COMPONENTS), int32; values are compared component by component, and the
        smaller value is better
    """

    features: Floats
    values: Values

    def __len__(self) -> int:
        """Number of situations."""
        return len(self.features)

    @cached_property
    def is_converged(self) -> npt.NDArray[np.bool_]:
        """For each situation, whether the controller holds a maximum link rate, so that the objective for convergence
        applies.
        """
        held: npt.NDArray[np.bool_] = self.features[:, feature_names().index("converged")] == 1
        return held

    def where(self, chosen: npt.NDArray[Any]) -> Labelled:
        """Return the situations that a mask or a list of indices selects."""
        return Labelled(self.features[chosen], self.values[chosen])

    @staticmethod
    def join(parts: Sequence[Labelled]) -> Labelled:
        """Return all situations of `parts`, in order."""
        return Labelled(
            np.concatenate([part.features for part in parts]), np.concatenate([part.values for part in parts])
        )


def label(query: GameQuery, states: Sequence[_core.GameState]) -> Labelled:
    """Return the values of all templates in each state, computed by search. States that no link explains are
    omitted.
    """
    templates = len(query.core.actions)
    rows = np.frombuffer(_core.game_feature_rows(list(states))).reshape(-1, len(feature_names()))
    values = np.frombuffer(_core.game_values(query.labels, list(states), threads=1), np.int32)
    values = values.reshape(-1, templates, COMPONENTS)
    is_explained = (values[:, :, 0] != _UNEXPLAINED).any(axis=1) & np.isfinite(rows).all(axis=1)
    return Labelled(rows[is_explained], values[is_explained])


def sessions(query: GameQuery, count: int, seed: int, noise: float = 0.0) -> Iterator[str]:
    """Yield `count` random sessions as JSON. Different seeds give different sessions.

    Parameters
    ----------
    noise : fraction of the actions that are random
    """
    for number in range(count):
        session = json.loads(query.core.random_session(seed * SEEDS_APART + number))
        yield json.dumps({**session, "noise": noise})


def visited(query: GameQuery, session: str, policy: Policy) -> list[_core.GameState]:
    """Run a session (given as JSON), and return every situation that occurs.

    Parameters
    ----------
    policy : a controller, or a function from the features to a template's index; None: the search decides
    """
    _, rows = _core.game_play(query.labels, session, policy, rows=True)
    return list(rows["state"]) if rows else []


def label_store(directory: Path, templates: int) -> Store[Labelled]:
    """Return a store of labeled situations. The game has `templates` templates."""

    def decode(content: bytes) -> Labelled:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            found = Labelled(file["features"], file["values"])
        is_whole = (
            found.features.ndim == 2
            and found.features.shape[1] == len(feature_names())
            and found.values.shape == (len(found.features), templates, COMPONENTS)
            and found.values.dtype == np.int32
            and bool(np.isfinite(found.features).all())
        )
        if not is_whole:
            raise ValueError("not the labels of this game")
        return found

    return Store(directory, _encode, decode, ".npz")


def _encode(found: Labelled) -> bytes:
    content = io.BytesIO()
    np.savez_compressed(content, features=found.features, values=found.values)
    return content.getvalue()
