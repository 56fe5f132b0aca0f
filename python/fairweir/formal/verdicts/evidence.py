"""Evidence for a verdict of ``fairweir verify`` on a claim about a CCA, as files in a folder.

A proof shows that all traces of the CCA on a network model satisfy the claim; a refutation is a trace that violates the
claim. A trace lists the bytes that flows sent and that a link served and lost, at equally spaced points in time. The
packet run is the run of a refutation's trace in the simulator. A curve is the value of a cumulative quantity over time.
The files are::

    verdict.json     claim, assumptions, outcome, numbers
    question.smt2    the solvers' question: satisfiable if and only if the claim is wrong
    trace.json       the exact trace of a refutation
    scenario.toml    the trace as a scenario: ``fairweir run scenario.toml``
    run/             the record of the packet run
    picture.svg      the curves of the trace and of the packet run
    certificate.txt  a proof that a small program can check without a solver; with --certificate
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from fairweir.documents.atomic_write import write_text
from fairweir.errors import ConfigError, SolverError
from fairweir.formal.certificates.certificate import Certificate, certify, save
from fairweir.formal.claims.claim import Bound, Claim
from fairweir.formal.claims.measure import Curves
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.models import MODELS
from fairweir.formal.models.user import UserModel
from fairweir.formal.replay.packets import Replay, curves_of, scenario_of
from fairweir.formal.replay.picture import save_picture
from fairweir.formal.solving.solve import ProofOutcome
from fairweir.formal.verdicts.verify import Verification
from fairweir.play.run import Run, run

#: Maximum number of characters that a claim contributes to the name of a folder.
LONGEST_STEM = 60


@dataclass(frozen=True)
class Played:
    """The packet run of a refutation.

    Attributes
    ----------
    replay : Replay, the scenario
    run : Run, the record of the scenario's run
    curves : Curves of the packet run
    value : Fraction, the number that the claim bounds, in the packet run; None if the claim does not bound one number
    breaks : whether the packet run violates the claim too; None if the claim has quantities that packets do not
        determine, such as beliefs
    shown : the values in the packet run of the quantities that the claim names, such as ``queue@1``
    """

    replay: Replay
    run: Run
    curves: Curves
    value: Fraction | None
    breaks: bool | None
    shown: Mapping[str, Fraction] = field(default_factory=dict)


def play(found: Verification, trace: Trace, name: str) -> Played:
    """Run the trace of a refutation in the simulator.

    Parameters
    ----------
    found : Verification, a refutation
    trace : Trace of the refutation
    name : str, name of the scenario

    Raises
    ------
    ConfigError : the trace has no equivalent scenario
    """
    case = found.case
    words = f"{case.subject.name} on {case.model}: violates {case.claim.text}"
    replay = scenario_of(trace, name, words)
    record = run(replay.scenario, interval=replay.interval)
    curves = curves_of(record, replay, trace)
    holds = case.claim.holds(curves)
    return Played(
        replay, record, curves, case.claim.value(curves), None if holds is None else not holds, case.claim.shown(curves)
    )


@dataclass(frozen=True)
class Evidence:
    """A verdict with its evidence.

    Attributes
    ----------
    found : Verification, the verdict
    played : Played, the packet run of a refutation; None if there was no packet run
    certificate : Certificate of a proof; None if there is no certificate
    uncertified : str, the reason why a requested certificate is missing; empty otherwise
    unplayed : str, the reason why a refutation has no packet run; empty otherwise
    """

    found: Verification
    played: Played | None = None
    certificate: Certificate | None = None
    uncertified: str = ""
    unplayed: str = ""

    def document(self) -> dict[str, Any]:
        """Return the evidence as a JSON document; exact numbers have the form "p/q"."""
        found, case = self.found, self.found.case
        document: dict[str, Any] = {
            "cca": case.subject.name,
            "model": case.model,
            "claim": case.claim.text,
            "asked": case.claim.statement(case.system),
            "assumed": case.assumed(),
            "outcome": found.outcome.value,
            "reason": found.answer.reason,
            "solver": found.answer.solver,
            "cpu_s": round(found.cpu_s, 3),
            "question": found.answer.fingerprint,
        }
        if found.empty:
            document["empty"] = [part.text for part in found.empty]
        if found.trace is not None:
            document["refutation"] = {
                "value": None if found.value is None else str(found.value),
                "quantities": {name: str(value) for name, value in found.shown.items()},
                "unit": case.claim.unit,
                "margin": str(found.margin),
                "packets": self._packets(),
            }
            if self.unplayed:
                document["refutation"]["not_replayed"] = self.unplayed
        if isinstance(model := MODELS[case.model], UserModel):
            document["model_file"] = {"class": model.source, "sha256": model.digest}
        if self.certificate is not None:
            made = self.certificate
            steps = {"propagations": made.propagations, "lemmas": made.lemmas, "on_trust": 0}
            document["certificate"] = {**steps, "cpu_s": round(made.cpu_s, 3)}
        if self.uncertified:
            document["uncertified"] = self.uncertified
        return document

    def _packets(self) -> dict[str, Any] | None:
        if self.played is None:
            return None
        value = None if self.played.value is None else round(float(self.played.value), 6)
        quantities = {name: round(float(value), 6) for name, value in self.played.shown.items()}
        return {"value": value, "quantities": quantities, "breaks_the_claim": self.played.breaks}


def gather(found: Verification, *, with_certificate: bool = False, z3_steps: int | None = None) -> Evidence:
    """Return the evidence for a verdict: the packet run of a refutation, or the certificate of a proof.

    If no certificate is found, the proof remains valid, and :attr:`Evidence.uncertified` has the reason.

    Parameters
    ----------
    found : Verification
    with_certificate : bool, whether to search a certificate if the claim is proved
    z3_steps : int, z3's budget for the certificate; None: unlimited
    """
    if found.trace is not None:
        model = MODELS[found.case.model]
        if model.packets is None:
            reason = f"the model `{model.name}` has no equivalent in the simulator (`packets`)"
            return Evidence(found, unplayed=reason)
        try:
            return Evidence(found, played=play(found, found.trace, _stem(found)))
        except ConfigError as error:
            if not isinstance(model, UserModel):
                raise
            # A user's model may behave differently from the path elements that it names for the packet run. The verdict
            # is valid without the packet run.
            return Evidence(found, unplayed=f"the elements that `{model.name}` names do not fit: {error.message}")
    if not with_certificate or found.outcome is not ProofOutcome.PROVED:
        return Evidence(found)
    try:
        return Evidence(found, certificate=certify(found.case.question(found.case.claim).negated(), z3_steps))
    except SolverError as error:
        return Evidence(found, uncertified=error.message)


def keep(evidence: Evidence, folder: Path) -> list[Path]:
    """Write the evidence to files in a folder, and return the files' paths.

    Parameters
    ----------
    evidence : Evidence
    folder : Path; if the folder does not exist, it is created
    """
    folder.mkdir(parents=True, exist_ok=True)
    found, case = evidence.found, evidence.found.case
    question = case.question(case.claim).negated()
    files = {
        "verdict.json": json.dumps(evidence.document(), indent=2) + "\n",
        "question.smt2": question,
    }
    if found.trace is not None:
        files["trace.json"] = found.trace.to_json()
    if evidence.played is not None:
        files["scenario.toml"] = evidence.played.replay.scenario.to_toml()
    paths = []
    for name, text in files.items():
        paths.append(folder / name)
        write_text(paths[-1], text)
    if found.trace is not None and evidence.played is not None:
        paths.append(evidence.played.run.save(folder / "run"))
        paths.append(_picture(evidence, evidence.played, found.trace, folder))
    if evidence.certificate is not None:
        paths.append(save(evidence.certificate, question, folder)[1])
    return paths


def _picture(evidence: Evidence, played: Played, trace: Trace, folder: Path) -> Path:
    found, case = evidence.found, evidence.found.case
    title = f"{case.subject.name} on {case.model}: {case.claim.text} is refuted"
    if found.value is not None and played.value is not None:
        title += f"\ntrace (lines) {float(found.value):.4g}, packets (circles) {float(played.value):.4g}"
    return save_picture(Curves.of(trace), played.curves, title, folder / "picture.svg")


def _stem(found: Verification) -> str:
    case = found.case
    return f"{case.subject.name}-{case.model}-{claim_stem(case.claim)}"


def claim_stem(claim: Claim) -> str:
    """Return a claim as text that may occur in a file name; a long claim is truncated, and its hash is appended."""
    if isinstance(claim, Bound):
        return f"{claim.name}-{str(claim.bound).replace('/', 'of')}"
    stem = re.sub(r"[^A-Za-z0-9_.]+", "-", claim.text.replace("<", "below").replace(">", "above")).strip("-.")
    if len(stem) <= LONGEST_STEM and stem == claim.text:
        return stem
    return f"{stem[:LONGEST_STEM].strip('-.')}-{hashlib.sha256(claim.text.encode()).hexdigest()[:8]}"
