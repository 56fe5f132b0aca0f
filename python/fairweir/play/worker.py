"""Run a scenario in a pool's worker. This module imports only modules that a worker has already loaded."""

from __future__ import annotations

from typing import Any

from fairweir.judging.summary import Summary
from fairweir.play.run import VirtualWorld, run
from fairweir.scenario.model import Scenario


def play(scenario: dict[str, Any], world: VirtualWorld = "sim") -> Summary:
    """Return the summary of one run.

    Parameters
    ----------
    scenario : dict, a parsed TOML document, with the seed
    world : "sim" or "quic"
    """
    return run(Scenario.from_dict(scenario), on=world).summary
