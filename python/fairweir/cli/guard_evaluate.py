"""``fairweir guard evaluate``: the challenges of the RateMon report over random configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from fairweir.cli import output
from fairweir.cli.options import AsJson, ClusterAddress, Workers, file_of, where
from fairweir.cli.values import read
from fairweir.documents.results import results_folder
from fairweir.documents.suggestions import did_you_mean
from fairweir.errors import ConfigError
from fairweir.guard.challenges import CHALLENGES, USUAL, Case, draw
from fairweir.guard.configurations import Network
from fairweir.guard.evaluate import Kept, Play, Results, evaluate
from fairweir.guard.outcome import ChallengeResult, Measures, TreatmentResult, sum_up
from fairweir.guard.treatments import WITHOUT, Policy, treatments
from fairweir.play.pool import Where
from fairweir.play.run import TcpWorld
from fairweir.units import Duration


def evaluate_command(
    challenges: Annotated[
        list[str] | None, typer.Argument(metavar="[CHALLENGE]...", help=f"Default {', '.join(USUAL)}.")
    ] = None,
    configurations: Annotated[
        int, typer.Option("-n", "--configurations", min=1, help="Number of random configurations (docs/guard.md).")
    ] = 100,
    policy: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            parser=file_of("policies"),
            help="Also run this file of policies, or a name (see `fairweir list policies`). Networks on which its "
            "forest was trained are skipped. Repeatable.",
        ),
    ] = None,
    world: Annotated[
        TcpWorld, typer.Option("--on", help="World to run in: the simulator, or Linux TCP in real time.")
    ] = "sim",
    duration: Annotated[str, typer.Option(help="Duration of each run; the newcomer starts after 20 %.")] = "100s",
    seed: Annotated[int, typer.Option(min=0, help="Seed for drawing configurations.")] = 1,
    out: Annotated[
        Path, typer.Option(help="Store results here; finished runs found here are reused.")
    ] = results_folder("guard evaluate"),
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Plot distributions (png, svg or pdf).")] = None,
    list_only: Annotated[bool, typer.Option("--list", help="List the challenges without running them.")] = False,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    as_json: AsJson = False,
) -> None:
    """Run the challenges of the RateMon report (CMU-CS-24-129) with and without receiver-side policies.

    The results are compared with the report's claims.

    Exit 0: every claim holds.
    Exit 1: a claim fails.
    Exit 2: bad input, or a run failed.
    Exit 130: interrupted; the same command resumes.
    """
    if list_only:
        _list(as_json=as_json)
        return
    if plot is not None:
        from fairweir.show.plots import check_plot_path

        check_plot_path(plot)
    names = _known(challenges or list(USUAL))
    policies = [Policy.read(path) for path in policy or []]
    avoid = _learnt(policies)
    length = read(duration, "--duration", Duration.parse)
    plays = {
        name: {
            case: [Play(case, treatment, world) for treatment in treatments(name, policies, world)]
            for case in draw(name, configurations, seed, duration=length, avoid=avoid)
        }
        for name in names
    }
    kept = Kept(out)
    results = _play(plays, kept, where(workers, cluster))
    outcomes = [found for name in names if (found := sum_up(name, plays[name], results.shares)) is not None]
    if plot is not None and outcomes:
        from fairweir.guard.picture import save_distributions

        save_distributions(outcomes, plot, [] if world == "kernel" else _kept_on_kernel(plays, kept))
        output.stderr.print(f"plot written to {plot}", soft_wrap=True)
    if as_json:
        output.print_json(
            {
                "world": world,
                "seed": seed,
                "duration_s": length.s,
                "challenges": [outcome.to_dict() for outcome in outcomes],
                "not_judged": len(results.late),
                "failures": results.failures,
            }
        )
    else:
        _show(outcomes)
    if results.late:
        output.stderr.print(f"NOT JUDGED: {len(results.late)} runs: packets were released too late", soft_wrap=True)
    if results.failures or len(outcomes) < len(names):
        raise typer.Exit(2)
    if not all(outcome.holds for outcome in outcomes):
        raise typer.Exit(1)


def _kept_on_kernel(plays: Mapping[str, Mapping[Case, Sequence[Play]]], kept: Kept) -> list[ChallengeResult]:
    """Summarize stored kernel runs of the same configurations, for the treatments that the kernel supports."""
    outcomes = []
    for name, cases in plays.items():
        real = {
            case: [replace(one, world="kernel") for one in several if one.treatment.is_real]
            for case, several in cases.items()
        }
        every = [one for several in real.values() for one in several]
        shares = {one: found for one in every if (found := kept.get(one)) is not None}
        outcome = sum_up(name, real, shares)
        outcomes += [] if outcome is None else [outcome]
    return outcomes


def _play(plays: Mapping[str, Mapping[Case, Sequence[Play]]], kept: Kept, workers: Where) -> Results:
    every = [one for cases in plays.values() for several in cases.values() for one in several]
    with output.progress_bar(counts=True) as bar:
        task = bar.add_task("guard", total=len(every))
        done = 0

        def on_done(failure: str) -> None:
            nonlocal done
            done += 1
            bar.update(task, completed=done)
            if failure:
                output.stderr.print(failure, soft_wrap=True)

        try:
            return evaluate(
                every,
                kept,
                workers=workers,
                on_done=on_done,
                on_progress=lambda fraction: bar.update(task, completed=done + fraction),
            )
        except KeyboardInterrupt:
            output.stderr.print(
                f"finished runs are stored in {kept.directory}/; run the same command to resume", soft_wrap=True
            )
            raise


def _known(names: list[str]) -> list[str]:
    for name in names:
        if name not in CHALLENGES:
            raise ConfigError(f"unknown challenge `{name}`", hint=did_you_mean(name, CHALLENGES))
    return list(dict.fromkeys(names))


def _learnt(policies: list[Policy]) -> frozenset[Network]:
    """Return the networks on which any of the policies was trained."""
    avoid: frozenset[Network] = frozenset()
    for policy in policies:
        learnt = policy.trained_on()
        if learnt is None:
            output.stderr.print(
                f"{policy.forest} has no list of training networks, so no network is skipped", soft_wrap=True
            )
        avoid |= learnt or frozenset()
    return avoid


def _list(*, as_json: bool) -> None:
    rows = [
        {
            "challenge": one.name,
            "incumbents": f"{'1' if one.several == 'newcomers' else f'{one.min_flows}-10'} {one.incumbent}",
            "newcomers": f"{'1-10' if one.several == 'newcomers' else '1'} {one.newcomer}",
            "application-limited": one.limited,
            "published": one.published["all"].source,
        }
        for one in CHALLENGES.values()
    ]
    if as_json:
        output.print_json(rows)
        return
    table = Table(*rows[0], box=None, header_style="bold")
    for row in rows:
        table.add_row(*row.values())
    output.stdout.print(table)


def _show(outcomes: list[ChallengeResult]) -> None:
    for number, one in enumerate(outcomes):
        title = f"{one.challenge}, {one.without.configurations} configurations"
        if one.incomplete:
            title += f" ({one.incomplete} incomplete)"
        table = Table("", box=None, header_style="bold")
        for heading in ("JFI", "10 %", "utilization", "10 %", "incumbents", "newcomers"):
            table.add_column(heading, justify="right")
        table.add_row(WITHOUT, *_cells(one.without))
        for verdict in one.verdicts:
            table.add_row(verdict.treatment, *_cells(verdict.measures))
        table.add_row("fair", "", "", "", "", f"{one.fair_incumbents:.3f}", f"{one.fair_newcomers:.3f}")
        if number:
            output.stdout.print()
        output.stdout.print(title, style="bold", highlight=False)
        output.stdout.print(table)
        for verdict in one.verdicts:
            output.stdout.print(f" {_sentence(verdict)}", soft_wrap=True)


def _cells(one: Measures) -> list[str]:
    values = (one.median_jain, one.p10_jain, one.median_utilization, one.p10_utilization, one.incumbents, one.newcomers)
    return [f"{value:.3f}" for value in values]


def _sentence(verdict: TreatmentResult) -> str:
    low, high = verdict.gain_interval
    published = verdict.published
    return (
        f"{verdict.verdict}: {verdict.treatment}: JFI {verdict.gain_percent:+.1f} % "
        f"({low:+.1f} to {high:+.1f}), utilization {verdict.utilization_percent:+.1f} %; "
        f"{published.source}: {published.words}"
    )
