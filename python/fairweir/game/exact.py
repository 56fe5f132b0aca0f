"""Compute a controller's decision and a link's step in exact fractions, to check the results of solvers.

A *step* is the time between two *points*, at which the sender observes the link and decides. A *window* is what the
sender observed at its latest points; its *belief set* is the set of all links that can explain the window. M is the
minimum rate over the belief set. A *batch* is the output of the encoder in one step. N is the cumulative number of
packets that the queue accepted, I the cumulative number of packets that the link served. A controller is a decision
tree over *features*, numbers computed from the belief set and the batches. Its *shield* is a list of rules, each of
which may limit the action of a leaf.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from fairweir.ccas.controller_file import Cap, Controller, Form, Instead, Leaf, Send
from fairweir.errors import InvariantError
from fairweir.game.claims import ARRIVED, SLACK, Claim
from fairweir.game.model import Bounds, Window

_ZERO = Fraction(0)


@dataclass(frozen=True)
class Situation:
    """The input of a decision: the bounds of a belief set, the waiting batches, and the maximum of C that is
    remembered.

    Attributes
    ----------
    bounds : Bounds of the belief set, in packets and packets per step
    window : Window, in packets
    waiting : sizes of the encoded batches, oldest first, in packets
    converged : whether the controller remembers an earlier maximum of C over a belief set
    max_c : the remembered maximum of C if there is one, otherwise the belief set's maximum, in packets per step
    encoding : target size of the batch that is being encoded, in packets
    oldest_age, group_age : age of the oldest waiting batch and of the oldest FEC frame in flight, in steps
    groups : number of FEC frames in flight
    """

    bounds: Bounds
    window: Window
    waiting: tuple[Fraction, ...] = ()
    converged: bool = False
    max_c: Fraction = _ZERO
    encoding: Fraction = _ZERO
    oldest_age: Fraction = _ZERO
    group_age: Fraction = _ZERO
    groups: Fraction = _ZERO

    def features(self) -> dict[str, Fraction]:
        """Return the features by which a tree decides; amounts are in units of M."""
        bounds, window, m = self.bounds, self.window, self.bounds.c[0]
        known = window.lost[window.visible - 1] if window.visible else window.lost_before
        amounts = {
            "q": bounds.q[1],
            "r0": bounds.safe_rate,
            "max_c": self.max_c,
            "c_plus_b": bounds.min_c_plus_b,
            "newest": self.waiting[-1] if self.waiting else _ZERO,
            "oldest": self.waiting[0] if self.waiting else _ZERO,
            "sum": sum(self.waiting, _ZERO),
            "encoding": self.encoding,
            "in_flight": window.sent_next - window.delivered[-1] - known,
            "last_rate": window.sent_next - window.sent[-1],
            "delivered_last": window.delivered[-1] - window.delivered[-2],
            "packet": Fraction(1),
        }
        found = {name: amount / m for name, amount in amounts.items()}
        found |= {
            "converged": Fraction(self.converged), "waiting": Fraction(len(self.waiting)),
            "oldest_age": self.oldest_age, "group_age": self.group_age, "groups": self.groups,
            "spare_newest": found["r0"] - found["newest"], "spare_sum": found["r0"] - found["sum"],
            "room": 3 - found["q"], "room_newest": 3 - found["q"] - found["newest"],
            "room_sum": 3 - found["q"] - found["sum"],
        }  # fmt: skip
        return found


@dataclass(frozen=True)
class Act:
    """The decision for one step: size of the batches sent, packets sent, and the target size of the next batch."""

    message: Fraction
    rate: Fraction
    encode: Fraction
    send: Send = Send.NONE


def decide(controller: Controller, situation: Situation) -> tuple[int, Act]:
    """Return the index of the leaf that the controller reaches, and the leaf's action after the shield."""
    features = situation.features()
    index = 0
    while not isinstance(node := controller.nodes[index], Leaf):
        index = node.then if _sum(node.feature, features) <= node.at_most else node.other
    bounds, waiting = situation.bounds, situation.waiting
    amounts = {"M": bounds.c[0], "Q": bounds.q[1], "R0": bounds.safe_rate, "packet": Fraction(1)}
    sizes = {
        Send.NONE: _ZERO, Send.ALL: sum(waiting, _ZERO), Send.EACH: sum(waiting, _ZERO),
        Send.NEWEST: waiting[-1] if waiting else _ZERO, Send.OLDEST: waiting[0] if waiting else _ZERO,
    }  # fmt: skip
    message = sizes[node.send]
    rate = max(_sum(node.rate, amounts), _ZERO)
    if node.send is Send.EACH and waiting:
        rate = min(rate, amounts["R0"])
    send = node.send if waiting else Send.NONE
    act = Act(message, max(rate, message), max(_sum(node.encode, amounts), _ZERO), send)
    for rule in controller.shield:
        limit = _sum(rule.at, amounts)
        if isinstance(rule, Cap):
            most = max(limit, _ZERO)
            act = replace(act, rate=min(act.rate, most)) if act.message <= most else _held(act)
        elif (act.message if rule.subject == "message" else act.rate) > limit:
            if rule.instead in (Instead.NEWEST, Instead.OLDEST):
                send = Send(rule.instead.value)
                act = Act(sizes[send], sizes[send], act.encode, send if waiting else Send.NONE)
            else:
                act = Act(_ZERO, _ZERO, _ZERO if rule.instead is Instead.SKIP else act.encode)
    return index, act


