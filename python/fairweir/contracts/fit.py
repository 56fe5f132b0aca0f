"""Fit contracts to measured points (statistic, rate), and compare the fits.

A contract is a flow's rate as a decreasing function of a statistic s, such as the mean queueing delay or the loss rate
that the flow observes (thesis section 5.2). A shape, or family, is a formula with free parameters, such as the power
law a s^c. Residuals are differences of the logarithm of the rate, so that slow and fast flows count equally. Each run
has the same weight for any number of flows. AIC and BIC are the Akaike and Bayesian information criteria, which
penalize parameters: lower is better.

For all shapes except the affine power, ln(rate) is linear in the other parameters once one parameter is fixed. That one
parameter is searched on a grid and then refined. No fit depends on a random start.

References
----------
Thesis sections 5.2.1 (procedure, Table 5.1) and 6.1 (Table 6.2, shapes).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Array = NDArray[np.float64]

STRONG_EVIDENCE = 6.0
"""A difference in BIC of at least this value counts as strong evidence (Kass and Raftery, 1995)."""

RESOLVED = 0.01
"""Relative resolution of a rate. Runs of one minute do not resolve 1 %, so an error below 1 % does not count against a
shape or a statistic.
"""

STEEPEST_AFFINE = -4.0
"""Minimum exponent of an affine power. With a lower exponent, the shape is close to an exponential; published exponents
are -2 or above.
"""

SEARCH_POINTS = 48
"""Number of grid points in a search for one parameter, before refinement."""


@dataclass(frozen=True)
class Points:
    """Measurements, one entry per flow of each run.

    Attributes
    ----------
    statistic : value of the statistic, positive
    rate : rate in Mbps, or a quantity derived from the rate (share of the link, window); positive
    group : index of the run to which the point belongs
    capacity : link rate of the bottleneck in the run, Mbps
    """

    statistic: Array
    rate: Array
    group: NDArray[np.int64]
    capacity: Array

    @property
    def weight(self) -> Array:
        """The weight of each point: 1 divided by the number of points in the point's run."""
        _, inverse, counts = np.unique(self.group, return_inverse=True, return_counts=True)
        return np.asarray(1.0 / counts[inverse], dtype=np.float64)

    @property
    def runs(self) -> int:
        """Number of runs to which the points belong."""
        return int(np.unique(self.group).size)

    def where(self, keep: NDArray[np.bool_]) -> Points:
        """Return the points for which `keep` is true."""
        return Points(self.statistic[keep], self.rate[keep], self.group[keep], self.capacity[keep])


@dataclass(frozen=True)
class Family:
    """A shape: a formula with named parameters.

    Attributes
    ----------
    name : name of the shape in results
    formula : formula in terms of the statistic ``s``
    parameters : names of the parameters, in the order in which :class:`Fit` lists their values
    predict : function (parameters, s) -> rate; if s is outside the shape's domain, the rate may be NaN, 0 or negative
    solve : function (points, initial parameters or None) -> parameters; only the affine power uses initial parameters
    """

    name: str
    formula: str
    parameters: tuple[str, ...]
    predict: Callable[[Sequence[float], Array], Array]
    solve: Callable[[Points, Sequence[float] | None], tuple[float, ...]]

    @property
    def has_exponent(self) -> bool:
        """Whether the shape is a power law, including shifted and affine power laws."""
        return "c" in self.parameters


@dataclass(frozen=True)
class Fit:
    """The best fit of a family, with its errors.

    Attributes
    ----------
    family : Family
    values : values of the parameters, in the order of `family.parameters`
    mse : weighted mean squared error of ln(rate)
    r_squared : fraction of the variance of ln(rate) that the fit explains
    between_r_squared : fraction of the variance of the runs' means of ln(rate) that the fit explains; it shows how well
        the statistic determines the fair share in a run
    aic, bic : information criteria; the number of observations is the number of runs
    capacity_rmse : root mean square error of ln(rate) if each link rate in turn is left out of the fit and predicted
    spread : standard deviation of ln(rate) of the measured points
    """

    family: Family
    values: tuple[float, ...]
    mse: float
    r_squared: float
    between_r_squared: float
    aic: float
    bic: float
    capacity_rmse: float
    spread: float

    def predict(self, statistic: Array) -> Array:
        """Return the rate for each value of the statistic."""
        return self.family.predict(self.values, statistic)

    @property
    def unexplained(self) -> float:
        """`capacity_rmse` divided by `spread`, so that fits of quantities that vary differently can be compared."""
        return self.capacity_rmse / self.spread if self.spread > 0.0 else math.inf

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters' values by name."""
        return dict(zip(self.family.parameters, self.values, strict=True))


