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
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fairweir import _core
from fairweir.documents.store import Store, fingerprint
from fairweir.game.distil import Tree
from fairweir.game.export import controller_document, controller_text
from fairweir.game.parallel import Progress, in_order
from fairweir.game.query import GameQuery
from fairweir.game.sampling import Labelled, label, sessions, visited

if TYPE_CHECKING:
    from fairweir.play.cluster import Cluster

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
    workers : int, number of threads; or the cluster that computes the units
    """

    query: GameQuery
    store: Store[Labelled]
    workers: int | Cluster

    def of_sessions(self, count: int, seed: int, noise: float, tree: Tree | None, progress: Progress) -> Labelled:
        """Return the labeled situations of random sessions.

        Parameters
        ----------
        count : int, number of sessions
        noise : fraction of the actions that are random
        tree : the tree that decides in the sessions; None: the search decides
        """
        every = self.query.sampling.every
        document = None if tree is None else controller_document(self.query, tree)
        text = None if document is None else controller_text(document)
        nodes = None if document is None else document["nodes"]
        played = list(enumerate(sessions(self.query, count, seed, noise)))
        names = [self._name("session", session, number % every, every, nodes) for number, session in played]
        return self._joined(partial(_label_session, self.query, text), played, names, progress)

    def of_boxes(self, count: int, seed: int, progress: Progress) -> Labelled:
        """Return `count` labeled situations, drawn at random from all states that the model allows."""
        starts = range(0, count, _UNIT)
        # The situations of a unit do not depend on `count`, so the key of the unit need not contain it.
        if isinstance(self.workers, int):
            # Once, not in each thread.
            _states(self.query.core.to_json(), count, seed)
        names = [self._name("boxes", seed, start, min(_UNIT, count - start)) for start in starts]
        return self._joined(partial(_label_boxes, self.query, count, seed), starts, names, progress)

    def _name(self, *what: Any) -> str:
        return fingerprint(_build(), self.query.core.to_json(), self.query.sampling.depth, *what)

    def _joined(
        self, work: Callable[[Any], Labelled], items: Sequence[Any], names: Sequence[str], progress: Progress
    ) -> Labelled:
        """Return the labels of all units. Units that the store does not have are computed and stored."""
        stored = [self.store.get(name) for name in names]
        missing = [index for index, found in enumerate(stored) if found is None]
        done = len(items) - len(missing)
        computed = in_order(
            work,
            [items[index] for index in missing],
            workers=self.workers,
            progress=lambda now, _: progress(done + now, len(items)),
            keep=lambda number, found: self.store.put(names[missing[number]], found),
        )
        for index, found in zip(missing, computed, strict=True):
            stored[index] = found
        return Labelled.join([label(self.query, []), *(found for found in stored if found is not None)])


def _label_session(query: GameQuery, text: str | None, numbered: tuple[int, str]) -> Labelled:
    """Label the situations of a session in which the controller `text` decides; None: the search decides."""
    number, session = numbered
    every = query.sampling.every
    policy = None if text is None else _core.GameController(text)
    return label(query, visited(query, session, policy)[number % every :: every])


def _label_boxes(query: GameQuery, count: int, seed: int, start: int) -> Labelled:
    """Label the unit of random situations that begins at `start`."""
    return label(query, _states(query.core.to_json(), count, seed)[start : start + _UNIT])


@lru_cache(maxsize=1)
def _states(game: str, count: int, seed: int) -> list[_core.GameState]:
    """Return random states of a game. A process needs the same ones for each unit."""
    return _core.game_random_states(_core.GameQuery(game), count, seed)


@cache
def _build() -> str:
    """Return the SHA-256 of the compiled module: another build may compute other labels."""
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()
