"""An audit's results as tables for a terminal: a single CCA with reasons, or several CCAs side by side."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fairweir.audit.sentences import worst
from fairweir.judging.difference import Relation
from fairweir.judging.outcome import Outcome
from fairweir.show import formats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairweir.audit.profile import Profile
    from fairweir.audit.results import AuditResults, CcaResults, ClaimResult, Comparison
    from fairweir.audit.standings import Relative

STYLES = {Outcome.HOLDS: "green", Outcome.FAILS: "bold red", Outcome.UNKNOWN: "yellow", Outcome.INFO: "dim"}
WORDS_WIDTH = 100
"""Minimum width of a terminal, in characters, at which verdicts are written as words."""
REASONS_WIDTH = 120
"""Minimum width at which the table has a column of reasons."""


def estimate(exhibit: ClaimResult) -> str:
    """Return value and interval as text."""
    return formats.estimate(exhibit.value, exhibit.lo, exhibit.hi, exhibit.unit)


def show(results: AuditResults, console: Console) -> None:
    """Print the tables of `results`."""
    if len(results.ccas) == 1:
        console.print(_alone(results.ccas[0], console.width, fills=console.is_terminal))
    else:
        console.print(_side_by_side(results.ccas))
    console.print()
    if results.setting:
        console.print(results.setting, soft_wrap=True, highlight=False)
    for line in results.by_host:
        console.print(f"depends on the host: {line}", markup=False, highlight=False, soft_wrap=True)
    for cca, what, why in results.left_out:
        console.print(f"left out: {cca}, {what}: {why}", markup=False, highlight=False, soft_wrap=True)
    for one in results.ccas:
        console.print(_closing(one), soft_wrap=True)
        for sentence in worst(one):
            console.print(f"  {sentence.text}", markup=False, highlight=False, soft_wrap=True)


RELATION_STYLES = {
    Relation.WORSE: "bold red",
    Relation.BETTER: "green",
    Relation.SAME: "dim",
    Relation.UNDECIDED: "yellow",
}


def show_relative(relative: Relative, console: Console) -> None:
    """Print what is worse and what is better than the reference, and count the rest."""
    source = f" of the baseline {relative.baseline}" if relative.baseline else ""
    table = Table(
        title=f"{relative.cca} against {relative.reference}{source}",
        title_justify="left",
        title_style="bold",
        box=None,
        header_style="bold",
        pad_edge=False,
    )
    has_room = console.width >= WORDS_WIDTH
    table.add_column("", no_wrap=True)
    table.add_column("metric", no_wrap=True)
    table.add_column("at", no_wrap=True)
    if has_room:
        table.add_column("reference → candidate", justify="right", no_wrap=True)
    table.add_column("difference", justify="right", no_wrap=True)
    if console.width >= REASONS_WIDTH:
        table.add_column("why", overflow="ellipsis", no_wrap=True)
    shown = [*relative.of(Relation.WORSE), *relative.of(Relation.BETTER)]
    for standing in shown:
        word = f"{standing.relation.symbol} {standing.relation}"
        cells = [
            Text(word if has_room else word[:1], style=RELATION_STYLES[standing.relation]),
            Text(standing.name),
            Text(standing.at),
            *([Text(standing.values)] if has_room else []),
            Text(standing.change),
            *([Text(standing.why)] if console.width >= REASONS_WIDTH else []),
        ]
        table.add_row(*cells)
    if shown:
        console.print(table)
    else:
        console.print(table.title, style="bold", soft_wrap=True)
    for note in relative.notes:
        console.print(f"note: {note}", style="yellow", soft_wrap=True)
    style = RELATION_STYLES[Relation.WORSE] if relative.is_worse else ""
    console.print(f"{relative.headline} ({len(relative.standings)} metrics)", style=style, soft_wrap=True)
    if relative.not_compared:
        console.print(f"not compared: {'; '.join(relative.not_compared)}", soft_wrap=True)
    replayed = next((s for s in relative.of(Relation.WORSE) if any(side.replay for side in s.shown_by)), None)
    if replayed is not None:
        console.print(f"replay both sides of {replayed.name}:", soft_wrap=True)
        for side in replayed.shown_by:
            if side.replay:
                console.print(f"  {side.replay}", soft_wrap=True)


def show_profile(profile: Profile, console: Console) -> None:
    """Print the places of a CCA among the known ones."""
    table = Table(
        title=f"{profile.cca} among the known CCAs (fairweir {profile.version})",
        title_justify="left",
        title_style="bold",
        box=None,
        header_style="bold",
        pad_edge=False,
    )
    table.add_column("property", no_wrap=True)
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("best", justify="right", no_wrap=True)
    table.add_column("of", overflow="ellipsis", no_wrap=True)
    for place in profile.places:
        cells = (
            place.name,
            f"{place.rank} of {place.of}",
            f"{formats.number(place.value)} {place.unit}".strip(),
            f"{formats.number(place.best_value)} {place.unit}".strip(),
            place.best,
        )
        table.add_row(*map(Text, cells))
    console.print(table)


def show_comparison(comparison: Comparison, console: Console) -> None:
    """Print how the audit compares with its baseline, in red if a claim worsened."""
    style = "bold red" if comparison.worsened else ""
    console.print(f"against the baseline: {comparison.headline}", style=style, soft_wrap=True)
    for change in comparison.changes:
        console.print(f"  {change}", markup=False, soft_wrap=True)
    if comparison.not_compared:
        console.print(f"  claims in only one of the two audits, not compared: {len(comparison.not_compared)}")


def _alone(cca: CcaResults, width: int, *, fills: bool) -> Table:
    table = Table(
        title=cca.cca, title_justify="left", title_style="bold", box=None, header_style="bold", pad_edge=False
    )
    table.add_column("claim", no_wrap=True)
    table.add_column("value [95 %]", justify="right", no_wrap=True)
    table.add_column("bound" if width < WORDS_WIDTH else "threshold", no_wrap=True)
    table.add_column("" if width < WORDS_WIDTH else "verdict", no_wrap=True)
    if width >= REASONS_WIDTH:
        # On a terminal, reasons are cut to its width; in a file, they are complete.
        table.expand = fills
        table.add_column("why", overflow="ellipsis", no_wrap=True, ratio=1 if fills else None)
    for exhibit in cca.exhibits:
        verdict = _verdict(exhibit.verdict)
        cells: list[str | Text] = [
            exhibit.name,
            estimate(exhibit),
            str(exhibit.threshold) if exhibit.threshold else "",
            verdict if width >= WORDS_WIDTH else verdict[:1],
        ]
        if width >= REASONS_WIDTH:
            cells.append(Text(_why(exhibit)))
        table.add_row(*cells)
    return table


def _why(exhibit: ClaimResult) -> str:
    return f"{exhibit.why} ({exhibit.at})" if exhibit.at and exhibit.at not in exhibit.why else exhibit.why


def _side_by_side(ccas: Sequence[CcaResults]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("claim", no_wrap=True)
    for cca in ccas:
        table.add_column(cca.cca, justify="right", no_wrap=True)
    for name in dict.fromkeys(exhibit.name for cca in ccas for exhibit in cca.exhibits):
        table.add_row(name, *(_cell(cca.exhibit(name)) for cca in ccas))
    table.add_section()
    table.add_row("verdict", *(_verdict(cca.verdict) for cca in ccas))
    return table


def _cell(exhibit: ClaimResult | None) -> Text:
    if exhibit is None:
        return Text("")
    return Text(f"{formats.number(exhibit.value)} {exhibit.verdict.symbol}", style=STYLES[exhibit.verdict])


def _verdict(outcome: Outcome) -> Text:
    return Text(f"{outcome.symbol} {outcome}", style=STYLES[outcome])


def _closing(cca: CcaResults) -> Text:
    parts = tally(cca)
    return Text.assemble(f"{cca.cca}: ", _verdict(cca.verdict), f" ({parts})" if parts else "")


def tally(cca: CcaResults) -> str:
    """Return the number of claims per verdict in words: ``26 hold, 4 fail``."""
    counts = Counter(exhibit.verdict for exhibit in cca.exhibits)
    return ", ".join(
        f"{counts[outcome]} {word}"
        for outcome, word in (
            (Outcome.HOLDS, "hold"),
            (Outcome.FAILS, "fail"),
            (Outcome.UNKNOWN, "unknown"),
            (Outcome.INFO, "shown without a threshold"),
        )
        if counts[outcome]
    )
