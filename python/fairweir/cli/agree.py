"""``fairweir agree``: compare the simulator with the kernel."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fairweir.agree.known import load as load_known
from fairweir.agree.matrix import (
    CCAS,
    DESIGN_RUNS,
    QUICK_SEEDS,
    QUICK_STRIDE,
    SEEDS,
    Agreement,
    agree_kernels,
    by_design,
    cross,
    load_scenarios,
)
from fairweir.agree.matrix import agree as play
from fairweir.agree.measured import KernelRuns
from fairweir.agree.transports import CCAS as QUIC_CCAS
from fairweir.agree.transports import Cause, compare_transports
from fairweir.ccas import lookup
from fairweir.cli import output
from fairweir.cli.options import AsJson, ClusterAddress, SimulationWorkers, where
from fairweir.cli.progress import meter, on_played
from fairweir.documents import shipped
from fairweir.documents.atomic_write import write_text
from fairweir.documents.results import results_folder
from fairweir.errors import ConfigError, KernelError, ProgramError
from fairweir.play.batch import Archive

if TYPE_CHECKING:
    from fairweir.play.batch import Task
    from fairweir.play.pool import Where
    from fairweir.scenario.model import Scenario

DIFFERS = 1


def agree(
    *,
    worlds: Annotated[
        Literal["sim,kernel", "sim,quic"],
        typer.Option(help="Worlds to compare; with quic, also the controllers of quinn with those of fairweir."),
    ] = "sim,kernel",
    ccas: Annotated[
        str | None,
        typer.Option("--ccas", metavar="A,B", help=f"Controllers to compare. Default: {','.join(CCAS)}; quic: all."),
    ] = None,
    scenarios: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Scenario files; each flow's controller is replaced. Default: the shipped scenarios in agree/.",
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Run only every fourth scenario, with fewer seeds.")] = False,
    cells: Annotated[
        int | None,
        typer.Option(
            min=1, max=10_000, metavar="N", help="Draw N cells by a design, instead of controllers and scenario files."
        ),
    ] = None,
    design_seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Another seed draws other cells: for a hold-out.")
    ] = 1,
    runs: Annotated[
        int | None, typer.Option(min=1, max=100, help="Runs of each cell on the kernel. Default: 1; with --cells 3.")
    ] = None,
    kernel_runs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Compare with stored kernel runs, kernel-runs.jsonl of an earlier comparison; needs no root.",
        ),
    ] = None,
    other_kernel_runs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Compare the runs of --kernel-runs with these kernel runs, not with the simulator: how far the kernel "
            "agrees with itself.",
        ),
    ] = None,
    stall: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Simulated hosts stall for TIME once per second; 0ms disables stalls. Default: as long as the hosts "
            "of the kernel runs did, and for typical times if these did not measure it.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Store results here; finished runs found here are reused.")
    ] = results_folder("agree"),
    workers: SimulationWorkers = None,
    cluster: ClusterAddress = None,
    as_json: AsJson = False,
) -> None:
    """Run controllers and scenarios in the simulator and on the kernel; report which results differ, and by how much.

    A cell is one controller in one scenario; a cell is judged if its kernel runs are usable. With --worlds sim,quic,
    run the controllers of quinn and those of fairweir in both transports, and report for each scenario whether the
    controllers or the transports differ. With --cells, a Latin hypercube draws controllers, flows, paths and faults;
    each cell runs with 10 seeds and three times on the kernel, and the distributions are compared.

    Exit 0: at least 80 % of the judged cells agree (with --cells: 90 %); with quic: the runs finished.
    Exit 1: fewer agree.
    Exit 2: the command could not run, or no cell was judged.
    Exit 130: interrupted; the same command resumes.
    """
    has_kernel = worlds == "sim,kernel"
    names = [name.strip() for name in (ccas or "").split(",") if name.strip()] or (CCAS if has_kernel else QUIC_CCAS)
    for name in names:
        lookup.check(name)
    directory = scenarios or shipped.folder("scenarios") / "agree"
    known = load_known(directory)
    chosen = load_scenarios(directory)[:: QUICK_STRIDE if quick else 1]
    seeds = range(1, 1 + (QUICK_SEEDS if quick else SEEDS))
    if not has_kernel:
        _agree_with_stacks(chosen, names, seeds, out, where(workers, cluster), as_json=as_json)
        return
    stored = None if kernel_runs is None else KernelRuns.load(kernel_runs)
    if cells is None:
        plan = cross(chosen, names, seeds=seeds, kernel_runs=runs or 1)
    else:
        plan = by_design(cells, design_seed, kernel_runs=runs or DESIGN_RUNS)
    if other_kernel_runs is not None:
        if stored is None:
            raise ConfigError("two files of kernel runs are compared", key="--kernel-runs", hint="name the first one")
        found = agree_kernels(plan, stored, KernelRuns.load(other_kernel_runs))
        _print(found, out=None, as_json=as_json)
        _end(found, "no cell has judged runs in both files")
        return
    with meter("agree", kept_in=out) as report:
        agreement = play(
            plan,
            host_stall=stall,
            known=known,
            stored=stored,
            archive=Archive(out),
            workers=where(workers, cluster),
            on_done=on_played(report, name=_run_name),
        )
    keep(agreement, out)
    _print(agreement, out=out, as_json=as_json)
    again = "rerun when the machine is less loaded; see `fairweir doctor`"
    _end(agreement, again if stored is None else "the reasons are above")


def _print(agreement: Agreement, *, out: Path | None, as_json: bool) -> None:
    if as_json:
        output.print_json(agreement.document())
        return
    from fairweir.agree.table import show

    show(agreement, output.stdout)
    if out is not None:
        output.stdout.print(f"{out}/agreement.html, agreement.md, agreement.json", soft_wrap=True)


def _end(agreement: Agreement, hint: str) -> None:
    """Raise an error if no cell was judged, and end with status 1 if too few agree."""
    if agreement.share is None:
        raise KernelError("no cell could be judged", hint=hint)
    if not agreement.holds:
        raise typer.Exit(DIFFERS)


def _agree_with_stacks(
    scenarios: Sequence[Scenario], ccas: Sequence[str], seeds: range, out: Path, workers: Where, *, as_json: bool
) -> None:
    with meter("agree", kept_in=out) as report:
        found = compare_transports(
            scenarios,
            ccas,
            seeds=seeds,
            archive=Archive(out),
            workers=workers,
            on_done=on_played(report, name=_run_name),
        )
    write_text(out / "transports.json", json.dumps(output.finite(found.document()), indent=2, allow_nan=False) + "\n")
    if as_json:
        output.print_json(found.document())
    else:
        from fairweir.agree.table import show_transports

        show_transports(found, output.stdout)
        output.stdout.print(f"{out}/transports.json", soft_wrap=True)
    if found.count(Cause.NOT_RUN) == len(found.squares):
        raise ProgramError("no square could be run", hint="the reasons are above; see `fairweir doctor`")


def _run_name(task: Task) -> str:
    return f"{task.scenario.name}, {task.scenario.flow[0].cca.label}, {task.world}"


def keep(agreement: Agreement, folder: Path) -> None:
    """Write ``agreement.json``, ``agreement.md`` and ``agreement.html`` to `folder`, and the kernel runs to
    ``kernel-runs.jsonl`` unless they come from a file.
    """
    from fairweir.agree.page import write_page
    from fairweir.agree.table import markdown

    document = json.dumps(output.finite(agreement.document()), indent=2, allow_nan=False)
    write_text(folder / "agreement.json", document + "\n")
    write_text(folder / "agreement.md", "\n".join(markdown(agreement)) + "\n")
    write_page(agreement, folder / "agreement.html")
    if not agreement.runs.source:
        agreement.runs.write(folder / "kernel-runs.jsonl")
