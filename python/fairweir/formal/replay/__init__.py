"""Traces replayed in the simulator: a packet-level scenario, a sender with prescribed send times, and a picture of
both.
"""

from fairweir.formal.replay.sender import Scheduled

__all__ = ["Scheduled"]
