"""Search for observations, and a link that can explain them, that refute a claim about a leaf of a controller.

A *step* is the time between two *points*, at which the sender observes the link and decides. A *window* is what the
sender observed at its latest points. Its *belief set* is the set of all links that can explain the window; M is the
minimum of their rates. A *batch* is the output of the encoder in one step.

The solver chooses one window from the windows of random links (:mod:`fairweir.game.windows`), and the waiting batches.
It then chooses a link of the window's belief set on which the claim is violated. :mod:`fairweir.game.exact`, which
shares no code with the solver's constraints, checks the result in exact fractions: the bounds, the features, the path
through the tree, the shield (the rules that limit an action), and the link.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fairweir.ccas.controller_file import POINTS, Controller, LinkRange, parse_json, read
from fairweir.errors import ConfigError, InvariantError
from fairweir.formal.solving.smtlib import Value
from fairweir.formal.solving.solve import Prepared
from fairweir.formal.solving.solvers import Budget, Satisfiable
from fairweir.game.action import Action, on_path, shielded
from fairweir.game.claims import SORTS, Claim, Step, parse_claim
from fairweir.game.exact import Act, Link, Played, Situation, decide, excess, play
from fairweir.game.model import Path as Latent
from fairweir.game.model import Terms, Window, bounds, explains, number
from fairweir.game.state import MAX_WAITING, Point, State
from fairweir.game.windows import BoundsOf, Example, examples

if TYPE_CHECKING:
    import z3

FORMAT: Final = "fairweir-refutation-1"
#: Maximum number of windows that are tried for a claim. If none of them refutes the claim, it stays unknown.
TRIES: Final = 6
_RATIONAL: Final = re.compile(r"-?\d{1,300}(/[1-9]\d{0,300})?")
_STATE: Final = ("max_c", "encoding", "oldest_age", "group_age", "groups")


@dataclass(frozen=True)
class Refutation:
    """Observations, a state of the controller, and a link that together violate a claim about a leaf, in packets.

    Attributes
    ----------
    controller : Controller
    leaf : int, index of the leaf's node
    situation : the window, its exact bounds, and the waiting batches
    link : the link of the belief set on which the claim is violated
    act, played : the controller's action, and the link's course over the window and the step
    """

    controller: Controller
    leaf: int
    claim: Claim
    situation: Situation
    link: Link
    act: Act
    played: Played

    @property
    def excess(self) -> Fraction:
        """Number of packets by which the claim is violated."""
        return excess(self.claim, self.act, self.link, self.played, self.situation.bounds.c[0])

    def document(self) -> dict[str, Any]:
        """Return the refutation as a JSON document, with all inputs of a replay and the result."""
        window, situation = self.situation.window, self.situation
        given = {
            "format": FORMAT, "controller": dict(self.controller.document), "claim": self.claim.text, "leaf": self.leaf,
            "window": {
                "sent": _texts(window.sent), "delivered": _texts(window.delivered),
                "lost": _texts(window.lost[: window.visible]), "lost_before": str(window.lost_before),
                "sent_next": str(window.sent_next),
            },
            "state": {
                "waiting": _texts(situation.waiting), "converged": situation.converged, "max_c": str(situation.max_c),
                "encoding": str(situation.encoding), "oldest_age": str(situation.oldest_age),
                "group_age": str(situation.group_age), "groups": str(situation.groups),
            },
            "link": {
                "c": str(self.link.c), "b": str(self.link.b), "accepted": str(self.link.accepted),
                "served": str(self.link.served),
            },
        }  # fmt: skip
        return {**given, "shown": {name: float(value) for name, value in self.shown().items()}}

    def shown(self) -> dict[str, Fraction]:
        """Return the numbers that explain the refutation: bounds, packets sent, lost and queued; in packets."""
        known = self.situation.bounds
        return {
            "min_c": known.c[0], "max_c": known.c[1], "max_q": known.q[1], "safe_rate": known.safe_rate,
            "message": self.act.message, "rate": self.act.rate, "encode": self.act.encode,
            "c": self.link.c, "b": self.link.b, "queue": self.played.queue, "loss": self.played.loss,
            "queue_after": self.played.queue_after, "broken_by": self.excess,
        }  # fmt: skip


def judge(controller: Controller, leaf: int, claim: Claim, situation: Situation, link: Link) -> Refutation:
    """Compute the decision and the link's step in exact fractions, and return the refutation.

    Raises
    ------
    InvariantError : the tree reaches another leaf, the link does not explain the window, or the claim is not violated
    """
    found, act = decide(controller, situation)
    if found != leaf:
        raise InvariantError(f"the tree reaches node {found}, not {leaf}")
    played = play(situation.window, link, act.rate)
    shown = Refutation(controller, leaf, claim, situation, link, act, played)
    if shown.excess <= 0:
        raise InvariantError(f"the claim holds there: {claim.text}")
    return shown


@dataclass(frozen=True)
class Realiser:
    """Searches for refutations among windows of random links.

    Attributes
    ----------
    links, points : range of links in the controller's model, and number of points of a window
    size : int, number of windows to choose from
    bounds_of : function that computes the bounds of each window; for a refutation, the bounds are computed again by
        :mod:`fairweir.game.model`
    """

    links: LinkRange
    points: int
    size: int = 40
    seed: int = 0
    bounds_of: BoundsOf = bounds
    budget: Budget = field(default_factory=lambda: Budget(20.0))

    @cached_property
    def pool(self) -> list[Example]:
        """The windows to choose from, with their bounds; they are created at first use."""
        return examples(self.size, self.links, self.points, self.seed, self.bounds_of)

    def find(self, controller: Controller, index: int, claim: Claim, margin: Fraction) -> Refutation | None:
        """Return a refutation that violates the claim by at least `margin` (in units of M), or None if none is
        found.
        """
        leaf, path = next((leaf, path) for node, leaf, path in controller.leaves if node == index)
        state = State.unknown()
        action, acted = shielded(state, controller, leaf, "", Fraction(0))
        step = Step(state.truth, action)
        import z3

        held = [
            *state.waits(controller.kind), *on_path(state, path, Fraction(0)), *acted, z3.Not(claim.over(step, margin)),
            state.truth.slack == 0, state.truth.c >= 1, state.truth.q >= 0, state.truth.q <= state.truth.b,
            state.truth.room >= state.features["r0"], state.truth.q <= state.features["q"],
        ]  # fmt: skip
        left = list(range(len(self.pool)))
        for _ in range(TRIES):
            choice = z3.Real("example")
            chosen = z3.Or(*(z3.And(choice == i, *_is(state, self.pool[i])) for i in left))
            found = Prepared([*held, chosen], [choice]).check((), self.budget)
            if found.verdict is not Satisfiable.SAT:
                return None
            picked = int(_number(found.values["example"]))
            left.remove(picked)
            refutation = self._shown(controller, index, claim, self.pool[picked], found.values, margin)
            if refutation is not None:
                return refutation
        return None

    def _shown(
        self,
        controller: Controller,
        index: int,
        claim: Claim,
        example: Example,
        values: Mapping[str, Value],
        margin: Fraction,
    ) -> Refutation | None:
        """Ask the solver for a link of the belief set on which the claim is violated, and return the refutation."""
        exact = bounds(example.window, self.links)
        if exact is None:
            return None
        m = exact.c[0]
        number_of = {name: _number(value) for name, value in values.items() if not isinstance(value, bool)}
        situation = Situation(
            exact,
            example.window,
            _batches(number_of, m),
            number_of.get("converged", Fraction(0)) == 1,
            exact.c[1] if number_of.get("converged", Fraction(0)) != 1 else number_of.get("max_c", Fraction(1)) * m,
            number_of.get("encoding", Fraction(0)) * m,
            *(number_of.get(name, Fraction(0)) for name in ("oldest_age", "group_age", "groups")),
        )
        _, act = decide(controller, situation)
        link = self._link(example.window, act, claim, m, margin)
        if link is None:
            return None
        try:
            return judge(controller, index, claim, situation, link)
        except InvariantError:
            # The search's bounds may be computed in doubles, and this window is at the boundary of the leaf's region.
            return None

    def _link(self, window: Window, act: Act, claim: Claim, m: Fraction, margin: Fraction) -> Link | None:
        import z3

        latent = Latent.named("", window.points)
        sent = Action(number(act.message), number(act.rate), number(act.encode))
        step = Step(Point(latent.c, latent.b, latent.queue), sent)
        broken = z3.Not(claim.in_packets(m).over(step, margin / 2 if SORTS[claim.name].is_time else margin * m / 2))
        found = Prepared([*explains(latent, Terms.of(window), self.links), broken]).check((), self.budget)
        if found.verdict is not Satisfiable.SAT:
            return None
        names = [str(one) for one in (latent.c, latent.b, latent.accepted[0], latent.served[0])]
        return Link(*(_number(found.values[name]) for name in names))


def _is(state: State, example: Example) -> list[z3.BoolRef]:
    """Return the constraints by which the features of a state are those of the window in `example`."""
    import z3

    found = Situation(example.bounds, example.window, max_c=example.bounds.c[1]).features()
    f = state.features
    names = ("q", "r0", "c_plus_b", "in_flight", "last_rate", "delivered_last", "packet")
    return [
        *(f[name] == number(found[name]) for name in names),
        z3.Or(f["converged"] == 1, f["max_c"] == number(found["max_c"])),
    ]


def _batches(values: Mapping[str, Fraction], m: Fraction) -> tuple[Fraction, ...]:
    """Return sizes of waiting batches, in packets, whose newest, oldest and sum are the features in `values`."""
    count = int(values.get("waiting", Fraction(0)))
    newest, oldest, whole = (values.get(name, Fraction(0)) * m for name in ("newest", "oldest", "sum"))
    if count <= 1:
        return (newest,) * count
    between = min(count, MAX_WAITING) - 2
    middle = (whole - newest - oldest) / between if between else Fraction(0)
    return (oldest, *(middle,) * between, newest)


def _number(value: Value) -> Fraction:
    if isinstance(value, bool):
        raise InvariantError("a solver gave a truth value for a number")
    return value


def _texts(numbers: Sequence[Fraction]) -> list[str]:
    return [str(one) for one in numbers]


def load(path: str | Path) -> Refutation:
    """Read a refutation from a file, and replay it exactly: bounds, tree, shield and link.

    Raises
    ------
    ConfigError : the file is not a refutation
    InvariantError : in the replay, the claim is not violated
    """
    return parse(parse_json(read(path), str(path)), str(path))


def parse(raw: Any, source: str) -> Refutation:
    """Replay a refutation's JSON document. The errors are those of :func:`load`."""
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise ConfigError("not a refutation", source=source, key="format", hint=f"its format is `{FORMAT}`")
    controller = Controller.parse(json.dumps(raw.get("controller")), source)
    reader = _Reader(source)
    seen, state, link = (reader.table(raw.get(key), key) for key in ("window", "state", "link"))
    sent, delivered = (reader.series(seen, key, controller.points) for key in ("sent", "delivered"))
    lost = reader.series(seen, "lost", None)
    points = len(sent)
    if len(delivered) != points or len(lost) > points:
        raise ConfigError("series of different lengths", source=source, key="window")
    before, following = (reader.number(seen.get(key), f"window.{key}") for key in ("lost_before", "sent_next"))
    unseen = (Fraction(0),) * (points - len(lost))
    window = Window(sent, delivered, (*lost, *unseen), len(lost), before, following)
    known = bounds(window, controller.links)
    if known is None:
        raise InvariantError("no link explains the refutation's window")
    rest = [reader.number(state.get(key), f"state.{key}") for key in _STATE]
    waiting = reader.series(state, "waiting", None)
    if len(waiting) > MAX_WAITING:
        raise ConfigError(f"more than {MAX_WAITING} batches wait", source=source, key="state.waiting")
    situation = Situation(known, window, waiting, state.get("converged") is True, *rest)
    found = Link(*(reader.number(link.get(key), f"link.{key}") for key in ("c", "b", "accepted", "served")))
    index, text = raw.get("leaf"), raw.get("claim")
    if isinstance(index, bool) or not isinstance(index, int) or not isinstance(text, str):
        raise ConfigError("no leaf or no claim", source=source, key="leaf")
    return judge(controller, index, parse_claim(text, controller.kind), situation, found)


class _Reader:
    """Reads the parts of a refutation. Every error names the file, the key and the value."""

    def __init__(self, source: str) -> None:
        self.source = source

    def table(self, value: Any, key: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ConfigError("must be an object", source=self.source, key=key)
        return value

    def number(self, value: Any, key: str) -> Fraction:
        # Fraction also accepts exponents, so `1e999999999` would need a gigabyte of memory.
        if not isinstance(value, str) or not _RATIONAL.fullmatch(value):
            raise ConfigError(
                f"must be a rational number in quotes: `{str(value)[:60]}`",
                source=self.source,
                key=key,
                hint='write, for example, "7/2"',
            )
        return Fraction(value)

    def series(self, table: Mapping[str, Any], name: str, least: int | None) -> tuple[Fraction, ...]:
        value = table.get(name)
        if not isinstance(value, list) or not (3 if least else 0) <= len(value) <= POINTS:
            raise ConfigError(f"must be a list of 3 to {POINTS} numbers", source=self.source, key=name)
        return tuple(self.number(one, name) for one in value)
