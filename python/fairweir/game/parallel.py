"""Run work in threads or on a cluster, and return results in order.

The work is the search of the game, which releases Python's interpreter lock; on one machine, threads therefore suffice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from fairweir.errors import ClusterError
from fairweir.play.pool import iter_jobs

if TYPE_CHECKING:
    from fairweir.play.cluster import Cluster

Item = TypeVar("Item")
Result = TypeVar("Result")

Progress = Callable[[int, int], None]


def _forget(index: int, result: object) -> None:
    """Do not store the result."""


def in_order(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    workers: int | Cluster,
    progress: Progress,
    keep: Callable[[int, Result], object] = _forget,
) -> list[Result]:
    """Apply `work` to every item, and return the results in the order of the items.

    If the work raises an exception or the user presses Ctrl-C, items not started are canceled. Items that have started
    finish in their threads and are kept; those on a cluster end there, and their results are lost.

    Parameters
    ----------
    work : a function of a module or a picklable object, called with an item; for threads, any function
    workers : number of threads, or the cluster
    progress : called after each item, with the number of finished items and the number of all items
    keep : called in this process with the index and the result of each item when it is finished

    Raises
    ------
    ClusterError : the cluster cannot be used, or a worker died with an item too often
    """
    if not isinstance(workers, int):
        return _there(work, items, workers, progress, keep)

    def one(index: int) -> Result:
        result = work(items[index])
        keep(index, result)
        return result

    pool = ThreadPoolExecutor(workers)
    found: list[Result] = []
    try:
        waiting = [pool.submit(one, index) for index in range(len(items))]
        for future in waiting:
            found.append(future.result())
            progress(len(found), len(waiting))
    finally:
        pool.shutdown(cancel_futures=True)
    return found


def _there(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    cluster: Cluster,
    progress: Progress,
    keep: Callable[[int, Result], object],
) -> list[Result]:
    found: dict[int, Result] = {}
    for outcome in iter_jobs(_apply, [(work, item) for item in items], workers=cluster):
        if not outcome.ok:
            raise outcome.error or ClusterError(
                outcome.reason, hint="finished work is stored; the same command resumes"
            )
        keep(outcome.index, outcome.value)
        found[outcome.index] = outcome.value
        progress(len(found), len(items))
    return [found[index] for index in range(len(items))]


def _apply(pair: tuple[Callable[[Item], Result], Item]) -> Result:
    work, item = pair
    return work(item)
