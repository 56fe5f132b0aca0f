"""Figures over time: throughput, cwnd, RTT and queue of one run, or the throughput of several CCAs in one scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fairweir.show import style
from fairweir.show.figure import Figure, linear_range, rounded, slug

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairweir.audit.results import Trace, TraceFlow

FLOWS_DRAWN: Final = 12
"""Maximum number of lines that a reader can distinguish. Of more flows, a sample over the mean throughputs is drawn."""

TIME_SLACK_S: Final = 2e-4
"""Tolerance for evenly spaced times, s: times in results are rounded to 0.1 ms."""

PANEL_GAP: Final = 0.035
"""Gap between stacked panels, as a fraction of the figure's height."""


def run_figure(family: str, cca: str, trace: Trace) -> Figure:
    """Draw throughput, cwnd, RTT and queue of one run in stacked panels with a common time axis."""
    flows = drawn_flows(trace.flows)
    columns: dict[str, list[list[float | None]]] = {
        "throughput_mbps": [f.throughput_mbps for f in flows],
        "cwnd_pkts": [f.cwnd_pkts for f in flows],
        "rtt_ms": [f.rtt_ms for f in flows],
        "queue_pkts": [link.queue_pkts for link in trace.links],
    }
    data: list[dict[str, Any]] = []
    times = _times(trace)
    layout: dict[str, Any] = _time_axis(trace) | {"hovermode": "x"}
    panels = _domains(len(columns))
    for row, (name, series) in enumerate(columns.items(), start=1):
        axis = "y" if row == 1 else f"y{row}"
        is_queue = name == "queue_pkts"
        labels = [link.name for link in trace.links] if is_queue else [_flow_label(f, trace.flows) for f in flows]
        for i, (label, values) in enumerate(zip(labels, series, strict=True)):
            line = {"width": 1.6} | (
                {"color": "#888888", "dash": style.DASHES[i % len(style.DASHES)]}
                if is_queue
                else {"color": style.colour(i), "dash": style.dash(i)}
            )
            data.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": label,
                    "legendgroup": f"link {label}" if is_queue else label,
                    "showlegend": row == 1 or (is_queue and len(trace.links) > 1),
                    **times,
                    "y": rounded(values),
                    "yaxis": axis,
                    "line": line,
                    "hovertemplate": f"{label}: %{{y:.4g}}<extra></extra>",
                }
            )
        flat = [v for values in series for v in values]
        keys: dict[str, Any] = {"title": {"text": _two_lines(style.axis_label(name))}, "domain": panels[row - 1]}
        keys |= {"rangemode": "tozero", "range": linear_range(flat, floor=0.0)}
        layout["yaxis" if row == 1 else f"yaxis{row}"] = keys
    layout["xaxis"]["anchor"] = f"y{len(columns)}"
    layout["legend"] = {"orientation": "h", "y": 1.01, "yanchor": "bottom", "x": 0}
    return Figure(
        id=slug("run", family, cca, trace.label, str(trace.seed)),
        title=f"{cca}, {trace.label}",
        data=data,
        layout=layout,
        caption=_caption(trace),
        height=640,
        is_wide=True,
    )


def side_by_side(family: str, traces: Sequence[tuple[str, Trace]]) -> Figure:
    """Draw the throughput of each flow, with one panel per CCA and common axes."""
    _, first = traces[0]
    panels = _domains(len(traces))
    drawn = [(cca, trace, drawn_flows(trace.flows)) for cca, trace in traces]
    everything = [v for _, _, flows in drawn for f in flows for v in f.throughput_mbps]
    bounds = linear_range(everything, floor=0.0)
    data: list[dict[str, Any]] = []
    longest = max((trace for _, trace in traces), key=lambda t: t.t_s[-1] if t.t_s else 0.0)
    layout: dict[str, Any] = _time_axis(longest)
    named: set[str] = set()
    for row, (cca, trace, flows) in enumerate(drawn, start=1):
        axis = "y" if row == 1 else f"y{row}"
        times = _times(trace)
        for i, flow in enumerate(flows):
            name = _place(flow)
            data.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": name,
                    "legendgroup": name,
                    "showlegend": name not in named,
                    **times,
                    "y": rounded(flow.throughput_mbps),
                    "yaxis": axis,
                    "line": {"color": style.colour(i), "dash": style.dash(i), "width": 1.6},
                    "hovertemplate": f"{cca}, {flow.id}: %{{y:.4g}} Mbps<extra></extra>",
                }
            )
            named.add(name)
        layout["yaxis" if row == 1 else f"yaxis{row}"] = {
            "title": {"text": f"<b>{cca.replace(' (', '<br>(')}</b><br>Mbps"},
            "domain": panels[row - 1],
            "range": bounds,
        }
    layout["xaxis"]["anchor"] = f"y{len(traces)}" if len(traces) > 1 else "y"
    layout["legend"] = {"orientation": "h", "y": 1.01, "yanchor": "bottom", "x": 0}
    return Figure(
        id=slug("together", family, first.label),
        title=f"Throughput, {first.label}",
        data=data,
        layout=layout,
        caption=_caption(first),
        height=90 + 130 * len(traces),
        is_wide=True,
    )


