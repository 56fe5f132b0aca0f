"""``fairweir verify CONTROLLER.json``: proofs of claims about each leaf of a decision tree; replays of refutations."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table
from rich.text import Text

from fairweir.cli import output
from fairweir.cli.progress import meter
from fairweir.errors import ConfigError
from fairweir.formal.solving.solvers import Budget, SolverName
from fairweir.units import Duration

if TYPE_CHECKING:
    from fairweir.ccas.controller_file import Controller
    from fairweir.game.bounded import Checked
    from fairweir.game.lemmas import Proved
    from fairweir.game.proofs import LeafVerdict
    from fairweir.game.realise import Refutation

CLAIM_FAILS = 1
#: Exit code if a claim is vacuous, or if a certificate was requested and could not be made.
BAD_INPUT = 2
SYMBOLS = {"proved": "✓", "refuted": "✗", "unknown": "?", "vacuous": "∅"}
COLOURS = {"proved": "green", "refuted": "red", "unknown": "yellow", "vacuous": "yellow"}


def verify_controller(
    path: Path,
    properties: Sequence[str],
    budget: Budget,
    solvers: Sequence[SolverName],
    *,
    certificate: bool,
    out: Path | None,
    write: bool,
    as_json: bool,
) -> None:
    """Prove or refute claims about every leaf of a controller, or replay a refutation.

    Raises
    ------
    typer.Exit : 1 if a claim is refuted or unknown, 2 if a claim is vacuous or lacks a requested certificate
    ConfigError : the file is not a controller, or a claim is invalid
    """
    from fairweir.ccas.controller_file import Controller, Kind, parse_json, read
    from fairweir.game.bounded import FIRST_STEPS, Progress, check
    from fairweir.game.claims import default_claims, parse_claim
    from fairweir.game.lemmas import prove_lemmas
    from fairweir.game.proofs import Prover
    from fairweir.game.realise import FORMAT, Realiser, parse

    data = read(path)
    raw = parse_json(data, str(path))
    if isinstance(raw, dict) and raw.get("format") == FORMAT:
        if properties or write or out is not None or certificate:
            raise ConfigError(
                "a refutation file can only be replayed", source=str(path), hint="leave out all options except --json"
            )
        show_replay(parse(raw, str(path)), as_json=as_json)
        return
    controller = Controller.parse(data, str(path), is_to_prove=True)
    progress = [claim for claim in map(Progress.parse, properties) if claim is not None]
    claims = [parse_claim(text, controller.kind) for text in properties if Progress.parse(text) is None]
    if not properties:
        claims = list(default_claims(controller.kind))
        progress = [FIRST_STEPS] if controller.kind is Kind.RATE else []
    prover = Prover(
        budget, solvers, with_certificates=certificate, realiser=Realiser(controller.links, controller.points)
    )
    begin = time.monotonic()
    with meter("verify", counts=True) as report:

        def on_leaf(done: int) -> None:
            report(f"{controller.name}: leaf {done + 1}")
            report.count(done, len(controller.leaves))

        report("lemmas of the model")
        lemmas = prove_lemmas(budget, solvers, with_certificates=certificate)
        verdicts = prover.prove(controller, claims, on_leaf) if claims else []
        checked: list[Checked] = []
        for one in progress:
            report(one.text)
            checked.append(check(controller, one, budget, solvers))
    elapsed_s = time.monotonic() - begin
    kept = keep(verdicts, out) if out is not None else {}
    if write:
        write_proofs(path, controller, _all(verdicts, checked))
    if as_json:
        rows = [verdict.document() for verdict in _all(verdicts, checked)]
        document = {"controller": controller.name, "elapsed_s": round(elapsed_s, 2), "verdicts": rows}
        output.print_json({**document, "lemmas": [one.document() for one in lemmas]})
    else:
        show(controller, verdicts, checked, kept, elapsed_s)
        show_lemmas(lemmas)
    outcomes = {verdict.outcome.value for verdict in _all(verdicts, checked)}
    outcomes |= {one.answer.outcome.value for one in lemmas}
    if "vacuous" in outcomes:
        raise typer.Exit(BAD_INPUT)
    if outcomes - {"proved"}:
        raise typer.Exit(CLAIM_FAILS)
    if any(one.uncertified for one in verdicts) or any(one.uncertified for one in lemmas):
        raise typer.Exit(BAD_INPUT)


def _all(verdicts: Sequence[LeafVerdict], checked: Sequence[Checked]) -> list[LeafVerdict | Checked]:
    return [*verdicts, *checked]


def keep(verdicts: Sequence[LeafVerdict], folder: Path) -> dict[tuple[int, str], Path]:
    """Write each certificate and refutation to its own files; return the path for each leaf and claim."""
    from fairweir.documents.atomic_write import write_text
    from fairweir.formal.certificates.certificate import save

    kept: dict[tuple[int, str], Path] = {}
    for verdict in verdicts:
        stem = f"leaf-{verdict.leaf}-{verdict.claim.text.replace('<=', '-').replace('/', '-')}"
        if verdict.refutation is not None:
            target = folder / f"{stem}.json"
            write_text(target, json.dumps(verdict.refutation.document(), indent=1) + "\n")
            kept[verdict.leaf, verdict.claim.text] = target
        if verdict.certificate is not None:
            (folder / stem).mkdir(parents=True, exist_ok=True)
            save(verdict.certificate, verdict.question, folder / stem)
            kept[verdict.leaf, verdict.claim.text] = folder / stem
    return kept


def write_proofs(path: Path, controller: Controller, verdicts: Sequence[LeafVerdict | Checked]) -> None:
    """Replace the proofs in a controller's file, completely or not at all."""
    from fairweir.ccas.controller_file import with_proofs
    from fairweir.documents.atomic_write import write_text

    proofs: list[dict[str, Any]] = []
    for verdict in verdicts:
        outcome, detail = verdict.outcome.value, verdict.reason
        if outcome == "vacuous":
            # In a controller's file, a vacuous claim counts as not proved.
            outcome, detail = "unknown", f"vacuous: {detail}"
        row: dict[str, Any] = {"claim": verdict.claim.text, "status": outcome}
        if (leaf := getattr(verdict, "leaf", None)) is not None:
            row["leaf"] = leaf
        proofs.append({**row, "detail": detail} if detail else row)
    document = with_proofs(controller.document, proofs)
    write_text(path, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def show(
    controller: Controller,
    verdicts: Sequence[LeafVerdict],
    checked: Sequence[Checked],
    kept: dict[tuple[int, str], Path],
    elapsed_s: float,
) -> None:
    """Print a table of leaves and claims, then the counterexamples."""
    names = {index: leaf.name for index, leaf, _ in controller.leaves}
    table = Table("leaf", "claim", "outcome", "CPU ms", "action", box=None, header_style="bold")
    for verdict in verdicts:
        outcome = verdict.outcome.value
        word = Text(f"{SYMBOLS[outcome]} {outcome}", COLOURS[outcome])
        time_ms = f"{Duration.from_s(verdict.cpu_s).ms:.1f}"
        table.add_row(str(verdict.leaf), verdict.claim.text, word, time_ms, names[verdict.leaf])
    output.stdout.print(table)
    for one in checked:
        _show_checked(one)
    paths = {index: path for index, _, path in controller.leaves}
    for verdict in verdicts:
        for line in details(verdict, " and ".join(map(str, paths[verdict.leaf])), kept):
            output.stdout.print(line, soft_wrap=True)
    counts = Counter(verdict.outcome.value for verdict in _all(verdicts, checked))
    words = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    certified = sum(verdict.certificate is not None for verdict in verdicts)
    accepted = f"; {certified} with a certificate that both checkers accept" if certified else ""
    output.stdout.print(f"\n{controller.name}: {len(controller.leaves)} leaves, {words}; {elapsed_s:.1f} s{accepted}")


def show_lemmas(lemmas: Sequence[Proved]) -> None:
    """Print one line if all lemmas about the model are proved; otherwise print the lemmas that are not proved."""
    certified = sum(one.certificate is not None for one in lemmas)
    words = f", {certified} of them with a certificate" if certified else ""
    if all(one.answer.outcome.value == "proved" and not one.uncertified for one in lemmas):
        output.stdout.print(f"lemmas about the model: {len(lemmas)} proved{words}")
        return
    for one in lemmas:
        outcome = one.answer.outcome.value
        if outcome != "proved" or one.uncertified:
            why = f"{one.answer.reason}{one.uncertified and f'NO CERTIFICATE: {one.uncertified}'}"
            output.stdout.print(f"{SYMBOLS[outcome]} {outcome}  {one.lemma.name}: {why}", soft_wrap=True)


def _show_checked(found: Checked) -> None:
    """Print the result of a claim about several steps."""
    outcome = found.outcome.value
    words = f"  {found.claim.text}: {found.claim.meaning} ({Duration.from_s(found.cpu_s).ms:.0f} CPU ms)"
    output.stdout.print(Text.assemble((f"\n{SYMBOLS[outcome]} {outcome}", COLOURS[outcome]), words), soft_wrap=True)
    if found.reason:
        output.stdout.print(f"  {found.reason}", soft_wrap=True)
    if found.run is not None:
        link = f"C = {float(found.run.c):.4g}, B = {float(found.run.b):.4g}"
        rates, known = (", ".join(f"{float(n):.4g}" for n in one) for one in (found.run.rates, found.run.min_c))
        output.stdout.print(f"  on the link with {link}: rates {rates}; M {known}", soft_wrap=True)


def details(verdict: LeafVerdict, path: str, kept: dict[tuple[int, str], Path]) -> list[str]:
    """Return lines about an unproved claim: the conditions that lead to the leaf, the reason, the counterexample."""
    if verdict.outcome.value == "proved" and not verdict.uncertified:
        return []
    lines = [f"\nleaf {verdict.leaf}, {verdict.claim.text}: {path or 'always'}"]
    if verdict.uncertified:
        lines.append(f"  NO CERTIFICATE: {verdict.uncertified}")
    if verdict.reason:
        lines.append(f"  {verdict.reason}")
    if verdict.refutation is not None:
        lines += [f"  {line}" for line in _words(verdict.refutation)]
        if (file := kept.get((verdict.leaf, verdict.claim.text))) is not None:
            lines.append(f"  replay it with: fairweir verify {file}")
    elif verdict.features and verdict.outcome.value == "unknown":
        numbers = ", ".join(f"{name} {float(value):.3g}" for name, value in verdict.features.items() if value)
        lines.append(f"  features, in units of M: {numbers}")
    return lines


def _words(refutation: Refutation) -> list[str]:
    n = {name: f"{float(value):.4g}" for name, value in refutation.shown().items()}
    return [
        f"the observations allow C from {n['min_c']} to {n['max_c']} packets per step, a queue of up to {n['max_q']}, "
        f"and {n['safe_rate']} packets per step without risk of loss",
        f"sent: {n['rate']} packets, of which {n['message']} carry frames; next encoder target: {n['encode']} packets",
        f"on the link with C = {n['c']}, B = {n['b']}: queue {n['queue']}, {n['loss']} lost, "
        f"{n['queue_after']} queued afterwards; the claim is violated by {n['broken_by']} packets",
    ]


def show_replay(refutation: Refutation, *, as_json: bool) -> None:
    """Print the replay of a refutation, and exit with code 1, because the claim is refuted.

    Raises
    ------
    typer.Exit : always
    """
    if as_json:
        output.print_json(refutation.document())
    else:
        claim = f"{refutation.controller.name}, leaf {refutation.leaf}: {refutation.claim.text}"
        output.stdout.print(Text.assemble(("✗ refuted", "red"), f"  {claim}"), soft_wrap=True)
        _show_points(refutation)
        for line in _words(refutation):
            output.stdout.print(f"  {line}", soft_wrap=True)
    raise typer.Exit(CLAIM_FAILS)


def _show_points(refutation: Refutation) -> None:
    """Print the observations and the states of the link, one row per point."""
    window, played, act = refutation.situation.window, refutation.played, refutation.act
    table = Table("point", "sent", "delivered", "lost", "accepted", "served", "queue", box=None, header_style="bold")
    sent = [*window.sent, window.sent_next, window.sent_next + act.rate]
    for t, (accepted, served) in enumerate(zip(played.accepted, played.served, strict=True)):
        delivered = f"{float(window.delivered[t]):.4g}" if t < window.points else ""
        lost = f"{float(window.lost[t]):.4g}" if t < window.visible else "?"
        cells = [f"{float(number):.4g}" for number in (accepted, served, accepted - served)]
        table.add_row(str(t), f"{float(sent[t]):.4g}", delivered, lost, *cells)
    output.stdout.print(table)