def _weighted_line(x: Array, y: Array, w: Array) -> tuple[float, float, float]:
    """Return the intercept and slope of the line of weighted least squares, and the squared error."""
    total = float(w.sum())
    mean_x, mean_y = float((w * x).sum()) / total, float((w * y).sum()) / total
    dx, dy = x - mean_x, y - mean_y
    spread = float((w * dx * dx).sum())
    slope = float((w * dx * dy).sum()) / spread if spread > 0.0 else 0.0
    error = float((w * (dy - slope * dx) ** 2).sum())
    return mean_y - slope * mean_x, slope, error


def _best_on(grid: Array, error: Callable[[float], float]) -> float:
    """Return the argument at which `error` is smallest: the best of `grid`, refined between the neighboring grid
    points.
    """
    errors = [error(float(g)) for g in grid]
    best = int(np.argmin(errors))
    lo, hi = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, grid.size - 1)])
    from scipy.optimize import minimize_scalar

    refined = minimize_scalar(error, bounds=(lo, hi), method="bounded", options={"xatol": (hi - lo) * 1e-5})
    return float(refined.x) if refined.fun < errors[best] else float(grid[best])


def _solve_power(points: Points, near: Sequence[float] | None = None) -> tuple[float, ...]:
    intercept, slope, _ = _weighted_line(np.log(points.statistic), np.log(points.rate), points.weight)
    return float(np.exp(intercept)), slope


def _solve_shifted(points: Points, near: Sequence[float] | None = None) -> tuple[float, ...]:
    y, w, smallest = np.log(points.rate), points.weight, float(points.statistic.min())

    def line(gap: float) -> tuple[float, float, float]:
        return _weighted_line(np.log(points.statistic - (smallest - gap)), y, w)

    # The gap between the shift and the smallest statistic is searched from almost zero (an asymptote at the smallest
    # statistic) up to the smallest statistic itself (no shift).
    gap = _best_on(np.geomspace(1e-3 * smallest, smallest, SEARCH_POINTS), lambda g: line(g)[2])
    intercept, slope, _ = line(gap)
    return float(np.exp(intercept)), smallest - gap, slope


def _scale_to(shape: Array, points: Points) -> tuple[float, float]:
    """Return the factor by which the values in `shape` must be multiplied to fit the rates best, and the remaining
    squared error.
    """
    w, difference = points.weight, np.log(points.rate) - np.log(shape)
    mean = float((w * difference).sum() / w.sum())
    return float(np.exp(mean)), float((w * (difference - mean) ** 2).sum())


def _solve_intercept(shape_of: Callable[[Array, float], Array], points: Points) -> tuple[float, ...]:
    """Return a and b of the fit ``a shape_of(s, b)``, whose rate is 0 at ``s = b``; b is above the largest
    statistic.
    """
    largest = float(points.statistic.max())
    beyond = np.geomspace(1e-3, 1e3, SEARCH_POINTS)
    excess = _best_on(beyond, lambda e: _scale_to(shape_of(points.statistic, largest * (1.0 + e)), points)[1])
    b = largest * (1.0 + excess)
    return _scale_to(shape_of(points.statistic, b), points)[0], b


def _solve_exponential(points: Points, near: Sequence[float] | None = None) -> tuple[float, ...]:
    intercept, slope, _ = _weighted_line(points.statistic, np.log(points.rate), points.weight)
    # If the rates do not decrease, the best decay length is infinite; a very large number represents infinity.
    decay = -1.0 / slope if slope < 0.0 else 1e9 * float(points.statistic.max())
    return float(np.exp(intercept)), decay


def _predict_affine(p: Sequence[float], s: Array) -> Array:
    return np.asarray(p[0] * (s + p[1]) ** p[2] + p[3], dtype=np.float64)


