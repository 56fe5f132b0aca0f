"""Describe in sentences what a capture shows about a flow, with Wireshark's frame numbers.

A limit is the condition that kept a flow from sending more, such as a full congestion window. A model (ideal link,
CBR-delay path or CCAC path; docs/formal/models.md) relates packets sent to packets delivered; observations contradict a
model if no values of its parameters explain them. `facts` is one flow's entry in the document of `explain_file`, `link`
the entry of a bottleneck, and `document` the whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from fairweir.explain.limits import LIMITS, longest, shares
from fairweir.explain.words import KB, MBPS, MS, S, about, nearly

#: A limit is reported if it held for at least this fraction of the time.
MIN_SHARE: Final = 0.01
#: Maximum number of changes of the available rate that are reported individually; if there are more, one sentence
#: summarizes them.
MAX_CHANGES: Final = 4
PLACES: Final = {
    "sender": "at the sender",
    "receiver": "at the receiver: almost none of the path lies between data and ACKs",
    "between": "between the ends: only the part of the path beyond the capture point is visible",
    "short": "on a path below 1 ms: host delays are as large as path delays",
    "unknown": "unknown, no handshake was captured: treated as at the sender; a queue before the capture point counts "
    "as propagation",
}
"""Value of `fairweir_beliefs::View` -> a text that states where on the path the capture was taken."""

MODELS: Final = {"ideal": "ideal link", "cbr-delay": "CBR-delay path", "ccac": "CCAC path"}
"""Value of `fairweir_beliefs::Model` -> name of the model."""


@dataclass(frozen=True)
class Finding:
    """One sentence about a flow.

    Attributes
    ----------
    text : str
    frames : (first, last) frame of the capture that shows the finding; None if the finding applies to the whole flow
    """

    text: str
    frames: tuple[int, int] | None = None

    @property
    def where(self) -> str:
        """The frame numbers as text; empty if there are none."""
        return "" if self.frames is None else f"frames {self.frames[0]} to {self.frames[1]}"


def findings(facts: dict[str, Any], document: dict[str, Any]) -> list[Finding]:
    """Return the findings on a flow, those on its limits first.

    Findings on a bottleneck are reported only with the flow that delivered the most bytes through the bottleneck.
    """
    link = link_of(facts, document)
    reported = _limits(facts)
    if link is None:
        return [*reported, *_models(facts, link)]
    reported += _use(facts, link, document)
    if facts["flow"] == link["flows"][0]:
        reported += [*_changes(facts, link), *_bucket(link)]
    elif link["changes"] or link["token_bucket"]:
        reported.append(Finding(f"Flow {link['flows'][0]} has the findings on the bottleneck that they share"))
    return [*reported, *_bursts(facts), *_models(facts, link)]


def link_of(facts: dict[str, Any], document: dict[str, Any]) -> dict[str, Any] | None:
    """Return the bottleneck of a flow; None if there is no evidence of a bottleneck."""
    link: dict[str, Any] | None = None if facts["link"] is None else document["links"][facts["link"] - 1]
    return link


def limited_by(facts: dict[str, Any]) -> str:
    """Return the flow's limits, each with its fraction of the time: ``cwnd 83 %, loss recovery 10 %``."""
    reported = [
        f"{LIMITS[word].name} {share:.0%}" for word, share in shares(facts["limits"]).items() if share >= MIN_SHARE
    ]
    return ", ".join(reported) or "not reported"


def duration_s(facts: dict[str, Any]) -> float:
    """Return the time (s) from the flow's first packet to its last packet or ACK, in whole bins of its series."""
    series = facts["series"]
    return float(len(series["delivered_bytes"]) * series["width_ns"] * S)


def rate_mbps(facts: dict[str, Any]) -> float:
    """Return a flow's average throughput, Mbit/s."""
    seconds = duration_s(facts)
    return facts["delivered_bytes"] * MBPS / seconds if seconds > 0 else 0.0


def _limits(facts: dict[str, Any]) -> list[Finding]:
    origin = facts["series"]["from_ns"]
    reported = []
    for word, share in shares(facts["limits"]).items():
        if share < MIN_SHARE or word == "unknown":
            continue
        period = longest(facts["limits"], word)
        start, end = ((period[key] - origin) * S for key in ("from_ns", "to_ns"))
        text = f"{share:.0%} of the time the flow {LIMITS[word].says}; longest: {start:.3f} to {end:.3f} s"
        reported.append(Finding(text, (period["first_frame"], period["last_frame"])))
    return reported


def _use(facts: dict[str, Any], link: dict[str, Any], document: dict[str, Any]) -> list[Finding]:
    """Return which fraction of the link's rate the flow used, and which fraction other flows used, if the rate is
    known.
    """
    if len(link["rates"]) != 1 or link["rates"][0]["rate_bytes_per_s"]["hi"] is None:
        return []
    whole = link["rates"][0]["rate_bytes_per_s"]
    rate, lo, hi = rate_mbps(facts), whole["lo"] * MBPS, whole["hi"] * MBPS
    least, most = rate / hi, min(1.0, rate / lo)
    used = f"{least:.0%} to {most:.0%}" if f"{least:.0%}" != f"{most:.0%}" else f"{most:.0%}"
    text = f"The flow used {used} of the bottleneck's rate over its {duration_s(facts):.3g} s"
    others = [number for number in link["flows"] if number != facts["flow"]]
    if others:
        by_size = {flow["flow"]: flow["delivered_bytes"] for flow in document["flows"]}
        known = [number for number in others if number in by_size]
        text += f"; {_flows(others)} of this capture shared it"
        if known:
            share = facts["delivered_bytes"] / (facts["delivered_bytes"] + sum(by_size[number] for number in known))
            text += f", this one carried {share:.0%} of their bytes"
    return [Finding(text)]


