"""Processes that wait for the jobs of a page. A job that is no longer wanted is ended by killing its process."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Final

from fairweir.errors import FairweirError, describe_exception
from fairweir.play import pool
from fairweir.play.process import describe_exit

#: Time after which a job has a lower priority, so that short ones are not delayed by it, s.
LONG_S: Final = 1.0
#: Niceness of such a job: a tenth of the share of others. A process of the lowest priority would also take long to end.
LONG_NICENESS: Final = 10
#: Words at the start of a worker's messages.
_PROGRESS, _DONE, _FAILED = "progress", "done", "failed"

Job = Callable[[Any, Callable[[float], object]], Any]
"""A module-level function of a picklable request and a function that takes the completed fraction, 0 to 1."""


class JobError(FairweirError):
    """A job raised an error that is not a FairweirError, or its process died."""


@dataclass(eq=False)
class _Worker:
    process: BaseProcess
    pipe: Connection
    is_slowed: bool = False

    def slow_down(self) -> None:
        """Lower the priority of the process, which cannot be raised again without privileges."""
        self.is_slowed = True
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self.process.pid or 0, LONG_NICENESS)

    def end(self) -> None:
        """End the process; the programs that it started end with it.

        The pipe is closed when no thread reads from it any more.
        """
        with suppress(ValueError, AttributeError, ProcessLookupError):
            self.process.kill()


class Workers:
    """Processes that each run one job at a time.

    Parameters
    ----------
    number : int, maximum number of jobs that run at the same time
    waiting : int, number of processes that wait for jobs, so that the next one starts without delay
    """

    def __init__(self, number: int, waiting: int) -> None:
        self._idle: deque[_Worker] = deque()
        self._slots = asyncio.Semaphore(number)
        self._busy: set[_Worker] = set()
        self._waiting = waiting
        self._refilling: asyncio.Future[None] | None = None
        self._is_closed = False
        # Threads of their own: jobs that do not end would take those in which requests are answered.
        self._threads = ThreadPoolExecutor(number + waiting, thread_name_prefix="job")

    async def start(self) -> None:
        """Start the processes."""
        started = await asyncio.gather(*(asyncio.to_thread(_start) for _ in range(self._waiting)))
        self._idle.extend(started)

    async def run(
        self, job: Job, request: Any, on_progress: Callable[[float], object], *, is_timed: bool = False
    ) -> Any:
        """Run a job and return its result. If this call is cancelled, the job's process is killed.

        Parameters
        ----------
        job, request : the function and its argument
        on_progress : called with the completed fraction
        is_timed : whether the job keeps pace with the real clock; others have a lower priority after `LONG_S`

        Raises
        ------
        FairweirError : as the job raised it
        JobError : the job raised another error, or its process died
        """
        async with self._slots:
            worker = self._idle.pop() if self._idle else await asyncio.to_thread(_start)
            self._busy.add(worker)
            is_healthy = False
            loop = asyncio.get_running_loop()
            timer = None if is_timed else loop.call_later(LONG_S, worker.slow_down)

            def report(part: float) -> None:
                loop.call_soon_threadsafe(on_progress, part)

            try:
                result = await loop.run_in_executor(self._threads, _converse, worker, job, request, report)
                is_healthy = True
            except FairweirError as error:
                is_healthy = not isinstance(error, JobError)
                raise
            finally:
                if timer is not None:
                    timer.cancel()
                self._busy.discard(worker)
                if is_healthy and not worker.is_slowed and len(self._idle) < self._waiting:
                    self._idle.append(worker)
                else:
                    worker.end()
                    self._refill()
        return result

    def _refill(self) -> None:
        async def add() -> None:
            while len(self._idle) < self._waiting:
                self._idle.append(await asyncio.to_thread(_start))

        if not self._is_closed and (self._refilling is None or self._refilling.done()):
            self._refilling = asyncio.ensure_future(add())

    def close(self) -> None:
        """End all processes, and start no more."""
        self._is_closed = True
        for worker in (*self._idle, *self._busy):
            worker.end()
        self._idle.clear()
        self._threads.shutdown(wait=False)


def _start() -> _Worker:
    server = pool.fork_server()
    ours, theirs = server.Pipe()
    process = server.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _converse(worker: _Worker, job: Job, request: Any, on_progress: Callable[[float], object]) -> Any:
    try:
        worker.pipe.send((job, request))
        while True:
            kind, value = worker.pipe.recv()
            if kind == _PROGRESS:
                on_progress(value)
            elif kind == _DONE:
                return value
            else:
                raise value
    except (EOFError, OSError):
        worker.process.join(1.0)
        cause = describe_exit(worker.process.exitcode or 0)
        hint = "change the scenario, or report a bug"
        raise JobError(f"the process of this run ended: {cause}", hint=hint) from None


def _serve(pipe: Connection) -> None:
    """Run jobs until the pipe is closed, with the limits of a pool's worker on a user's code."""
    pool.become_worker(is_guarded=True)
    while True:
        try:
            job, request = pipe.recv()
        except (EOFError, OSError):
            os._exit(0)
        try:
            answer = (_DONE, job(request, lambda part: pipe.send((_PROGRESS, part))))
        except FairweirError as error:
            answer = (_FAILED, error)
        except Exception as error:  # noqa: BLE001
            answer = (_FAILED, JobError(describe_exception(error)))
        try:
            pipe.send(answer)
        except OSError:
            os._exit(0)


#: Number of jobs of all windows that run at the same time: more than cores, because a long one leaves them to others.
DEFAULT_NUMBER: Final = 4 * max(2, pool.default_workers())
#: Number of processes that wait for jobs.
DEFAULT_WAITING: Final = max(2, pool.default_workers()) + 1