def _solve_affine(points: Points, near: Sequence[float] | None = None) -> tuple[float, ...]:
    s, y, root_w = points.statistic, np.log(points.rate), np.sqrt(points.weight)
    scale, smallest_rate = float(np.exp(np.log(s).mean())), float(points.rate.min())
    floor = 1e-3 * smallest_rate  # predictions may be negative, and have no logarithm

    # The search uses scaled parameters: ln a, b / scale, c, and d / smallest rate.
    def unpack(q: Array) -> tuple[float, float, float, float]:
        return float(np.exp(q[0])), float(q[1]) * scale, float(q[2]), float(q[3]) * smallest_rate

    def residual(q: Array) -> Array:
        return np.asarray(root_w * (np.log(np.maximum(_predict_affine(unpack(q), s), floor)) - y), dtype=np.float64)

    def pack(p: Sequence[float]) -> tuple[float, float, float, float]:
        return float(np.log(p[0])), p[1] / scale, p[2], p[3] / smallest_rate

    a, c = _solve_power(points)
    starts = [(np.log(a), 0.0, min(c, -0.01), d) for d in (0.0, 0.5, -1.0)]
    starts += [(np.log(a), b, 2.0 * min(c, -0.01), 0.0) for b in (0.3, 3.0)]
    # b >= 0 keeps s + b positive; c is negative because contracts decrease.
    bounds = ([-60.0, 0.0, STEEPEST_AFFINE, -1e3], [60.0, 30.0, -1e-3, 0.999])
    if near is not None:
        starts = [pack(near)]
    from scipy.optimize import least_squares

    fits = [least_squares(residual, np.clip(q, bounds[0], bounds[1]), bounds=bounds, max_nfev=120) for q in starts]
    return unpack(min(fits, key=lambda f: float(f.cost)).x)


POWER = Family("power", "a s^c", ("a", "c"), lambda p, s: np.asarray(p[0] * s ** p[1]), _solve_power)
SHIFTED_POWER = Family(
    "shifted-power",
    "a (s - b)^c",
    ("a", "b", "c"),
    lambda p, s: np.asarray(p[0] * np.where(s > p[1], s - p[1], np.nan) ** p[2]),
    _solve_shifted,
)
AFFINE_POWER = Family("affine-power", "a (s + b)^c + d", ("a", "b", "c", "d"), _predict_affine, _solve_affine)
LINEAR = Family(
    "linear",
    "a (b - s)",
    ("a", "b"),
    lambda p, s: np.asarray(p[0] * (p[1] - s)),
    lambda points, near: _solve_intercept(lambda s, b: np.asarray(b - s), points),
)
EXPONENTIAL = Family(
    "exponential", "a exp(-s / b)", ("a", "b"), lambda p, s: np.asarray(p[0] * np.exp(-s / p[1])), _solve_exponential
)
LOGARITHMIC = Family(
    "logarithmic",
    "a ln(b / s)",
    ("a", "b"),
    lambda p, s: np.asarray(p[0] * np.log(p[1] / s)),
    lambda points, near: _solve_intercept(lambda s, b: np.asarray(np.log(b / s)), points),
)
FAMILIES: tuple[Family, ...] = (POWER, EXPONENTIAL, LINEAR, LOGARITHMIC, SHIFTED_POWER, AFFINE_POWER)
"""All shapes, from the smallest to the largest number of parameters. Of equally good fits, the first in this order is
chosen.
"""


def log_errors(family: Family, values: Sequence[float], points: Points, span: tuple[float, float]) -> Array:
    """Return ln(predicted rate / measured rate) at each point.

    Parameters
    ----------
    span : smallest and largest measured rate. A contract takes values in a closed interval (thesis section 5.2.2), so
        predictions outside the span are replaced by the nearer end of the span
    """
    predicted = family.predict(values, points.statistic)
    # Only the shifted power can be undefined: at a statistic below its asymptote.
    bounded = np.clip(np.nan_to_num(predicted, nan=span[1], posinf=span[1]), *span)
    return np.asarray(np.log(bounded) - np.log(points.rate), dtype=np.float64)


def _span(points: Points) -> tuple[float, float]:
    return float(points.rate.min()), float(points.rate.max())


def _mse(family: Family, values: Sequence[float], points: Points) -> float:
    w = points.weight
    return float((w * log_errors(family, values, points, _span(points)) ** 2).sum() / w.sum())


