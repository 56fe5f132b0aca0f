"""``fairweir prove``: suites of published lemmas, proved or refuted, with the published constants and ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairweir.cli import output
from fairweir.cli.options import AsJson, ClusterAddress, Workers, where
from fairweir.cli.progress import meter
from fairweir.documents.atomic_write import write_text
from fairweir.documents.suggestions import did_you_mean
from fairweir.errors import ConfigError
from fairweir.formal.lemmas.result import LemmaResult, ProofOutcome, conclude
from fairweir.formal.lemmas.suites import SUITES, Progress, Request, Suite, find

if TYPE_CHECKING:
    from rich.table import Table

#: Minimum number of sample points of a meaningful trace: a start, a step, an end.
FEWEST_POINTS = 3
EXIT_CODES = {ProofOutcome.PROVED: 0, ProofOutcome.REFUTED: 1, ProofOutcome.UNKNOWN: 1, ProofOutcome.VACUOUS: 2}


def prove(
    suite: Annotated[
        str | None, typer.Argument(metavar="SUITE", help="A suite of lemmas; --list prints the suites.")
    ] = None,
    list_only: Annotated[bool, typer.Option("--list", help="List the suites without proving anything.")] = False,
    points: Annotated[
        int | None, typer.Option(min=FEWEST_POINTS, help="Sample points per trace; default: the suite's.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="Network model; default: the suite's. --list prints the models of each suite."
        ),
    ] = None,
    budget: Annotated[float, typer.Option(min=1.0, help="CPU seconds per solver query.")] = 120.0,
    search: Annotated[
        bool, typer.Option("--search", help="Also search for the tightest constants that can be proved (slower).")
    ] = False,
    certificate: Annotated[
        bool, typer.Option("--certificate", help="Write certificates that an independent program can check.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Store answers and traces here; answers found here are reused.")
    ] = None,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    as_json: AsJson = False,
) -> None:
    """Prove a suite of lemmas over every behavior of a network model, and compare our constants with published ones.

    Exit 0: every lemma has the result that the suite expects.
    Exit 1: a lemma has a different result, or its result is unknown.
    Exit 2: a lemma is vacuous (no sender can violate it), or the command could not run.
    Exit 130: interrupted; with --out the same command resumes.
    """
    if list_only:
        _show_list(as_json)
        return
    if suite is None:
        raise ConfigError("no suite of lemmas was given", hint=f"the suites are {', '.join(SUITES)}")
    chosen = find(suite)
    for name, option, is_given in (
        ("points", "--points", points is not None),
        ("search", "--search", search),
        ("certificate", "--certificate", certificate),
    ):
        if is_given and name not in chosen.reads:
            raise ConfigError(f"{option} has no effect for the suite {chosen.name}", hint=f"leave out {option}")
    if model is not None and not chosen.models:
        raise ConfigError(f"--model has no effect for the suite {chosen.name}", hint="leave out --model")
    if model is not None and model not in chosen.models:
        raise ConfigError(
            f"the suite {chosen.name} does not support the model `{model}`",
            key="--model",
            hint=did_you_mean(model, chosen.models),
        )
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    request = Request(points, budget, search, certificate, out, model, where(workers, cluster))
    finished: dict[int, LemmaResult] = {}
    try:
        with meter(chosen.name, counts=True) as report:

            def on_progress(at: Progress, result: LemmaResult | None) -> None:
                report(at.doing)
                report.count(at.done, at.total)
                if result is not None:
                    finished[at.place] = result

            results = chosen.load()(request, on_progress)
    except KeyboardInterrupt:
        # In the order of the suite, not in the order in which the jobs ended.
        ended = [finished[place] for place in sorted(finished)]
        # What an earlier command wrote is not replaced by nothing.
        if ended:
            _keep(chosen, ended, request)
        if ended and not as_json:
            output.stdout.print(_table(chosen, ended))
        raise
    _keep(chosen, results, request)
    if as_json:
        output.print_json(_document(chosen, results, request))
    else:
        _show(chosen, results)
    if code := EXIT_CODES[conclude(results)]:
        raise typer.Exit(code)


def _document(suite: Suite, results: list[LemmaResult], request: Request) -> dict[str, Any]:
    return {
        "suite": suite.name,
        "model": request.model or (suite.models[0] if suite.models else None),
        "shows": suite.shows,
        "source": suite.source,
        "outcome": conclude(results).value,
        "kept_not_rechecked": sum(result.kept.startswith("not ") for result in results),
        "cpu_s": round(sum(result.cpu_s for result in results), 3),
        "lemmas": [result.document() for result in results],
    }


def _keep(suite: Suite, results: list[LemmaResult], request: Request) -> None:
    """Write ``SUITE.json``, or with --model ``SUITE-MODEL.json``, to the output folder, if given."""
    if (out := request.out) is not None:
        elsewhere = "" if request.model is None else f"-{request.model}"
        document = json.dumps(output.finite(_document(suite, results, request)), indent=2, allow_nan=False)
        write_text(out / f"{suite.name}{elsewhere}.json", document + "\n")


def _show_list(as_json: bool) -> None:
    if as_json:
        output.print_json(
            [{"name": s.name, "shows": s.shows, "source": s.source, "models": list(s.models)} for s in SUITES.values()]
        )
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("suite", "shows", "source", "--model"):
        table.add_column(heading, overflow="fold")
    for suite in SUITES.values():
        table.add_row(suite.name, suite.shows, suite.source, ", ".join(suite.models))
    output.stdout.print(table)


def _show(suite: Suite, results: list[LemmaResult]) -> None:
    output.stdout.print(_table(suite, results))
    for result in results:
        if result.note:
            output.stdout.print(f"{result.name}: {result.note}", markup=False, soft_wrap=True)
    spent = sum(result.cpu_s for result in results)
    stand = sum(result.stands for result in results)
    outcome = f"{suite.name}: {conclude(results).value}; {stand} of {len(results)} as expected, {spent:.1f} s of CPU"
    output.stdout.print(outcome + _earlier(results), soft_wrap=True)


def _earlier(results: list[LemmaResult]) -> str:
    """Return a text with the number of answers from earlier runs, and how many of these were not checked again."""
    old = [result for result in results if result.kept]
    unchecked = sum(result.kept.startswith("not ") for result in old)
    if not old:
        return ""
    return f"; {len(old)} from an earlier run, {unchecked} of them not re-checked"


def _table(suite: Suite, results: list[LemmaResult]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, title=suite.shows, title_justify="left")
    for heading in ("", "lemma", "about", "claim", "ours", "published", "outcome", "solver"):
        table.add_column(heading, overflow="fold")
    table.add_column("CPU s", justify="right")
    for result in results:
        ours = "\n".join(f"{c.name} {c.ours}{' ' + c.unit if c.unit else ''}" for c in result.constants)
        published = "\n".join("" if c.published is None else str(c.published) for c in result.constants)
        outcome = result.outcome.value
        if result.expects is ProofOutcome.REFUTED:
            outcome += " (as expected)" if result.stands else ", expected refuted"
        if result.kept:
            outcome += f" (kept, {result.kept})"
        mark = "✓" if result.stands else "?" if result.outcome is ProofOutcome.UNKNOWN else "✗"
        cpu_s = f"{result.cpu_s:.1f}"
        about = result.about.value
        table.add_row(mark, result.name, about, result.claim, ours, published, outcome, result.solver, cpu_s)
    return table
