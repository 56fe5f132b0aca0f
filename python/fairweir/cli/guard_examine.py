"""``fairweir guard examine``: the accuracy of a forest, in the simulator and on real TCP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from fairweir.cli import output
from fairweir.cli.options import AsJson, ClusterAddress, Workers, where
from fairweir.cli.values import read as read_value
from fairweir.play.run import TcpWorld
from fairweir.units import Duration

if TYPE_CHECKING:
    from fairweir.guard.examination import Sheet


def examine_command(
    forest: Annotated[Path, typer.Argument(metavar="FOREST", help="A JSON file written by `guard train`.")],
    world: Annotated[
        TcpWorld, typer.Option("--on", help="World to run in: the simulator, or Linux TCP in real time.")
    ] = "sim",
    runs: Annotated[
        int,
        typer.Option(min=1, help="Number of runs with the forest's mix of CCAs, on networks not in its training set."),
    ] = 20,
    rows: Annotated[int, typer.Option(min=10, help="Examples per run.")] = 300,
    duration: Annotated[
        str, typer.Option(help="Duration of each run; the newcomer starts after 20 %, and the last 20 % is classified.")
    ] = "30s",
    data: Annotated[Path | None, typer.Option(help="Store examples here; finished runs found here are reused.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed for drawing runs.")] = 2,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    as_json: AsJson = False,
) -> None:
    """Measure the accuracy of a classifier (a forest) on runs that were not in its training set."""
    from fairweir.guard.examination import examine, questions, read

    document = read(forest)
    planned_runs = questions(document, runs, read_value(duration, "--duration", Duration.parse), seed)
    with output.progress_bar(counts=True) as bar:
        task = bar.add_task("runs", total=len(planned_runs))
        sheet = examine(
            document,
            planned_runs,
            rows,
            world=world,
            data=data,
            workers=where(workers, cluster),
            on_done=lambda: bar.advance(task),
        )
    if as_json:
        output.print_json({"world": world, "runs": len(planned_runs), **sheet.to_dict()})
    else:
        _show(sheet)
    if sheet.late:
        output.stderr.print(f"NOT JUDGED: {sheet.late} runs: packets were released too late", soft_wrap=True)


def _show(sheet: Sheet) -> None:
    table = Table("data", box=None, header_style="bold")
    table.add_column("accuracy", justify="right")
    table.add_column("examples", justify="right")
    total = sum(n for _, n in sheet.by_part.values())
    for name, (accuracy, n) in [
        ("all", (sheet.accuracy, total)),
        ("all, most frequent class", (sheet.of_guess, total)),
        *sheet.by_part.items(),
    ]:
        table.add_row(name, f"{accuracy:.1%}", f"{n:,}")
    output.stdout.print(table)
