"""Compute thesis figures 6.6 and C.1: robustness, unfairness and growth, from contracts and from packet simulations.

A *contract* is the decreasing function from the queueing delay s that a flow observes to the flow's rate. It implies a
*fixed point*: the rates and delays at which flows with this contract share a network. Each *metric* is a number at the
fixed point: robustness, the throughput of a flow without noise divided by that of a flow with noise; unfairness, the
throughput of short flows divided by that of a long flow; growth, the delay of n flows divided by the delay of one flow.
Each metric is computed at several *places*: noises, numbers of hops, or numbers of flows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Final

from fairweir.contracts.datacentre import FINE_PACKET, PACKET, PLACES, Follower, Metric, canonical, place, swift, vegas
from fairweir.errors import FairweirError
from fairweir.judging.summary import Summary
from fairweir.play.batch import Task, play_all
from fairweir.reproduce.computed import Computation, Number, computed
from fairweir.reproduce.experiment import Bound

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fairweir.play.batch import Archive

CANONICAL: Final = (canonical(0.5, gain=0.5), canonical(1.0), canonical(2.0))
CCAS: Final = (vegas(), swift())
SEEDS: Final = {PACKET: (1, 2, 3), FINE_PACKET: (1,)}
MATCH: Final = "contracts match packets"
UNDAMPED: Final = canonical(0.5)
UNDAMPED_FLOWS: Final = 16
WHY_UNDAMPED: Final = (
    "an update multiplies a small deviation of the rate from the fixed point by 1 - gain s/(R + s)/p, which tends to "
    "1 - 2 gain for 1/sqrt(s) and long queues. With gain 1 oscillations hardly decay, and the minimum delay since the "
    "last update lags by one update. With gain 0.5, or with an update every three RTTs, the rates converge"
)
LABELS: Final[dict[Metric, tuple[str, str]]] = {
    "robustness": ("persistent noise (us)", "throughput, clean / noisy flow"),
    "unfairness": ("hops", "throughput, short flows / long flow"),
    "growth": ("flows", "mean qdelay / that of one flow"),
}


@dataclass
class Curve:
    """One metric of one CCA, as a function of the places at which it is computed.

    Attributes
    ----------
    exact : the metric at the fixed point, one value per place
    bands : dict from packet size in bytes to one pair per place: the minimum and maximum of the metric that are
        possible with whole packets
    measured : dict from packet size in bytes to one list per place: the metric in each run
    """

    follower: Follower
    metric: Metric
    exact: list[float]
    bands: dict[int, list[tuple[float, float]]] = field(default_factory=dict)
    measured: dict[int, list[list[float]]] = field(default_factory=dict)

    def inside(self, packet: int) -> float:
        """Return the fraction of the runs whose metric is in the range that is possible with whole packets."""
        runs = [
            low <= value <= high
            for (low, high), values in zip(self.bands[packet], self.measured[packet], strict=True)
            for value in values
        ]
        return sum(runs) / len(runs)

    def farthest(self, packet: int) -> float:
        """Return the largest relative difference between the mean over runs and the fixed point, over all places."""
        means = map(fmean, self.measured[packet])
        return max(abs(mean / exact - 1.0) for mean, exact in zip(means, self.exact, strict=True))


@computed(
    "thesis-6.6",
    title="Robustness, unfairness and growth: contracts compared with packets",
    source="thesis figures 6.6 and C.1, section 6.5",
    published="packet simulations match the contracts; Swift is slightly worse than 1/s^2, Vegas the same as 1/s",
    setup=(
        "100 Gbps, rtprop 12 us, S_min 1.2 us, unlimited buffers, rtprop known; packets of 4 KB as published and of "
        "256 B. Grey: the exact fixed points. 1/sqrt(s) has a gain of 1/2; Vegas counts in us, and is run a thousand "
        "times slower. Noise, hops and flows are our choice: the figure has no table"
    ),
    items=(
        "thesis figure 6.6",
        "thesis figure C.1",
    ),
)
def against_packets(archive: Archive) -> Computation:
    """Run all curves of the figure with packets, and compare the runs with the fixed points."""
    curves = play_curves([*CANONICAL, *CCAS], archive)
    numbers = [number for curve in curves for number in _numbers(curve)]
    return Computation([*numbers, *_beside_canonical(curves), _undamped(archive)], lambda: draw(curves))


def play_curves(followers: Sequence[Follower], archive: Archive) -> list[Curve]:
    """Run every CCA in `followers` for every metric at every place.

    Raises
    ------
    FairweirError : a run failed
    """
    plan = {
        (name, metric, packet, at): [Task(place(metric, at).scenario(follower, packet, seed)) for seed in seeds]
        for name, follower in enumerate(followers)
        for metric, places in PLACES.items()
        for packet, seeds in SEEDS.items()
        for at in places
    }
    summaries = _play([task for tasks in plan.values() for task in tasks], archive)
    curves = []
    for name, follower in enumerate(followers):
        for metric, ats in PLACES.items():
            places = [place(metric, at) for at in ats]
            curve = Curve(follower, metric, [p.reading(follower)(p.exact(follower)) for p in places])
            for packet in SEEDS:
                curve.bands[packet] = [p.band(follower, packet) for p in places]
                curve.measured[packet] = [
                    [p.measured(follower, summaries[task.key]) for task in plan[name, metric, packet, p.at]]
                    for p in places
                ]
            curves.append(curve)
    return curves


def _play(tasks: Sequence[Task], archive: Archive) -> dict[str, Summary]:
    found = {}
    for key, outcome in play_all(tasks, archive).items():
        if outcome.summary is None:
            raise FairweirError(f"a run of figure 6.6 failed: {outcome.failure}")
        found[key] = outcome.summary
    return found


def _numbers(curve: Curve) -> list[Number]:
    case = f"{curve.follower.name}: {curve.metric}"
    far = curve.farthest(FINE_PACKET)
    precise = Number(
        case, MATCH, f"largest relative difference, packets of {FINE_PACKET} B", far, Bound(at_most=0.05), "overlap"
    )
    if curve.follower in CCAS:
        return [precise]
    return [
        *(
            Number(
                case,
                MATCH,
                f"fraction of {sum(map(len, curve.measured[packet]))} runs within one packet, packets of {packet} B",
                curve.inside(packet),
                Bound(at_least=1.0),
                "overlap",
            )
            for packet in SEEDS
        ),
        precise,
    ]


def _beside_canonical(curves: Sequence[Curve]) -> list[Number]:
    def last(name: str, metric: Metric) -> float:
        (curve,) = (c for c in curves if c.follower.name == name and c.metric == metric)
        return fmean(curve.measured[FINE_PACKET][-1])

    worse: tuple[Metric, ...] = ("robustness", "unfairness")
    return [
        *(
            Number(
                f"swift: {metric}",
                "slightly worse than 1/s^2, because of its bias to short RTTs",
                f"divided by that of 1/s^2, {PLACES[metric][-1]:g} {'us' if metric == 'robustness' else 'hops'}",
                last("swift", metric) / last("1/s^2", metric),
                Bound(at_least=1.0, at_most=2.0),
                "slightly worse",
            )
            for metric in worse
        ),
        Number(
            "vegas: unfairness",
            "the same as 1/s",
            f"divided by that of 1/s, {PLACES['unfairness'][-1]:g} hops",
            last("vegas", "unfairness") / last("1/s^1", "unfairness"),
            Bound(at_least=0.95, at_most=1.05),
            "the same",
        ),
    ]


def _undamped(archive: Archive) -> Number:
    spot = place("growth", UNDAMPED_FLOWS)
    task = Task(spot.scenario(UNDAMPED, PACKET, 1))
    measured = spot.measured(UNDAMPED, _play([task], archive)[task.key])
    return Number(
        "1/s^0.5 without averaging",
        "the RTT ratio is stable without averaging and on every network",
        f"mean qdelay of {UNDAMPED_FLOWS} flows, divided by the fixed point's",
        measured / spot.reading(UNDAMPED)(spot.exact(UNDAMPED)),
        Bound(at_least=0.95, at_most=1.05),
        "stable",
        WHY_UNDAMPED,
    )


def draw(curves: Sequence[Curve]) -> Figure:
    """Draw both figures, one column per metric: figure 6.6 above with linear axes, C.1 below with logarithmic axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 8), layout="constrained")
    grid = figure.subplots(2, len(PLACES))
    for column, metric in enumerate(PLACES):
        here = [curve for curve in curves if curve.metric == metric]
        for row, scale in enumerate(("linear", "log")):
            _panel(grid[row][column], here, metric, scale)
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure


def _panel(axes: Axes, curves: Sequence[Curve], metric: Metric, scale: str) -> None:
    from fairweir.contracts.draw import DOT_MARKS
    from fairweir.show.style import colour

    for number, curve in enumerate(curves):
        axes.plot(PLACES[metric], curve.exact, color="0.6", label="contract" if number == 0 else None)
        for packet in SEEDS:
            means = [fmean(values) for values in curve.measured[packet]]
            hollow = {} if packet == PACKET else {"markerfacecolor": "none", "markersize": 9}
            label = f"{curve.follower.name}, {packet} B"
            axes.plot(
                PLACES[metric],
                means,
                DOT_MARKS[number],
                color=colour(number),
                label=label,
                **hollow,  # type: ignore[arg-type]
            )
    x, y = LABELS[metric]
    axes.set(xscale=scale, yscale=scale, xlabel=x, ylabel=y)
    if scale == "log":
        from matplotlib.ticker import NullFormatter

        axes.set_xticks(PLACES[metric], [f"{at:g}" for at in PLACES[metric]])
        axes.xaxis.set_minor_formatter(NullFormatter())
