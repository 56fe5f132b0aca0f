"""``fairweir prove frcc-main`` and ``frcc-main-3``: FRCC's main cwnd update bounds throughput ratios under any jitter.

FRCC is a CCA of the thesis. Symbols: R, round-trip propagation delay; theta, queueing delay per flow; N_T, queueing
delay divided by theta. A case is a range of R/theta with assumptions about errors. The state space of a case is divided
into cells; a compiled search finds an attractor, a set of cells that every run reaches and does not leave. Each
attractor is compared with exact rounds and random runs. Controls are false claims, which must be refuted.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import random
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from fairweir import __version__, _core
from fairweir.documents import sealed
from fairweir.documents.atomic_write import write_text
from fairweir.documents.sealed import NotBelievedError
from fairweir.formal.frcc.main.check import escapes, play, sample
from fairweir.formal.frcc.main.controls import controls
from fairweir.formal.frcc.main.hand import lemmas
from fairweir.formal.frcc.main.rule import THESIS, Assumed
from fairweir.formal.frcc.main.update import Attractor, Case, attractor
from fairweir.formal.frcc.suite import check
from fairweir.formal.lemmas.inquiry import UNCHECKED, weakest_check
from fairweir.formal.lemmas.result import About, Constant, LemmaResult, ProofOutcome
from fairweir.formal.lemmas.steps import Step, as_it_is, settle_all
from fairweir.formal.lemmas.suites import OnProgress, Progress, Request

KERNEL: Final = replace(THESIS, slowest=Fraction(196, 256), fastest=Fraction(332, 256))
"""The clamps of the published kernel module."""

VARIANTS: Final[dict[str, Assumed]] = {
    "gamma_R 1.2": replace(THESIS, rate_under=Fraction(5, 6)),
    "kernel's clamps": KERNEL,
    "N_T off either way": replace(THESIS, nt_under=Fraction(1, 2)),
    "rates off either way": replace(THESIS, rate_under=Fraction(1, 2), rate_over=Fraction(2)),
    "theta 0.56 Delta_R": replace(THESIS, nt_over=Fraction(9, 10)),
}
"""Variants of the assumptions of theorem 7.5.2, each with one change."""

VARIED_AT: Final = ((Fraction(1), Fraction(11, 10)), (Fraction(5), Fraction(11, 2)), (Fraction(10), Fraction(11)))
"""Values of R/theta for the variants; FRCC's theta = 10 ms gives 5 and 10 for rtprops of 50 and 100 ms."""


@dataclass(frozen=True)
class Effort:
    """Number of rounds with which each attractor is compared.

    Attributes
    ----------
    cells : number of cells from whose corners exact rounds are run
    rounds : number of rounds in random runs
    """

    cells: int
    rounds: int


TWO: Final = Effort(cells=10, rounds=22_000)
"""A million rounds over all ranges of R/theta."""
THREE: Final = Effort(cells=1, rounds=50_000)


def two_flows(request: Request, on_progress: OnProgress) -> list[LemmaResult]:
    """Check all ranges of R/theta up to 20 (up to 100 with ``search``), variants, lemmas of ``hand.py``, and controls.

    Raises
    ------
    ConfigError : the folder for results cannot be used
    SolverError : a solver is missing, or two contradict each other
    """
    ranges = [
        _case(low, high) for low, high in _boxes(Fraction(0), Fraction(100 if request.search else 20), Fraction(11, 10))
    ]
    variants = [
        (f"{name}, R/theta {_span(low, high)}", replace(_case(low, high), assumed=assumed))
        for name, assumed in VARIANTS.items()
        for low, high in VARIED_AT
    ]
    variants += [
        (f"one after another, R/theta {_span(low, high)}", replace(_case(low, high), schedule="sequential"))
        for low, high in VARIED_AT
    ]
    return run(request, on_progress, ranges, variants, TWO)


def three_flows(request: Request, on_progress: OnProgress) -> list[LemmaResult]:
    """Check ranges of R/theta from 1/2 to 4 for three flows; smaller values of R/theta would require smaller cells.

    Raises
    ------
    ConfigError : the folder for results cannot be used
    SolverError : a solver is missing, or two contradict each other
    """
    step = Fraction(1, 30) if request.search else Fraction(1, 20)
    ranges = [
        Case(low, high, flows=3, odds_step=step, nt_step=Fraction(1, 20))
        for low, high in _boxes(Fraction(1, 2), Fraction(4), Fraction(5, 4))
    ]
    return run(request, on_progress, ranges, [], THREE)


def _case(low: Fraction, high: Fraction) -> Case:
    """Return a case with smaller cells for larger R/theta, because rates change less per round if R/theta is large."""
    step = Fraction(1, 100) if high <= 10 else Fraction(1, 200) if high <= 25 else Fraction(1, 400)
    return Case(low, high, odds_step=step if high <= 50 else Fraction(1, 800))


