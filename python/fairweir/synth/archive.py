"""A search on disk: one line for every candidate that was judged, so that the same command goes on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairweir.errors import ConfigError
from fairweir.formal.solvers import Satisfiable
from fairweir.formal.trace import Trace
from fairweir.synth.query import Query
from fairweir.synth.verifier import Finding, Stage

HEAD = "search.json"
FINDINGS = "findings.jsonl"


@dataclass(frozen=True)
class Archive:
    """The findings of a search in a directory; without a directory nothing is kept.

    Attributes
    ----------
    directory : Path or None
    """

    directory: Path | None

    def begin(self, query: Query) -> list[Finding]:
        """Give the findings kept for a query, in their order; a first time, make the directory.

        Raises
        ------
        ConfigError : the directory holds another query's search, or cannot be used
        """
        if self.directory is None:
            return []
        head = self.directory / HEAD
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            if not head.exists():
                head.write_text(json.dumps({"query": query.name, "fingerprint": query.fingerprint}) + "\n", "utf-8")
                return []
            asked = json.loads(head.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"cannot keep a search here: {error}", source=str(self.directory), hint="give another --out"
            ) from None
        if asked.get("fingerprint") != query.fingerprint:
            raise ConfigError(
                f"this directory holds another search, of `{asked.get('query')}`",
                source=str(head),
                hint="give another --out, or remove the directory; the query may have changed since",
            )
        return list(_whole_lines(self.directory / FINDINGS))

    def add(self, finding: Finding) -> None:
        """Keep one more finding."""
        if self.directory is None:
            return
        with (self.directory / FINDINGS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(to_document(finding)) + "\n")


def _whole_lines(path: Path) -> Iterable[Finding]:
    """Read findings; a last line that was cut off is dropped from the file, so that the next one begins a line."""
    if not path.exists():
        return
    text = path.read_bytes()
    whole = text[: text.rfind(b"\n") + 1]
    if len(whole) < len(text):
        path.write_bytes(whole)
    for line in whole.decode().splitlines():
        yield from_document(json.loads(line))


def to_document(finding: Finding) -> dict[str, Any]:
    """Give a finding as JSON holds it."""
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
    """Read what :func:`to_document` wrote."""
    return Finding(
        tuple(document["candidate"]),
        Satisfiable(document["verdict"]),
        document["trace"] and Trace.model_validate(document["trace"]),
        document["solver"],
        document["cpu_s"],
        document["reason"],
        Stage(document["stage"]),
    )
