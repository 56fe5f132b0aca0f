"""Style of figures: palette, markers, axis labels; shared by the report's interactive figures and ``run --plot``."""

from __future__ import annotations

from typing import Final

PALETTE: Final = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#909048",
    "#A878FC",
    "#786048",
    "#6C6C78",
)
"""Four of Okabe and Ito's colors, and four that are visible on white and on dark pages: at least 3:1 (WCAG 1.4.11).

Their other colors are not (orange 2.2 and sky blue 2.3 on white). With full protanopia, deuteranopia or tritanopia,
simulated by Machado et al. (2009), the smallest difference of two colors is 9.8, of the first four 11.7 (CAM02-UCS).
"""

MARKERS: Final = ("circle", "square", "diamond", "triangle-up", "x", "star", "hexagon", "triangle-down")
"""Plotly's names of markers, in the palette's order; they identify curves in grayscale."""

GLYPHS: Final = ("●", "■", "◆", "▲", "✕", "★", "⬢", "▼")
"""The markers as characters, for legends in text."""

DASHES: Final = ("solid", "dash", "dot", "dashdot")
"""Plotly's dash patterns, one per repetition of the palette, so that flow 9 differs from flow 1."""

AXIS_LABELS: Final = {
    "t_s": "time (s)",
    "throughput_mbps": "throughput (Mbps)",
    "cwnd_pkts": "cwnd (packets)",
    "rtt_ms": "mean RTT (ms)",
    "queue_pkts": "queue (packets)",
    "p50_qdelay_ms": "median qdelay (ms)",
    "mean_qdelay_ms": "mean qdelay (ms)",
    "loss_rate": "loss rate",
    "mark_rate": "mark rate",
    "turning_qdelay_ms": "qdelay where the window turns (ms)",
    "turning_rate": "rate where the window turns (Mbps)",
    "rate": "rate of a flow (Mbps)",
    "window": "window of a flow (packets)",
    "share": "share of the link",
}
"""Column of a series or of a contract's points -> label of its axis with the unit; `Metric.label` is for metrics."""

SERIES_PANELS: Final = ("throughput_mbps", "cwnd_pkts", "rtt_ms", "queue_pkts")
"""Quantities drawn over time, from top to bottom."""


def colour(index: int) -> str:
    """Return the color of the curve numbered `index` from 0; the palette repeats."""
    return PALETTE[index % len(PALETTE)]


def marker(index: int) -> str:
    """Return plotly's marker symbol of the curve numbered `index` from 0."""
    return MARKERS[index % len(MARKERS)]


def dash(index: int) -> str:
    """Return plotly's dash pattern of the curve numbered `index` from 0: solid until the palette repeats."""
    return DASHES[index // len(PALETTE) % len(DASHES)]


def axis_label(name: str, unit: str = "") -> str:
    """Return the axis label of the quantity `name`.

    Parameters
    ----------
    name : str, a column or an axis of the results
    unit : str, added in parentheses if `name` is not in `AXIS_LABELS`
    """
    if name in AXIS_LABELS:
        return AXIS_LABELS[name]
    words = name.replace("_", " ").replace("-", " ")
    return f"{words} ({unit})" if unit else words
