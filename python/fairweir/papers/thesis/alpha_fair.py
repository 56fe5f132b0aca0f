"""Thesis Table 6.1: rates under notions of fairness on a parking lot of two hops, by algebra and packet by packet.

One long flow crosses two links, and one short flow crosses each link. The module computes the rates in closed form,
checks them by a numerical search, and compares them with packet simulations.

Symbols: alpha, parameter of the utility U(r) = r^(1 - alpha) / (1 - alpha) of a rate r, or log r for alpha = 1; r_0,
rate of the long flow; r_1, mean rate of the short flows; s, the signal that a flow observes, summed over its links
(queueing delay, or Reno's loss rate). If each flow sends at rate s^(-1/alpha), its contract, the equilibrium maximizes
the sum of the utilities (thesis equation 5.2.1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from scipy.optimize import minimize_scalar

from fairweir.contracts.analytical import alpha_fair
from fairweir.contracts.datacentre import CAPACITY, FINE_PACKET, Follower, canonical, place, vegas
from fairweir.errors import FairweirError
from fairweir.play.batch import Task, play_all, spread_starts
from fairweir.reproduce.computed import Computation, Number, computed
from fairweir.reproduce.experiment import Bound
from fairweir.scenario.model import Scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fairweir.contracts.fit import Array
    from fairweir.play.batch import Archive

HOPS: Final = 2
ALPHAS: Final = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
PRINTED: Final = {1.0: 1 / 3, 2.0: math.sqrt(2) - 1}
"""The long flow's rate in table 6.1, by alpha. The table also has 0 for alpha = 0, and 1/2 for infinite alpha."""
NAMES: Final = {1.0: "proportional", 2.0: "min potential delay"}
RENO_SEEDS: Final = range(1, 6)


@computed(
    "thesis-table-6.1",
    title="Rates under notions of fairness on the parking lot",
    source="thesis table 6.1",
    published="two hops: r_0 is 0, 1/3, sqrt(2) - 1 and 1/2 for alpha 0, 1, 2 and infinity",
    setup=(
        "closed forms; contracts s^(-1/alpha) as in figure 6.6, packets of 256 B; Vegas in the same setup; Reno at "
        "50 Mbps and 50 ms, RED at each hop"
    ),
    items=("thesis table 6.1",),
)
def table(archive: Archive) -> Computation:
    """Compute the table's rates in closed form, and compare them with the rates in packet simulations."""
    followers = {alpha: canonical(1.0 / alpha, gain=min(1.0, 1.0 / alpha)) for alpha in ALPHAS}
    tasks: dict[Any, list[Task]] = {key: [_in_data_centre(follower)] for key, follower in followers.items()}
    tasks["vegas"] = [_in_data_centre(vegas())]
    tasks["reno"] = [Task(spread_starts(_reno(), seed)) for seed in RENO_SEEDS]
    outcomes = play_all([task for several in tasks.values() for task in several], archive)
    rates: dict[Any, list[list[float]]] = {}
    for key, several in tasks.items():
        rates[key] = []
        for task in several:
            outcome = outcomes[task.key]
            if outcome.summary is None:
                raise FairweirError(f"a run of Table 6.1 failed: {outcome.failure}")
            rates[key].append([flow.throughput_mbps for flow in outcome.summary.flows])
    shares = {alpha: _shares(rates[alpha][0]) for alpha in ALPHAS}
    return Computation([*_by_algebra(), *_played(shares), *_of_ccas(rates)], lambda: draw(shares))


