"""One session of video: a scenario, a sender, a seed; and its numbers."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from fairweir import _core
from fairweir.errors import ConfigError
from fairweir.video.scenario import VideoScenario
from fairweir.video.senders import Sender


@dataclass(frozen=True)
class Session:
    """What came of a session.

    Attributes
    ----------
    scenario, sender, encoder : names
    seed : int
    metrics : delay, SSIM and frame rate at the receiver (docs/video.md); None where no frame was shown
    traffic : rate of arrivals, use of the link, loss, repair
    frames, decisions : every frame and every decision, if they were recorded
    """

    scenario: str
    sender: str
    encoder: str
    seed: int
    metrics: dict[str, Any]
    traffic: dict[str, Any]
    frames: list[dict[str, Any]] = field(default_factory=list)
    decisions: list[dict[str, Any]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return the session as JSON has it; frames and decisions only where they were recorded."""
        return {key: value for key, value in vars(self).items() if value != []}


def play(scenario: VideoScenario, sender: Sender, *, seed: int | None = None, records: bool = False) -> Session:
    """Play a session with frames from the scenario's table.

    Raises
    ------
    ConfigError : the scenario, the sender's file or the table cannot be used
    """
    config = scenario.config(sender, seed=seed, records=records)
    try:
        outcome = json.loads(_core.play_video(config, scenario.table().text))
    except ConfigError as error:
        if sender.argument and error.source is None and (error.key or "").startswith("sender."):
            error.source, error.key = sender.argument, (error.key or "").split(".", 2)[-1]
        raise
    return Session(
        scenario=scenario.name,
        sender=str(sender),
        encoder=scenario.encoder,
        seed=scenario.seed if seed is None else seed,
        **{key: outcome[key] for key in ("metrics", "traffic", "frames", "decisions")},
    )
