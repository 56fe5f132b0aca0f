"""Compute thesis figures 7.4 and 7.6 to 7.9: how large and how long FRCC's probe and throughput measurement must be.

A probe raises a flow's window for some time. The *excess delay* is the increase of the RTT during the probe; from it
the flow infers the link rate. Here, windows are fixed except for the probe
(:class:`fairweir.papers.thesis.prober.Prober`), so all other effects are those of the network. The thesis has no
numbers for these figures; the rates and windows are our choice.

Symbols: C, link rate; E, the packets that a probe adds; R, round-trip propagation delay; Delta R, maximum error of a
measured RTT; gamma, a probe's size divided by C Delta R; W_i and R_i, window and R of flow i; q, queueing delay.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fairweir.play.run import run
from fairweir.reproduce.computed import Computation, Number, computed
from fairweir.reproduce.experiment import Bound
from fairweir.scenario.model import Scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fairweir.play.batch import Archive

Series = Any
"""An array of floats."""

PROBER: Final = "fairweir.papers.thesis.prober:Prober"
#: 1000 packets per second, so that the transmission time of a packet is 1 ms.
RATE: Final = "12Mbps"
_PACKETS_PER_MS: Final = 1.0
SHARE_MBPS: Final = 6.0
PROBE_MS: Final = 3000.0
EXTRA_PKTS: Final = 40
#: The short and the long rtprop of figures 7.7 and 7.8, and the window of both flows.
SHORT_MS: Final = 20
LONG_MS: Final = 100
WINDOW_PKTS: Final = 100


@computed(
    "thesis-7.4",
    title="A probe must cause more delay than jitter can hide",
    source="thesis figure 7.4, FRCC paper figure 7",
    published=(
        "a small range of excess delays corresponds to a large range of capacities; for C = 600 only the three "
        "largest probes cause more than Delta R of excess delay"
    ),
    setup="Delta R = 1, probes of a quarter to eight times C Delta R (the figure's sizes are not published)",
    items=(
        "thesis figure 7.4",
        "frcc figure 7",
    ),
)
def probe_sizes(_: Archive) -> Computation:
    """Compute figure 7.4: the range of link rates that a measured excess delay allows, if jitter adds up to Delta R."""
    capacity, jitter = 600.0, 1.0
    sizes = np.array([0.25, 0.5, 1.0, 2.0, 4.0, 8.0]) * capacity * jitter

    def spread(size: float) -> float:
        """Return the largest link rate divided by the smallest that the measured delays E/C - Delta R to E/C + Delta R
        allow.
        """
        delay = size / capacity
        return (delay + jitter) / (delay - jitter) if delay > jitter else math.inf

    spreads = [spread(size) for size in sizes]
    gamma = 4.0
    numbers = [
        Number("C = 600, six probes", "only the largest exceed the jitter",
               "number of the six probes with an excess delay above Delta R",
               float(sum(size / capacity > jitter for size in sizes)), Bound(at_least=3, at_most=3), 3.0),
        Number("C = 600, E up to C Delta R", "a small range of delays corresponds to a large range of capacities",
               "number of the three probes that bound C",
               float(sum(map(math.isfinite, spreads[:3]))), Bound(at_most=0), "none"),
        Number("E = gamma C Delta R, gamma 4", "larger probes bound the capacity", "maximum capacity / minimum",
               spread(gamma * capacity * jitter), Bound(within=0.01), (gamma + 1) / (gamma - 1)),
    ]  # fmt: skip

    def draw() -> Figure:
        from matplotlib.figure import Figure as Sheet

        sheet = Sheet(figsize=(7, 4.5), layout="constrained")
        axes = sheet.subplots()
        delays = np.geomspace(0.05, 10, 300)
        for size in sizes:
            axes.loglog(delays, size / delays, label=f"E = {size:g}")
        axes.axvspan(0.05, jitter, color="#DDDDDD", label="within jitter")
        axes.axhline(capacity, color="black", linewidth=0.8, linestyle=":")
        axes.set_xlabel("excess delay / Delta R")
        axes.set_ylabel("capacity E / excess delay (packets per Delta R)")
        axes.legend(fontsize=8)
        return sheet

    return Computation(numbers, draw)


@dataclass(frozen=True)
class Probe:
    """The effect of one probe on the RTT of the flow that probes.

    Attributes
    ----------
    t_ms : array, time since the probe began
    excess : array, the RTT minus the RTT before the probe, divided by the transmission time E/C of the extra packets
    """

    t_ms: Series
    excess: Series

    def largest(self, after_ms: float, before_ms: float) -> float:
        """Return the largest excess between two times after the probe began."""
        return float(np.nanmax(self._within(after_ms, before_ms)))

    def swing(self, after_ms: float, before_ms: float) -> float:
        """Return the largest minus the smallest excess between two times after the probe began."""
        span = self._within(after_ms, before_ms)
        return float(np.nanmax(span) - np.nanmin(span))

    def settled(self) -> float:
        """Return the mean excess in the last second of the run."""
        return float(np.nanmean(self.excess[-1000:]))

    def _within(self, after_ms: float, before_ms: float) -> Series:
        return self.excess[(self.t_ms > after_ms) & (self.t_ms <= before_ms)]


@computed(
    "thesis-7.6",
    title="Packet trains may not measure the link's capacity",
    source="thesis figure 7.6, FRCC paper figure 9",
    published=(
        "the immediate excess delay exceeds the probe's transmission delay if the probe passes another hop first, "
        "and falls once packets are ACK-clocked"
    ),
    setup="windows of 100 packets, a probe of 40; 12 Mbps, rtprop 40 ms; the other hop has the same rate",
    items=(
        "thesis figure 7.6",
        "frcc figure 9",
    ),
)
def trains(_: Archive) -> Computation:
    """Compute figure 7.6: a probe that is sent as one burst queues twice if another hop precedes the bottleneck."""
    near, far = _probe(_one_link([40, 40], 0)), _probe(_with_extra_hop())
    # The first packets of the probe are acknowledged after one RTT. The last ones are acknowledged during the next RTT.
    first_ms = 1.5 * 2 * WINDOW_PKTS / _PACKETS_PER_MS
    numbers = [
        Number("bottleneck alone", "the excess delay is the probe's transmission delay", "maximum excess / (E/C)",
               near.largest(0, first_ms), Bound(at_least=0.9, at_most=1.1), "about 1"),
        Number((
            "after a hop of the same rate"
        ), "the immediate excess delay is larger", "maximum excess / (E/C), first RTT",
               far.largest(0, first_ms), Bound(at_least=1.2), "more than 1"),
        Number("after a hop of the same rate", "it falls once packets are ACK-clocked", "settled excess / (E/C)",
               far.settled(), Bound(at_least=0.9, at_most=1.1), "about 1"),
    ]  # fmt: skip
    return Computation(numbers, lambda: _draw_probes({"bottleneck alone": near, "after a hop of the same rate": far}))


@computed(
    "thesis-7.7",
    title="With different rtprops probes cause oscillations",
    source="thesis figure 7.7, FRCC paper figure 10",
    published=(
        "RTTs oscillate after a probe, and the oscillation decays; the excess delay without oscillations is not the "
        "probe's transmission delay"
    ),
    setup="as thesis-7.6, with rtprops of 20 and 100 ms; in equilibrium the rates W_i/(R_i + q) sum to C",
    items=(
        "thesis figure 7.7",
        "frcc figure 10",
    ),
)
def oscillations(_: Archive) -> Computation:
    """Compute figure 7.7: if rtprops differ, RTTs oscillate after a probe, and the excess delay differs from E/C."""
    probes = {name: _probe(_one_link(rtprops, 0)) for name, rtprops in _PAIRS.items()}
    numbers = []
    for name, probe in probes.items():
        early, late = probe.swing(_FIRST_MS, _FIRST_MS + _SPAN_MS), probe.swing(_LATE_MS, _LATE_MS + _SPAN_MS)
        expected = persistent_excess(*_PAIRS[name])
        numbers += [
            Number(name, "oscillations decay", "range of the RTT, late / early", late / early,
                   Bound(at_most=0.5), "they decay"),
            Number(name, "the excess delay is not the transmission delay", "settled excess / (E/C)",
                   probe.settled(), Bound(within=0.1), expected),
        ]  # fmt: skip
    return Computation(numbers, lambda: _draw_probes(probes))


@computed(
    "thesis-7.8",
    title="Paced probes cause smaller oscillations",
    source="thesis figure 7.8, FRCC paper figure 11",
    published="pacing a probe over an RTT reduces the oscillations, for probes of either flow",
    setup="as thesis-7.7",
    items=(
        "thesis figure 7.8",
        "frcc figure 11",
    ),
)
def paced(_: Archive) -> Computation:
    """Compute figure 7.8: a probe that is paced over one RTT causes smaller oscillations."""
    probes: dict[str, Probe] = {}
    numbers = []
    for name, rtprops in _PAIRS.items():
        ramp_ms = rtprops[0] + _queue_ms(rtprops, [WINDOW_PKTS] * 2)
        abrupt, smooth = _probe(_one_link(rtprops, 0)), _probe(_one_link(rtprops, ramp_ms))
        probes |= {f"{name}, at once": abrupt, f"{name}, over an RTT": smooth}
        numbers.append(
            Number(name, "pacing reduces oscillations", "range of the RTT, paced / unpaced",
                   smooth.swing(_FIRST_MS, _LATE_MS) / abrupt.swing(_FIRST_MS, _LATE_MS), Bound(at_most=0.8), "reduced")
        )  # fmt: skip
    return Computation(numbers, lambda: _draw_probes(probes))


@computed(
    "thesis-7.9",
    title="Throughput over RTT-aligned intervals",
    source="thesis figure 7.9, FRCC paper figure 24",
    published=(
        "over intervals that are not aligned the throughput can have any value from 0 to C, over an RTT it is cwnd/RTT"
    ),
    setup="two flows of 100 packets whose first windows leave as bursts; 12 Mbps, rtprop 100 ms, no jitter",
    items=(
        "thesis figure 7.9",
        "frcc figure 24",
    ),
)
def aligned_intervals(_: Archive) -> Computation:
    """Compute figure 7.9: the throughputs of two bursty flows on an ideal link, over intervals of several lengths."""
    config = Scenario.from_dict(
        {
            "duration": "3s",
            "link": {"bottleneck": {"rate": RATE, "buffer": "1000pkts"}},
            "flow": [
                {"id": "first", "cca": {"name": PROBER, "window_pkts": WINDOW_PKTS}, "rtprop": f"{WINDOW_PKTS}ms"},
                {
                    "id": "second",
                    "cca": {"name": PROBER, "window_pkts": WINDOW_PKTS},
                    "rtprop": f"{WINDOW_PKTS}ms",
                    "start": "1ms",
                },
            ],
        },
        source="figure 7.9",
    )
    table = run(config, interval="1ms").flows
    mbps = table["throughput_mbps"][table["flow"] == 0][1000:]
    rtt_ms = 2 * WINDOW_PKTS
    means = {length: np.convolve(mbps, np.ones(length) / length, "valid") / 12.0 for length in (rtt_ms // 4, rtt_ms)}
    short, whole = means[rtt_ms // 4], means[rtt_ms]
    numbers = [
        Number("a quarter of an RTT", "not aligned: any value from 0 to C", "maximum throughput / C",
               float(short.max()), Bound(within=0.05), 1.0),
        Number("a quarter of an RTT", "not aligned: any value from 0 to C", "minimum throughput / C",
               float(short.min()), Bound(at_most=0.05), 0.0),
        Number("an RTT", "aligned: cwnd/RTT", "maximum throughput / C", float(whole.max()), Bound(within=0.05), 0.5),
        Number("an RTT", "aligned: cwnd/RTT", "minimum throughput / C", float(whole.min()), Bound(within=0.05), 0.5),
    ]  # fmt: skip

    def draw() -> Figure:
        from matplotlib.figure import Figure as Sheet

        sheet = Sheet(figsize=(7, 4), layout="constrained")
        axes = sheet.subplots()
        for length, values in means.items():
            axes.plot(np.arange(len(values)) / 1e3, values, label=f"over {length} ms; the RTT is {rtt_ms} ms")
        axes.set_xlim(0, 1)
        axes.set_xlabel("time (s)")
        axes.set_ylabel("throughput / C")
        axes.legend(fontsize=8)
        return sheet

    return Computation(numbers, draw)


def persistent_excess(prober_ms: int, other_ms: int) -> float:
    """Return the excess delay of a probe in equilibrium, divided by E/C. In equilibrium the rates W_i/(R_i + q) add up
    to C.
    """
    rtprops = [prober_ms, other_ms]
    before = _queue_ms(rtprops, [WINDOW_PKTS, WINDOW_PKTS])
    after = _queue_ms(rtprops, [WINDOW_PKTS + EXTRA_PKTS, WINDOW_PKTS])
    return (after - before) * _PACKETS_PER_MS / EXTRA_PKTS


def _queue_ms(rtprops_ms: list[int], windows_pkts: list[int]) -> float:
    from scipy.optimize import brentq

    def surplus(queue_ms: float) -> float:
        rates = (w / (rtprop + queue_ms) for w, rtprop in zip(windows_pkts, rtprops_ms, strict=True))
        return sum(rates) - _PACKETS_PER_MS

    return float(brentq(surplus, 0.0, 1e4))


#: For each run, the rtprops of the flow that probes and of the other flow, ms.
_PAIRS: Final = {"the short flow probes": [SHORT_MS, LONG_MS], "the long flow probes": [LONG_MS, SHORT_MS]}
#: Times after the probe began between which oscillations are compared: the first span begins when the ramp and the
#: burst have passed, the second begins two seconds later.
_FIRST_MS: Final = 400.0
_LATE_MS: Final = 2400.0
_SPAN_MS: Final = 400.0
_SHOWN_MS: Final = (-300.0, 3000.0)


def _one_link(rtprops_ms: list[int], ramp_ms: float) -> Scenario:
    return Scenario.from_dict(
        {
            "duration": "8s",
            "link": {"bottleneck": {"rate": RATE, "buffer": "1000pkts"}},
            "flow": [_flow("prober", rtprops_ms[0], EXTRA_PKTS, ramp_ms), _flow("other", rtprops_ms[1], 0, 0.0)],
        },
        source="a probe",
    )


def _with_extra_hop() -> Scenario:
    return Scenario.from_dict(
        {
            "duration": "8s",
            "link": {
                "before": {"rate": RATE, "buffer": "1000pkts"},
                "bottleneck": {"rate": RATE, "buffer": "1000pkts"},
            },
            "flow": [
                {**_flow("prober", 40, EXTRA_PKTS, 0.0), "path": ["before", "bottleneck"]},
                {**_flow("other", 40, 0, 0.0), "path": ["bottleneck"]},
            ],
        },
        source="a probe over two hops",
    )


def _flow(name: str, rtprop_ms: int, extra_pkts: int, ramp_ms: float) -> dict[str, Any]:
    cca = {
        "name": PROBER,
        "window_pkts": WINDOW_PKTS,
        "extra_pkts": extra_pkts,
        "probe_ms": PROBE_MS,
        "ramp_ms": ramp_ms,
        "start_mbps": SHARE_MBPS,
    }
    return {"id": name, "cca": cca, "rtprop": f"{rtprop_ms}ms"}


def _probe(scenario: Scenario) -> Probe:
    """Run a scenario with a probe, and return the excess delay of the flow that probes, once per millisecond."""
    table = run(scenario, interval="1ms").flows
    is_prober = table["flow"] == 0
    t_ms, rtt_ms = table["t_ns"][is_prober] / 1e6, table["rtt_ms"][is_prober]
    before = np.nanmedian(rtt_ms[(t_ms > PROBE_MS - 1000) & (t_ms <= PROBE_MS)])
    return Probe(t_ms - PROBE_MS, (rtt_ms - before) * _PACKETS_PER_MS / EXTRA_PKTS)


def _draw_probes(probes: dict[str, Probe]) -> Figure:
    from matplotlib.figure import Figure as Sheet

    sheet = Sheet(figsize=(4.5 * min(2, len(probes)), 3.2 * math.ceil(len(probes) / 2)), layout="constrained")
    for axes, (name, probe) in zip(sheet.subplots(math.ceil(len(probes) / 2), 2).flat, probes.items(), strict=True):
        shown = (probe.t_ms > _SHOWN_MS[0]) & (probe.t_ms < _SHOWN_MS[1])
        axes.plot(probe.t_ms[shown], probe.excess[shown], linewidth=0.8)
        axes.axhline(1, color="black", linewidth=0.8, linestyle=":")
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("time since the probe began (ms)")
        axes.set_ylabel("excess delay / (E/C)")
    return sheet
