"""``fairweir audit``: all exhibits for one or more CCAs."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from fairweir.audit.baseline import baseline_file, compare, find_baseline, save_baseline_file
from fairweir.audit.each import audit_each, built_in, report_of
from fairweir.audit.exhibits.family import Depth
from fairweir.audit.folder import write_files
from fairweir.audit.profile import save_known
from fairweir.audit.results import AuditResults
from fairweir.audit.runner import InterruptedAuditError, run_audit
from fairweir.audit.table import show, show_comparison, show_profile, show_relative
from fairweir.audit.world import check_world, name_on, wakes_of
from fairweir.ccas.cca_spec import require
from fairweir.cli import output
from fairweir.cli.options import ClusterAddress, Workers, where
from fairweir.cli.progress import meter
from fairweir.documents.results import results_folder
from fairweir.errors import ConfigError
from fairweir.judging.difference import Relation
from fairweir.judging.outcome import Outcome
from fairweir.play.pool import Where
from fairweir.play.run import VirtualWorld

CLAIM_FAILS = 1
#: Extensions of the page of --all.
PAGES = (".html", ".md")


def audit(
    ccas: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CCA...", help="cubic, cubic{beta=0.5}, mine.py:Class, mine.bpf.c, rule.toml, tree.json."
        ),
    ] = None,
    *,
    everyone: Annotated[
        bool,
        typer.Option("--all", help="Audit all built-in CCAs and the controllers of QUIC stacks, each with a report."),
    ] = False,
    page: Annotated[
        Path | None,
        typer.Option("--page", metavar="FILE", help="With --all: the page that ranks all CCAs, .html or .md."),
    ] = None,
    world: Annotated[
        VirtualWorld, typer.Option("--on", help="World to run in: the simulator, or whole QUIC stacks (quinn/cubic).")
    ] = "sim",
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
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="CCA",
            help="The reference: audit it too, and report differences from it; exit 1 if anything is worse.",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            metavar="NAME|FILE",
            help="Compare with a stored audit, or with an earlier results.json; exit 1 if anything is worse.",
        ),
    ] = None,
    save_baseline: Annotated[
        str | None,
        typer.Option(
            "--save-baseline", metavar="NAME", help="Store this audit for --baseline; takes five times the runs."
        ),
    ] = None,
    save_known_values: Annotated[
        Path | None,
        typer.Option(
            "--save-known", metavar="FILE", help="Write the metric values by which CCAs are ranked (docs/verdicts.md)."
        ),
    ] = None,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a single JSON document on stdout.")] = False,
) -> None:
    """Audit congestion controllers: a verdict for each claim, with evidence that can be replayed.

    Exit 0: no claim fails (with --against or --baseline: nothing is worse than the reference).
    Exit 1: a claim fails (with --against or --baseline: something is worse than the reference).
    Exit 2: bad input, or the command could not run.
    Exit 130: interrupted; finished runs are stored, and the same command resumes.
    With --all, verdicts do not affect the exit status.
    """
    if quick and deep:
        raise ConfigError("--quick and --deep exclude each other", hint="leave out one of them")
    if everyone:
        _audit_everyone(ccas or [], _depth(quick=quick, deep=deep), seeds, only, out, page, where(workers, cluster))
        return
    if not ccas:
        raise ConfigError("no CCA to audit", hint="name one or more: `fairweir audit bbr cubic`; or use --all")
    depth = _depth(quick=quick, deep=deep)
    if against is not None and baseline is not None:
        raise ConfigError("--against and --baseline exclude each other", hint="an audit has one reference")
    if save_known_values is not None and world != "sim":
        raise ConfigError(
            "the known CCAs are those of the simulator", key="--save-known", hint=f"leave out `--on {world}`"
        )
    store = baseline_file(save_baseline) if save_baseline is not None else None
    before = _baseline(baseline, depth, ccas, world, seeds) if baseline is not None else None
    is_gate = before is not None and not before.new_seeds
    for cca in (*ccas, *([against] if against is not None else [])):
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
                against=before if before is not None and not is_gate else against,
                on=world,
                is_baseline=store is not None,
                workers=where(workers, cluster),
                command=_command(),
                resume_in=folder,
                on_progress=report,
            )
    except InterruptedAuditError as stop:
        write_files(stop.results, folder)
        words = f"stopped: {stop.results.runs} runs had finished; stored in {folder}/; run the same command to resume"
        output.stderr.print(words, soft_wrap=True)
        raise KeyboardInterrupt from None
    if before is not None and is_gate:
        results = results.model_copy(update={"comparison": compare(before, results, str(baseline))})
    write_files(results, folder)
    if store is not None:
        save_baseline_file(results, store)
    if save_known_values is not None:
        save_known(results, save_known_values)
    if as_json:
        sys.stdout.write(results.for_stdout())
    else:
        _show(results, folder)
        if store is not None:
            output.stdout.print(f"baseline stored in {store}", soft_wrap=True)
    if _is_bad(results):
        raise typer.Exit(CLAIM_FAILS)


def _depth(*, quick: bool, deep: bool) -> Depth:
    return Depth.QUICK if quick else Depth.DEEP if deep else Depth.DEFAULT


def _audit_everyone(
    more: list[str],
    depth: Depth,
    seeds: int | None,
    only: list[str] | None,
    out: Path | None,
    page: Path | None,
    workers: Where,
) -> None:
    """Audit all built-in CCAs and `more`, each alone, and write the page that ranks them. No verdict is a failure."""
    from fairweir.audit.report.leaderboard import leaderboard_of, write_leaderboard

    ccas = list(dict.fromkeys([*built_in(), *more]))
    for cca in ccas:
        require(cca)
    folder = out or results_folder("audit", f"all-{depth}")
    _make(folder)
    target = page or folder / "leaderboard.html"
    if not target.absolute().parent.is_dir():
        raise ConfigError(
            f"no such directory: `{target.parent}`", hint="create it, or choose another place", key="--page"
        )
    if target.suffix.lower() not in PAGES:
        raise ConfigError(
            f"page must end in {' or '.join(PAGES)}: `{target.name}`", key="--page", hint="try board.html"
        )
    with meter("audit", kept_in=folder, kept="finished audits") as report:
        audits = audit_each(
            ccas,
            folder,
            depth=depth,
            seeds=seeds,
            only=only,
            workers=workers,
            command=_command(),
            on_progress=report,
        )
    reports = [report_of(folder, cca) for cca in ccas]
    write_leaderboard(leaderboard_of(audits, target, reports, _command()), target)
    output.stdout.print(f"{len(ccas)} CCAs, {sum(a.runs for a in audits)} runs: {target}", soft_wrap=True)
    output.stdout.print(f"reports: {folder}/CCA/report.html", soft_wrap=True)


def _show(results: AuditResults, folder: Path) -> None:
    for relative in results.relative:
        show_relative(relative, output.stdout)
        output.stdout.print()
    for profile in results.profiles:
        show_profile(profile, output.stdout)
        output.stdout.print()
    show(results, output.stdout)
    if results.comparison is not None:
        show_comparison(results.comparison, output.stdout)
    _show_where(results, folder)


def _is_bad(results: AuditResults) -> bool:
    """Return whether the command should exit with 1; with a reference, absolute claims do not count.

    Raises
    ------
    ConfigError : there is a reference, but nothing to compare with it
    """
    comparison = results.comparison
    if comparison is not None:
        if not comparison.compared:
            raise ConfigError(
                "the baseline has no claim in common with this audit",
                source=comparison.baseline,
                hint="compare the same CCAs, with the same --only",
            )
        return bool(comparison.worsened)
    for relative in results.relative:
        if relative.is_empty:
            reasons = [*relative.not_compared, *(standing.why for standing in relative.standings)]
            raise ConfigError(
                f"nothing could be compared: `{relative.cca}` with `{relative.reference}`",
                hint="; ".join(reasons[:3]) or "use the same --only",
            )
    return results.is_worse if results.relative else results.verdict is Outcome.FAILS


def _baseline(name: str, depth: Depth, ccas: list[str], world: VirtualWorld, seeds: int | None) -> AuditResults:
    """Load a baseline, and check that it can be compared with this audit."""
    path = find_baseline(name)
    before = AuditResults.load(path)
    before.source = name
    if before.depth != depth:
        raise ConfigError(
            f"the baseline is an audit of depth `{before.depth}`, and this audit has depth `{depth}`",
            source=str(path),
            hint="use the same option as the baseline: --quick, --deep or neither",
        )
    check_world(before.world, world, str(path))
    if before.new_seeds:
        if seeds is not None:
            raise ConfigError("the seeds are those of the baseline", key="--seeds", hint="leave out --seeds")
    elif not any(before.cca(name_on(cca, wake)) for cca in ccas for wake in wakes_of(world)):
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
    if failing and not results.relative:
        replays = [e.replay for _, e in failing if e.replay]
        if replays:
            output.stdout.print(f"replay a failure: {replays[0]}", soft_wrap=True)
    worse = sum(len(relative.of(Relation.WORSE)) for relative in results.relative)
    output.stdout.print(
        f"{results.runs} runs, {results.packets / 1e6:.0f} million packets, {results.wall_s:.0f} s; "
        f"{folder}/report.html, results.json, junit.xml, summary.md"
        + (f", failing/ ({len(failing)})" if failing else "")
        + (f", worse/ ({worse})" if worse else ""),
        soft_wrap=True,
    )
