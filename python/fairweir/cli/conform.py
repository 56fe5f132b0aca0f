"""``fairweir conform``: compare controllers with a reference by their throughput-delay envelopes."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairweir.cli import output
from fairweir.cli.options import AsJson, ClusterAddress, SimulationWorkers, where
from fairweir.cli.progress import meter, on_played
from fairweir.conform.judge import MIN_RUNS
from fairweir.conform.plan import QUICK_SEEDS, REAL_SEEDS, SEEDS, scenarios_of, shipped_scenarios
from fairweir.conform.references import KERNEL_REFERENCES, missing_programs, references
from fairweir.conform.runner import conform as play
from fairweir.conform.side import Side
from fairweir.documents.atomic_write import write_text
from fairweir.documents.results import results_folder
from fairweir.errors import ConfigError, KernelError
from fairweir.judging.outcome import Outcome
from fairweir.play.batch import Archive
from fairweir.show import formats

if TYPE_CHECKING:
    from fairweir.conform.results import Report
    from fairweir.play.batch import Task

DIFFERS = 1


def conform(
    ccas: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CCA...", help="cubic, quinn/cubic, quic:quinn/cubic (whole stack), kernel:cubic, mine.py:Class."
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="REFERENCE", help="The reference: cubic, or kernel:cubic (needs root)."),
    ] = None,
    table: Annotated[
        bool, typer.Option("--table", help="Compare all built-in stacks and controllers with their references.")
    ] = False,
    kernel: Annotated[
        bool,
        typer.Option("--kernel", help="With --table: compare our controllers with the kernel's, too (needs root)."),
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Run only every second scenario, with fewer seeds.")] = False,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds",
            min=MIN_RUNS,
            max=1000,
            help=f"Runs per side and scenario; default {SEEDS}, --quick {QUICK_SEEDS}, on the kernel {REAL_SEEDS}.",
        ),
    ] = None,
    scenarios: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Scenario files with one flow each. Default: the shipped ones in conform/."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Store results here; finished runs found here are reused."),
    ] = None,
    workers: SimulationWorkers = None,
    cluster: ClusterAddress = None,
    as_json: AsJson = False,
) -> None:
    """Compare controllers with a reference: is a difference larger than the reference's own from run to run?

    Each controller runs alone and next to the reference's controller. Its samples of throughput and delay are compared
    with those of the reference (docs/howto/conform.md).

    Exit 0: no controller differs; also with --table.
    Exit 1: a controller differs in more than 20 % of the judged scenarios.
    Exit 2: bad input, the command could not run, or nothing was judged.
    Exit 130: interrupted; the same command resumes.
    """
    sides = _sides(ccas or [], to, table=table, kernel=kernel)
    chosen = scenarios_of(scenarios) if scenarios is not None else shipped_scenarios(quick=quick)
    is_real = any("kernel" in (a.world, b.world) for a, b in sides)
    number = seeds or (REAL_SEEDS if is_real else QUICK_SEEDS if quick else SEEDS)
    subjects = ["table"] if table else [*(a.label for a, _ in sides), "to", sides[0][1].label]
    folder = out or results_folder("conform", *subjects)
    with meter("conform", kept_in=folder) as report:
        found = play(
            sides,
            chosen,
            seeds=number,
            archive=Archive(folder),
            workers=where(workers, cluster),
            command=shlex.join(["fairweir", *sys.argv[1:]]),
            on_planned=_say_cost,
            on_done=on_played(report, name=_run_name),
        )
    keep(found, folder)
    if as_json:
        output.print_json(found.document())
    else:
        from fairweir.conform.table import show

        show(found, output.stdout)
        output.stdout.print(f"{folder}/conform.html, conform.md, conform.json, conform.csv", soft_wrap=True)
    if not any(one.judged for one in found.comparisons):
        why = next((cell.why for one in found.comparisons for cell in one.cells if cell.why), "")
        raise (
            KernelError("no scenario could be judged", hint=why)
            if is_real
            else ConfigError(f"no scenario could be judged: {why}")
        )
    if found.outcome is Outcome.FAILS and not table:
        raise typer.Exit(DIFFERS)


def _sides(ccas: list[str], to: str | None, *, table: bool, kernel: bool) -> list[tuple[Side, Side]]:
    """Return the pairs of candidate and reference.

    Raises
    ------
    ConfigError : options exclude each other or are missing
    CcaError : there is no such controller
    """
    if table:
        if ccas or to is not None:
            raise ConfigError("--table chooses the controllers", key="--table", hint="leave out CCA and --to")
        for line in missing_programs():
            output.stderr.print(line, soft_wrap=True)
        rows = {**references(), **(KERNEL_REFERENCES if kernel else {})}
        return [(Side.of(cca), Side.of(reference)) for cca, reference in rows.items()]
    if kernel:
        raise ConfigError("--kernel belongs to --table", key="--kernel", hint="write `--to kernel:cubic`")
    if not ccas:
        raise ConfigError("no controller to compare", key="CCA", hint="`fairweir conform quinn/cubic --to cubic`")
    if to is None:
        raise ConfigError("no reference", key="--to", hint="write `--to cubic`, or `--to kernel:cubic` as root")
    reference = Side.of(to)
    return [(Side.of(cca), reference) for cca in dict.fromkeys(ccas)]


def _say_cost(seconds: float) -> None:
    if seconds > 0:
        words = f"runs on the kernel take {formats.duration(seconds)}, in real time, one after another"
        output.stderr.print(words, soft_wrap=True)


def _run_name(task: Task) -> str:
    flows = ", ".join(flow.cca.label for flow in task.scenario.flow)
    return f"{task.scenario.name}, {flows}, seed {task.scenario.seed}, {task.world}"


def keep(report: Report, folder: Path) -> None:
    """Write ``conform.json``, ``conform.csv``, ``conform.md`` and ``conform.html`` to `folder`."""
    from fairweir.conform.page import write_page
    from fairweir.conform.table import markdown

    document = json.dumps(output.finite(report.document()), indent=2, allow_nan=False)
    write_text(folder / "conform.json", document + "\n")
    write_text(folder / "conform.csv", report.csv())
    write_text(folder / "conform.md", "\n".join(markdown(report)) + "\n")
    write_page(report, folder / "conform.html")
