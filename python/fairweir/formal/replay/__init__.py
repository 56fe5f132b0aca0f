"""Replay of a solver's trace in the simulator: a packet-level scenario, its sender, and a picture.

A trace lists the bytes that flows sent and that a link served and lost at equally spaced points in time. The scenario
uses a sender with prescribed send times; the picture shows the trace and the simulated packets.
"""

from fairweir.formal.replay.sender import Scheduled

__all__ = ["Scheduled"]
