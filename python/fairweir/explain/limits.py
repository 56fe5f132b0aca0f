"""The limits of a flow in words, and the fraction of time for which each limit held.

A limit (`fairweir_beliefs::Limit`) is the condition that kept a flow from sending more, such as a full congestion
window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from fairweir.show import style


@dataclass(frozen=True)
class Limit:
    """The words and the color for a limit.

    Attributes
    ----------
    name : str, name in tables and legends
    says : str, the rest of a sentence that begins with "the flow"
    colour : str, color in figures; it equals the color of a curve only if the limit and the curve have the same meaning
    """

    name: str
    says: str
    colour: str


#: Value of `fairweir_beliefs::Limit` -> words and color, in the order of legends.
LIMITS: Final = {
    "window": Limit("cwnd", "waited for ACKs: its congestion window was full", style.colour(0)),
    "pacing": Limit("pacing", "was paced by its sender's own clock", style.colour(5)),
    "receiver-window": Limit("receiver window", "had filled the receiver's window", style.colour(3)),
    "application": Limit("application", "had no more data to send", style.colour(2)),
    "recovery": Limit("loss recovery", "repaired losses", style.colour(1)),
    "unknown": Limit("unknown", "was limited by something the capture does not show", style.colour(7)),
}


def shares(periods: list[dict[str, Any]]) -> dict[str, float]:
    """Return, for each limit, the fraction of the total time of all periods; the largest fraction comes first."""
    spent: dict[str, int] = {}
    for period in periods:
        spent[period["limit"]] = spent.get(period["limit"], 0) + period["to_ns"] - period["from_ns"]
    whole = sum(spent.values())
    return {limit: ns / whole for limit, ns in sorted(spent.items(), key=lambda item: -item[1])}


def longest(periods: list[dict[str, Any]], limit: str) -> dict[str, Any]:
    """Return the longest period with the given limit."""
    return max((p for p in periods if p["limit"] == limit), key=lambda p: p["to_ns"] - p["from_ns"])
