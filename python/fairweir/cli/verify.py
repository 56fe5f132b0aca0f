"""``fairweir verify``: prove or refute a bound on a CCA over every behavior of a network model."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from fairweir.cli import output
from fairweir.cli.modes import is_controller
from fairweir.cli.options import AsJson
from fairweir.cli.progress import meter
from fairweir.cli.verify_controller import BAD_INPUT, CLAIM_FAILS, COLOURS, SYMBOLS, verify_controller
from fairweir.documents import shipped
from fairweir.documents.digits import plain
from fairweir.errors import ConfigError
from fairweir.formal.solving.solvers import Budget, Race, SolverName

if TYPE_CHECKING:
    from fairweir.formal.claims.claim import Claim
    from fairweir.formal.verdicts.evidence import Evidence
    from fairweir.formal.verdicts.verify import Case, Verification


def verify(
    cca: Annotated[
        str | None,
        typer.Argument(
            metavar="CCA",
            help="A rule file, a shipped rule or a hand-encoded CCA (--list), or the file or name of a controller.",
        ),
    ] = None,
    *,
    model: Annotated[
        str, typer.Option(metavar="MODEL", help="A network model (--list), or your own model as FILE.py:CLASS.")
    ] = "ccac",
    properties: Annotated[
        list[str] | None,
        typer.Option(
            "--property",
            metavar="CLAIM",
            help="A claim, such as utilization>=0.5 or 'bq@end <= bq@0 or queue<=4'. Repeatable.",
        ),
    ] = None,
    points: Annotated[
        int, typer.Option(metavar="T", help="Number of sample points of a trace; T points cover T - 1 time steps.")
    ] = 6,
    per_r: Annotated[int, typer.Option(metavar="N", help="Number of time steps per R.")] = 1,
    jitter: Annotated[
        str,
        typer.Option(metavar="D", help="Maximum jitter D in units of R, such as 1 or 1/2; a whole number of steps."),
    ] = "1",
    buffer: Annotated[str, typer.Option(help="Buffer of the link: infinite, small, arbitrary or large.")] = "infinite",
    flows: Annotated[int, typer.Option(min=1, help="Number of flows that share the link.")] = 1,
    beliefs: Annotated[
        str, typer.Option(help="Beliefs at the start of a trace: consistent with the network, or any (may be stale).")
    ] = ("consistent"),
    timeouts: Annotated[bool, typer.Option("--timeouts", help="Beliefs time out at the end of a trace.")] = False,
    given: Annotated[
        list[str] | None,
        typer.Option(
            metavar="BOUND",
            help="Assume a bound, such as C_L>=0.69 (at the start) or queue@1<=2, in units in which C = R = 1.",
        ),
    ] = None,
    budget: Annotated[
        float, typer.Option(min=0.1, metavar="S", help="Maximum CPU seconds per solver and query.")
    ] = 120.0,
    solver: Annotated[
        list[SolverName] | None,
        typer.Option(
            help="Solver to use; default: both, and the first answer counts. Repeatable; tried in the given order."
        ),
    ] = None,
    both: Annotated[
        bool, typer.Option("--both", help="Wait for the answers of all solvers, and compare them.")
    ] = False,
    certificate: Annotated[
        bool,
        typer.Option(
            "--certificate", help="Make and check a certificate for each proof; with --out, write the certificate."
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write queries, answers and traces here, one folder per claim.")
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Write the verdicts into the controller's file, as `proofs`.")
    ] = False,
    list_only: Annotated[bool, typer.Option("--list", help="List CCAs, models, buffers and claims.")] = False,
    as_json: AsJson = False,
) -> None:
    """Prove or refute bounds on a CCA over every behavior of a network model.

    A refutation is a trace, which is checked with exact fractions and replayed packet by packet in the simulator.

    Exit 0: all claims are proved.
    Exit 1: a claim is refuted or unknown.
    Exit 2: a claim is vacuous (no sender can violate it, or the assumptions contradict each other); bad input; or the
    command could not run.
    Exit 130: interrupted.
    """
    if list_only:
        show_list(as_json)
        return
    if cca is None:
        raise ConfigError(
            "no CCA was given", hint="`fairweir verify --list` lists CCAs; or write the path of a rule file"
        )
    if is_controller(cca):
        verify_controller(
            shipped.find("controllers", cca), properties or [], Budget(budget), solver or list(SolverName),
            certificate=certificate, out=out, write=write, as_json=as_json,
        )  # fmt: skip
        return
    from fairweir.formal.verdicts.named import case_of

    cases = [
        case_of(
            cca, claim, model=model, points=points, per_r=per_r, jitter=jitter, buffer=buffer, flows=flows,
            beliefs=beliefs, timeouts=timeouts, given=given or [],
        )
        for claim in properties or ["utilization", "queue"]
    ]  # fmt: skip
    spend = Budget(budget)
    done: list[Evidence] = []
    with meter("verify", counts=True) as report:
        report.count(0, len(cases))
        for case in cases:

            def on_step(doing: str, case: Case = case) -> None:
                report(f"{case.claim.text}: {doing}")

            from fairweir.formal.verdicts.evidence import gather
            from fairweir.formal.verdicts.evidence import keep as keep_files
            from fairweir.formal.verdicts.verify import verify as answer

            found = answer(case, spend, solver or list(SolverName), Race.ALL if both else Race.FIRST, on_step)
            on_step("certificate" if found.trace is None else "packets")
            done.append(gather(found, with_certificate=certificate, z3_steps=4 * (spend.z3_steps or 0) or None))
            if out is not None:
                keep_files(done[-1], out / _folder(case))
            report.count(len(done), len(cases))
            if not as_json:
                show(done[-1], out)
    if as_json:
        output.print_json({"verdicts": [evidence.document() for evidence in done]})
    outcomes = {evidence.found.outcome.value for evidence in done}
    if "vacuous" in outcomes:
        raise typer.Exit(BAD_INPUT)
    if outcomes - {"proved"}:
        raise typer.Exit(CLAIM_FAILS)
    if any(evidence.uncertified for evidence in done):
        raise typer.Exit(BAD_INPUT)


def _folder(case: Case) -> str:
    from fairweir.formal.verdicts.evidence import claim_stem

    return f"{case.subject.name}-{case.model}-{claim_stem(case.claim)}"


def show(evidence: Evidence, out: Path | None) -> None:
    """Print a verdict with its evidence, numbers and assumptions."""
    found = evidence.found
    case, outcome = found.case, found.outcome.value
    claim = f"{case.subject.name} on {case.model}: {case.claim.text}"
    empty = "; ".join(f"`{part.text}` is vacuous: every sender satisfies it" for part in found.empty)
    headline = Text.assemble(
        (f"{SYMBOLS[outcome]} {outcome}", COLOURS[outcome]), f"  {claim}", (empty and f"  ({empty})", "yellow")
    )
    output.stdout.print(headline, soft_wrap=True)
    output.stdout.print(f"  asked: {case.claim.statement(case.system)}", soft_wrap=True)
    for line in _lines(evidence, found, out):
        output.stdout.print(f"  {line}", soft_wrap=True)
    output.stdout.print("  assumed:", soft_wrap=True)
    for line in case.assumed():
        output.stdout.print(f"    {line}", soft_wrap=True)
    output.stdout.print()


def _lines(evidence: Evidence, found: Verification, out: Path | None) -> list[str]:
    from fairweir.formal.models import MODELS

    lines = [f"{found.answer.solver or 'no solver'}, {found.cpu_s:.2f} CPU s"]
    if found.answer.reason:
        lines.append(found.answer.reason)
    if found.trace is not None:
        judge = f", by `violations` of {source}" if (source := MODELS[found.case.model].source) else ""
        lines.append(
            f"a trace, checked with exact arithmetic{judge}{_numbers(found.case.claim, found.value, found.shown)}"
        )
    if (played := evidence.played) is not None:
        if played.breaks is None:
            lines.append(
                "replayed in packets, where the claim cannot be checked: beliefs, rates and windows are not observable"
            )
        else:
            verdict = "the claim is violated there too" if played.breaks else "THE CLAIM HOLDS THERE"
            lines.append(f"replayed in packets{_numbers(found.case.claim, played.value, played.shown)}; {verdict}")
    if evidence.unplayed:
        lines.append(f"not replayed in packets: {evidence.unplayed}")
    if (made := evidence.certificate) is not None:
        steps = f"{made.propagations} propagations, {made.lemmas} lemmas"
        lines.append(f"certificate: {steps}, none unchecked; accepted ({made.cpu_s:.1f} CPU s)")
    if evidence.uncertified:
        lines.append(f"NO CERTIFICATE: {evidence.uncertified}")
    if out is not None:
        folder = out / _folder(found.case)
        lines.append(f"stored in {folder}/")
        if evidence.certificate is not None:
            from fairweir.formal.certificates import checker

            files = f"{folder}/question.smt2 {folder}/certificate.txt"
            lines.append(f"check it with: python {checker.__file__} {files}")
    return lines


def _numbers(claim: Claim, value: Fraction | None, shown: Mapping[str, Fraction]) -> str:
    """Return the numbers of a claim as a text that is displayed after the description."""
    if shown:
        return ": " + ", ".join(f"{name} = {plain(float(number), 4)}" for name, number in shown.items())
    return "" if value is None else f": {plain(float(value), 4)} {claim.unit}".rstrip()


def show_list(as_json: bool) -> None:
    """Print the CCAs, models and claims available for verification."""
    from fairweir.formal.claims.claim import INVARIANT, INVARIANT_MEANING
    from fairweir.formal.claims.comparisons import FIXED, FLOW, PATH
    from fairweir.formal.claims.syntax import DEMANDS
    from fairweir.formal.encoding.buffers import Buffer
    from fairweir.formal.encoding.properties import PROPERTIES
    from fairweir.formal.hand_encoded import HAND_ENCODED
    from fairweir.formal.models import MODELS
    from fairweir.formal.verdicts.subjects import rule_names

    quantities = {**PATH, **FLOW, **FIXED}
    if as_json:
        rows = {
            name: {
                "default": str(one.constant.default),
                "unit": one.constant.unit,
                "reason": one.constant.reason,
                "meaning": one.meaning,
            }
            for name, one in PROPERTIES.items()
        }
        ccas = {"rules": rule_names(), "by_hand": list(HAND_ENCODED)}
        buffers = [str(buffer) for buffer in Buffer]
        invariant = {"meaning": INVARIANT_MEANING, "demands": dict(DEMANDS)}
        document = {"ccas": ccas, "models": list(MODELS), "buffers": buffers, "properties": rows}
        output.print_json({**document, INVARIANT: invariant, "quantities": quantities})
        return
    table = Table(box=None, show_header=False)
    table.add_row("rules", ", ".join(rule_names()))
    table.add_row("by hand", ", ".join(HAND_ENCODED))
    table.add_row("models", ", ".join(MODELS))
    table.add_row("buffers", ", ".join(Buffer))
    claims = Table("property, default", "bounded quantity", box=None, header_style="bold")
    for name, one in PROPERTIES.items():
        sign = "≥" if one.is_at_least else "≤"
        default = f"{name} {sign} {one.constant.default} {one.constant.unit}"
        claims.add_row(default, f"{one.meaning} ({one.constant.reason})")
    claims.add_row(INVARIANT, f"{INVARIANT_MEANING} (thesis equation 4.1.3)")
    points = Table("quantity", "meaning", box=None, header_style="bold")
    for name, meaning in quantities.items():
        points.add_row(name, meaning)
    points.add_row("C_L, C_U, C_L_lambda, q_U, ...", "beliefs of a rule; state of a hand-encoded CCA")
    demands = Table("demand", "meaning", box=None, header_style="bold")
    for name, meaning in DEMANDS.items():
        demands.add_row(name, meaning)
    for title, rows_of in (
        ("", table),
        ("", claims),
        ("invariant(DEMAND, ...), each such as", demands),
        ("at sample points, such as `bq@end <= bq@0 - 1/2` or `69/100 <= C_L@end <= 3`", points),
    ):
        if title:
            output.stdout.print(title, soft_wrap=True)
        output.stdout.print(rows_of)
        output.stdout.print()
    output.stdout.print("claims are joined by `or` and `and`; docs/formal/verify.md", soft_wrap=True)
