"""Tables of a run's flows: a row per flow, or a row per controller if there are many flows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.table import Table

from fairweir.documents.digits import plain
from fairweir.judging.summary import FlowSummary

#: Maximum number of flows with a row each: what a terminal of usual height shows, twice.
MAX_ROWS: Final = 100


def flow_table(flows: Sequence[FlowSummary]) -> Table:
    """Return a table of `flows`: a row per flow, or a row per controller if there are more than :data:`MAX_ROWS`."""
    return _per_flow(flows) if len(flows) <= MAX_ROWS else _per_cca(flows)


def abridged(flows: Sequence[FlowSummary]) -> str | None:
    """Return a note if the table of `flows` does not show each flow."""
    if len(flows) <= MAX_ROWS:
        return None
    return f"more than {MAX_ROWS} flows: delays are means over the flows of a controller; --json prints each flow"


def delay(value: float | None) -> str:
    """Format a delay in ms; a dash stands for a missing value."""
    return "-" if value is None else f"{value:.2f}"


def _per_flow(flows: Sequence[FlowSummary]) -> Table:
    table = _table("flow", "cca", "Mbit/s", "RTT ms", "p95", "qdelay ms", "loss", "retx")
    for flow in flows:
        rtt, qdelay = flow.rtt_ms, flow.qdelay_ms
        delays = delay(rtt.mean), delay(rtt.p95), delay(qdelay.mean)
        table.add_row(
            flow.id, flow.cca, _mbps(flow.throughput_mbps), *delays, f"{flow.loss_rate:.3%}", str(flow.retransmits)
        )
    return table


def _per_cca(flows: Sequence[FlowSummary]) -> Table:
    """Return a table of the flows of each controller: sums, means, and how the throughput is distributed."""
    table = _table("cca", "flows", "Mbit/s", "p5", "median", "p95", "RTT ms", "qdelay ms", "loss")
    for cca in dict.fromkeys(flow.cca for flow in flows):
        own = [flow for flow in flows if flow.cca == cca]
        throughputs = sorted(flow.throughput_mbps for flow in own)
        ranks = [round(share * (len(own) - 1)) for share in (0.05, 0.5, 0.95)]
        lost, delivered = (sum(counts) for counts in zip(*((f.lost_pkts, f.delivered_pkts) for f in own), strict=True))
        table.add_row(
            cca,
            f"{len(own):,}",
            _mbps(sum(throughputs)),
            *(_mbps(throughputs[rank]) for rank in ranks),
            delay(_mean([flow.rtt_ms.mean for flow in own])),
            delay(_mean([flow.qdelay_ms.mean for flow in own])),
            f"{lost / max(lost + delivered, 1):.3%}",
        )
    return table


def _table(*headings: str) -> Table:
    table = Table(box=None, header_style="bold", title_justify="left")
    for heading in headings:
        # If the terminal is narrow, names are folded, so that no number loses digits.
        is_name = heading in {"flow", "cca"}
        table.add_column(heading, justify="left" if is_name else "right", overflow="fold", no_wrap=not is_name)
    return table


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _mbps(value: float) -> str:
    return plain(value, 3) if value < 100 else f"{value:.1f}"
