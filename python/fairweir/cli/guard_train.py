"""``fairweir guard train``: the flow policy's forest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table

from fairweir.cli import output
from fairweir.cli.options import AsJson, ClusterAddress, Workers, where
from fairweir.cli.values import read
from fairweir.errors import ConfigError
from fairweir.guard.forest import Shape
from fairweir.play.run import TcpWorld
from fairweir.units import Duration

if TYPE_CHECKING:
    from fairweir.guard.training import Trained

#: Number of features in the printed table; the JSON has all features.
SHOWN_FEATURES = 10


def train(
    model: Annotated[
        Literal["reno-cubic", "vegas-cubic", "combined"],
        typer.Option(help="CCAs of incumbents and newcomers; combined: cubic against bbr and vegas."),
    ],
    *,
    out: Annotated[Path, typer.Option(help="Write the forest to this JSON file.")],
    runs: Annotated[int, typer.Option(min=10, help="Number of runs; 30 % are held out for testing.")] = 100,
    rows: Annotated[int, typer.Option(min=10, help="Examples per run.")] = 300,
    duration: Annotated[
        str,
        typer.Option(
            help="Duration of each run; the newcomer starts after 20 %, and the last 20 % is used for training."
        ),
    ] = "30s",
    unseen: Annotated[
        list[str] | None,
        typer.Option(metavar="CCA", help="Also test on this newcomer, which is not in the training set."),
    ] = None,
    rounds: Annotated[
        int,
        typer.Option(
            min=0, help="Number of further passes, in which the previous forest limits the flows of all runs."
        ),
    ] = 2,
    world: Annotated[TcpWorld, typer.Option("--on", help="World to run in; kernel requires --rounds 0.")] = "sim",
    leaky_features: Annotated[
        bool,
        typer.Option("--leaky-features", help="Also use the features age and byte counts, which reveal the newcomer."),
    ] = False,
    iterations: Annotated[int, typer.Option(min=1, help="Maximum number of trees per class.")] = Shape.iterations,
    leaves: Annotated[int, typer.Option(min=2, help="Maximum number of leaves per tree.")] = Shape.leaves,
    data: Annotated[Path | None, typer.Option(help="Store examples here; finished runs found here are reused.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed for all random choices.")] = 1,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    as_json: AsJson = False,
) -> None:
    """Train a classifier on runs; it decides whether a flow is below, near or above its fair share."""
    from threadpoolctl import threadpool_limits

    from fairweir.guard import forest
    from fairweir.guard.training import Plan
    from fairweir.guard.training import train as learn
    from fairweir.play.pool import default_workers

    if world == "kernel" and rounds:
        raise ConfigError("further passes are not available on the kernel", hint="add --rounds 0", key="--rounds")
    shape = Shape(iterations, leaves)
    plan = Plan(
        model,
        runs,
        rows,
        read(duration, "--duration", Duration.parse),
        tuple(unseen or ()),
        rounds,
        leaky_features,
        shape,
        seed,
        world,
    )
    # More threads than free cores would spend their time in busy waiting.
    threads = threadpool_limits(limits=workers or default_workers(), user_api="openmp")
    with threads, output.progress_bar(counts=True) as bar:
        task = bar.add_task("", total=None)
        trained = learn(
            plan,
            data,
            workers=where(workers, cluster),
            on_progress=lambda what, done, total: bar.update(task, description=what, completed=done, total=total),
        )
    forest.write(trained.forest, out)
    output.stderr.print(f"written to {out}", soft_wrap=True)
    if as_json:
        output.print_json(trained.to_dict())
    else:
        show(trained)


def show(trained: Trained) -> None:
    """Print the accuracy of a forest, and its most important features."""
    parts = Table("data", box=None, header_style="bold")
    parts.add_column("accuracy", justify="right")
    parts.add_column("examples", justify="right")
    total = trained.rows[1]
    for name, (accuracy, n) in [
        ("all, 209 features", (trained.of_all, total)),
        (f"all, {len(trained.importance)} features", (trained.of_selected, total)),
        ("all, most frequent class", (trained.of_guess, total)),
        *([] if trained.of_held is None else [("all, limited by the previous forest", (trained.of_held, total))]),
        *trained.by_part.items(),
    ]:
        parts.add_row(name, f"{accuracy:.1%}", f"{n:,}")
    output.stdout.print(parts)
    output.stdout.print()
    features = Table("feature", box=None, header_style="bold")
    features.add_column("loss of accuracy if permuted", justify="right")
    for name, cost in list(trained.importance.items())[:SHOWN_FEATURES]:
        features.add_row(name, f"{cost:.1%}")
    output.stdout.print(features)
    nodes = sum(len(tree["feature"]) for tree in trained.forest["trees"])
    output.stdout.print()
    output.stdout.print(
        f"{len(trained.forest['trees'])} trees, {nodes:,} nodes; {trained.rows[0]:,} examples", soft_wrap=True
    )
