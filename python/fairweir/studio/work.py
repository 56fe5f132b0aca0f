"""Commands that run for a page: each as the program itself in a process of its own, with its output and progress.

A command runs with the isolation that it has in a terminal, and stores what it stores there. It continues when the page
is closed, unless it was started with the wish to stop then.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from fairweir.errors import ConfigError
from fairweir.play.process import PROGRESS_VARIABLE, describe_exit, die_with_parent
from fairweir.studio.commands import Call
from fairweir.studio.windows import KEEP_ALIVE_S

#: Maximum number of commands that run at the same time; each uses all cores.
MAX_RUNNING: Final = 2
#: Number of ended commands whose output is still shown.
MAX_ENDED: Final = 20
#: Maximum number of characters of output per command; further output is not shown.
MAX_OUTPUT: Final = 2_000_000
#: Time in which a page that was reloaded can come back to a command that stops when the page is closed, s.
RETURN_S: Final = 2.0
#: Time that a command has to store its finished work when the studio ends, s.
GRACE_S: Final = 10.0
#: Added to the niceness of a command: runs of a page, which someone is waiting for, go first.
NICENESS: Final = 19
#: Exit code of a command that could not be started, by convention of shells.
NOT_STARTED: Final = 126
#: Time in which the rest of the output is read after a command has ended, s: a child in another group may keep it open.
DRAIN_S: Final = 1.0
#: Maximum number of characters of the words that describe progress.
_MAX_WORDS: Final = 200


class State(StrEnum):
    """State of a command."""

    RUNNING = "running"
    STOPPING = "stopping"
    """Interrupted; it stores its finished work."""
    ENDED = "ended"


@dataclass(eq=False)
class Work:
    """A command that was started.

    Attributes
    ----------
    call : Call
    is_tied : whether it stops when no page shows it any more
    exit_code : int, as in :mod:`subprocess`; None until it has ended
    """

    call: Call
    is_tied: bool
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    state: State = State.RUNNING
    exit_code: int | None = None
    _events: list[dict[str, Any]] = field(default_factory=list)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _progress: dict[str, Any] = field(default_factory=dict)
    _watchers: int = 0
    _shown: int = 0
    _process: asyncio.subprocess.Process | None = None

    async def run(self, root: Path) -> None:
        """Run the command to its end."""
        try:
            self.exit_code = await self._run(root)
        except OSError as error:
            self._post(
                kind="output", stream="stderr", text=f"cannot be started: {(error.strerror or str(error)).lower()}\n"
            )
            self.exit_code = NOT_STARTED
        finally:
            self.state = State.ENDED
            self._post_state()

    async def _run(self, root: Path) -> int:
        readers, writers = zip(*(os.pipe() for _ in range(3)), strict=True)
        stdout, stderr, progress = writers
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", PROGRESS_VARIABLE: str(progress)}
        tie = die_with_parent()

        def prepare() -> None:
            tie()
            os.nice(NICENESS)

        try:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "fairweir", *self.call.words),
                cwd=root,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=stdout,  # pipes of our own: asyncio's wait would last until no process has its pipes open
                stderr=stderr,
                pass_fds=[progress],
                start_new_session=True,  # so that Ctrl-C reaches it through the studio alone, and once
                preexec_fn=prepare,
            )
        except OSError:
            for descriptor in readers:
                os.close(descriptor)
            raise
        finally:
            for descriptor in writers:
                os.close(descriptor)
        if self.state is State.STOPPING:
            self._signal(signal.SIGINT)
        followers = [
            asyncio.ensure_future(one)
            for one in (
                self._follow(readers[0], "stdout"),
                self._follow(readers[1], "stderr"),
                self._follow_progress(readers[2]),
            )
        ]
        exit_code = await self._process.wait()
        self._signal(signal.SIGKILL)  # to its children, those that a user's code has left
        _, left = await asyncio.wait(followers, timeout=DRAIN_S)
        for one in left:
            one.cancel()
        if left:
            await asyncio.wait(left)
        return exit_code

    def stop(self) -> None:
        """Interrupt the command as Ctrl-C does: it stores its finished work. A second call ends it at once."""
        if self.state is State.RUNNING:
            self.state = State.STOPPING
            self._post_state()
            self._signal(signal.SIGINT)
        elif self.state is State.STOPPING:
            self._signal(signal.SIGKILL)

    def kill(self) -> None:
        """End the command and its children at once."""
        self._signal(signal.SIGKILL)

    def _signal(self, signum: signal.Signals) -> None:
        # The process is the leader of its group.
        if self._process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signum)

    async def _follow(self, descriptor: int, name: str) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        async for data in _chunks(descriptor):
            text = decoder.decode(data)
            if self._shown < MAX_OUTPUT:
                self._post(kind="output", stream=name, text=text)
            elif self._shown < MAX_OUTPUT + len(text):
                self._post(kind="output", stream="stderr", text="\nfurther output is not shown\n")
            self._shown += len(text)

    async def _follow_progress(self, descriptor: int) -> None:
        async for data in _chunks(descriptor):
            # Only the newest line counts; one that was read in two parts is skipped.
            if (newest := _progress_of(data.splitlines()[-1])) is not None:
                self._progress = newest
                self._changed.set()

    def _post(self, **event: Any) -> None:
        self._events.append(event)
        self._changed.set()

    def _post_state(self) -> None:
        self._post(kind="state", **self.status())

    def status(self) -> dict[str, Any]:
        """Return the state, and how the command ended."""
        words = ""
        if self.exit_code is not None:
            words = self.call.page.exits.get(self.exit_code, describe_exit(self.exit_code))
        return {"state": self.state, "exit_code": self.exit_code, "outcome": words}

    def document(self) -> dict[str, Any]:
        """Return the command for a list."""
        return {
            "id": self.id,
            "command": self.call.page.name,
            "line": self.call.line,
            "resumes": self.call.page.resumes,
            **self.status(),
        }

    async def stream(self, first: int) -> AsyncIterator[str]:
        """Yield server-sent events from the number `first` on, until the command has ended.

        Progress is not part of the numbered events: only the newest is sent.
        """
        self._watchers += 1
        number = first
        sent: dict[str, Any] = {}
        try:
            yield "retry: 500\n\n"
            while True:
                self._changed.clear()
                if self._progress != sent:
                    sent = self._progress
                    yield f"data: {json.dumps(sent)}\n\n"
                while number < len(self._events):
                    yield f"id: {number + 1}\ndata: {json.dumps(self._events[number])}\n\n"
                    number += 1
                if self.state is State.ENDED:
                    return
                try:
                    await asyncio.wait_for(self._changed.wait(), KEEP_ALIVE_S)
                except TimeoutError:
                    yield ": open\n\n"
        finally:
            self._watchers -= 1
            if self.is_tied and self._watchers == 0 and self.state is State.RUNNING:
                asyncio.get_running_loop().call_later(RETURN_S, self._stop_if_left)

    def _stop_if_left(self) -> None:
        if self._watchers == 0 and self.state is State.RUNNING:
            self.stop()


async def _chunks(descriptor: int) -> AsyncIterator[bytes]:
    """Yield the content of a pipe, until no process has it open for writing."""
    reader = asyncio.StreamReader()
    with os.fdopen(descriptor, "rb") as file:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
        try:
            while data := await reader.read(1 << 16):
                yield data
        finally:
            transport.close()


def _progress_of(line: bytes) -> dict[str, Any] | None:
    """Return the event of a line of progress; None if it is none: a user's code can write to the pipe, too."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    what, part = found.get("what"), found.get("part")
    is_part = part is None or (type(part) in (int, float) and 0 <= part <= 1)
    if not isinstance(what, str) or not is_part:
        return None
    return {"kind": "progress", "what": what[:_MAX_WORDS], "part": part}


