"""Simulation of a network for random traces: in each step, one of the behaviors that the model allows is drawn.

Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; units are such that C = R = 1, so data are in
units of C R. alpha: one MSS. beta: size of the buffer. Tokens: on a CCAC link, those of the link's token bucket (each
token lets one byte pass); on other links, the bytes that have left the queue.

A trace is the value of each curve at each sample point; a step is the time between two points.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING

from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.system import Sender

if TYPE_CHECKING:
    from fairweir.formal.exact.definition import Definition

ZERO = Fraction(0)
#: Number of parts into which the bytes that a flow sends in one step are divided. Parts of several flows interleave.
PARTS = 4


@dataclass
class FlowHistory:
    """One flow's curves since the simulation began: cumulative bytes in C R, rates in C, windows in C R, delays in
    steps.
    """

    sent: list[Fraction] = field(default_factory=lambda: [ZERO])
    lost: list[Fraction] = field(default_factory=lambda: [ZERO])
    left: list[Fraction] = field(default_factory=lambda: [ZERO])
    served: list[Fraction] = field(default_factory=lambda: [ZERO])
    rates: list[Fraction] = field(default_factory=lambda: [Fraction(1)])
    windows: list[Fraction] = field(default_factory=lambda: [Fraction(1)])
    delays: list[int] = field(default_factory=lambda: [0])

    def age(self, t: int) -> int:
        """Return the age at t of the last byte served: the number of steps since the byte arrived."""
        return max(k for k in range(t + 1) if k == 0 or self.served[t] <= self.sent[t - k] - self.lost[t - k])


class History:
    """The simulation of a network that is empty at the start."""

    def __init__(
        self, network: Definition, grid: Grid, alpha: Fraction, beta: Fraction | None, flows: int, random: Random
    ) -> None:
        self.network, self.grid, self.alpha, self.beta = network, grid, alpha, beta
        self.flows = [FlowHistory() for _ in range(flows)]
        self.tokens: list[Fraction] = [ZERO]
        self._random = random
        self._queue: deque[tuple[int, Fraction]] = deque()
        #: Tokens without a waiting byte that a CCAC link may store for the bytes of the next D: 0, none; 1, tokens for
        #: half of these bytes; 2, tokens for all of these bytes.
        self.greed = random.choice([0, 1, 2])

    def by_rate(self, rate: Fraction) -> tuple[Fraction, Fraction, Fraction]:
        """Return the bytes sent in a step, the rate and the cwnd of a sender that requests a rate; the cwnd is not
        used.
        """
        sent = max(rate, self.alpha)
        return sent * self.grid.step, sent, Fraction(1)

    def by_window(self, flow: int, cwnd: Fraction, sender: Sender) -> tuple[Fraction, Fraction, Fraction]:
        """Return the bytes sent in a step, the rate and the cwnd of a sender that is limited by a window.

        The sender sends nothing before its first feedback, which arrives after R.

        Parameters
        ----------
        flow : int, index of the flow
        cwnd : the window minus alpha, in C R
        sender : Sender, `WINDOW` or `PACED_WINDOW`
        """
        own, back, window = self.flows[flow], self.grid.r_steps, cwnd + self.alpha
        t = len(self.tokens)
        rate = Fraction(self._random.randint(1, 24), 8)
        if t < back:
            return ZERO, rate, window
        allowed = own.served[t - back] + own.lost[t - back] + window - own.sent[-1]
        if sender is Sender.PACED_WINDOW:
            allowed = min(allowed, rate * self.grid.step)
        return max(ZERO, allowed), rate, window

    def advance(
        self, wanted: Sequence[tuple[Fraction, Fraction, Fraction]], ahead: Sequence[Sequence[Fraction]]
    ) -> bool:
        """Advance the simulation by one step. Return False if the model requires the service of bytes that have not
        arrived.

        Parameters
        ----------
        wanted : for each flow, the bytes that the flow sends in the step, its rate and its cwnd
        ahead : for each flow, its rates in the steps of the next D; empty if these rates are not known yet
        """
        sent = [amount for amount, _, _ in wanted]
        for flow, (amount, rate, window) in zip(self.flows, wanted, strict=True):
            flow.sent.append(flow.sent[-1] + amount)
            flow.rates.append(rate)
            flow.windows.append(window)
        come = sum((flow.sent[-1] - flow.lost[-1] for flow in self.flows), ZERO)
        self.tokens.append(self.network.admit(self, come, ahead))
        dropped = ZERO if self.beta is None else max(ZERO, come - self.tokens[-1] - self.beta)
        self._enqueue(sent, dropped)
        if not self.network.serve(self, come - dropped):
            return False
        t = len(self.tokens) - 1
        for flow in self.flows:
            moved = flow.served[t] > flow.served[t - 1]
            flow.delays.append(flow.age(t) if moved else flow.delays[-1])
        return True

    def serve_within_jitter(self, accepted: Fraction) -> bool:
        """Serve bytes in order of arrival, each at most D after its token. Return False if a byte has not arrived."""
        t, jitter = len(self.tokens) - 1, self.grid.d_steps
        before = sum((flow.served[-1] for flow in self.flows), ZERO)
        least = max(before, self.tokens[t - jitter] if t >= jitter else ZERO)
        most = min(self.tokens[t], accepted)
        if least > most:
            return False
        self.leave(self.between(least, most) - before)
        for flow in self.flows:
            flow.served.append(flow.left[-1])
        return True

    def _enqueue(self, sent: Sequence[Fraction], dropped: Fraction) -> None:
        """Add the bytes that flows send in one step to the queue, interleaved, and drop the last `dropped` of these
        bytes.
        """
        chunks = [(i, amount / PARTS) for _ in range(PARTS) for i, amount in enumerate(sent) if amount > 0]
        if self._random.random() < 0.5:
            chunks.sort(key=lambda chunk: chunk[0], reverse=self._random.random() < 0.5)
        losses = [ZERO] * len(sent)
        while dropped > 0:
            flow, amount = chunks.pop()
            losses[flow] += min(amount, dropped)
            if amount > dropped:
                chunks.append((flow, amount - dropped))
            dropped -= min(amount, dropped)
        self._queue.extend(chunks)
        for own, loss in zip(self.flows, losses, strict=True):
            own.lost.append(own.lost[-1] + loss)

    def leave(self, amount: Fraction) -> None:
        """Remove `amount` bytes from the queue, oldest first, and append the new totals to each flow's `left`."""
        left = [flow.left[-1] for flow in self.flows]
        while amount > 0:
            flow, size = self._queue.popleft()
            taken = min(size, amount)
            left[flow] += taken
            amount -= taken
            if size > taken:
                self._queue.appendleft((flow, size - taken))
        for own, total in zip(self.flows, left, strict=True):
            own.left.append(total)

    def between(self, low: Fraction, high: Fraction) -> Fraction:
        """Draw a number from an interval; each of the two ends has the probability 2/9.

        Parameters
        ----------
        low, high : ends of the interval
        """
        return low + (high - low) * self._random.choice([ZERO, ZERO, Fraction(1), Fraction(1), *_INNER])


_INNER = [Fraction(k, 6) for k in range(1, 6)]
