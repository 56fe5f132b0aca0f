"""Long work on the terminal: a bar on stderr, what went wrong on the way, and a word on what Ctrl-C left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fairweir.cli import output

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from fairweir.worlds import Outcome, Task

#: Characters of a description; longer ones would push the bar away.
_WORDS = 48


@dataclass(frozen=True)
class Meter:
    """One bar; called with what is being done, and the part of the whole that is done if that is known."""

    bar: Progress
    task: TaskID

    def __call__(self, what: str, part: float | None = None) -> None:
        """Show what is being done, and the fraction that is done."""
        self.bar.update(self.task, description=f"{what[:_WORDS]:{_WORDS}}", completed=part)

    def count(self, done: float, total: float) -> None:
        """Show how many of how many are done."""
        self.bar.update(self.task, completed=done, total=total)


@contextmanager
def meter(
    what: str, *, kept_in: Path | None = None, kept: str = "finished runs", counts: bool = False
) -> Iterator[Meter]:
    """Show a bar while the body runs; after Ctrl-C say where finished work is kept.

    Parameters
    ----------
    what : str, the first description
    kept_in : Path, the directory of what is kept, if it is
    kept : what that is
    counts : show "3/10" (jobs) rather than a percentage
    """
    try:
        with output.progress_bar(counts=counts) as bar:
            yield Meter(bar, bar.add_task(what, total=None if counts else 1.0))
    except KeyboardInterrupt:
        if kept_in is not None:
            output.stderr.print(f"{kept} are stored in {kept_in}/; run the same command to resume", soft_wrap=True)
        raise


def on_played(
    report: Meter, *, start: float = 0.0, end: float = 1.0, name: Callable[[Task], str] | None = None
) -> Callable[[Task, Outcome, float, float], None]:
    """Return what `worlds.play_all` calls after each run: it moves the bar from `start` to `end`, and tells failures.

    Parameters
    ----------
    name : what a failed run is called; default its scenario and world
    """

    def told(played: Task, outcome: Outcome, done: float, total: float) -> None:
        report(f"{played.world}: {played.scenario.name}", start + (end - start) * done / total)
        if problem := outcome.failure or outcome.not_judged:
            what = name(played) if name is not None else f"{played.scenario.name}, {played.world}"
            output.stderr.print(f"{what}: {problem}", markup=False, soft_wrap=True)

    return told