def most_useful(alpha: float) -> float:
    """Search for the long flow's rate that maximizes the sum of alpha-fair utilities on links of rate 1."""

    def utility(rate: float) -> float:
        return math.log(rate) if alpha == 1.0 else rate ** (1.0 - alpha) / (1.0 - alpha)

    found = minimize_scalar(
        lambda long: -utility(long) - HOPS * utility(1.0 - long),
        bounds=(1e-6, 1.0 - 1e-6),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return float(found.x)


def _shares(rates_mbps: Sequence[float]) -> tuple[float, float]:
    """Return the long flow's rate and the mean rate of the short flows, each divided by the link rate."""
    link_mbps = CAPACITY.mbps
    return rates_mbps[0] / link_mbps, fmean(rates_mbps[1:]) / link_mbps


def _in_data_centre(follower: Follower) -> Task:
    return Task(place("unfairness", HOPS).scenario(follower, FINE_PACKET, 1))


def _reno() -> Scenario:
    """Return the parking lot with three Reno flows.

    RED drops packets at random and keeps queues short. A long flow's loss rate is thus the sum over its hops, and all
    RTTs are nearly equal.
    """
    red = {"kind": "red", "min": "20pkts", "max": "400pkts", "probability": "1%", "gentle": True}
    flow = {"cca": "reno", "rtprop": "50ms"}
    return Scenario.from_dict(
        {
            "duration": "400s",
            "warmup": "100s",
            "link": {name: {"rate": "50Mbps", "buffer": "600pkts", "aqm": red} for name in "ab"},
            "flow": [{**flow, "path": ["a", "b"]}, {**flow, "path": ["a"]}, {**flow, "path": ["b"]}],
        }
    )


def _by_algebra() -> list[Number]:
    farthest = max(abs(most_useful(alpha) - alpha_fair(alpha, HOPS)[0]) for alpha in ALPHAS)
    numbers = [
        Number(
            "closed form",
            "the rates maximize the sum of utilities",
            f"maximum difference between r_0 and the best value found by search, alpha {ALPHAS[0]:g} to {ALPHAS[-1]:g}",
            farthest,
            Bound(at_most=1e-6),
            "none",
        )
    ]
    for alpha, printed in PRINTED.items():
        numbers.append(
            Number(
                f"closed form, {NAMES[alpha]}",
                "as in the table",
                f"r_0, alpha {alpha:g}",
                alpha_fair(alpha, HOPS)[0],
                Bound(within=1e-9),
                printed,
            )
        )
    least, most = alpha_fair(1e-2, HOPS)[0], alpha_fair(1e3, HOPS)[0]
    return [
        *numbers,
        Number("closed form, max throughput", "as in the table", "r_0, alpha 0.01", least, Bound(at_most=1e-3), 0.0),
        Number("closed form, max-min", "as in the table", "r_0, alpha 1000", most, Bound(within=1e-3), 0.5),
    ]


def _played(shares: Mapping[float, tuple[float, float]]) -> list[Number]:
    return [
        Number(
            f"1/s^{1 / alpha:g}, {NAMES.get(alpha, 'between')}",
            "the contracts of alpha-fair flows give the alpha-fair rates",
            f"r_0 in packet simulations, alpha {alpha:g}",
            long,
            Bound(within=0.05),
            PRINTED.get(alpha, alpha_fair(alpha, HOPS)[0]),
        )
        for alpha, (long, _) in shares.items()
    ]


def _of_ccas(rates: dict[Any, list[list[float]]]) -> list[Number]:
    (of_vegas,) = rates["vegas"]
    return [
        Number(
            "vegas, proportional",
            "Vegas is an example",
            "r_1 / r_0 in packets",
            fmean(of_vegas[1:]) / of_vegas[0],
            Bound(within=0.05),
            2.0,
        ),
        Number(
            "reno, min potential delay",
            "Reno is an example",
            f"r_1 / r_0 in packets, RED at each hop; mean of {len(rates['reno'])} runs",
            fmean(fmean(run[1:]) / run[0] for run in rates["reno"]),
            Bound(within=0.1),
            math.sqrt(2),
        ),
        Number(
            "poseidon, max-min",
            "Poseidon is an example",
            "r_0",
            None,
            Bound(within=0.05),
            0.5,
            "the simulator's hops do not report their delay; without such reports Poseidon's delays add up",
        ),
    ]


def draw(shares: Mapping[float, tuple[float, float]]) -> Figure:
    """Draw the rates over alpha: lines for the closed form, points for the packet simulations."""
    import numpy as np
    from matplotlib.figure import Figure

    from fairweir.show.style import colour

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    alphas = np.geomspace(0.2, 10.0, 200)
    by_algebra = np.array([alpha_fair(float(alpha), HOPS) for alpha in alphas]).T
    played = np.array(list(shares.values())).T
    for number, (line, dots) in enumerate(zip(_with_total(by_algebra), _with_total(played), strict=True)):
        axes.plot(alphas, line, color=colour(number), label=("long flow", "each short flow", "all flows")[number])
        axes.plot(list(shares), dots, "o", color=colour(number), label="packet by packet" if number == 0 else None)
    axes.set(xscale="log", xlabel="alpha of the utility", ylabel="throughput / link rate", ylim=(0.0, 2.05))
    axes.set_xticks(ALPHAS, [f"{alpha:g}" for alpha in ALPHAS])
    axes.minorticks_off()
    axes.legend()
    return figure


def _with_total(rates: Array) -> tuple[Array, Array, Array]:
    long, short = rates
    return long, short, long + HOPS * short
