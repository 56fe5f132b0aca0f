"""The inputs of a controller's decision as unknowns of a solver: bounds of the belief set, and the waiting batches.

The sender observes the link and decides at *points* in time; a *step* is the time between two points.

The *belief set* is the set of all links (rate C, buffer B, queue q at the next point) that explain the sender's
observations. M is the minimum of C over the belief set; R0, the *safe rate*, is the minimum of C + B - q. A *feature*
is a number by which the decision tree decides, such as M, R0 or the maximum of q. A *batch* is the output of the
encoder in one step; batches wait until they are sent. Amounts are in units of M, so that the thresholds of a tree are
constants; the feature ``packet`` is one packet in this unit.

The encoding represents a belief set by its features. A set of links satisfies the constraints if, for each feature, one
link (the *witness*) attains the feature, and no link of the set, including the true link, is below a minimum or above a
maximum. Nothing is lost compared with belief sets: a decision depends on the features only, and the set of the
witnesses has the same features as the belief set.

A controller that computes the bounds in doubles has an error of at most :data:`TOLERANCE` in each bound, in either
direction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from fairweir.ccas.controller_file import Controller, Form, Kind, LinkRange
from fairweir.documents.arguments import words_for_enums
from fairweir.game.model import number

if TYPE_CHECKING:
    import z3

#: Maximum error of bounds and comparisons in doubles, in units of M. ``EPS`` of crates/game is 1e-6 packets, and M is
#: at least one packet.
TOLERANCE: Final = Fraction(1, 10**6)
#: Maximum number of batches that wait at the same time; if there are more, the oldest are dropped (crates/game).
MAX_WAITING: Final = 4


@dataclass(frozen=True)
class Point:
    """A link of the belief set; amounts are in units of M.

    Attributes
    ----------
    c, b : rate and buffer
    q : queue at the next point
    slack : free space of the buffer at which a packet may already be lost; None: losses only occur at a full buffer
    """

    c: z3.ArithRef
    b: z3.ArithRef
    q: z3.ArithRef
    slack: z3.ArithRef | None = None

    @classmethod
    def named(cls, name: str, slack: z3.ArithRef | None = None) -> Point:
        """Return the unknowns of a link."""
        import z3

        return cls(z3.Real(f"C{name}"), z3.Real(f"B{name}"), z3.Real(f"queue{name}"), slack)

    @property
    def room(self) -> z3.ArithRef:
        """Amount that may arrive in the next step without a loss."""
        room = self.c + self.b - self.q
        return room if self.slack is None else room - self.slack


@dataclass(frozen=True)
class State:
    """The input of a decision: its features, the true link, and the links that attain the features.

    Attributes
    ----------
    m : M in the unit of the amounts; 1 if amounts are in units of M
    features : the features by name
    truth : the true link, which is in the belief set
    witnesses : links that attain M, the maximum of q, the safe rate and the minimum of C + B
    """

    m: z3.ArithRef
    features: Mapping[str, z3.ArithRef]
    truth: Point
    witnesses: Mapping[str, Point]

    @classmethod
    def unknown(cls) -> State:
        """Return a state of unknowns, with amounts in units of M."""
        import z3

        free = (
            "converged", "q", "r0", "max_c", "c_plus_b", "waiting", "newest", "oldest", "sum", "encoding", "in_flight",
            "last_rate", "delivered_last", "oldest_age", "group_age", "groups", "packet",
        )  # fmt: skip
        terms = {name: z3.Real(name) for name in free}
        one: z3.ArithRef = z3.RealVal(1)
        # The slack is 0 or one packet: packets arrive in bursts, so no link may explain the observations if data is
        # treated as a fluid (docs/formal/game.md, "When no link explains the window").
        slack = z3.Real("slack")
        witnesses = {name: Point.named(f"_{name}", slack) for name in ("min_c", "max_q", "safe", "c_plus_b")}
        return cls(one, with_differences(terms, one), Point.named("", slack), witnesses)

    def value(self, form: Form) -> z3.ArithRef:
        """Return the value of a leaf's linear form in M, the maximum of q, R0 and packet."""
        names = {"M": self.m, "Q": self.features["q"], "R0": self.features["r0"], "packet": self.features["packet"]}
        return total({name: names[name] for name in form}, form)

    def compared(self, form: Form) -> z3.ArithRef:
        """Return the value of a linear form in the features; a condition of the tree compares such a form."""
        return total(self.features, form)

    def facts(self, controller: Controller) -> list[z3.BoolRef]:
        """Return the constraints that hold in every state in which the controller decides."""
        return [*self._beliefs(controller.links), *self.waits(controller.kind)]

    def _beliefs(self, links: LinkRange) -> list[z3.BoolRef]:
        import z3

        f, tolerance = self.features, number(TOLERANCE)
        packet = f["packet"]
        held = [packet >= number(1 / links.c[1]), packet <= number(1 / links.c[0])]
        if self.truth.slack is not None:
            held.append(z3.Or(self.truth.slack == 0, self.truth.slack == packet))
        for point in (self.truth, *self.witnesses.values()):
            held += [
                point.b >= number(links.b[0]) * packet, point.b <= number(links.b[1]) * packet,
                point.c <= number(links.c[1]) * packet,
                point.q >= 0, point.q <= point.b,
                point.c >= 1 - tolerance, point.q <= f["q"] + tolerance, point.room >= f["r0"] - tolerance,
                point.c + point.b >= f["c_plus_b"] - tolerance,
            ]  # fmt: skip
        found = self.witnesses
        attained = (
            (found["min_c"].c, 1), (found["max_q"].q, f["q"]), (found["safe"].room, f["r0"]),
            (found["c_plus_b"].c + found["c_plus_b"].b, f["c_plus_b"]),
        )  # fmt: skip
        for mine, feature in attained:
            held += [mine <= feature + tolerance, mine >= feature - tolerance]
        # After convergence the sender remembers the maximum of C. It may be from an earlier belief set, so it does not
        # bound the true C.
        return [*held, f["max_c"] >= 1 - tolerance]

    @words_for_enums
    def waits(self, kind: Kind) -> list[z3.BoolRef]:
        """Return the constraints that hold for the features of waiting batches and of packets in flight."""
        import z3

        f = self.features
        frameless = [f[name] == 0 for name in ("waiting", "newest", "oldest", "encoding", "groups")]
        waiting, newest, oldest, whole = f["waiting"], f["newest"], f["oldest"], f["sum"]
        amounts = ("newest", "oldest", "encoding", "in_flight", "last_rate", "delivered_last", "group_age", "groups")
        return [
            *(frameless if kind is Kind.RATE else ()),
            z3.Or(f["converged"] == 0, f["converged"] == 1),
            z3.Or(*(waiting == count for count in range(MAX_WAITING + 1))),
            *(f[name] >= 0 for name in amounts),
            f["oldest_age"] >= 0,
            whole >= newest, whole >= oldest,
            z3.Implies(waiting == 0, z3.And(whole == 0, f["oldest_age"] == 0)),
            z3.Implies(waiting == 1, z3.And(whole == newest, whole == oldest)),
            z3.Implies(waiting == 2, whole == newest + oldest),
            z3.Implies(waiting >= 3, whole >= newest + oldest),
            z3.Implies(f["groups"] == 0, f["group_age"] == 0),
        ]  # fmt: skip


def with_differences(terms: Mapping[str, z3.ArithRef], m: z3.ArithRef) -> dict[str, z3.ArithRef]:
    """Return the features, and the features that are differences of others; `m` is M in the unit of the amounts."""
    room = 3 * m - terms["q"]
    return {
        **terms,
        "spare_newest": terms["r0"] - terms["newest"],
        "spare_sum": terms["r0"] - terms["sum"],
        "room": room,
        "room_newest": room - terms["newest"],
        "room_sum": room - terms["sum"],
    }


def total(terms: Mapping[str, z3.ArithRef], form: Form) -> z3.ArithRef:
    """Return the linear combination of `terms` with the factors in `form`."""
    import z3

    zero: z3.ArithRef = z3.RealVal(0)
    return sum((number(factor) * terms[name] for name, factor in form.items()), zero)
