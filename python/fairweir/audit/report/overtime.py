"""Figures over time: throughput, cwnd, RTT and queue of one run, or the throughput of several CCAs in one scenario."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import numpy as np

from fairweir.ccas.cca_spec import name_part
from fairweir.show import style
from fairweir.show.courses import CourseFigure
from fairweir.show.figure import linear_range, slug
from fairweir.show.picture import Curve, Panel, Picture, look_of_flow, look_of_link

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fairweir.audit.results import Trace, TraceFlow

FLOWS_DRAWN: Final = 12
"""Maximum number of lines that a reader can distinguish. Of more flows, a sample over the mean throughputs is drawn."""


def run_figure(family: str, cca: str, trace: Trace) -> CourseFigure:
    """Draw throughput, cwnd, RTT and queue of one run in stacked panels with a common time axis."""
    flows = drawn_flows(trace.flows)
    times = np.asarray(trace.t_s, dtype=np.float64)
    labels = [_flow_label(flow, trace.flows) for flow in flows]
    columns = {
        "throughput_mbps": [flow.throughput_mbps for flow in flows],
        "cwnd_pkts": [flow.cwnd_pkts for flow in flows],
        "rtt_ms": [flow.rtt_ms for flow in flows],
    }
    panels = [
        Panel(
            name,
            style.axis_label(name),
            tuple(
                Curve(label, *look_of_flow(i), _numbers(values))
                for i, (label, values) in enumerate(zip(labels, series, strict=True))
            ),
        )
        for name, series in columns.items()
    ]
    queues = tuple(Curve(link.name, *look_of_link(i), _numbers(link.queue_pkts)) for i, link in enumerate(trace.links))
    return CourseFigure(
        id=slug("run", family, cca, trace.label, str(trace.seed)),
        title=f"{cca}, {trace.label}",
        caption=_caption(trace),
        picture=_picture(trace, times, [*panels, Panel("queue_pkts", style.axis_label("queue_pkts"), queues)]),
    )


def side_by_side(family: str, traces: Sequence[tuple[str, Trace]]) -> CourseFigure:
    """Draw the throughput of each flow, with one panel per CCA and common axes."""
    _, first = traces[0]
    drawn = [(cca, trace, drawn_flows(trace.flows)) for cca, trace in traces]
    everything = [value for _, _, flows in drawn for flow in flows for value in flow.throughput_mbps]
    bounds = linear_range(everything, floor=0.0)
    times = np.unique(np.concatenate([np.asarray(trace.t_s, dtype=np.float64) for _, trace in traces]))
    panels = [
        Panel(
            cca,
            f"{cca}: {style.axis_label('throughput_mbps')}",
            tuple(
                Curve(_place(flow), *look_of_flow(i), _at(times, trace.t_s, flow.throughput_mbps))
                for i, flow in enumerate(flows)
            ),
            top=bounds[1] if bounds else None,
        )
        for cca, trace, flows in drawn
    ]
    return CourseFigure(
        id=slug("together", family, first.label),
        title=f"Throughput, {first.label}",
        caption=_caption(first),
        picture=_picture(first, times, panels),
    )


def _picture(trace: Trace, times: NDArray[np.float64], panels: Iterable[Panel]) -> Picture:
    end = float(times[-1]) if times.size else 1.0
    return Picture(trace.label, times, trace.warmup_s, end, tuple(panels))


def _numbers(values: Sequence[float | None]) -> NDArray[np.float64]:
    """Return values as numbers; a missing value is NaN."""
    return np.asarray(values, dtype=np.float64)


def _at(times: NDArray[np.float64], own: Sequence[float], values: Sequence[float | None]) -> NDArray[np.float64]:
    """Return values at their own times among `times`, with NaN at the others."""
    found = np.full(times.size, np.nan)
    found[np.searchsorted(times, own)] = _numbers(values)
    return found


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
    own = flow.id.removeprefix(name_part(flow.cca)[0]).lstrip("-")
    return flow.id if own == flow.id else f"flow {own}".strip()


def _caption(trace: Trace) -> str:
    text = f"Seed {trace.seed}."
    if trace.warmup_s > 0:
        text += f" Shaded: the first {trace.warmup_s:g} s, the warm-up, which the results exclude."
    if len(trace.flows) > FLOWS_DRAWN:
        text += f" {FLOWS_DRAWN} of {len(trace.flows)} flows, sampled evenly by mean throughput."
    return text
