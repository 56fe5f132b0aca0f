"""Scenarios for the construction of starvation: an ideal link, a shared link, and a link that a single flow underuses.

Starvation means that jitter of at most D makes the throughput ratio of two flows of one CCA exceed a required ratio
(theorem 1 of the starvation paper). A virtual link is jitter that holds each packet for as long as a private link
would. If the required jitter is between 0 and D, the flow observes exactly this private link, for any CCA
(docs/derivations.md). In the theorem, the flows begin in converged states. In the scenarios, flows converge on their
virtual links during the warm-up, and D limits the jitter only afterwards, so no state has to be copied.
"""

from __future__ import annotations

from typing import Any

from fairweir.ccas.cca_spec import as_written
from fairweir.scenario.dumbbell import PACKET, PHASE_SPREAD, Cca, cca_name, exact_dumbbell, flow, start_times
from fairweir.units import Bytes, Duration, Rate

Document = dict[str, Any]

SCAN = Duration.from_s(100)
"""Duration of a run with one flow. At 40 ms and 1 Gbps, CCAs that converge need at most a third of this time."""
SHARED = Duration.from_s(60)
WARM_UP_RATES = 10.0
"""Rate of the shared link during the warm-up, divided by its rate afterwards. Because the link is faster, its queue is
empty at the end of the warm-up. Afterwards the flows fill the link, so a queue would never drain.
"""
US = Duration.from_us(1)
MIN_INITIAL_PKTS = 10
BACKLOG_RTPROP = Duration.from_us(20)
BUFFER = "infinite"
"""The paper's ideal path has a queue that never overflows."""


def flow_of(cca: Cca, rtprop: Duration, start: Duration | None = None, **keys: Any) -> Document:
    """Return the table of a flow in scenario notation; `keys` are further keys of the table."""
    return {**flow(cca_name(cca), rtprop, start), "cca": as_written(cca), **keys}


def _virtual(rate: Rate, d: Duration, rtprop: Duration) -> Document:
    # Packets that are in transit at the end of the warm-up did not pass the shared link at its final rate, so the bound
    # on jitter applies one rtprop later.
    after = SHARED / 2 + rtprop
    return {"kind": "virtual-link", "rate": str(rate), "bound": str(d.rounded(US)), "after": str(after)}


def ideal(cca: Cca, rate: Rate, rtprop: Duration, duration: Duration, share: float) -> Document:
    """Return the scenario of one flow alone on an ideal link; the last fraction `share` of the run is measured."""
    return exact_dumbbell(
        f"{cca_name(cca)}-ideal",
        "one flow on an ideal link",
        rate=rate,
        buffer=BUFFER,
        flow_tables=[flow_of(cca, rtprop)],
        duration=duration,
        warmup=duration * (1.0 - share),
        seed=1,
    )


def begun(cca: Cca, rate: Rate, rtprop: Duration, duration: Duration, share: float) -> Document:
    """Return the scenario of one flow alone with an initial cwnd of `share` BDP, or ten packets if that is more."""
    document = ideal(cca, rate, rtprop, duration, 0.5)
    initial_pkts = int(share * rate * rtprop / PACKET)
    flow = document["flow"][0] | {"initial_cwnd": f"{max(MIN_INITIAL_PKTS, initial_pkts)}pkts"}
    description = f"one flow on an ideal link, started with {share:g} BDP or ten packets in flight"
    return {**document, "description": description, "flow": [flow]}


def shared(
    cca: Cca,
    slow: Rate,
    fast: Rate,
    link: Rate,
    d: Duration,
    rtprop: Duration,
    seed: int,
    standing: Duration | None = None,
) -> Document:
    """Return the scenario of theorem 1: two flows on one shared link, each with a virtual link.

    The end of the warm-up corresponds to the times in the theorem at which the flows have converged. During the
    warm-up, the shared link is so fast that it has no queue.

    Parameters
    ----------
    slow, fast : rates of the virtual links
    link : rate of the shared link: the sum of both rates, or more if bursts of one flow must not delay the other flow
        ("large enough" in the proof)
    d : maximum jitter after the warm-up
    standing : initial queue of the shared link (case 1 of the proof), as a delay; a third flow creates this queue
    """
    starts = start_times(seed, 2, PHASE_SPREAD)
    flows = [
        flow_of(cca, rtprop, start, id=name, jitter=_virtual(rate, d, rtprop))
        for name, rate, start in zip(("slow", "fast"), (slow, fast), starts, strict=True)
    ]
    document = exact_dumbbell(
        f"{cca_name(cca)}-starves",
        f"Two flows of {cca_name(cca)} share {link}. Jitter of at most {d.ms:.4g} ms makes it look "
        f"like a link of {slow} to one and of {fast} to the other (starvation paper, theorem 1).",
        rate=link,
        buffer=BUFFER,
        flow_tables=flows,
        duration=SHARED,
        warmup=SHARED / 2,
        seed=seed,
    )
    if standing:
        document["flow"].append(_backlog(link * standing))
    steps = [["0s", str(link * WARM_UP_RATES)], [document["warmup"], str(link)]]
    document["link"]["bottleneck"] = {"steps": steps, "buffer": BUFFER}
    return document


def _backlog(size: Bytes) -> Document:
    """Return the table of a flow that sends one burst of `size` at the end of the warm-up."""
    text = str(size)
    return {**flow("reno", BACKLOG_RTPROP, SHARED / 2), "id": "backlog", "bytes": text, "initial_cwnd": text}


def underused(cca: Cca, shown: Rate, link: Rate, d: Duration, rtprop: Duration) -> Document:
    """Return the scenario of theorem 2: one flow on a link of rate `link`, to which jitter shows a link of `shown`."""
    return exact_dumbbell(
        f"{cca_name(cca)}-underuses",
        f"A flow of {cca_name(cca)} has {link} for itself. Jitter of at most {d.ms:.4g} ms makes it look like a link "
        f"of {shown} (starvation paper, theorem 2).",
        rate=link,
        buffer=BUFFER,
        flow_tables=[flow_of(cca, rtprop, jitter=_virtual(shown, d, rtprop))],
        duration=SHARED,
        warmup=SHARED / 2,
        seed=1,
    )
