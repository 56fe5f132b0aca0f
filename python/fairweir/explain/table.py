"""A flow's numbers as rows of a table, and what of a capture was left out."""

from __future__ import annotations

from typing import Any

from fairweir.explain.findings import MODELS, PLACES, between, limited_by


def rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Give a flow's table: what it did, what limited it, what may be believed of its path."""
    table = [
        ("captured", PLACES[facts["view"]]),
        ("packets", f"{facts['packets']}, from frame {facts['first_frame']}"),
        ("losses", f"{facts['lost_packets']} ({facts['lost_packets'] / facts['packets']:.2%})"),
        ("delivered", f"{facts['delivered_bytes']} bytes"),
        ("limited by", limited_by(facts)),
    ]
    belief, bounds = facts["cbr_delay"], facts["ccac"]
    if belief is None:
        if facts["pieces"] is None:
            return [*table, ("path", "no rate explains this flow")]
        pieces = facts["pieces"]["pieces"]
        rates = [{"lo": p["ccac"]["least_bytes_per_s"], "hi": p["ccac"]["most_bytes_per_s"]} for p in pieces]
        return [
            *table,
            ("C, CCAC", "; then ".join(f"{between(ends, 8e-6)} Mbit/s" for ends in rates)),
            ("jitter D", f"assumed: at most {facts['pieces']['jitter_assumed_ns'] * 1e-6:.5g} ms"),
        ]
    simplest, assumed_ms = belief["simplest"], belief["jitter_assumed_ns"] * 1e-6
    least_ms = (simplest["delay_most_ns"] - simplest["rtprop_most_ns"]) * 1e-6
    table.append(("rtprop", f"{between(belief['rtprop_ns'], 1e-6)} ms"))
    table.append(("C, CBR-delay", f"{between(belief['rate_bytes_per_s'], 8e-6)} Mbit/s"))
    if bounds is not None:
        ends = {"lo": bounds["least_bytes_per_s"], "hi": bounds["most_bytes_per_s"]}
        table.append(("C, CCAC", f"{between(ends, 8e-6)} Mbit/s"))
    table.append(("jitter D", f"at least {round(least_ms, 3):.5g} ms; assumed: at most {assumed_ms:.5g} ms"))
    table.append(("buffer", f"{between(belief['buffer_bytes'], 1e-3)} kB"))
    explaining = [MODELS[verdict["model"]] for verdict in facts["models"] if verdict["explains"]]
    table.append(("explained by", ", ".join(explaining) or "no model"))
    return table


def remarks(document: dict[str, Any]) -> list[str]:
    """Say what of the capture was left out."""
    counts, said = document["capture"], []
    if counts["is_truncated"]:
        said.append("the capture ends within a packet: explained is what comes before")
    if document["flows_without_acks"]:
        said.append(f"left out, no ACK captured: {document['flows_without_acks']} flows")
    others = counts["frames"] - counts["segments"]
    if others:
        said.append(f"left out, not whole TCP packets: {others} of {counts['frames']} frames")
    if counts["backward"]:
        said.append(f"the clock went back {counts['backward']} times: ranges may be wrong")
    return said
