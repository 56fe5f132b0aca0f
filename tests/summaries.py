"""Summaries with known numbers: a test sets the keys that it needs, and the others have defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from fairweir.judging.summary import Answers, Emulator, FlowSummary, Lateness, LinkSummary, Statistics, Summary

DELAYS = {"rtt_ms", "qdelay_ms", "queue_ms"}


def filled(document: Mapping[str, Any]) -> Summary:
    """Return a summary with some given keys and defaults for the others."""
    parts: dict[str, Any] = dict(document)
    parts["flows"] = [_part(FlowSummary, flow) for flow in document.get("flows", [])]
    parts["links"] = [_part(LinkSummary, link) for link in document.get("links", [])]
    if "emulator" in document:
        given = document["emulator"]
        error = dict.fromkeys([one.name for one in fields(Lateness)], 0.0) | given.get("release_error_us", {})
        names = [one.name for one in fields(Emulator)]
        silent = dict.fromkeys([one.name for one in fields(Answers)], 0)
        hosts = {"receiver": silent, "sender": silent} | given.get("host_us", {})
        known = {"release_error_us": error, "host_us": hosts}
        parts["emulator"] = dict.fromkeys(names, 0) | {"mode": "mtu", "stalls_us": []} | given | known
    if "over_time" in document:
        parts["over_time"] = {"t_s": [], "throughput_mbps": [], "lost_pkts": []} | document["over_time"]
    return Summary(parts)


def _part(kind: type[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    no_delay = {one.name: None for one in fields(Statistics)} | {"samples": 0}
    empty = {one.name: 0 for one in fields(kind) if one.name != "extra"}
    texts = {name: "" for name in ("id", "cca", "name") if name in empty}
    delays = {name: no_delay | given.get(name, {}) for name in empty if name in DELAYS}
    return empty | texts | dict(given) | delays
