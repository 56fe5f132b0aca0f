"""Run many jobs, each in a separate process: a job that loops or crashes does not affect the others.

The processes are on this machine, one per core, or on other machines (:mod:`fairweir.play.cluster`).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as JobTimeoutError
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import context, forkserver, resource_tracker, synchronize
from multiprocessing.connection import Connection
from queue import SimpleQueue
from types import ModuleType
from typing import Any, Generic, Literal, Protocol, TypeVar

from fairweir.ccas import class_objects
from fairweir.documents.arguments import count
from fairweir.documents.digits import plain
from fairweir.errors import FairweirError, describe_exception
from fairweir.play import scratch
from fairweir.play.interrupts import deferred
from fairweir.play.process import contain_output, describe_exit

Job = TypeVar("Job")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Done(Generic[Job, Result]):
    """A job that returned."""

    index: int
    job: Job
    value: Result
    ok: Literal[True] = True


@dataclass(frozen=True)
class Failed(Generic[Job]):
    """A job that failed.

    Attributes
    ----------
    kind : "error" (raised), "timeout", "crash" (the process died) or "cancelled" (Ctrl-C came first)
    reason : str, one line
    error : the exception, for kind "error"
    """

    index: int
    job: Job
    kind: Literal["error", "timeout", "crash", "cancelled"]
    reason: str
    error: BaseException | None = None
    ok: Literal[False] = False


Ended = Done[Job, Result] | Failed[Job]


class Machines(Protocol):
    """Other machines that run jobs, such as a :class:`fairweir.play.cluster.Cluster`."""

    def iter_jobs(
        self, fn: Callable[[Job], Result], jobs: Sequence[Job], *, timeout_s: float | None
    ) -> Iterator[Ended[Job, Result]]:
        """Apply `fn` to each job in a process of one of the machines; otherwise as :func:`iter_jobs`."""


Where = int | Machines | None
"""Where jobs run: a number of processes on this machine, None for one process per core, or other machines."""


def checked(workers: Where) -> Where:
    """Return `workers`.

    Raises
    ------
    ConfigError : it is neither a positive number of processes nor other machines
    """
    return workers if workers is None or hasattr(workers, "iter_jobs") else count(workers, "workers")


def default_workers() -> int:
    """Return the number of cores that this process may use."""
    return max(1, len(os.sched_getaffinity(0)))


def map_jobs(
    fn: Callable[[Job], Result],
    jobs: Iterable[Job],
    *,
    workers: Where = None,
    timeout_s: float | None = None,
    on_done: Callable[[Done[Job, Result] | Failed[Job]], object] | None = None,
) -> list[Done[Job, Result] | Failed[Job]]:
    """Apply `fn` to each job in processes; return the outcomes in the order of the jobs.

    Parameters
    ----------
    fn : a module-level function, because it is pickled by name
    jobs : picklable objects. They are started in this order, so pass the longest first.
    workers : int, number of processes; default one per core; or the machines that run the jobs
    timeout_s : float, s; maximum real time of each job, after which its process is killed
    on_done : called in this process with each outcome when the job ends

    Returns
    -------
    list of Done or Failed, one per job. A job that raises, hangs or crashes its process gives a Failed, not an
    exception.

    Raises
    ------
    InterruptedJobs : Ctrl-C; its ``outcomes`` contains the finished jobs
    """
    jobs = list(jobs)
    outcomes: dict[int, Done[Job, Result] | Failed[Job]] = {}
    try:
        for outcome in iter_jobs(fn, jobs, workers=workers, timeout_s=timeout_s):
            outcomes[outcome.index] = outcome
            if on_done is not None:
                on_done(outcome)
    except KeyboardInterrupt:
        cancelled = (Failed(i, job, "cancelled", "interrupted") for i, job in enumerate(jobs))
        # Not with the line of this package that Ctrl-C happened to stop.
        raise InterruptedJobs([outcomes.get(c.index, c) for c in cancelled]) from None
    return [outcomes[i] for i in range(len(jobs))]


class InterruptedJobs(KeyboardInterrupt):
    """Ctrl-C interrupted the jobs; ``outcomes`` has one entry per job, which is Failed("cancelled") if unfinished."""

    def __init__(self, outcomes: list[Any]) -> None:
        super().__init__("interrupted")
        self.outcomes = outcomes


def iter_jobs(
    fn: Callable[[Job], Result],
    jobs: Iterable[Job],
    *,
    workers: Where = None,
    timeout_s: float | None = None,
) -> Iterator[Done[Job, Result] | Failed[Job]]:
    """Apply `fn` to each job in processes; yield each outcome when the job ends. Otherwise as :func:`map_jobs`.

    Raises
    ------
    KeyboardInterrupt : Ctrl-C; it is raised after the processes have ended
    """
    jobs = list(jobs)
    if not jobs:
        return
    workers = checked(workers)
    if not (workers is None or isinstance(workers, int)):
        yield from workers.iter_jobs(fn, jobs, timeout_s=timeout_s)
        return
    ended: SimpleQueue[Future[Result]] = SimpleQueue()
    # A function of the user's main script is found by running that again.
    processes = Processes(
        min(workers or default_workers(), len(jobs)),
        has_time_limit=timeout_s is not None,
        runs_main=fn.__module__ == "__main__",
    )
    finished = False
    try:
        with deferred():
            futures: dict[Future[Result], int] = {}
            for i, job in enumerate(jobs):
                future = processes.schedule(fn, job, timeout_s)
                future.add_done_callback(ended.put)
                futures[future] = i
        # A queue in C: as_completed() has locks, in the middle of which Ctrl-C could come.
        for _ in jobs:
            done = ended.get()
            yield outcome_of(futures[done], jobs[futures[done]], done, timeout_s)
        finished = True
    finally:
        processes.close(finished=finished)


class Processes:
    """A pool of processes that run jobs and end with this process.

    Parameters
    ----------
    number : int, number of processes
    has_time_limit : bool; each job has a time limit, so that a user's code may run in the processes
    runs_main : bool; the processes run the user's main script
    """

    def __init__(self, number: int, *, has_time_limit: bool, runs_main: bool = False) -> None:
        from pebble import ProcessPool

        with deferred():
            self._folder = scratch.unused_name()
            self._server = _server(context.ForkServerProcess if runs_main else _Worker)
            # No worker outlives the jobs: each waits for the end of this pipe, which is closed when the jobs or this
            # process end.
            self._tether, self._held = self._server.Pipe(duplex=False)
            self._pool = ProcessPool(
                max_workers=number,
                initializer=_become_worker,
                initargs=(self._tether, has_time_limit, class_objects.parcel(), self._folder),
                context=self._server,
            )

    def schedule(self, fn: Callable[[Job], Result], job: Job, timeout_s: float | None) -> Future[Result]:
        """Start a job when a process is free; return its future result."""
        future: Future[Result] = self._pool.schedule(fn, args=(job,), timeout=timeout_s)
        return future

    def close(self, *, finished: bool) -> None:
        """End the processes; if not all jobs are `finished`, in the middle of their jobs."""
        try:
            with suppress(RuntimeError):
                if finished:
                    self._pool.close()
                else:
                    self._pool.stop()
                    self._server.kill_workers()
                self._pool.join()
        finally:
            # After a second Ctrl-C too, which ends the wait.
            self._held.close()
            self._tether.close()
            scratch.remove(self._folder)


class _Worker(context.ForkServerProcess):
    """A process that does not run the user's main script again; scripts therefore need no ``if __name__ == ...``."""

    _lock = threading.Lock()

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802
        with _Worker._lock:
            main = sys.modules["__main__"]
            sys.modules["__main__"] = ModuleType("__main__")
            try:
                return context.ForkServerProcess._Popen(process_obj)
            finally:
                sys.modules["__main__"] = main