def left(waiting: tuple[Fraction, ...], send: Send) -> tuple[Fraction, ...]:
    """Return the sizes of the batches that still wait after the choice `send`, oldest first."""
    if send is Send.NONE:
        return waiting
    return waiting[1:] if send is Send.OLDEST else ()


def _held(act: Act) -> Act:
    return Act(_ZERO, _ZERO, act.encode)


def _sum(form: Form, values: Mapping[str, Fraction]) -> Fraction:
    return sum((factor * values[name] for name, factor in form.items()), _ZERO)


@dataclass(frozen=True)
class Link:
    """A link of a belief set, and its state at the window's first point, in packets.

    Attributes
    ----------
    c, b : rate and buffer
    accepted, served : N and I at the first point
    """

    c: Fraction
    b: Fraction
    accepted: Fraction
    served: Fraction


@dataclass(frozen=True)
class Played:
    """The course of N and I on one link over a window and the step after the window, in packets.

    Attributes
    ----------
    accepted, served : N and I at the window's points and at the two points after them
    loss : number of packets lost in the step after the window
    queue : queue at the next point, before the packets of that step arrive
    queue_after : queue after the packets of that step have arrived
    """

    accepted: tuple[Fraction, ...]
    served: tuple[Fraction, ...]
    loss: Fraction
    queue: Fraction
    queue_after: Fraction


def play(window: Window, link: Link, rate: Fraction) -> Played:
    """Simulate a link over a window, and over the step after the window with `rate` packets.

    Raises
    ------
    InvariantError : the link does not explain the window
    """
    accepted, served, lost = [link.accepted], [link.served], [window.sent[0] - link.accepted]
    sent = [*window.sent, window.sent_next, window.sent_next + rate]
    for t in range(1, len(sent)):
        room = served[-1] + link.c + link.b
        offered = accepted[-1] + sent[t] - sent[t - 1]
        accepted.append(min(offered, room))
        lost.append(lost[-1] + offered - accepted[-1])
        served.append(min(served[-1] + link.c, accepted[-1]))
    why = _unexplained(window, link, accepted, served, lost)
    if why:
        raise InvariantError(f"a link does not explain the window that it was found for: {why}")
    queue, after = accepted[-2] - served[-2], accepted[-1] - served[-1]
    return Played(tuple(accepted), tuple(served), lost[-1] - lost[-2], queue, after)


def _unexplained(
    window: Window, link: Link, accepted: Sequence[Fraction], served: Sequence[Fraction], lost: Sequence[Fraction]
) -> str:
    """Return the first observation of the window that the link does not explain; empty if the link explains all."""
    first, last = window.delivered[0], window.delivered[-1]
    known = [window.lost_before, *window.lost[: window.visible]]
    if any(
        a > b for series in ([*window.sent, window.sent_next], window.delivered, known) for a, b in pairwise(series)
    ):
        return "a cumulative count that falls"
    if not max(first, link.accepted - link.b) <= served[0] <= min(first + link.c, link.accepted):
        return "served at the first point"
    if not window.visible and lost[0] < window.lost_before:
        return "losses before the window"
    for t in range(window.points):
        if t < window.visible and (lost[t] != window.lost[t] or accepted[t] > last):
            return f"losses at point {t}"
        if t >= window.visible and accepted[t] < last:
            return f"losses that should be seen at point {t}"
        if t and not served[t - 1] <= window.delivered[t] <= served[t]:
            return f"delivered at point {t}"
    return ""


def excess(claim: Claim, act: Act, link: Link, played: Played, m: Fraction) -> Fraction:
    """Return the number of packets by which a step violates the claim; at most 0 if the claim holds."""
    bound = claim.bound * m
    if claim.name == "decodable":
        return max(played.loss - (act.rate - act.message), act.message - act.rate) - bound
    if claim.name == "carries-message":
        return act.message - act.rate
    if claim.name == "queue":
        return played.queue_after - max(bound, played.queue - link.c)
    if claim.name == "latency":
        drained = (claim.bound - ARRIVED - 1) * link.c
        return played.queue_after - drained if act.message > SLACK * m else -drained
    if claim.name == "loss":
        return played.loss - bound
    return act.encode - bound
