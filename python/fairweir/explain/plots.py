"""Write a figure of a flow over time to a file, for ``fairweir explain --plot DIR``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairweir.explain.figures import BELIEVED, HEADROOM, MEASURED, RECEIVER, SO_FAR, top_of
from fairweir.explain.limits import LIMITS
from fairweir.show import style
from fairweir.show.plots import save_figure

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fairweir.explain.view import Band, FlowView

SIZE_INCHES = (8.0, 8.0)
PANEL_HEIGHTS = (4, 4, 4, 0.5)


def save_flow_plot(view: FlowView, directory: Path) -> Path:
    """Write ``flow-N.png`` to `directory`, which must exist. The same flow always gives the same bytes."""
    return save_figure(flow_figure(view), directory / f"flow-{view.number}.png")


def flow_figure(view: FlowView) -> Figure:
    """Return a figure with rate, RTT and inflight over a common time axis, and below them the conditions that limited
    the flow.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE_INCHES, layout="constrained")
    rate, rtt, inflight, limits = figure.subplots(4, 1, sharex=True, gridspec_kw={"height_ratios": PANEL_HEIGHTS})
    _believe(rate, view.believed_rate_mbps, "C believed, CBR-delay")
    so_far = {"color": SO_FAR, "linewidth": 1.0, "linestyle": ":", "where": "post"}
    rate.step(view.shrinking.t_s, view.shrinking.min_mbps, label="C believed so far, CCAC", **so_far)
    rate.step(view.shrinking.t_s, view.shrinking.max_mbps, **so_far)
    for at in view.changes_s:
        rate.axvline(at, color="#888888", linewidth=0.8, linestyle="--")
    rate.plot(view.t_s, view.rate_mbps, color=MEASURED, linewidth=1.2, label="measured")
    _dress(rate, "rate (Mbps)", top_of(view.rate_mbps, view.believed_rate_mbps))
    _believe(rtt, view.believed_rtprop_ms, "rtprop believed")
    rtt.fill_between(view.t_s, view.rtt_min_ms, view.rtt_max_ms, color=MEASURED, alpha=0.3, linewidth=0)
    rtt.plot(view.t_s, view.rtt_min_ms, color=MEASURED, linewidth=1.2)
    _dress(rtt, "RTT (ms)", top_of(view.rtt_max_ms, view.believed_rtprop_ms))
    inflight.plot(view.t_s, view.inflight_kb, color=MEASURED, linewidth=1.2)
    inflight.plot(view.t_s, view.window_kb, color=RECEIVER, linewidth=1.2, label="receiver window")
    if view.bdp_kb is not None:
        inflight.axhline(view.bdp_kb, color=BELIEVED, linewidth=1.0, linestyle="--", label="minimum BDP believed")
    _dress(inflight, "inflight (kB)", max(top_of(view.inflight_kb, None), HEADROOM * (view.bdp_kb or 0.0)))
    _band_of_limits(limits, view)
    limits.set_xlabel(style.axis_label("t_s"))
    limits.set_xlim(0, view.end_s)
    figure.align_ylabels([rate, rtt, inflight])
    rate.set_title(f"Flow {view.number}, {view.ends}", fontsize=11, loc="left")
    return figure


def _band_of_limits(axes: Axes, view: FlowView) -> None:
    for word, limit in LIMITS.items():
        spans = [(stay.from_s, stay.to_s - stay.from_s) for stay in view.stays if stay.limit == word]
        if spans:
            axes.broken_barh(spans, (0, 1), color=limit.colour, linewidth=0, label=limit.name)
    axes.set_yticks([])
    axes.set_ylim(0, 1)
    axes.set_ylabel("limit", rotation=0, ha="right", va="center")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper left", bbox_to_anchor=(0, -1.4), fontsize=8, frameon=False, ncols=len(LIMITS))


def _believe(axes: Axes, band: Band | None, name: str) -> None:
    if band is None:
        return
    if band.hi is None:
        axes.axhline(band.lo, color=BELIEVED, linewidth=1.0, linestyle="--", label=f"{name}, at least")
    else:
        axes.axhspan(band.lo, band.hi, color=BELIEVED, alpha=0.35, linewidth=0.8, label=name)


def _dress(axes: Axes, label: str, top: float) -> None:
    keys: dict[str, Any] = {"loc": "upper right", "fontsize": 8, "frameon": False, "ncols": 3}
    axes.set_ylabel(label)
    axes.set_ylim(0, top if np.isfinite(top) and top > 0 else 1)
    axes.grid(True, color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(**keys)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
