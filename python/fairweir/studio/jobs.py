"""Run one scenario with several seeds in a process of the studio; return the summaries and the course over time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fairweir.play.course import Course, course_of
from fairweir.play.run import World, run
from fairweir.scenario.model import Scenario
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


def play(request: Request, on_progress: Callable[[float], object]) -> Course:
    """Run a scenario with each seed.

    Raises
    ------
    FairweirError : as :func:`fairweir.play.run.run` raises it
    """
    scenario = Scenario.from_toml(request.text, base=request.base)
    interval = interval_of(scenario, request.world)
    runs = []
    for i in range(request.seeds):

        def report(part: float, done: int = i) -> None:
            on_progress((done + part) / request.seeds)

        seed = scenario.seed + i
        runs.append(run(scenario, seed=seed, interval=interval, on=request.world, on_progress=report))
    return course_of(runs, request.label)


def interval_of(scenario: Scenario, world: World) -> str:
    """Return the sampling interval, as text with its unit."""
    streams = sum(flow.count for flow in scenario.flow) + len(scenario.link)
    intervals = max(min(INTERVALS, MAX_SAMPLES // streams), 1)
    exact = Duration.parse(scenario.duration) / intervals
    return str(max(exact.rounded(Duration.from_us(10)), _MIN_INTERVAL[world]))
