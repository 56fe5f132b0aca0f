"""Run jobs on the workers of a Dask scheduler, with the same outcomes as on the cores of this machine.

A Dask worker passes each job to a process of a pool, as :mod:`fairweir.play.pool` does on one machine. Time limits,
crashes and the limits of a user's code have therefore the same effects, and a loop does not block the worker. The
processes belong to one session, which is one `Cluster` object, because modules that a job imports remain loaded.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing import current_process
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar
from uuid import uuid4

from fairweir import __version__, extras
from fairweir.ccas import class_objects, lookup
from fairweir.documents.digits import plain
from fairweir.errors import ClusterError, FairweirError
from fairweir.play import quic
from fairweir.play.pool import Done, Ended, Failed, Processes, outcome_of
from fairweir.play.simulate import build, sources

if TYPE_CHECKING:
    from distributed import Client, Future

Job = TypeVar("Job")
Result = TypeVar("Result")

CONNECT_S: Final = 10.0
"""Maximum time to connect to the scheduler, and to reconnect."""
NO_WORKERS_S: Final = 60.0
"""Time without any worker after which a command gives up. A worker that a queuing system restarts takes seconds."""
LOOK_S: Final = 5.0
"""Interval at which the number of workers is requested while no job ends."""
IDLE_S: Final = 60.0
"""Time after which a worker ends the processes of a session that sends no jobs: a client may have been killed."""
RETRIES: Final = 2
"""Repetitions of a job if the worker fails in fairweir's own part of the work; a job's own failure is not repeated."""
SUBMITTED: Final = 4000
"""Maximum number of jobs that the scheduler has at a time: four per core of a cluster with a thousand cores."""
STEP: Final = 50
"""Number of jobs submitted before the outcomes of ended jobs are read again."""

_HINT_RESUME: Final = "finished runs are stored: run the same command again, with a new cluster or without --cluster"


@dataclass(frozen=True)
class Software:
    """The program that computes a result.

    Attributes
    ----------
    version : str, of fairweir
    build : str, hash of the compiled module; empty if this version cannot compute one
    sources : str, hash of the Python modules, which contain lemmas, claims and bounds; empty as above
    """

    version: str
    build: str
    sources: str = ""

    def __str__(self) -> str:
        """Return such as ``fairweir 0.1.0 (build 0123456789ab, sources 0123456789ab)``."""
        return f"fairweir {self.version} (build {self.build or 'unknown'}, sources {self.sources or 'unknown'})"


def software() -> Software:
    """Return the program of this process."""
    return Software(__version__, build(), sources())


@dataclass(frozen=True)
class _Order:
    """Input of a worker, common to the jobs of a call.

    Attributes
    ----------
    fn : function of a module
    timeout_s : float, s; maximum real time of a job
    software : the client's, which the worker must have
    files : digests of the files with code of CCAs, by path; those of the worker must be equal
    programs : builds of the programs of QUIC stacks, by name; those of the worker must be equal
    parcel : classes that other processes cannot import
    folder : the client's working directory, from which relative paths start
    session : str, the client's name
    """

    fn: Callable[[Any], Any]
    timeout_s: float | None
    software: Software
    files: dict[str, str]
    programs: dict[str, str]
    parcel: class_objects.Parcel
    folder: str
    session: str


@dataclass(frozen=True)
class _Refusal:
    """Answer of a worker whose results would differ, because it has another program or other files."""

    reason: str
    hint: str


class Cluster:
    """The workers of a Dask scheduler, which run jobs instead of this machine's cores.

    The connection is made when the first jobs are to run. Files that jobs read, such as a user's controller, must have
    the same paths on the workers' machines.

    Parameters
    ----------
    address : str, of the scheduler, such as ``tcp://HOST:8786``

    Raises
    ------
    MissingExtraError : Dask is not installed
    """

    def __init__(self, address: str) -> None:
        extras.require("distributed", "--cluster")
        self.address = address
        self._client: Client | None = None
        self._session = uuid4().hex

    def __enter__(self) -> Self:
        """Return this cluster, whose connection is closed at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection."""
        self.close()

    def __repr__(self) -> str:
        """Return the call that makes this cluster."""
        return f"Cluster({self.address!r})"

    def close(self) -> None:
        """Close the connection. Jobs that workers have started run to their ends, or to their time limits."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(Exception):
                client.close(timeout=CONNECT_S if client.status == "running" else 0)

    def iter_jobs(
        self, fn: Callable[[Job], Result], jobs: Sequence[Job], *, timeout_s: float | None = None
    ) -> Iterator[Ended[Job, Result]]:
        """Apply `fn` to each job on the workers; yield each outcome when the job ends.

        A worker that dies does not fail its jobs: the scheduler passes them to other workers. A job with which several
        workers died (``distributed.scheduler.allowed-failures``) is Failed("crash").

        Parameters
        ----------
        fn : function of a module that the workers can import
        jobs : picklable objects, started in this order
        timeout_s : float, s; maximum real time of each job

        Raises
        ------
        ClusterError : there is no scheduler, it has no workers, the connection is lost, or a worker has another version
        KeyboardInterrupt : Ctrl-C; jobs that have not started are canceled
        """
        batch = self.batch(fn, timeout_s=timeout_s)
        submitted = ended = 0
        try:
            while ended < len(jobs):
                for index in range(submitted, min(len(jobs), submitted + STEP, ended + SUBMITTED)):
                    batch.submit(jobs[index])
                    submitted = index + 1
                # Further jobs are submitted before a wait.
                is_busy = submitted == len(jobs) or submitted - ended >= SUBMITTED
                for outcome in batch.take(wait=is_busy):
                    ended += 1
                    yield outcome
        finally:
            batch.cancel()

    def batch(self, fn: Callable[[Job], Result], *, timeout_s: float | None = None) -> Batch[Job, Result]:
        """Return a batch, to which jobs can be added while others run.

        Raises
        ------
        ClusterError : as :meth:`iter_jobs`
        """
        order = _Order(
            fn,
            timeout_s,
            software=software(),
            files=lookup.known_digests(),
            programs=quic.known_builds(),
            parcel=class_objects.parcel(),
            folder=str(Path.cwd()),
            session=self._session,
        )
        return Batch(self.address, self._connect(), order)

    def _connect(self) -> Client:
        """Connect to the scheduler, wait for a worker, and check the workers' versions."""
        if self._client is not None:
            if self._client.status != "running":
                raise _lost(self.address)
            return self._client
        import dask
        from distributed import Client

        # Dask reports a lost connection in many lines; the command reports it in one.
        for name in ("distributed.client", "distributed.batched", "distributed.core", "distributed.utils"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        try:
            with dask.config.set({"distributed.comm.timeouts.connect": f"{CONNECT_S:g}s"}):
                client = Client(self.address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise ClusterError(
                f"no Dask scheduler at `{self.address}`",
                hint="start one with `dask scheduler`, and write its address as tcp://HOST:8786 (docs/cluster.md)",
            ) from error
        self._client = client
        started = time.monotonic()
        while not client.nthreads():
            if time.monotonic() - started > NO_WORKERS_S:
                raise _no_workers(self.address)
            time.sleep(0.2)
        self._check_workers(client)
        return client

    def _check_workers(self, client: Client) -> None:
        """Check that all present workers have this program; later workers check it themselves, with each job."""

        # A nested function is sent as code, so that a worker without this module can execute it.
        def ask() -> tuple[str, ...] | None:
            try:
                from fairweir import __version__
            except ImportError:
                return None
            try:
                from fairweir.play.simulate import build, sources

                return __version__, build(), sources()
            except (ImportError, OSError):
                return __version__, ""

        ours = software()
        for worker, found in client.run(ask, on_error="return").items():
            if found is None:
                raise ClusterError(f"worker {worker} has no fairweir", hint=_HINT_WHEEL)
            if isinstance(found, BaseException):
                raise ClusterError(f"worker {worker} cannot run code of this machine: {found}", hint=_HINT_PYTHON)
            if Software(*found) != ours:
                raise ClusterError(_mismatch(worker, Software(*found), ours), hint=_HINT_WHEEL)


class Batch(Generic[Job, Result]):
    """Jobs of one function on a cluster. An outcome's index is the number of jobs submitted before it."""

    def __init__(self, address: str, client: Client, order: _Order) -> None:
        self._address, self._client, self._order = address, client, order
        self._running: dict[Future[Any], tuple[int, Job]] = {}
        self._ended: SimpleQueue[Future[Any]] = SimpleQueue()
        self._submitted = 0

    @property
    def cores(self) -> int:
        """The number of jobs that the present workers run at a time."""
        return sum(self._client.nthreads().values())

    def submit(self, job: Job) -> None:
        """Start a job when a worker is free.

        Raises
        ------
        ClusterError : the connection is lost
        """
        try:
            future = self._client.submit(_carry_out, self._order, job, pure=False, retries=RETRIES)
        except (OSError, RuntimeError) as error:
            raise _lost(self._address, error) from error
        future.add_done_callback(self._ended.put)
        self._running[future] = self._submitted, job
        self._submitted += 1

    def take(self, *, wait: bool) -> list[Ended[Job, Result]]:
        """Return the outcomes of the jobs that have ended; with `wait`, at least one.

        Raises
        ------
        ClusterError : the connection is lost, there are no workers, or a worker has another program
        """
        found: list[Ended[Job, Result]] = []
        try:
            for future, answer in self._answers(self._take(wait=wait)):
                index, job = self._running.pop(future)
                found.append(replace(answer, index=index, job=job))
        except (OSError, RuntimeError, CancelledError) as error:
            # Dask's errors of connections; those of jobs are answers.
            raise _lost(self._address, error) from error
        return found

    def cancel(self) -> None:
        """Cancel the jobs that have not started."""
        if self._running and self._client.status == "running":
            with suppress(Exception):
                self._client.cancel(list(self._running))

    def _take(self, *, wait: bool) -> list[Future[Any]]:
        """Return the futures that have ended; with `wait`, at least one.

        Raises
        ------
        ClusterError : no future ends, and there has been no worker for `NO_WORKERS_S`
        """
        found: list[Future[Any]] = []
        since = time.monotonic()
        while wait and not found:
            with suppress(Empty):
                found.append(self._ended.get(timeout=LOOK_S))
                break
            if self._client.status != "running":
                raise _lost(self._address)
            if self._client.nthreads():
                since = time.monotonic()
            elif time.monotonic() - since > NO_WORKERS_S:
                raise _no_workers(self._address)
        with suppress(Empty):
            while True:
                found.append(self._ended.get_nowait())
        return found

    def _answers(self, futures: Sequence[Future[Any]]) -> Iterator[tuple[Future[Any], Ended[Any, Any]]]:
        """Yield the futures with their outcomes.

        Raises
        ------
        ClusterError : the connection is lost, or a worker has another program
        """
        from distributed import KilledWorker

        finished = [future for future in futures if future.status == "finished"]
        answers = dict(zip(finished, self._client.gather(finished), strict=True)) if finished else {}
        for future in futures:
            if future in answers:
                answer = answers[future]
                if isinstance(answer, _Refusal):
                    raise ClusterError(answer.reason, hint=answer.hint)
                yield future, answer
            elif future.status != "error":
                raise _lost(self._address)
            else:
                error = future.exception()
                if not isinstance(error, KilledWorker):
                    words = f"a worker could not run a job: {type(error).__name__}: {error}"
                    raise ClusterError(words, hint=_HINT_PYTHON)
                reason = f"each worker that ran it died, the last at {error.last_worker.address}"
                yield future, Failed(0, None, "crash", reason)


def _lost(address: str, error: BaseException | None = None) -> ClusterError:
    why = f": {error}" if error is not None and str(error) else ""
    return ClusterError(f"lost the connection to the Dask scheduler at `{address}`{why}", hint=_HINT_RESUME)


def _no_workers(address: str) -> ClusterError:
    return ClusterError(
        f"the Dask scheduler at `{address}` has had no worker for {plain(NO_WORKERS_S)} s",
        hint=f"start workers: dask worker {address}",
    )


_HINT_PYTHON: Final = "install the same wheel, Python and Dask on all machines of the cluster"
_HINT_WHEEL: Final = "install the same wheel on all machines of the cluster, and restart its workers"
_HINT_FILES: Final = "use a folder that all machines of the cluster share, or copy the file to them"


def _mismatch(worker: str, theirs: Software, ours: Software) -> str:
    return f"worker {worker} has {theirs}, and this command has {ours}"


# Below: the part of the workers.


class _Session:
    """Processes for the jobs of one session on this worker. They end when no job has come for `IDLE_S`."""

    def __init__(self, number: int, *, has_time_limit: bool) -> None:
        # A worker that a nanny started is a daemon process, which may not start processes. Its processes end with it.
        current_process().daemon = False
        self.processes = Processes(number, has_time_limit=has_time_limit)
        self.jobs = 0
        self.idle_since = time.monotonic()

    @property
    def is_over(self) -> bool:
        """Whether no job has come for a long time."""
        return self.jobs == 0 and time.monotonic() - self.idle_since > IDLE_S


_sessions: dict[tuple[str, bool], _Session] = {}
_lock = threading.Lock()


@contextmanager
def _processes(order: _Order, number: int) -> Iterator[Processes]:
    """Yield the processes of a session, which are started for its first job."""
    key = order.session, order.timeout_s is not None
    with _lock:
        if not _sessions:
            threading.Thread(target=_end_idle_sessions, daemon=True).start()
        session = _sessions.get(key)
        if session is None:
            session = _sessions[key] = _Session(number, has_time_limit=key[1])
        session.jobs += 1
    try:
        yield session.processes
    except RuntimeError:
        # The pool is broken, for example because its fork server was killed; a repetition of the job starts another.
        with _lock:
            broken = _sessions.pop(key, None)
        if broken is not None:
            broken.processes.close(finished=False)
        raise
    finally:
        with _lock:
            session.jobs -= 1
            session.idle_since = time.monotonic()


def _end_idle_sessions() -> None:
    while True:
        time.sleep(IDLE_S / 10)
        with _lock:
            over = [_sessions.pop(key) for key, session in list(_sessions.items()) if session.is_over]
            is_empty = not _sessions
        for session in over:
            session.processes.close(finished=True)
        if is_empty:
            return


def _carry_out(order: _Order, job: Any) -> Ended[Any, Any] | _Refusal:
    """Run a job on this worker; return its outcome without the job, which the client has."""
    from distributed import get_worker

    worker = get_worker()
    if (here := software()) != order.software:
        return _Refusal(_mismatch(worker.address, here, order.software), _HINT_WHEEL)
    if other := [*lookup.other_files(order.files), *quic.other_programs(order.programs)]:
        return _Refusal(f"worker {worker.address} has another `{other[0]}` than this machine", _HINT_FILES)
    with _processes(order, worker.state.nthreads) as processes:
        outcome = outcome_of(0, None, processes.schedule(_run, (order, job), order.timeout_s), order.timeout_s)
    if isinstance(outcome, Done) or outcome.error is None or isinstance(outcome.error, FairweirError):
        return outcome
    # The client may be unable to import the class of another exception, such as one of a user's module.
    return replace(outcome, error=None)


def _run(work: tuple[_Order, Any]) -> Any:
    """Run a job in a process of a worker."""
    order, job = work
    class_objects.receive(order.parcel)
    with suppress(OSError):
        os.chdir(order.folder)
    return order.fn(job)
