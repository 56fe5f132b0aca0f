"""The construction's three scenarios: an ideal link, a shared one, and one that a single flow leaves idle.

A virtual link is jitter that holds each packet for as long as a link of the flow's own would: where it needs no more
than D, and never less than nothing, the flow sees that link and no other, whatever the CCA does
(docs/derivations.md). So no state has to be cloned: flows converge on their virtual links before the warm-up ends, and
only then does D bind, as the theorem's flows begin in the states to which they have converged.
"""

from __future__ import annotations

from typing import Any

from fairweir.cca_spec import as_written
from fairweir.dumbbell import Cca, cca_name, dumbbell, flow, mbps, seconds, start_times_s
from fairweir.hunting.space import START_SPREAD_S, time_text

Document = dict[str, Any]

SCAN_S = 100.0
"""At 40 ms and 1 Gbps the CCAs that converge at all do so in a third of it."""
SHARED_S = 60.0
WARM_UP_RATES = 10.0
"""How many times as fast the shared link is during the warm-up, so that no queue of it is left at its end: the flows
would fill the link, and it would stand for ever."""
PACKET_BITS = 1500 * 8
"""Of scenarios that say nothing else."""
LEAST_INITIAL_PKTS = 10
BACKLOG_RTPROP_MS = 0.02
BUFFER = "infinite"
"""The paper's ideal path has a queue that never overflows."""


def flow_of(cca: Cca, rtprop_ms: float, start_s: float, **keys: Any) -> Document:
    """Give a flow's table."""
    return {**flow(cca_name(cca), rtprop_ms, start_s), "cca": as_written(cca), **keys}


def _virtual(rate_mbps: float, d_ms: float, rtprop_ms: float) -> Document:
    # What is on its way when the link is first shared has not met its queue.
    after = seconds(SHARED_S / 2 + rtprop_ms * 1e-3)
    return {"kind": "virtual-link", "rate": mbps(rate_mbps), "bound": time_text(d_ms), "after": after}


def ideal(cca: Cca, rate_mbps: float, rtprop_ms: float, duration_s: float, share: float) -> Document:
    """One flow alone; the last `share` of the run counts."""
    return dumbbell(
        f"{cca_name(cca)}-ideal",
        "one flow on an ideal link",
        rate_mbps=rate_mbps,
        buffer=BUFFER,
        flow_tables=[flow_of(cca, rtprop_ms, 0.0)],
        duration_s=duration_s,
        warmup_s=duration_s * (1.0 - share),
        seed=1,
    )


def begun(cca: Cca, rate_mbps: float, rtprop_ms: float, duration_s: float, share: float) -> Document:
    """One flow alone that starts with a share of its BDP in flight, or with ten packets if that is less."""
    document = ideal(cca, rate_mbps, rtprop_ms, duration_s, 0.5)
    initial_pkts = int(share * rate_mbps * rtprop_ms * 1e3 / PACKET_BITS)
    flow = document["flow"][0] | {"initial_cwnd": f"{max(LEAST_INITIAL_PKTS, initial_pkts)}pkts"}
    description = f"one flow on an ideal link, started with {share:g} BDP or ten packets in flight"
    return {**document, "description": description, "flow": [flow]}


def shared(
    cca: Cca,
    slow_mbps: float,
    fast_mbps: float,
    link_mbps: float,
    d_ms: float,
    rtprop_ms: float,
    seed: int,
    standing_ms: float = 0.0,
) -> Document:
    """Theorem 1: both flows on one link, each shown its own by jitter of at most `d_ms`.

    The link is shared from the end of the warm-up on, as the theorem's is from the times of convergence on; until then
    it is so fast that there is no queue.

    Parameters
    ----------
    link_mbps : rate of the link; the sum of both, or more where bursts of one flow must not delay the other (the proof:
        "large enough")
    standing_ms : the queue that stands before both from the first (case 1), as a delay; a third flow leaves it
    """
    starts = start_times_s(seed, 2, START_SPREAD_S)
    flows = [
        flow_of(cca, rtprop_ms, start, id=name, jitter=_virtual(rate, d_ms, rtprop_ms))
        for name, rate, start in zip(("slow", "fast"), (slow_mbps, fast_mbps), starts, strict=True)
    ]
    document = dumbbell(
        f"{cca_name(cca)}-starves",
        f"Two flows of {cca_name(cca)} share {mbps(link_mbps)}. Jitter of at most {d_ms:.4g} ms shows one "
        f"a link of {mbps(slow_mbps)} and the other one of {mbps(fast_mbps)} (starvation paper, theorem 1).",
        rate_mbps=link_mbps,
        buffer=BUFFER,
        flow_tables=flows,
        duration_s=SHARED_S,
        warmup_s=SHARED_S / 2,
        seed=seed,
    )
    if standing_ms > 0.0:
        document["flow"].append(_backlog(standing_ms * link_mbps * 125.0))
    steps = [["0s", mbps(link_mbps * WARM_UP_RATES)], [document["warmup"], mbps(link_mbps)]]
    document["link"]["bottleneck"] = {"steps": steps, "buffer": BUFFER}
    return document


def _backlog(size_bytes: float) -> Document:
    """A flow that comes once, when the link is first shared; so near that pacing does not spread it."""
    size = f"{round(size_bytes)}B"
    return {**flow("reno", BACKLOG_RTPROP_MS, SHARED_S / 2), "id": "backlog", "bytes": size, "initial_cwnd": size}


def underused(cca: Cca, shown_mbps: float, link_mbps: float, d_ms: float, rtprop_ms: float) -> Document:
    """Theorem 2: one flow on a fast link, shown a slow one."""
    return dumbbell(
        f"{cca_name(cca)}-underuses",
        f"A flow of {cca_name(cca)} has {mbps(link_mbps)} for itself. Jitter of at most {d_ms:.4g} ms shows it a link "
        f"of {mbps(shown_mbps)} (starvation paper, theorem 2).",
        rate_mbps=link_mbps,
        buffer=BUFFER,
        flow_tables=[flow_of(cca, rtprop_ms, 0.0, jitter=_virtual(shown_mbps, d_ms, rtprop_ms))],
        duration_s=SHARED_S,
        warmup_s=SHARED_S / 2,
        seed=1,
    )
