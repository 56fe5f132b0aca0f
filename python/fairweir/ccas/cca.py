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
    cwnd_bytes : float or int, bytes; maximum inflight, at least one packet is always allowed
    pacing_rate_mbps : float or None, Mbit/s; the rate at which packets may leave, None sends as ACKs allow.
        1 Mbit/s for 1 ms is 125 bytes.
    mss_bytes : int, bytes; size of a packet as cwnd counts it
    rng : random.Random, seeded by the scenario: other random sources make runs irreproducible
    own_recovery : class attribute; True leaves the window in recovery to ``cwnd_bytes`` alone instead of RFC 6937's
        proportional rate reduction

    Notes
    -----
    The event objects are reused: copy the numbers, do not store the object.
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
        """Handle an ACK; also called for ACKs that deliver nothing new but declare losses."""
        raise NotImplementedError(f"{type(self).__name__} needs a method on_ack(self, ack)")

    def on_loss(self, loss: _core.Loss) -> None:
        """Handle the start of a loss episode: once for each recovery, ECN reaction (once per round), timeout."""
        raise NotImplementedError(f"{type(self).__name__} needs a method on_loss(self, loss)")

    def on_recovered(self, ack: _core.Ack) -> None:
        """Handle the end of an episode: everything sent before it began is acknowledged."""

    def on_send(self, sent: _core.Sent) -> None:
        """Handle a sent packet; no overhead unless overridden."""

    def on_packet_lost(self, lost: _core.LostPacket) -> None:
        """Handle the loss of a packet, every one unlike ``on_loss``; no overhead unless overridden."""

    @property
    def cwnd(self) -> NoReturn:
        """Names without a unit are refused, so that a misspelt decision is not lost in silence."""
        raise AttributeError("a controller has `cwnd_bytes`, in bytes; there is no `cwnd`")

    @cwnd.setter
    def cwnd(self, _value: object) -> NoReturn:
        raise AttributeError("set `cwnd_bytes`, in bytes; there is no `cwnd`")

    @property
    def pacing_rate(self) -> NoReturn:
        """Names without a unit are refused, as for ``cwnd``."""
        raise AttributeError("a controller has `pacing_rate_mbps`, in Mbit/s; there is no `pacing_rate`")

    @pacing_rate.setter
    def pacing_rate(self, _value: object) -> NoReturn:
        raise AttributeError("set `pacing_rate_mbps`, in Mbit/s; there is no `pacing_rate`")