def _flows(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"flow {numbers[0]}"
    return f"flows {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def is_within(verdict: dict[str, Any], spread_ns: int) -> bool:
    """Return whether the jitter that a model needs is at most `spread_ns`, the uncertainty of the propagation
    delays.
    """
    least = verdict["jitter_min_ns"]
    return least is not None and 0 < least <= spread_ns


def _models(facts: dict[str, Any], link: dict[str, Any] | None) -> list[Finding]:
    """Return the observations that contradict models of the path (thesis section 8.3.2)."""
    reported = []
    spread = 0 if link is None else link["propagation_spread_ns"]
    if any(is_within(verdict, spread) and not verdict["explains"] for verdict in facts["models"]):
        text = (
            f"Jitter below {about(spread * MS)} ms is not known: the propagation delays of the flows differ by so much"
        )
        reported.append(Finding(f"{text}, and the capture does not show on which side of the queue"))
    for verdict in facts["models"]:
        frames, least = verdict["frames"], verdict["jitter_min_ns"]
        if is_within(verdict, spread):
            continue
        if least is None or least > verdict["jitter_max_ns"]:
            needs = "none that was tried" if least is None else f"{about(least * MS)} ms"
            text = f"No {MODELS[verdict['model']]} explains this: minimum jitter {needs}"
            reported.append(Finding(text, None if frames is None else (min(frames), max(frames))))
    contradiction = next((v["losses_contradict"] for v in facts["models"] if v["losses_contradict"]), None)
    if contradiction is not None:
        lost, kept = contradiction
        text = (
            f"Not every loss is a buffer overflow: frame {lost} was lost, but frame {kept}, which arrived at a longer "
            "queue, was not"
        )
        reported.append(Finding(text, (min(lost, kept), max(lost, kept))))
    return reported


def _changes(facts: dict[str, Any], link: dict[str, Any]) -> list[Finding]:
    """Return the times at which the rate available to the flows changed, and whether the link caused the change."""
    of_link = [change for change in link["changes"] if change["cause"] == "link"]
    others = [change for change in link["changes"] if change["cause"] != "link"]
    reported = [_change(facts, link, change) for change in of_link]
    if len(others) <= MAX_CHANGES:
        return sorted(
            [*reported, *(_change(facts, link, change) for change in others)], key=lambda f: f.frames or (0, 0)
        )
    rates = [change[key]["lo"] for change in others for key in ("before_bytes_per_s", "after_bytes_per_s")]
    text = (
        f"The rate available to {_them(link)} changed {len(others)} times, between {about(min(rates) * MBPS)} and "
        f"{about(max(rates) * MBPS)} Mbit/s; other traffic that this capture does not show, or changes of the link, "
        "explain it"
    )
    return [*reported, Finding(text, (others[0]["frames"][0], others[-1]["frames"][1]))]


def _change(facts: dict[str, Any], link: dict[str, Any], change: dict[str, Any]) -> Finding:
    before, after = (change[key] for key in ("before_bytes_per_s", "after_bytes_per_s"))
    at_s = (change["time_ns"] - facts["series"]["from_ns"]) * S
    moved = f"from {nearly(before, MBPS)} to {nearly(after, MBPS)} Mbit/s"
    word = "fell" if after["lo"] < before["lo"] else "rose"
    text = {
        "link": f"The link's rate changed at {at_s:.3f} s: {moved}",
        "other-traffic": (
            f"The rate available to {_them(link)} {word} at {at_s:.3f} s, {moved}, but the spacing of back-to-back "
            "packets did not change: the cause is other traffic that this capture does not show"
        ),
        "unknown": (
            f"The rate available to {_them(link)} {word} at {at_s:.3f} s, {moved}; other traffic that this capture "
            "does not show, or a change of the link, explains it"
        ),
    }[change["cause"]]
    return Finding(text, (min(change["frames"]), max(change["frames"])))


def _them(link: dict[str, Any]) -> str:
    return "this flow" if len(link["flows"]) == 1 else "these flows"


def _bucket(link: dict[str, Any]) -> list[Finding]:
    """Return the finding on a token bucket, if there is one."""
    bucket = link["token_bucket"]
    if bucket is None:
        return []
    kind, does = {
        "delayed": ("shaper", "excess packets are queued"),
        "lost": ("policer", "excess packets are dropped, none are queued"),
    }[bucket["excess"]]
    rate = nearly({"lo": bucket["rate_bytes_per_s"], "hi": bucket["rate_bytes_per_s"]}, MBPS)
    size = about(bucket["bucket_bytes"] * KB)
    text = f"A {kind} explains it better than a constant link: {rate} Mbit/s, bucket {size} kB; {does}"
    return [Finding(text, (bucket["frames"][0], bucket["frames"][1]))]


def _bursts(facts: dict[str, Any]) -> list[Finding]:
    """Return the finding on bursts of ACKs, if there are any."""
    bursts = facts["aggregation"]
    if bursts is None:
        return []
    text = (
        f"ACKs arrive in bursts every {bursts['period_ns'] * MS:.3g} ms ({bursts['share']:.0%} of all bytes), "
        f"held for {bursts['hold_ns'] * MS:.3g} ms"
    )
    first = bursts["frames"][0] if bursts["frames"] else None
    return [Finding(text, None if first is None else (first[0], first[1]))]
