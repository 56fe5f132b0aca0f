"""cc_qdel on a CCAC link with a buffer of at least 3 C (R + D): lemmas of thesis section 4.2.3 and appendix B.4.

cc_qdel is a CCA of the thesis that sets its rate from beliefs. Beliefs are bounds on the network's parameters that a
flow computes from what the flow observed, such as C_L and C_U, the lower and the upper bound on C. The published lemmas
are checked as printed, on the published CCAC model, in which acknowledgments never pause. In fairweir's CCAC model,
acknowledgments may pause for as long as the jitter D allows. On fairweir's model, two of the lemmas that hold on the
published model are wrong, so the suite proves other lemmas, with six states instead of four. docs/formal/lemmas.md has
the results.

Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; T, duration of a trace; S, bytes served; bq,
bytes that wait for link capacity; MSS (in code: alpha), bytes of one packet. The units are such that C = R = D = 1. A
window is the time that one trace covers; the objectives of a window are a minimum utilization and a maximum queue.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import z3

from fairweir.ccas.rule import RULES, Rule
from fairweir.formal.beliefs import Expiry, Start
from fairweir.formal.beliefs import ccac as beliefs
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.encode import attach
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.properties import utilization
from fairweir.formal.encoding.system import System
from fairweir.formal.lemmas.ask_transition import inquire, inquire_bound
from fairweir.formal.lemmas.bounds import loss_below, queue_below
from fairweir.formal.lemmas.cc_qdel_states import (
    CONSISTENT,
    OURS,
    PUBLISHED,
    Lemmas,
    Numbers,
    plan,
    with_history,
)
from fairweir.formal.lemmas.inquiry import Inquiry, answer_all, elsewhere
from fairweir.formal.lemmas.result import Constant, LemmaResult
from fairweir.formal.lemmas.search import Sought, seek_all
from fairweir.formal.lemmas.stitch import stitch, summary
from fairweir.formal.lemmas.suites import OnProgress, Request
from fairweir.formal.models import MODELS
from fairweir.formal.solving.solve import ProofOutcome

POINTS = 10
#: Lower limits on C_L in the converged range, in C. For each lower limit, `search` finds the smallest upper limit on
#: C_U with which converged beliefs stay converged.
LEAST = (Fraction(60, 100), Fraction(67, 100), Fraction(69, 100), Fraction(70, 100))


def build(model: str, points: int) -> System:
    """Return the constraints of one cc_qdel flow on a network model.

    At the start of a trace, beliefs may be stale (exclude the true value). At the end of a trace, beliefs may time out.

    Parameters
    ----------
    model : str, a name in `MODELS`
    points : int, number of sample points in a trace
    """
    system = MODELS[model].build(Grid(points), Buffer.LARGE)
    beliefs.attach(system, start=Start.ANY, expiry=Expiry.AT_END)
    attach(Rule.load(RULES / "cc_qdel.toml"), system)
    return system


def met(system: System, n: Numbers) -> z3.BoolRef:
    """Return the constraint that a whole window meets the objectives on utilization and queue.

    Parameters
    ----------
    system : System
    n : Numbers, the objectives' constants
    """
    return z3.And(utilization(system, n.under_way), queue_below(system, n.queue, n.queue_packets))


def ours(system: System) -> Iterator[Inquiry]:
    """Yield fairweir's lemmas, which lead a flow from any state to the steady state, and bounds on the steady state."""
    n, lemmas = OURS, Lemmas(OURS)
    moves = Constant("factor", n.moves, Fraction(11, 10))
    queue = Constant("queue", n.queue, Fraction(44, 10), "C(R+D)")
    under_way = Constant("utilization", n.under_way, Fraction(83, 100), "C")
    limits = (Constant("C_L >=", n.least, "27/40", "C"), Constant("C_U <=", n.most, Fraction(3), "C"))
    shrinks = Constant("factor", n.shrinks, Fraction(17, 10))
    short = Constant("bq <=", n.drained, n.drained, "C(R+D)")
    drains = Constant("bq falls by", n.drains, n.drains, "CR")
    objectives = met(system, n)
    for standing in (*lemmas.valid, *lemmas.sound, lemmas.shown):
        yield inquire(system, standing)
    yield inquire(system, lemmas.low, moves, queue, under_way, objectives=objectives)
    yield inquire(system, lemmas.high, moves, queue, under_way, objectives=objectives)
    yield inquire(system, lemmas.stays_converged, *limits)
    yield inquire(system, lemmas.shrink, shrinks, queue, under_way, objectives=objectives)
    yield inquire(system, with_history(lemmas.stays_drained), short)
    yield inquire(system, with_history(lemmas.drain), short, drains)
    steady = replace(with_history(lemmas.stays_drained).start, name="steady")
    published = Constant("utilization", n.steady, Fraction(89, 100), "C")
    words = f"S >= {float(n.steady):g} C(T-D)"
    yield inquire_bound(system, "B.4.7 utilization", steady, words, utilization(system, n.steady), published)
    above = n.steady + Fraction(1, 100)
    words, bound = f"S >= {float(above):g} C(T-D)", utilization(system, above)
    yield inquire_bound(system, "B.4.7 utilization, 1 % more", steady, words, bound, expects=ProofOutcome.REFUTED)
    words = f"queue <= {float(n.queue):g} C(R+D)"
    yield inquire_bound(system, "B.4.7 queue", steady, words, queue_below(system, n.queue), queue)
    words = f"no loss above {system.grid.last} MSS in a step; or rate, queue or bq falls"
    yield inquire_bound(system, "B.4.8 with the code's disjunct", CONSISTENT, words, loss_or_relief(system))


