"""Theorem 3: in the strong model, where the link's rate varies at will, no CCA that bounds delay escapes starvation.

A link with a variable rate can cause any sequence of queueing delays, equal for both flows, as long as no packet
overtakes another. The adversary records the delay d_1(t) of a flow alone on an ideal link, and runs the CCA against d_2
= max(0, d_1 - D), d_3 = max(0, d_2 - D), ... until it is zero. With no delay, the flow observes no queue and uses the
whole link, so the throughputs of some two consecutive traces differ by a factor s. These two traces are possible for
two flows on one link: its queue delays both by d_(k+1), and jitter of d_k - d_(k+1), which is in [0, D], delays one of
them.

**Source**: starvation paper, section 6 and appendix B.

**Deviations**: appendix B calls the maximum d_1 D, and then steps down by D to zero, in ceil(Q/D) steps. With D as
printed that is one step; here the maximum d_1 is Q, and D the bound on jitter. Runs are finite and the fast link is
too: `ceiling` times the slow one, for "infinity". The delay is sampled from the record every `STEP`, and linear in
between; CCAs that use more than delay observe another path.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from fairweir.errors import ControllerError
from fairweir.judging.metrics import RATIO_CEILING
from fairweir.play.batch import Archive, Task, play_all
from fairweir.scenario.dumbbell import PACKET, Cca, cca_name, dumbbell_document
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
    """A run of the CCA against one delay.

    Attributes
    ----------
    largest_ms : float, of the queueing delay that the adversary adds
    throughput_mbps : float, over the run's second half
    """

    largest_ms: float
    throughput_mbps: float


@dataclass(frozen=True)
class Descent:
    """The traces, from the ideal link's delay down to zero.

    Attributes
    ----------
    d : the jitter bound D
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
    """Run the proof's traces until two of them differ by the factor `ratio`, or the delay is zero.

    Parameters
    ----------
    d : the jitter bound D
    ratio : float, the required throughput ratio s
    rate : lambda, the rate of the ideal link on which d_1 is recorded
    ceiling : rate of the fast link divided by `rate`
    archive : stores finished runs

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
    """Run one flow on an ideal link; return times, and the queueing delay at each, with a packet's transmission, ms.

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
    # Meanwhile the link keeps serving: so no packet overtakes, and the link's queue can be the cause of the delay.
    queued_ms = delay_ms[last] - played.one_way_ns / NS_PER_MS - (times_ms - sent_ms[last])
    return times_ms, np.maximum(queued_ms, (PACKET / rate).ms)


def _against(
    cca: Cca,
    times_ms: npt.NDArray[np.float64],
    delay_ms: npt.NDArray[np.float64],
    link: Rate,
    rtprop: Duration,
) -> dict[str, Any]:
    """Return the scenario of one flow on a fast link, with the given delay for every packet."""
    points = [
        [str(Duration.from_ms(at)), str(Duration.from_ms(delay))]
        for at, delay in zip(times_ms.tolist(), delay_ms.tolist(), strict=True)
    ]
    jitter = {"kind": "trajectory", "points": points, "interpolation": "linear"}
    return dumbbell_document(
        f"{cca_name(cca)}-strong",
        f"A flow of {cca_name(cca)} on {link} sees queueing delays of up to {delay_ms.max():.4g} ms.",
        rate=link,
        buffer=links.BUFFER,
        flow_tables=[links.flow_of(cca, rtprop, jitter=jitter)],
        duration=DURATION,
        warmup=DURATION / 2,
        seed=1,
    )
