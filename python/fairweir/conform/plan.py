"""The runs of a comparison: scenarios, alone and with a competing flow, for both sides and each seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, Final

from fairweir.agree import hosts
from fairweir.agree.matrix import load_scenarios
from fairweir.ccas.cca_spec import text_of
from fairweir.conform.observe import COLUMNS, Path
from fairweir.conform.side import Side
from fairweir.documents import shipped
from fairweir.errors import ConfigError
from fairweir.play.batch import Task
from fairweir.scenario.model import Scenario
from fairweir.units import Duration

#: The arrangements of flows: the controller alone, and with a second flow of the reference.
ARRANGEMENTS: Final = ("alone", "competing")
#: Default numbers of runs per side. In real time, five runs of eight scenarios take a quarter of an hour.
SEEDS, QUICK_SEEDS, REAL_SEEDS = 10, 6, 5
#: A quick comparison runs every second scenario.
QUICK_STRIDE: Final = 2
#: Flows start at a random time within this interval, so that runs sample a sawtooth at different times.
START_SPREAD: Final = Duration.from_s(1)
#: Competing flows start within this interval: an earlier start would be an advantage for the whole run.
PHASE_SPREAD: Final = Duration.from_ms(100)
#: Duration and warm-up of all runs if one of the sides is the kernel, whose runs take real time.
REAL_DURATION, REAL_WARMUP = Duration.from_s(20), Duration.from_s(4)

_US: Final = Duration.from_us(1)


@dataclass(frozen=True)
class Pair:
    """The runs of both sides in one scenario and arrangement.

    Attributes
    ----------
    scenario, arrangement : str
    path : quantities of the scenario
    candidate, reference : tasks, one per seed
    competitors : the competing flow's controller at each side; None if there is none
    """

    scenario: str
    arrangement: str
    path: Path
    candidate: tuple[Task, ...]
    reference: tuple[Task, ...]
    competitors: tuple[str, str] | None


def shipped_scenarios(*, quick: bool = False) -> list[Scenario]:
    """Return the shipped scenarios of conformance, in the order of their names."""
    return load_scenarios(shipped.folder("scenarios") / "conform")[:: QUICK_STRIDE if quick else 1]


def scenarios_of(directory: FilePath) -> list[Scenario]:
    """Return the scenarios of a directory, each with one flow and one link.

    Raises
    ------
    ConfigError : there is no scenario, or a scenario has several flows
    """
    found = load_scenarios(directory)
    for scenario in found:
        if len(scenario.flow) != 1 or scenario.flow[0].count != 1:
            raise ConfigError(
                "the scenario must have one flow",
                source=scenario.source,
                key="flow",
                hint="its controller is replaced, and a competing flow is added",
            )
    return found


def pairs(candidate: Side, reference: Side, scenarios: Sequence[Scenario], seeds: int) -> list[Pair]:
    """Return the runs of a comparison.

    Parameters
    ----------
    seeds : number of runs per side and scenario. A controller that is compared with itself has other seeds than the
        reference.

    Raises
    ------
    ConfigError : a parameter is invalid, or a scenario cannot run in a world
    """
    is_real = "kernel" in (candidate.world, reference.world)
    numbers = range(1, seeds + 1)
    others = range(seeds + 1, 2 * seeds + 1) if candidate == reference else numbers
    found = []
    for scenario in scenarios:
        timed = scenario.override({"duration": str(REAL_DURATION), "warmup": str(REAL_WARMUP)}) if is_real else scenario
        path = Path.of(timed.resolve(), scenario.source)
        for arrangement in ARRANGEMENTS:
            competing = arrangement == "competing"
            found.append(
                Pair(
                    scenario.name,
                    arrangement,
                    path,
                    tuple(_task(candidate, reference, timed, seed, competing, is_real) for seed in others),
                    tuple(_task(reference, reference, timed, seed, competing, is_real) for seed in numbers),
                    (_label(candidate, reference), _label(reference, reference)) if competing else None,
                )
            )
    return found


def _task(side: Side, reference: Side, scenario: Scenario, seed: int, competing: bool, is_real: bool) -> Task:
    dice = random.Random(f"conform {seed}")  # noqa: S311
    first = dice.random() * START_SPREAD
    starts = [str((first + dice.random() * PHASE_SPREAD).rounded(_US)) for _ in range(2)]
    (flow,) = scenario.to_dict(compact=True)["flow"]
    tables: list[dict[str, Any]] = [{**flow, "cca": side.cca, "start": starts[0]}]
    if competing:
        tables.append({**flow, "cca": side.competitor(reference), "start": starts[1]})
    changed = scenario.override({"seed": seed, "flow": tables})
    if is_real and side.world == "sim":
        changed = hosts.as_in_kernel_world(changed, seed)
    return Task(changed, side.world, flow["rtprop"], columns=COLUMNS)


def _label(side: Side, reference: Side) -> str:
    return Side(text_of(side.competitor(reference)), side.world).label
