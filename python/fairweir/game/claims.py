"""Claims about one step of a controller, as data.

A controller observes the link and decides at *points* in time, one propagation delay apart; a *step* is the time
between two points. Controllers of kind *rate* decide how many packets to send. Controllers of kind *video* also decide
which *frames*, the output of an encoder, to send.

A claim is about the true link, which may be any link that explains the sender's observations (any link of the *belief
set*). The link has a rate C, a buffer B, and a queue q at the next point. M is the minimum of C over the belief set. In
a step the controller sends `rate` packets; `message` of them are packets of frames, the others are repair packets. They
reach the queue between the next point and the point after it:

    loss = max(0, q + rate - (C + B))             packets dropped
    queue = max(0, min(q + rate, C + B) - C)      packets waiting afterwards

If real packet sizes and bursts contradict this model, the belief set contains links that may lose a packet although the
buffer is not full. On such a link up to one packet more is lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from fairweir.ccas.controller_file import Kind
from fairweir.documents.arguments import words_for_enums
from fairweir.documents.suggestions import did_you_mean
from fairweir.errors import ConfigError
from fairweir.game.action import Action
from fairweir.game.model import number
from fairweir.game.state import Point

if TYPE_CHECKING:
    import z3

#: Tolerance of a proved bound, in units of M. It is larger than the sum of the tolerances of comparisons in doubles.
SLACK: Final = Fraction(1, 10_000)
_TEXT: Final = re.compile(r"\s*([a-z-]+)\s*(?:<=\s*(\d+(?:\.\d+)?(?:/\d+)?)\s*)?")


@dataclass(frozen=True)
class Step:
    """Quantities of one step on the true link, in units of M."""

    link: Point
    action: Action

    @property
    def loss(self) -> z3.ArithRef:
        """Amount that is lost; no packet is lost if it is at most 0."""
        return self.action.rate - self.link.room


@dataclass(frozen=True)
class Sort:
    """A kind of claim.

    Attributes
    ----------
    bound : Fraction, default bound in units of M; None if claims of this kind have no bound
    meaning : str, the claim in words
    formula : function from a step and a bound to the condition that must hold
    kinds : kinds of controllers about which the claim can be made
    is_time : bool, whether the bound is a number of steps instead of a multiple of M
    """

    bound: Fraction | None
    meaning: str
    formula: Callable[[Step, z3.ArithRef], z3.BoolRef]
    kinds: tuple[Kind, ...] = (Kind.VIDEO, Kind.RATE)
    is_time: bool = False


def _queue(step: Step, bound: z3.ArithRef) -> z3.BoolRef:
    import z3

    # This is max(0, min(q + rate, C + B) - C) <= max(bound, q - C), for bound >= 0.
    held = [step.link.q + step.action.rate - step.link.c <= bound, step.link.b <= bound, step.action.rate <= 0]
    return z3.Or(*held)


def _decodable(step: Step, bound: z3.ArithRef) -> z3.BoolRef:
    import z3

    spare = step.action.rate - step.action.message
    return z3.And(spare >= -bound, step.loss <= spare + bound)


def _latency(step: Step, bound: z3.ArithRef) -> z3.BoolRef:
    import z3

    # Packets are in the queue two points after the decision. If a queue of j C waits at that point, it is served within
    # j steps and delivered one step after that (game.lemmas, "drained").
    drained = (bound - ARRIVED - 1) * step.link.c
    waits = step.link.q + step.action.rate - step.link.c
    return z3.Or(step.action.message <= number(SLACK), waits <= drained, step.link.b <= drained)


#: Number of points from a decision until its packets are in the queue.
ARRIVED: Final = 2
#: Numbers of steps in which queues are proved to drain.
DRAINS: Final = (1, 2, 3)

SORTS: Final = {
    "decodable": Sort(
        Fraction(0),
        "for any loss, the frames of the step can be decoded: loss <= rate - message (any k packets of n do)",
        _decodable,
        (Kind.VIDEO,),
    ),
    "carries-message": Sort(
        None,
        "the rate has room for the message: rate >= message",
        lambda step, slack: step.action.rate >= step.action.message - slack,
        (Kind.VIDEO,),
    ),
    "queue": Sort(
        Fraction(2), "queue after the step: at most this multiple of M, or the rest of it if nothing is sent", _queue
    ),
    "loss": Sort(Fraction(1), "the step loses at most this multiple of M", lambda step, bound: step.loss <= bound),
    "latency": Sort(
        Fraction(5), "frames sent (more than rounding) have been delivered this number of steps later",
        _latency,
        (Kind.VIDEO,),
        is_time=True,
    ),
    "encode": Sort(
        Fraction(3, 2), "the target size of new frames is at most this multiple of M",
        lambda step, bound: step.action.encode <= bound,
        (Kind.VIDEO,),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Claim:
    """A claim of one kind, with a bound.

    Attributes
    ----------
    name : str, a key of :data:`SORTS`
    bound : Fraction, in units of M, or in steps
    """

    name: str
    bound: Fraction = Fraction(0)

    @property
    def text(self) -> str:
        """The claim in the syntax of the command line."""
        is_plain = SORTS[self.name].bound is None or (self.name == "decodable" and not self.bound)
        return self.name if is_plain else f"{self.name}<={self.bound}"

    def in_packets(self, m: Fraction) -> Claim:
        """Return the claim for a step whose amounts are in packets, if M is `m` packets per step."""
        return self if SORTS[self.name].is_time else Claim(self.name, self.bound * m)

    def over(self, step: Step, slack: Fraction) -> z3.BoolRef:
        """Return the claim's formula, with a bound that is larger by `slack` (in units of M)."""
        return SORTS[self.name].formula(step, number(self.bound + slack))


@words_for_enums
def parse_claim(text: str, kind: Kind) -> Claim:
    """Parse a claim such as ``decodable`` or ``queue<=2``.

    Raises
    ------
    ConfigError : the claim is invalid, or does not apply to this kind of controller
    """
    found = _TEXT.fullmatch(text)
    known = [name for name, sort in SORTS.items() if kind in sort.kinds]
    if found is None:
        raise ConfigError(
            f"not a claim about a controller: `{text}`",
            hint=f"write, for example, `queue<=2`; known are {', '.join(known)}",
        )
    name, bound = found[1], found[2]
    if name not in known:
        where = f" of a controller of kind `{kind}`" if name in SORTS else ""
        raise ConfigError(f"unknown claim{where}: `{name}`", hint=did_you_mean(name, known))
    default = SORTS[name].bound
    if bound is not None and default is None:
        raise ConfigError(f"`{name}` has no bound: `{text}`", hint=f"write `{name}`")
    try:
        claim = Claim(name, Fraction(bound) if bound is not None else default or Fraction(0))
    except ZeroDivisionError:
        raise ConfigError(f"divides by 0: `{text}`") from None
    known_steps = [ARRIVED + 1 + drains for drains in DRAINS]
    if SORTS[name].is_time and claim.bound not in known_steps:
        raise ConfigError(
            f"not a latency that can be proved: `{text}`", hint=f"write {known_steps[0]} to {known_steps[-1]} steps"
        )
    return claim


@words_for_enums
def default_claims(kind: Kind) -> Sequence[Claim]:
    """Return the claims that are checked by default for a controller of this kind."""
    texts = {
        Kind.VIDEO: ("decodable", "carries-message", "queue<=2", "queue<=3", "latency<=5", "encode<=3/2"),
        Kind.RATE: ("queue<=2", "queue<=3", "loss<=1"),
    }[kind]
    return [parse_claim(text, kind) for text in texts]
