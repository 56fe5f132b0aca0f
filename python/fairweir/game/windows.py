"""Random windows of observations, with the exact bounds of their belief sets.

A *window* is what a sender observed at its latest points in time: packets sent, delivered and known to be lost. The
*belief set* of a window is the set of all links (rate C, buffer B, queue) that can explain the window. The *bounds* of
a belief set are the minima and maxima of C, B and the queue over the set (``model.py``). A random sender on a simulated
random link produces each window, in exact fractions. Senders are steady or bursty, fill the queue, or pause between
bursts. Jitter is absent, random, or delays all or none of a step's packets. All random numbers derive from one seed.

The proofs of decision trees search these windows for counterexamples (``realise.py``).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from fairweir.ccas.controller_file import LinkRange
from fairweir.game.model import Bounds, Window, bounds

#: Rates are multiples of this number of packets per step, so that doubles represent rates exactly.
GRAIN = Fraction(1, 8)
#: A function that returns the bounds of a window's belief set; None if no link explains the window.
BoundsOf = Callable[[Window, LinkRange], Bounds | None]


@dataclass
class RunningLink:
    """A link that is simulated step by step, and is idle at first; amounts are in packets.

    Attributes
    ----------
    c, b : rate in packets per step, and buffer in packets
    sent, accepted, served, delivered : cumulative packets at each point (end of a step): sent, accepted by the queue,
        served by the link, and delivered to the receiver after jitter
    """

    c: Fraction
    b: Fraction

    def __post_init__(self) -> None:
        zero = Fraction(0)
        self.sent, self.accepted, self.served, self.delivered = [zero], [zero], [zero], [zero]

    @property
    def queue(self) -> Fraction:
        """Number of packets that wait in the queue."""
        return self.accepted[-1] - self.served[-1]

    def step(self, rate: Fraction, haste: Fraction) -> None:
        """Advance the link by one step in which `rate` packets arrive.

        All packets that were served by the previous point are delivered, and so is the fraction `haste` of the packets
        that were served in this step.
        """
        before = self.served[-1]
        self.sent.append(self.sent[-1] + rate)
        self.accepted.append(min(self.accepted[-1] + rate, before + self.c + self.b))
        self.served.append(min(before + self.c, self.accepted[-1]))
        earliest = max(before, self.delivered[-1])
        self.delivered.append(earliest + (self.served[-1] - earliest) * haste)

    def window(self, points: int, arriving: Fraction) -> Window:
        """Return the sender's observations at the latest points.

        Parameters
        ----------
        points : int, number of points
        arriving : packets that were sent and have not yet reached the queue
        """
        zero = Fraction(0)
        idle = [zero] * points

        def latest(series: list[Fraction]) -> tuple[Fraction, ...]:
            return tuple((idle + series)[-points:])

        lost = [sent - accepted for sent, accepted in zip(self.sent, self.accepted, strict=True)]
        seen = sum(accepted <= self.delivered[-1] for accepted in self.accepted)
        visible = min(points, max(0, seen + points - len(self.sent)))
        known = [*idle, *lost]
        # The losses known before the window: at the point before the window if they are known there, otherwise at the
        # latest point at which they are known.
        before = known[min(len(known) - points, points + seen) - 1]
        known_lost = latest(lost)[:visible] + (zero,) * (points - visible)
        return Window(latest(self.sent), latest(self.delivered), known_lost, visible, before, self.sent[-1] + arriving)


def random_windows(seed: int, links: LinkRange, points: int) -> Iterator[Window]:
    """Yield an endless sequence of windows, each of a random sender on a random link."""
    draw = random.Random(seed)  # noqa: S311 - examples, not secrets

    def grain(value: float) -> Fraction:
        return max(Fraction(0), round(value / float(GRAIN)) * GRAIN)

    while True:
        low, high = float(links.c[0]), float(links.c[1])
        c = max(links.c[0], grain(low * (high / low) ** (0.6 * draw.random())))
        b = min(links.b[1], max(links.b[0], grain(float(c) * (0.2 + 4 * draw.random()))))
        link = RunningLink(c, b)
        style, jitter, base = draw.randrange(5), draw.randrange(4), float(c) * (0.3 + 1.2 * draw.random())
        following = Fraction(0)
        for t in range(draw.randrange(4, 16)):
            arriving = following
            rates = (
                base,
                base * 2 * draw.random(),
                base * (3 if draw.random() < 0.3 else 0.5),
                max(0.0, float(c - link.queue)) + 0.4 * draw.random(),
                float(c) * 4 if draw.random() < 0.2 else 0.0,
            )
            following = grain(rates[style])
            hastes = (1, draw.choice((0, Fraction(1, 2), 1)), draw.randrange(2), t % 2)
            link.step(arriving, Fraction(hastes[jitter]))
        yield link.window(points, following)


@dataclass(frozen=True)
class Example:
    """A window and the exact bounds of its belief set."""

    window: Window
    bounds: Bounds


def examples(count: int, links: LinkRange, points: int, seed: int = 0, bounds_of: BoundsOf = bounds) -> list[Example]:
    """Return `count` random windows with their bounds. If no link explains a window, the window is skipped."""
    found: list[Example] = []
    for window in random_windows(seed, links, points):
        if len(found) == count:
            break
        known = bounds_of(window, links)
        if known is not None:
            found.append(Example(window, known))
    return found
