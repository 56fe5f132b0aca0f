"""An audit's results in a notebook: each CCA's results in sentences, then a table of the claims."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from fairweir.audit.sentences import sentences, worst
from fairweir.audit.table import estimate
from fairweir.judging.outcome import Outcome
from fairweir.play.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fairweir.audit.results import AuditResults, CcaResults

#: Verdicts in the order of a table's rows.
_ORDER = (Outcome.FAILS, Outcome.UNKNOWN, Outcome.HOLDS, Outcome.INFO)


def results_html(results: AuditResults) -> str:
    """Return all CCAs: sentences, then one table, in which several CCAs are next to each other."""
    incomplete = "" if results.complete else "<p><strong>Incomplete</strong>: these are the runs that had finished.</p>"
    heads = "".join(_head(cca, (s.text for s in sentences(results, cca))) for cca in results.ccas)
    table = _claims(results.ccas[0]) if len(results.ccas) == 1 else _side_by_side(results.ccas)
    left_out = "".join(f"<p>left out: {escape(', '.join(one))}</p>" for one in results.left_out)
    return incomplete + heads + table.to_html(len(table)) + left_out


def cca_html(cca: CcaResults) -> str:
    """Return one CCA: what fails in sentences, then a table of its claims."""
    table = _claims(cca)
    return _head(cca, (s.text for s in worst(cca))) + table.to_html(len(table))


def _head(cca: CcaResults, texts: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<p><strong>{escape(cca.cca)}</strong>: {cca.verdict.symbol} {cca.verdict}</p><ul>{items}</ul>"


def _claims(cca: CcaResults) -> Table:
    return Table.from_rows(
        [
            {
                "claim": claim.name,
                "value [95 %]": estimate(claim),
                "bound": str(claim.threshold) if claim.threshold is not None else "",
                "verdict": f"{claim.verdict.symbol} {claim.verdict}",
                "worst at": claim.at,
            }
            for claim in sorted(cca.exhibits, key=lambda claim: _ORDER.index(claim.verdict))
        ]
    )


def _side_by_side(ccas: Sequence[CcaResults]) -> Table:
    names = dict.fromkeys(claim.name for cca in ccas for claim in cca.exhibits)
    found = [{cca.cca: cca.exhibit(name) for cca in ccas} for name in names]
    return Table.from_rows(
        [
            {"claim": name}
            | {cca: f"{claim.verdict.symbol} {estimate(claim)}" for cca, claim in row.items() if claim is not None}
            for name, row in zip(names, found, strict=True)
        ]
    )