class _ForkServer(context.ForkServerContext):
    """Context of workers that a server forks. It has loaded this package, so that a fork takes milliseconds.

    The server has none of the parent's threads. A pool's locks exist as long as its context: the pool drops them before
    it ends its workers, and a worker that was then still starting would print that it cannot find them.
    """

    def __init__(self, kind: type[context.ForkServerProcess]) -> None:
        super().__init__()
        self._kind = kind
        self._started: list[context.ForkServerProcess] = []
        self._locks: list[synchronize.RLock] = []

    def RLock(self) -> synchronize.RLock:  # noqa: N802
        lock = super().RLock()
        self._locks.append(lock)
        return lock

    def Process(self, *args: Any, **options: Any) -> context.ForkServerProcess:  # type: ignore[override]  # noqa: N802
        worker = self._kind(*args, **options)
        self._started.append(worker)
        return worker

    def kill_workers(self) -> None:
        """End the workers at once, also those in the middle of a run, which would finish it first."""
        for worker in self._started:
            # A worker that has not started yet has no process, which `kill` reports as an AttributeError.
            with suppress(ValueError, AssertionError, AttributeError):
                worker.kill()


def fork_server() -> context.ForkServerContext:
    """Return the context of worker processes that do not run the user's main script again."""
    return _server(_Worker)


