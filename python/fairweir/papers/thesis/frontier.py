"""Compute thesis figure 4.4: the minimum time to find the link rate, and the time that cc_probe_slow_k takes.

Symbols: C, link rate, and C_0, the rate known at the start, in packets per R; R, round-trip propagation delay; D,
maximum jitter; beta_s, the buffer's size as a time at rate C; f, the number of packets that a probe may lose, as a
function of C (the *allowance*); F^-1(C), the minimum number of round trips until a CCA with this allowance finds C
(theorem 4.2.1). cc_probe_slow_k probes for a time T* = k R. Each probe sends alpha packets more than the CCA knows to
fit into the link and its buffer.

In the simulator, a slow link, the *gate*, limits the flow until the flow has found the gate's rate. Then the gate
opens, and the flow must find the rate of the next link. The next link satisfies the theorem's condition: its buffer is
below C D, so its queueing delays look like jitter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from fairweir.formal.lemmas.tradeoff import Allowance, min_time, rounds_to
from fairweir.judging.summary import OverTime
from fairweir.play.batch import Archive, Task, TaskResult, play_all
from fairweir.reproduce.computed import Computation, Number, computed
from fairweir.reproduce.experiment import Bound
from fairweir.scenario.model import Scenario

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: R and D of the simulated links, ms.
RTPROP_MS: Final = 40
PACKET_BYTES: Final = 1500
#: beta_s of the next link and of the gate, in units of R. It is below D = R, as the theorem requires.
BUFFER: Final = 0.5
#: The gate's rate, which is C_0; and the rates of the next link, ascending.
GATE_MBPS: Final = 12
RATES_MBPS: Final = (24, 48, 96, 192)
#: Time at which the gate opens, long after the flow's start and the losses at the gate.
OPENS_S: Final = 20
#: Packets lost at the gate are known to the sender this long after the gate opened, in units of R.
GATE_LOSSES_R: Final = 5
#: A flow counts as converged once its throughput reaches this fraction of its final throughput.
CONVERGED: Final = 0.9

#: Allowances in figure 4.4, and the rates C at which their curves are computed, in packets per R; beta_s is one R.
CURVES: Final = ("1", "max(1, log(C))", "sqrt(C)", "C")
CURVE_RATES: Final = [float(round(10 ** (i / 10))) for i in range(31)]


@dataclass(frozen=True)
class Prober:
    """A set of parameters of cc_probe_slow_k, and whether its path has jitter.

    Attributes
    ----------
    k : duration T* of a probe, divided by R
    alpha : packets that a probe sends in excess of those that certainly fit
    loss_share : further data that a probe sends in excess, as a fraction of the BDP
    has_jitter : whether packets are delayed at random by up to D
    """

    k: float = 1.0
    alpha: int = 5
    loss_share: float = 0.0
    has_jitter: bool = True

    @property
    def label(self) -> str:
        """The parameters in short form."""
        share = f" + {self.loss_share:g} C" if self.loss_share else ""
        return f"k = {self.k:g}, f = {self.alpha}{share}{'' if self.has_jitter else ', no jitter'}"

    @property
    def allowance(self) -> Allowance:
        """The allowance f: twice the packets sent in excess, because as many may be queued before the probe starts."""
        return Allowance(f"2*({self.alpha} + {self.loss_share}*C)" if self.loss_share else f"{2 * self.alpha}")

    def duration_s(self, mbps: float) -> int:
        """Return a time, in s after the gate opens, after which the flow has certainly converged."""
        if self.loss_share:
            return 25
        cycle_s = (self.k + 3.2) * RTPROP_MS / 1e3
        cycles = (packets_per_r(mbps) - packets_per_r(GATE_MBPS)) * (self.k + 1) / self.alpha
        return math.ceil(1.6 * cycles * cycle_s) + 10

    def task(self, mbps: float) -> Task:
        """Return the run in which the gate opens, and a link with the rate `mbps` becomes the bottleneck."""
        flow = {
            "id": "flow",
            "cca": {"name": "cc_probe_slow", "k": self.k, "alpha": self.alpha, "loss_share": self.loss_share},
            "rtprop": f"{RTPROP_MS}ms",
            "path": ["gate", "bottleneck"],
            "jitter": [{"kind": "random-aggregation", "max": f"{RTPROP_MS}ms"}] if self.has_jitter else [],
        }
        links = {
            "gate": {
                "steps": [["0s", f"{GATE_MBPS}Mbps"], [f"{OPENS_S}s", "10Gbps"]],
                "buffer": f"{round(BUFFER * packets_per_r(GATE_MBPS))}pkts",
            },
            "bottleneck": {"rate": f"{mbps}Mbps", "buffer": f"{round(BUFFER * packets_per_r(mbps))}pkts"},
        }
        name = (
            f"thesis-4.4 {self.label} {mbps:g}Mbps".replace(",", "")
            .replace(" = ", "")
            .replace(" + ", "+")
            .replace(" ", "-")
        )
        document = {
            "name": name,
            "duration": f"{OPENS_S + self.duration_s(mbps)}s",
            "warmup": f"{OPENS_S}s",
            "packet": f"{PACKET_BYTES}B",
            "link": links,
            "flow": [flow],
        }
        return Task(Scenario.from_dict(document, source=name), interval="10ms")


@dataclass(frozen=True)
class Climb:
    """How fast one run converged, and how many packets it lost.

    Attributes
    ----------
    converged_s : time from the opening of the gate until the flow has 90 % of its final throughput
    bound_s : minimum time, by the theorem, until a flow has 90 % of the link rate
    max_lost : maximum number of packets lost in any interval of length R
    """

    converged_s: float
    bound_s: float
    max_lost: int


def packets_per_r(mbps: float) -> float:
    """Return the rate in packets per R."""
    return mbps * 1e3 * RTPROP_MS / 8 / PACKET_BYTES


def read_climb(prober: Prober, mbps: float, over_time: OverTime) -> Climb:
    """Return the convergence time and the losses of a run, from its time series with one value per 10 ms.

    The throughput is averaged over two cycles of probe and drain. Losses at the gate are excluded.
    """
    t_s = np.asarray(over_time.t_s) - OPENS_S
    throughput = np.asarray(over_time.throughput_mbps[0])
    step_ms = 10
    window = round(2 * (prober.k + 3) * RTPROP_MS / step_ms)
    smooth = np.convolve(throughput, np.full(window, 1 / window))[: len(throughput)]
    in_the_end = throughput[t_s > t_s[-1] - 6].mean()
    converged = t_s[(t_s > 0) & (smooth >= CONVERGED * in_the_end)][0]
    lost = np.asarray(over_time.lost_pkts[0])[t_s > GATE_LOSSES_R * RTPROP_MS / 1e3]
    max_lost = np.convolve(lost, np.ones(RTPROP_MS // step_ms)).max()
    start, goal = packets_per_r(GATE_MBPS), CONVERGED * packets_per_r(mbps)
    bound_s = min_time(goal, prober.allowance, start, BUFFER) * RTPROP_MS / 1e3
    return Climb(float(converged), bound_s, int(max_lost))


CONSTANT: Final = (
    Prober(),
    Prober(has_jitter=False),
    Prober(k=2.0),
    Prober(k=4.0),
    Prober(alpha=10),
    Prober(alpha=10, has_jitter=False),
)
IN_PROPORTION: Final = (Prober(loss_share=0.1), Prober(loss_share=0.1, has_jitter=False))

Climbs = dict[Prober, list[Climb | None]]


def climb_all(archive: Archive, probers: Sequence[Prober] = (*CONSTANT, *IN_PROPORTION)) -> Climbs:
    """Run each prober on each link. The result has None for a failed run."""
    tasks = {(prober, mbps): prober.task(mbps) for prober in probers for mbps in RATES_MBPS}
    outcomes: dict[str, TaskResult] = play_all(tasks.values(), archive)
    found: Climbs = {}
    for (prober, mbps), task in tasks.items():
        summary = outcomes[task.key].summary
        found.setdefault(prober, []).append(read_climb(prober, mbps, summary.over_time) if summary else None)
    return found


@computed(
    "thesis-4.4",
    title="Convergence time as a function of the permitted loss: the bound F^-1, and cc_probe_slow_k's times",
    source="thesis figure 4.4, theorem 4.2.1, section 4.2.2.1",
    published=(
        "on a CBR-delay link with a buffer of at most C D no CCA finds the link rate before F^-1(C) round trips: C - "
        "C_0 if the permitted loss is constant, log(C/C_0) if it is proportional to C; cc_probe_slow shows that the "
        "bound is tight"
    ),
    setup=(
        "curves from 1 packet per R, beta_s = R; in the simulator R = D = 40 ms, beta_s = R/2, a gate limits the "
        "rate to 12 Mbps until 20 s; then the link has 24 to 192 Mbps; converged at 90 % of the final throughput; "
        "a probe may lose 2 f"
    ),
    items=(
        "thesis figure 4.4",
        "thesis theorem 4.2.1",
    ),
)
def tradeoff(archive: Archive) -> Computation:
    """Compute figure 4.4's curves, and compare the times of cc_probe_slow_k with the theorem's bound."""
    climbs = climb_all(archive)
    return Computation(numbers=[*_curves(), *_placed(climbs)], draw=lambda: draw(climbs))


def _curves() -> list[Number]:
    """Compare F^-1 with its closed form, or, where there is none, check how F^-1 grows as C doubles."""
    start, far, farther = 1.0, 5_000.0, 10_000.0
    rounds = {text: rounds_to([far, farther], Allowance(text), start, 1.0) for text in CURVES}
    doubling = {text: (b - 1) / (a - 1) for text, (a, b) in rounds.items()}
    return [
        Number("f = 1", "F^-1(C) = C - C_0", "F^-1(10000)", float(rounds["1"][1]), Bound(within=1e-9), farther - start),
        Number(
            "f = C", "F^-1(C) = log(C/C_0)", "F^-1(10000)", float(rounds["C"][1]), Bound(within=1e-9),
            float(math.ceil(math.log2(farther / start))),
        ),
        Number(
            "f = sqrt(C)", "between the two", "growth of F^-1 as C doubles", doubling["sqrt(C)"],
            Bound(at_least=1.35, at_most=1.45), "no closed form; about 2 sqrt(C)",
        ),
        Number(
            "f = log(C)", "between the two", "growth of F^-1 as C doubles", doubling["max(1, log(C))"],
            Bound(at_least=1.7, at_most=2), "no closed form; about C / log(C)",
        ),
    ]  # fmt: skip


def _placed(climbs: Climbs) -> list[Number]:
    complete = {prober: [c for c in found if c is not None] for prober, found in climbs.items()}
    missing = sum(c is None for found in climbs.values() for c in found)
    if missing:
        why = f"{missing} runs failed"
        return [Number("cc_probe_slow_k", "stands on the frontier", "runs", None, Bound(at_least=1), why=why)]
    constant = [prober for prober in CONSTANT if prober in complete]
    slow, slowest = complete[Prober()], complete[Prober(k=4.0)]
    share = complete[Prober(loss_share=0.1)]
    by_bound = {
        p: [c.converged_s / c.bound_s if c.bound_s else math.inf for c in found] for p, found in complete.items()
    }
    drift = max(by_bound[p][-1] / by_bound[p][1] for p in constant)
    growth = {p: found[-1].converged_s / found[1].converged_s for p, found in complete.items()}
    faster = RATES_MBPS[-1] / RATES_MBPS[1]
    return [
        Number(
            "cc_probe_slow_k", "no CCA is faster than F^-1(C) (R + beta_s)", "minimum time / the bound",
            min(ratio for ratios in by_bound.values() for ratio in ratios), Bound(at_least=1), "at least 1",
        ),
        Number(
            "k = 1, alpha = 5", "loses a constant", "maximum packets lost in R, any C",
            max(c.max_lost for p in constant if p.alpha == 5 for c in complete[p]), Bound(at_most=10), "2 alpha = 10",
        ),
        Number(
            "alpha = 10", "loses a constant", "maximum packets lost in R, any C",
            max(c.max_lost for p in constant if p.alpha == 10 for c in complete[p]), Bound(at_most=20), "2 alpha = 20",
        ),
        Number(
            "constant loss", "the time is linear in C, so the bound is tight",
            f"maximum growth of time / the bound, while C grows by {faster:g}", drift, Bound(at_most=1.5), "a constant",
        ),
        Number(
            "k = 4 / k = 1", "slower by a factor", f"ratio of the times at {RATES_MBPS[-1]} Mbps",
            slowest[-1].converged_s / slow[-1].converged_s, Bound(at_least=3, at_most=8), "the larger k, the slower",
        ),
        Number(
            "alpha = 10 / alpha = 5", "more permitted loss, less time", f"ratio of the times at {RATES_MBPS[-1]} Mbps",
            complete[Prober(alpha=10)][-1].converged_s / slow[-1].converged_s, Bound(at_least=0.4, at_most=0.6), "1/2",
        ),
        Number(
            "f = 5 + 0.1 C", "the time is logarithmic in C", f"growth of time, while C grows by {faster:g}",
            growth[Prober(loss_share=0.1)], Bound(at_most=3), f"less than {faster:g}",
        ),
        Number(
            "f = 5 + 0.1 C", "loses in proportion to C", f"maximum packets lost in R at {RATES_MBPS[-1]} Mbps",
            max(c.max_lost for c in (share[-1], complete[Prober(loss_share=0.1, has_jitter=False)][-1])),
            Bound(at_most=2 * (5 + 0.1 * packets_per_r(RATES_MBPS[-1]))), "2 f",
        ),
    ]  # fmt: skip


def draw(climbs: Climbs) -> Figure:
    """Draw figure 4.4 on the left, and the measured times with the theorem's bounds on the right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.2), layout="constrained")
    curves, placed = figure.subplots(1, 2)
    _draw_curves(curves)
    _draw_placed(placed, climbs)
    return figure


