"""Bounded model checking of controllers: prove that a controller finds the link rate within several steps.

A controller is a decision tree. In each step it decides how many packets to send; controllers for video also decide
which *frames* (the encoder's output) to send.

Symbols: C and B, the link's rate and buffer; the *belief set*, the set of all links that can explain the sender's
observations; M and max C, the minimum and maximum of C over the belief set; Q, the maximum of the queue; R0, the
minimum of C + B - queue; A, N, I, S, the cumulative packets sent, accepted by the queue, served and delivered
(``model.py``).

The solver chooses rate, buffer and jitter of the link. At each step the tree decides by the *features* M,
Q, R0, max C and min (C + B). Minima and maxima over belief sets are not linear, so the constraints do not define the
features exactly. They state facts (`_facts`) that hold for the exact features: the true link is in the belief set, and
the bounds are at least as tight as those that single observations imply. A proof for all features that satisfy these
facts is a proof for the exact features. If there is no proof, the facts may be too weak. The link and the jitter of the
solver's counterexample are then simulated with exact bounds, and the claim is refuted only if this run violates it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from fairweir.ccas.controller_file import FEATURES, Controller, Kind
from fairweir.documents.arguments import words_for_enums
from fairweir.errors import ConfigError
from fairweir.formal.solving.solve import Prepared, ProofOutcome
from fairweir.formal.solving.solvers import ALL_SOLVERS, Budget, Satisfiable, SolverName
from fairweir.game.action import Action, on_path, shielded
from fairweir.game.batches import MAX_FRAME_STEPS, Waiting, follow
from fairweir.game.claims import SLACK
from fairweir.game.exact import Situation, decide, left
from fairweir.game.model import Path as Latent
from fairweir.game.model import bounds, number, step
from fairweir.game.state import TOLERANCE, Point, State, with_differences
from fairweir.game.windows import RunningLink

if TYPE_CHECKING:
    import z3

#: Maximum number of steps. Each additional step triples the solvers' time.
MAX_STEPS: Final = 12
MAX_GROWTH: Final = 1000
_TEXT: Final = re.compile(r"\s*progress@(\d{1,3})\s*>=\s*(\d{1,6}(?:\.\d{1,6}|/[1-9]\d{0,5})?)\s*")
#: The link rate C counts as found when M is at least this fraction of C.
FOUND: Final = Fraction(95, 100)
NOT_PLAYED: Final = (
    "facts about belief sets do not suffice: simulated with exact bounds, the solver's run does not break the claim"
)


@dataclass(frozen=True)
class Progress:
    """A claim about a run on an initially idle link: after `steps` steps, M has grown by a factor, or M >= 0.95 C, or
    max C is known.

    Attributes
    ----------
    steps : int, number of steps after the first decision
    growth : Fraction, the factor by which M must have grown
    """

    steps: int
    growth: Fraction

    @property
    def text(self) -> str:
        """The claim in the syntax of the command line."""
        return f"progress@{self.steps}>={self.growth}"

    @property
    def meaning(self) -> str:
        """The claim in words."""
        return f"{self.steps} steps from idle M >= {float(self.growth):g} M(0), or M >= 0.95 C, or max C is found"

    @classmethod
    def parse(cls, text: str) -> Progress | None:
        """Parse a claim such as ``progress@4>=3/2``; return None if the text does not begin with ``progress``.

        Raises
        ------
        ConfigError : the text begins with ``progress`` but is invalid
        """
        if not text.strip().startswith("progress"):
            return None
        found = _TEXT.fullmatch(text)
        if found is None or not 1 <= int(found[1]) <= MAX_STEPS or not 0 < Fraction(found[2]) <= MAX_GROWTH:
            raise ConfigError(
                f"not a claim of progress: `{text}`",
                hint=f"write, for example, `progress@4>=3/2`: 1 to {MAX_STEPS} steps, a growth of up to {MAX_GROWTH}",
            )
        return cls(int(found[1]), Fraction(found[2]))


#: The default claim about a rate controller.
FIRST_STEPS: Final = Progress(4, Fraction(11, 10))


@dataclass(frozen=True)
class Run:
    """A simulated run of a controller on an initially idle link, with exact bounds of the belief sets.

    Attributes
    ----------
    c, b : rate and buffer of the link, in packets per step and packets
    hastes : for each step, the fraction of the packets served in this step that are also delivered in this step
    min_c, max_c : minimum and maximum of C over the belief set, at each decision and at the end
    rates : the rates that the controller decided, in packets per step
    factors : for each step, a batch's size divided by its target size; empty if the controller sends no frames
    """

    c: Fraction
    b: Fraction
    hastes: tuple[Fraction, ...]
    min_c: tuple[Fraction, ...]
    max_c: tuple[Fraction, ...]
    rates: tuple[Fraction, ...]
    factors: tuple[Fraction, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return the run as a JSON document, with exact numbers as text."""
        series = ("hastes", "min_c", "max_c", "rates", "factors")
        return {"c": str(self.c), "b": str(self.b), **{key: [str(one) for one in getattr(self, key)] for key in series}}

    def breaks(self, claim: Progress, cap: Fraction) -> bool:
        """Return whether this run violates the claim.

        Parameters
        ----------
        cap : Fraction, the model's maximum of C; max C counts as known if it is below
        """
        last = self.min_c[claim.steps]
        is_found = any(known < cap for known in self.max_c[: claim.steps + 1])
        return not is_found and last < claim.growth * self.min_c[0] and last < FOUND * self.c


