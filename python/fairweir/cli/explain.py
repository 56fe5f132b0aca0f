"""``fairweir explain``: what a capture lets one believe of each flow's path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from fairweir import _core
from fairweir.cli import output
from fairweir.cli.options import AsJson
from fairweir.errors import ConfigError

#: Where a capture was taken, by the word of `fairweir_beliefs::View`.
PLACES = {
    "sender": "at the sender",
    "receiver": "at the receiver: data and ACKs have nearly none of the path between them",
    "between": "between the ends: of the path only what lies beyond the capture",
    "unknown": "unknown, no handshake was captured; read what follows as if at the sender",
}


def explain(
    capture: Annotated[Path, typer.Argument(metavar="CAPTURE", help="A pcap or pcapng file of TCP, headers will do.")],
    flow: Annotated[int | None, typer.Option(metavar="N", min=1, help="Only this flow; they count from 1.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the paths that could have made each flow of CAPTURE: rate C, rtprop, jitter D, buffer.

    Ranges hold under the named model, if the jitter is at most twice the least that explains the flow; docs/explain.md.
    Exit 0: explained; 2: the capture cannot be read or has no such flow; 130: interrupted.
    """
    with output.progress_bar(counts=False) as bar:
        task = bar.add_task("reading", total=None)
        document = explain_file(
            capture, on_progress=lambda frames: bar.update(task, description=f"{capture.name}: {frames} frames")
        )
    numbered = [{"flow": number, **facts} for number, facts in enumerate(document["flows"], start=1)]
    if not numbered:
        raise ConfigError(
            f"no flow with data and ACKs in {document['capture']['frames']} frames",
            hint="capture both directions of a TCP transfer, at the data's sender: `tcpdump -s 128 -w FILE tcp`",
            source=str(capture),
        )
    if flow is not None and flow > len(numbered):
        raise ConfigError(f"no flow {flow}, the capture has {len(numbered)}", source=str(capture), key="--flow")
    document["flows"] = numbered if flow is None else [numbered[flow - 1]]
    if as_json:
        output.print_json(document)
        return
    for facts in document["flows"]:
        show(facts)
    remark(document)


def explain_file(path: Path, on_progress: Any = None) -> dict[str, Any]:
    """Read a capture and explain its flows.

    Parameters
    ----------
    path : Path of a pcap or pcapng file
    on_progress : callable, told the number of frames read; what it raises ends the reading

    Returns
    -------
    dict, `capture` (counts), `flows` (each with `cbr_delay` and `ccac`; ns, bytes, bytes/s), `flows_without_acks`

    Raises
    ------
    ConfigError : the file is missing, empty, damaged, or no capture
    """
    try:
        path.stat()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(f"capture cannot be read: {reason}", source=str(path)) from None
    document: dict[str, Any] = json.loads(_core.explain(str(path), on_progress))
    return document


def show(facts: dict[str, Any]) -> None:
    """Print a flow's table."""
    table = Table(f"flow {facts['flow']}", f"{facts['src']} to {facts['dst']}", box=None, header_style="bold")
    table.add_row("captured", PLACES[facts["view"]])
    table.add_row("packets", f"{facts['packets']}, from frame {facts['first_frame']}")
    table.add_row("losses", f"{facts['lost_packets']} ({facts['lost_packets'] / facts['packets']:.2%})")
    table.add_row("delivered", f"{facts['delivered_bytes']} bytes")
    belief, bounds = facts["cbr_delay"], facts["ccac"]
    if belief is None:
        table.add_row("path", "no rate explains this flow")
    else:
        simplest, assumed_ms = belief["simplest"], belief["jitter_assumed_ns"] * 1e-6
        least_ms = (simplest["delay_most_ns"] - simplest["rtprop_most_ns"]) * 1e-6
        table.add_row("rtprop", f"{between(belief['rtprop_ns'], 1e-6)} ms")
        table.add_row("C, CBR-delay", f"{between(belief['rate_bytes_per_s'], 8e-6)} Mbit/s")
        if bounds is not None:
            ends = {"lo": bounds["least_bytes_per_s"], "hi": bounds["most_bytes_per_s"]}
            table.add_row("C, CCAC", f"{between(ends, 8e-6)} Mbit/s")
        table.add_row("jitter D", f"at least {least_ms:.5g} ms; assumed: at most {assumed_ms:.5g} ms")
        table.add_row("buffer", f"{between(belief['buffer_bytes'], 1e-3)} kB")
    output.stdout.print(table)
    output.stdout.print()


def between(ends: dict[str, float | None], scale: float) -> str:
    """Give a range in words; without an upper end there is no bound."""
    lo, hi = ends["lo"] or 0.0, ends["hi"]
    return f"at least {lo * scale:.5g}" if hi is None else f"{lo * scale:.5g} to {hi * scale:.5g}"


def remark(document: dict[str, Any]) -> None:
    """Say on stderr what of the capture was left out."""
    counts = document["capture"]
    if counts["is_truncated"]:
        output.stderr.print("the capture ends within a packet: explained is what comes before")
    if document["flows_without_acks"]:
        output.stderr.print(f"left out, no ACK captured: {document['flows_without_acks']} flows")
    others = counts["frames"] - counts["segments"]
    if others:
        output.stderr.print(f"left out, not whole TCP packets: {others} of {counts['frames']} frames")
    if counts["backward"]:
        output.stderr.print(f"the clock went back {counts['backward']} times: ranges may be wrong")
