"""Published outcomes beside ours as a page of the documentation: ``fairweir reproduce --page FILE``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairweir.drawing import formats
from fairweir.reproduce.table import closing
from fairweir.verdict import Outcome

if TYPE_CHECKING:
    from fairweir.reproduce.conduct import Reproduction
    from fairweir.reproduce.judge import Finding


def outcomes_page(reproduction: Reproduction, command: str) -> str:
    """Return Markdown: a section an experiment, with what was published, ours and the verdict of every check.

    Parameters
    ----------
    command : str, that makes the page
    """
    lines = [
        "# Published outcomes beside ours",
        "",
        f"Made by `{command}`, fairweir {reproduction.version}: {closing(reproduction)}. What figure, table or theorem "
        "each entry belongs to is in `gallery.md`, what a check is held to in `reproduce.md`. Ours with its 95 % "
        "interval over seeds; × is by the published number.",
        "",
    ]
    for name, about in reproduction.experiments.items():
        lines += [f"## {name}", "", f"{about['title']} ({about['source']}).", "", f"Published: {about['published']}."]
        if about.get("setup"):
            lines.append(f"Set-up: {about['setup'].rstrip('.')}.")
        lines += ["", "| case | claim | published | ours | bound | verdict |", "| --- | --- | --- | --- | --- | --- |"]
        findings = [finding for finding in reproduction.findings if finding.experiment == name]
        lines += [_row(finding) for finding in findings]
        reasons = dict.fromkeys(f"{f.case}: {f.why}" for f in findings if f.why)
        lines += ["", *(f"- {reason}" for reason in reasons), *([""] if reasons else [])]
    return "\n".join(lines)


def _row(finding: Finding) -> str:
    verdict = finding.outcome.value
    if finding.is_known and finding.outcome is not Outcome.HOLDS:
        verdict += ", reason below"
    place = f" at {finding.at}" if finding.at else ""
    cells = (
        finding.case,
        f"{finding.claim} ({finding.reading}{place})",
        finding.published,
        _ours(finding),
        finding.bound,
        verdict,
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _ours(finding: Finding) -> str:
    times = "×" if finding.is_relative else ""
    value = f"{times}{formats.number(finding.value)}"
    if finding.lo is None or finding.hi is None or finding.lo == finding.hi:
        return value
    return f"{value} [{formats.number(finding.lo)}, {formats.number(finding.hi)}]"
