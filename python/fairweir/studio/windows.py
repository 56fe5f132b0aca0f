"""The open browser windows: the run that each is waiting for, and the events that each receives."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

T = TypeVar("T")

#: Time between lines that keep a stream open, s.
KEEP_ALIVE_S: Final = 15.0
#: Number of events that wait for a window which does not read them; older ones are dropped.
_MAX_EVENTS: Final = 256


class SupersededError(Exception):
    """A newer request of the same window has replaced this one."""


@dataclass
class Window:
    """One browser window.

    Attributes
    ----------
    events : events that were not sent yet
    current : the task that the window is waiting for
    """

    events: asyncio.Queue[dict[str, Any]] = field(default_factory=lambda: asyncio.Queue(_MAX_EVENTS))
    current: asyncio.Task[Any] | None = None

    def cancel(self) -> None:
        """Cancel the task that the window is waiting for."""
        if self.current is not None:
            self.current.cancel()

    def post(self, **event: Any) -> None:
        """Queue an event; if the queue is full, the oldest event is dropped."""
        if self.events.full():
            with suppress(asyncio.QueueEmpty):
                self.events.get_nowait()
        self.events.put_nowait(event)


class Windows:
    """Windows by the id that each chooses."""

    def __init__(self) -> None:
        self._windows: dict[str, Window] = {}

    def get(self, window: str) -> Window:
        """Return the window of an id."""
        return self._windows.setdefault(window[:64], Window())

    def cancel(self) -> None:
        """Cancel the work of all windows."""
        for window in self._windows.values():
            window.cancel()

    async def newest(self, window: Window, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Do some work of a window, of which only the newest is wanted: cancel the work before.

        Raises
        ------
        SupersededError : the work was cancelled by a newer request
        """
        window.cancel()
        task = asyncio.ensure_future(work())
        window.current = task
        try:
            return await task
        except asyncio.CancelledError:
            if task.cancelled() and asyncio.current_task() is not None:
                raise SupersededError from None
            task.cancel()
            raise
        finally:
            if window.current is task:
                window.current = None

    async def stream(self, name: str) -> AsyncIterator[str]:
        """Yield a window's events as server-sent events, from now on."""
        window = self.get(name)
        while not window.events.empty():
            window.events.get_nowait()
        try:
            yield "retry: 1000\n\n"
            while True:
                try:
                    event = await asyncio.wait_for(window.events.get(), KEEP_ALIVE_S)
                    yield f"data: {json.dumps(event)}\n\n"
                except TimeoutError:
                    yield ": open\n\n"
        finally:
            if window.current is None:
                self._windows.pop(name[:64], None)
