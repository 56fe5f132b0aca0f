"""Run work in threads, and return results in order.

The work is the search of the game, which releases Python's interpreter lock; threads therefore suffice.
"""

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

    If the work raises an exception or the user presses Ctrl-C, running items finish, and items not started are
    canceled.

    Parameters
    ----------
    workers : int, number of threads
    progress : called after each item, with the number of finished items and the number of all items
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