class Works:
    """The commands of the studio, by id."""

    def __init__(self) -> None:
        self._works: dict[str, Work] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, call: Call, root: Path, *, is_tied: bool) -> Work:
        """Start a command.

        Raises
        ------
        ConfigError : too many commands are running, or one writes to the same folder
        """
        running = self.running()
        if any(one.call.output == call.output for one in running):
            raise ConfigError(f"a command that writes to `{call.output}` is running", hint="stop it first")
        if len(running) >= MAX_RUNNING:
            raise ConfigError(f"{MAX_RUNNING} commands are running", hint="wait for one of them, or stop it")
        work = Work(call, is_tied)
        self._works[work.id] = work
        for old in [one for one in self._works.values() if one.state is State.ENDED][:-MAX_ENDED]:
            del self._works[old.id]
        task = asyncio.ensure_future(work.run(root))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return work

    def get(self, work: object) -> Work:
        """Return the command of an id.

        Raises
        ------
        ConfigError : there is none
        """
        if not isinstance(work, str) or work not in self._works:
            raise ConfigError("no such command; it ran in another studio, or long ago", hint="start it again")
        return self._works[work]

    def running(self) -> list[Work]:
        """Return the commands that have not ended."""
        return [one for one in self._works.values() if one.state is not State.ENDED]

    def documents(self) -> list[dict[str, Any]]:
        """Return all commands, the newest first."""
        return [one.document() for one in reversed(self._works.values())]

    async def close(self) -> None:
        """Interrupt all commands, and wait until they have stored their finished work."""
        for work in self.running():
            if work.state is State.RUNNING:
                work.stop()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=GRACE_S)
        for work in self.running():
            work.kill()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=1.0)
