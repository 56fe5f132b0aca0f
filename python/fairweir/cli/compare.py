"""``fairweir compare``: differences between runs, scenarios or audits, and their courses over each other."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from fairweir.audit.baseline import compare as compare_audits
from fairweir.audit.merged import aligned, merged
from fairweir.audit.report import write_report
from fairweir.audit.results import AuditResults, Comparison
from fairweir.audit.table import estimate
from fairweir.cli import output
from fairweir.cli.options import AsJson, Settings, load
from fairweir.cli.progress import meter
from fairweir.documents import shipped
from fairweir.documents.atomic_write import write_text
from fairweir.documents.digits import plain
from fairweir.documents.results import results_folder
from fairweir.errors import ConfigError
from fairweir.judging.differences import differences
from fairweir.play.batch import spread_starts
from fairweir.play.compare import Differences
from fairweir.play.course import Course, course_of
from fairweir.play.record_folder import is_record, load_record
from fairweir.play.run import World
from fairweir.play.run import run as play
from fairweir.play.runs_page import runs_page
from fairweir.units import Duration

#: Runs of each scenario that is compared.
SEEDS = 5
#: Number of sampling intervals of the course of a run.
_INTERVALS = 3_000


def compare(
    sides: Annotated[
        list[str],
        typer.Argument(
            metavar="A B [C...]",
            help="Scenarios (a file or a shipped name), records that `run --out` wrote, or results.json of audits.",
        ),
    ],
    *,
    settings: Settings = None,
    world: Annotated[World, typer.Option("--on", help="World to run scenarios in.")] = "sim",
    seeds: Annotated[
        int | None, typer.Option(min=1, max=1000, help=f"Runs of each scenario; default {SEEDS}, or 1 with a record.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="Write the page here; default results/compare/A-B/compare.html.", metavar="FILE")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare runs, scenarios or audits with the first of them.

    Prints differences, over several seeds with their 95 % interval, and writes a page on which the courses are drawn
    over each other.

    Exit 0: compared.
    Exit 2: bad input, or a run failed.
    """
    if len(sides) < 2:
        raise ConfigError("only one side", hint="name what to compare it with: fairweir compare A B", key="A B [C...]")
    audits = [_audit_of(side) for side in sides]
    if any(audits):
        if not all(audits):
            raise ConfigError("an audit is compared with audits only", hint="name results.json of each audit")
        _of_audits(sides, [audit for audit in audits if audit is not None], page, as_json=as_json)
        return
    records = [is_record(Path(side)) for side in sides]
    number = seeds or (1 if any(records) else SEEDS)
    labels = _labels(sides)
    courses, scenarios = [], []
    with meter("compare") as report:
        for i, (side, label) in enumerate(zip(sides, labels, strict=True)):

            def on_progress(part: float, done: int = i) -> None:
                report.count(done + part, len(sides))

            course, text = (
                _of_record(Path(side), label)
                if records[i]
                else _of_scenario(side, label, settings, world, number, on_progress)
            )
            courses.append(course)
            scenarios.append((label, text))
    found = [
        Differences((labels[0], label), tuple(differences(list(courses[0].summaries), list(course.summaries))))
        for label, course in zip(labels[1:], courses[1:], strict=True)
    ]
    target = page or results_folder("compare", *labels) / "compare.html"
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, runs_page(" and ".join(labels), courses, scenarios))
    output.stderr.print(f"page written to {target}", soft_wrap=True)
    if as_json:
        output.print_json([{"sides": one.names, "rows": [vars(row) for row in one.rows]} for one in found])
    else:
        for one in found:
            _show(one)


def _labels(sides: list[str]) -> list[str]:
    """Return short names of the sides, which differ."""
    short = [Path(side).stem if Path(side).suffix else Path(side).name for side in sides]
    return [name if short.count(name) == 1 else side for name, side in zip(short, sides, strict=True)]


def _audit_of(side: str) -> AuditResults | None:
    path = Path(side)
    if path.is_dir() and (path / "results.json").is_file():
        path = path / "results.json"
    return AuditResults.load(path) if path.suffix == ".json" else None


