"""Result of deriving a contract."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from fairweir.contracts.points import OUTPUTS, STATISTICS, ContractPoint
from fairweir.judging.outcome import Interval, Outcome

STATISTIC_WORDS = {
    "p50_qdelay_ms": "p50 qdelay",
    "mean_qdelay_ms": "mean qdelay",
    "loss_rate": "loss rate",
    "mark_rate": "mark rate",
    "turning_qdelay_ms": "turning qdelay",
}
OUTPUT_WORDS = {"turning_rate": "turning rate"}


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Candidate(_Model):
    """A fitted shape with its errors."""

    statistic: str
    output: str
    family: str
    formula: str
    parameters: dict[str, float]
    mse: float
    """Mean squared error of ln(rate)."""
    r_squared: float
    between_r_squared: float
    """R² of the runs' means: how well the statistic determines a run's fair share."""
    aic: float
    bic: float
    capacity_rmse: float
    """Root mean square error of ln(rate) at capacities left out of the fit."""


class RtpropFit(_Model):
    """The chosen shape fitted at one rtprop alone."""

    rtprop_ms: float
    parameters: dict[str, float]
    r_squared: float


class ContractResult(_Model):
    """A contract or the reason why there is none; ``model_dump(mode="json")`` is its entry in ``results.json``."""

    cca: str
    outcome: Literal["contract", "none", "failed"]
    reason: str
    """Reason why there is no contract or runs failed; otherwise the quality of the fit."""
    best: Candidate | None = None
    """The contract; if there is no contract, the best fit."""
    smallest_error: Candidate | None = None
    """The choice by the thesis's rule, the minimum mean squared error of the rate."""
    exponent: Interval | None = None
    """Exponent of the shape if it is a power law; otherwise exponent of the plain power law fitted to the same points.
    The interval is a 95 % bootstrap interval over runs.
    """
    power_exponent: Interval | None = None
    """Exponent of the plain power law fitted to the same points, for any shape; comparable between CCAs, and with the
    thesis's Table 5.1."""
    exponent_of: str = ""
    """The family whose exponent `exponent` is."""
    intervals: dict[str, Interval] = Field(default_factory=dict)
    """95 % bootstrap intervals of the best fit's parameters."""
    domain: tuple[float, float] | None = None
    """Smallest and largest observed value of the statistic."""
    rates_mbps: tuple[float, float] | None = None
    """Smallest and largest rate of a flow."""
    flags: list[str] = Field(default_factory=list)
    candidates: list[Candidate] = Field(default_factory=list)
    rtprops: list[RtpropFit] = Field(default_factory=list)
    points: list[ContractPoint] = Field(default_factory=list)
    """For the figure: the points of the fit, one per flow."""
    curve: list[tuple[float, float]] = Field(default_factory=list)
    """For the figure: (statistic, output) along the best fit over its domain."""
    buffer: str = ""
    oracle: bool = False
    """Whether the flows knew their rtprop."""
    unfair_runs: float = 0.0
    """Fraction of runs in which flows with equal observations get different rates."""
    repeat_ratio: float | None = None
    """Median over settings of the largest ratio between one flow's shares in two runs of the same setting."""
    runs: int = 0
    packets: int = 0
    faults: list[str] = Field(default_factory=list)

    @property
    def has_contract(self) -> bool:
        """Whether a contract was found."""
        return self.outcome == "contract"

    @property
    def verdict(self) -> Outcome:
        """The verdict on the claim that flows with equal observations get equal rates; it fails if runs fail."""
        return Outcome.HOLDS if self.has_contract else Outcome.FAILS

    @property
    def statistic_unit(self) -> str:
        """Unit of the best fit's statistic."""
        return STATISTICS[self.best.statistic] if self.best else ""

    @property
    def output_unit(self) -> str:
        """Unit of the best fit's output."""
        return OUTPUTS[self.best.output] if self.best else ""

    @property
    def text(self) -> str:
        """The contract in one line, without constant factors, as in the thesis's Table 5.1."""
        if self.best is None or not self.has_contract:
            return f"no contract: {self.reason}" if self.outcome == "none" else f"no answer: {self.reason}"
        s, p = STATISTIC_WORDS[self.best.statistic], self.best.parameters
        shape = {
            "power": "({s})^{c:.2f}",
            "shifted-power": "({s} - {b:.4g})^{c:.2f}",
            "affine-power": "({s} + {b:.4g})^{c:.2f} {sign} {offset:.3g}",
            "linear": "{b:.4g} - {s}",
            "exponential": "exp(-{s} / {b:.4g})",
            "logarithmic": "ln({b:.4g} / {s})",
        }[self.best.family]
        # Without the factor a, the additive constant is in units of a.
        offset = p.get("d", 0.0) / p["a"]
        words = {
            "s": s,
            "b": p.get("b", 0.0),
            "c": p.get("c", 0.0),
            "offset": abs(offset),
            "sign": "-" if offset < 0 else "+",
        }
        return f"{OUTPUT_WORDS.get(self.best.output, self.best.output)} ∝ {shape.format(**words)}"
