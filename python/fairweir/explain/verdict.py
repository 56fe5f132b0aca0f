"""State in one sentence what limited a flow: its path, its sender, its receiver or its application."""

from __future__ import annotations

from typing import Any, Final

from fairweir.explain.findings import link_of, rate_mbps
from fairweir.explain.limits import shares
from fairweir.explain.words import KB, MBPS, MS, S, about, grade, nearly

#: A condition is reported as the limit if it held for at least this fraction of the time.
MOST_OF_IT: Final = 0.5
#: Minimum queueing delay that is reported as a standing queue, ms.
STANDING_MS: Final = 1.0
#: If the utilization of a link is at least this fraction, the link is reported as the limit.
FILLS: Final = 0.7

REFUSED: Final = {
    "receiver": "captured at the receiver, where the bottleneck's queue is not visible",
    "between": "captured after the bottleneck, or with no queue before it",
    "short": "on a path below 1 ms, where the hosts cause most of the delay",
    "unknown": "captured at an unknown place with no queue before it",
}


def verdict(facts: dict[str, Any], document: dict[str, Any]) -> str:
    """Return a sentence, without its full stop, that states what limited a flow of the document of `explain_file`."""
    link = link_of(facts, document)
    by_limit = shares(facts["limits"])
    top = next((word for word, share in by_limit.items() if share >= MOST_OF_IT), None)
    got = f"{about(rate_mbps(facts))} Mbit/s"
    if link is None:
        return f"Too few packets to determine what limited it: {facts['packets']}"
    if top == "receiver-window":
        windows = [room for room in facts["series"]["window_bytes"] if room is not None]
        largest = f" (at most {about(max(windows) * KB)} kB)" if windows else ""
        return f"Limited by the receiver's window{largest}, at {got}"
    if top == "application":
        return f"Limited by its application, which had no more data to send {by_limit['application']:.0%} of the time"
    if not link["is_queue_ahead"]:
        least = nearly(link["rates"][0]["rate_bytes_per_s"] | {"hi": None}, MBPS) if link["rates"] else got
        reason = REFUSED.get(facts["view"], REFUSED["unknown"])
        return f"Its link carried at least {least} Mbit/s; what limited it cannot be determined: {reason}"
    return _by_path(facts, link, document) or _by_sender(facts, link, top, got)


def _by_path(facts: dict[str, Any], link: dict[str, Any], document: dict[str, Any]) -> str:
    """Return the verdict if the link's rate is known and utilized; otherwise return an empty text."""
    bucket = link["token_bucket"]
    if bucket is not None and bucket["excess"] == "lost":
        return (
            f"Limited by a policer of {about(bucket['rate_bytes_per_s'] * MBPS)} Mbit/s, which drops the excess "
            f"({facts['lost_packets'] / facts['packets']:.2%} of the packets)"
        )
    if bucket is not None:
        kind = f"a shaper of {about(bucket['rate_bytes_per_s'] * MBPS)} Mbit/s"
        return f"Limited by {kind}{_shared(link)}{_queue(facts)}"
    rates = [part["rate_bytes_per_s"] for part in link["rates"]]
    if rates and all(part["hi"] is not None for part in rates):
        members = [flow for flow in document["flows"] if flow["flow"] in link["flows"]]
        longest_s = max(len(f["series"]["delivered_bytes"]) * f["series"]["width_ns"] * S for f in members)
        used = sum(flow["delivered_bytes"] for flow in members) / longest_s if longest_s > 0 else 0.0
        fills = used >= FILLS * min(part["lo"] for part in rates)
        if fills:
            kind = f"a {nearly(rates[0], MBPS)} Mbit/s bottleneck"
            if len(rates) > 1:
                reported = ", then ".join(nearly(part, MBPS) for part in rates[:4])
                kind = f"a bottleneck whose rate changed ({reported}{', ...' if len(rates) > 4 else ''} Mbit/s)"
            return f"Limited by {kind}{_shared(link)}{_queue(facts)}"
    return ""


def _by_sender(facts: dict[str, Any], link: dict[str, Any], top: str | None, got: str) -> str:
    """Return the verdict that follows from `top`, the condition that limited the sender for most of the time."""
    queue = _queue(facts)
    if top == "recovery":
        return f"Limited by losses: {facts['lost_packets'] / facts['packets']:.2%} of the packets, at {got}"
    if top == "pacing":
        return f"Paced by its sender, at {got}"
    if link["changes"]:
        return f"Limited by a path whose rate for {_them(link)} changed{_shared(link)}{queue}"
    # If there is a standing queue, the path is the limit: a larger window would only lengthen the queue.
    stands = facts["queue"] is not None and facts["queue"]["median_ns"] * MS >= STANDING_MS
    if top == "window" and stands:
        return f"Its congestion window is full, at {got}{queue}; the bottleneck's rate is not known"
    words = {"window": "Limited by its congestion window", "unknown": "What limited it cannot be determined"}
    return f"{words.get(top or '', 'Limited by no single cause')}, at {got}{queue}"


def _them(link: dict[str, Any]) -> str:
    return "this flow" if len(link["flows"]) == 1 else "these flows"


def _shared(link: dict[str, Any]) -> str:
    others = len(link["flows"]) - 1
    return "" if others == 0 else f", shared with {others} other flow{'s' if others > 1 else ''} of this capture,"


def _queue(facts: dict[str, Any]) -> str:
    if facts["queue"] is None:
        return ""
    added_ms = facts["queue"]["median_ns"] * MS
    name = grade(added_ms)
    if added_ms < STANDING_MS:
        return f" with no standing queue: bufferbloat grade {name}"
    return f" with {about(added_ms, 2)} ms of standing queue: bufferbloat grade {name}"
