"""Display of long work: a progress bar and failures on stderr, and a message after Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

from fairweir.cli import output

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from fairweir.play.batch import Task, TaskResult

#: Maximum number of characters of a description; a longer description would displace the bar.
_WORDS = 48
LINE_INTERVAL_S = 8.0
"""Time between lines of progress if stderr is not a terminal: services for continuous integration end silent jobs."""


@dataclass(frozen=True)
class Meter:
    """A progress bar. It is called with a description, and with the completed fraction if known."""

    bar: Progress
    task: TaskID

    def __call__(self, what: str, part: float | None = None) -> None:
        """Show the description and the completed fraction."""
        self.bar.update(self.task, description=f"{what[:_WORDS]:{_WORDS}}", completed=part)

    def count(self, done: float, total: float) -> None:
        """Show the number of finished jobs and the total number."""
        self.bar.update(self.task, completed=done, total=total)


@contextmanager
def meter(
    what: str, *, kept_in: Path | None = None, kept: str = "finished runs", counts: bool = False
) -> Iterator[Meter]:
    """Show a bar while the body runs; after Ctrl-C, print the directory of the finished work.

    Parameters
    ----------
    what : str, the initial description
    kept_in : Path, the directory of the finished work, if stored
    kept : name of the finished work
    counts : show the number of finished jobs ("3/10") instead of a percentage
    """
    try:
        with output.progress_bar(counts=counts) as bar:
            task = bar.add_task(what, total=None if counts else 1.0)
            with _lines_of(bar, task, counts=counts):
                yield Meter(bar, task)
    except KeyboardInterrupt:
        if kept_in is not None:
            output.stderr.print(f"{kept} are stored in {kept_in}/; run the same command to resume", soft_wrap=True)
        raise


@contextmanager
def _lines_of(bar: Progress, task: TaskID, *, counts: bool) -> Iterator[None]:
    """Print a line on stderr every `LINE_INTERVAL_S` while the body runs, if stderr is not a terminal."""
    if output.stderr.is_terminal:
        yield
        return
    is_over = Event()

    def print_lines() -> None:
        started = time.monotonic()
        while not is_over.wait(LINE_INTERVAL_S):
            now = bar.tasks[bar.task_ids.index(task)]
            done = f"{now.completed:g}/{now.total or 0:g}" if counts else f"{now.percentage:.0f} %"
            words = f"{now.description.strip()}: {done} after {time.monotonic() - started:.0f} s"
            output.stderr.print(words, markup=False, soft_wrap=True)

    printer = Thread(target=print_lines, daemon=True)
    printer.start()
    try:
        yield
    finally:
        is_over.set()
        printer.join()


def on_played(
    report: Meter, *, start: float = 0.0, end: float = 1.0, name: Callable[[Task], str] | None = None
) -> Callable[[Task, TaskResult, float, float], None]:
    """Return the callback of `batch.play_all`, which moves the bar from `start` to `end` and reports failed runs.

    Parameters
    ----------
    name : returns the name of a failed run; default: its scenario and world
    """

    def reported(played: Task, outcome: TaskResult, done: float, total: float) -> None:
        report(f"{played.world}: {played.scenario.name}", start + (end - start) * done / total)
        if problem := outcome.failure or outcome.not_judged:
            what = name(played) if name is not None else f"{played.scenario.name}, {played.world}"
            output.stderr.print(f"{what}: {problem}", markup=False, soft_wrap=True)

    return reported
