"""Runs work in threads and returns results in order; searches release the interpreter lock, so threads suffice."""

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

    After an exception or Ctrl-C (which the calling thread receives), running items finish and the others are canceled.

    Parameters
    ----------
    workers : int, number of threads
    progress : called with the number of finished items and the number of items
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