def _of_record(folder: Path, label: str) -> tuple[Course, str]:
    record = load_record(folder)
    if not record.has_series:
        raise ConfigError("the record has no time series", source=str(folder), hint="write it again: run --out")
    return course_of([record], label), record.scenario.to_toml()


def _of_scenario(
    side: str, label: str, settings: list[str] | None, world: World, seeds: int, on_progress: Any
) -> tuple[Course, str]:
    scenario = load(shipped.find("scenarios", side), settings)
    ms = Duration.from_ms(1)
    interval = str(max(math.floor(Duration.parse(scenario.duration) / _INTERVALS / ms), 1) * ms)
    runs = [
        play(
            # Seeds differ in the start times, too: without noise they would all give the same numbers.
            spread_starts(scenario, scenario.seed + i) if seeds > 1 else scenario,
            interval=interval,
            on=world,
            isolates_python=True,
            on_progress=lambda part, i=i: on_progress((i + part) / seeds),  # type: ignore[misc]
        )
        for i in range(seeds)
    ]
    return course_of(runs, label), scenario.to_toml()


def _show(found: Differences) -> None:
    first, second = found.names
    table = Table("of", "quantity", box=None, header_style="bold")
    for heading in (first, second, "difference", "95 % interval"):
        table.add_column(heading, justify="right")
    for row in found.rows:
        interval = "" if row.lo is None or row.hi is None else f"[{row.lo:+.3g}, {row.hi:+.3g}]"
        style = "bold" if row.is_significant else None
        cells = plain(row.first, 4), f"{plain(row.second, 4)} {row.unit}".rstrip(), f"{row.difference:+.3g}", interval
        table.add_row(row.of, row.quantity, *cells, style=style)
    output.stdout.print(table)
    output.stdout.print()


def _of_audits(sides: list[str], audits: list[AuditResults], page: Path | None, *, as_json: bool) -> None:
    found = [compare_audits(aligned(audits[0], audit), audit, sides[0]) for audit in audits[1:]]
    for one in found:
        if not one.compared:
            raise ConfigError("the audits have no claim in common", hint="audit both with the same --only")
    labels = _labels([side.removesuffix("/results.json") for side in sides])
    target = page or results_folder("compare", *labels) / "compare.html"
    target.parent.mkdir(parents=True, exist_ok=True)
    write_report(merged(audits, labels, shlex.join(["fairweir", "compare", *sides])), target)
    output.stderr.print(f"page written to {target}", soft_wrap=True)
    if as_json:
        output.print_json([one.model_dump(mode="json") for one in found])
        return
    for label, audit, one in zip(labels[1:], audits[1:], found, strict=True):
        output.stdout.print(_claims((labels[0], label), aligned(audits[0], audit), audit, one))
        for change in one.changes:
            output.stdout.print(f"  {change}", markup=False, soft_wrap=True)
        output.stdout.print(f"{label} compared with {labels[0]}: {one.headline}", markup=False, soft_wrap=True)
        for name in one.not_compared:
            output.stdout.print(f"  not compared: {name}", markup=False, soft_wrap=True)
        output.stdout.print()


def _claims(labels: tuple[str, str], first: AuditResults, second: AuditResults, found: Comparison) -> Table:
    """Return a table of the claims that both audits have; those that changed are bold."""
    table = Table("claim", box=None, header_style="bold")
    for label in labels:
        table.add_column(f"{label} [95 %]", justify="right")
    table.add_column("change")
    for cca in second.ccas:
        before = first.cca(cca.cca)
        for claim in cca.exhibits if before is not None else ():
            old = before.exhibit(claim.name) if before is not None else None
            if old is None:
                continue
            change = found.change(cca.cca, claim.name)
            name = claim.name if len(second.ccas) == 1 else f"{cca.cca}: {claim.name}"
            cells = (Text(name), estimate(old), estimate(claim), change.direction if change else "")
            table.add_row(*cells, style="bold" if change else None)
    return table
