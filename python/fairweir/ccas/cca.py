"""The base class of CCAs (congestion control algorithms) written in Python."""

from __future__ import annotations

import random
from typing import NoReturn

from fairweir import _core
from fairweir.errors import CcaError


class Cca:
    """A CCA, of which there is one object per connection.

    Derive a class, set ``cwnd_bytes`` (and ``pacing_rate_mbps`` if the CCA paces) in the handlers, and name the class
    in a scenario: ``cca = "mine.py:MyCca"``. The parameters in the scenario are passed as keyword arguments to
    ``__init__``.

    Parameters
    ----------
    start : Start, with ``mss_bytes``, ``initial_cwnd_bytes``, ``oracle_rtprop_ms`` (the true propagation delay if the
        scenario grants it, else None) and ``seed``

    Attributes
    ----------
    cwnd_bytes : float or int, bytes; maximum inflight. One packet may always be in flight
    pacing_rate_mbps : float or None, Mbit/s; the rate at which packets are sent. If it is None, only cwnd limits the
        sender. 1 Mbit/s for 1 ms is 125 bytes
    mss_bytes : int, bytes; the size with which a packet counts in `cwnd_bytes`
    rng : random.Random, seeded by the scenario. If a CCA uses another source of randomness, runs are not reproducible
    own_recovery : class attribute; if True, ``cwnd_bytes`` is the window during loss recovery, too. If False,
        proportional rate reduction (RFC 9937) sets the window during recovery

    Notes
    -----
    The objects passed to handlers are reused for later events. Copy the numbers that are needed later; do not store the
    object.
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
        """Handle an ACK. The ACK may acknowledge no new data, but cause packets to be declared lost."""
        raise NotImplementedError(f"{type(self).__name__} needs a method on_ack(self, ack)")

    def on_loss(self, loss: _core.Loss) -> None:
        """Handle the start of a loss episode, which occurs once per recovery, once per timeout, and once per round with
        ECN marks.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method on_loss(self, loss)")

    def on_recovered(self, ack: _core.Ack) -> None:
        """Handle the end of a loss episode, when all data that were sent before its start are acknowledged."""

    def on_send(self, sent: _core.Sent) -> None:
        """Handle a sent packet. This handler is called only if a subclass overrides it."""

    def on_packet_lost(self, lost: _core.LostPacket) -> None:
        """Handle the loss of one packet. This handler is called for each lost packet, but only if a subclass overrides
        it.
        """

    def on_packet_acked(self, acked: _core.AckedPacket) -> None:
        """Handle the delivery of one packet. This handler is called before `on_ack`, but only if a subclass overrides
        it.
        """

    @property
    def cwnd(self) -> NoReturn:
        """Raise an error, because an assignment to this name, which lacks a unit, would have no effect."""
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
