"""Which mechanisms of Linux's TCP simulated hosts have, and whether receive windows are autotuned in all worlds."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from fairweir.documents.arguments import words_for_enums

#: Values of the key `transport`: all mechanisms of Linux, and none of them.
LINUX: Final = "linux"
IDEAL: Final = "ideal"


class Mechanism(StrEnum):
    """A mechanism of Linux's TCP that a scenario can switch off; ``fairweir_scenario::Mechanism`` describes each."""

    HANDSHAKE = "handshake"
    TAIL_LOSS_PROBE = "tail_loss_probe"
    IDLE_RESTART = "idle_restart"
    AUTOSIZING = "autosizing"
    QUICK_ACKS = "quick_acks"
    UNDO = "undo"
    AUTOTUNING = "autotuning"
    SACK_COMPRESSION = "sack_compression"
    PACING_CREDIT = "pacing_credit"
    TIMESTAMPS = "timestamps"
    LOSS_RECOVERY = "loss_recovery"
    RTT_ESTIMATOR = "rtt_estimator"
    JIFFIES = "jiffies"


def mechanisms(transport: str | Sequence[str]) -> list[str]:
    """Return the names of the mechanisms that a value of the key `transport` selects, in the order of
    :class:`Mechanism`.
    """
    if transport == IDEAL:
        return []
    return [mechanism.value for mechanism in Mechanism if transport == LINUX or mechanism.value in transport]


@words_for_enums
def without(excluded: Mechanism) -> list[str]:
    """Return the names of all mechanisms of Linux but `excluded`: a value of the key `transport`."""
    return [name for name in mechanisms(LINUX) if name != excluded]
