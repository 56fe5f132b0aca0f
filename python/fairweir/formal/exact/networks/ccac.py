"""The definition of the CCAC link in exact fractions: a token bucket, then jitter (thesis listing A.1).

Each token lets one byte pass. Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; units are such
that C = R = 1. TA: cumulative tokens admitted, at sample point t. The functions check traces and simulate the link.

A trace is the value of each curve at each sample point; a step is the time between two points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.definition import Definition
from fairweir.formal.exact.history import History
from fairweir.formal.exact.report import NETWORK, Violation

ZERO = Fraction(0)


class Ccac(Definition):
    """Tokens arrive at C and may be wasted while no bytes wait. Each byte is served at most D after its token."""

    name = "ccac"

    def link(self, trace: Trace) -> Iterator[Violation]:
        """Yield a violation for each condition of listing A.1, on tokens and on service, that a trace violates."""
        tokens, served, step, jitter = trace.TA, trace.S, trace.grid.step, trace.grid.d_steps
        for t in range(1, trace.grid.points):
            admitted = tokens[t] - tokens[t - 1]
            yield from NETWORK.within("tokens", ZERO, admitted, step, "tokens", t)
            is_wasted = admitted < step
            yield from NETWORK.unless(
                not is_wasted or trace.bottleneck_queue(t) <= 0,
                "waste",
                t,
                f"tokens are wasted while {trace.bottleneck_queue(t)} C R of bytes wait for them",
            )
        for t in range(trace.grid.points):
            oldest = tokens[t - jitter] if t >= jitter else tokens[0] - step * (jitter - t)
            yield from NETWORK.within("S", oldest, served[t], min(tokens[t], trace.accepted(t)), "service", t)

    def admit(self, history: History, come: Fraction, ahead: Sequence[Sequence[Fraction]]) -> Fraction:
        """Return the cumulative tokens admitted by the next point, in C R: C per step if bytes wait for tokens.

        Otherwise some tokens may be wasted, or stored for the bytes of the next D.
        """
        full = history.tokens[-1] + history.grid.step
        if full <= come:
            return full
        least = max(history.tokens[-1], come)
        if history.greed == 0 or not ahead:
            return least
        # Bytes that arrive in the next D, if nothing is lost until then.
        room = sum((max(rate, history.alpha) * history.grid.step for rates in ahead for rate in rates), ZERO)
        most = min(full, least + (room if history.greed == 2 else room / 2))
        return history.between(least, most)

    def serve(self, history: History, accepted: Fraction) -> bool:
        """Serve bytes that have a token, each at most D after its token."""
        return history.serve_within_jitter(accepted)
