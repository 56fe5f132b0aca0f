"""Convert results to the sections of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fairweir.audit.exhibits.registry import CONTRACT, HUNT, metric_of
from fairweir.audit.report.contracts import contract_figure
from fairweir.audit.report.curves import metric_figures
from fairweir.audit.report.heatmap import grid_figure
from fairweir.audit.report.hunting import hunt_figures
from fairweir.audit.report.overtime import run_figure, side_by_side
from fairweir.audit.report.view import Evidence, FaultView, Row, Section, families_of, outcome_of, rows_of
from fairweir.contracts.result import ContractResult
from fairweir.documents.digits import plain
from fairweir.hunting.result import HuntResult
from fairweir.judging.outcome import Outcome
from fairweir.show.courses import CourseFigure
from fairweir.show.figure import Figure, slug
from fairweir.show.word import Word

if TYPE_CHECKING:
    from fairweir.audit.results import AuditResults, CcaResults, ClaimResult, FamilyResult

FIGURES_AT_ONCE: Final = 3
"""Figures in a row. Figures of metrics without a claim are collapsed, except those that fill a section's first row."""

ORDER: Final = (Outcome.FAILS, Outcome.UNKNOWN, Outcome.HOLDS, Outcome.INFO)


def sections_of(results: AuditResults) -> tuple[Section, ...]:
    """Return the sections: families that ran, the hunt, the contracts, exhibits of families without measurements."""
    ccas = results.ccas
    sections = [_family_section(ccas, family, measured) for family, measured in families_of(ccas)]
    sections += [s for s in (_hunt_section(ccas), _contract_section(ccas)) if s is not None]
    known = {f.name for c in ccas for f in c.families} | {HUNT, CONTRACT}
    for name in dict.fromkeys(e.family for c in ccas for e in c.exhibits if e.family not in known):
        rows = rows_of(ccas, name)
        title = name.replace("-", " ").capitalize()
        sections.append(
            Section(
                slug("family", name),
                title,
                outcome_of(rows),
                rows=rows,
                evidence=_evidence(rows, is_open=True),
                settled=_evidence(rows, is_open=False),
            )
        )
    return tuple(sections)


def _family_section(
    ccas: list[CcaResults], family: FamilyResult, measured: list[tuple[int, str, FamilyResult]]
) -> Section:
    exhibits = [e for c in ccas for e in c.exhibits if e.family == family.name]
    measures = [metric_of(family.name, curve.metric) for curve in family.curves]
    drawn = [(m.name, g) for m in measures if m and m.is_grid and (g := grid_figure(m, measured)) is not None]
    grids, gridded = [figure for _, figure in drawn], {name for name, _ in drawn}
    curves = {
        metric: figure for metric, figure in metric_figures(family, measured, exhibits).items() if metric not in gridded
    }
    first, more = _split(curves, exhibits, family)
    rows = rows_of(ccas, family.name)
    return Section(
        anchor=slug("family", family.name),
        title=family.title,
        outcome=outcome_of(rows),
        question=family.question,
        setup=family.setup,
        paragraphs=tuple(
            (f"{cca} left out", f"{', '.join(f.left_out)}: {f.left_out_why}.") for _, cca, f in measured if f.left_out
        ),
        rows=rows,
        figures=(*grids, *first),
        more_figures=tuple(more),
        runs=_runs(family.name, measured),
        evidence=_evidence(rows, is_open=True),
        settled=_evidence(rows, is_open=False),
        faults=tuple(FaultView(cca, fault) for _, cca, f in measured for fault in f.faults),
    )


def _split(
    curves: dict[str, Figure], exhibits: list[ClaimResult], family: FamilyResult
) -> tuple[list[Figure], list[Figure]]:
    """Split figures into visible and collapsed ones."""
    claimed = {e.metric for e in exhibits}
    lawful = {c.metric for c in family.curves if c.law}
    chosen = [metric for metric in curves if metric in claimed | lawful]
    spare = [metric for metric in curves if metric not in chosen]
    shown = set(chosen + spare[: max(0, FIGURES_AT_ONCE - len(chosen))])
    return [f for m, f in curves.items() if m in shown], [f for m, f in curves.items() if m not in shown]


