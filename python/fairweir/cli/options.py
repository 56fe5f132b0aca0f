"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairweir.cli import output
from fairweir.cli.modes import opened
from fairweir.documents import shipped
from fairweir.scenario.model import Scenario
from fairweir.scenario.overrides import parse_setting

if TYPE_CHECKING:
    from fairweir.play.cluster import Cluster


def file_of(*kinds: str) -> Callable[[str], Path]:
    """Return a parser for a command-line word that is a path or the name of a shipped file.

    Parameters
    ----------
    kinds : keys of :data:`fairweir.documents.shipped.KINDS`; a name is looked up in each kind, in this order
    """

    def parse(word: str | Path) -> Path:
        kind = next((one for one in kinds if str(word) in shipped.by_name(one)), kinds[0])
        found = shipped.find(kind, word)
        if (other := shipped.hidden(kind, word)) is not None:
            noun = shipped.KINDS[kind].noun
            words = f"`{word}` refers to the file ./{word}; the shipped {noun} of that name is {other}"
            output.stderr.print(words, markup=False, soft_wrap=True)
        return found

    return parse


ScenarioFile = Annotated[
    Path,
    typer.Argument(
        metavar="SCENARIO",
        parser=file_of("scenarios"),
        help="A TOML file (docs/scenarios.md), or a name (see `fairweir list scenarios`).",
    ),
]
PolicyFile = Annotated[
    Path,
    typer.Option(
        "--config",
        metavar="FILE",
        parser=file_of("policies"),
        help="The guard's policies: a TOML file, or a name (see `fairweir list policies`).",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print a single JSON document on stdout.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Override the scenario's seed.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override a value: flow.0.cca=bbr sets the first flow's, flow.*.cca=bbr every flow's. Repeatable.",
    ),
]

Workers = Annotated[int | None, typer.Option("--workers", min=1, help="Processes; default one per core.")]
SimulationWorkers = Annotated[
    int | None, typer.Option("--workers", min=1, help="Simulation processes; default one per core.")
]
ClusterAddress = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Run on the workers of this Dask scheduler, such as tcp://HOST:8786 (docs/cluster.md).",
    ),
]


def where(workers: int | None, cluster: str | None) -> int | Cluster | None:
    """Return where a command's jobs run. The connection to a cluster is closed when the command ends.

    Raises
    ------
    MissingExtraError : Dask is not installed
    """
    if cluster is None:
        return workers
    from fairweir.play.cluster import Cluster

    return opened.enter_context(Cluster(cluster))


def load(path: Path, settings: Sequence[str] | None, seed: int | None = None) -> Scenario:
    """Read a scenario and apply the command line's changes."""
    scenario = Scenario.load(path)
    changes: dict[str, Any] = dict(map(parse_setting, settings or ()))
    if seed is not None:
        changes["seed"] = seed
    return scenario.override(changes) if changes else scenario
