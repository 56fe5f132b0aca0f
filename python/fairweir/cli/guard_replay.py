"""``fairweir guard replay``: the decisions that policies would have made for a capture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from fairweir.cli import output
from fairweir.cli.options import AsJson, PolicyFile
from fairweir.units import Bytes


def replay_command(
    capture: Annotated[
        Path,
        typer.Argument(metavar="CAPTURE", help="A pcap or pcapng file, captured at the receiver in both directions."),
    ],
    config: PolicyFile,
    local: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS", help="The guarded host; default: the one that receives the most payload."),
    ] = None,
    flow: Annotated[
        str | None,
        typer.Option(metavar="FLOW", help="Only flows whose `REMOTE > LOCAL` contains FLOW, with their history."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show which flows of a capture a guard would have held, from when, and why. No packet is sent.

    The senders of a capture do not respond to the guard; a flow that a real guard limits may behave differently.
    """
    from fairweir.guard.replay import replay
    from fairweir.guard.treatments import Policy

    policy = Policy.read(config)
    with output.progress_bar(counts=False) as bar:
        task = bar.add_task("reading", total=None)
        document = replay(
            capture,
            policy,
            local or (),
            on_progress=lambda frames: bar.update(task, description=f"{capture.name}: {frames} frames"),
        )
    if flow is not None:
        document["flows"] = [one for one in document["flows"] if flow in _name(one)]
    if as_json:
        output.print_json(document)
        return
    _show(document, with_history=flow is not None)


def _name(flow: dict[str, Any]) -> str:
    return f"{flow['remote']} > {flow['local']}"


def _show(document: dict[str, Any], *, with_history: bool) -> None:
    table = Table(box=None, header_style="bold")
    table.add_column("flow", no_wrap=True)
    for heading in ("from, s", "Mbit/s", "lost", "rtt, ms", "held, s", "window, kB"):
        table.add_column(heading, justify="right")
    for flow in document["flows"]:
        table.add_row(
            _name(flow),
            f"{flow['first_s']:.1f}",
            f"{flow['mbps']:.2f}",
            str(flow["lost_pkts"]),
            "" if flow["rtt_ms"] is None else f"{flow['rtt_ms']:.1f}",
            f"{flow['held_s']:.1f}",
            "" if flow["min_window_bytes"] is None else f"{Bytes(flow['min_window_bytes']).kb:.1f}",
        )
    output.stdout.print(table)
    if with_history:
        for flow in document["flows"]:
            output.stdout.print(f"\n{_name(flow)}", soft_wrap=True)
            for change in flow["history"]:
                window = "the host's own window" if change["window_bytes"] is None else f"{change['window_bytes']:,} B"
                output.stdout.print(f"  {change['t_s']:8.1f} s  {window}: {change['why']}", soft_wrap=True)
    managed = ", ".join(document["managed"]) or "no host"
    output.stderr.print(f"{len(document['flows'])} flows to {managed}; --flow PART prints the reasons", soft_wrap=True)
