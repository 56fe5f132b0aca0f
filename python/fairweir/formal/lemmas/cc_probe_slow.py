"""cc_probe_slow on a CBR-delay link with any buffer: lemmas of thesis section 4.2.3 and of the published code.

cc_probe_slow is a CCA that probes: for one step it sends at 3 C_L_lambda + alpha, to find a higher link rate. A flow
computes beliefs, which are bounds on the network's parameters, from its observations; it measures delays only to within
one step. A belief is stale if the true value violates the bound. A stale belief times out: it is replaced by a wider
bound. The thesis does not define when beliefs time out. Two lemmas state that a flow recovers from a stale C_L_lambda:
the published one (`FALL`), by which C_L_lambda falls, and fairweir's (`RECOVER`), by which a weighted sum of C_L_lambda
and the queue falls, or the objectives are met. With the published code's conditions for timeouts, the solvers refute
both, even for traces with two or more probes, which the published code assumes. The suite is proved with fairweir's
condition, :attr:`Expiry.ON_CONTRADICTION`, and without the assumption of two probes.

Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; T*, duration over which the bytes of a sample
are counted, here R; alpha, one MSS per R; C_L_lambda, the lower bound on C from data that were sent and acknowledged
without a loss or a queueing delay above D; q_U, upper bound on the queued bytes; bq, bytes that wait for link capacity;
beta, buffer; MSS, bytes of one packet. The units are such that C = R = D = 1. A window is the time that a trace covers;
the objectives of a window are a minimum utilization and a maximum queue.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import z3

from fairweir.ccas.rule import RULES, Rule
from fairweir.formal.beliefs import Expiry, Start, cbr_delay
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.encode import attach
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.system import System
from fairweir.formal.lemmas.ask_transition import inquire, inquire_bound
from fairweir.formal.lemmas.bounds import loss_below, queue_below
from fairweir.formal.lemmas.inquiry import Inquiry, answer_all, elsewhere
from fairweir.formal.lemmas.result import About, Constant, LemmaResult
from fairweir.formal.lemmas.states import (
    ANYWHERE,
    Amount,
    Better,
    Factor,
    Measure,
    Progress,
    Snapshot,
    State,
    Transition,
)
from fairweir.formal.lemmas.stitch import Phase, Plan, stitch, summary
from fairweir.formal.lemmas.suites import OnProgress, Request
from fairweir.formal.lemmas.view import FIXED
from fairweir.formal.models import MODELS
from fairweir.formal.solving.solve import ProofOutcome

POINTS = 10
SOURCE = "thesis 4.2.3"
#: A probe sends at more than REACH C_L_lambda; REACH is (T* + D + one step) / T*, and the three times are equal.
REACH = 3
#: Minimum C_L_lambda in the steady state, in C. Published: 0.23, for shorter traces.
LEAST = Fraction(1, 4)
#: Minimum utilization in the steady state; minimum utilization of the objectives while C_L_lambda is stale.
SERVED, STALE_SERVED = Fraction(3, 10), Fraction(1, 4)
#: Maximum queue of the objectives while C_L_lambda is stale, in C (R + D); 3 MSS are added to it.
STALE_QUEUE = Fraction(5)
#: Bottleneck queue below which a further decrease does not count as progress, in C R (:func:`excess`).
LOW_QUEUE = Fraction(11, 2)
#: Weight of C_L_lambda in :func:`excess`, in R. A window in which C_L_lambda falls by x makes progress even if the
#: bottleneck queue grows, by up to WORTH R x - C R / 2.
WORTH = 30
#: Assumption of the verdict, in addition to the network model. The results show it as a note.
TIME_OUTS = "C_L_lambda times out if and only if a window contradicts it (ours; the published reasons do not suffice)"
#: Maximum q_U in the steady state, in C R.
MOST = Fraction(321, 100)
_ONE = z3.RealVal(1)


def _q(value: Fraction) -> z3.RatNumRef:
    return z3.Q(value.numerator, value.denominator)


RATE_SOUND = State(
    "C_L_lambda admits C and beta",
    lambda s: z3.And(s["C_L_lambda"] <= 1, REACH * s["C_L_lambda"] <= 1 + s["beta"]),
)
QUEUE_SOUND = State("q_U >= bq", lambda s: s["q_U"] >= s["bq"])
SOUND = RATE_SOUND & QUEUE_SOUND
SHORT = State(f"q_U <= {float(MOST):g} CR", lambda s: s["q_U"] <= _q(MOST))
HIGH = State(f"C_L_lambda >= {float(LEAST):g} C", lambda s: s["C_L_lambda"] >= _q(LEAST))
KNOWN = State("q_U = inflight >= bq", lambda s: z3.And(s["q_U"] == s["inflight"], s["q_U"] >= s["bq"]))
FLOOR = State("C_L_lambda >= alpha", lambda s: s["C_L_lambda"] >= s["alpha"])
STALE = State("C_L_lambda > C", lambda s: s["C_L_lambda"] > 1)

_FALLS = Amount(lambda _: z3.Q(1, 10), "CR/10")
_QUEUE = Measure("q_U", lambda s: s["q_U"], Better.DOWN, _FALLS, lambda _: _q(MOST))
_RISES = Amount(lambda s: s["alpha"] / 3, "alpha/3")
_RATE = Measure("C_L_lambda", lambda s: s["C_L_lambda"], Better.UP, _RISES, lambda _: _q(LEAST))
_BACK = Measure("C_L_lambda", lambda s: s["C_L_lambda"], Better.DOWN, Factor(Fraction(19, 10)), lambda _: _ONE)


def excess(now: Snapshot) -> z3.ArithRef:
    """Return the measure of recovery from a stale C_L_lambda, in C R: max(bq, LOW_QUEUE) + WORTH * C_L_lambda."""
    queue = z3.If(now["bq"] >= _q(LOW_QUEUE), now["bq"], _q(LOW_QUEUE))
    return queue + WORTH * now["C_L_lambda"]


_EXCESS = Measure(
    f"max(bq, {float(LOW_QUEUE):g} CR) + {WORTH} R C_L_lambda",
    excess,
    Better.DOWN,
    Amount(lambda _: z3.Q(1, 2), "CR/2"),
    lambda _: _q(LOW_QUEUE),
)

_NETWORK = About.NETWORK
STAY_SOUND = Transition("rate bound stays sound", SOURCE, RATE_SOUND, ends=(RATE_SOUND,), about=_NETWORK)
STAY_ABOVE = Transition("rate bound has a floor", "ours", ANYWHERE, ends=(FLOOR,), about=_NETWORK)
QUEUE_RECOVERS = Transition("q_U recovers", "ours", ANYWHERE, ends=(KNOWN,), about=_NETWORK)
STAY_SHORT = Transition("q_U stays", SOURCE, SOUND & SHORT, ends=(SHORT,))
DRAIN = Transition("q_U falls", SOURCE, SOUND & ~SHORT, ends=(SHORT,), progress=Progress((_QUEUE,)))
RISE = Transition("rate rises", SOURCE, SOUND & SHORT & ~HIGH, ends=(HIGH,), progress=Progress((_RATE,)))
STEADY = Transition("steady", SOURCE, SOUND & SHORT & HIGH, ends=(HIGH,), meets=True)
RECOVER = Transition(
    "stale rate recovers", "ours", KNOWN & ~RATE_SOUND, ends=(RATE_SOUND,), progress=Progress((_EXCESS,)), or_met=True
)
#: The published lemma: a stale C_L_lambda falls. It is asked with the published conditions for timeouts.
FALL = Transition("stale rate falls", SOURCE, STALE, ends=(RATE_SOUND,), progress=Progress((_BACK,)))
PLAN = Plan(
    ("C_L_lambda", "q_U", "bq", "inflight", "alpha", "beta"),
    FIXED,
    State("alpha, beta > 0, C_L_lambda >= alpha", lambda s: z3.And(s["alpha"] > 0, s["beta"] > 0, FLOOR.holds(s))),
    (
        Phase(~KNOWN, QUEUE_RECOVERS),
        Phase(KNOWN & ~RATE_SOUND, RECOVER),
        Phase(KNOWN & RATE_SOUND & ~SHORT, DRAIN),
        Phase(KNOWN & RATE_SOUND & SHORT & ~HIGH, RISE),
        Phase(KNOWN & RATE_SOUND & SHORT & HIGH, STEADY),
    ),
    standing=(STAY_ABOVE, STAY_SOUND, QUEUE_RECOVERS, STAY_SHORT),
)


def build(points: int, expiry: Expiry = Expiry.ON_CONTRADICTION, model: str = "cbr-delay") -> System:
    """Return the constraints of a cc_probe_slow flow whose beliefs may be stale at the start of the trace.

    Parameters
    ----------
    points : int, number of sample points in a trace
    expiry : Expiry, the condition on which beliefs time out at the end of the trace
    model : str, a name in `MODELS`
    """
    system = MODELS[model].build(Grid(points), Buffer.ARBITRARY)
    cbr_delay.attach(system, start=Start.ANY, expiry=expiry)
    attach(Rule.load(RULES / "cc_probe_slow_3.toml"), system)
    return system


def two_probes(system: System) -> z3.BoolRef:
    """Return the constraint that a flow probes in two or more steps, as the published code assumes of stale beliefs."""
    own = system.flows[0]
    lower = own.beliefs["C_L_lambda"]
    probes = [own.rate[t] > REACH * lower[t - 1] for t in range(1, system.grid.points)]
    pairs = [z3.And(probes[i], probes[j]) for j in range(len(probes)) for i in range(j)]
    return z3.Or(*pairs)


def run(request: Request, on_progress: OnProgress) -> list[LemmaResult]:
    """Ask the solvers all lemmas about cc_probe_slow, and return one result per lemma."""
    return [*answer_all(inquiries, request, on_progress), *summary(stitch(PLAN))]


def inquiries(request: Request) -> list[Inquiry]:
    """Return the lemmas."""
    points = request.points or POINTS
    if request.model not in (None, "cbr-delay"):
        return elsewhere(ours(build(points, model=request.model)))
    return [*ours(build(points)), *as_published(build(points, Expiry.AT_END))]


def ours(system: System) -> Iterator[Inquiry]:
    """Yield fairweir's lemmas, which lead a flow from any state to the steady state, and bounds on the steady state."""
    steady = State("steady", STEADY.start.holds)
    queue = Fraction(17, 10)
    served, waiting = serves(system, SERVED), queue_below(system, queue, 3)
    least = Constant("C_L_lambda >=", LEAST, Fraction(23, 100), "C")
    most = Constant("q_U <=", MOST, MOST, "CR")
    rises = Constant("rises by", "alpha/3", "alpha/5")
    short = Constant("queue <=", queue, Fraction(3, 2), "C(R+D) + 3 MSS")
    stale = Constant("queue <=", STALE_QUEUE, None, "C(R+D) + 3 MSS")
    packets = Constant("MSS lost in a step <=", Fraction(3), Fraction(2))
    used = Constant("utilization >=", SERVED, Fraction(3, 10), "C")
    used_stale = Constant("utilization >=", STALE_SERVED, None, "C")
    yield inquire(system, STAY_ABOVE)
    yield inquire(system, STAY_SOUND)
    yield inquire(system, QUEUE_RECOVERS)
    on_the_way = z3.And(serves(system, STALE_SERVED), queue_below(system, STALE_QUEUE, 3))
    yield inquire(system, RECOVER, used_stale, stale, objectives=on_the_way, note=TIME_OUTS)
    trusted = z3.Not(cbr_delay.contradicted(system))
    words = "no window contradicts the beliefs"
    yield inquire_bound(system, "no false time-outs", SOUND, words, trusted, about=_NETWORK)
    yield inquire(system, STAY_SHORT, most)
    yield inquire(system, DRAIN, most)
    yield inquire(system, RISE, least, rises)
    yield inquire(system, STEADY, least, used, short, objectives=z3.And(served, waiting))
    yield inquire_bound(system, "losses", SOUND, "at most 3 MSS lost in any step", loss_below(system, 3), packets)
    above = SERVED + Fraction(2, 100)
    words = f"S >= {float(above):g} C(T-D)"
    bound = serves(system, above)
    yield inquire_bound(system, "utilization, 2 % more", steady, words, bound, expects=ProofOutcome.REFUTED)


def as_published(system: System) -> Iterator[Inquiry]:
    """Yield lemmas about a stale C_L_lambda with the published conditions for timeouts; solvers refute each of them."""
    factor = Constant("factor", Fraction(19, 10), Fraction(19, 10))
    probes, refuted = (two_probes(system),), ProofOutcome.REFUTED
    on_the_way = z3.And(serves(system, STALE_SERVED), queue_below(system, STALE_QUEUE, 3))
    for words, assumed in (("published time-outs", ()), ("published time-outs, two probes", probes)):
        yield inquire(system, FALL, factor, assumed=assumed, name=f"{FALL.name}, {words}", expects=refuted)
        name = f"{RECOVER.name}, {words}"
        yield inquire(system, RECOVER, objectives=on_the_way, assumed=assumed, name=name, expects=refuted)


def serves(system: System, least: Fraction) -> z3.BoolRef:
    """Return the constraint that at least `least` C (T - D) is served in a trace of duration T.

    Parameters
    ----------
    system : System
    least : Fraction, minimum utilization
    """
    return system.S[system.grid.last] >= least * (system.grid.span - system.grid.jitter)
