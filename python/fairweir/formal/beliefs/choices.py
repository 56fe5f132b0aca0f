"""The verifier's choices for a flow's beliefs at the start of a trace, and their time-outs at the end."""

from dataclasses import dataclass
from enum import StrEnum

from fairweir.documents.arguments import words_for_enums
from fairweir.errors import ConfigError
from fairweir.formal.encoding.senders import Sender


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
    ON_CONTRADICTION = "on-contradiction"
    """The same, if and only if the trace shows that no link is left; ours, for the CBR-delay family."""


class Resolution(StrEnum):
    """Resolution of a CBR-delay flow's delays."""

    STEP = "step"
    """To one step, as sample points show them: the bound is for a jitter of D + 1 step (published code)."""
    EXACT = "byte"
    """To the byte: the bound is for a jitter of D (thesis, equation 4.2.2)."""


@words_for_enums
def needs_rate(sender: Sender) -> None:
    """Raise an error for a sender that may pause: then a delay or loss does not imply that the link was busy.

    Raises
    ------
    ConfigError : its arrivals are bounded by a window
    """
    if sender is not Sender.RATE:
        raise ConfigError(
            f"these beliefs are not sound for a flow that may pause: `{sender}`",
            key="sender",
            hint="beliefs are for flows that send at a rate of at least alpha",
        )


@dataclass(frozen=True)
class Terms:
    """How a family was attached to a flow."""

    start: Start = Start.CONSISTENT
    expiry: Expiry = Expiry.NEVER
    resolution: Resolution = Resolution.STEP
