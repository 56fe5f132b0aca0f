"""``fairweir video``: simulation of video at frame level."""

from __future__ import annotations

import typer

from fairweir.cli.video_evaluate import evaluate
from fairweir.cli.video_live import live
from fairweir.cli.video_run import run
from fairweir.cli.video_tables import tables

video_app = typer.Typer(no_args_is_help=True, help="Send video over simulated links, frame by frame.")


@video_app.callback()
def _video() -> None:
    """Send video over simulated links, frame by frame."""


video_app.command("run")(run)
video_app.command("evaluate")(evaluate)
video_app.command("live")(live)
video_app.command("tables")(tables)
