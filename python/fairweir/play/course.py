"""The results of a scenario for pages: a summary per seed, and one course over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairweir.judging.summary import Summary
from fairweir.show.picture import Curve, Panel, Picture, picture_of

if TYPE_CHECKING:
    from fairweir.play.run import Run


@dataclass(frozen=True)
class Course:
    """Runs of one scenario that differ in the seed.

    Attributes
    ----------
    summaries : one per run, without the scenario
    picture : the course over time; of several runs, the medians and the ranges
    not_judged : the reason why the first run that is not judged is not; empty if all are
    """

    summaries: tuple[Summary, ...]
    picture: Picture
    not_judged: str = ""


def course_of(runs: Sequence[Run], label: str = "") -> Course:
    """Return the course of runs with time series that differ in the seed.

    Raises
    ------
    ConfigError : a run has no time series
    """
    return Course(
        tuple(run.summary.without_scenario() for run in runs),
        banded([picture_of(run, label) for run in runs]),
        next((run.not_judged for run in runs if run.not_judged), ""),
    )


def banded(pictures: Sequence[Picture]) -> Picture:
    """Return one picture of runs that differ in the seed: the median of each curve, and its range."""
    first = pictures[0]
    if len(pictures) == 1:
        return first
    panels = []
    for row, panel in enumerate(first.panels):
        curves = []
        for column, curve in enumerate(panel.curves):
            # A run without marks has no curve of marks.
            same = [one.panels[row].curves[column].values for one in pictures if column < len(one.panels[row].curves)]
            values = np.vstack(same)
            curves.append(_band(curve, values))
        panels.append(Panel(panel.name, panel.label, tuple(curves)))
    return replace(first, panels=tuple(panels))


def _band(curve: Curve, values: np.ndarray[Any, np.dtype[np.float64]]) -> Curve:
    missing = np.isnan(values).all(axis=0)
    known = np.where(missing, 0.0, values)
    found = [np.where(missing, np.nan, reduce(known, axis=0)) for reduce in (np.nanmedian, np.nanmin, np.nanmax)]
    return replace(curve, values=found[0], low=found[1], high=found[2])
