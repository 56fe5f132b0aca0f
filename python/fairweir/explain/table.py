"""Format the results on a flow as rows of a table, and the counts of data that were left out as sentences."""

from __future__ import annotations

from typing import Any, Final

from fairweir.explain.findings import MODELS, PLACES, duration_s, is_within, limited_by, link_of, rate_mbps
from fairweir.explain.words import KB, MBPS, MS, about, grade, size, span

#: If a flow has fewer packets, or less than the fraction `SMALL_SHARE` of the largest flow's bytes, it counts as small;
#: one line summarizes all small flows.
SMALL_PACKETS: Final = 50
SMALL_SHARE: Final = 0.001
#: Maximum number of small flows whose endpoints are named.
MAX_NAMED: Final = 3


def split_small(flows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the flows to report individually, and the flows that are small compared with the first, which is the
    largest.
    """
    if not flows:
        return [], []
    least = SMALL_SHARE * flows[0]["delivered_bytes"]
    small = [f for f in flows[1:] if f["packets"] < SMALL_PACKETS or f["delivered_bytes"] < least]
    return [flow for flow in flows if flow not in small], small


def small_flows(small: list[dict[str, Any]]) -> str:
    """Return one line that summarizes all small flows."""
    ends = [f"{flow['src']} to {flow['dst']}" for flow in small[:MAX_NAMED]]
    more = f" and {len(small) - MAX_NAMED} more" if len(small) > MAX_NAMED else ""
    moved = size(sum(flow["delivered_bytes"] for flow in small))
    plural = "flow" if len(small) == 1 else "flows"
    first, last = small[0]["flow"], small[-1]["flow"]
    numbers = f"{first}" if first == last else f"{first} to {last}"
    return f"{len(small)} small {plural} ({moved} in all; `--flow {numbers}`): {'; '.join(ends)}{more}"


def rows(facts: dict[str, Any], document: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the rows for a flow: measurements, limits (conditions that kept the flow from sending more), path, and the
    parameters of network models.
    """
    link, lost = link_of(facts, document), facts["lost_packets"]
    table = [
        ("captured", PLACES[facts["view"]]),
        (
            "delivered",
            f"{size(facts['delivered_bytes'])} in {duration_s(facts):.3g} s: {about(rate_mbps(facts))} Mbit/s",
        ),
        (
            "packets",
            f"{facts['packets']}, from frame {facts['first_frame']}; {lost} lost ({lost / facts['packets']:.2%})",
        ),
        ("time limited by", limited_by(facts)),
    ]
    if link is None:
        return table
    table += [("bottleneck rate", text) for text in [_rates(link)] if text]
    if facts["rtprop_ns"] is not None:
        table.append(("propagation", f"{span(facts['rtprop_ns'], MS, 'ms')}, round trip"))
    if facts["queue"] is not None:
        median, p95 = (facts["queue"][key] * MS for key in ("median_ns", "p95_ns"))
        table.append(
            ("queueing delay", f"median {about(median)} ms ({grade(median)}), 95th percentile {about(p95)} ms")
        )
    belief = facts["cbr_delay"]
    if belief is not None and link["token_bucket"] is None and is_stated(belief, link):
        buffer = belief["buffer_bytes"]
        # A lower bound on the buffer below one packet is not informative.
        if buffer["hi"] is not None or buffer["lo"] * KB >= 1:
            table.append(("buffer", span(buffer, KB, "kB")))
    return [*table, *_symbols(facts, link)]


def is_stated(belief: dict[str, Any], link: dict[str, Any]) -> bool:
    """Return whether the link's rate is reported as the CBR-delay model's; if not, some evidence contradicts that
    model.
    """
    return [part["rate_bytes_per_s"] for part in link["rates"]] == [belief["rate_bytes_per_s"]]


def _rates(link: dict[str, Any]) -> str:
    reported = [span(part["rate_bytes_per_s"], MBPS, "Mbit/s") for part in link["rates"]]
    if not link["is_queue_ahead"] and reported:
        return f"{reported[0]}, from the data delivered (CCAC, jitter up to {about(link['jitter_assumed_ns'] * MS)} ms)"
    return "; then ".join(reported)


def _symbols(facts: dict[str, Any], link: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the rows with the parameters of network models (docs/explain-beliefs.md)."""
    belief, bounds = facts["cbr_delay"], facts["ccac"]
    if not link["is_queue_ahead"]:
        return []
    if belief is None:
        if facts["pieces"] is None:
            return [("model", "no single rate explains this flow")]
        assumed = facts["pieces"]["jitter_assumed_ns"] * MS
        return [("model", f"CCAC, one rate per part; jitter D assumed: at most {about(assumed)} ms")]
    simplest = belief["simplest"]
    min_ms = (simplest["delay_max_ns"] - simplest["rtprop_max_ns"]) * MS
    table = [("C, CBR-delay", span(belief["rate_bytes_per_s"], MBPS, "Mbit/s"))] if is_stated(belief, link) else []
    if bounds is not None:
        ends = {"lo": bounds["min_bytes_per_s"], "hi": bounds["max_bytes_per_s"]}
        table.append(("C, CCAC", span(ends, MBPS, "Mbit/s")))
    assumed_ms = belief["jitter_assumed_ns"] * MS
    spread_ns = link["propagation_spread_ns"]
    is_known = min_ms > spread_ns * MS or not spread_ns
    known = f"at least {about(min_ms)} ms" if is_known else f"unknown below {about(spread_ns * MS)} ms"
    table.append(("jitter D", f"{known}; assumed: at most {about(assumed_ms)} ms"))
    explaining = [
        MODELS[v["model"]] for v in facts["models"] if v["explains"] or is_within(v, link["propagation_spread_ns"])
    ]
    table.append(("explained by", ", ".join(explaining) or "no model"))
    return table


def remarks(document: dict[str, Any]) -> list[str]:
    """Return one sentence for each part of the capture that was left out."""
    counts, said, left_out = document["capture"], [], document["left_out"]
    if counts["is_truncated"]:
        said.append("the capture ends within a packet: only earlier packets are explained")
    if document["flows_without_acks"]:
        said.append(f"left out, no ACK captured: {document['flows_without_acks']} flows")
    others = counts["frames"] - counts["segments"]
    if others:
        said.append(f"left out, not whole TCP packets: {others} of {counts['frames']} frames")
    if left_out["flows"]:
        said.append(
            f"counted only, small compared with the explained flows: {left_out['flows']} flows with "
            f"{left_out['packets']} packets, {size(left_out['delivered_bytes'])}"
        )
    if left_out["late_segments"]:
        said.append(f"left out, beyond the memory limit: the last {left_out['late_segments']} segments")
    if counts["backward"]:
        said.append(f"the clock went back {counts['backward']} times: ranges may be wrong")
    return said
