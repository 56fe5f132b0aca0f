"""``fairweir guard evaluate``: the paper's challenges over random configurations, in the simulator."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from fairweir.cli import output
from fairweir.cli.options import AsJson
from fairweir.errors import ConfigError
from fairweir.guard.challenges import CHALLENGES, draw
from fairweir.guard.evaluate import Job, Kept, Verdict, evaluate, judge


def evaluate_command(
    challenges: Annotated[
        list[str] | None, typer.Argument(metavar="[CHALLENGE]...", help=f"{', '.join(CHALLENGES)}; default all.")
    ] = None,
    configurations: Annotated[int, typer.Option("-n", "--configurations", min=1, help="Drawn from table 1.")] = 100,
    policy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Policies (TOML) instead of each challenge's own.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Draws the configurations.")] = 1,
    out: Annotated[Path, typer.Option(help="Results; finished configurations there are not repeated.")] = Path(
        "runs/guard"
    ),
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Distributions, as .png, .svg or .pdf.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; default one a core.")] = None,
    as_json: AsJson = False,
) -> None:
    """Play the paper's challenges with and without a receiver's policies; exit 1 if fairness gains nothing."""
    names = _known(challenges or list(CHALLENGES))
    own = _read(policy) if policy is not None else None
    jobs = {
        name: [Job(case, own or CHALLENGES[name].policy) for case in draw(name, configurations, seed)] for name in names
    }
    everything = [job for several in jobs.values() for job in several]
    failures: list[str] = []
    with output.progress_bar(counts=True) as bar:
        task = bar.add_task("guard", total=len(everything))

        def on_done(failure: str | None) -> None:
            bar.advance(task)
            if failure is not None:
                failures.append(failure)
                output.stderr.print(f"failed: {failure}", soft_wrap=True)

        try:
            results = evaluate(everything, Kept(out), workers=workers, on_done=on_done)
        except KeyboardInterrupt:
            output.stderr.print(f"finished configurations are kept in {out}/; the same command goes on", soft_wrap=True)
            raise
    measured = {name: [results[job] for job in jobs[name] if job in results] for name in names}
    verdicts = [judge(name, found) for name, found in measured.items() if found]
    if plot is not None:
        from fairweir.guard.picture import save_distributions

        save_distributions({name: found for name, found in measured.items() if found}, plot)
    if as_json:
        output.print_json({"seed": seed, "challenges": [_document(one) for one in verdicts], "failures": failures})
    else:
        _show(verdicts)
    if failures:
        raise typer.Exit(2)
    if not all(verdict.holds for verdict in verdicts):
        raise typer.Exit(1)


def _known(names: list[str]) -> list[str]:
    for name in names:
        if name not in CHALLENGES:
            raise ConfigError(f"unknown challenge `{name}`", hint=f"known are {', '.join(CHALLENGES)}")
    return list(dict.fromkeys(names))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the policies: {error}", source=str(path)) from None


def _document(verdict: Verdict) -> dict[str, Any]:
    published = asdict(CHALLENGES[verdict.challenge].published)
    return {**asdict(verdict), "holds": verdict.holds, "published": published}


def _show(verdicts: list[Verdict]) -> None:
    table = Table("challenge", box=None, header_style="bold")
    for heading in ("n", "median JFI", "gain", "published", "10 % JFI", "utilisation", "10 % utilisation", ""):
        table.add_column(heading, justify="right")
    for one in verdicts:
        low, high = one.gain_interval
        table.add_row(
            one.challenge,
            str(one.configurations),
            _change(one.median_jain),
            f"{one.gain_percent:+.1f} % ({low:+.1f}, {high:+.1f})",
            f"{CHALLENGES[one.challenge].published.gain_percent:+.1f} %",
            _change(one.p10_jain),
            _change(one.median_utilization),
            _change(one.p10_utilization),
            "holds" if one.holds else "fails",
        )
    output.stdout.print(table)


def _change(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.3f} > {pair[1]:.3f}"
