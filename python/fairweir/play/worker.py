"""Run a scenario in a pool's worker. This module imports nothing that a worker has not loaded already."""

from __future__ import annotations

from typing import Any

from fairweir.judging.summary import Summary
from fairweir.play.run import run
from fairweir.scenario.model import Scenario


def play(scenario: dict[str, Any]) -> Summary:
    """Return the summary of one run.

    Parameters
    ----------
    scenario : dict, as TOML has it, its seed included
    """
    return run(Scenario.from_dict(scenario)).summary
