"""``fairweir sweep``: a grid of scenarios."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from fairweir.cli import output
from fairweir.cli.options import AsJson, ClusterAddress, ScenarioFile, Seed, Settings, Workers, load, where
from fairweir.cli.progress import meter
from fairweir.documents.digits import plain
from fairweir.documents.results import results_folder
from fairweir.errors import ConfigError
from fairweir.judging.metrics import mean_rtt_ms
from fairweir.judging.summary import Summary
from fairweir.play.run import VirtualWorld
from fairweir.play.sweep import grid_of, parse_grid
from fairweir.play.sweep import sweep as play
from fairweir.scenario.overrides import parse_setting

if TYPE_CHECKING:
    from fairweir.play.sweep import Sweep

#: Maximum number of rows of the printed table; the Parquet files have all rows.
SHOWN_POINTS = 40


def sweep(
    scenario: ScenarioFile,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=V1,V2", help="An axis: KEY=12Mbps,24Mbps, seed=1..5 or KEY=10ms..50ms/10ms. Repeatable."
        ),
    ] = None,
    world: Annotated[VirtualWorld, typer.Option("--on", help="World to run in.")] = "sim",
    settings: Settings = None,
    seed: Seed = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Store results here; finished points found here are reused. Default results/sweep/NAME."),
    ] = None,
    workers: Workers = None,
    timeout: Annotated[float | None, typer.Option(help="Maximum wall time per point, in seconds.")] = None,
    cluster: ClusterAddress = None,
    as_json: AsJson = False,
) -> None:
    """Run a scenario with every combination of values, on all cores.

    Exit 0: every point ran.
    Exit 2: bad input, or a point failed.
    Exit 130: interrupted; the same command resumes.
    """
    loaded = load(scenario, settings, seed)
    axes = grid_of(loaded) | parse_grid(grid or [])
    _refuse_overridden(axes, settings, seed)
    if not axes:
        raise ConfigError(
            "nothing to sweep",
            hint="write --grid link.bottleneck.rate=12Mbps,24Mbps, or add a table [sweep] to the scenario",
            source=str(scenario),
        )
    directory = out if out is not None else results_folder("sweep", loaded.name)
    with meter(loaded.name, kept_in=directory, kept="finished points", counts=True) as report:

        def on_done(done: int, total: int, failure: str | None) -> None:
            report.count(done, total)
            if failure is not None:
                output.stderr.print(f"failed: {failure}", soft_wrap=True)

        result = play(
            loaded,
            axes,
            directory,
            workers=where(workers, cluster),
            timeout_s=timeout,
            on=world,
            on_done=on_done,
        )
    if as_json:
        output.print_json(_document(result, directory))
    else:
        _show(result, list(axes), directory)
    if not result.is_complete:
        raise typer.Exit(2)


def _refuse_overridden(axes: Container[str], settings: Sequence[str] | None, seed: int | None) -> None:
    """Check that no axis overrides a value of the command line.

    Raises
    ------
    ConfigError : an axis has the same key as a value
    """
    given = [("--set", parse_setting(text)[0]) for text in settings or ()] + (
        [] if seed is None else [("--seed", "seed")]
    )
    for option, key in given:
        if key in axes:
            raise ConfigError(
                f"{option} has no effect on `{key}`, which is an axis of the sweep",
                hint=f"leave out {option} for {key}",
            )


def _document(result: Sweep, directory: Path) -> dict[str, Any]:
    rows = [
        {
            "settings": point.settings,
            "key": point.key,
            "summary": summary.document if (summary := result.summaries.get(point.key)) is not None else None,
            "failure": result.failures.get(point.key),
        }
        for point in result.points
    ]
    return {"directory": str(directory), "reused": result.reused, "points": rows}


def _show(result: Sweep, axes: list[str], directory: Path) -> None:
    table = Table(*axes, box=None, header_style="bold")
    for heading in ("Mbit/s", "max/min", "Jain", "RTT ms", "loss"):
        table.add_column(heading, justify="right")
    for point in result.points[:SHOWN_POINTS]:
        cells = [str(value) for value in point.settings.values()]
        summary = result.summaries.get(point.key)
        table.add_row(*cells, *(_cells(summary) if summary else (result.failures.get(point.key, "not run"),)))
    output.stdout.print(table)
    if len(result.points) > SHOWN_POINTS:
        output.stdout.print(f"... and {len(result.points) - SHOWN_POINTS} more points")
    output.stdout.print(
        f"{len(result.points)} points, {result.reused} of them reused; {directory}/flows.parquet", soft_wrap=True
    )


def _cells(summary: Summary) -> tuple[str, ...]:
    flows = summary.flows
    ratio, jain, rtt_ms = summary.max_min_ratio, summary.jain, mean_rtt_ms(summary)
    return (
        f"{plain(sum(flow.throughput_mbps for flow in flows), 4)}",
        f"{plain(ratio, 3)}" if ratio is not None else "infinite",
        f"{jain:.3f}" if jain is not None else "-",
        f"{rtt_ms:.2f}" if rtt_ms is not None else "-",
        f"{sum(flow.loss_rate for flow in flows) / len(flows):.3%}",
    )
