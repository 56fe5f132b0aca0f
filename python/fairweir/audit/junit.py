"""JUnit XML, as continuous-integration services read it: a suite a CCA, a case an exhibit."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from fairweir.verdict import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from fairweir.audit.results import AuditResults, ExhibitResult


def write_junit(results: AuditResults, path: Path) -> None:
    """Write `results` to `path`; unknown verdicts are skipped cases, with their reason."""
    root = ET.Element("testsuites", name="fairweir audit")
    for cca in results.ccas:
        outcomes = [exhibit.verdict for exhibit in cca.exhibits]
        suite = ET.SubElement(
            root,
            "testsuite",
            name=cca.cca,
            tests=str(len(outcomes)),
            failures=str(outcomes.count(Outcome.FAILS)),
            skipped=str(outcomes.count(Outcome.UNKNOWN)),
            errors="0",
        )
        for exhibit in cca.exhibits:
            _add_case(suite, cca.cca, exhibit)
    ET.indent(root)
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _add_case(suite: ET.Element, cca: str, exhibit: ExhibitResult) -> None:
    case = ET.SubElement(suite, "testcase", classname=cca, name=exhibit.name)
    if exhibit.verdict is Outcome.FAILS:
        failure = ET.SubElement(case, "failure", message=_printable(f"{exhibit.claim}: {exhibit.why}"))
        failure.text = _printable(_details(exhibit))
    elif exhibit.verdict is Outcome.UNKNOWN:
        ET.SubElement(case, "skipped", message=_printable(exhibit.why))
    else:
        ET.SubElement(case, "system-out").text = _printable(_details(exhibit))


def _details(exhibit: ExhibitResult) -> str:
    lines = [f"claim: {exhibit.claim}"]
    if exhibit.value is not None:
        lines.append(f"value: {exhibit.value:.4g} {exhibit.unit} at {exhibit.at}")
    if exhibit.lo is not None and exhibit.hi is not None:
        lines.append(f"interval: {exhibit.lo:.4g} to {exhibit.hi:.4g}")
    if exhibit.threshold is not None:
        lines.append(f"threshold: {exhibit.threshold}, because {exhibit.threshold.reason} ({exhibit.threshold.source})")
    lines.append(f"verdict: {exhibit.verdict}, {exhibit.why}")
    if exhibit.replay:
        lines.append(f"replay: {exhibit.replay}")
    return "\n".join(lines)


def _printable(text: str) -> str:
    """XML 1.0 has no control characters; a CCA's exception may."""
    return "".join(c for c in text if c in "\t\n" or c >= " ")
