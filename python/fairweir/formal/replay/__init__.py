"""Traces replayed in the simulator: a scenario of packets, a sender that keeps to a schedule, a picture of both."""

from fairweir.formal.replay.sender import Scheduled

__all__ = ["Scheduled"]
