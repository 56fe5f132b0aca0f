"""Content of the page, in its order: scores, the verdict matrix, and one section for each family of scenarios."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from fairweir.audit.exhibits.family import Depth
from fairweir.audit.profile import known
from fairweir.audit.report.profiles import Heat, heat_of
from fairweir.audit.sentences import sentences
from fairweir.audit.world import without_host
from fairweir.judging.difference import Relation
from fairweir.judging.outcome import Outcome, combine
from fairweir.show import formats, style
from fairweir.show.courses import CourseFigure
from fairweir.show.figure import Figure, slug
from fairweir.show.word import Word

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fairweir.audit.results import AuditResults, CcaResults, Change, ClaimResult, Comparison, FamilyResult, Fault
    from fairweir.audit.standings import Relative, Standing


@dataclass(frozen=True)
class LinkedSentence:
    """A sentence of a CCA's summary, with the HTML id of the claim that it describes; empty if it describes several."""

    text: str
    anchor: str


@dataclass(frozen=True)
class Score:
    """The summary of a CCA at the top of the page: its verdict, and its results in words."""

    cca: str
    colour: str
    glyph: str
    outcome: Word
    sentences: tuple[LinkedSentence, ...]


@dataclass(frozen=True)
class Evidence:
    """One claim about one CCA, with its evidence; also a cell of the matrix."""

    cca: str
    exhibit: ClaimResult

    @property
    def anchor(self) -> str:
        """HTML id."""
        return slug("x", self.cca, self.exhibit.name)

    @property
    def outcome(self) -> Word:
        """The verdict."""
        return Word(self.exhibit.verdict)

    @property
    def title(self) -> str:
        """Short name of the claim."""
        return self.exhibit.title

    @property
    def claim(self) -> str:
        """The claim in words."""
        return self.exhibit.claim

    @property
    def is_open(self) -> bool:
        """Return whether the claim fails or is unknown."""
        return self.exhibit.verdict in (Outcome.FAILS, Outcome.UNKNOWN)

    @property
    def why(self) -> str:
        """The reason for the verdict."""
        return self.exhibit.why

    @property
    def value(self) -> str:
        """The number with its unit."""
        text = formats.number(self.exhibit.value)
        return f"{text}\u00a0{self.exhibit.unit}" if self.exhibit.unit and self.exhibit.value is not None else text

    @property
    def interval(self) -> str:
        """The interval over seeds, or empty."""
        return formats.interval(self.exhibit.lo, self.exhibit.hi, self.exhibit.value)

    @property
    def facts(self) -> list[tuple[str, str]]:
        """The worst point, the bound with its reason and source, and the expected value."""
        exhibit = self.exhibit
        facts = [("Worst at", exhibit.at)] if exhibit.at else []
        if exhibit.threshold is not None:
            facts += [
                ("Bound", f"{exhibit.threshold}: {exhibit.threshold.reason}"),
                ("Source", exhibit.threshold.source),
            ]
        if exhibit.expectation:
            facts.append(("Expected", exhibit.expectation))
        return facts

    @property
    def replay(self) -> str | None:
        """Command that repeats the run at the worst point."""
        return self.exhibit.replay

    @property
    def scenario(self) -> str | None:
        """The scenario's file, relative to the results."""
        return self.exhibit.scenario

    @property
    def scenario_toml(self) -> str | None:
        """The scenario's text."""
        return self.exhibit.scenario_toml


@dataclass(frozen=True)
class FaultView:
    """A failed run."""

    cca: str
    fault: Fault

    outcome = Word(Outcome.FAILS)

    @property
    def kind(self) -> str:
        """Kind of failure, in words."""
        return {
            "controller": "the controller misbehaved",
            "stack": "the stack failed",
            "timeout": "out of time",
            "crash": "crashed",
            "error": "could not run",
        }[self.fault.kind]

    @property
    def label(self) -> str:
        """Point on the family's axis."""
        return self.fault.label

    @property
    def seed(self) -> int:
        """The run's seed."""
        return self.fault.seed

    @property
    def message(self) -> str:
        """The error message."""
        return self.fault.message

    @property
    def scenario_toml(self) -> str:
        """The scenario's text."""
        return self.fault.scenario_toml


@dataclass(frozen=True)
class Row:
    """An exhibit across the CCAs."""

    title: str
    metric: str
    bound: str
    reason: str
    cells: tuple[Evidence | None, ...]

    @property
    def is_open(self) -> bool:
        """Return whether the exhibit fails or is unknown for at least one CCA."""
        return any(c is not None and c.is_open for c in self.cells)


