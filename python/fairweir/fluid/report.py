"""Analyze the fluid model for one set of parameters: long-run behavior, throughputs and stability.

Symbols: C, link rate; R*, the RTT when the buffer is full; wbar, the packets in flight when the buffer is full; q, the
state of the queue, above 0 while packets are lost. :mod:`fairweir.fluid.model` has the equations.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from fairweir.fluid.cycle import limit_cycle, throughputs
from fairweir.fluid.model import Fluid, weighted
from fairweir.fluid.stability import published_matrix, rest_multiplier, return_decay, return_matrix, spectral_radius


class Analysis(BaseModel):
    """Long-run behavior of the fluid model at one wbar.

    Attributes
    ----------
    wbar, threshold : float, packets; the windows have a fixed point if wbar is at most the threshold
    shares : list of float, each flow's throughput divided by C
    period : float, in R*; None at a fixed point
    rises : int, number of times in a period at which q rises above 0; 0 at a fixed point
    multiplier : float, factor by which a perturbation changes per period (at a fixed point: per R*); below 1 if the
        long-run behavior is stable
    published_radius : float, spectral radius of the matrix Z in the WCC paper's theorem 1; None at a fixed point
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
    """Find the fixed point or the limit cycle, and compute its throughputs and multiplier."""
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
    """Return the ratios of the first flow's throughput to the last flow's that the WCC paper states: at the threshold,
    and for wbar towards infinity.
    """
    fluid = weighted(scheme, weights, 1.0)
    windows, increase = fluid.resting_windows, fluid.increase
    return float(windows[0] / windows[-1]), float(increase[0] / increase[-1])
