"""Links and the windows that their senders observe, in exact arithmetic."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final

#: All random numbers are multiples of 1 / GRAIN, so that floats represent them exactly.
GRAIN: Final = 64
POINTS: Final = 6


@dataclass(frozen=True)
class Model:
    """Assumptions about the link, in packets (per step) and steps."""

    c: tuple[Fraction, Fraction] = (Fraction(1), Fraction(200))
    b: tuple[Fraction, Fraction] = (Fraction(1), Fraction(200))
    jitter: int = 1
    slack: Fraction = Fraction(0)
    #: If False, the rates of links change, so that no link explains some windows.
    steady: bool = True

    def document(self) -> dict[str, Any]:
        """Return the model in the format of `fairweir._core.game_bounds`."""
        return {
            "c": [float(end) for end in self.c],
            "b": [float(end) for end in self.b],
            "jitter": self.jitter,
            "slack": float(self.slack),
        }


@dataclass(frozen=True)
class Window:
    """Observations: cumulative packets at points that are one step apart."""

    sent: tuple[Fraction, ...]
    delivered: tuple[Fraction, ...]
    lost: tuple[Fraction, ...]
    lost_before: Fraction
    sent_next: Fraction

    def document(self) -> dict[str, Any]:
        """Return the window in the format of `fairweir._core.game_bounds`."""
        return {
            "sent": [float(amount) for amount in self.sent],
            "delivered": [float(amount) for amount in self.delivered],
            "lost": [float(amount) for amount in self.lost],
            "lost_before": float(self.lost_before),
            "sent_next": float(self.sent_next),
        }

    def latest(self, points: int) -> Window:
        """Return a window of only the latest points."""
        drop = len(self.sent) - points
        known = self.lost[:drop]
        return replace(
            self,
            sent=self.sent[drop:],
            delivered=self.delivered[drop:],
            lost=self.lost[drop:],
            lost_before=known[-1] if known else self.lost_before,
        )


@dataclass
class Link:
    """A constant-rate link with a finite buffer; jitter delays its deliveries."""

    c: Fraction
    b: Fraction
    model: Model
    sent: list[Fraction] = field(default_factory=lambda: [Fraction(0)])
    lost: list[Fraction] = field(default_factory=lambda: [Fraction(0)])
    served: list[Fraction] = field(default_factory=lambda: [Fraction(0)])
    delivered: list[Fraction] = field(default_factory=lambda: [Fraction(0)])

    def step(self, rate: Fraction, haste: Fraction, early: Fraction) -> None:
        """Let `rate` packets arrive.

        `haste` and `early` (0 to 1) choose deliveries and losses in the permitted range.
        """
        accepted = self.sent[-1] - self.lost[-1]
        room = self.served[-1] + self.c + self.b
        offered = accepted + rate
        if offered > room - early * self.model.slack:
            accepted = max(accepted, min(offered, room - early * self.model.slack))
        else:
            accepted = offered
        self.sent.append(self.sent[-1] + rate)
        self.lost.append(self.sent[-1] - accepted)
        self.served.append(min(self.served[-1] + self.c, accepted))
        at_least = self.served[max(0, len(self.served) - 1 - self.model.jitter)]
        at_least = max(at_least, self.delivered[-1])
        self.delivered.append(at_least + (self.served[-1] - at_least) * haste)

    def queue(self) -> Fraction:
        """Return the packets in the queue."""
        return self.sent[-1] - self.lost[-1] - self.served[-1]

    def window(self, sent_next: Fraction) -> Window:
        """Return the sender's observations of the last six points."""
        end = self.delivered[-1]
        first = max(0, len(self.sent) - POINTS)
        accepted = [sent - lost for sent, lost in zip(self.sent, self.lost, strict=True)]
        known = sum(amount <= end for amount in accepted)
        return Window(
            tuple(self.sent[first:]),
            tuple(self.delivered[first:]),
            tuple(self.lost[first:known]),
            self.lost[min(first, known) - 1] if first else Fraction(0),
            sent_next,
        )


def grains(value: float) -> Fraction:
    """Return the nearest multiple of 1 / GRAIN."""
    return Fraction(round(value * GRAIN), GRAIN)


def random_case(rng: random.Random, model: Model) -> tuple[Link, Window]:
    """Return a link and the window of a sender that sent steadily, at random, in bursts, or to fill the queue.

    The link is at the next point, the point after the window's last.
    """
    c = min(grains(24 ** rng.random()), model.c[1])
    b = min(max(grains(float(c) * rng.uniform(0.2, 4.2)), model.b[0]), model.b[1])
    link = Link(c, b, model)
    style, jitter = rng.randrange(4), rng.randrange(4)
    base = float(c) * rng.uniform(0.3, 1.5)
    for t in range(rng.randint(0, 24)):
        rate = {
            0: base,
            1: rng.uniform(0, 2 * base),
            2: 3 * base if rng.random() < 0.3 else base / 2,
            3: max(0.0, float(c - link.queue())) + rng.uniform(0, 0.4),
        }[style]
        haste = {0: 1.0, 1: rng.random(), 2: float(rng.random() < 0.5), 3: float(t % 2)}[jitter]
        if not model.steady and rng.random() < 0.1:
            link.c = grains(float(link.c) * rng.uniform(0.5, 2))
        link.step(grains(rate), Fraction(round(haste * 8), 8), Fraction(rng.randint(0, 4), 4))
    arriving = grains(rng.uniform(0, 1.5 * float(c)))
    window = link.window(link.sent[-1] + arriving)
    link.step(arriving, Fraction(1), Fraction(0))
    return link, window
