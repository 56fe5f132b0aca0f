"""The starvation hunt and the contract as exhibits of an audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairweir.audit.exhibits.registry import CONTRACT, HUNT
from fairweir.audit.results import ClaimResult
from fairweir.documents.arguments import words_for_enums
from fairweir.documents.digits import plain
from fairweir.hunting.result import BOUND_REASON, HuntResult
from fairweir.judging.outcome import Direction, Outcome, Threshold

if TYPE_CHECKING:
    from fairweir.audit.exhibits.family import Subject
    from fairweir.contracts.result import ContractResult

TABLE_5_1 = {
    "vegas": "rate ∝ delay^-1 (thesis table 6.2)",
    "copa": "rate ∝ p50 delay^-1.08 (thesis table 5.1)",
    "reno": "rate ∝ loss^-0.5 (thesis table 6.2)",
    "cubic": "rate ∝ loss^-0.65 fitted, -0.75 in theory (thesis table 5.1, figure 6.7)",
    "bbr": "rate ∝ 1/(RTT - 2R) when cwnd-limited (docs/derivations.md)",
    "pcc_allegro": "no contract (thesis table 5.1)",
    "pcc_vivace": "no contract overall (thesis table 5.1)",
    "frcc": "RTT - R = θ n: delay determines a flow's share of the link, not its rate (FRCC section 5.1)",
}


def exhibit_of_hunt(result: HuntResult, subject: Subject) -> ClaimResult:
    """Return the claim that no jitter starves a flow, with the verdict of the hunt."""
    at = ""
    if result.ratio is not None:
        at = f"{result.kind}, D = {plain(result.d_ms or 0.0, 3)} ms, {plain(result.rate_mbps or 0.0)} Mbps"
    return ClaimResult(
        name=f"{HUNT}.ratio",
        family=HUNT,
        metric="ratio",
        title="starvation hunt",
        claim="no jitter on one of the flows starves a flow",
        value=result.ratio.value if result.ratio else None,
        lo=result.ratio.lo if result.ratio else None,
        hi=result.ratio.hi if result.ratio else None,
        unit="",
        at=at,
        threshold=Threshold(
            bound=result.bound, direction=Direction.AT_MOST, reason=BOUND_REASON, source="starvation paper sections 2-5"
        ),
        verdict=result.verdict,
        why=_why(result),
        expectation="for each delay-convergent CCA some bounded jitter starves a flow (starvation paper, theorem 1)"
        if subject.stem in ("vegas", "copa", "bbr")
        else "",
        scenario_toml=_toml(result),
    )


def _why(result: HuntResult) -> str:
    if result.outcome == "bounded-unfairness":
        return f"{result.text}; it does not grow with the rate or with time"
    is_cut = result.outcome == "none" and result.budget_exhausted
    return f"{result.text}; the search exhausted its budget" if is_cut else result.text


def _toml(result: HuntResult) -> str | None:
    if result.scenario is None:
        return None
    from fairweir.scenario.model import Scenario

    return Scenario.from_dict(result.scenario, source=HUNT).to_toml()


@words_for_enums
def exhibit_not_tried(name: str, reason: str, verdict: Outcome = Outcome.FAILS) -> ClaimResult:
    """Return the exhibit of a search that did not run, because the CCA misbehaves or a package is not installed."""
    metric, claim = {
        HUNT: ("ratio", "no jitter on one of the flows starves a flow"),
        CONTRACT: ("exponent", "flows that observe the same statistic get the same rate"),
    }[name]
    return ClaimResult(
        name=f"{name}.{metric}",
        family=name,
        metric=metric,
        title=name.replace("-", " "),
        claim=claim,
        value=None,
        lo=None,
        hi=None,
        unit="",
        verdict=verdict,
        why=reason,
    )


def exhibit_of_contract(result: ContractResult, subject: Subject) -> ClaimResult:
    """Return the claim that a flow's rate is a function of its observations, with the fitted exponent."""
    exponent = result.exponent if result.outcome == "contract" else None
    flags = f"; {'; '.join(result.flags)}" if result.flags and result.outcome == "contract" else ""
    return ClaimResult(
        name=f"{CONTRACT}.exponent",
        family=CONTRACT,
        metric="exponent",
        title="contract",
        claim="flows that observe the same statistic get the same rate",
        value=exponent.value if exponent else None,
        lo=exponent.lo if exponent else None,
        hi=exponent.hi if exponent else None,
        unit="",
        at=f"of {result.exponent_of}" if exponent and result.exponent_of else "",
        verdict=result.verdict,
        why=result.text + flags,
        expectation=TABLE_5_1.get(subject.stem, ""),
    )
