"""``fairweir explain``: what a capture lets one believe of each flow's path, and what limited the flow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from fairweir.cli import output
from fairweir.cli.options import AsJson
from fairweir.errors import ConfigError
from fairweir.explain.findings import findings
from fairweir.explain.read import explain_file
from fairweir.explain.table import remarks, rows


def explain(
    capture: Annotated[Path, typer.Argument(metavar="CAPTURE", help="A pcap or pcapng file of TCP, headers will do.")],
    flow: Annotated[int | None, typer.Option(metavar="N", min=1, help="Only this flow; they count from 1.")] = None,
    as_json: AsJson = False,
    plot: Annotated[Path | None, typer.Option(metavar="DIR", help="Draw each flow over time: DIR/flow-N.png.")] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write an HTML page with tables, findings and figures.")
    ] = None,
) -> None:
    """Show the paths that could have made each flow of CAPTURE: rate C, rtprop, jitter D, buffer; what limited it when.

    Ranges hold under the named model, if the jitter is at most what is assumed; docs/explain.md.
    Exit 0: explained; 2: the capture cannot be read or has no such flow; 130: interrupted.
    """
    check_places(plot, report)
    with output.progress_bar(counts=False) as bar:
        task = bar.add_task("reading", total=None)
        document = explain_file(
            capture, on_progress=lambda frames: bar.update(task, description=f"{capture.name}: {frames} frames")
        )
    if flow is not None:
        if flow > len(document["flows"]):
            raise ConfigError(
                f"no flow {flow}, the capture has {len(document['flows'])}", source=str(capture), key="--flow"
            )
        document["flows"] = [document["flows"][flow - 1]]
    if as_json:
        output.print_json(document)
    else:
        for facts in document["flows"]:
            show(facts)
        for remark in remarks(document):
            output.stderr.print(remark)
    if plot is not None:
        draw(document, plot)
    if report is not None:
        from fairweir.explain.page import write_page

        output.stderr.print(f"report: {write_page(document, capture, report)}", soft_wrap=True)


def check_places(plot: Path | None, report: Path | None) -> None:
    """Find out that there is no place for figures or report before a long capture is read.

    Raises
    ------
    ConfigError : `plot` is a file, or the directory for `report` is missing
    """
    if plot is not None and plot.exists() and not plot.is_dir():
        raise ConfigError(f"not a directory: `{plot}`", hint="figures go into one, a file a flow", key="--plot")
    if report is not None and (report.is_dir() or not report.absolute().parent.is_dir()):
        reason = "is a directory" if report.is_dir() else f"no such directory: `{report.parent}`"
        raise ConfigError(f"report cannot be written: {reason}", hint="try `--report report.html`", key="--report")


def draw(document: dict[str, Any], directory: Path) -> None:
    """Draw each flow into a directory, which is made."""
    from fairweir.explain.plots import save_flow_plot
    from fairweir.explain.view import flow_view

    directory.mkdir(parents=True, exist_ok=True)
    for facts in document["flows"]:
        output.stderr.print(f"figure: {save_flow_plot(flow_view(facts), directory)}", soft_wrap=True)


def show(facts: dict[str, Any]) -> None:
    """Print a flow's table and what is worth saying of it."""
    table = Table(f"flow {facts['flow']}", f"{facts['src']} to {facts['dst']}", box=None, header_style="bold")
    for row in rows(facts):
        table.add_row(*row)
    output.stdout.print(table)
    for finding in findings(facts):
        where = f" (Wireshark: {finding.where})" if finding.where else ""
        output.stdout.print(f"  {finding.text}{where}", soft_wrap=True)
    output.stdout.print()