@dataclass(frozen=True)
class Section:
    """One part of the page: a family, the hunt, or the contracts."""

    anchor: str
    title: str
    outcome: Word
    question: str = ""
    setup: str = ""
    paragraphs: tuple[tuple[str, str], ...] = ()
    rows: tuple[Row, ...] = ()
    figures: tuple[Figure, ...] = ()
    more_figures: tuple[Figure, ...] = ()
    runs: tuple[CourseFigure, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    settled: tuple[Evidence, ...] = ()
    faults: tuple[FaultView, ...] = ()


@dataclass(frozen=True)
class Page:
    """The whole report."""

    results: AuditResults
    sections: tuple[Section, ...] = field(default=())

    outcomes = tuple(Word(outcome) for outcome in Outcome)

    @property
    def title(self) -> str:
        """The audited CCAs, and their reference."""
        world = "" if self.results.world == "sim" else " in QUIC stacks"
        if self.relatives:
            candidates = dict.fromkeys(without_host(relative.cca) for relative in self.relatives)
            references = dict.fromkeys(without_host(relative.reference) for relative in self.relatives)
            return f"{', '.join(candidates)} against {', '.join(references)}{world}"
        return f"Audit of {', '.join(dict.fromkeys(without_host(c.cca) for c in self.results.ccas))}{world}"

    @cached_property
    def profile(self) -> Heat | None:
        """The CCAs among the known ones, in an audit without a reference."""
        others = known(Depth(self.results.depth)) if self.results.profiles else None
        return heat_of(self.results.ccas, others) if others is not None else None

    @property
    def relatives(self) -> list[Relative]:
        """The candidates compared with the reference, where one was given."""
        return self.results.relative

    @staticmethod
    def worse(relative: Relative) -> list[Standing]:
        """Return what is worse."""
        return relative.of(Relation.WORSE)

    @staticmethod
    def decided(relative: Relative) -> list[Standing]:
        """Return what is worse, then what is better."""
        return [*relative.of(Relation.WORSE), *relative.of(Relation.BETTER)]

    @staticmethod
    def rest(relative: Relative) -> list[Standing]:
        """Return what is undecided, then what is the same."""
        return [*relative.of(Relation.UNDECIDED), *relative.of(Relation.SAME)]

    @property
    def outcome(self) -> Word:
        """The verdict on all CCAs together."""
        return Word(self.results.verdict)

    @property
    def is_complete(self) -> bool:
        """Return whether the audit was completed."""
        return self.results.complete

    @property
    def is_dense(self) -> bool:
        """Return whether the matrix has so many columns that an interval is shown below its value."""
        return len(self.results.ccas) > 2

    @property
    def comparison(self) -> Comparison | None:
        """The comparison with the baseline, if a baseline was given."""
        return self.results.comparison

    def change(self, cell: Evidence | None) -> Change | None:
        """Return how a claim differs from the baseline; None if it does not differ or there is no baseline."""
        if cell is None or self.comparison is None:
            return None
        return self.comparison.change(cell.cca, cell.exhibit.name)

    @staticmethod
    def anchor(change: Change) -> str:
        """Return the HTML id of the evidence for a change."""
        return slug("x", change.cca, change.exhibit)

    def is_changed(self, row: Row) -> bool:
        """Return whether the claim differs from the baseline for at least one CCA."""
        return any(self.change(cell) is not None for cell in row.cells)

    @property
    def command(self) -> str:
        """The command line."""
        return self.results.command

    @property
    def facts(self) -> str:
        """Number of runs, packets and seeds, in words."""
        r = self.results
        seeds = f"{len(r.seeds)} seeds" if len(r.seeds) != 1 else "1 seed"
        searches = sum(int(found["runs"]) for c in r.ccas for found in (c.hunt, c.contract) if found is not None)
        more = f", {formats.count(searches)} more in searches" if searches else ""
        return (
            f"{formats.count(r.runs)} runs{more}, {formats.count(r.packets)} packets delivered and acknowledged,"
            f" {formats.duration(r.wall_s)}; {r.depth} battery, {seeds}; fairweir {r.version}"
        )

    @property
    def environment(self) -> list[tuple[str, str]]:
        """Version, battery, seeds, machine."""
        r = self.results
        own = [("fairweir", r.version), ("battery", r.depth), ("seeds", ", ".join(str(seed) for seed in r.seeds))]
        return own + [(key, value) for key, value in r.environment.items() if key != "fairweir"]

    @property
    def scores(self) -> list[Score]:
        """The summary of each CCA."""
        return [
            Score(
                c.cca,
                style.colour(i),
                style.GLYPHS[i % len(style.GLYPHS)],
                Word(c.verdict),
                tuple(
                    LinkedSentence(s.text, slug("x", c.cca, s.claim.name) if s.claim is not None else "")
                    for s in sentences(self.results, c)
                ),
            )
            for i, c in enumerate(self.results.ccas)
        ]

    @property
    def matrix(self) -> list[Section]:
        """Sections with claims."""
        return [section for section in self.sections if section.rows]

    @cached_property
    def figures(self) -> list[Figure]:
        """All figures of the page, except the courses over time."""
        return [f for s in self.sections for f in (*s.figures, *s.more_figures)]

    @cached_property
    def courses(self) -> list[CourseFigure]:
        """All courses over time."""
        return [f for s in self.sections for f in s.runs]


def rows_of(ccas: list[CcaResults], family: str) -> tuple[Row, ...]:
    """Return the matrix's rows of a family: its exhibits in the order in which they first appear."""
    names = list(dict.fromkeys(e.name for c in ccas for e in c.exhibits if e.family == family))
    rows = []
    for name in names:
        cells = tuple(Evidence(c.cca, e) if (e := c.exhibit(name)) else None for c in ccas)
        first = next(cell.exhibit for cell in cells if cell is not None)
        bounded = next((c.exhibit.threshold for c in cells if c is not None and c.exhibit.threshold is not None), None)
        rows.append(
            Row(
                title=first.title,
                metric=first.metric,
                bound=str(bounded) + (f" {first.unit}" if first.unit else "") if bounded else formats.ABSENT,
                reason=f"{bounded.reason} ({bounded.source})" if bounded else "",
                cells=cells,
            )
        )
    return tuple(rows)


def outcome_of(rows: Iterable[Row]) -> Word:
    """Return the combined verdict on several rows."""
    return Word(combine(c.exhibit.verdict for row in rows for c in row.cells if c is not None))


def families_of(ccas: list[CcaResults]) -> list[tuple[FamilyResult, list[tuple[int, str, FamilyResult]]]]:
    """Return the families in the order of their first appearance, each with the results of all CCAs."""
    names = list(dict.fromkeys(f.name for c in ccas for f in c.families))
    found = []
    for name in names:
        measured = [(i, c.cca, f) for i, c in enumerate(ccas) if (f := c.family(name)) is not None]
        found.append((measured[0][2], measured))
    return found
