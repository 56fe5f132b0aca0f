"""The files of an audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairweir.audit.evidence import write_evidence
from fairweir.audit.junit import write_junit
from fairweir.audit.summary import write_summary

if TYPE_CHECKING:
    from pathlib import Path

    from fairweir.audit.results import AuditResults


def write_files(results: AuditResults, folder: Path) -> None:
    """Write failing scenarios, ``results.json``, ``junit.xml``, ``summary.md`` and ``report.html`` to `folder`."""
    write_evidence(results, folder)
    results.save(folder / "results.json")
    write_junit(results, folder / "junit.xml")
    write_summary(results, folder / "summary.md")
    from fairweir.audit.report import write_report

    write_report(results, folder / "report.html")