def _draw_curves(axes: Axes) -> None:
    from fairweir.show import style

    for i, text in enumerate(CURVES):
        rounds = rounds_to(CURVE_RATES, Allowance(text), 1.0, 1.0)
        axes.plot(CURVE_RATES, rounds, color=style.colour(i), label=f"f(C) = {text}")
    axes.set(xlabel="C (packets in R)", ylabel="$F^{-1}$(C) (round trips)", title="minimum time for an allowed loss")
    axes.set(xscale="log", yscale="log", xlim=(CURVE_RATES[3], CURVE_RATES[-1]), ylim=(1, None))
    axes.legend(frameon=False)


def _draw_placed(axes: Axes, climbs: Climbs) -> None:
    from fairweir.show import style

    start = packets_per_r(GATE_MBPS)
    rates = np.geomspace(RATES_MBPS[0], RATES_MBPS[-1], 60)
    bounds = {"bound, 2 f = 10": Prober().allowance, "bound, 2 f = 10 + 0.2 C": IN_PROPORTION[0].allowance}
    for dashes, (label, allowance) in zip(("-", "--"), bounds.items(), strict=True):
        times = [min_time(CONVERGED * packets_per_r(m), allowance, start, BUFFER) * RTPROP_MS / 1e3 for m in rates]
        axes.plot(rates, times, color="#555555", linestyle=dashes, label=label)
    colours: dict[tuple[float, str], str] = {}
    for prober, found in climbs.items():
        colour = colours.setdefault((prober.k, prober.allowance.text), style.colour(len(colours)))
        points = [(m, c.converged_s) for m, c in zip(RATES_MBPS, found, strict=True) if c is not None]
        looks = "o-" if prober.has_jitter else "s:"
        axes.plot(*zip(*points, strict=True), looks, markersize=4, color=colour, label=prober.label)
    axes.set(xscale="log", yscale="log", xlabel="C (Mbps)", title="cc_probe_slow_k")
    axes.set(ylabel=f"time from {GATE_MBPS} Mbps to {CONVERGED:.0%} (s)", ylim=(0.05, None))
    axes.set_xticks(RATES_MBPS, [str(m) for m in RATES_MBPS])
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
