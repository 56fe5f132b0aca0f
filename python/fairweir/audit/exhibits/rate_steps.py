"""A link whose rate doubles, or halves, every 20 s (thesis section B.6, figures B.6 and B.7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairweir.audit.axis import Axis
from fairweir.audit.exhibits import readings
from fairweir.audit.exhibits.family import Claim, Family, Metric, Place, Reading, Series, Subject
from fairweir.audit.exhibits.setting import categories
from fairweir.judging.interval import Scale
from fairweir.judging.outcome import Direction, Threshold
from fairweir.scenario.dumbbell import ScenarioDict, dumbbell_document, flow, start_times
from fairweir.units import Duration, Rate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RTPROP = Duration.from_ms(80)
STEP = Duration.from_s(20)
BUFFER = "640pkts"
"""One BDP at 96 Mbps."""
_SLOW, _MIDDLE, _FAST = Rate.from_mbps(24), Rate.from_mbps(48), Rate.from_mbps(96)
RATES = {"doubling": (_SLOW, _MIDDLE, _FAST), "halving": (_FAST, _MIDDLE, _SLOW)}
ADAPTED_SHARE = 0.8
WINDOW_S = 1.0

IN_TIME = Threshold(
    bound=10.0,
    direction=Direction.AT_MOST,
    reason="half of a step; Reno, which adds one packet per RTT, needs 26 s for the last step (320 to 640 packets);"
    " CUBIC and its successors were designed to be faster",
    source="RFC 9743 section 7, sudden changes in the path; RFC 9438 section 1; thesis section B.6",
)
USED = Threshold(
    bound=0.7,
    direction=Direction.AT_LEAST,
    reason="a sender that needs half of each step to double its rate uses three quarters of the link",
    source="computed from the scenario; thesis figure B.6",
)


def _scenario(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
    step = STEP * patience
    (start,) = start_times(seed, 1)
    rates = RATES[place.label]
    scenario = dumbbell_document(
        "rate-steps",
        f"one flow; the link's rate is {place.label} every {step.s:g} s",
        rate=rates[0],
        buffer=BUFFER,
        flow_tables=[flow(subject.cca, RTPROP, start)],
        duration=step * (len(rates) + 1),
        warmup=step,
        seed=seed,
    )
    link = scenario["link"]["bottleneck"]
    del link["rate"]
    held = (rates[0], *rates)
    link["steps"] = [[str(i * step), str(rate)] for i, rate in enumerate(held) if i == 0 or held[i - 1] != rate]
    return scenario


def adaptation_times_s(series: Series, rates: Sequence[Rate]) -> Iterator[float]:
    """Yield for each step the time (s) until the throughput over 1 s is `ADAPTED_SHARE` of the new rate.

    A step in which the throughput does not reach this share counts with its whole length.
    """
    step_s = series.t_s[-1] / (len(rates) + 1)
    total = [sum(column) for column in zip(*series.throughput_mbps, strict=True)]
    for i in range(1, len(rates)):
        start_s, end_s = (i + 1) * step_s, (i + 2) * step_s
        times = (
            t
            for t, rate in zip(series.t_s, total, strict=True)
            if start_s + WINDOW_S <= t <= end_s + 1e-9 and rate >= ADAPTED_SHARE * rates[i].mbps
        )
        yield min(next(times, end_s), end_s) - start_s


def _adaptation(reading: Reading) -> float | None:
    if reading.series is None:
        return None
    return max(adaptation_times_s(reading.series, RATES[reading.place.label]))


STEPS = Family(
    name="rate-steps",
    title="Rate steps",
    question="How quickly does a flow follow a link whose rate doubles or halves?",
    setup=f"one flow, rtprop {RTPROP.ms:g} ms, buffer of 640 packets; link rate of 24, 48, 96 Mbps"
    f" or the reverse, {STEP.s:g} s each",
    axis=Axis(name="rate", scale="category"),
    places=categories(quick=["doubling"], default=list(RATES), deep=list(RATES)),
    scenario=_scenario,
    metrics=(
        Metric(
            "adaptation_s",
            "s",
            Scale.POSITIVE,
            _adaptation,
            label="time to adapt (s)",
            better=Direction.AT_MOST,
            relevant=0.2,
        ),
        readings.UTILIZATION,
        readings.QUEUE,
        readings.QUEUE_P95,
        readings.LOSS,
    ),
    claims=(
        Claim(
            metric="adaptation_s",
            title="adaptation",
            text=f"the flow uses {ADAPTED_SHARE:.0%} of the new rate within half of a step",
            threshold=IN_TIME,
            expectations={"bbr": "a few gain cycles of 8 RTTs", "reno": "one packet per RTT: tens of seconds"},
        ),
        Claim(metric="utilization", title="efficiency", text="the link is used across steps", threshold=USED),
    ),
    traced=lambda depth: (0.0, 1.0),
    series_interval="1s",
)

FAMILIES = (STEPS,)