def _boxes(first: Fraction, last: Fraction, ratio: Fraction) -> Iterator[tuple[Fraction, Fraction]]:
    """Divide (first, last] into ranges whose upper end is about `ratio` times the lower end.

    A range is at least 1/20 wide if it begins below 1/10, and at least 1/10 wide otherwise.
    """
    low = first
    while low < last:
        grown = Fraction(math.floor(low * ratio * 100), 100)
        high = min(max(grown, low + (Fraction(1, 20) if low < Fraction(1, 10) else Fraction(1, 10))), last)
        yield low, high
        low = high


def _span(low: Fraction, high: Fraction) -> str:
    return f"{float(low):g} to {float(high):g}"


def run(
    request: Request,
    on_progress: OnProgress,
    ranges: list[Case],
    variants: list[tuple[str, Case]],
    effort: Effort,
) -> list[LemmaResult]:
    """Check the lemmas of ``hand.py``, all cases and the controls; return one result each, and the conclusion.

    Parameters
    ----------
    request : Request
    on_progress : called before and after each step
    ranges : list of Cases with adjoining ranges of R/theta; the conclusion holds for all these ranges together
    variants : list of (name, Case) with other assumptions
    effort : Effort, for each case
    """
    named = [*((f"R/theta {_span(case.r_low, case.r_high)}", case) for case in ranges), *variants]
    steps = itertools.chain(
        (Step(lemma.name, partial(_lemma, place, request.budget_s), as_it_is) for place, lemma in enumerate(lemmas())),
        (_step(request, name, case, effort) for name, case in named),
        (Step(control.name, partial(_control, place), as_it_is) for place, control in enumerate(controls())),
    )
    results = settle_all(steps, request, on_progress, len(lemmas()) + len(named) + len(controls()) + 1)
    results.append(_altogether(ranges, results[len(lemmas()) : len(lemmas()) + len(ranges)]))
    on_progress(Progress(results[-1].name, len(results), len(results), len(results) - 1), results[-1])
    return results


def _lemma(place: int, budget_s: float) -> LemmaResult:
    return check(lemmas()[place], budget_s)


def _control(place: int) -> LemmaResult:
    return controls()[place].check()


def _altogether(ranges: list[Case], results: list[LemmaResult]) -> LemmaResult:
    """Return the conclusion for all ranges together: proved only if each range is; the ratio is the largest of all."""
    low, high, flows = ranges[0].r_low, ranges[-1].r_high, ranges[0].flows
    adjoin = all(a.r_high == b.r_low for a, b in itertools.pairwise(ranges))
    outcomes = {result.outcome for result in results}
    outcome = ProofOutcome.REFUTED if ProofOutcome.REFUTED in outcomes else ProofOutcome.UNKNOWN
    if adjoin and outcomes == {ProofOutcome.PROVED}:
        outcome = ProofOutcome.PROVED
    worst = max((Fraction(c.ours) for r in results for c in r.constants if c.name == RATIO), default=None)
    return LemmaResult(
        f"all R/theta {_span(low, high)}",
        f"{flows} flows, main update: from some round on no flow has more than the ratio times another's rate",
        outcome,
        constants=() if worst is None else (Constant(RATIO, f"{float(worst):.2f}"),),
        note="the worst of the ranges above, which adjoin",
        about=About.CCA,
        kept=weakest_check(results),
    )


RATIO: Final = "ratio"


def _step(request: Request, name: str, case: Case, effort: Effort) -> Step | LemmaResult:
    """Return the stored result of a case if the result can be verified; otherwise the search for its attractor."""
    doubt, question = "", _question(case, effort)
    if request.out is not None and (path := _path(request.out, question)).exists():
        try:
            return _recalled(name, path, question, _cells(path) if request.certificate else None)
        except NotBelievedError as error:
            doubt = f"a stored result was rejected and the case was searched again: {error}"

    def conclude(found: tuple[LemmaResult, str]) -> LemmaResult:
        result, certificate = found
        if request.out is not None:
            result = _stored(result, certificate, case, question, _path(request.out, question))
        return replace(result, note="; ".join(filter(None, [doubt, result.note])))

    return Step(name, partial(_prove, name, case, effort, with_certificate=request.certificate), conclude)


def _path(out: Path, question: str) -> Path:
    return out / f"frcc-main-{question[:12]}.json"


def _cells(path: Path) -> Path:
    return path.with_name(f"{path.stem}-cells.json")


