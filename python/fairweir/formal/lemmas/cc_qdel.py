"""cc_qdel on a CCAC link with a buffer of at least 3 C (R + D): thesis section 4.2.3 and appendix B.4.

The published lemmas are checked as printed, on the published model, in which acknowledgements never pause. On the model
that lets them pause for as long as the jitter D allows, two of them are wrong; there the suite proves others that fit
together: six states instead of four. docs/formal/lemmas.md tells what was found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import z3

from fairweir.formal.beliefs import Expiry, Start
from fairweir.formal.beliefs import ccac as beliefs
from fairweir.formal.buffers import Buffer
from fairweir.formal.grid import Grid
from fairweir.formal.lemmas.cc_qdel_states import (
    CONSISTENT,
    OURS,
    PUBLISHED,
    Lemmas,
    Numbers,
    plan,
    with_history,
)
from fairweir.formal.lemmas.inquiry import Inquiry, answer_all
from fairweir.formal.lemmas.result import Constant, LemmaResult
from fairweir.formal.lemmas.search import Sought, seek_all
from fairweir.formal.lemmas.states import Better, Factor, Measure, Transition
from fairweir.formal.lemmas.stitch import stitch, summary
from fairweir.formal.lemmas.suites import OnProgress, Request
from fairweir.formal.lemmas.view import snapshot
from fairweir.formal.models import MODELS
from fairweir.formal.properties import utilization
from fairweir.formal.rule import RULES, Rule
from fairweir.formal.solve import Outcome
from fairweir.formal.system import System

POINTS = 10
#: Lower limits of the converged range for which the best upper one is looked for: the two trade.
LEAST = (Fraction(60, 100), Fraction(67, 100), Fraction(69, 100), Fraction(70, 100))


def build(model: str, points: int) -> System:
    """Give cc_qdel on a model, with beliefs that may be stale at the start and time out at the end."""
    system = MODELS[model](Grid(points), Buffer.LARGE)
    beliefs.attach(system, start=Start.ANY, expiry=Expiry.AT_END)
    Rule.load(RULES / "cc_qdel.toml").encode(system)
    return system


def met(system: System, n: Numbers) -> z3.BoolRef:
    """Tell whether a whole window meets the objectives: utilization and queue."""
    return z3.And(utilization(system, n.under_way), queue_below(system, n.queue, n.queue_packets))


def queue_below(system: System, bound: Fraction, packets: int) -> z3.BoolRef:
    """All waiting bytes stay below `bound` C (R + D) and that many packets."""
    most = bound * (1 + system.grid.jitter) + packets * system.alpha
    return z3.And(*(system.queue(t) <= most for t in range(1, system.grid.points)))


def loss_below(system: System, packets: int) -> z3.BoolRef:
    """No step loses more than that many packets."""
    size = packets * system.alpha
    return z3.And(*(system.L[t] - system.L[t - 1] <= size for t in range(1, system.grid.points)))


def inquire(
    system: System, transition: Transition, n: Numbers, objectives: z3.BoolRef | None = None, **facts: object
) -> Inquiry:
    """Ask whether all traces of a system make a transition."""
    before, after = snapshot(system, 0), snapshot(system, system.grid.last)
    held = met(system, n) if objectives is None else objectives
    claim = f"{transition.start.name} ⟹ {_says(transition)}"
    given = (transition.start.holds(before),)
    blank = Inquiry(transition.name, claim, system, given, transition.claim(before, after, held))
    return replace(blank, **facts)  # type: ignore[arg-type]


def _says(transition: Transition) -> str:
    ways = [state.name for state in transition.ends]
    if transition.progress is not None:
        ways.append(" or ".join(_step(measure) for measure in transition.progress.measures))
    if transition.or_met:
        ways.append("objectives, no progress lost" if transition.loses_none else "objectives")
    return "; or ".join(ways)


def _step(measure: Measure) -> str:
    sign = {Better.UP: ("x", "+"), Better.DOWN: ("/", "-")}[measure.better]
    if isinstance(measure.step, Factor):
        return f"{measure.name} {sign[0]}{float(measure.step.by):g}"
    return f"{measure.name} {sign[1]}{measure.step.name}"


def ours(system: System) -> Iterator[Inquiry]:
    """Give the lemmas that fit together, and the bounds in their last state."""
    n = OURS
    lemmas = Lemmas(n)
    yield inquire(system, lemmas.valid, n)
    yield from (inquire(system, transition, n) for transition in lemmas.sound)
    yield inquire(system, lemmas.shown, n)
    moves = Constant("factor", n.moves, Fraction(11, 10))
    queue = Constant("queue", n.queue, Fraction(44, 10), "C(R+D)")
    under_way = Constant("utilization", n.under_way, Fraction(83, 100), "C")
    yield inquire(system, lemmas.low, n, constants=(moves, queue, under_way))
    yield inquire(system, lemmas.high, n, constants=(moves, queue, under_way))
    limits = (Constant("C_L >=", n.least, "27/40", "C"), Constant("C_U <=", n.most, Fraction(3), "C"))
    yield inquire(system, lemmas.stays_converged, n, constants=limits)
    shrinks = Constant("factor", n.shrinks, Fraction(17, 10))
    yield inquire(system, lemmas.shrink, n, constants=(shrinks, queue, under_way))
    short = Constant("bq <=", n.drained, n.drained, "C(R+D)")
    drains = Constant("bq falls by", n.drains, n.drains, "CR")
    yield inquire(system, with_history(lemmas.stays_drained), n, constants=(short,))
    yield inquire(system, with_history(lemmas.drain), n, constants=(short, drains))
    start = with_history(lemmas.stays_drained).start
    given = (start.holds(snapshot(system, 0)),)

    def steady(name: str, claim: str, then: z3.BoolRef, *constants: Constant) -> Inquiry:
        return Inquiry(name, f"steady ⟹ {claim}", system, given, then, constants=constants)

    published = Fraction(89, 100)
    u = Constant("utilization", n.steady, published, "C")
    yield steady("B.4.7 utilization", "S >= 0.83 C(T-D)", utilization(system, n.steady), u)
    above = n.steady + Fraction(1, 100)
    tight = steady("B.4.7 utilization, 1 % more", f"S >= {float(above):g} C(T-D)", utilization(system, above))
    yield replace(tight, expects=Outcome.REFUTED)
    yield steady("B.4.7 queue", "queue <= 5 C(R+D)", queue_below(system, n.queue, 0), queue)
    disjunct = z3.Or(
        loss_below(system, system.grid.last),
        system.flows[0].rate[system.grid.last] < system.flows[0].rate[1],
        system.queue(system.grid.last) < system.queue(1),
        system.bottleneck_queue(system.grid.last) < system.bottleneck_queue(1),
    )
    consistent = (CONSISTENT.holds(snapshot(system, 0)),)
    claim = f"consistent ⟹ no loss above {system.grid.last} MSS in a step; or rate, queue or bq falls"
    yield Inquiry("B.4.8 with the code's disjunct", claim, system, consistent, disjunct)


def as_printed(system: System, model: str) -> Iterator[Inquiry]:
    """Give the published lemmas with their own constants, and what becomes of them."""
    n, last = PUBLISHED, system.grid.last
    lemmas = Lemmas(n, loses_none=False)
    may_pause = model == "ccac"
    wrong = Outcome.REFUTED if may_pause else Outcome.PROVED
    here = "ACKs may pause" if may_pause else "published model"

    def printed(inquiry: Inquiry, expects: Outcome, note: str = "") -> Inquiry:
        return replace(inquiry, name=f"{inquiry.name}, {here}", expects=expects, note=note)

    with_loss = z3.And(met(system, n), loss_below(system, 3))
    yield printed(inquire(system, lemmas.low, n), wrong)
    strict = inquire(system, lemmas.low, n, objectives=with_loss)
    yield printed(replace(strict, name="B.4.2 with its loss objective"), Outcome.REFUTED)
    yield printed(inquire(system, lemmas.shrink, n), Outcome.REFUTED)
    yield printed(inquire(system, lemmas.drain, n), wrong)
    start = (lemmas.stays_drained.start.holds(snapshot(system, 0)),)
    for u, expects in ((Fraction(83, 100), Outcome.PROVED), (Fraction(89, 100), Outcome.REFUTED)):
        claim = f"steady ⟹ S >= {float(u):g} C(T-D)"
        then = utilization(system, u)
        yield printed(Inquiry(f"B.4.7 utilization {float(u):g}", claim, system, start, then), expects)
    then = queue_below(system, n.queue, 3)
    claim = "steady ⟹ queue <= 4.4 C(R+D) + 3 MSS"
    yield printed(Inquiry("B.4.7 queue 4.4", claim, system, start, then), Outcome.REFUTED)
    claim = "steady ⟹ at most 3 MSS lost in any R"
    yield printed(Inquiry("B.4.7 losses", claim, system, start, loss_below(system, 3)), Outcome.REFUTED)
    rate = system.flows[0].rate
    rises = (CONSISTENT.holds(snapshot(system, 0)), rate[last] > rate[0], rate[last] > rate[1])
    claim = "consistent, rate rises ⟹ no large loss"
    yield printed(Inquiry("B.4.8", claim, system, rises, loss_below(system, last)), Outcome.REFUTED)


def run(request: Request, on_progress: OnProgress) -> list[LemmaResult]:
    """Prove the suite."""
    points = request.points or POINTS
    main, published = build("ccac", points), build("ccac-published", points)
    if request.search:
        return search(main, request, on_progress)
    inquiries = [*ours(main), *as_printed(main, "ccac"), *as_printed(published, "ccac-published")]
    return [*answer_all(inquiries, request, on_progress), *summary(stitch(plan()))]


def search(system: System, request: Request, on_progress: OnProgress) -> list[LemmaResult]:
    """Look for the best constants: proved on one side, refuted on the other, where both fit the budget."""
    steady = (with_history(Lemmas(OURS).stays_drained).start.holds(snapshot(system, 0)),)
    lemmas = [
        Sought(
            "B.4.7 utilization",
            "C",
            lambda u: Inquiry("utilization", "", system, steady, utilization(system, u)),
            Fraction(1, 2), Fraction(1), Fraction(1, 100), Fraction(89, 100),
        ),
        Sought(
            "B.4.7 queue",
            "C(R+D)",
            lambda q: Inquiry("queue", "", system, steady, queue_below(system, q, 0)),
            Fraction(6), Fraction(4), Fraction(1, 10), Fraction(44, 10),
        ),
        Sought(
            "B.4.4 factor",
            "",
            lambda k: inquire(system, Lemmas(replace(OURS, shrinks=k)).shrink, replace(OURS, shrinks=k)),
            Fraction(11, 10), Fraction(2), Fraction(1, 10), Fraction(17, 10),
        ),
        Sought(
            "B.4.2 factor, C_L stale",
            "",
            lambda k: inquire(system, Lemmas(replace(OURS, moves=k)).low, replace(OURS, moves=k)),
            Fraction(101, 100), Fraction(13, 10), Fraction(1, 100), Fraction(11, 10),
        ),
    ]  # fmt: skip
    lemmas += [_upper_limit(system, least) for least in LEAST]
    return seek_all(lemmas, request, on_progress)


def _upper_limit(system: System, least: Fraction) -> Sought:
    """Look for the least upper limit of the converged range, given the lower one."""

    def lemma(most: Fraction) -> Inquiry:
        numbers = replace(OURS, least=least, most=most)
        return inquire(system, Lemmas(numbers).stays_converged, numbers)

    name = f"B.4.3 C_U <=, if C_L >= {float(least):g} C"
    return Sought(name, "C", lemma, Fraction(4), Fraction(2), Fraction(1, 10), Fraction(3))
