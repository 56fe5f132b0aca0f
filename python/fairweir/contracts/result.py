"""The result of deriving a contract from runs.

A contract is a function from a statistic (queueing delay, loss rate or mark rate that a flow observes) to an output
(its rate, window or share of the link). It is fitted to points, one per flow and run. A family is a shape of functions
with free parameters, such as power laws.
"""

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
    """A family fitted to the points, with the errors of the fit."""

    statistic: str
    output: str
    family: str
    formula: str
    parameters: dict[str, float]
    mse: float
    """Mean squared error of ln(rate)."""
    r_squared: float
    between_r_squared: float
    """R² (explained fraction of the variance) of the means of runs: how well the statistic determines the fair
    share.
    """
    aic: float
    bic: float
    capacity_rmse: float
    """Root mean square error of ln(rate) at link rates left out of the fit."""


class RtpropFit(_Model):
    """The chosen family, fitted only to the points with one propagation delay (rtprop)."""

    rtprop_ms: float
    parameters: dict[str, float]
    r_squared: float


class ContractResult(_Model):
    """A contract, or the reason why there is none; ``model_dump(mode="json")`` returns its entry in
    ``results.json``.
    """

    cca: str
    outcome: Literal["contract", "none", "failed"]
    reason: str
    """If there is a contract, the quality of the fit; otherwise the reason why there is none, or why runs failed."""
    best: Candidate | None = None
    """The fit that is the contract; if there is no contract, the best fit."""
    smallest_error: Candidate | None = None
    """The fit that the thesis would choose: the one with the smallest mean squared error of the rate."""
    exponent: Interval | None = None
    """The exponent of `best` if its family has an exponent, and otherwise `power_exponent`. The interval is a 95 %
    bootstrap interval over runs.
    """
    power_exponent: Interval | None = None
    """The exponent of the plain power law that is fitted to the same points, for any family of `best`. It can be
    compared between CCAs, and with the thesis's Table 5.1.
    """
    exponent_of: str = ""
    """Name of the family to which `exponent` belongs."""
    intervals: dict[str, Interval] = Field(default_factory=dict)
    """95 % bootstrap intervals of the parameters of `best`."""
    domain: tuple[float, float] | None = None
    """Smallest and largest observed value of the statistic."""
    rates_mbps: tuple[float, float] | None = None
    """Smallest and largest rate of any flow."""
    flags: list[str] = Field(default_factory=list)
    candidates: list[Candidate] = Field(default_factory=list)
    rtprops: list[RtpropFit] = Field(default_factory=list)
    points: list[ContractPoint] = Field(default_factory=list)
    """The points of the fit, one per flow and run, for figures."""
    curve: list[tuple[float, float]] = Field(default_factory=list)
    """Pairs (statistic, output) on the curve of `best`, for figures."""
    buffer: str = ""
    oracle: bool = False
    """Whether the flows knew their propagation delay."""
    unfair_runs: float = 0.0
    """Fraction of runs in which flows with equal observations get different rates."""
    repeat_ratio: float | None = None
    """A setting is run with several seeds; for each setting, the largest ratio between one flow's shares of the link in
    two of these runs. The value is the median over settings.
    """
    runs: int = 0
    packets: int = 0
    faults: list[str] = Field(default_factory=list)

    @property
    def has_contract(self) -> bool:
        """Whether a contract was found."""
        return self.outcome == "contract"

    @property
    def verdict(self) -> Outcome:
        """Whether flows with equal observations get equal rates: `holds` if there is a contract, and otherwise `fails`,
        also if runs failed.
        """
        return Outcome.HOLDS if self.has_contract else Outcome.FAILS

    @property
    def statistic_unit(self) -> str:
        """Unit of the statistic of `best`."""
        return STATISTICS[self.best.statistic] if self.best else ""

    @property
    def output_unit(self) -> str:
        """Unit of the output of `best`."""
        return OUTPUTS[self.best.output] if self.best else ""

    @property
    def text(self) -> str:
        """The contract as one line of text, without its constant factor, as in the thesis's Table 5.1."""
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
        # The text omits the factor a, so the additive constant d is divided by a.
        offset = p.get("d", 0.0) / p["a"]
        words = {
            "s": s,
            "b": p.get("b", 0.0),
            "c": p.get("c", 0.0),
            "offset": abs(offset),
            "sign": "-" if offset < 0 else "+",
        }
        return f"{OUTPUT_WORDS.get(self.best.output, self.best.output)} ∝ {shape.format(**words)}"
