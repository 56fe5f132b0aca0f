"""Print published results and fairweir's results on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from fairweir.judging.outcome import Outcome
from fairweir.show import formats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from fairweir.reproduce.computed import Computed
    from fairweir.reproduce.experiment import Experiment
    from fairweir.reproduce.judge import Finding
    from fairweir.reproduce.runner import Reproduction

COLOURS = {Outcome.HOLDS: "green", Outcome.FAILS: "red", Outcome.UNKNOWN: "yellow"}


def show(reproduction: Reproduction, console: Console) -> None:
    """Print, for each experiment, the published result, each check in each world, and known reasons for differences."""
    for name, about in reproduction.experiments.items():
        console.print(
            Text.assemble((name, "bold"), f": {about['title']} ", (f"({about['source']})", "dim")), soft_wrap=True
        )
        console.print(f"  published: {about['published']}", soft_wrap=True)
        for key, word in (("setup", "setup"), ("kernel_setup", "on the kernel")):
            if about.get(key):
                console.print(f"  {word}: {about[key]}", style="dim", soft_wrap=True)
        findings = [finding for finding in reproduction.findings if finding.experiment == name]
        table = Table("", "case", "claim", "world", "published", "ours", "bound", "at", box=None, header_style="bold")
        for finding in findings:
            table.add_row(*_cells(finding), style=None)
        console.print(table)
        for finding in findings:
            if finding.why:
                where = f"{finding.case}, {finding.world}"
                console.print(f"  {finding.outcome.symbol} {where}: {finding.why}", soft_wrap=True)
        console.print()
    console.print(closing(reproduction), soft_wrap=True)


def _cells(finding: Finding) -> tuple[str, ...]:
    times = "×" if finding.is_relative else ""
    ours = f"{times}{formats.number(finding.value)} {_interval(finding)}".strip()
    if finding.times is not None:
        ours += f" (×{formats.number(finding.times)})"
    claim = f"{finding.claim} ({finding.reading})"
    return (
        finding.outcome.symbol,
        finding.case,
        claim,
        finding.world,
        finding.published,
        ours,
        finding.bound,
        finding.at,
    )


def _interval(finding: Finding) -> str:
    if finding.world == "computed":
        return ""
    if finding.runs <= 1:
        return "(one run)" if finding.runs else ""
    return formats.interval(finding.lo, finding.hi, finding.value)


def closing(reproduction: Reproduction) -> str:
    """Return the overall verdict as one line of text."""
    holds, fails = reproduction.count(Outcome.HOLDS), reproduction.count(Outcome.FAILS)
    known = fails - len(reproduction.unexplained)
    text = (
        f"{len(reproduction.experiments)} experiments, {len(reproduction.findings)} checks: {holds} hold, {fails} fail"
    )
    if fails:
        text += f" ({known} for a documented reason)"
    speed = "quick: fewer seeds, shorter runs; " if reproduction.is_quick else ""
    unknown = reproduction.count(Outcome.UNKNOWN)
    return f"{speed}{text}, {unknown} unknown"


def show_list(experiments: Sequence[Experiment], computed: Sequence[Computed], console: Console) -> None:
    """Print a list of the experiments with id, title, source, worlds, and duration of the runs in the kernel."""
    table = Table(box=None, header_style="bold")
    for heading in ("id", "what", "published in", "worlds", "kernel"):
        table.add_column(heading, no_wrap=heading == "id")
    for row in list_rows(experiments, computed):
        minutes = f"{row['kernel_minutes']:.0f} min" if row["kernel_minutes"] else "-"
        table.add_row(row["id"], row["title"], row["source"], ", ".join(row["worlds"]), minutes)
    console.print(table)


def list_rows(experiments: Sequence[Experiment], computed: Sequence[Computed]) -> list[dict[str, Any]]:
    """Return the document that ``fairweir reproduce --list --json`` prints."""
    played = [
        {
            "id": experiment.id,
            "title": experiment.title,
            "source": experiment.source,
            "published": experiment.published,
            "worlds": list(experiment.worlds),
            "kernel_minutes": round(experiment.kernel_s / 60, 1),
        }
        for experiment in experiments
    ]
    return played + [
        {
            "id": entry.id,
            "title": entry.title,
            "source": entry.source,
            "published": entry.published,
            "worlds": ["computed"],
            "kernel_minutes": 0.0,
        }
        for entry in computed
    ]
