"""The limit on the sending of a flow: a rate, a congestion window, or both.

Symbols: A, S, Ld: cumulative bytes sent, served, and known to be lost, at sample point t. R, round-trip propagation
delay; alpha, the rate of one MSS per R; cwnd, congestion window. The time between two sample points is R in the
formulas.
"""

from enum import StrEnum


class Sender(StrEnum):
    """The limit on the sending of a flow."""

    RATE = "rate"
    """A(t) = A(t-1) + rate(t), and the rate is at least alpha (line 7 of the thesis's template of rules)."""
    WINDOW = "window"
    """A(t) = max(A(t-1), S(t-R) + Ld(t) + cwnd(t)): the flow sends at once all bytes that the window allows."""
    PACED_WINDOW = "paced-window"
    """As `WINDOW`, but A(t) is at most A(t-1) + rate(t)."""
