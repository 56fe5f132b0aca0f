"""``fairweir video live``: a session with a real encoder and decoder, compared with its simulation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from fairweir.cli import output
from fairweir.cli.options import AsJson
from fairweir.cli.progress import meter
from fairweir.cli.video_run import EncoderName, SenderName, Trace, VideoFile, VideoSeed, number, prepare
from fairweir.video.senders import Sender

if TYPE_CHECKING:
    from fairweir.video.live_session import LiveSession

DIFFERS = 1


def live(
    scenario: VideoFile = Path("fixed"),
    *,
    sender: SenderName = "rules",
    trace: Trace = None,
    encoder: EncoderName = None,
    duration: Annotated[str, typer.Option("--duration", help="Duration of the session, 3s to 30s.")] = "10s",
    seed: VideoSeed = None,
    as_json: AsJson = False,
) -> None:
    """Send video with a real encoder (x264) and decoder, and compare the session with a simulation.

    The simulation uses this encoder's table; the video is the content from which the table was made. Needs the extra
    `video` (PyAV).

    Exit 0: no metric differs by more than 10 %.
    Exit 1: a metric differs by more than 10 %.
    Exit 2: bad input, or the session could not run.
    """
    from fairweir.video.live_session import compare

    parsed = Sender.parse(sender)
    loaded = prepare(scenario, trace, encoder, duration)
    with meter("live video", counts=True) as report:

        def on_frame(stage: str, done: int, total: int) -> None:
            report(f"live video: {stage}")
            report.count(done, total)

        found = compare(loaded, parsed, seed=seed, on_frame=on_frame)
    if as_json:
        output.print_json(found.to_dict())
    else:
        _show(found)
    if not found.agrees:
        raise typer.Exit(DIFFERS)


def _show(found: LiveSession) -> None:
    table = Table("metric", box=None, header_style="bold")
    for heading in ("live", "table", "difference", ""):
        table.add_column(heading, justify="right")
    for row in found.rows:
        difference = "-" if row.difference is None else f"{100 * row.difference:+.1f}%"
        verdict = Text("agrees", "green") if row.agrees else Text("differs", "bold red")
        table.add_row(row.metric, number(row.live, 2), number(row.table, 2), difference, verdict)
    output.stdout.print(
        f"{found.scenario}, {found.sender}, {found.encoder}, {found.duration_s:g} s, seed {found.seed}; "
        f"groups completed by repair packets: {found.groups_recovered}",
        soft_wrap=True,
        markup=False,
    )
    output.stdout.print(table)
