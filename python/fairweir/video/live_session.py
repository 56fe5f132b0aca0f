"""Compare a session with a live encoder and decoder with the same session from the encoder's table."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, Final

from fairweir.errors import ConfigError
from fairweir.video import live
from fairweir.video.content import KINDS
from fairweir.video.play import place_error, play
from fairweir.video.scenario import VideoScenario
from fairweir.video.senders import Sender

#: The codec of live runs (:mod:`fairweir.video.functional`).
CODEC: Final = "x264"
#: Maximum difference between a live metric and the table's metric for agreement, as a fraction of the latter.
TOLERANCE: Final = 0.1
#: Metrics that are compared.
COMPARED: Final = ("fps", "delay_p50_ms", "delay_p95_ms", "ssim_p25_db", "ssim_p50_db", "ssim_mean_db")


@dataclass(frozen=True)
class Row:
    """A metric of a live session and of the session from the table; None if no frame was displayed.

    Attributes
    ----------
    metric : a key of :data:`COMPARED`
    live : the metric of the pictures that the receiver's decoder outputs
    table : the metric of the session with sizes and SSIM from the table
    """

    metric: str
    live: float | None
    table: float | None

    @property
    def difference(self) -> float | None:
        """The live value divided by the table's, minus 1; None if one is missing or the table's value is 0."""
        return None if self.live is None or not self.table else self.live / self.table - 1

    @property
    def agrees(self) -> bool:
        """Whether the values differ by at most :data:`TOLERANCE`, or both are missing."""
        return self.live == self.table if self.difference is None else abs(self.difference) <= TOLERANCE

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON has it."""
        return {**vars(self), "difference": self.difference, "agrees": self.agrees}


@dataclass(frozen=True)
class LiveSession:
    """A live session compared with the session from the table.

    Attributes
    ----------
    scenario, sender, encoder : names; the encoder's table names the content
    seed : seed of the scenario
    duration_s : s; time in which frames were captured
    rows : one row per metric of :data:`COMPARED`
    groups_recovered : number of groups of frames that were complete only because of repair packets
    """

    scenario: str
    sender: str
    encoder: str
    seed: int
    duration_s: float
    rows: tuple[Row, ...]
    groups_recovered: int

    @property
    def agrees(self) -> bool:
        """Whether all metrics agree."""
        return all(row.agrees for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the session as JSON has it."""
        rows = {row.metric: row.to_dict() for row in self.rows}
        for row in rows.values():
            del row["metric"]
        return {**vars(self), "rows": rows, "tolerance": TOLERANCE, "agrees": self.agrees}


def compare(
    scenario: VideoScenario,
    sender: Sender,
    *,
    seed: int | None = None,
    on_frame: live.OnFrame = live.silent,
) -> LiveSession:
    """Run a session with a live encoder and decoder, and again from the scenario's table.

    Parameters
    ----------
    seed : seed of jitter, loss and the table's deviations from target sizes; default the scenario's seed
    on_frame : called after each frame with the stage ("encode" or "decode"), frames done and all frames

    Raises
    ------
    ConfigError : a live run does not support the scenario, the sender or the table
    MissingExtraError : the extra ``video`` is not installed
    """
    table = scenario.table()
    if table.codec != CODEC or table.content not in KINDS:
        hint = f"choose one of {', '.join(f'{kind}-{CODEC}' for kind in KINDS)} with --encoder"
        raise ConfigError(f"no live encoder for the table `{scenario.encoder}`", key="--encoder", hint=hint)
    if sender.name == "salsify":
        hint = "salsify codes each frame at two quantizers: video run plays it from a table"
        raise ConfigError("no live encoder for the sender `salsify`", key="--sender", hint=hint)
    config = json.loads(scenario.config(sender, seed=seed))
    try:
        run = live.play(config, table.content, table.seed, on_frame=on_frame)
    except ConfigError as error:
        place_error(error, scenario, sender)
        raise
    tabled = play(scenario, sender, seed=seed)
    return LiveSession(
        scenario=scenario.name,
        sender=str(sender),
        encoder=scenario.encoder,
        seed=tabled.seed,
        duration_s=run.duration.s,
        rows=tuple(Row(name, _finite(run.shown[name]), tabled.metrics[name]) for name in COMPARED),
        groups_recovered=run.recovered,
    )


def _finite(value: float) -> float | None:
    """Return a metric; None for NaN, which is the quantile of an empty set of frames."""
    return None if math.isnan(value) else value
