"""``fairweir audit``: all exhibits for one or more CCAs."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from fairweir.audit.baseline import compare
from fairweir.audit.exhibits.family import Depth
from fairweir.audit.folder import write_files
from fairweir.audit.results import AuditResults
from fairweir.audit.runner import InterruptedAuditError, run_audit
from fairweir.audit.table import show, show_comparison
from fairweir.ccas.cca_spec import require
from fairweir.cli import output
from fairweir.cli.progress import meter
from fairweir.documents.results import results_folder
from fairweir.errors import ConfigError
from fairweir.judging.outcome import Outcome

CLAIM_FAILS = 1


def audit(
    ccas: Annotated[
        list[str],
        typer.Argument(
            metavar="CCA...", help="cubic, cubic{beta=0.5}, mine.py:Class, mine.bpf.c, rule.toml, tree.json."
        ),
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer points and shorter runs: takes seconds per CCA.")
    ] = False,
    deep: Annotated[
        bool, typer.Option("--deep", help="More points, longer runs, ten seeds: takes many minutes.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="EXHIBIT", help="Run only this exhibit, or all with this prefix. Repeatable."),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=2, max=1000, help="Runs per point; default 3, with --deep 10.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Output directory; default results/audit/CCAS.")
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            "--baseline", metavar="FILE", help="Compare with an earlier results.json; exit 1 only if a claim worsened."
        ),
    ] = None,
    workers: Annotated[int | None, typer.Option("--workers", min=1, help="Processes; default one per core.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a single JSON document on stdout.")] = False,
) -> None:
    """Audit congestion controllers: a verdict for each claim, with evidence that can be replayed.

    Exit 0: no claim fails.
    Exit 1: a claim fails (with --baseline: a claim worsened).
    Exit 2: bad input, or the command could not run.
    Exit 130: interrupted; finished runs are stored.
    """
    if quick and deep:
        raise ConfigError("--quick and --deep exclude each other", hint="leave out one of them")
    depth = Depth.QUICK if quick else Depth.DEEP if deep else Depth.DEFAULT
    before = _baseline(baseline, depth, ccas) if baseline is not None else None
    for cca in ccas:
        require(cca)
    folder = out or results_folder("audit", *ccas)
    _make(folder)
    try:
        with meter("audit") as report:
            results = run_audit(
                ccas,
                depth=depth,
                seeds=seeds,
                only=only,
                workers=workers,
                command=_command(),
                on_progress=report,
            )
    except InterruptedAuditError as stop:
        write_files(stop.results, folder)
        output.stderr.print(f"stopped: {stop.results.runs} runs had finished; stored in {folder}/", soft_wrap=True)
        raise KeyboardInterrupt from None
    comparison = None
    if before is not None:
        comparison = compare(before, results, str(baseline))
        results = results.model_copy(update={"comparison": comparison})
    write_files(results, folder)
    if as_json:
        sys.stdout.write(results.for_stdout())
    else:
        show(results, output.stdout)
        if comparison is not None:
            show_comparison(comparison, output.stdout)
        _show_where(results, folder)
    if comparison is not None and not comparison.compared:
        raise ConfigError(
            "the baseline has no claim in common with this audit",
            source=str(baseline),
            hint="compare the same CCAs, with the same --only",
        )
    is_bad = bool(comparison.worsened) if comparison is not None else results.verdict is Outcome.FAILS
    if is_bad:
        raise typer.Exit(CLAIM_FAILS)


def _baseline(path: Path, depth: Depth, ccas: list[str]) -> AuditResults:
    before = AuditResults.load(path)
    if before.depth != depth:
        raise ConfigError(
            f"the baseline is an audit of depth `{before.depth}`, and this audit has depth `{depth}`",
            source=str(path),
            hint="use the same option as the baseline: --quick, --deep or neither",
        )
    if not any(before.cca(cca) for cca in ccas):
        raise ConfigError(
            "the baseline contains none of the CCAs of this audit",
            source=str(path),
            hint=f"it has {', '.join(cca.cca for cca in before.ccas)}",
        )
    return before


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(f"results cannot be stored: {reason}: `{folder}`", key="--out") from None


def _command() -> str:
    with suppress(IndexError):
        return shlex.join(["fairweir", *sys.argv[1:]])
    return ""


def _show_where(results: AuditResults, folder: Path) -> None:
    failing = [(c.cca, e) for c in results.ccas for e in c.exhibits if e.verdict is Outcome.FAILS]
    if failing:
        replays = [e.replay for _, e in failing if e.replay]
        if replays:
            output.stdout.print(f"replay a failure: {replays[0]}", soft_wrap=True)
    output.stdout.print(
        f"{results.runs} runs, {results.packets / 1e6:.0f} million packets, {results.wall_s:.0f} s; "
        f"{folder}/report.html, results.json, junit.xml, summary.md"
        + (f", failing/ ({len(failing)})" if failing else ""),
        soft_wrap=True,
    )
