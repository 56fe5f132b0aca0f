"""Compare a video session that uses a real encoder and decoder with a simulation that uses the encoder's table.

A session is one run of a sender over a link. A table has the sizes and qualities (SSIM) of an encoder's frames.
"""

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

#: The only codec that live runs support (:mod:`fairweir.video.functional`).
CODEC: Final = "x264"
#: Maximum difference between the metrics of both sessions that counts as agreement, as a fraction of the simulation's
#: metric.
TOLERANCE: Final = 0.1
#: Metrics that are compared.
COMPARED: Final = ("fps", "delay_p50_ms", "delay_p95_ms", "ssim_p25_db", "ssim_p50_db", "ssim_mean_db")


@dataclass(frozen=True)
class Row:
    """One metric of both sessions; a value is None if no frame was displayed.

    Attributes
    ----------
    metric : a key of :data:`COMPARED`
    live : the value for the pictures that the receiver's decoder outputs
    table : the value in the simulation with sizes and SSIM from the table
    """

    metric: str
    live: float | None
    table: float | None

    @property
    def difference(self) -> float | None:
        """The live value divided by the simulated value, minus 1; None if a value is missing or the simulated value is
        0.
        """
        return None if self.live is None or not self.table else self.live / self.table - 1

    @property
    def agrees(self) -> bool:
        """Whether the values differ by at most :data:`TOLERANCE`, or both are missing."""
        return self.live == self.table if self.difference is None else abs(self.difference) <= TOLERANCE

    def to_dict(self) -> dict[str, Any]:
        """Return the row as a JSON document."""
        return {**vars(self), "difference": self.difference, "agrees": self.agrees}


@dataclass(frozen=True)
class LiveSession:
    """A live session, compared with the simulation.

    Attributes
    ----------
    scenario, sender, encoder : names of the scenario, the sender and the encoder table, whose name contains the content
    seed : seed of the scenario
    duration_s : s; time during which frames were captured
    rows : one row per metric of :data:`COMPARED`
    groups_recovered : number of groups (frames sent together) that the receiver could restore only because of repair
        packets
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
        """Return the session as a JSON document."""
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
    """Run a session with a live encoder and decoder, run it again with the scenario's table, and compare the metrics.

    Parameters
    ----------
    seed : seed of jitter, of loss, and of the random deviations from target sizes in the simulation; None: the
        scenario's seed
    on_frame : function that is called after each frame with the stage ("encode" or "decode"), the number of finished
        frames and the number of all frames

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
    """Return a metric, or None for NaN, which is the quantile of an empty set of frames."""
    return None if math.isnan(value) else value
