"""``fairweir run``: one scenario."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from fairweir.cli import output
from fairweir.cli.options import AsJson, ScenarioFile, Seed, Settings, load
from fairweir.run import World
from fairweir.run import run as play

if TYPE_CHECKING:
    from fairweir.run import Run

#: Intervals of the time series, unless told: enough for a figure, few enough for a file.
DEFAULT_INTERVALS = 600


def run(
    scenario: ScenarioFile,
    world: Annotated[World, typer.Option("--on", help="Where to play it.")] = "sim",
    seed: Seed = None,
    settings: Settings = None,
    interval: Annotated[
        str | None, typer.Option(help="Of the time series, as 100ms; default a 600th of the run, if they are wanted.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Keep the record here: scenario.toml, summary.json, flows.parquet, links.parquet."),
    ] = None,
    plot: Annotated[
        list[Path] | None, typer.Option(help="Draw throughput, cwnd, RTT and queue over time; .png, .svg or .pdf.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Play one scenario and show what each flow got."""
    if plot:
        from fairweir.report.plots import check_plot_path

        for path in plot:
            check_plot_path(path)
    loaded = load(scenario, settings, seed)
    if interval is None and (out is not None or plot):
        interval = default_interval(loaded.resolve()["duration"])
    with output.progress_bar(counts=False) as bar:
        task = bar.add_task(loaded.name, total=1.0)
        record = play(
            loaded, interval=interval, on=world, on_progress=lambda fraction: bar.update(task, completed=fraction)
        )
    if out is not None:
        record.save(out)
        output.stderr.print(f"kept in {out}/", soft_wrap=True)
    for path in plot or ():
        from fairweir.report.plots import save_run_plot

        save_run_plot(record, path)
        output.stderr.print(f"drawn to {path}", soft_wrap=True)
    if as_json:
        output.print_json(record.summary)
    else:
        show(record)


def default_interval(duration_ns: int) -> str:
    """Give the interval, as text with a unit, that cuts a run into about :data:`DEFAULT_INTERVALS` pieces."""
    from fairweir import _core

    return _core.format_time(max(duration_ns // DEFAULT_INTERVALS // 1_000_000, 1) * 1_000_000)


def show(record: Run) -> None:
    """Print a run's tables of flows and links, and its fairness."""
    summary = record.summary
    flows = Table("flow", "cca", box=None, header_style="bold", title_justify="left")
    for heading in ("Mbit/s", "RTT ms", "p95", "qdelay ms", "loss", "retx"):
        flows.add_column(heading, justify="right")
    for flow in summary["flows"]:
        flows.add_row(flow["id"], flow["cca"], *_flow_cells(flow))
    links = Table("link", box=None, header_style="bold")
    for heading in ("utilization", "queue ms", "p95", "drops", "marks"):
        links.add_column(heading, justify="right")
    for link in summary["links"]:
        queue = link["queue_ms"]
        cells = f"{link['utilization']:.1%}", f"{queue['mean']:.2f}", f"{queue['p95']:.2f}"
        links.add_row(link["name"], *cells, str(link["drops"]), str(link["marks"]))
    output.stdout.print(flows)
    output.stdout.print()
    output.stdout.print(links)
    output.stdout.print()
    output.stdout.print(_closing(summary), soft_wrap=True)


def _flow_cells(flow: dict[str, Any]) -> tuple[str, ...]:
    rtt, qdelay = flow["rtt_ms"], flow["qdelay_ms"]
    return (
        f"{flow['throughput_mbps']:.3g}" if flow["throughput_mbps"] < 100 else f"{flow['throughput_mbps']:.1f}",
        f"{rtt['mean']:.2f}",
        f"{rtt['p95']:.2f}",
        f"{qdelay['mean']:.2f}",
        f"{flow['loss_rate']:.3%}",
        str(flow["retransmits"]),
    )


def _closing(summary: dict[str, Any]) -> str:
    jain, ratio = summary["fairness"]["jain"], summary["fairness"]["max_min_ratio"]
    speed = summary["packets"] / max(summary["wall_s"], 1e-9) / 1e6
    parts = [f"{summary['scenario']['name']}, seed {summary['seed']}"]
    if len(summary["flows"]) > 1:
        parts.append(f"Jain {jain:.3f}" if jain is not None else "nothing delivered")
        parts.append(f"max/min {ratio:.2f}" if ratio is not None else "max/min infinite: a flow got nothing")
    parts.append(f"{summary['packets']:,} packets in {summary['wall_s']:.2f} s ({speed:.1f} M/s)")
    return "; ".join(parts)
