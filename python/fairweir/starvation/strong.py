"""Theorem 3 of the starvation paper: if the link rate may vary at will, no CCA that bounds delay escapes starvation.

Starvation means that bounded jitter makes the throughput ratio of two flows of one CCA exceed a required ratio. A link
with a variable rate can cause any sequence of queueing delays, equal for both flows, as long as no packet overtakes
another. The construction records the queueing delay d_1(t) of a flow alone on an ideal link. Then it runs the CCA on a
fast link with the queueing delays d_1, d_2 = max(0, d_1 - D), d_3 = max(0, d_2 - D), ... until the delay is zero; each
of these runs is a trace. With no delay, the flow observes no queue and uses the whole link, so there are two
consecutive traces whose throughputs differ by the factor s. These two traces are possible for two flows on one link:
the queue of the link delays both flows by d_(k+1), and jitter of d_k - d_(k+1), which is between 0 and D, delays one of
the flows.

Symbols: D, maximum jitter; d_k(t), queueing delay of trace k at time t; Q, maximum of d_1; s, required throughput
ratio; lambda, rate of the ideal link.

**Source**: starvation paper, section 6 and appendix B.

**Deviations**: appendix B uses the symbol D for the maximum of d_1, and then decreases the delay by D until it is zero,
in ceil(Q/D) steps. As printed, that is one step; here the maximum of d_1 is Q. Runs are finite, and so is the rate of
the fast link: `ceiling` times lambda, in place of infinity. The queueing delay is sampled every `STEP` and interpolated
linearly; a CCA that uses more than delay would observe a different path.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from fairweir.errors import ControllerError
from fairweir.judging.metrics import RATIO_CEILING
from fairweir.play.batch import Archive, Task, play_all
from fairweir.scenario.dumbbell import PACKET, Cca, cca_name, exact_dumbbell
from fairweir.scenario.model import Scenario
from fairweir.starvation import links
from fairweir.starvation.trajectory import record
from fairweir.units import NS_PER_MS, Duration, Rate

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

DURATION = Duration.from_s(40)
STEP = Duration.from_ms(5)


@dataclass(frozen=True)
class Trace:
    """Result of one run, in which all packets are delayed by d_k(t).

    Attributes
    ----------
    largest_ms : float, maximum of d_k
    throughput_mbps : float, throughput in the second half of the run
    """

    largest_ms: float
    throughput_mbps: float


@dataclass(frozen=True)
class Descent:
    """The traces, in the order of decreasing delay.

    Attributes
    ----------
    d : D
    traces : list of Trace, at least two
    """

    d: Duration
    traces: list[Trace]

    @property
    def ratio(self) -> float:
        """The largest throughput ratio of two consecutive traces."""
        return max(_ratio(*pair) for pair in pairwise(self.traces))


def _ratio(one: Trace, other: Trace) -> float:
    low, high = sorted((one.throughput_mbps, other.throughput_mbps))
    return min(high / low, RATIO_CEILING) if low > 0.0 else RATIO_CEILING


def descend(
    cca: Cca,
    *,
    d: Duration,
    ratio: float = 10.0,
    rate: Rate = Rate.from_mbps(10),
    ceiling: float = 100.0,
    rtprop: Duration = Duration.from_ms(40),
    archive: Archive | None = None,
) -> Descent:
    """Run the traces until the throughputs of two consecutive traces differ by the factor `ratio`, or d_k is zero.

    Parameters
    ----------
    d : D
    ratio : float, s
    rate : lambda, the rate of the ideal link on which d_1 is recorded
    ceiling : rate of the link in all traces, divided by `rate`
    rtprop : round-trip propagation delay
    archive : Archive from which runs with the same scenario are read, and in which new runs are stored

    Raises
    ------
    ConfigError, ControllerError, CcaError : the CCA fails during a run or cannot be loaded
    """
    import numpy as np

    times_ms, delay_ms = delays_ms(cca, rate, rtprop)
    traces: list[Trace] = []
    while True:
        task = Task(Scenario.from_dict(_against(cca, times_ms, delay_ms, rate * ceiling, rtprop)))
        outcome = play_all([task], archive or Archive(None))[task.key]
        if outcome.summary is None:
            raise ControllerError(outcome.failure)
        traces.append(Trace(float(delay_ms.max()), outcome.summary.flows[0].throughput_mbps))
        is_apart = len(traces) > 1 and _ratio(*traces[-2:]) >= ratio
        if is_apart or delay_ms.max() == 0.0:
            return Descent(d, traces)
        delay_ms = np.maximum(0.0, delay_ms - d.ms)


def delays_ms(cca: Cca, rate: Rate, rtprop: Duration) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Run one flow on an ideal link; return times in ms, and d_1 at each time in ms, including transmission time.

    Raises
    ------
    ConfigError, ControllerError, CcaError : the CCA fails during a run or cannot be loaded
    """
    import numpy as np

    played = record(links.ideal(cca, rate, rtprop, DURATION, 0.5), Duration.from_s(0), DURATION)
    arrived = played.arrived_ns > 0
    sent_ms = played.sent_ns[arrived] / NS_PER_MS
    delay_ms = (played.arrived_ns - played.sent_ns)[arrived] / NS_PER_MS
    times_ms = np.arange(0.0, DURATION.ms, STEP.ms)
    last = np.maximum(np.searchsorted(sent_ms, times_ms, side="right") - 1, 0)
    # Between packets the link continues to serve its queue, so the delay decreases with time after the last packet.
    queued_ms = delay_ms[last] - played.one_way_ns / NS_PER_MS - (times_ms - sent_ms[last])
    return times_ms, np.maximum(queued_ms, (PACKET / rate).ms)


def _against(
    cca: Cca,
    times_ms: npt.NDArray[np.float64],
    delay_ms: npt.NDArray[np.float64],
    link: Rate,
    rtprop: Duration,
) -> dict[str, Any]:
    """Return the scenario of one flow on a link of rate `link`, with a queueing delay of `delay_ms` at `times_ms`."""
    points = [
        [str(Duration.from_ms(at)), str(Duration.from_ms(delay))]
        for at, delay in zip(times_ms.tolist(), delay_ms.tolist(), strict=True)
    ]
    jitter = {"kind": "trajectory", "points": points, "interpolation": "linear"}
    return exact_dumbbell(
        f"{cca_name(cca)}-strong",
        f"A flow of {cca_name(cca)} on {link} sees queueing delays of up to {delay_ms.max():.4g} ms.",
        rate=link,
        buffer=links.BUFFER,
        flow_tables=[links.flow_of(cca, rtprop, jitter=jitter)],
        duration=DURATION,
        warmup=DURATION / 2,
        seed=1,
    )
