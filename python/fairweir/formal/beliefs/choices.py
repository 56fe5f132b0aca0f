"""What the verifier may choose of a flow's beliefs when a trace begins, and what happens to them when it ends."""

from enum import StrEnum


class Start(StrEnum):
    """Beliefs at t = 0."""

    CONSISTENT = "consistent"
    """The network is among those the flow believes possible."""
    ANY = "any"
    """They may be stale: the link has changed since (thesis section 4.1.1.2)."""


class Expiry(StrEnum):
    """Time-outs."""

    NEVER = "never"
    """Beliefs only ever shrink."""
    AT_END = "at-end"
    """At the last point beliefs are recomputed from the trace alone where the rules of time-outs say so."""
