"""The base class of congestion controllers written in Python."""

from __future__ import annotations

import random
from typing import NoReturn

from fairweir import _core
from fairweir.errors import CcaError


class Cca:
    """A congestion control algorithm on one connection.

    Subclass it, set ``cwnd_bytes`` (and ``pacing_rate_mbps`` if it paces) in the handlers, and name the class in a
    scenario: ``cca = "mine.py:MyCca"``. Parameters of the scenario arrive as keyword arguments of ``__init__``.

    Parameters
    ----------
    start : Start; ``mss_bytes``, ``initial_cwnd_bytes``, ``oracle_rtprop_ms`` (None unless granted), ``seed``

    Attributes
    ----------
    cwnd_bytes : float or int, bytes; maximum inflight. One packet is always allowed.
    pacing_rate_mbps : float or None, Mbit/s; the rate at which packets are sent. With None, cwnd alone limits the
        sender. 1 Mbit/s for 1 ms is 125 bytes.
    mss_bytes : int, bytes; the size that a packet has in `cwnd_bytes`
    rng : random.Random, seeded by the scenario; with other sources of randomness, runs are not reproducible
    own_recovery : class attribute; if True, ``cwnd_bytes`` is the window in recovery, too. If False, proportional rate
        reduction (RFC 6937) sets it.

    Notes
    -----
    The event objects are reused. Copy the numbers that are needed later; do not store the object.
    """

    own_recovery: bool = False

    def __init__(self, start: _core.Start | None = None) -> None:
        if start is None:
            name = type(self).__name__
            hint = f"pass the class: `dumbbell([{name}])`, not `dumbbell([{name}()])`"
            raise CcaError(f"`{name}()` without a `start`: a run creates one object per flow", hint=hint, cca=name)
        self.mss_bytes: int = start.mss_bytes
        self.cwnd_bytes: float = start.initial_cwnd_bytes
        self.pacing_rate_mbps: float | None = None
        self.rng = random.Random(start.seed)  # noqa: S311

    def on_ack(self, ack: _core.Ack) -> None:
        """Handle an ACK, including an ACK that acknowledges no new data but causes packets to be declared lost."""
        raise NotImplementedError(f"{type(self).__name__} needs a method on_ack(self, ack)")

    def on_loss(self, loss: _core.Loss) -> None:
        """Handle the start of a loss episode: once per recovery, per timeout, and per round with ECN marks."""
        raise NotImplementedError(f"{type(self).__name__} needs a method on_loss(self, loss)")

    def on_recovered(self, ack: _core.Ack) -> None:
        """Handle the end of a loss episode: all data that were sent before its start are acknowledged."""

    def on_send(self, sent: _core.Sent) -> None:
        """Handle a sent packet; called only if a subclass overrides it."""

    def on_packet_lost(self, lost: _core.LostPacket) -> None:
        """Handle the loss of one packet; called for each lost packet, but only if a subclass overrides it."""

    def on_packet_acked(self, acked: _core.AckedPacket) -> None:
        """Handle the delivery of one packet; called for each packet before `on_ack`, if a subclass overrides it."""

    @property
    def cwnd(self) -> NoReturn:
        """Raise an error: names without a unit are rejected, because an assignment to them would have no effect."""
        raise AttributeError("a controller has `cwnd_bytes`, in bytes; there is no `cwnd`")

    @cwnd.setter
    def cwnd(self, _value: object) -> NoReturn:
        raise AttributeError("set `cwnd_bytes`, in bytes; there is no `cwnd`")

    @property
    def pacing_rate(self) -> NoReturn:
        """Raise an error, as for ``cwnd``."""
        raise AttributeError("a controller has `pacing_rate_mbps`, in Mbit/s; there is no `pacing_rate`")

    @pacing_rate.setter
    def pacing_rate(self, _value: object) -> NoReturn:
        raise AttributeError("set `pacing_rate_mbps`, in Mbit/s; there is no `pacing_rate`")
