"""The CCAC link by definition: listing A.1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.definition import Definition
from fairweir.formal.exact.history import History
from fairweir.formal.exact.report import NETWORK, Violation

ZERO = Fraction(0)


class Ccac(Definition):
    """Tokens at C, which may be wasted while no bytes wait, and service within D of them."""

    name = "ccac"

    def link(self, trace: Trace) -> Iterator[Violation]:
        """Check tokens and service: listing A.1."""
        tokens, served, step, jitter = trace.TA, trace.S, trace.grid.step, trace.grid.d_steps
        for t in range(1, trace.grid.points):
            admitted = tokens[t] - tokens[t - 1]
            yield from NETWORK.within("tokens", ZERO, admitted, step, "tokens", t)
            is_wasted = admitted < step
            yield from NETWORK.unless(
                not is_wasted or trace.bottleneck_queue(t) <= 0,
                "waste",
                t,
                f"tokens are wasted while {trace.bottleneck_queue(t)} waits for them",
            )
        for t in range(trace.grid.points):
            oldest = tokens[t - jitter] if t >= jitter else tokens[0] - step * (jitter - t)
            yield from NETWORK.within("S", oldest, served[t], min(tokens[t], trace.accepted(t)), "service", t)

    def admit(self, history: History, come: Fraction, ahead: Sequence[Sequence[Fraction]]) -> Fraction:
        """Return the tokens: all, if bytes wait for them; else some may be wasted, or kept for bytes of the next D."""
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
        """Serve the arrived bytes with tokens, at the latest D after the token."""
        return history.serve_within_jitter(accepted)
