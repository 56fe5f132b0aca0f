"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from fairweir.overrides import parse_setting
from fairweir.scenario import Scenario

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="A scenario file (TOML); docs/scenarios.md.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout, nothing else.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Replaces the scenario's seed.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Replaces a value: --set flow.0.cca=bbr; * means every entry."),
]


def load(path: Path, settings: Sequence[str] | None, seed: int | None = None) -> Scenario:
    """Read a scenario and change what the command line says."""
    scenario = Scenario.load(path)
    changes: dict[str, Any] = dict(map(parse_setting, settings or ()))
    if seed is not None:
        changes["seed"] = seed
    return scenario.override(changes) if changes else scenario


def shipped(folder: str) -> Path:
    """Give ``scenarios/FOLDER``: that of the working directory, else that of the clone this package is part of."""
    here = Path("scenarios") / folder
    return here if here.is_dir() else Path(__file__).parents[3] / "scenarios" / folder
