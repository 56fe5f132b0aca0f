"""Style of figures: palette, markers, axis labels; shared by the report's interactive figures and ``run --plot``."""

from __future__ import annotations

from typing import Final

PALETTE: Final = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#8A6E3E",
    "#7F7F7F",
)
"""Okabe and Ito's colours, distinguishable with common colour blindness; their yellow and black, invisible on a
white or a dark page, are replaced by an earth tone and a grey.
"""

MARKERS: Final = ("circle", "square", "diamond", "triangle-up", "x", "star", "hexagon", "triangle-down")
"""Plotly's names, in the palette's order: markers identify curves in greyscale."""

GLYPHS: Final = ("●", "■", "◆", "▲", "✕", "★", "⬢", "▼")
"""The markers as characters, for legends in text."""

DASHES: Final = ("solid", "dash", "dot", "dashdot")
"""One per turn through the palette, so that flow 9 does not look like flow 1."""

AXIS_LABELS: Final = {
    "t_s": "time (s)",
    "throughput_mbps": "throughput (Mbps)",
    "cwnd_pkts": "cwnd (packets)",
    "rtt_ms": "mean RTT (ms)",
    "queue_pkts": "queue (packets)",
    "queue_ms": "mean wait in the queue (ms)",
    "queue_p95_ms": "95th percentile of the wait in the queue (ms)",
    "p50_qdelay_ms": "median qdelay (ms)",
    "mean_qdelay_ms": "mean qdelay (ms)",
    "loss_rate": "loss rate",
    "mark_rate": "mark rate",
    "turning_qdelay_ms": "qdelay where the window turns (ms)",
    "turning_rate": "rate where the window turns (Mbps)",
    "utilization": "link utilisation",
    "solo_utilization": "link utilisation, flow alone",
    "ratio": "throughput ratio, largest/smallest",
    "ratio_by_rtprops": "throughput ratio / rtprop ratio",
    "short_by_long": "throughput, short flows / long flow",
    "short_by_long_by_square": "short / long / hops²",
    "jain": "Jain's fairness index",
    "late_jain": "Jain's index, end of each epoch",
    "settling_s": "time to settle (s)",
    "adaptation_s": "time to adapt (s)",
    "aggregated_gain": "aggregated flow / mean of the others",
    "disturbed_gain": "disturbed flow / mean of the others",
    "new_by_incumbent": "throughput, new flow / incumbent",
    "harm_done": "harm done, new by incumbent",
    "harm_taken": "harm taken, incumbent by new",
    "slowdown": "completion time / ideal",
    "completion_ms": "completion time (ms)",
    "policed_use": "utilisation of the policed rate",
    "sent_by_link": "sending rate / link rate",
    "queue_by_rtprop": "queueing delay / rtprop",
    "lost_per_rtprop": "packets lost per rtprop",
    "rate": "rate of a flow (Mbps)",
    "window": "window of a flow (packets)",
    "share": "share of the link",
}
"""Label of a quantity on an axis, unit included, by its column's or metric's name."""

SERIES_PANELS: Final = ("throughput_mbps", "cwnd_pkts", "rtt_ms", "queue_pkts")
"""Quantities drawn over time, from top to bottom."""


def colour(index: int) -> str:
    """Colour of the curve numbered `index` from 0; the palette repeats."""
    return PALETTE[index % len(PALETTE)]


def marker(index: int) -> str:
    """Return plotly's marker symbol of the curve numbered `index` from 0."""
    return MARKERS[index % len(MARKERS)]


def dash(index: int) -> str:
    """Return plotly's dash pattern of the curve numbered `index` from 0: solid until the palette repeats."""
    return DASHES[index // len(PALETTE) % len(DASHES)]


def axis_label(name: str, unit: str = "") -> str:
    """Label of the quantity `name` on an axis.

    Parameters
    ----------
    name : str, a column, a metric or an axis of the results
    unit : str, shown in parentheses if the name is not one that carries its unit in `AXIS_LABELS`
    """
    if name in AXIS_LABELS:
        return AXIS_LABELS[name]
    words = name.replace("_", " ").replace("-", " ")
    return f"{words} ({unit})" if unit else words
