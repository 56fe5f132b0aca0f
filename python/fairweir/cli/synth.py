"""``fairweir synth``: all rules of a template that satisfy a query, or a decision tree for a query of the game."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table

from fairweir.cli import output
from fairweir.cli.options import AsJson, ClusterAddress, file_of, where
from fairweir.documents.digits import plain
from fairweir.documents.results import results_folder
from fairweir.documents.toml import read_document
from fairweir.game.query import is_game
from fairweir.play.pool import default_workers
from fairweir.scenario.overrides import apply, parse_setting
from fairweir.synth.query import Query

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from fairweir.ccas.rule import Rule
    from fairweir.formal.solving.solvers import SolverName
    from fairweir.synth.cegis import Progress, Search

NONE_HOLDS = 1
UNFINISHED = 2
#: Maximum number of rejected solver answers that are printed individually.
MAX_DOUBTS = 5


def synth(
    query: Annotated[
        Path,
        typer.Argument(
            metavar="QUERY",
            parser=file_of("queries", "game-queries"),
            help="A TOML file (docs/formal/synthesis.md, docs/formal/game.md), or a name (`fairweir list queries`).",
        ),
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Override a value of the query, such as points=6. Repeatable."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Output directory; default results/synth/NAME.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Number of parallel jobs; default one per core.")] = None,
    cluster: ClusterAddress = None,
    solver: Annotated[
        Literal["yices", "z3"], typer.Option(help="Solver to try first; if it gives up, the other solver is used.")
    ] = "yices",
    budget: Annotated[
        float, typer.Option(min=0.01, help="Maximum CPU seconds per solver and candidate or claim.")
    ] = 300.0,
    every_member: Annotated[
        bool,
        typer.Option(
            "--every-member",
            help="Check each candidate of a class of equivalent candidates that has a solution, not only one.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Synthesize controllers: all rules of a template that maintain an invariant, or a decision tree with proofs.

    Exit 0: the search is complete and found rules; for a tree, every claim about every leaf is proved.
    Exit 1: no rule maintains the invariant; for a tree, a claim is refuted.
    Exit 2: bad input, or no solver decided a question.
    Exit 130: interrupted; the same command resumes.
    """
    from fairweir.formal.solving.solvers import Budget
    from fairweir.synth.archive import Archive
    from fairweir.synth.cegis import search
    from fairweir.synth.results import document, rules, write_rules

    changes = dict(map(parse_setting, settings or ()))
    written = apply(read_document(query, noun="query"), changes)
    if is_game(written):
        from fairweir.cli.synth_game import synth_game

        synth_game(
            query, written, out=out, workers=where(workers, cluster) or default_workers(),
            budget=Budget(cpu_s=budget), solvers=_order(solver), as_json=as_json,
        )  # fmt: skip
        return
    asked = Query.load(query, changes)
    directory = out if out is not None else results_folder("synth", asked.name)
    started = time.perf_counter()
    with output.progress_bar(counts=False) as bar:
        task = bar.add_task(asked.name, total=None)
        try:
            found = search(
                asked,
                Archive(directory),
                workers=where(workers, cluster) or default_workers(),
                budget=Budget(cpu_s=budget),
                solvers=_order(solver),
                every_member=every_member,
                on_progress=lambda progress: _show_progress(bar, task, asked.name, progress),
            )
        except KeyboardInterrupt:
            output.stderr.print(f"findings are stored in {directory}/; run the same command to resume", soft_wrap=True)
            raise
    write_rules(found, directory)
    if as_json:
        output.print_json(document(found, directory))
    else:
        _show(found, rules(found), directory, time.perf_counter() - started)
    if not found.is_complete:
        raise typer.Exit(UNFINISHED)
    if not found.solutions:
        raise typer.Exit(NONE_HOLDS)


def _order(first: str) -> list[SolverName]:
    from fairweir.formal.solving.solvers import SolverName

    return sorted(SolverName, key=lambda solver: solver.value != first)


def _show_progress(bar: Bar, task: TaskID, name: str, progress: Progress) -> None:
    words = f"{name}: {progress.iterations} candidates judged, {progress.left:,} left, {progress.solutions} solutions"
    bar.update(task, description=words)


def _show(found: Search, solutions: list[Rule], directory: Path, wall_s: float) -> None:
    query, published = found.query, found.query.published
    table = Table(box=None, header_style="bold")
    for heading in ("", "ours", "published"):
        table.add_column(heading, justify="left" if not heading else "right")
    table.add_row("candidates", f"{plain(query.space.size, 3)}", _or_dash(published.size, ".3g"))
    table.add_row("solutions (classes)", str(len(found.solutions)), _or_dash(published.solutions))
    table.add_row("iterations", str(found.iterations), _or_dash(published.iterations))
    table.add_row("solvers' CPU s", f"{found.solver_cpu_s:.1f}", "")
    table.add_row("wall s, this call", f"{wall_s:.1f}", _or_dash(published.seconds, "g"))
    output.stdout.print(table)
    for rule, solution in zip(solutions, found.solutions, strict=True):
        held = (
            ""
            if solution.holding is None
            else f"   ({solution.holding} of {solution.size} candidates of its class hold)"
        )
        output.stdout.print(f"{rule.name}: {_line(rule)}{held}", soft_wrap=True, markup=False)
    if not found.solutions and found.is_complete:
        output.stdout.print(
            f"no candidate maintains the invariant; {len(found.counterexamples)} counterexamples refute them all"
        )
    for finding in found.undecided:
        rule = query.space.rule(finding.candidate, "undecided")
        output.stdout.print(f"unknown: {_line(rule)} ({finding.reason})", soft_wrap=True, markup=False)
    for doubt in found.doubts[:MAX_DOUBTS]:
        output.stderr.print(f"solver answer rejected and query repeated: {doubt}", soft_wrap=True)
    if len(found.doubts) > MAX_DOUBTS:
        output.stderr.print(f"{len(found.doubts) - MAX_DOUBTS} more solver answers were rejected", soft_wrap=True)
    kept = f", {found.unchecked} of them reused without a check" if found.unchecked else ""
    output.stdout.print(f"{found.reused} findings reused{kept}; {directory}/", soft_wrap=True)


def _or_dash(value: float | None, form: str = "d") -> str:
    return "-" if value is None else format(value, form)


def _line(rule: Rule) -> str:
    """Return a rule as one line: ``if qdel_L > 0: 1/2 C_L; else: 2 C_L``."""
    parts = []
    for i, branch in enumerate(rule.branches):
        word = "if" if i == 0 else "elif"
        when = " and ".join(condition.text for condition in branch.conditions)
        parts.append(f"{word} {when}: {branch.rate}" if when else f"else: {branch.rate}")
    return "; ".join(parts)
