"""``fairweir video run``: one video session."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from fairweir.cli import output
from fairweir.cli.options import AsJson, file_of
from fairweir.cli.values import read
from fairweir.units import Duration
from fairweir.video.play import Session, play
from fairweir.video.scenario import VideoScenario
from fairweir.video.senders import Sender

#: Number of decisions that ``--explain`` prints without ``--json``; the JSON and the page have all decisions.
SHOWN_DECISIONS = 40

VideoFile = Annotated[
    Path,
    typer.Argument(
        metavar="[SCENARIO]",
        parser=file_of("video"),
        help="A TOML file (docs/video.md), or a name (see `fairweir list video`).",
    ),
]
Trace = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Replace the link by a mahimahi trace with an unlimited buffer."),
]
EncoderName = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        metavar="NAME",
        help="Override the encoder table: a file, or a name (see `fairweir list encoders`).",
    ),
]
SenderName = Annotated[
    str, typer.Option("--sender", help="A name (see `fairweir list senders`), fixed:RATE, tree:FILE or search:QUERY.")
]
VideoSeed = Annotated[
    int | None, typer.Option("--seed", min=0, max=(1 << 63) - 1, help="Override the scenario's seed.")
]
Length = Annotated[str | None, typer.Option("--duration", help="Override the scenario's duration.")]


def run(
    scenario: VideoFile = Path("fixed"),
    *,
    sender: SenderName = "rules",
    trace: Trace = None,
    encoder: EncoderName = None,
    duration: Length = None,
    seed: VideoSeed = None,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Print each decision: belief, action and leaf; with --json, also all frames."),
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write an HTML page with the timeline of all frames and decisions."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Send video over one simulated link; print delay, SSIM and frame rate, measured at the receiver."""
    parsed = Sender.parse(sender)
    loaded = prepare(scenario, trace, encoder, duration)
    played = play(loaded, parsed, seed=seed, records=explain or report is not None)
    if report is not None:
        from fairweir.video.page import write_session

        write_session(played, loaded, report)
        output.stderr.print(f"written to {report}", soft_wrap=True)
    if as_json:
        output.print_json(played.to_dict() if explain else _without_records(played))
        return
    output.stdout.print(sessions_table([played]))
    if explain:
        output.stdout.print()
        output.stdout.print(_decisions(played))
        if len(played.decisions) > SHOWN_DECISIONS:
            rest = len(played.decisions) - SHOWN_DECISIONS
            output.stdout.print(f"{rest} more decisions; --json and --report FILE have all decisions", soft_wrap=True)


def prepare(scenario: Path | str, trace: Path | None, encoder: str | None, duration: str | None) -> VideoScenario:
    """Read a scenario and apply the command line's changes.

    Raises
    ------
    ConfigError : an invalid file or duration
    """
    loaded = VideoScenario.load(scenario)
    if trace is not None:
        loaded = loaded.over_trace(trace)
    length = None if duration is None else str(read(duration, "--duration", Duration.parse))
    return loaded.override(encoder=encoder, duration=length)


def _without_records(session: Session) -> dict[str, Any]:
    return {key: value for key, value in session.to_dict().items() if key not in ("frames", "decisions")}


def number(value: float | None, places: int = 1) -> str:
    """Format a number for a table; a dash stands for a missing value."""
    return "-" if value is None else f"{value:.{places}f}"


def sessions_table(sessions: list[Session]) -> Table:
    """Return a table with a row per session."""
    table = Table("link", "sender", box=None, header_style="bold")
    for heading in ("delay p50 ms", "p95", "SSIM p25 dB", "p50", "mean", "fps", "use", "loss", "repair"):
        table.add_column(heading, justify="right")
    for one in sessions:
        m, t = one.metrics, one.traffic
        table.add_row(
            one.scenario,
            one.sender,
            *(number(m[key], 0) for key in ("delay_p50_ms", "delay_p95_ms")),
            *(number(m[key]) for key in ("ssim_p25_db", "ssim_p50_db", "ssim_mean_db", "fps")),
            *(f"{100 * t[key]:.1f}%" for key in ("link_use", "loss", "repair")),
        )
    return table


def _decisions(session: Session) -> Table:
    table = Table(box=None, header_style="bold")
    for heading in ("ms", "min C", "max C", "Q", "R0", "pacer", "frames", "message", "repair", "encode B"):
        table.add_column(heading, justify="right")
    for heading in ("leaf", "belief from"):
        table.add_column(heading)
    for one in session.decisions[:SHOWN_DECISIONS]:
        table.add_row(
            number(one["at_ms"], 0),
            *(number(one[key]) for key in ("min_c", "max_c", "max_q", "safe_rate", "backlog")),
            " ".join(map(str, one["frames"])) or "-",
            str(one["message"]),
            str(one["repair"]),
            number(one["encode_bytes"], 0),
            one["leaf"],
            one["belief"],
        )
    return table
