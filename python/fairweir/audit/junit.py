"""JUnit XML for continuous-integration services: one test suite per CCA, one test case per claim."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from fairweir.documents.atomic_write import write_bytes
from fairweir.judging.difference import Relation
from fairweir.judging.outcome import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from fairweir.audit.results import AuditResults, ClaimResult, Comparison
    from fairweir.audit.standings import Relative


def write_junit(results: AuditResults, path: Path) -> None:
    """Write `results` to `path`.

    A claim that fails is a failure, and an unknown claim is skipped; both have their reason. With a baseline, only a
    claim that worsened is a failure, as for the exit status; all other claims pass. A passed test case lists the
    claim's details in its output. With a reference, the test cases are the metrics of the comparison, and a failure is
    a metric that is worse.
    """
    root = ET.Element("testsuites", name="fairweir audit")
    for relative in results.relative:
        _add_relative(root, relative)
    for cca in [] if results.relative else results.ccas:
        outcomes = [_judged(exhibit, cca.cca, results.comparison) for exhibit in cca.exhibits]
        suite = ET.SubElement(
            root,
            "testsuite",
            name=cca.cca,
            tests=str(len(outcomes)),
            failures=str(outcomes.count(Outcome.FAILS)),
            skipped=str(outcomes.count(Outcome.UNKNOWN)),
            errors="0",
        )
        for exhibit, outcome in zip(cca.exhibits, outcomes, strict=True):
            _add_case(suite, cca.cca, exhibit, outcome, results.comparison)
    ET.indent(root)
    write_bytes(path, ET.tostring(root, encoding="utf-8", xml_declaration=True))


def _add_relative(root: ET.Element, relative: Relative) -> None:
    suite = ET.SubElement(
        root,
        "testsuite",
        name=_printable(f"{relative.cca} against {relative.reference}"),
        tests=str(len(relative.standings)),
        failures=str(len(relative.of(Relation.WORSE))),
        skipped="0",
        errors="0",
    )
    for standing in relative.standings:
        case = ET.SubElement(suite, "testcase", classname=_printable(relative.cca), name=_printable(standing.name))
        words = f"{standing.relation}: {standing.values} ({standing.change or 'no difference'}) at {standing.at}"
        lines = [words, standing.why, *(f"replay: {side.replay}" for side in standing.shown_by if side.replay)]
        if standing.relation is Relation.WORSE:
            ET.SubElement(case, "failure", message=_printable(words)).text = _printable("\n".join(lines))
        else:
            ET.SubElement(case, "system-out").text = _printable("\n".join(lines))


def _judged(exhibit: ClaimResult, cca: str, comparison: Comparison | None) -> Outcome:
    """Return the outcome for JUnit: the verdict; with a baseline, fails if the claim worsened and otherwise holds."""
    if comparison is None:
        return exhibit.verdict
    change = comparison.change(cca, exhibit.name)
    return Outcome.FAILS if change is not None and change.direction == "worsened" else Outcome.HOLDS


def _add_case(
    suite: ET.Element, cca: str, exhibit: ClaimResult, outcome: Outcome, comparison: Comparison | None
) -> None:
    case = ET.SubElement(suite, "testcase", classname=cca, name=exhibit.name)
    change = comparison.change(cca, exhibit.name) if comparison is not None else None
    details = _printable("\n".join([*([f"baseline: {change}"] if change is not None else []), _details(exhibit)]))
    if outcome is Outcome.FAILS:
        message = str(change) if change is not None else f"{exhibit.claim}: {exhibit.why}"
        ET.SubElement(case, "failure", message=_printable(message)).text = details
    elif outcome is Outcome.UNKNOWN:
        ET.SubElement(case, "skipped", message=_printable(exhibit.why))
    else:
        ET.SubElement(case, "system-out").text = details


def _details(exhibit: ClaimResult) -> str:
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
    """Remove control characters, which XML 1.0 does not allow; the message of a CCA's exception may contain some."""
    return "".join(c for c in text if c in "\t\n" or c >= " ")
