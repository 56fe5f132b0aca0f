"""Work in threads, results in order: searches release the interpreter, so that threads are enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

Progress = Callable[[int, int], None]


def in_order(
    work: Callable[[Item], Result], items: Sequence[Item], *, workers: int, progress: Progress
) -> list[Result]:
    """Apply `work` to every item, and return the results in the order of the items.

    An exception, and Ctrl-C, which reaches the calling thread, end what runs first and cancel what has not begun.

    Parameters
    ----------
    workers : int, threads
    progress : called with how many of how many are done
    """
    pool = ThreadPoolExecutor(workers)
    found: list[Result] = []
    try:
        waiting = [pool.submit(work, item) for item in items]
        for one in waiting:
            found.append(one.result())
            progress(len(found), len(waiting))
    finally:
        pool.shutdown(cancel_futures=True)
    return found
