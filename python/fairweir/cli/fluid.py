"""``fairweir fluid``: shares and stability of weighted AIMD flows, from differential equations."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table

from fairweir.cli import output
from fairweir.cli.options import AsJson, ClusterAddress, SimulationWorkers, where
from fairweir.cli.progress import meter, on_played
from fairweir.documents.results import results_folder
from fairweir.errors import ConfigError
from fairweir.fluid.model import weighted
from fairweir.fluid.packets import Link, PacketRuns, run_packets, scenario
from fairweir.fluid.report import Analysis, analyse, limits
from fairweir.play.batch import Archive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairweir.play.run import TcpWorld

CLAIM_FAILS = 1
#: Kernel runs have the kernel's own noise.
NO_NOISE = (0.0,)


def fluid(
    scheme: Annotated[str, typer.Argument(metavar="SCHEME", help="wcc_ai, wcc_md, multcp or ewtcp.")],
    *,
    weights: Annotated[str, typer.Option(metavar="W,...", help="One weight per flow.")] = "2,1",
    wbar: Annotated[
        str, typer.Option(metavar="N,...", help="Packets in flight when the buffer is full, C d + K (docs/fluid.md).")
    ] = "3.414,5,10,20,50,100",
    psi: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Buffer in BDP. Default: deep enough that the queue never empties; with --packets: 1.",
        ),
    ] = None,
    packets: Annotated[
        Literal["sim", "kernel", "both"] | None,
        typer.Option(
            help="Also simulate packets, or send packets on the kernel, over the same link, and compare the ratios."
        ),
    ] = None,
    noise: Annotated[
        str, typer.Option(metavar="X,...", help="Simulator: delay ACKs by up to X packet transmission times.")
    ] = "1,4",
    seeds: Annotated[int, typer.Option(min=1, help="Simulator runs per setting.")] = 5,
    runs: Annotated[int, typer.Option(min=1, help="Kernel runs per setting.")] = 1,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Plot ratios against wbar (png, svg or pdf).")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Store runs here; finished runs found here are reused. Default results/fluid/SCHEME."
        ),
    ] = None,
    workers: SimulationWorkers = None,
    cluster: ClusterAddress = None,
    as_json: AsJson = False,
) -> None:
    """Integrate the fluid model of weighted flows: fixed point or limit cycle, throughputs, response to perturbations.

    Exit 0: every perturbation decays.
    Exit 1: a perturbation does not decay.
    Exit 2: bad input.
    Exit 130: interrupted; with --packets the same command resumes.
    """
    from fairweir.show.plots import check_plot_path, save_figure

    if plot is not None:
        check_plot_path(plot)
    shares, wbars = tuple(_numbers("--weights", weights)), _numbers("--wbar", wbar)
    depth = psi if psi is not None else math.inf if packets is None else 1.0
    link = Link(scheme, shares, depth)
    noises: dict[TcpWorld, Sequence[float]] = {}
    if packets in ("sim", "both"):
        noises["sim"] = _numbers("--noise", noise)
    if packets in ("kernel", "both"):
        noises["kernel"] = NO_NOISE
    models = [weighted(scheme, shares, size, depth) for size in wbars]
    for size in wbars if noises else ():
        scenario(link, size, 0.0)
    directory = out or results_folder("fluid", scheme)
    with meter(scheme, kept_in=directory if noises else None) as report:
        split = 0.2 if noises else 1.0
        rows = []
        for i, model in enumerate(models):
            report(f"{scheme}, wbar {model.wbar:g}", split * i / len(models))
            rows.append(analyse(model))
        packet_runs = run_packets(
            link,
            wbars,
            noises,
            runs={"sim": seeds, "kernel": runs},
            archive=Archive(directory),
            workers=where(workers, cluster),
            on_done=on_played(report, start=split),
        )
    if plot is not None:
        from fairweir.fluid.draw import ratios_over_wbar

        save_figure(ratios_over_wbar(link, rows, packet_runs), plot)
    at_threshold, at_large = limits(scheme, shares)
    if as_json:
        output.print_json(
            {
                "scheme": scheme,
                "weights": list(shares),
                "psi": None if math.isinf(depth) else depth,
                "ratio_at_threshold": at_threshold,
                "ratio_at_large_wbar": at_large,
                "points": [{**row.model_dump(), "ratio": row.ratio(), "is_stable": row.is_stable} for row in rows],
                "packets": [row.model_dump() for row in packet_runs],
            }
        )
    else:
        output.stdout.print(_table(rows))
        output.stdout.print(
            f"limits of the ratio: {at_threshold:.4g} at wbar = {rows[0].threshold:.4g}, {at_large:.4g} as wbar grows"
        )
        if packet_runs:
            output.stdout.print()
            output.stdout.print(_packets_table(rows, packet_runs))
    if not all(row.is_stable for row in rows):
        raise typer.Exit(CLAIM_FAILS)


def _table(rows: list[Analysis]) -> Table:
    table = Table(
        "wbar, packets", "converges to", "throughput / C", "first / last flow", "multiplier", "rho(Z) as published",
        box=None, header_style="bold",
    )  # fmt: skip
    for row in rows:
        where = "fixed point" if row.period is None else f"cycle of {row.period:.2f} R*"
        if row.rises > 1:
            where += f", queue full {row.rises} times"
        table.add_row(
            f"{row.wbar:g}",
            where,
            " ".join(f"{share:.3f}" for share in row.shares),
            f"{row.ratio():.3f}",
            f"{row.multiplier:.3g} per {'R*' if row.period is None else 'period'}",
            "-" if row.published_radius is None else f"{row.published_radius:.3g}",
        )
    return table


def _packets_table(rows: list[Analysis], packet_runs: list[PacketRuns]) -> Table:
    settings = list(dict.fromkeys((row.world, row.noise) for row in packet_runs))
    names = [f"{world}, noise {noise:g}" if world == "sim" else world for world, noise in settings]
    table = Table("wbar, packets", "fluid", *names, "utilization", box=None, header_style="bold")
    table.title = "throughput divided by that of the last flow"
    found = {(row.wbar, row.world, row.noise): row for row in packet_runs}
    for row in rows:
        here = [found[row.wbar, *setting] for setting in settings]
        ours = " : ".join(f"{share / row.shares[-1]:.2f}" for share in row.shares)
        used = " ".join("-" if cell.utilization is None else f"{cell.utilization:.2f}" for cell in here)
        table.add_row(f"{row.wbar:g}", ours, *map(_cell, here), used)
    return table


def _cell(row: PacketRuns) -> str:
    if not row.ratios:
        return row.trouble or "no run finished"
    if len(row.ratios) == 2:
        first = row.ratios[0]
        return f"{first.value:.3g}" if first.lo == first.hi else f"{first.value:.3g} [{first.lo:.3g}, {first.hi:.3g}]"
    return " : ".join(f"{each.value:.2f}" for each in row.ratios)


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise ConfigError(
            f"{option} must be numbers: `{text}`", hint=f"separate them by commas: {option} 2,1"
        ) from None
