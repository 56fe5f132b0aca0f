"""``fairweir explain``: infer from a capture each flow's path parameters, and the factor that limited the flow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from fairweir.cli import output
from fairweir.cli.options import AsJson
from fairweir.errors import ConfigError
from fairweir.explain.findings import findings
from fairweir.explain.read import explain_file
from fairweir.explain.table import remarks, rows, small_flows, split_small
from fairweir.explain.verdict import verdict


def explain(
    capture: Annotated[
        Path, typer.Argument(metavar="CAPTURE", help="A pcap or pcapng file of TCP (headers suffice), or a qlog.")
    ],
    flow: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Report only flow N; flow 1 delivered the most bytes.")
    ] = None,
    as_json: AsJson = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Plot each flow over time as DIR/flow-N.png.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write an HTML page with tables, findings and figures.")
    ] = None,
) -> None:
    """Report what limited each flow of CAPTURE, and infer the path's bottleneck rate, queue and buffer.

    Flows that share a bottleneck are analyzed together. docs/explain.md describes the output.

    Exit 0: explained.
    Exit 2: the capture cannot be read, or does not have the flow.
    Exit 130: interrupted.
    """
    check_places(plot, report)
    with output.progress_bar(counts=False) as bar:
        task = bar.add_task("reading", total=None)
        document = explain_file(
            capture, on_progress=lambda frames: bar.update(task, description=f"{capture.name}: {frames} frames")
        )
    if flow is not None and flow > len(document["flows"]):
        raise ConfigError(
            f"no flow {flow}, the capture has {len(document['flows'])}", source=str(capture), key="--flow"
        )
    reported, small = split_small(document["flows"])
    if flow is not None:
        reported, small = [document["flows"][flow - 1]], []
    if as_json:
        output.print_json(document if flow is None else document | {"flows": reported})
    else:
        for facts in reported:
            show(facts, document)
        if small:
            output.stdout.print(small_flows(small), markup=False, soft_wrap=True)
        for remark in remarks(document):
            output.stderr.print(remark)
    if plot is not None:
        draw(reported, plot)
    if report is not None:
        from fairweir.explain.page import write_page

        output.stderr.print(f"report: {write_page(document, reported, capture, report)}", soft_wrap=True)


def check_places(plot: Path | None, report: Path | None) -> None:
    """Check that the output folders can be written before a long capture is read.

    Raises
    ------
    ConfigError : `plot` is a file, `report` is a directory, or the directory of `report` is missing
    """
    if plot is not None and plot.exists() and not plot.is_dir():
        raise ConfigError(
            f"not a directory: `{plot}`", hint="figures are written to a directory, one file per flow", key="--plot"
        )
    if report is not None and (report.is_dir() or not report.absolute().parent.is_dir()):
        reason = "is a directory" if report.is_dir() else f"no such directory: `{report.parent}`"
        raise ConfigError(f"report cannot be written: {reason}", hint="try `--report report.html`", key="--report")


def draw(flows: list[dict[str, Any]], directory: Path) -> None:
    """Draw each flow as a file in a directory, which is created."""
    from fairweir.explain.plots import save_flow_plot
    from fairweir.explain.view import flow_view

    directory.mkdir(parents=True, exist_ok=True)
    for facts in flows:
        output.stderr.print(f"figure: {save_flow_plot(flow_view(facts), directory)}", soft_wrap=True, markup=False)


def show(facts: dict[str, Any], document: dict[str, Any]) -> None:
    """Print what limited a flow, its table, and findings; text from the capture is never interpreted as markup."""
    output.stdout.print(
        f"flow {facts['flow']}: {facts['src']} to {facts['dst']}", markup=False, soft_wrap=True, style="bold"
    )
    output.stdout.print(f"  {verdict(facts, document)}.", markup=False, soft_wrap=True)
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 2))
    for name, text in rows(facts, document):
        table.add_row(name, Text(text))
    output.stdout.print(table)
    for finding in findings(facts, document):
        where = f" (Wireshark: {finding.where})" if finding.where else ""
        output.stdout.print(f"  {finding.text}{where}", markup=False, soft_wrap=True)
    output.stdout.print()
