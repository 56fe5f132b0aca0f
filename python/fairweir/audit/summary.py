"""``summary.md``: an audit on one screen, for a comment on a pull request or the summary of a build."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairweir.audit.evidence import one_line
from fairweir.audit.sentences import sentences
from fairweir.audit.table import estimate, tally
from fairweir.documents.atomic_write import write_text
from fairweir.judging.difference import Relation
from fairweir.judging.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fairweir.audit.results import AuditResults, CcaResults, Comparison
    from fairweir.audit.standings import Relative

REPLAYS = 6
"""Commands in a summary: those of three metrics."""
#: Escapes of the characters that are markup in Markdown or would end a table cell.
_MARKUP = str.maketrans({character: f"\\{character}" for character in "\\`*_|<>[]"} | {"\n": " "})


def write_summary(results: AuditResults, path: Path) -> None:
    """Write the summary of `results` to `path`, in GitHub-flavored Markdown."""
    write_text(path, "\n".join(_lines(results)) + "\n")


def _lines(results: AuditResults) -> Iterator[str]:
    yield f"# Audit of {', '.join(escaped(cca.cca) for cca in results.ccas)}"
    if not results.complete:
        yield from ("", "**Incomplete**: the audit was interrupted; this summary covers the runs that had finished.")
    if results.setting:
        yield from ("", escaped(results.setting))
    if results.by_host:
        yield from (
            "",
            "Verdicts that depend on the host:",
            "",
            *(f"- {escaped(line)}" for line in results.by_host),
        )
    for relative in results.relative:
        yield from _relative(relative)
    if results.comparison is not None:
        yield from _compared(results.comparison)
    if results.relative:
        yield from ("", "<details><summary>Absolute claims</summary>")
    for cca in results.ccas:
        yield from _verdicts(results, cca)
    if results.relative:
        yield from ("", "</details>")
    if results.left_out:
        left_out = (f"- {escaped(f'{cca}, {what}: {why}')}" for cca, what, why in results.left_out)
        yield from ("", "Left out:", "", *left_out)
    yield ""
    yield (
        f"{results.runs} runs, {results.packets / 1e6:.0f} million packets, {len(results.seeds)} seeds,"
        f" {results.depth} battery, fairweir {results.version}."
    )


def _relative(relative: Relative) -> Iterator[str]:
    mark = "❌" if relative.is_worse else "✅"
    source = f", baseline {escaped(relative.baseline)}" if relative.baseline else ""
    yield from (
        "",
        f"## {mark} {escaped(relative.cca)} against {escaped(relative.reference)}{source}: {relative.headline}",
    )
    shown = [*relative.of(Relation.WORSE), *relative.of(Relation.BETTER)]
    if shown:
        yield from ("", "| | metric | at | reference → candidate | difference |", "| --- | --- | --- | --- | --- |")
    for standing in shown:
        cells = (
            f"{standing.relation.symbol} {standing.relation}",
            standing.name,
            standing.at,
            standing.values,
            standing.change,
        )
        yield f"| {' | '.join(escaped(cell) for cell in cells)} |"
    replays = [side.replay for s in relative.of(Relation.WORSE) for side in s.shown_by if side.replay]
    if replays:
        yield from ("", "Replay what is worse, candidate and reference:", "", "```console")
        yield from (f"$ {one_line(replay)}" for replay in replays[:REPLAYS])
        yield "```"
    for note in relative.notes:
        yield from ("", f"Note: {escaped(note)}.")
    if relative.not_compared:
        yield from ("", f"Not compared: {escaped('; '.join(relative.not_compared))}.")


def _compared(comparison: Comparison) -> Iterator[str]:
    yield from ("", f"## Against the baseline: {comparison.headline}")
    if comparison.changes:
        yield from ("", "| | CCA | claim | baseline | now | why |", "| --- | --- | --- | --- | --- | --- |")
    for change in (*comparison.worsened, *comparison.improved):
        cells = (change.direction, change.cca, change.exhibit, change.before, change.now, change.reason)
        yield f"| {' | '.join(escaped(str(cell)) for cell in cells)} |"
    if comparison.not_compared:
        yield from ("", f"Claims in only one of the two audits, not compared: {len(comparison.not_compared)}.")


def _verdicts(results: AuditResults, cca: CcaResults) -> Iterator[str]:
    yield from (
        "",
        f"## {escaped(cca.cca)}: {cca.verdict.symbol} {cca.verdict} ({tally(cca) or 'no claims judged'})",
    )
    yield from ("", *(f"- {escaped(sentence.text)}" for sentence in sentences(results, cca)))
    open_claims = [e for e in cca.exhibits if e.verdict in (Outcome.FAILS, Outcome.UNKNOWN)]
    if open_claims:
        yield from ("", "| | claim | value | bound | why |", "| --- | --- | --- | --- | --- |")
    for exhibit in open_claims:
        bound = str(exhibit.threshold) if exhibit.threshold is not None else ""
        cells = (f"{exhibit.verdict.symbol} {exhibit.verdict}", exhibit.name, estimate(exhibit), bound, exhibit.why)
        yield f"| {' | '.join(escaped(cell) for cell in cells)} |"


def escaped(text: str) -> str:
    """Escape Markdown's markup, because names and messages come from users' code."""
    return text.translate(_MARKUP)
