"""Store the findings of a search on disk, one line for each judged candidate, so that an interrupted search resumes.

Terms: a query file defines a search. A candidate is one of the CCAs (congestion control algorithms) that the search
considers. A finding is the solvers' answer for one candidate: the candidate holds (it meets the requirements on every
trace of the network), is refuted by a counterexample (a trace on which it violates them), or neither is known. A seal
is a keyed hash that only this user's installation can write (:mod:`fairweir.documents.sealed`).

Each line is verified when it is read. A counterexample is computed again in exact fractions. A line that states that a
candidate holds is accepted if its seal is valid. If a line is rejected, its candidate is checked again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairweir.documents import sealed
from fairweir.documents.atomic_write import append_line, write_bytes, write_text
from fairweir.documents.sealed import NotBelievedError
from fairweir.errors import ConfigError
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.solving.solvers import Satisfiable
from fairweir.synth.verifier import Finding, Stage, Verifier

HEAD = "search.json"
FINDINGS = "findings.jsonl"


@dataclass(frozen=True)
class Archive:
    """The directory that stores the findings of a search; if `directory` is None, nothing is stored.

    Attributes
    ----------
    directory : Path or None
    """

    directory: Path | None

    def begin(self, verifier: Verifier) -> tuple[list[Finding], list[str]]:
        """Return the stored findings that pass verification, in the order in which they were stored.

        If the directory does not exist, it is created. Findings that fail verification are removed from the file, so
        that their candidates are checked again.

        Returns
        -------
        findings, and one reason for each rejected finding

        Raises
        ------
        ConfigError : the directory stores the search of another query, or cannot be read or created
        """
        if self.directory is None:
            return [], []
        query = verifier.query
        head = self.directory / HEAD
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            if not head.exists():
                write_text(head, json.dumps({"query": query.name, "fingerprint": query.fingerprint}) + "\n")
                (self.directory / FINDINGS).unlink(missing_ok=True)
                return [], []
            asked = sealed.read(head)
        except (OSError, ValueError, NotBelievedError) as error:
            raise ConfigError(
                f"cannot store a search here: {error}", source=str(self.directory), hint="choose another --out"
            ) from None
        if asked.get("fingerprint") != query.fingerprint:
            raise ConfigError(
                f"this directory holds another search, of `{asked.get('query')}`",
                source=str(head),
                hint="choose another --out, or remove the directory; the query may have changed since",
            )
        return _believed(self.directory / FINDINGS, verifier)

    def add(self, finding: Finding, verifier: Verifier) -> None:
        """Append a finding with a seal to the file; without a directory, do nothing."""
        if self.directory is None:
            return
        holds = finding.verdict is Satisfiable.UNSAT
        document = {**to_document(finding), "question": verifier.question(finding.candidate) if holds else ""}
        append_line(self.directory / FINDINGS, json.dumps(sealed.sealed(document)))


def _believed(path: Path, verifier: Verifier) -> tuple[list[Finding], list[str]]:
    """Return the accepted findings of a file, and a reason for each rejected line.

    If the last line is incomplete, writing was interrupted; the line is dropped without a reason.
    """
    if not path.exists():
        return [], []
    text = path.read_bytes()
    whole = text[: text.rfind(b"\n") + 1]
    findings, lines, doubts = [], [], []
    for number, line in enumerate(whole.splitlines(keepends=True), 1):
        try:
            findings.append(_finding(line, verifier))
            lines.append(line)
        except NotBelievedError as error:
            doubts.append(f"{path}, line {number}: {error}")
    if len(whole) < len(text) or doubts:
        write_bytes(path, b"".join(lines))
    return findings, doubts


def _finding(line: bytes, verifier: Verifier) -> Finding:
    """Parse one line of the file, verify the finding, and return it.

    Raises
    ------
    NotBelievedError : the line is damaged or not sealed, or the trace is not a counterexample to the candidate
    """
    try:
        document = json.loads(line)
        finding = from_document(document)
        question = str(document.get("question", ""))
        sizes = verifier.query.space.sizes
        if len(finding.candidate) != len(sizes) or not all(
            type(index) is int and 0 <= index < size for index, size in zip(finding.candidate, sizes, strict=True)
        ):
            raise NotBelievedError("no candidate of this template")
        doubt = verifier.doubt(finding, question, is_sealed=sealed.is_sealed(document))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, ZeroDivisionError, RecursionError):
        raise NotBelievedError("damaged") from None
    if doubt:
        raise NotBelievedError(doubt)
    return finding


def to_document(finding: Finding) -> dict[str, Any]:
    """Return a finding as a JSON document that :func:`from_document` can parse."""
    return {
        "candidate": list(finding.candidate),
        "verdict": finding.verdict.value,
        "stage": finding.stage.value,
        "solver": finding.solver,
        "cpu_s": round(finding.cpu_s, 4),
        "reason": finding.reason,
        "trace": finding.trace and finding.trace.model_dump(mode="json"),
    }


def from_document(document: Mapping[str, Any]) -> Finding:
    """Return the finding that a document from :func:`to_document` describes."""
    return Finding(
        tuple(document["candidate"]),
        Satisfiable(document["verdict"]),
        document["trace"] and Trace.model_validate(document["trace"]),
        document["solver"],
        document["cpu_s"],
        document["reason"],
        Stage(document["stage"]),
    )