@dataclass(frozen=True)
class Checked:
    """The verdict on a claim.

    Attributes
    ----------
    run : Run, the counterexample if the claim is refuted
    reason : str, why the verdict is unknown or vacuous
    """

    claim: Progress
    outcome: ProofOutcome
    cpu_s: float = 0.0
    solver: str = ""
    reason: str = ""
    run: Run | None = field(default=None, repr=False)

    def document(self) -> dict[str, Any]:
        """Return the verdict as a JSON document."""
        found: dict[str, Any] = {
            "claim": self.claim.text, "status": self.outcome.value, "cpu_s": round(self.cpu_s, 4),
            "solver": self.solver, "reason": self.reason,
        }  # fmt: skip
        return found if self.run is None else {**found, "run": self.run.document()}


@dataclass(frozen=True)
class _Unrolled:
    """The unknowns of a run: the link, its cumulative packets A, N, I and S at each point, and each decision's features
    and rate.
    """

    link: Point
    sent: Sequence[z3.ArithRef]
    accepted: Sequence[z3.ArithRef]
    served: Sequence[z3.ArithRef]
    delivered: Sequence[z3.ArithRef]
    states: Sequence[Mapping[str, z3.ArithRef]]
    rates: Sequence[z3.ArithRef]


@words_for_enums
def check(
    controller: Controller,
    claim: Progress,
    budget: Budget | None = None,
    solvers: Sequence[SolverName] = ALL_SOLVERS,
) -> Checked:
    """Check a claim about a controller on an initially idle link, for every link of its model and every size
    that the encoder may give to a batch (its output in one step).

    Raises
    ------
    ConfigError : the range of the encoder in the controller file is invalid
    SolverError : a solver is missing, does not understand the question, or two solvers contradict each other
    """
    budget = budget or Budget(60.0)
    if controller.kind is Kind.VIDEO and claim.steps > MAX_FRAME_STEPS:
        return Checked(claim, ProofOutcome.UNKNOWN, reason=f"with frames, up to {MAX_FRAME_STEPS} steps are unrolled")
    run, held = unrolled(controller, claim.steps)
    negated = _negated(controller, claim, run)
    found = Prepared([*held, *negated]).check((), budget, solvers)
    if found.verdict is Satisfiable.UNKNOWN:
        return Checked(claim, ProofOutcome.UNKNOWN, found.cpu_s, reason=found.reason)
    if found.verdict is Satisfiable.UNSAT:
        possible = Prepared(held).check((), budget, solvers)
        if possible.verdict is not Satisfiable.SAT:
            return Checked(claim, ProofOutcome.VACUOUS, found.cpu_s, found.solver, "no run satisfies the assumptions")
        return Checked(claim, ProofOutcome.PROVED, found.cpu_s + possible.cpu_s, found.solver)
    values = {name: value for name, value in found.values.items() if not isinstance(value, bool)}
    played = play(controller, values["C"], values["B"], _hastes(values, claim.steps), factors=_factors(values, claim))
    checked = Checked(claim, ProofOutcome.UNKNOWN, found.cpu_s, found.solver)
    if played is not None and played.breaks(claim, controller.links.c[1]):
        return replace(checked, outcome=ProofOutcome.REFUTED, run=played)
    return replace(checked, reason=NOT_PLAYED)


