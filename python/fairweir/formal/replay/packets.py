"""Convert a solver's trace to a packet-level scenario: the same arrivals, the same queue and the same delays.

A trace lists the cumulative bytes that flows sent and that a link served and lost at equally spaced points in time. In
the scenario, C R becomes a thousand packets, and R 100 ms. The bottleneck is a link whose rate in each step between
points is the rate at which the trace's queue drains (on links with a constant rate: C). A second link after the
bottleneck serves packets at the times of S, so it delays packets by the jitter, at most D. Before the first point, the
packets of the trace's initial queues are sent and held. Between points, curves are straight lines.

Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; S, bytes served. A curve is the value of a
cumulative quantity at each point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from fairweir.errors import ConfigError
from fairweir.formal.claims.measure import Curves
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.models import MODELS
from fairweir.scenario.dumbbell import EXACT_HOSTS
from fairweir.scenario.model import Scenario

if TYPE_CHECKING:
    from fairweir.play.run import Run

#: One R, ms.
R_MS = 100
#: Number of packets in C R. The simulator therefore reproduces curves to within 0.1 % of C R.
PACKETS_PER_CR = 1000
#: If the run loses at most this number of packets, the loss may be a rounding error and is ignored.
BLUR_PACKETS = 3
#: Size of a packet on the wire, bytes.
PACKET_BYTES = 1500
#: The link's rate C, bit/s.
C_BPS = PACKETS_PER_CR * PACKET_BYTES * 8 * 1000 // R_MS
SENDER = "fairweir.formal.replay:Scheduled"
BOTTLENECK = "bottleneck"


@dataclass(frozen=True)
class Replay:
    """The scenario in which a trace is replayed.

    Attributes
    ----------
    scenario : Scenario
    start_ms : Fraction, ms from the scenario's start to the trace's first point
    step_ms : Fraction, ms between points
    """

    scenario: Scenario
    start_ms: Fraction
    step_ms: Fraction

    @property
    def interval(self) -> str:
        """The sampling interval of the run's time series; each point of the trace is the end of one interval."""
        return f"{int(self.step_ms * 1_000_000)}ns"


def scenario_of(trace: Trace, name: str, description: str = "") -> Replay:
    """Return the scenario that replays a trace.

    Parameters
    ----------
    trace : Trace
    name, description : name and description of the scenario

    Raises
    ------
    ConfigError : a step is not a whole number of ns, or the model has no equivalent in the simulator
    """
    grid, elements = trace.grid, MODELS[trace.model].packets
    if elements is None:
        raise ConfigError(f"the model `{trace.model}` has no equivalent in the simulator", key="packets")
    step_ms = R_MS * grid.step
    if (step_ms * 1_000_000).denominator != 1:
        raise ConfigError(f"with {grid.per_r} steps per R, a step is not a whole number of ns", key="--per-r")
    steps_before = max(grid.d_steps, grid.r_steps)
    curves = Curves.of(trace)
    times = [step_ms * i for i in (0, *range(steps_before, steps_before + grid.points))]
    out = _through(curves.out, curves.S[0])
    links: dict[str, Any] = {
        BOTTLENECK: {
            "steps": _steps(times, _rates(out, times) if elements.varies else _queue_rates(out, times)),
            "buffer": "infinite" if trace.beta is None else f"{round(trace.beta * PACKETS_PER_CR)}pkts",
        }
    }
    flows = []
    per_flow = MODELS[trace.model].delays_each_flow and len(trace.flows) > 1
    for i, flow in enumerate(trace.flows):
        path = [BOTTLENECK]
        if elements.delays:
            path.append(f"jitter-{i + 1}" if per_flow else "jitter")
            served = flow.S if per_flow else curves.S
            links[path[-1]] = {"steps": _steps(times, [Fraction(0), *_rates(served, times[1:])]), "buffer": "infinite"}
        schedule = _through([sent - flow.L[0] for sent in flow.A], flow.S[0])
        flows.append(
            {
                "id": f"flow-{i + 1}",
                "cca": {"name": SENDER, "schedule": _schedule(times, schedule)},
                "rtprop": f"{R_MS}ms",
                "min_rto": "60s",
                "path": path,
            }
        )
    document = {
        "name": name,
        "description": description,
        # Bytes that are served at the last point are acknowledged one R later.
        "duration": f"{int((times[-1] + R_MS) * 1_000_000)}ns",
        "warmup": f"{int(times[1] * 1_000_000)}ns",
        "packet": f"{PACKET_BYTES}B",
        **EXACT_HOSTS,
        "link": links,
        "flow": flows,
    }
    return Replay(Scenario.from_dict(document), times[1], step_ms)


