"""Summary of a challenge over its configurations: fairness, utilization, throughputs, and whether the claim holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fairweir.guard.challenges import CHALLENGES, Case, Published
from fairweir.guard.evaluate import Play, Shares
from fairweir.guard.treatments import Treatment
from fairweir.judging.outcome import Outcome, combine

RESAMPLES: Final = 2_000
"""Number of resamples of the bootstrap over configurations."""
HARM_PERCENT: Final = 5.0
"""Maximum decrease of a median, %, if the claim is that policies change nothing."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Measures:
    """Medians over configurations; the shares of incumbents and newcomers are fractions of the link's rate."""

    configurations: int
    median_jain: float
    p10_jain: float
    median_utilization: float
    p10_utilization: float
    incumbents: float
    newcomers: float


@dataclass(frozen=True)
class TreatmentResult:
    """One treatment of one challenge.

    Attributes
    ----------
    gain_percent : float; increase of the median of Jain's fairness index (JFI), %
    gain_interval : pair; 95 % interval by bootstrap over configurations, %
    utilization_percent : float; increase of the median utilization, %
    """

    treatment: str
    measures: Measures
    gain_percent: float
    gain_interval: tuple[float, float]
    utilization_percent: float
    published: Published

    @property
    def holds(self) -> bool:
        """Whether the claim holds; a gain must be statistically significant."""
        if self.published.claim == "gains":
            return self.gain_interval[0] > 0.0
        return min(self.gain_percent, self.utilization_percent) >= -HARM_PERCENT

    @property
    def verdict(self) -> Outcome:
        """Outcome of the claim; a claim of a gain fails if the gain is not significant."""
        return Outcome.HOLDS if self.holds else Outcome.FAILS


@dataclass(frozen=True)
class ChallengeResult:
    """Results of one challenge.

    Attributes
    ----------
    fair_incumbents, fair_newcomers : float; medians of the fair shares, as fractions of the link's rate
    incomplete : int; configurations left out because one of their runs failed or is not judged
    jain, utilization : treatment -> one value per configuration, for figures
    """

    challenge: str
    without: Measures
    verdicts: list[TreatmentResult]
    fair_incumbents: float
    fair_newcomers: float
    incomplete: int
    jain: dict[str, list[float]]
    utilization: dict[str, list[float]]

    @property
    def holds(self) -> bool:
        """Whether all claims hold."""
        return self.verdict is not Outcome.FAILS

    @property
    def verdict(self) -> Outcome:
        """Combined outcome of all claims."""
        return combine(verdict.verdict for verdict in self.verdicts)

    def to_dict(self) -> dict[str, Any]:
        """Return the challenge's part of ``fairweir guard evaluate --json``."""
        return {
            "challenge": self.challenge,
            "configurations": self.without.configurations,
            "incomplete": self.incomplete,
            "fair": {"incumbents": self.fair_incumbents, "newcomers": self.fair_newcomers},
            "without": asdict(self.without),
            "treatments": [{**asdict(verdict), "holds": verdict.holds} for verdict in self.verdicts],
        }


def sum_up(
    challenge: str, plays: Mapping[Case, Sequence[Play]], shares: Mapping[Play, Shares]
) -> ChallengeResult | None:
    """Summarize one challenge; return None if no configuration has been run completely.

    Parameters
    ----------
    plays : for each configuration, one run per treatment; the first is without policies
    shares : results of the runs that completed and are judged
    """
    whole = {case: several for case, several in plays.items() if all(one in shares for one in several)}
    if not whole:
        return None
    columns: dict[Treatment, list[Shares]] = {}
    for several in whole.values():
        for one in several:
            columns.setdefault(one.treatment, []).append(shares[one])
    cases = list(whole)
    measures = {treatment: _measure(cases, column) for treatment, column in columns.items()}
    (bare, without), *held = measures.items()
    is_by_flow = CHALLENGES[challenge].among == "flows"
    flows = np.array([case.counts if is_by_flow else (1, 1) for case in cases], float)
    fair = np.median(flows / flows.sum(axis=1, keepdims=True), axis=0)
    return ChallengeResult(
        challenge,
        without,
        [
            TreatmentResult(
                treatment.name,
                measured,
                _percent(measured.median_jain, without.median_jain),
                _interval(_jain(columns[bare]), _jain(columns[treatment])),
                _percent(measured.median_utilization, without.median_utilization),
                treatment.published(CHALLENGES[challenge]),
            )
            for treatment, measured in held
        ],
        float(fair[0]),
        float(fair[1]),
        len(plays) - len(whole),
        {treatment.name: [one.jain for one in column] for treatment, column in columns.items()},
        {treatment.name: [one.utilization for one in column] for treatment, column in columns.items()},
    )


def _measure(cases: Sequence[Case], column: Sequence[Shares]) -> Measures:
    utilization = np.array([one.utilization for one in column])
    parts = np.array([_parts(case, one) for case, one in zip(cases, column, strict=True)])
    incumbents, newcomers = np.median(parts, axis=0)
    return Measures(
        len(column),
        float(np.median(_jain(column))),
        float(np.percentile(_jain(column), 10)),
        float(np.median(utilization)),
        float(np.percentile(utilization, 10)),
        float(incumbents),
        float(newcomers),
    )


def _parts(case: Case, shares: Shares) -> tuple[float, float]:
    incumbents, _ = case.counts
    rates = shares.throughputs_mbps
    return sum(rates[:incumbents]) / case.rate_mbps, sum(rates[incumbents:]) / case.rate_mbps


def _jain(column: Sequence[Shares]) -> Floats:
    return np.array([one.jain for one in column])


def _percent(value: float, base: float) -> float:
    return 100.0 * (value / base - 1.0)


def _interval(without: Floats, held: Floats) -> tuple[float, float]:
    dice = np.random.default_rng(1)
    picks = dice.integers(0, len(held), (RESAMPLES, len(held)))
    gains = 100.0 * (np.median(held[picks], axis=1) / np.median(without[picks], axis=1) - 1.0)
    low, high = np.percentile(gains, [2.5, 97.5])
    return float(low), float(high)
