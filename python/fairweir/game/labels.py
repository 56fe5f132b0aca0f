"""Store labeled situations, so that an interrupted synthesis can resume.

A *situation* is the input of a decision; its *label* is the value that a search over several steps (the *horizon*)
computes for each possible action. A *session* is a run of a sender on a random link. The unit of storage is the labeled
situations of one session, or of one group of random situations. Each unit is stored when it is finished, under the
SHA-256 of all that it depends on: the query, the horizon, the session, the tree that plays the session, and the
compiled module. A synthesis with more sessions or with other trees computes only the units that are missing.
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

#: Directory of the stored units, within the synthesis's output directory.
FOLDER: Final = "labels"
#: Number of random situations per unit.
_UNIT: Final = 100


@dataclass(frozen=True)
class Labels:
    """Labeled situations for a query, read from the store, or else computed by search.

    Attributes
    ----------
    store : Store, with the finished units
    workers : int, number of threads
    """

    query: GameQuery
    store: Store[Labelled]
    workers: int

    def of_sessions(self, count: int, seed: int, noise: float, tree: Tree | None, progress: Progress) -> Labelled:
        """Return the labeled situations of random sessions.

        Parameters
        ----------
        count : int, number of sessions
        noise : fraction of the actions that are random
        tree : the tree that decides in the sessions; None: the search decides
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
        """Return `count` labeled situations, drawn at random from all states that the model allows."""
        states = _core.game_random_states(self.query.core, count, seed)

        def unit(start: int) -> Labelled:
            # The situations of a unit do not depend on `count`, so the key of the unit need not contain it.
            few = states[start : start + _UNIT]
            return self._kept(["boxes", seed, start, len(few)], lambda: few)

        starts = range(0, count, _UNIT)
        return Labelled.join([self._none, *in_order(unit, starts, workers=self.workers, progress=progress)])

    @property
    def _none(self) -> Labelled:
        return label(self.query, [])

    def _kept(self, what: list[Any], situations: Callable[[], Sequence[_core.GameState]]) -> Labelled:
        """Return the stored labels of a unit. If the store does not have them, compute and store them."""
        name = fingerprint(_build(), self.query.core.to_json(), self.query.sampling.depth, *what)
        found = self.store.get(name)
        if found is None:
            found = label(self.query, situations())
            self.store.put(name, found)
        return found


@cache
def _build() -> str:
    """Return the SHA-256 of the compiled module: another build may compute other labels."""
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()
