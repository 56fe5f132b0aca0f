"""What is worth saying of a flow, in sentences with Wireshark's frame numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from fairweir.explain.limits import LIMITS, longest, shares

#: A limit that held for less of the time is not worth a sentence.
LEAST_SHARE: Final = 0.01
PLACES: Final = {
    "sender": "at the sender",
    "receiver": "at the receiver: data and ACKs have nearly none of the path between them",
    "between": "between the ends: of the path only what lies beyond the capture",
    "unknown": ("unknown, no handshake was captured: read as if at the sender, and what waited then counts as rtprop"),
}
"""Where a capture was taken, by the word of `fairweir_beliefs::View`."""

MODELS: Final = {"ideal": "ideal link", "cbr-delay": "CBR-delay path", "ccac": "CCAC path"}
"""Models as they are called, by the word of `fairweir_beliefs::Model`."""


@dataclass(frozen=True)
class Finding:
    """One sentence.

    Attributes
    ----------
    text : str
    frames : (first, last) in the capture where it can be seen, None if everywhere
    """

    text: str
    frames: tuple[int, int] | None = None

    @property
    def where(self) -> str:
        """The frames in words, empty if there are none."""
        return "" if self.frames is None else f"frames {self.frames[0]} to {self.frames[1]}"


def findings(facts: dict[str, Any]) -> list[Finding]:
    """Give what a flow of `explain_file`'s document shows, what limited it first."""
    return [*_limits(facts), *_use(facts), *_changes(facts), *_bursts(facts), *_models(facts)]


def limited_by(facts: dict[str, Any]) -> str:
    """Give the limits with their shares of the time: ``cwnd 83 %, loss recovery 10 %``."""
    told = [
        f"{LIMITS[word].name} {share:.0%}" for word, share in shares(facts["limits"]).items() if share >= LEAST_SHARE
    ]
    return ", ".join(told) or "not told"


def duration_s(facts: dict[str, Any]) -> float:
    """Time from the flow's first packet to its last ACK or packet, to a bin of its series."""
    series = facts["series"]
    return float(len(series["delivered_bytes"]) * series["width_ns"] * 1e-9)


def between(ends: dict[str, float | None], scale: float) -> str:
    """Give a range in words; without an upper end there is no bound."""
    lo, hi = ends["lo"] or 0.0, ends["hi"]
    return f"at least {lo * scale:.5g}" if hi is None else f"{lo * scale:.5g} to {hi * scale:.5g}"


def _limits(facts: dict[str, Any]) -> list[Finding]:
    origin = facts["series"]["from_ns"]
    told = []
    for word, share in shares(facts["limits"]).items():
        if share < LEAST_SHARE:
            continue
        period = longest(facts["limits"], word)
        start, end = ((period[key] - origin) * 1e-9 for key in ("from_ns", "to_ns"))
        text = f"{share:.0%} of the time the flow {LIMITS[word].says}; longest: {start:.3f} to {end:.3f} s"
        told.append(Finding(text, (period["first_frame"], period["last_frame"])))
    return told


def _use(facts: dict[str, Any]) -> list[Finding]:
    belief, seconds = facts["cbr_delay"], duration_s(facts)
    if belief is None or seconds <= 0:
        return []
    rate = facts["delivered_bytes"] / seconds
    most = min(1.0, rate / belief["rate_bytes_per_s"]["lo"]) if belief["rate_bytes_per_s"]["lo"] else 1.0
    least = 0.0 if belief["rate_bytes_per_s"]["hi"] is None else rate / belief["rate_bytes_per_s"]["hi"]
    used = f"{least:.0%} to {most:.0%}" if f"{least:.0%}" != f"{most:.0%}" else f"{most:.0%}"
    return [Finding(f"The flow used {used} of C over its {seconds:.3g} s")]


def _models(facts: dict[str, Any]) -> list[Finding]:
    """Say what contradicts the models that do not explain the flow (thesis section 8.3.2)."""
    told = []
    for verdict in facts["models"]:
        frames, least = verdict["frames"], verdict["jitter_least_ns"]
        if least is None or least > verdict["jitter_most_ns"]:
            needs = "none that was tried" if least is None else f"{least * 1e-6:.4g} ms"
            text = f"No {MODELS[verdict['model']]} made this: least jitter {needs}"
            told.append(Finding(text, None if frames is None else (min(frames), max(frames))))
    contradiction = next((v["losses_contradict"] for v in facts["models"] if v["losses_contradict"]), None)
    if contradiction is not None:
        lost, kept = contradiction
        text = f"Not every loss is a full buffer's: frame {lost} was lost, frame {kept} found more waiting and was kept"
        told.append(Finding(text, (min(lost, kept), max(lost, kept))))
    return told


def _changes(facts: dict[str, Any]) -> list[Finding]:
    """Say when the link's rate changed."""
    origin, told = facts["series"]["from_ns"], []
    for change in (facts["pieces"] or {"changes": []})["changes"]:
        before, after = (between(change[key], 8e-6) for key in ("before_bytes_per_s", "after_bytes_per_s"))
        at_s = (change["time_ns"] - origin) * 1e-9
        text = f"The link's rate changed at {at_s:.3f} s: from {before} to {after} Mbit/s"
        told.append(Finding(text, (change["frame"], change["contradicted_frame"])))
    return told


def _bursts(facts: dict[str, Any]) -> list[Finding]:
    """Name a token bucket and ACKs in bursts."""
    told, bucket, bursts = [], facts["token_bucket"], facts["aggregation"]
    if bucket is not None:
        kind = {"delayed": "shaper", "lost": "policer"}[bucket["excess"]]
        text = (
            f"A {kind} explains it better than a constant link: {bucket['rate_bytes_per_s'] * 8e-6:.4g} Mbit/s, "
            f"bucket {bucket['bucket_bytes'] * 1e-3:.4g} kB"
        )
        told.append(Finding(text, (bucket["frames"][0], bucket["frames"][1])))
    if bursts is not None:
        text = (
            f"ACKs come in bursts each {bursts['period_ns'] * 1e-6:.3g} ms ({bursts['share']:.0%} of all bytes), "
            f"held for {bursts['hold_ns'] * 1e-6:.3g} ms"
        )
        first = bursts["frames"][0] if bursts["frames"] else None
        told.append(Finding(text, None if first is None else (first[0], first[1])))
    return told
