"""Options for a flow's beliefs: their values at the start of a trace, and their timeouts at the end."""

from dataclasses import dataclass
from enum import StrEnum

from fairweir.documents.arguments import words_for_enums
from fairweir.errors import ConfigError
from fairweir.formal.encoding.senders import Sender


class Start(StrEnum):
    """Beliefs at t = 0."""

    CONSISTENT = "consistent"
    """The beliefs admit the network."""
    ANY = "any"
    """They may be stale: the link has changed since (thesis section 4.1.1.2)."""


class Expiry(StrEnum):
    """Timeouts."""

    NEVER = "never"
    """Beliefs only ever shrink."""
    AT_END = "at-end"
    """At the last point, beliefs that time out are recomputed from this trace only."""
    ON_CONTRADICTION = "on-contradiction"
    """Beliefs time out only if the trace contradicts them; fairweir's rule, for the CBR-delay family."""


class Resolution(StrEnum):
    """Resolution of a CBR-delay flow's delays."""

    STEP = "step"
    """Delays are known to one step, as sample points show them: the bound assumes a jitter of D + 1 step (published
    code)."""
    EXACT = "byte"
    """Delays are known for each byte: the bound assumes a jitter of D (thesis, equation 4.2.2)."""


@words_for_enums
def needs_rate(sender: Sender) -> None:
    """Reject a sender that may pause, because a delay or a loss then does not imply that the link was busy.

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
    """The options with which a family is attached to a flow."""

    start: Start = Start.CONSISTENT
    expiry: Expiry = Expiry.NEVER
    resolution: Resolution = Resolution.STEP