def drawn_flows(flows: Sequence[TraceFlow]) -> list[TraceFlow]:
    """Return at most `FLOWS_DRAWN` flows, in the scenario's order; of more, evenly spaced ranks of mean throughput."""
    if len(flows) <= FLOWS_DRAWN:
        return list(flows)
    ranked = sorted(range(len(flows)), key=lambda i: (_mean(flows[i].throughput_mbps), i))
    step = (len(flows) - 1) / (FLOWS_DRAWN - 1)
    return [flows[i] for i in sorted(ranked[round(k * step)] for k in range(FLOWS_DRAWN))]


def _mean(values: Sequence[float | None]) -> float:
    present = [v for v in values if v is not None]
    return sum(present) / len(present) if present else 0.0


def _flow_label(flow: TraceFlow, flows: Sequence[TraceFlow]) -> str:
    is_mixed = len({f.cca for f in flows}) > 1
    return f"{flow.id} ({flow.cca})" if is_mixed and flow.cca not in flow.id else flow.id


def _place(flow: TraceFlow) -> str:
    """Return the flow's id without its CCA's name, so that several CCAs share one legend."""
    own = flow.id.removeprefix(flow.cca).lstrip("-")
    return flow.id if own == flow.id else f"flow {own}".strip()


def _times(trace: Trace) -> dict[str, Any]:
    """Return plotly's keys for the times: start and step if they are evenly spaced, which halves the page's size."""
    times = trace.t_s
    if len(times) > 2:
        step = (times[-1] - times[0]) / (len(times) - 1)
        if all(abs(t - times[0] - i * step) < TIME_SLACK_S for i, t in enumerate(times)):
            return {"x0": times[0], "dx": float(f"{step:.9g}")}
    return {"x": rounded(times)}


def _time_axis(trace: Trace) -> dict[str, Any]:
    """Return the common time axis. The warm-up, which the results exclude, is shaded."""
    end = trace.t_s[-1] if trace.t_s else 1.0
    layout: dict[str, Any] = {"xaxis": {"title": {"text": style.axis_label("t_s")}, "range": [0, end]}}
    if trace.warmup_s > 0:
        shade = {"type": "rect", "xref": "x", "x0": 0, "x1": trace.warmup_s, "yref": "paper", "y0": 0, "y1": 1}
        layout["shapes"] = [shade | {"line": {"width": 0}, "fillcolor": "#888888", "opacity": 0.10, "layer": "below"}]
    return layout


def _caption(trace: Trace) -> str:
    text = f"Seed {trace.seed}."
    if trace.warmup_s > 0:
        text += f" Shaded: the first {trace.warmup_s:g} s, the warm-up, which the results exclude."
    if len(trace.flows) > FLOWS_DRAWN:
        text += f" {FLOWS_DRAWN} of {len(trace.flows)} flows, sampled evenly by mean throughput."
    return text


def _domains(rows: int) -> list[list[float]]:
    """Return the vertical extent of each stacked panel, from the top down."""
    height = (1.0 - PANEL_GAP * (rows - 1)) / rows
    tops = [1.0 - row * (height + PANEL_GAP) for row in range(rows)]
    return [[max(0.0, round(top - height, 6)), round(top, 6)] for top in tops]


def _two_lines(label: str) -> str:
    return label.replace(" (", "<br>(")