def play(
    controller: Controller,
    c: Fraction,
    b: Fraction,
    hastes: Sequence[Fraction],
    steps: int | None = None,
    factors: Sequence[Fraction] = (),
) -> Run | None:
    """Simulate a controller on an initially idle link, with exact bounds; None if no link explains its observations.

    Parameters
    ----------
    c, b : rate and buffer of the link, in packets per step and packets
    hastes : jitter in each step, as for :meth:`RunningLink.step`
    steps : number of steps; default: the number of `hastes`
    factors : for each step, the size divided by the target size of the batch encoded in that step; default 1
    """
    link, arriving, links = RunningLink(c, b), Fraction(0), controller.links
    waiting, ages, encoding = tuple[Fraction, ...](), tuple[int, ...](), Fraction(0)
    min_c, max_c, rates = list[Fraction](), list[Fraction](), list[Fraction]()
    steps = len(hastes) if steps is None else steps
    for haste in (*hastes[:steps], None):
        window = link.window(controller.points, arriving)
        # A controller holds the minimum of B (docs/formal/game.md, "Objective") for longer than any run here.
        known = bounds(window, links)
        if known is None:
            return None
        links = replace(links, b=(known.b[0], links.b[1]))
        min_c.append(known.c[0])
        max_c.append(known.c[1])
        if haste is None:
            break
        oldest = Fraction(ages[0]) if ages else Fraction(0)
        found = Situation(known, window, waiting, max_c=known.c[1], encoding=encoding, oldest_age=oldest)
        _, act = decide(controller, found)
        waiting = left(waiting, act.send)
        ages = tuple(age + 1 for age in ages[len(ages) - len(waiting) :])
        if encoding > 0:
            factor = factors[len(rates)] if len(rates) < len(factors) else Fraction(1)
            waiting, ages = (*waiting, encoding * factor), (*ages, 1)
        encoding = act.encode
        rates.append(act.rate)
        link.step(arriving, haste)
        arriving = act.rate
    return Run(c, b, tuple(hastes[:steps]), tuple(min_c), tuple(max_c), tuple(rates), tuple(factors))


def _factors(values: Mapping[str, Fraction], claim: Progress) -> list[Fraction]:
    """Return the size of each batch divided by its target size in a solver's run; empty if no frames are sent."""
    found = []
    for t in range(claim.steps):
        size, target = values.get(f"encoded_{t}"), values.get(f"target_{t - 1}")
        if size is None:
            return []
        found.append(size / target if target else Fraction(1))
    return found


def _hastes(values: Mapping[str, Fraction], steps: int) -> list[Fraction]:
    """Return, for each step of a solver's run, the fraction of the packets served in it that are delivered in it."""
    hastes = []
    for t in range(1, steps + 1):
        # Nothing has been served or delivered at point 0.
        earliest = max(values[f"I_{t - 1}"], values[f"S_{t - 1}"]) if t > 1 else Fraction(0)
        served = values[f"I_{t}"]
        hastes.append((values[f"S_{t}"] - earliest) / (served - earliest) if served > earliest else Fraction(1))
    return hastes


def unrolled(controller: Controller, steps: int) -> tuple[_Unrolled, list[z3.BoolRef]]:
    """Return the unknowns of a run on an initially idle link, and the constraints on them. Amounts are in packets."""
    import z3

    zero: z3.ArithRef = z3.RealVal(0)
    last = steps + 1
    c, b = z3.Real("C"), z3.Real("B")
    accepted, served = ([zero, *(z3.Real(f"{letter}_{t}") for t in range(1, last + 1))] for letter in "NI")
    delivered = [zero, *(z3.Real(f"S_{t}") for t in range(1, steps + 1))]
    # Packets that are sent by the decision at t reach the queue between t + 1 and t + 2.
    rates = [z3.Real(f"r_{t}") for t in range(steps)]
    sent = [zero, zero, *itertools.accumulate(rates)][: last + 1]
    links = controller.links
    held = [c >= number(links.c[0]), c <= number(links.c[1]), b >= number(links.b[0]), b <= number(links.b[1])]
    for t in range(1, last + 1):
        before, after = (accepted[t - 1], served[t - 1]), (accepted[t], served[t])
        held += step(c, b, before, after, sent[t] - sent[t - 1])
        if t <= steps:
            held += [served[t - 1] <= delivered[t], delivered[t] <= served[t], delivered[t - 1] <= delivered[t]]
    targets = [z3.Real(f"target_{t}") for t in range(steps)]
    states: list[Mapping[str, z3.ArithRef]] = []
    run = _Unrolled(Point(c, b, zero), sent, accepted, served, delivered, states, rates)
    for t in range(steps + 1):
        features, facts = _facts(controller, run, t)
        held += facts
        encoding, waiting = targets[t - 1] if t else zero, Waiting.at(t)
        if controller.kind is Kind.VIDEO:
            found, facts = waiting.features(features["M"], encoding, t)
            features |= found
            held += facts
        states.append(features)
        if t < steps:
            act = Action(z3.Real(f"message_{t}"), rates[t], targets[t])
            held += _decision(controller, features, t, act)
            if controller.kind is Kind.VIDEO:
                held += follow(controller, t, waiting, Waiting.at(t + 1), act, encoding)
    return run, held