def loss_or_relief(system: System) -> z3.BoolRef:
    """Return lemma B.4.8 as published in code: no step has a large loss, or the rate or a queue is lower at the end."""
    last = system.grid.last
    return z3.Or(
        loss_below(system, last),
        system.flows[0].rate[last] < system.flows[0].rate[1],
        system.queue(last) < system.queue(1),
        system.bottleneck_queue(last) < system.bottleneck_queue(1),
    )


def as_printed(system: System, where: str, *, may_pause: bool) -> Iterator[Inquiry]:
    """Return the published lemmas with the published constants, and the expected outcome of each lemma.

    Parameters
    ----------
    system : System, cc_qdel on a network model
    where : description of the network model
    may_pause : whether acknowledgments may pause on the model. If they may, two more lemmas are expected to be refuted
    """
    n, last, refuted = PUBLISHED, system.grid.last, ProofOutcome.REFUTED
    needs_steady = refuted if may_pause else ProofOutcome.PROVED
    lemmas = Lemmas(n, loses_none=False)
    objectives = met(system, n)
    with_losses = z3.And(objectives, loss_below(system, 3))
    printed: list[Inquiry] = [
        inquire(system, lemmas.low, objectives=objectives, expects=needs_steady),
        inquire(system, lemmas.low, objectives=with_losses, expects=refuted, name="B.4.2 with its loss objective"),
        inquire(system, lemmas.shrink, objectives=objectives, expects=refuted),
        inquire(system, lemmas.drain, expects=needs_steady),
    ]
    steady = replace(lemmas.stays_drained.start, name="steady")
    for u, expects in ((Fraction(83, 100), ProofOutcome.PROVED), (Fraction(89, 100), refuted)):
        name, words = f"B.4.7 utilization {float(u):g}", f"S >= {float(u):g} C(T-D)"
        printed.append(inquire_bound(system, name, steady, words, utilization(system, u), expects=expects))
    words, bound = "queue <= 4.4 C(R+D) + 3 MSS", queue_below(system, n.queue, n.queue_packets)
    printed.append(inquire_bound(system, "B.4.7 queue 4.4", steady, words, bound, expects=refuted))
    words, bound = "at most 3 MSS lost in any R", loss_below(system, 3)
    printed.append(inquire_bound(system, "B.4.7 losses", steady, words, bound, expects=refuted))
    rate = system.flows[0].rate
    rises = (rate[last] > rate[0], rate[last] > rate[1])
    words, bound = "rate rises: no large loss", loss_below(system, last)
    printed.append(inquire_bound(system, "B.4.8", CONSISTENT, words, bound, assumed=rises, expects=refuted))
    return (replace(inquiry, name=f"{inquiry.name}, {where}") for inquiry in printed)


def run(request: Request, on_progress: OnProgress) -> list[LemmaResult]:
    """Ask the solvers all lemmas about cc_qdel, or search for tightest constants, and return one result per lemma."""
    if request.search:
        return seek_all(constants, request, on_progress)
    return [*answer_all(inquiries, request, on_progress), *summary(stitch(plan()))]


def inquiries(request: Request) -> list[Inquiry]:
    """Return the lemmas."""
    points = request.points or POINTS
    main = build(request.model or "ccac", points)
    if request.model not in (None, "ccac"):
        return elsewhere(ours(main))
    published = build("ccac-published", points)
    return [
        *ours(main),
        *as_printed(main, "ACKs may pause", may_pause=True),
        *as_printed(published, "published model", may_pause=False),
    ]


def constants(request: Request) -> list[Sought]:
    """Return the constants whose tightest values a search finds: the strongest value with which the lemma is proved."""
    system = build(request.model or "ccac", request.points or POINTS)
    steady = with_history(Lemmas(OURS).stays_drained).start
    tenth, percent = Fraction(1, 10), Fraction(1, 100)

    def serves(least: Fraction) -> Inquiry:
        return inquire_bound(system, "utilization", steady, "", utilization(system, least))

    def queues(most: Fraction) -> Inquiry:
        return inquire_bound(system, "queue", steady, "", queue_below(system, most))

    def shrinks(factor: Fraction) -> Inquiry:
        n = replace(OURS, shrinks=factor)
        return inquire(system, Lemmas(n).shrink, objectives=met(system, n))

    def moves(factor: Fraction) -> Inquiry:
        n = replace(OURS, moves=factor)
        return inquire(system, Lemmas(n).low, objectives=met(system, n))

    return [
        Sought("B.4.7 utilization", "C", serves, Fraction(1, 2), Fraction(1), percent, Fraction(89, 100)),
        Sought("B.4.7 queue", "C(R+D)", queues, Fraction(6), Fraction(4), tenth, Fraction(44, 10)),
        Sought("B.4.4 factor", "", shrinks, Fraction(11, 10), Fraction(2), tenth, Fraction(17, 10)),
        Sought("B.4.2 factor, C_L stale", "", moves, Fraction(101, 100), Fraction(13, 10), percent, Fraction(11, 10)),
        *(_upper_limit(system, least) for least in LEAST),
    ]


def _upper_limit(system: System, least: Fraction) -> Sought:
    """Return the search for the smallest upper limit on C_U in the converged range, given the lower limit on C_L."""

    def stays(most: Fraction) -> Inquiry:
        return inquire(system, Lemmas(replace(OURS, least=least, most=most)).stays_converged)

    name = f"B.4.3 C_U <=, if C_L >= {float(least):g} C"
    return Sought(name, "C", stays, Fraction(4), Fraction(2), Fraction(1, 10), Fraction(3))
