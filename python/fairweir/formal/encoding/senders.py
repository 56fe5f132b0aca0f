"""Constraints on a flow's arrivals."""

from enum import StrEnum


class Sender(StrEnum):
    """Constraint on a flow's arrivals."""

    RATE = "rate"
    """A(t) = A(t-1) + rate(t), and the rate is at least alpha (template line 7)."""
    WINDOW = "window"
    """A(t) = max(A(t-1), S(t-R) + Ld(t) + cwnd(t)): all data that the window allows are sent at once."""
    PACED_WINDOW = "paced-window"
    """As the window allows, but at most at the rate."""
