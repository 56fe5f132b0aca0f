"""Finished runs of the open windows, in memory, so that pinned runs can be drawn again and compared."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Collection
from typing import Final

from fairweir.errors import ConfigError
from fairweir.play.course import Course
from fairweir.show.picture import Picture

#: Maximum memory of finished runs, bytes.
MAX_BYTES: Final = 1 << 30


class Runs:
    """Runs by id; the oldest are forgotten first when the memory limit is exceeded."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._runs: OrderedDict[str, tuple[Course, int]] = OrderedDict()
        self._max_bytes = max_bytes
        self._bytes = 0

    def add(self, played: Course, keep: Collection[str] = ()) -> str:
        """Store a run and return its id; runs in `keep` are forgotten last."""
        run = secrets.token_hex(8)
        size = size_of(played.picture)
        self._runs[run] = played, size
        self._bytes += size
        for one in keep:
            if one in self._runs:
                self._runs.move_to_end(one)
        self._runs.move_to_end(run)
        while self._bytes > self._max_bytes and len(self._runs) > 1:
            _, (_, freed) = self._runs.popitem(last=False)
            self._bytes -= freed
        return run

    def get(self, run: str) -> Course:
        """Return a run.

        Raises
        ------
        ConfigError : it was forgotten
        """
        if run not in self._runs:
            raise ConfigError("this run is no longer in memory", hint="run it again", key=run)
        return self._runs[run][0]


def size_of(picture: Picture) -> int:
    """Return the size of a picture's numbers, bytes."""
    curves = [curve for panel in picture.panels for curve in panel.curves]
    return picture.t_s.nbytes + sum(
        array.nbytes for one in curves for array in (one.values, one.low, one.high) if array is not None
    )
