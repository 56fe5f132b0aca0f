"""Labelled situations: what a sender knew, and the value of each of its actions by the search.

Three sources (thesis section 4.5 names imitation of a search's decisions): closed loops of the search with a random
action now and then, random situations all over the model, and closed loops of the trees themselves (dataset
aggregation, Ross et al. 2011): a tree errs in places where its teacher never comes.
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
from fairweir.errors import ConfigError
from fairweir.formal.kept import write_bytes, write_text
from fairweir.game.query import GameQuery

Floats = npt.NDArray[np.float64]
Values = npt.NDArray[np.int32]

#: Components of a value (``crates/game``: ``MAX_COMPONENTS``).
COMPONENTS: Final = 8
#: A value that no link explains.
_UNEXPLAINED: Final = np.iinfo(np.int32).max
#: Situations labelled at a time: an interrupt is answered, and progress shown, in between.
_BATCH: Final = 200
#: Seeds of different uses are this far apart.
SEEDS_APART: Final = 1_000_003

Progress = Callable[[int, int], None]
Policy = _core.GameController | Callable[[list[float]], int] | None


def feature_names() -> list[str]:
    """Return the names of the features, in the order of their columns."""
    return [name for name, _unit, _doc in _core.game_features()]


@dataclass(frozen=True)
class Labelled:
    """Situations with the values of all templates.

    Attributes
    ----------
    features : (n, features)
    values : (n, templates, COMPONENTS), int32; smaller is better, compared component by component
    """

    features: Floats
    values: Values

    def __len__(self) -> int:
        """The number of situations."""
        return len(self.features)

    @cached_property
    def is_converged(self) -> npt.NDArray[np.bool_]:
        """Per situation: is max C held, so that the converged objective counts?"""
        held: npt.NDArray[np.bool_] = self.features[:, feature_names().index("converged")] == 1
        return held

    def where(self, chosen: npt.NDArray[Any]) -> Labelled:
        """Return the situations that a mask or indices choose."""
        return Labelled(self.features[chosen], self.values[chosen])

    @staticmethod
    def join(parts: Sequence[Labelled]) -> Labelled:
        """Return all situations of `parts`, in order."""
        return Labelled(
            np.concatenate([part.features for part in parts]), np.concatenate([part.values for part in parts])
        )


def label(query: GameQuery, states: Sequence[_core.GameState], threads: int, progress: Progress) -> Labelled:
    """Search the game at every state; states that no link explains are left out.

    Parameters
    ----------
    threads : int
    progress : called with how many of how many states are done
    """
    templates = len(query.core.actions)
    names = len(feature_names())
    features, values = [np.empty((0, names))], [np.empty((0, templates, COMPONENTS), np.int32)]
    for start in range(0, len(states), _BATCH):
        batch = list(states[start : start + _BATCH])
        rows = np.frombuffer(_core.game_feature_rows(batch)).reshape(-1, names)
        found = np.frombuffer(_core.game_values(query.labels, batch, threads=threads), np.int32)
        found = found.reshape(-1, templates, COMPONENTS)
        is_explained = (found[:, :, 0] != _UNEXPLAINED).any(axis=1) & np.isfinite(rows).all(axis=1)
        features.append(rows[is_explained])
        values.append(found[is_explained])
        progress(start + len(batch), len(states))
    return Labelled(np.concatenate(features), np.concatenate(values))


def sessions(query: GameQuery, count: int, seed: int, noise: float = 0.0) -> Iterator[str]:
    """Return random sessions as JSON; different `seed` share none of them.

    Parameters
    ----------
    noise : fraction of random actions
    """
    for number in range(count):
        session = json.loads(query.core.random_session(seed * SEEDS_APART + number))
        yield json.dumps({**session, "noise": noise})


def visited(query: GameQuery, played: Sequence[str], policy: Policy, progress: Progress) -> list[_core.GameState]:
    """Play sessions, and return every ``sampling.every``-th situation on the way.

    Parameters
    ----------
    policy : a controller, a function of the features to a template, or None: the search
    """
    states: list[_core.GameState] = []
    for number, session in enumerate(played):
        _, rows = _core.game_play(query.labels, session, policy, rows=True)
        states += (rows or {"state": []})["state"][number % query.sampling.every :: query.sampling.every]
        progress(number + 1, len(played))
    return states


@dataclass(frozen=True)
class Store:
    """Labelled situations on disk, by the name of their source, so that the same command goes on where it stopped."""

    directory: Path
    fingerprint: str

    def begin(self) -> None:
        """Make the directory, for this query only.

        Raises
        ------
        ConfigError : it holds another query's situations, or cannot be used
        """
        head = self.directory / "query.json"
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            if head.exists():
                kept = json.loads(head.read_text("utf-8"))
                if not isinstance(kept, dict) or kept.get("fingerprint") != self.fingerprint:
                    raise ConfigError(
                        f"{self.directory} holds what was found for another query, or another build",
                        source=str(head),
                        hint="choose another directory with --out, or remove this one",
                    )
            else:
                write_text(head, json.dumps({"fingerprint": self.fingerprint}) + "\n")
        except (OSError, ValueError) as error:
            raise ConfigError(f"cannot use {self.directory}: {error}", hint="choose another one with --out") from None

    def kept(self, name: str, templates: int) -> Labelled | None:
        """Return the situations stored under `name`; None if there are none that can be read."""
        try:
            with np.load(self.directory / f"{name}.npz", allow_pickle=False) as file:
                found = Labelled(file["features"], file["values"])
        except (OSError, ValueError, KeyError, EOFError):
            return None
        is_whole = (
            found.features.ndim == 2
            and found.features.shape[1] == len(feature_names())
            and found.values.shape == (len(found.features), templates, COMPONENTS)
            and found.values.dtype == np.int32
            and bool(np.isfinite(found.features).all())
        )
        return found if is_whole else None

    def keep(self, name: str, found: Labelled) -> None:
        """Store situations under `name`."""
        content = io.BytesIO()
        np.savez_compressed(content, features=found.features, values=found.values)
        write_bytes(self.directory / f"{name}.npz", content.getvalue())
