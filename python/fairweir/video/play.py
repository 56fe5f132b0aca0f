"""Simulate one video session: a sender that sends video over the link of a scenario, with a seed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

from fairweir import _core
from fairweir.errors import ConfigError
from fairweir.video.scenario import VideoScenario
from fairweir.video.senders import Sender

#: Key of the simulator's configuration -> key of the scenario's file.
WRITTEN_KEYS: Final = {
    "duration_ns": "duration",
    "from_ns": "warmup",
    "network.queue": "link.aqm",
    "network.hop.queue": "link.aqm",
    "network.hop.link": "link",
    "network.hop": "link",
    "network.link": "link",
    "network.forward_ns": "delay",
    "network.back_ns": "delay",
    "network.forward": "jitter",
    "network.back": "jitter",
}


@dataclass(frozen=True)
class Session:
    """The result of a session.

    Attributes
    ----------
    scenario, sender, encoder : names of the scenario, the sender and the encoder table
    seed : int
    metrics : delay, SSIM and frame rate at the receiver (docs/video.md); None if no frame was displayed
    traffic : rate of arriving data, utilization of the link, loss, and fraction of repair packets
    frames, decisions : records of all frames and of all decisions of the sender; empty unless they were requested
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
        """Return the session as a JSON document, which has frames and decisions only if they were recorded."""
        return {key: value for key, value in vars(self).items() if value != []}


def play(scenario: VideoScenario, sender: Sender, *, seed: int | None = None, records: bool = False) -> Session:
    """Run a session whose frame sizes and qualities come from the scenario's encoder table.

    Raises
    ------
    ConfigError : the scenario, the sender's file or the table is invalid
    """
    config = scenario.config(sender, seed=seed, records=records)
    try:
        outcome = json.loads(_core.play_video(config, scenario.table().text))
    except ConfigError as error:
        place_error(error, scenario, sender)
        raise
    return Session(
        scenario=scenario.name,
        sender=str(sender),
        encoder=scenario.encoder,
        seed=scenario.seed if seed is None else seed,
        **{key: outcome[key] for key in ("metrics", "traffic", "frames", "decisions")},
    )


def place_error(error: ConfigError, scenario: VideoScenario, sender: Sender) -> None:
    """Change the file and the key in an error from those of the simulator's configuration to those that the user
    wrote.
    """
    key = error.key or ""
    if error.source is not None:
        return
    if key.startswith("sender.") and sender.is_file:
        error.source, error.key = sender.argument, key.split(".", 2)[-1]
    elif key.startswith("sender."):
        error.key = "--sender"
    elif key:
        for base, mine in WRITTEN_KEYS.items():
            if key == base or key.startswith(f"{base}."):
                key = mine + key.removeprefix(base)
                break
        error.source, error.key = scenario.source, key
