"""Flows that arrive and leave one after another (FRCC section 7, figure 23; thesis figure B.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairweir.audit.axis import Axis
from fairweir.audit.exhibits import readings, thresholds
from fairweir.audit.exhibits.family import Claim, Family, Metric, Place, Reading, Series, Subject, View
from fairweir.audit.exhibits.setting import places
from fairweir.judging import metrics
from fairweir.judging.interval import Scale
from fairweir.judging.outcome import Direction
from fairweir.scenario.dumbbell import ScenarioDict, dumbbell_document, flow, start_times
from fairweir.units import Duration, Rate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RATE, RTPROP = Rate.from_mbps(96), Duration.from_ms(50)
STAGGER = Duration.from_s(60)
JITTER = Duration.from_s(2)
WINDOW_S = 10
"""Throughputs are averaged over a window of this length before Jain's index is computed."""
SETTLED_JAIN = 0.9


def _scenario(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
    n, stagger = int(place.x), STAGGER * patience
    offsets = start_times(seed, n, JITTER)
    tables = [
        flow(subject.cca, RTPROP, i * stagger + offset, stop=str((n + i) * stagger)) for i, offset in enumerate(offsets)
    ]
    return dumbbell_document(
        "arrivals",
        f"{n} flows; each arrives {stagger.s:g} s after the previous one, and they leave in the same order",
        rate=RATE,
        buffer=subject.buffer,
        flow_tables=tables,
        duration=(2 * n - 1) * stagger,
        warmup=JITTER,
        seed=seed,
    )


def epochs(n: int, stagger_s: float) -> list[tuple[float, float, range]]:
    """Return start, end (s) and active flows of each epoch: the time between two arrivals or departures."""
    return [(i * stagger_s, (i + 1) * stagger_s, range(max(0, i - n + 1), min(i + 1, n))) for i in range(2 * n - 1)]


def settling_times_s(series: Series, n: int) -> Iterator[float]:
    """Yield for each epoch with several flows the time (s) until Jain's index over `WINDOW_S` reaches `SETTLED_JAIN`.

    An epoch in which the index does not reach `SETTLED_JAIN` counts with its whole length.
    """
    stagger_s = series.t_s[-1] / (2 * n - 1)
    for start_s, end_s, active in epochs(n, stagger_s):
        if len(active) < 2:
            continue
        times = [t for t in series.t_s if start_s + WINDOW_S <= t <= end_s + 1e-9]
        settled = (t for t in times if metrics.jain(_window_means(series, active, t)) >= SETTLED_JAIN)
        yield min(next(settled, end_s), end_s) - start_s


def _window_means(series: Series, active: range, end_s: float) -> list[float]:
    inside = [k for k, t in enumerate(series.t_s) if end_s - WINDOW_S < t <= end_s + 1e-9]
    return [_mean([series.throughput_mbps[i][k] for k in inside]) for i in active]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _settling(reading: Reading) -> float | None:
    if reading.series is None:
        return None
    times = list(settling_times_s(reading.series, int(reading.place.x)))
    return _mean(times)


def _late_jain(reading: Reading) -> float | None:
    """Return the minimum over the epochs of Jain's index in the last third of an epoch."""
    if reading.series is None:
        return None
    series, n = reading.series, int(reading.place.x)
    stagger_s = series.t_s[-1] / (2 * n - 1)
    worst = 1.0
    for start_s, end_s, active in epochs(n, stagger_s):
        late = [k for k, t in enumerate(series.t_s) if start_s + 2 * (end_s - start_s) / 3 < t <= end_s + 1e-9]
        worst = min(worst, metrics.jain([_mean([series.throughput_mbps[i][k] for k in late]) for i in active]))
    return worst


ARRIVALS = Family(
    name="arrivals",
    title="Staggered arrivals and departures",
    question="How long does it take until the shares are fair again after a flow arrives or leaves?",
    setup=f"{RATE.mbps:g} Mbps, rtprop {RTPROP.ms:g} ms; a flow arrives every {STAGGER.s:g} s, then a flow "
    f"leaves every {STAGGER.s:g} s",
    axis=Axis(name="flows", scale="linear"),
    places=places("flows", quick=[2], default=[4], deep=[2, 4, 8]),
    scenario=_scenario,
    metrics=(
        Metric(
            "settling_s",
            "s",
            Scale.POSITIVE,
            _settling,
            label="time to settle (s)",
            better=Direction.AT_MOST,
            relevant=0.5,
        ),
        Metric(
            "late_jain",
            "",
            Scale.FRACTION,
            _late_jain,
            label="Jain's index, end of each epoch",
            view=View.UNIT,
            better=Direction.AT_LEAST,
        ),
        readings.UTILIZATION,
    ),
    claims=(
        Claim(
            metric="late_jain",
            title="convergence",
            text=f"shares are fair within {(2 * STAGGER / 3).s:g} s of an arrival or departure",
            threshold=thresholds.CONVERGED,
            expectations={
                "frcc": "tens of seconds (FRCC section 7)",
                "vegas": "flows that start later measure an inflated base RTT",
            },
        ),
        Claim(
            metric="settling_s",
            title="settling time",
            text="mean time from an arrival or departure until shares are fair",
            expectations={"frcc": "a round is 3 s with four flows; tens of seconds (FRCC section 7)"},
        ),
        Claim(metric="utilization", title="efficiency", text="the link is used", threshold=thresholds.EFFICIENT),
    ),
    traced=lambda depth: (2.0, 4.0, 8.0),
    series_interval="1s",
)

FAMILIES = (ARRIVALS,)
