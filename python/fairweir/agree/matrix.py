"""Run each CCA in each scenario in the simulator and in the Linux kernel, and compare the results.

A cell is one CCA in one scenario; the matrix has a cell for each pair, or the cells are drawn by a design
(:mod:`fairweir.agree.design`). A cell is judged unless the kernel's link emulator was too late for the result to count.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from fairweir import __version__
from fairweir.agree import hosts
from fairweir.agree.compare import Cell, Standing, compare
from fairweir.agree.design import draw
from fairweir.agree.known import Difference, annotate
from fairweir.agree.measured import KernelRuns, Measured
from fairweir.documents.arguments import words_for_enums
from fairweir.errors import ConfigError
from fairweir.play.batch import Archive, Task, TaskResult, play_all, spread_starts, work_s
from fairweir.play.pool import Where
from fairweir.scenario.model import Scenario
from fairweir.scenario.transport import Mechanism, without

CCAS = ("reno", "cubic", "bbr", "vegas", "copa", "frcc")
#: CCA -> the parameters with which the simulator's CCA equals the kernel's, for CCAs whose defaults differ on purpose.
AS_IN_KERNEL: dict[str, dict[str, str | bool]] = {
    "bbr": {"name": "bbr", "send_quanta": True},
    "cubic": {"name": "cubic", "hystart": "linux", "counting": "linux"},
}
#: The mechanisms of Linux's TCP on both sides. Not `autotuning`: the windows of the kernel runs are unlimited, so that
#: only congestion control limits the flows, and runs measured before the mechanism existed remain valid.
COMPARED_TRANSPORT = without(Mechanism.AUTOTUNING)
#: Minimum fraction of the judged cells that must agree.
BOUND = 0.80
SEEDS, QUICK_SEEDS = 5, 3
#: Numbers of runs of a cell that a design drew, in the simulator and on the kernel, and the fraction that must agree.
DESIGN_SEEDS, DESIGN_RUNS, DESIGN_BOUND = 10, 3, 0.90
#: A quick comparison runs every fourth scenario.
QUICK_STRIDE = 4


class Agreement(BaseModel):
    """The result for all CCAs and scenarios.

    Attributes
    ----------
    cells : list of Cell, in the order of `scenarios`, and for each scenario in the order of `ccas`
    design : int, the seed of the design that drew the cells; None if they are a matrix
    share : float; number of agreeing cells divided by the number of judged cells, None if no cell was judged
    bound : float; minimum share
    host_stall : str, the time for which simulated hosts stall once per second, or :data:`hosts.MEASURED` or
        :data:`hosts.TYPICAL`; empty without simulated hosts
    runs : KernelRuns; the kernel runs that were compared
    holds : bool; whether the share is at least `bound`
    """

    model_config = ConfigDict(extra="forbid")

    version: str = __version__
    kernel: str
    ccas: list[str]
    scenarios: list[str]
    seeds: list[int]
    kernel_runs: int
    host_stall: str
    cells: list[Cell]
    design: int | None = None
    bound: float = BOUND
    runs: KernelRuns = Field(default=KernelRuns(()), exclude=True, repr=False)

    @property
    def stalls(self) -> str:
        """For how long simulated hosts stalled, in words; empty without simulated hosts."""
        words = {
            hosts.MEASURED: "for the times measured in kernel runs, or typical times where they were not measured",
            hosts.TYPICAL: "for typical times",
            "": "",
        }
        return words.get(self.host_stall, f"for {self.host_stall}")

    @property
    def worst_first(self) -> list[Cell]:
        """The cells, those with the largest differences first, and those without a comparison last."""
        return sorted(self.cells, key=_order)

    @property
    def judged(self) -> list[Cell]:
        """The cells that were judged."""
        return [cell for cell in self.cells if cell.standing in (Standing.AGREES, Standing.DIFFERS)]

    @property
    def share(self) -> float | None:
        """The number of agreeing cells divided by the number of judged cells; None if no cell was judged."""
        judged = self.judged
        return sum(cell.standing is Standing.AGREES for cell in judged) / len(judged) if judged else None

    @property
    def holds(self) -> bool:
        """Whether the share of agreeing cells is at least `bound`."""
        return self.share is not None and self.share >= self.bound

    @words_for_enums
    def count(self, standing: Standing) -> int:
        """Return the number of cells with the result `standing`."""
        return sum(cell.standing is standing for cell in self.cells)

    def cell(self, cca: str, scenario: str) -> Cell:
        """Return the cell of a CCA and a scenario."""
        return next(c for c in self.cells if (c.cca, c.scenario) == (cca, scenario))

    def document(self) -> dict[str, Any]:
        """Return the document that ``fairweir agree --json`` prints."""
        counts = {standing.value.replace(" ", "_"): self.count(standing) for standing in Standing}
        equal = sum(all(one.by == "tolerance" for one in cell.comparisons) for cell in self.judged)
        judged = {"share": self.share, "holds": self.holds, "within_tolerance": equal, "counts": counts}
        return {**self.model_dump(mode="json"), **judged}


def load_scenarios(directory: Path) -> list[Scenario]:
    """Read all scenarios of a directory, sorted by file name.

    Raises
    ------
    ConfigError : the directory does not exist, is empty, or contains an invalid scenario
    """
    files = sorted(directory.glob("*.toml"))
    if not files:
        raise ConfigError(
            "no scenarios", source=str(directory), hint="name a directory of .toml files: --scenarios DIR"
        )
    return [Scenario.load(file) for file in files]


@dataclass(frozen=True)
class Entry:
    """A cell to run: the name of its controllers, and its scenario for the kernel and for the simulator."""

    cca: str
    scenario: Scenario
    simulated: Scenario


@dataclass(frozen=True)
class Plan:
    """The cells to compare.

    Attributes
    ----------
    entries : the cells
    seeds : seeds of the simulator's runs of each cell
    kernel_runs : int; runs of each cell on the kernel
    bound : float; minimum fraction of the judged cells that must agree
    design : int, the seed of the design that drew the cells; None if they are a matrix
    """

    entries: Sequence[Entry]
    seeds: Sequence[int]
    kernel_runs: int
    bound: float
    design: int | None = None


def cross(
    scenarios: Sequence[Scenario],
    ccas: Sequence[str] = CCAS,
    *,
    seeds: Sequence[int] = tuple(range(1, SEEDS + 1)),
    kernel_runs: int = 1,
) -> Plan:
    """Return a cell for each scenario and each CCA, which replaces the CCA of all flows."""
    entries = [
        Entry(
            cca,
            scenario.override({"flow.*.cca": cca}),
            scenario.override({"flow.*.cca": AS_IN_KERNEL.get(cca, cca)}),
        )
        for scenario in scenarios
        for cca in ccas
    ]
    return Plan(entries, seeds, kernel_runs, BOUND)


def by_design(cells: int, design_seed: int, *, kernel_runs: int = DESIGN_RUNS) -> Plan:
    """Return the cells that a design draws (:mod:`fairweir.agree.design`)."""
    entries = [_drawn(scenario) for scenario in draw(cells, design_seed)]
    return Plan(entries, range(1, DESIGN_SEEDS + 1), kernel_runs, DESIGN_BOUND, design_seed)


def _drawn(scenario: Scenario) -> Entry:
    names = [flow.cca.name for flow in scenario.flow]
    changes = {f"flow.{i}.cca": AS_IN_KERNEL[name] for i, name in enumerate(names) if name in AS_IN_KERNEL}
    return Entry(" + ".join(dict.fromkeys(names)), scenario, scenario.override(changes))


def agree(
    plan: Plan,
    *,
    host_stall: str | None = None,
    known: Sequence[Difference] = (),
    stored: KernelRuns | None = None,
    archive: Archive | None = None,
    workers: Where = None,
    on_done: Callable[[Task, TaskResult, float, float], object] | None = None,
) -> Agreement:
    """Run each cell in the simulator and in the kernel, and compare the results.

    Parameters
    ----------
    host_stall : time with unit, for which simulated receiving hosts stall once per second
        (:mod:`fairweir.agree.hosts`). Default: as those of the cell's kernel runs did; if these did not measure it,
        for typical times
    known : known reasons for differences, which are stored with the cells that differ
    stored : kernel runs to use; cells without one are not run. Default: cells run on this machine's kernel
    archive : store of finished runs, which are reused
    workers : int, number of processes for simulations; or a :class:`fairweir.Cluster`

    Raises
    ------
    KernelError : the kernel world is not available on this machine, and no kernel runs are given
    ConfigError : the stored runs are of other cells, or a run does not fit its scenario
    KeyboardInterrupt : Ctrl-C; finished runs are in the archive
    """
    kernel_seeds = range(1, 1 + plan.kernel_runs)
    needed = [True] * len(plan.entries) if stored is None else _has_runs(plan.entries, stored, kernel_seeds)
    kernels = [
        [Task(spread_starts(_as_compared(entry.scenario), seed), "kernel") for seed in kernel_seeds if stored is None]
        for entry in plan.entries
    ]
    store = archive or Archive(None)
    simulations = float(sum(needed) * len(plan.seeds))
    outcomes: dict[str, TaskResult] = {}
    if stored is None:
        # First the kernel: its runs measure the times that the simulated hosts take.
        outcomes = play_all(
            _flat(kernels),
            store,
            on_done=on_done and (lambda task, one, done, total: on_done(task, one, done, total + simulations)),
        )
    runs = stored or _measured(plan.entries, kernels, outcomes)
    found = [runs.find(entry.scenario, kernel_seeds) for entry in plan.entries]
    sims = [
        [Task(_as_measured(entry.simulated, seed, measured, host_stall)) for seed in plan.seeds if is_needed]
        for entry, measured, is_needed in zip(plan.entries, found, needed, strict=True)
    ]
    before = sum(map(work_s, _flat(kernels)))
    outcomes |= play_all(
        _flat(sims),
        store,
        workers=workers,
        on_done=on_done and (lambda task, one, done, total: on_done(task, one, before + done, before + total)),
    )

    def played(tasks: Sequence[Task]) -> list[TaskResult]:
        return [outcomes[task.key] for task in tasks]

    cells = [
        _cell(entry, played(simulated), played(kernel), measured)
        for entry, simulated, kernel, measured in zip(plan.entries, sims, kernels, found, strict=True)
    ]
    if plan.design is not None:
        for cell, entry in zip(cells, plan.entries, strict=True):
            cell.setting = entry.scenario.description
    annotate(cells, known)
    return Agreement(
        kernel=", ".join(runs.kernels) or platform.release(),
        ccas=list(dict.fromkeys(entry.cca for entry in plan.entries)),
        scenarios=list(dict.fromkeys(entry.scenario.name for entry in plan.entries)),
        seeds=list(plan.seeds),
        kernel_runs=plan.kernel_runs,
        host_stall=host_stall or _stall_of(found),
        cells=cells,
        design=plan.design,
        bound=plan.bound,
        runs=runs,
    )


def agree_kernels(plan: Plan, first: KernelRuns, second: KernelRuns) -> Agreement:
    """Compare the kernel with itself: runs of the same cells in two files, such as from two days or machines.

    The share of cells that agree is what a perfect simulator could reach. Cells without runs in both files are not run.
    The prediction intervals are those of the first file's runs, and so few runs allow no permutation test.

    Raises
    ------
    ConfigError : neither file has runs of the cells, or a run does not fit its scenario
    """
    seeds = range(1, 1 + plan.kernel_runs)
    cells = []
    for runs in (first, second):
        _has_runs(plan.entries, runs, seeds)
    for entry in plan.entries:
        name, one, other = entry.scenario.name, first.find(entry.scenario, seeds), second.find(entry.scenario, seeds)
        late = [run.not_judged for run in one if run.not_judged]
        if not (one and other):
            cell = Cell(cca=entry.cca, scenario=name, standing=Standing.NOT_PLAYED, why="not in both files")
        elif late:
            cell = Cell(cca=entry.cca, scenario=name, standing=Standing.NOT_JUDGED, why=late[0])
        else:
            tables = [flow.count for flow in entry.scenario.flow]
            cell = compare(
                entry.cca, name, one, other, names=("in the first file", "in the second file"), tables=tables
            )
        cell.setting = entry.scenario.description if plan.design is not None else ""
        cells.append(cell)
    return Agreement(
        kernel=" and ".join(dict.fromkeys(", ".join(runs.kernels) for runs in (first, second))),
        ccas=list(dict.fromkeys(entry.cca for entry in plan.entries)),
        scenarios=list(dict.fromkeys(entry.scenario.name for entry in plan.entries)),
        seeds=[],
        kernel_runs=plan.kernel_runs,
        host_stall="",
        cells=cells,
        design=plan.design,
        bound=plan.bound,
    )


def _flat(tasks: Sequence[Sequence[Task]]) -> list[Task]:
    return [task for cell in tasks for task in cell]


def _measured(
    entries: Sequence[Entry], kernels: Sequence[Sequence[Task]], outcomes: Mapping[str, TaskResult]
) -> KernelRuns:
    """Return the values of the runs on this machine's kernel; the tasks of an entry have the seeds 1, 2 and so on."""
    return KernelRuns.of(
        [
            (entry.scenario, seed, summary)
            for entry, tasks in zip(entries, kernels, strict=True)
            for seed, task in enumerate(tasks, start=1)
            if (summary := outcomes[task.key].summary) is not None
        ]
    )