def _runs(family: str, measured: list[tuple[int, str, FamilyResult]]) -> tuple[CourseFigure, ...]:
    """Return figures over time: first all CCAs together, for each scenario that several ran; then each run."""
    traces = [(cca, trace) for _, cca, f in measured for trace in f.traces]
    together = []
    for label in dict.fromkeys(trace.label for _, trace in traces):
        same = list({cca: (cca, trace) for cca, trace in reversed(traces) if trace.label == label}.values())[::-1]
        if len(same) > 1:
            together.append(side_by_side(family, same))
    return (*together, *(run_figure(family, cca, trace) for cca, trace in traces))


def _evidence(rows: tuple[Row, ...], *, is_open: bool) -> tuple[Evidence, ...]:
    """Return the claims that fail or are unknown (`is_open`), or the other claims; in the order of `ORDER`."""
    found = [cell for row in rows for cell in row.cells if cell is not None and cell.is_open == is_open]
    return tuple(sorted(found, key=lambda item: ORDER.index(item.exhibit.verdict)))


def _hunt_section(ccas: list[CcaResults]) -> Section | None:
    hunts = [(i, HuntResult.model_validate(c.hunt)) for i, c in enumerate(ccas) if c.hunt is not None]
    rows = rows_of(ccas, HUNT)
    if not hunts and not rows:
        return None
    reasons = dict.fromkeys((f"Bound {plain(hunt.bound)}", f"{hunt.bound_reason}.") for _, hunt in hunts)
    return Section(
        anchor=HUNT,
        title="Starvation hunt",
        outcome=outcome_of(rows) if rows else Word(Outcome.INFO),
        question="What is the minimum jitter on one flow that starves a flow?",
        setup="; ".join(_hunt_setup(hunt) for _, hunt in hunts[:1]),
        paragraphs=(*((hunt.cca, f"{hunt.text}.") for _, hunt in hunts), *reasons),
        rows=rows,
        figures=tuple(hunt_figures(hunts)),
        runs=tuple(run_figure(HUNT, c.cca, c.hunt_trace) for c in ccas if c.hunt_trace is not None),
        evidence=_evidence(rows, is_open=True),
        settled=_evidence(rows, is_open=False),
    )


def _hunt_setup(hunt: HuntResult) -> str:
    rates = ", ".join(f"{plain(rate)}" for rate in hunt.searched_rates_mbps)
    ds = ", ".join(f"{plain(d)}" for d in hunt.searched_d_ms)
    return (
        f"{hunt.flows} flows of rtprop {plain(hunt.rtprop_ms)} ms, jitter on the first; rates {rates} Mbps,"
        f" buffers {', '.join(hunt.searched_buffers)}, D from {ds} ms"
    )


def _contract_section(ccas: list[CcaResults]) -> Section | None:
    contracts = [ContractResult.model_validate(c.contract) for c in ccas if c.contract is not None]
    rows = rows_of(ccas, CONTRACT)
    if not contracts and not rows:
        return None
    return Section(
        anchor=CONTRACT,
        title="Empirical contracts",
        outcome=outcome_of(rows) if rows else Word(Outcome.INFO),
        question="Which function of which statistic determines how flows of the CCA share a link?",
        setup="flows of one CCA on dumbbells with several link rates and numbers of flows; a point is a flow in a run",
        paragraphs=tuple((contract.cca, f"{contract.text}.") for contract in contracts),
        rows=rows,
        figures=tuple(f for contract in contracts if (f := contract_figure(contract)) is not None),
        evidence=_evidence(rows, is_open=True),
        settled=_evidence(rows, is_open=False),
    )
