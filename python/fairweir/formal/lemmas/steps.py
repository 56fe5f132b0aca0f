"""Run the steps of a suite of lemmas: in this process, in processes on all cores, or on the workers of a cluster.

A step is one line of the table of results. Its job is data, which any process with this program can compute. Files are
read and written only in this process: it reads stored answers before the jobs start, and stores the answer of each job.
The results are in the order of the steps, regardless of the order in which the jobs end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairweir.errors import SolverError
from fairweir.formal.lemmas.result import LemmaResult
from fairweir.formal.lemmas.suites import OnProgress, Progress, Request
from fairweir.play.pool import Where, iter_jobs

Job = Callable[[], Any]
"""A picklable object, called without arguments: a dataclass, or a ``partial`` of a function of a module."""


@dataclass(frozen=True)
class Step:
    """A line of the table of results, and how it is computed.

    Attributes
    ----------
    name : str, name of the lemma
    job : computes the answer in any process
    conclude : converts the answer of the job to the result, and stores it if the request names a folder
    """

    name: str
    job: Job
    conclude: Callable[[Any], LemmaResult]


def settle_all(
    steps: Iterable[Step | LemmaResult], request: Request, on_progress: OnProgress, total: int
) -> list[LemmaResult]:
    """Return one result per step, in the same order.

    Parameters
    ----------
    steps : steps, and the results of lemmas whose answers are stored. If it reads and verifies the answers one after
        another, each is reported when it is read
    request : Request, whose `workers` run the jobs
    on_progress : called before and after each step that runs in this process, and otherwise after each step
    total : int, number of lines of the table, for the progress; the caller may add lines after those of the steps

    Raises
    ------
    VacuousError : the assumptions of a lemma contradict each other
    SolverError : a solver is missing, two contradict each other, or a process died
    ClusterError : the cluster cannot be used
    """
    results: dict[int, LemmaResult] = {}

    def end(place: int, result: LemmaResult) -> None:
        results[place] = result
        on_progress(Progress(result.name, len(results), total, place), result)

    def begin(name: str) -> None:
        on_progress(Progress(name, len(results), total), None)

    waiting: list[tuple[int, Step]] = []
    for place, step in enumerate(steps):
        if isinstance(step, LemmaResult):
            end(place, step)
        else:
            waiting.append((place, step))
    if waiting:
        begin(waiting[0][1].name)
    for index, answer in answers([(step.name, step.job) for _, step in waiting], request.workers, begin):
        place, step = waiting[index]
        end(place, step.conclude(answer))
    return [results[place] for place in sorted(results)]


def answers(
    jobs: Sequence[tuple[str, Job]], workers: Where, begin: Callable[[str], object] = lambda name: None
) -> Iterator[tuple[int, Any]]:
    """Yield the index and the answer of each job when it ends.

    Parameters
    ----------
    jobs : pairs of a name, for messages, and a job
    workers : number of processes; 1: the jobs run in this process, one after another; or a cluster
    begin : called with the name of each job before it starts in this process

    Raises
    ------
    as :func:`settle_all`
    """
    if workers == 1:
        for index, (name, job) in enumerate(jobs):
            begin(name)
            yield index, job()
        return
    for outcome in iter_jobs(_call, [job for _, job in jobs], workers=workers):
        if not outcome.ok:
            name = jobs[outcome.index][0]
            raise outcome.error or SolverError(f"`{name}` has no answer: {outcome.reason}", hint=_HINT)
        yield outcome.index, outcome.value


_HINT = "with --out, the same command resumes; with fewer --workers, solvers need less memory together"


def as_it_is(answer: LemmaResult) -> LemmaResult:
    """Return the answer of a job that returns the result itself."""
    return answer


def _call(job: Job) -> Any:
    return job()


def without_places(request: Request) -> Request:
    """Return a request without what only this process uses: where jobs run, and where answers are stored."""
    return replace(request, out=None, workers=1)