def _through(curve: Sequence[Fraction], origin: Fraction) -> list[Fraction]:
    """Return zero for the scenario's start, and then for each point the value of `curve` above `origin`, or zero."""
    return [Fraction(0), *(max(value - origin, Fraction(0)) for value in curve)]


def _rates(curve: Sequence[Fraction], times: Sequence[Fraction]) -> list[Fraction]:
    """Return the slope of a curve between each pair of successive `times` (ms), in C."""
    pairs = zip(pairwise(curve), pairwise(times), strict=True)
    return [(after - before) * R_MS / (end - begin) for (before, after), (begin, end) in pairs]


def _queue_rates(out: Sequence[Fraction], times: Sequence[Fraction]) -> list[Fraction]:
    """Return a rate for each step, in C: before the first point, the slope of `out`; then 1."""
    return [_rates(out, times)[0], *(Fraction(1) for _ in times[2:])]


def _steps(times: Sequence[Fraction], rates: Sequence[Fraction]) -> list[list[str]]:
    """Return a link's rates in scenario notation.

    After the trace the rate is C, because the last rate in a scenario must not be 0.
    """
    return [
        [f"{int(t * 1_000_000)}ns", f"{round(rate * C_BPS)}bps"]
        for t, rate in zip(times, [*rates, Fraction(1)], strict=True)
    ]


def _schedule(times: Sequence[Fraction], curve: Sequence[Fraction]) -> list[list[float]]:
    """Return a sender's curve as pairs of a time, in s, and a number of packets."""
    return [[float(t / 1000), float(value * PACKETS_PER_CR)] for t, value in zip(times, curve, strict=True)]


def curves_of(run: Run, replay: Replay, trace: Trace) -> Curves:
    """Return the curves of a run at the trace's points, in C R since the first point.

    Arrivals and drops are read from the time series of the bottleneck. A packet in transmission counts as served.

    Parameters
    ----------
    run : Run of the replay's scenario, with time series at :attr:`Replay.interval`
    replay : Replay
    trace : Trace that was replayed
    """
    import numpy as np

    links, flows = run.links.to_dict(), run.flows.to_dict()
    names = [link.name for link in run.summary.links]
    first, points = int(replay.start_ms / replay.step_ms), trace.grid.points
    packets = Fraction(PACKET_BYTES * PACKETS_PER_CR)
    mbps_ms = float(replay.step_ms) * 1000 / 8

    def at_points(series: Sequence[float], later: int = 0) -> list[Fraction]:
        """Return the values of a series in bytes at the trace's points, `later` steps later, in C R."""
        begin = first - 1 + later
        return [Fraction(round(value)) / packets for value in series[begin : begin + points]]

    def link(column: str, name: str) -> list[float]:
        return [value for value, where in zip(links[column], links["link"], strict=True) if names[where] == name]

    def flow(column: str, index: int) -> list[float]:
        return [value for value, which in zip(flows[column], flows["flow"], strict=True) if which == index]

    accepted = at_points(np.cumsum(np.array(link("arrival_rate_mbps", BOTTLENECK)) * mbps_ms).tolist())
    drops = [value * PACKET_BYTES for value in link("drops", BOTTLENECK)]
    lost = at_points(np.cumsum(drops).tolist())
    queued = at_points(link("queue_bytes", BOTTLENECK))
    held = [at_points(link("queue_bytes", name)) for name in names if name != BOTTLENECK]
    out = [sent - left for sent, left in zip(accepted, queued, strict=True)]
    served = [o - sum(h[t] for h in held) for t, o in enumerate(out)]
    back = trace.grid.r_steps
    per_flow = [
        at_points(np.cumsum(np.array(flow("throughput_mbps", i)) * mbps_ms).tolist(), later=back)
        for i in range(len(trace.flows))
    ]
    origin = served[0]
    losses = [trace.L[0] + value - lost[0] for value in lost]
    # Senders know of losses one R later, as in the model.
    known = [*Curves.of(trace).Ld[:back], *losses[: points - back]]
    left = [value - origin for value in out]
    return Curves(
        grid=trace.grid,
        alpha=trace.alpha,
        A=[sent - origin + dropped for sent, dropped in zip(accepted, losses, strict=True)],
        S=[value - origin for value in served],
        L=losses,
        Ld=known,
        out=left,
        TA=left,
        served=per_flow,
        blur=Fraction(BLUR_PACKETS, PACKETS_PER_CR),
    )
