"""The progress of an audit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairweir.audit.jobs import Job

SEARCH_SHARE = 0.12
"""Cost of one search on the progress bar, as a fraction of the CCA's battery."""

Progress = Callable[[str, float], object]
"""Called with (description, completed fraction of the audit, 0 to 1)."""


def weight(job: Job) -> float:
    """Return the cost of a run for the progress bar: its packets plus a fixed cost."""
    return job.packets() + 50_000.0


class Meter:
    """Reports the finished fraction of the work."""

    def __init__(self, report: Progress, battery: float, searches: int, subjects: int) -> None:
        self._report = report
        self._done, self._battery = 0.0, battery
        self._search = SEARCH_SHARE * battery / subjects if searches and battery else 1.0
        self._total = battery + self._search * searches

    def add(self, jobs: Sequence[Job]) -> None:
        """Add runs to the work."""
        self._total += sum(weight(job) for job in jobs)

    def did(self, job: Job) -> None:
        """Report a finished run."""
        self._done += weight(job)
        self._report(f"{job.subject.name}: {job.family}", self._part(0.0))

    def searching(self, what: str, part: float) -> None:
        """Report the fraction `part` of a search."""
        self._report(what, self._part(part * self._search))

    def searched(self) -> None:
        """Count a finished search."""
        self._done += self._search

    def _part(self, extra: float) -> float:
        return min((self._done + extra) / self._total, 1.0) if self._total else 0.0
