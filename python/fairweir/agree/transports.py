"""Compare controllers and transports: a QUIC stack's controller and ours, each in both transports.

The transports are the simulator's and the stack's, which makes four sides for each scenario. A difference between the
two controllers in one transport is due to the controllers. A difference of one controller between the two transports is
due to the transports: loss detection, ACK rules, pacing. Sides are compared as the simulator and the kernel are
(:mod:`fairweir.agree.compare`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from fairweir import __version__
from fairweir.agree.compare import Cell, Standing, compare
from fairweir.agree.matrix import SEEDS
from fairweir.agree.measured import Measured
from fairweir.ccas import lookup
from fairweir.documents.arguments import words_for_enums
from fairweir.errors import CcaError
from fairweir.play import quic
from fairweir.play.batch import Archive, Task, TaskResult, play_all, spread_starts
from fairweir.play.pool import Where
from fairweir.play.run import VirtualWorld
from fairweir.scenario.model import Scenario

#: The stack in whose transport controllers of fairweir run in the world of QUIC stacks (docs/quic-world.md).
STACK: Final = "quinn"
#: Its controllers.
CCAS: Final = tuple(name for name in lookup.COUNTERPARTS if name.startswith(f"{STACK}/"))
WORLDS: Final[tuple[VirtualWorld, VirtualWorld]] = ("sim", "quic")


class Cause(StrEnum):
    """The cause of the differences between the four sides."""

    NOTHING = "nothing differs"
    CONTROLLER = "controller"
    TRANSPORT = "transport"
    BOTH = "both"
    NOT_RUN = "not run"


class Square(BaseModel):
    """The four sides of one controller of the stack in one scenario.

    Attributes
    ----------
    cca, ours : str; the stack's controller, and the controller of fairweir that implements the same algorithm
    scenario : str
    cause : Cause
    controllers : dict from a world to the comparison of `ours` (first) with `cca` (second) in its transport
    transports : dict from a controller to the comparison of the simulator's transport (first) with the stack's (second)
    """

    model_config = ConfigDict(extra="forbid")

    cca: str
    ours: str
    scenario: str
    cause: Cause
    controllers: dict[VirtualWorld, Cell]
    transports: dict[str, Cell]

    @property
    def differences(self) -> list[str]:
        """The comparisons that differ, in words, with the largest difference of each."""
        cells = [(f"controllers in {_TRANSPORTS[world]}", cell) for world, cell in self.controllers.items()]
        cells += [(f"transports of {cca}", cell) for cca, cell in self.transports.items()]
        return [f"{what}: {cell.why}" for what, cell in cells if cell.standing is not Standing.AGREES]


_TRANSPORTS: Final[dict[VirtualWorld, str]] = {"sim": "the simulator", "quic": STACK}


class Transports(BaseModel):
    """The result for all controllers and scenarios.

    Attributes
    ----------
    stacks : dict from a QUIC stack to its version
    squares : list of Square, in the order of `scenarios`, and for each scenario in the order of `ccas`
    """

    model_config = ConfigDict(extra="forbid")

    version: str = __version__
    stacks: dict[str, str]
    ccas: list[str]
    scenarios: list[str]
    seeds: list[int]
    squares: list[Square]

    @words_for_enums
    def count(self, cause: Cause) -> int:
        """Return the number of squares with this cause."""
        return sum(square.cause is cause for square in self.squares)

    def square(self, cca: str, scenario: str) -> Square:
        """Return the square of a controller and a scenario."""
        return next(one for one in self.squares if (one.cca, one.scenario) == (cca, scenario))

    def document(self) -> dict[str, Any]:
        """Return the document that ``fairweir agree --worlds sim,quic --json`` prints."""
        counts = {cause.name.lower(): self.count(cause) for cause in Cause}
        return {**self.model_dump(mode="json"), "counts": counts}


def check(cca: str) -> None:
    """Check that a controller has the four sides.

    Raises
    ------
    CcaError : it is not a controller of the stack, or fairweir has no controller with the same algorithm
    """
    if cca not in CCAS:
        raise CcaError(
            f"not a controller of {STACK} with a counterpart in fairweir: `{cca}`",
            hint=f"one of {', '.join(CCAS)}",
            cca=cca,
        )


def compare_transports(
    scenarios: Sequence[Scenario],
    ccas: Sequence[str] = CCAS,
    *,
    seeds: Sequence[int] = tuple(range(1, SEEDS + 1)),
    archive: Archive | None = None,
    workers: Where = None,
    on_done: Callable[[Task, TaskResult, float, float], object] | None = None,
) -> Transports:
    """Run each controller of the stack and its counterpart in each scenario, in both transports, and compare them.

    Parameters
    ----------
    scenarios : scenarios; the CCA of all their flows is replaced. Hosts wake at once
    ccas : controllers of the stack
    seeds : seeds of the runs of each side
    archive : store of finished runs, which are reused
    workers : int, number of processes; or a :class:`fairweir.Cluster`

    Raises
    ------
    CcaError : as :func:`check`
    ProgramError : the program of the QUIC stacks is not built
    KeyboardInterrupt : Ctrl-C; finished runs are in the archive
    """
    for cca in ccas:
        check(cca)
    sides = {
        (scenario.name, controller, world): [
            Task(spread_starts(scenario.override({"flow.*.cca": controller}), seed), world) for seed in seeds
        ]
        for scenario in scenarios
        for cca in ccas
        for controller in (lookup.COUNTERPARTS[cca], cca)
        for world in WORLDS
    }
    tasks = [task for side in sides.values() for task in side]
    outcomes = play_all(tasks, archive or Archive(None), workers=workers, on_done=on_done)
    results = {side: [outcomes[task.key] for task in tasks] for side, tasks in sides.items()}
    return Transports(
        stacks=quic.versions(ccas),
        ccas=list(ccas),
        scenarios=[scenario.name for scenario in scenarios],
        seeds=list(seeds),
        squares=[_square(cca, scenario.name, results) for scenario in scenarios for cca in ccas],
    )


_Side = tuple[str, str, VirtualWorld]


def _square(cca: str, scenario: str, results: Mapping[_Side, Sequence[TaskResult]]) -> Square:
    ours = lookup.COUNTERPARTS[cca]
    controllers = {
        world: _cell(cca, scenario, results, ((scenario, ours, world), (scenario, cca, world)), (ours, cca))
        for world in WORLDS
    }
    first, second = WORLDS
    transports = {
        one: _cell(one, scenario, results, ((scenario, one, first), (scenario, one, second)), ("in sim", "in quic"))
        for one in (ours, cca)
    }
    cause = _cause(list(controllers.values()), list(transports.values()))
    return Square(cca=cca, ours=ours, scenario=scenario, cause=cause, controllers=controllers, transports=transports)


def _cell(
    cca: str,
    scenario: str,
    results: Mapping[_Side, Sequence[TaskResult]],
    sides: tuple[_Side, _Side],
    names: tuple[str, str],
) -> Cell:
    runs = []
    for side in sides:
        failure = next((one.failure for one in results[side] if one.summary is None), None)
        if failure is not None:
            why = f"{side[1]} in {side[2]}: {failure}"
            return Cell(cca=cca, scenario=scenario, standing=Standing.NOT_PLAYED, why=why)
        runs.append([Measured.of(one.summary) for one in results[side] if one.summary is not None])
    return compare(cca, scenario, runs[0], runs[1], names)


def _cause(controllers: Sequence[Cell], transports: Sequence[Cell]) -> Cause:
    """Return the cause: the controllers if they differ in a transport, the transports if a controller differs."""
    if any(cell.standing is Standing.NOT_PLAYED for cell in (*controllers, *transports)):
        return Cause.NOT_RUN
    by_controller, by_transport = (
        any(cell.standing is Standing.DIFFERS for cell in cells) for cells in (controllers, transports)
    )
    if by_controller and by_transport:
        return Cause.BOTH
    if by_controller:
        return Cause.CONTROLLER
    return Cause.TRANSPORT if by_transport else Cause.NOTHING