def _negated(controller: Controller, claim: Progress, run: _Unrolled) -> list[z3.BoolRef]:
    cap, first, last = number(controller.links.c[1]), run.states[0], run.states[claim.steps]
    return [
        *(state["max_c"] >= cap for state in run.states[: claim.steps + 1]),
        last["M"] < number(claim.growth - SLACK) * first["M"],
        last["M"] < number(FOUND - SLACK) * run.link.c,
    ]


def _facts(controller: Controller, run: _Unrolled, now: int) -> tuple[dict[str, z3.ArithRef], list[z3.BoolRef]]:
    """Return unknowns for the features at a decision, in packets, and constraints that the exact features satisfy.

    A constraint follows from a property of every link of the belief set (lower bounds of M, R0 and C + B, upper bounds
    of Q), from the fact that the true link is in the set, or from the fact that some link of the set attains the
    feature.
    """
    import z3

    names = ("M", "Q", "R0", "c_plus_b", "max_c")
    f = {name: z3.Real(f"{name}_{now}") for name in names}
    links = controller.links
    first = max(0, now - controller.points + 1)
    queue = run.accepted[now + 1] - run.served[now + 1]
    slack = number(TOLERANCE)
    true_room = run.link.c + run.link.b
    held = [
        f["M"] >= number(links.c[0]), f["M"] <= run.link.c + slack,
        f["Q"] >= queue - slack, f["Q"] <= number(links.b[1]) + slack,
        f["R0"] <= true_room - queue + slack, f["R0"] >= f["M"] - slack,
        f["c_plus_b"] <= true_room + slack, f["c_plus_b"] >= f["M"] + number(links.b[0]) - slack,
        f["R0"] >= f["c_plus_b"] - f["Q"] - slack, f["R0"] <= f["c_plus_b"] + slack,
        f["max_c"] >= run.link.c - slack, f["max_c"] <= number(links.c[1]) + slack,
    ]  # fmt: skip
    # Before the run the link is idle: nothing is sent or delivered, and there are no losses.
    idle = max(0, controller.points - 1 - now)
    s, n = run.delivered, run.accepted
    window = range(first - idle, now + 1)

    def at(series: Sequence[z3.ArithRef], t: int) -> z3.ArithRef:
        return series[max(t, 0)]

    for u, t in itertools.combinations(window, 2):
        if t <= 0:
            continue
        # These bounds follow from I[t] >= S[t], I[u-1] <= S[u], I[u] <= N[u], and at most C packets served per step.
        held.append(f["M"] * (t - u + 1) >= at(s, t) - at(s, u) - slack * (t - u + 1))
        held.append(f["M"] * (t - u) >= at(s, t) - at(n, u) - slack * (t - u))
    for u in range(max(first, 0), now + 1):
        # If the losses at u are known, N[u] <= I[u-1] + C + B and I[u-1] <= S[u] give a lower bound of C + B.
        is_seen = s[now] >= n[u]
        held.append(z3.Implies(is_seen, f["c_plus_b"] >= n[u] - s[u] - slack))
        # If the queue does not empty, I[now+1] >= S[j] + C (now + 1 - j). At most the packets sent minus the known
        # losses have been accepted. The difference bounds the queue.
        lost = run.sent[u] - n[u]
        for j in (now, now - 1):
            if j < 0:
                continue
            after = [run.sent[now + 1] - lost - at(s, j) - f["M"] * (now + 1 - j)]
            # If the queue was empty at a later point i, only packets that arrived after i can wait.
            after += [run.sent[now + 1] - run.sent[i] - f["M"] * (now + 1 - i) for i in range(j + 1, now + 1)]
            held.append(z3.Implies(is_seen, z3.Or(f["Q"] <= slack, *(f["Q"] <= one + slack for one in after))))
    held += _witnesses(controller, run, now, f)
    if now <= 1:
        held += _before_any_answer(controller, run.sent[now + 1], f)
    f["last_rate"] = run.sent[now + 1] - run.sent[now]
    f["delivered_last"] = s[now] - at(s, now - 1)
    f["in_flight"] = z3.Real(f"in_flight_{now}")
    # Packets that are known to be lost are not in flight.
    held += [f["in_flight"] <= run.sent[now + 1] - s[now], f["in_flight"] >= n[now + 1] - s[now]]
    return f, held


