"""Options of a flow's beliefs: initial values, timeouts, and the resolution of delays.

A belief is a bound on the network that a flow infers from what it observes. A family is a group of beliefs that are
computed together. A trace is the behavior of the network and the flow from t = 0 on. D is the maximum jitter.
"""

from dataclasses import dataclass
from enum import StrEnum

from fairweir.documents.arguments import words_for_enums
from fairweir.errors import ConfigError
from fairweir.formal.encoding.senders import Sender


class Start(StrEnum):
    """Beliefs at t = 0."""

    CONSISTENT = "consistent"
    """The beliefs are true of the network."""
    ANY = "any"
    """The beliefs may be stale: true only of the link before it changed (thesis section 4.1.1.2)."""


class Expiry(StrEnum):
    """Timeouts: the condition under which a belief gives up its value at the last point for a weaker bound."""

    NEVER = "never"
    """Beliefs never time out, so bounds only become tighter."""
    AT_END = "at-end"
    """Beliefs time out at the last point under conditions that each family defines."""
    ON_CONTRADICTION = "on-contradiction"
    """Beliefs time out only if the trace contradicts the beliefs. Not in the thesis; for the CBR-delay family."""


class Resolution(StrEnum):
    """The precision with which a flow that has CBR-delay beliefs knows delays."""

    STEP = "step"
    """Delays are known to one step, so the bound assumes a jitter of D + 1 step (published code)."""
    EXACT = "byte"
    """Delays are known for each byte, so the bound assumes a jitter of D (thesis, equation 4.2.2)."""


@words_for_enums
def needs_rate(sender: Sender) -> None:
    """Raise an error if the sender may pause, because a delay or a loss then does not imply that the link was busy.

    Raises
    ------
    ConfigError : a window limits the sender
    """
    if sender is not Sender.RATE:
        raise ConfigError(
            f"these beliefs are not sound for a flow that may pause: `{sender}`",
            key="sender",
            hint="beliefs are for flows that send at a rate of at least alpha",
        )


@dataclass(frozen=True)
class Terms:
    """The options with which a family of beliefs is attached to a flow."""

    start: Start = Start.CONSISTENT
    expiry: Expiry = Expiry.NEVER
    resolution: Resolution = Resolution.STEP
