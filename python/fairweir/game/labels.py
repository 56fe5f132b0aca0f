"""A store of labeled situations.

A unit of work is the labeled situations of one session, or a batch of labeled random situations. Each unit is stored
when it is finished. Its key is the SHA-256 of all that it depends on: the game, the horizon, the session, the tree that
plays the session, and the compiled module. An interrupted synthesis resumes at the unit where it stopped. A synthesis
with more sessions or other trees computes only the new units.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from fairweir import _core
from fairweir.documents.store import Store, fingerprint
from fairweir.game.distil import Tree
from fairweir.game.export import controller_document, controller_text
from fairweir.game.parallel import Progress, in_order
from fairweir.game.query import GameQuery
from fairweir.game.sampling import Labelled, label, sessions, visited

#: Folder of the stored units, in the synthesis's output directory.
FOLDER: Final = "labels"
#: Number of random situations per unit.
_UNIT: Final = 100


@dataclass(frozen=True)
class Labels:
    """The labels of a query, read from the store or computed by search.

    Attributes
    ----------
    store : Store, with the finished units
    workers : int, number of threads
    """

    query: GameQuery
    store: Store[Labelled]
    workers: int

    def of_sessions(self, count: int, seed: int, noise: float, tree: Tree | None, progress: Progress) -> Labelled:
        """Return labeled situations of random sessions.

        Parameters
        ----------
        count : int, number of sessions
        noise : fraction of random actions
        tree : the tree whose actions are played; None: the search's
        """
        every = self.query.sampling.every
        policy, nodes = None, None
        if tree is not None:
            document = controller_document(self.query, tree)
            policy, nodes = _core.GameController(controller_text(document)), document["nodes"]

        def unit(numbered: tuple[int, str]) -> Labelled:
            number, session = numbered
            start = number % every
            return self._kept(
                ["session", session, start, every, nodes],
                lambda: visited(self.query, session, policy)[start::every],
            )

        played = list(enumerate(sessions(self.query, count, seed, noise)))
        return Labelled.join([self._none, *in_order(unit, played, workers=self.workers, progress=progress)])

    def of_boxes(self, count: int, seed: int, progress: Progress) -> Labelled:
        """Return `count` labeled situations, drawn at random from the model's whole state space."""
        states = _core.game_random_states(self.query.core, count, seed)

        def unit(start: int) -> Labelled:
            # A unit's situations do not depend on `count`, so the key need not contain it.
            few = states[start : start + _UNIT]
            return self._kept(["boxes", seed, start, len(few)], lambda: few)

        starts = range(0, count, _UNIT)
        return Labelled.join([self._none, *in_order(unit, starts, workers=self.workers, progress=progress)])

    @property
    def _none(self) -> Labelled:
        return label(self.query, [])

    def _kept(self, what: list[Any], situations: Callable[[], Sequence[_core.GameState]]) -> Labelled:
        """Return the stored labels of a unit, or compute and store them."""
        name = fingerprint(_build(), self.query.core.to_json(), self.query.sampling.depth, *what)
        found = self.store.get(name)
        if found is None:
            found = label(self.query, situations())
            self.store.put(name, found)
        return found


@cache
def _build() -> str:
    """Return the SHA-256 of the compiled module, because another build may compute other labels."""
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()
