"""``summary.md``: an audit on one screen, for a comment on a pull request or the summary of a build."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairweir.audit.table import estimate, tally
from fairweir.documents.atomic_write import write_text
from fairweir.judging.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fairweir.audit.results import AuditResults, CcaResults, Comparison

#: Escapes of the characters that are markup in Markdown or would end a table cell.
_MARKUP = str.maketrans({character: f"\\{character}" for character in "\\`*_|<>[]"} | {"\n": " "})


def write_summary(results: AuditResults, path: Path) -> None:
    """Write the summary of `results` to `path`, in GitHub-flavored Markdown."""
    write_text(path, "\n".join(_lines(results)) + "\n")


def _lines(results: AuditResults) -> Iterator[str]:
    yield f"# Audit of {', '.join(_plain(cca.cca) for cca in results.ccas)}"
    if not results.complete:
        yield from ("", "**Incomplete**: the audit was interrupted; this summary covers the runs that had finished.")
    if results.comparison is not None:
        yield from _compared(results.comparison)
    for cca in results.ccas:
        yield from _verdicts(cca)
    yield ""
    yield (
        f"{results.runs} runs, {results.packets / 1e6:.0f} million packets, {len(results.seeds)} seeds,"
        f" {results.depth} battery, fairweir {results.version}."
    )


def _compared(comparison: Comparison) -> Iterator[str]:
    yield from ("", f"## Against the baseline: {comparison.headline}")
    if comparison.changes:
        yield from ("", "| | CCA | claim | baseline | now | why |", "| --- | --- | --- | --- | --- | --- |")
    for change in (*comparison.worsened, *comparison.improved):
        cells = (change.direction, change.cca, change.exhibit, change.before, change.now, change.reason)
        yield f"| {' | '.join(_plain(str(cell)) for cell in cells)} |"
    if comparison.not_compared:
        yield from ("", f"Claims in only one of the two audits, not compared: {len(comparison.not_compared)}.")


def _verdicts(cca: CcaResults) -> Iterator[str]:
    yield from ("", f"## {_plain(cca.cca)}: {cca.verdict.symbol} {cca.verdict} ({tally(cca) or 'no claims judged'})")
    open_claims = [e for e in cca.exhibits if e.verdict in (Outcome.FAILS, Outcome.UNKNOWN)]
    if open_claims:
        yield from ("", "| | claim | value | bound | why |", "| --- | --- | --- | --- | --- |")
    for exhibit in open_claims:
        bound = str(exhibit.threshold) if exhibit.threshold is not None else ""
        cells = (f"{exhibit.verdict.symbol} {exhibit.verdict}", exhibit.name, estimate(exhibit), bound, exhibit.why)
        yield f"| {' | '.join(_plain(cell) for cell in cells)} |"


def _plain(text: str) -> str:
    """Escape Markdown's markup, because names and messages come from users' code."""
    return text.translate(_MARKUP)
