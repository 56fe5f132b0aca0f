"""What the studio's processes run: one scenario with several seeds, as summaries and as its course over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from fairweir.judging.summary import Summary
from fairweir.play.run import World, run
from fairweir.scenario.model import Scenario
from fairweir.show.picture import Curve, Panel, Picture, picture_of
from fairweir.units import Duration

#: Number of sampling intervals of a run, enough to zoom in by a factor of ten.
INTERVALS: Final = 6_000
#: Maximum number of samples of a run, over all flows and links; 100 MB.
MAX_SAMPLES: Final = 3_000_000
_MIN_INTERVAL: Final = {"sim": Duration.from_us(100), "kernel": Duration.from_ms(10), "quic": Duration.from_us(100)}


@dataclass(frozen=True)
class Request:
    """A scenario to run.

    Attributes
    ----------
    text : str, TOML
    base : Path of the folder to which file names in the scenario are relative
    world : "sim", "kernel" or "quic"
    seeds : number of seeds, counted from the scenario's
    label : str, name of the run in figures
    """

    text: str
    base: Path
    world: World
    seeds: int
    label: str


@dataclass(frozen=True)
class Played:
    """The results of a request: a summary per seed without the scenario, and one picture."""

    summaries: tuple[Summary, ...]
    picture: Picture
    not_judged: str


def play(request: Request, on_progress: Callable[[float], object]) -> Played:
    """Run a scenario with each seed.

    Raises
    ------
    FairweirError : as :func:`fairweir.play.run.run` raises it
    """
    scenario = Scenario.from_toml(request.text, base=request.base)
    summaries, pictures, not_judged = [], [], ""
    for i in range(request.seeds):
        record = run(
            scenario,
            seed=scenario.seed + i,
            interval=interval_of(scenario, request.world),
            on=request.world,
            isolates_python=False,
            on_progress=lambda part, i=i: on_progress((i + part) / request.seeds),  # type: ignore[misc]
        )
        summaries.append(record.summary.without_scenario())
        pictures.append(picture_of(record, request.label))
        not_judged = not_judged or record.not_judged
    return Played(tuple(summaries), banded(pictures), not_judged)


def interval_of(scenario: Scenario, world: World) -> str:
    """Return the sampling interval, as text with its unit."""
    streams = sum(flow.count for flow in scenario.flow) + len(scenario.link)
    intervals = max(min(INTERVALS, MAX_SAMPLES // streams), 1)
    exact = Duration.parse(scenario.duration) / intervals
    return str(max(exact.rounded(Duration.from_us(10)), _MIN_INTERVAL[world]))


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
