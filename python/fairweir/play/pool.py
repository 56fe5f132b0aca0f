"""Run many jobs on all cores, each in its own process: one that loops or crashes does not affect the others."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, as_completed
from concurrent.futures import TimeoutError as JobTimeoutError
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import context, resource_tracker
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Any, Generic, Literal, TypeVar

from fairweir.ccas import class_objects
from fairweir.documents.digits import plain
from fairweir.errors import FairweirError, describe_exception
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


def default_workers() -> int:
    """Return the number of cores this process may use."""
    return max(1, len(os.sched_getaffinity(0)))


def map_jobs(
    fn: Callable[[Job], Result],
    jobs: Iterable[Job],
    *,
    workers: int | None = None,
    timeout_s: float | None = None,
    on_done: Callable[[Done[Job, Result] | Failed[Job]], object] | None = None,
) -> list[Done[Job, Result] | Failed[Job]]:
    """Apply `fn` to every job, in processes, and give the outcomes in the order of the jobs.

    Parameters
    ----------
    fn : a function of a module (it is pickled by name)
    jobs : picklable; started in the order given, so pass the longest first
    workers : int; processes, default one per core
    timeout_s : float, seconds of wall time each job may take before its process is killed
    on_done : called in this process with each outcome as it comes

    Returns
    -------
    list of Done or Failed, one a job; a job that raises, hangs or crashes its process is a Failed, never an exception

    Raises
    ------
    InterruptedJobs : Ctrl-C; its ``outcomes`` holds the finished ones
    """
    jobs = list(jobs)
    outcomes: dict[int, Done[Job, Result] | Failed[Job]] = {}
    try:
        for outcome in iter_jobs(fn, jobs, workers=workers, timeout_s=timeout_s):
            outcomes[outcome.index] = outcome
            if on_done is not None:
                on_done(outcome)
    except KeyboardInterrupt as stop:
        cancelled = (Failed(i, job, "cancelled", "interrupted") for i, job in enumerate(jobs))
        raise InterruptedJobs([outcomes.get(c.index, c) for c in cancelled]) from stop
    return [outcomes[i] for i in range(len(jobs))]


class InterruptedJobs(KeyboardInterrupt):
    """Ctrl-C came during the jobs; ``outcomes`` has one entry per job, unfinished ones as Failed("cancelled")."""

    def __init__(self, outcomes: list[Any]) -> None:
        super().__init__("interrupted")
        self.outcomes = outcomes


def iter_jobs(
    fn: Callable[[Job], Result],
    jobs: Iterable[Job],
    *,
    workers: int | None = None,
    timeout_s: float | None = None,
) -> Iterator[Done[Job, Result] | Failed[Job]]:
    """Apply `fn` to every job, in processes, and yield the outcomes as they come; otherwise as :func:`map_jobs`.

    Raises
    ------
    KeyboardInterrupt : Ctrl-C, after the processes have been ended
    """
    from pebble import ProcessPool

    jobs = list(jobs)
    if not jobs:
        return
    _track_resources()
    server = fork_server() if fn.__module__ != "__main__" else context.ForkServerContext()
    server.set_forkserver_preload(["fairweir.play.run"])
    # No worker outlives the jobs: each waits for the end of this pipe, which is closed with the jobs or with this
    # process.
    tether, held = server.Pipe(duplex=False)
    pool = ProcessPool(
        max_workers=min(workers or default_workers(), len(jobs)),
        initializer=_become_worker,
        initargs=(tether, timeout_s is not None, class_objects.parcel()),
        context=server,
    )
    finished = False
    try:
        futures: dict[Future[Result], int] = {
            pool.schedule(fn, args=(job,), timeout=timeout_s): i for i, job in enumerate(jobs)
        }
        for future in as_completed(futures):
            yield _outcome(futures[future], jobs[futures[future]], future, timeout_s)
        finished = True
    finally:
        with suppress(RuntimeError):
            pool.close() if finished else pool.stop()
            pool.join()
        held.close()
        tether.close()


class _Worker(context.ForkServerProcess):
    """A process that does not run the user's main script again, so that scripts need no ``if __name__ == ...``."""

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
    """Workers are forked from a server with this package loaded: in milliseconds, and without the parent's threads."""

    Process = _Worker


def fork_server() -> context.ForkServerContext:
    """Return the context of worker processes that do not run the user's main script again."""
    return _ForkServer()


def _track_resources() -> None:
    """Start CPython's resource tracker so that a hang-up does not end it: by default it ignores only SIGINT and
    SIGTERM.

    A terminal that closes sends SIGHUP to the whole group. A tracker killed by it is restarted by the next lock that is
    released, without its records, and fills stderr with tracebacks.
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
    """Return whether this process is a worker, in which only jobs run."""
    return _is_worker


def is_guarded() -> bool:
    """Return whether this is a worker whose job may crash, or loop until its time limit, without effect on others."""
    return _is_guarded


def _become_worker(tether: Connection, has_time_limit: bool, parcel: class_objects.Parcel) -> None:
    """Leave Ctrl-C to the parent, which ends its workers, and stdout to its result.

    A worker that replaces a dead one while the pool closes is missed by it, and would wait for jobs permanently, with
    the command's output open.
    """
    global _is_worker, _is_guarded
    _is_worker, _is_guarded = True, has_time_limit
    threading.Thread(target=_end_with, args=(tether,), daemon=True).start()
    contain_output()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    class_objects.receive(parcel)


def _end_with(tether: Connection) -> None:
    with suppress(EOFError, OSError):
        tether.recv_bytes()
    os._exit(0)


def _outcome(index: int, job: Job, future: Future[Result], timeout_s: float | None) -> Done[Job, Result] | Failed[Job]:
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