def _server(kind: type[context.ForkServerProcess]) -> _ForkServer:
    _track_resources()
    forkserver.set_forkserver_preload(["fairweir.play.run"])
    with deferred():
        forkserver.ensure_running()
    return _ForkServer(kind)


def _track_resources() -> None:
    """Start CPython's resource tracker with SIGHUP ignored; by default it ignores only SIGINT and SIGTERM.

    A terminal that closes sends SIGHUP to the whole process group. If the signal killed the tracker, the next release
    of a lock would restart it without its records, and it would fill stderr with tracebacks.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    handler = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        resource_tracker.ensure_running()
    finally:
        signal.signal(signal.SIGHUP, handler)


_is_worker = _is_guarded = False


def is_worker() -> bool:
    """Return whether this process is a worker, which runs only jobs."""
    return _is_worker


def is_guarded() -> bool:
    """Return whether this is a worker with a time limit, whose job may crash or loop without effect on other jobs."""
    return _is_guarded


def _become_worker(tether: Connection, has_time_limit: bool, parcel: class_objects.Parcel, folder: str) -> None:
    """Initialize a worker: ignore Ctrl-C, which the parent handles, and do not write to stdout, which has the result.

    If a worker replaces a dead worker while the pool closes, the pool does not end it. It would wait for jobs forever
    and keep the command's output open; the tether ends it.
    """
    become_worker(is_guarded=has_time_limit)
    scratch.use(folder)
    threading.Thread(target=_end_with, args=(tether,), daemon=True).start()
    class_objects.receive(parcel)


def become_worker(*, is_guarded: bool) -> None:
    """Mark this process as one that runs only jobs; Ctrl-C is ignored, and output goes to stderr.

    Parameters
    ----------
    is_guarded : bool; another process ends this one if a job loops, so that a user's code may run here
    """
    global _is_worker, _is_guarded
    _is_worker, _is_guarded = True, is_guarded
    contain_output()
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end_with(tether: Connection) -> None:
    with suppress(EOFError, OSError):
        tether.recv_bytes()
    os._exit(0)


def outcome_of(
    index: int, job: Job, future: Future[Result], timeout_s: float | None
) -> Done[Job, Result] | Failed[Job]:
    """Wait for a scheduled job, and return its outcome."""
    from pebble import ProcessExpired

    try:
        return Done(index, job, future.result())
    except JobTimeoutError:
        return Failed(index, job, "timeout", f"did not end within {plain(timeout_s or 0.0)} s")
    except ProcessExpired as error:
        return Failed(index, job, "crash", f"its process died ({describe_exit(error.exitcode)})")
    except CancelledError:
        return Failed(index, job, "cancelled", "cancelled")
    except FairweirError as error:
        return Failed(index, job, "error", str(error), error)
    except Exception as error:  # noqa: BLE001
        return Failed(index, job, "error", describe_exception(error), error)
