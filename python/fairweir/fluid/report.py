"""Analyze one setting of the fluid model: long-run behavior, throughputs and stability."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from fairweir.fluid.cycle import limit_cycle, throughputs
from fairweir.fluid.model import Fluid, weighted
from fairweir.fluid.stability import published_matrix, rest_multiplier, return_decay, return_matrix, spectral_radius


class Analysis(BaseModel):
    """Behavior of the fluid at one wbar.

    Attributes
    ----------
    wbar, threshold : float, packets; the windows have a fixed point if wbar is at most the threshold
    shares : list of float, throughput divided by C, one per flow
    period : float, in R*; None at a fixed point
    rises : int, number of times that q rises above 0 in a period
    multiplier : float, factor by which a perturbation changes per period (at a fixed point: per R*); below 1 if stable
    published_radius : float, spectral radius of the published matrix Z; None at a fixed point
    """

    model_config = ConfigDict(extra="forbid")

    wbar: float
    threshold: float
    shares: list[float]
    period: float | None
    rises: int
    multiplier: float
    published_radius: float | None

    @property
    def is_stable(self) -> bool:
        """Whether small perturbations decay."""
        return self.multiplier < 1

    def ratio(self) -> float:
        """Return the first flow's throughput divided by the last flow's."""
        return self.shares[0] / self.shares[-1]


def analyse(fluid: Fluid) -> Analysis:
    """Find the fixed point or limit cycle, and its multiplier."""
    if fluid.has_fixed_point:
        shares = fluid.resting_windows / fluid.threshold
        period = radius = None
        rises = 0
        multiplier = rest_multiplier(fluid)
    else:
        cycle = limit_cycle(fluid)
        rises = cycle.rises
        shares, period = throughputs(cycle.orbit, cycle.period), cycle.period
        multiplier = spectral_radius(return_matrix(cycle)) if cycle.is_forgetful else return_decay(cycle)
        radius = spectral_radius(published_matrix(cycle))
    return Analysis(
        wbar=fluid.wbar,
        threshold=fluid.threshold,
        shares=[float(share) for share in shares],
        period=period,
        rises=rises,
        multiplier=multiplier,
        published_radius=radius,
    )


def limits(scheme: str, weights: Sequence[float]) -> tuple[float, float]:
    """Return the published throughput ratios of the first to the last flow: at the threshold, and for infinite wbar."""
    fluid = weighted(scheme, weights, 1.0)
    windows, increase = fluid.resting_windows, fluid.increase
    return float(windows[0] / windows[-1]), float(increase[0] / increase[-1])