def _capacity_rmse(family: Family, values: Sequence[float], points: Points) -> float:
    """Fit the family to all link rates but one, and return the root mean square error of ln(rate) at the omitted link
    rate.

    Each link rate is left out once. The error shows whether the shape predicts an unseen link, which a family with too
    many parameters does not. If all points have the same link rate, the result is the error of a fit to all points.
    """
    squared, total = 0.0, 0.0
    capacities = np.unique(points.capacity)
    if capacities.size < 2:
        return float(np.sqrt(_mse(family, values, points)))
    for capacity in capacities:
        out = points.capacity == capacity
        left, kept = points.where(out), points.where(~out)
        if np.unique(kept.statistic).size <= len(family.parameters):
            continue
        w = left.weight
        squared += float((w * log_errors(family, family.solve(kept, values), left, _span(points)) ** 2).sum())
        total += float(w.sum())
    return float(np.sqrt(squared / total)) if total > 0.0 else float("inf")


def fit(family: Family, points: Points) -> Fit:
    """Return the fit of `family` with the least squared error of ln(rate).

    Parameters
    ----------
    family : Family
    points : at least three points, with positive statistics and rates
    """
    values = family.solve(points, None)
    error, n, k = _mse(family, values, points), points.runs, len(family.parameters)
    w, y = points.weight, np.log(points.rate)
    variance = float((w * (y - (w * y).sum() / w.sum()) ** 2).sum() / w.sum())
    _, run = np.unique(points.group, return_inverse=True)
    run_means = np.bincount(run, y) / np.bincount(run)
    run_errors = np.bincount(run, log_errors(family, values, points, _span(points))) / np.bincount(run)
    between = float(run_means.var())
    # An error below the resolution does not justify a further parameter. Without this limit, the criteria of a perfect
    # fit would be minus infinity.
    log_likelihood = n * float(np.log(max(error, RESOLVED**2)))
    return Fit(
        family=family,
        values=values,
        mse=error,
        r_squared=1.0 - error / variance if variance > 0.0 else 0.0,
        between_r_squared=1.0 - float((run_errors**2).mean()) / between if between > 0.0 else 0.0,
        aic=log_likelihood + 2.0 * k,
        bic=log_likelihood + k * float(np.log(max(n, 2))),
        capacity_rmse=_capacity_rmse(family, values, points),
        spread=math.sqrt(variance),
    )


def choose(fits: Sequence[Fit]) -> Fit:
    """Return the fit that is reported as the contract.

    If the error of a fit at omitted link rates is within 10 % of the smallest such error, the fit counts as equally
    good. Of the equally good fits, the simplest family is chosen whose BIC is not clearly higher, so that each
    parameter must be justified. The thesis takes the smallest mean squared error, which always prefers the family with
    the most parameters.

    Parameters
    ----------
    fits : fits to the same points, ordered by number of parameters; a fit whose parameter is at the edge of its search
        range is ignored
    """
    fits = [f for f in fits if f.family is not AFFINE_POWER or f.parameters["c"] > 0.999 * STEEPEST_AFFINE]
    best = min(f.capacity_rmse for f in fits)
    good = [f for f in fits if f.capacity_rmse <= max(1.1 * best, best + RESOLVED)]
    smallest = min(f.bic for f in good)
    return next(f for f in good if f.bic <= smallest + STRONG_EVIDENCE)


def bootstrap(fitted: Fit, points: Points, *, resamples: int, seed: int) -> Array:
    """Fit the family to random resamples of the runs, and return the parameters of each fit, one row per resample.

    Whole runs are drawn instead of points, because flows of one run share a queue and are not independent.

    Parameters
    ----------
    fitted : Fit, whose parameters are the initial parameters of each refit
    points : Points, to which `fitted` was fitted
    resamples : int, number of refits
    seed : int, seed of the random draws
    """
    rng = np.random.default_rng(seed)
    members = [np.flatnonzero(points.group == g) for g in np.unique(points.group)]
    rows: list[tuple[float, ...]] = []
    while len(rows) < resamples:
        drawn = rng.integers(0, len(members), len(members))
        index = np.concatenate([members[i] for i in drawn])
        group = np.concatenate([np.full(members[i].size, new) for new, i in enumerate(drawn)])
        sample = Points(points.statistic[index], points.rate[index], group, points.capacity[index])
        rows.append(fitted.family.solve(sample, fitted.values))
    return np.asarray(rows, dtype=np.float64)
