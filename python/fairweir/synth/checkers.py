"""Judge candidates in the current process, in several worker processes, or on a cluster.

Terms: a query names a network model, and an invariant, which is a property that a CCA must have on every trace of the
model. A candidate is a CCA of the query's template. A checker runs solvers to find out whether a candidate satisfies
the invariant; the answer is a finding. Each process encodes the network for the solvers only once.
"""

from __future__ import annotations

import pickle
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from functools import lru_cache
from typing import Protocol

from fairweir.documents.arguments import words_for_enums
from fairweir.errors import SolverError
from fairweir.formal.solving.solve import Check
from fairweir.formal.solving.solvers import Budget, SolverName, find_program
from fairweir.play import scratch
from fairweir.play.cluster import Batch, Cluster
from fairweir.play.pool import Ended, fork_server
from fairweir.synth.query import Query
from fairweir.synth.space import Candidate
from fairweir.synth.verifier import Finding, Verifier


class Checkers(Protocol):
    """One or more checkers: they accept candidates, and return findings in any order."""

    workers: int

    def submit(self, candidate: Candidate) -> None:
        """Submit a candidate, whose finding :meth:`next` returns later."""

    def next(self) -> Finding:
        """Wait until a submitted candidate is judged, and return the finding."""

    def control(self) -> Check:
        """Check that some sender can violate the invariant (:meth:`Verifier.control`)."""

    @property
    def verifier(self) -> Verifier:
        """The verifier of the query in the current process."""


@words_for_enums
@contextmanager
def checkers(query: Query, workers: int | Cluster, budget: Budget, solvers: Sequence[SolverName]) -> Iterator[Checkers]:
    """Yield `workers` checkers, or one per core of a cluster. Their processes end when the ``with`` block ends.

    Raises
    ------
    SolverError : a solver is not installed
    ClusterError : the cluster cannot be used
    """
    for solver in solvers:
        find_program(solver)
    if not isinstance(workers, int):
        batch = workers.batch(_check_there)
        try:
            yield _OnCluster(batch, (query, budget, tuple(solvers)), Verifier(query, budget, solvers))
        finally:
            batch.cancel()
        return
    if workers == 1:
        yield _Here(Verifier(query, budget, solvers))
        return
    from pebble import ProcessPool

    folder = scratch.unused_name()
    pool = ProcessPool(
        max_workers=workers,
        initializer=_become_worker,
        initargs=(query, budget, solvers, folder),
        context=fork_server(),
    )
    try:
        yield _Processes(pool, workers, Verifier(query, budget, solvers))
    finally:
        try:
            pool.stop()
            pool.join()
        finally:
            # After a second Ctrl-C too, which ends the wait.
            scratch.remove(folder)


class _Here:
    """Judges candidates in the current process, one at a time."""

    workers = 1

    def __init__(self, verifier: Verifier) -> None:
        self.verifier = verifier
        self._waiting: deque[Candidate] = deque()

    def submit(self, candidate: Candidate) -> None:
        self._waiting.append(candidate)

    def next(self) -> Finding:
        return self.verifier.check(self._waiting.popleft())

    def control(self) -> Check:
        return self.verifier.control()


class _Processes:
    """Judges candidates in worker processes; each process judges one candidate at a time."""

    def __init__(self, pool: object, workers: int, verifier: Verifier) -> None:
        self._pool, self.workers, self.verifier = pool, workers, verifier
        self._futures: set[Future[Finding]] = set()

    def submit(self, candidate: Candidate) -> None:
        self._futures.add(self._pool.schedule(_check, args=(candidate,)))  # type: ignore[attr-defined]

    def next(self) -> Finding:
        from pebble import ProcessExpired

        done, _ = wait(self._futures, return_when=FIRST_COMPLETED)
        future = next(iter(done))
        self._futures.discard(future)
        try:
            return future.result()
        except ProcessExpired as error:
            raise SolverError(
                f"a worker died with exit code {error.exitcode}", hint="run the same command to resume"
            ) from error

    def control(self) -> Check:
        return self.verifier.control()


class _OnCluster:
    """Judges candidates on the workers of a cluster; each of their processes judges one candidate at a time."""

    def __init__(self, batch: Batch[_There, Finding], setting: _Setting, verifier: Verifier) -> None:
        self._batch, self.workers, self.verifier = batch, batch.cores, verifier
        self._setting = pickle.dumps(setting)
        self._ended: deque[Ended[_There, Finding]] = deque()

    def submit(self, candidate: Candidate) -> None:
        self._batch.submit((self._setting, candidate))

    def next(self) -> Finding:
        if not self._ended:
            self._ended.extend(self._batch.take(wait=True))
        outcome = self._ended.popleft()
        if outcome.ok:
            return outcome.value
        raise outcome.error or SolverError(outcome.reason, hint="run the same command to resume")

    def control(self) -> Check:
        return self.verifier.control()


#: What a worker needs to make the verifier of a search.
_Setting = tuple[Query, Budget, tuple[SolverName, ...]]
#: A setting, pickled, so that a process recognizes it; and a candidate.
_There = tuple[bytes, Candidate]


@lru_cache(maxsize=1)
def _verifier_of(setting: bytes) -> Verifier:
    return Verifier(*pickle.loads(setting))  # noqa: S301 - from the client, which may run any code here


def _check_there(work: _There) -> Finding:
    setting, candidate = work
    return _verifier_of(setting).check(candidate)


_verifier: Verifier | None = None


def _become_worker(query: Query, budget: Budget, solvers: Sequence[SolverName], folder: str) -> None:
    """Prepare a worker process: encode the network, and ignore Ctrl-C, because the parent process ends its workers."""
    global _verifier  # noqa: PLW0603 - of a worker's process, once
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    scratch.use(folder)
    _verifier = Verifier(query, budget, solvers)


def _check(candidate: Candidate) -> Finding:
    if _verifier is None:
        raise SolverError("a worker got a task before it was ready")
    return _verifier.check(candidate)