def _before_any_answer(controller: Controller, arriving: z3.ArithRef, f: Mapping[str, z3.ArithRef]) -> list[z3.BoolRef]:
    """Return constraints that define the features before the first acknowledgment, when every link of the model is
    possible.
    """
    import z3

    slack, zero = number(TOLERANCE), z3.RealVal(0)
    c, b = (number(ends[0]) for ends in (controller.links.c, controller.links.b))
    waits = z3.If(arriving > c, arriving - c, zero)
    most = number(controller.links.b[1])
    exact = {
        "M": c,
        "c_plus_b": c + b,
        "max_c": number(controller.links.c[1]),
        "Q": z3.If(waits <= most, waits, most),
        # The link with the smallest C and B determines R0: C + B - queue, which is C if the buffer is full.
        "R0": z3.If(waits <= b, c + b - waits, c),
    }
    return [z3.And(f[name] <= value + slack, f[name] >= value - slack) for name, value in exact.items()]


def _witnesses(controller: Controller, run: _Unrolled, now: int, f: Mapping[str, z3.ArithRef]) -> list[z3.BoolRef]:
    """Return the constraints that some link of the belief set attains M, some link attains Q, and so on for R0, max C
    and min (C + B).
    """
    slack = number(TOLERANCE)
    held = []
    for name in ("M", "Q", "R0", "c_plus_b", "max_c"):
        path, explained = _explaining(controller, run, now, f"_{name}_{now}")
        attained = {
            "M": path.c, "Q": path.queue, "R0": path.room, "c_plus_b": path.c + path.b, "max_c": path.c,
        }[name]  # fmt: skip
        held += [*explained, f[name] <= attained + slack, f[name] >= attained - slack]
    return held


def _explaining(controller: Controller, run: _Unrolled, now: int, name: str) -> tuple[Latent, list[z3.BoolRef]]:
    """Return the unknowns of a link, and the constraints by which it explains the observations at a decision."""
    import z3

    first = max(0, now - controller.points + 1)
    path = Latent.named(name, now + 1 - first)
    links, s, n = controller.links, run.delivered, run.accepted
    accepted, served = path.accepted, path.served
    held = [
        path.c >= number(links.c[0]), path.c <= number(links.c[1]),
        path.b >= number(links.b[0]), path.b <= number(links.b[1]),
        served[0] >= s[first], served[0] <= s[first] + path.c,
        served[0] <= accepted[0], accepted[0] <= served[0] + path.b, accepted[0] <= run.sent[first],
    ]  # fmt: skip
    for t in range(first, now + 2):
        i = t - first
        if t <= now:
            is_seen = s[now] >= n[t]
            held.append(z3.If(is_seen, accepted[i] == n[t], accepted[i] >= s[now]))
        if i:
            before, after = (accepted[i - 1], served[i - 1]), (accepted[i], served[i])
            held += step(path.c, path.b, before, after, run.sent[t] - run.sent[t - 1])
            if t <= now:
                held += [served[i - 1] <= s[t], s[t] <= served[i]]
    return path, held


def _decision(controller: Controller, features: Mapping[str, z3.ArithRef], now: int, act: Action) -> list[z3.BoolRef]:
    """Return the constraint that the tree decides the action `act`: the conditions on the path to some leaf hold, and
    `act` is the action of this leaf.
    """
    import z3

    # Amounts are in packets, so thresholds are multiplied by M. This keeps the constraints linear.
    state = State(features["M"], _in_packets(features), Point.named(""), {})
    ways = []
    for index, leaf, path in controller.leaves:
        action, held = shielded(state, controller, leaf, f"_{now}_{index}", TOLERANCE)
        same = [act.rate == action.rate, act.message == action.message, act.encode == action.encode]
        ways.append(z3.And(*on_path(state, path, TOLERANCE), *held, *same))
    return [z3.Or(*ways)]


def _in_packets(features: Mapping[str, z3.ArithRef]) -> dict[str, z3.ArithRef]:
    """Return the features by which a tree decides, in packets, for a controller that has not found max C yet."""
    import z3

    none: z3.ArithRef = z3.RealVal(0)
    terms = dict.fromkeys(FEATURES, none)
    terms |= {"q": features["Q"], "r0": features["R0"], "packet": z3.RealVal(1)}
    terms |= {name: features[name] for name in features if name in FEATURES}
    return with_differences(terms, features["M"])