def _as_measured(scenario: Scenario, seed: int, runs: Sequence[Measured], stall: str | None) -> Scenario:
    """Return the scenario of a simulation, whose hosts take time and stall as those of a cell's kernel runs did.

    The lengths of stalls are those of one judged run, which the seed selects.
    """
    usable = [run for run in runs if run.stalls_us and not run.not_judged]
    stalls_us = usable[(seed - 1) % len(usable)].stalls_us if usable else []
    compared = spread_starts(_as_compared(scenario), seed)
    return hosts.as_in_kernel_world(compared, seed, stall, _hosts_us(runs), stalls_us)


def _stall_of(cells: Sequence[Sequence[Measured]]) -> str:
    """Return how long simulated hosts stall if the user does not say it."""
    return hosts.MEASURED if any(run.stalls_us for runs in cells for run in runs) else hosts.TYPICAL


def _hosts_us(runs: Sequence[Measured]) -> float | None:
    """Return the mean time that the hosts of these runs took in each round trip, us; None if none measured it."""
    times = [run.hosts_us for run in runs if run.hosts_us is not None]
    return fmean(times) if times else None


def _has_runs(entries: Sequence[Entry], stored: KernelRuns, seeds: range) -> list[bool]:
    """Return for each cell whether there are stored runs of it; the others are not simulated."""
    found = [bool(stored.find(entry.scenario, seeds)) for entry in entries]
    if not any(found):
        raise ConfigError(
            "no run of the cells to compare",
            source=stored.source,
            hint=f"it has runs of `{stored.lines[0].cell[:100]}`, for example: give the --cells and --design-seed, or"
            " the --scenarios and --ccas, of these runs",
        )
    return found


def _as_compared(scenario: Scenario) -> Scenario:
    return scenario.override({"transport": COMPARED_TRANSPORT})


def _cell(entry: Entry, sims: Sequence[TaskResult], kernels: Sequence[TaskResult], runs: Sequence[Measured]) -> Cell:
    name = entry.scenario.name
    for world, outcomes in (("sim", sims), ("kernel", kernels)):
        failure = next((o.failure for o in outcomes if o.summary is None), None)
        if failure is not None:
            return Cell(cca=entry.cca, scenario=name, standing=Standing.NOT_PLAYED, why=f"{world}: {failure}")
    if not runs:
        return Cell(cca=entry.cca, scenario=name, standing=Standing.NOT_PLAYED, why="no stored run on the kernel")
    first = [Measured.of(outcome.summary) for outcome in sims if outcome.summary is not None]
    return compare(entry.cca, name, first, runs, tables=[flow.count for flow in entry.scenario.flow])


def _order(cell: Cell) -> tuple[bool, bool, float]:
    worst = cell.worst
    return (worst is None, cell.standing is not Standing.DIFFERS, 0.0 if worst is None else -abs(worst.off))