def _stored(result: LemmaResult, certificate: str, case: Case, question: str, path: Path) -> LemmaResult:
    """Store the result of a case and its certificate, if there is one; return the result with the paths."""
    files, cells_hash = [str(path)], ""
    if certificate:
        files.append(str(_cells(path)))
        write_text(_cells(path), certificate)
        cells_hash = hashlib.sha256(certificate.encode()).hexdigest()
    result = replace(result, files=tuple(files))
    sealed.write(path, {"question": question, "cells": cells_hash, "case": case.document(), **result.document()})
    return result


def _question(case: Case, effort: Effort) -> str:
    """Return the hash of all inputs of a result: the case, the effort, the version, and the compiled search."""
    asked = json.dumps([case.document(), asdict(effort), __version__, _program()])
    return hashlib.sha256(asked.encode()).hexdigest()


@cache
def _program() -> str:
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()


def _prove(name: str, case: Case, effort: Effort, *, with_certificate: bool) -> tuple[LemmaResult, str]:
    """Search the attractor of a case, and compare the attractor with random runs and exact rounds.

    Returns
    -------
    (LemmaResult, str) : the result without files, and the certificate as JSON text if it is requested and found
    """
    started = time.process_time()
    unit = "rates stay within a ratio, N_T in a range, from some round on"
    found = attractor(case)
    if isinstance(found, str):
        return LemmaResult(
            name,
            unit,
            ProofOutcome.UNKNOWN,
            solver="cells",
            cpu_s=time.process_time() - started,
            note=found,
            about=About.CCA,
        ), ""
    dice = random.Random(1)  # noqa: S311
    runs = play(found, effort.rounds, dice)
    escape = None
    if case.schedule == "synchronous":
        escape = next(escapes(found, case.assumed, sample(found, effort.cells, dice)), None)
    facts = found.found
    constants = (
        Constant(RATIO, _up(facts.worst_ratio)),
        Constant("ratio seen", f"{runs.worst_ratio:.2f}"),
        Constant("ratio by hand", _up(facts.hand_worst_ratio)),
        Constant("N_T", f"[{math.floor(facts.n_t[0] * 100) / 100:.2f}, {_up(facts.n_t[1])}]"),
    )
    outcome, note = ProofOutcome.PROVED, ""
    if escape is not None:
        outcome, note = ProofOutcome.REFUTED, f"a round leaves the cells: {escape}"
    elif runs.strays:
        outcome, note = ProofOutcome.REFUTED, f"{runs.strays} of {runs.rounds} rounds at random leave the cells"
    claim = f"no flow has more than {_up(facts.worst_ratio)} times another's rate"
    cpu_s = time.process_time() - started
    result = LemmaResult(
        name, claim, outcome, constants=constants, solver="cells", cpu_s=cpu_s, note=note, about=About.CCA
    )
    return result, json.dumps(_certificate(found), indent=1) + "\n" if with_certificate else ""


def _up(x: float) -> str:
    """Return `x` with two decimals, rounded up, so that an upper bound stays valid."""
    return f"{math.ceil(x * 100) / 100:.2f}"


def _certificate(found: Attractor) -> dict[str, Any]:
    """Return the attractor as a JSON object: the borders of the cells, and the indices of the attractor's cells.

    The index of a cell is counted over N_T first and over the ratio of the last pair of rates last (row-major order).
    """
    return {
        "case": found.case.document(),
        "found": asdict(found.found),
        "odds_borders": found.odds,
        "n_t_borders": found.n_t,
        "runs": found.runs(),
    }


def _recalled(name: str, path: Path, question: str, cells: Path | None) -> LemmaResult:
    """Return the stored result of a case.

    Only the seal is verified, which shows that this installation wrote the file: a search has no certificate that could
    be checked.

    Raises
    ------
    NotBelievedError : the stored result cannot be verified, or the required cells are missing
    """
    document = sealed.read(path)
    if not sealed.is_sealed(document):
        raise NotBelievedError(f"{path} was changed, or was not written by this installation")
    if document["question"] != question:
        raise NotBelievedError(f"{path} answers another question")
    if cells is not None and document["outcome"] != ProofOutcome.UNKNOWN.value:
        text = sealed.read_text(cells)
        if hashlib.sha256(text.encode()).hexdigest() != document["cells"]:
            raise NotBelievedError(f"{cells} was changed, or was not written by this installation")
    note = f"{UNCHECKED}: an earlier run's search"
    return LemmaResult(
        name,
        document["claim"],
        ProofOutcome(document["outcome"]),
        constants=tuple(Constant(c["name"], c["ours"]) for c in document["constants"]),
        solver=document["solver"],
        cpu_s=document["cpu_s"],
        note="; ".join(filter(None, [note, document["note"]])),
        about=About.CCA,
        files=tuple(document["files"]),
        kept=UNCHECKED,
    )
