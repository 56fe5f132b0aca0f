"""cc_probe_slow on a CBR-delay link with any buffer: thesis section 4.2.3 and the published code's lemmas.

The rule is the one that probes at 3 C_L_lambda + alpha, as the published code proves; its beliefs know delays to one
step. The lemmas for beliefs that admit the network fit together. From stale beliefs the published code assumes in
addition that a trace has two probes or more; the factor it then finds is refuted here with and without that, so the
suite names the gap and stays unknown.
"""

from __future__ import annotations

from fractions import Fraction

import z3

from fairweir.formal.beliefs import Expiry, Start, cbr_delay
from fairweir.formal.buffers import Buffer
from fairweir.formal.grid import Grid
from fairweir.formal.lemmas.ask_transition import inquire, inquire_bound
from fairweir.formal.lemmas.bounds import loss_below, queue_below
from fairweir.formal.lemmas.inquiry import answer_all
from fairweir.formal.lemmas.result import Constant, LemmaResult
from fairweir.formal.lemmas.states import ANYWHERE, Amount, Better, Factor, Measure, Progress, State, Transition
from fairweir.formal.lemmas.stitch import Phase, Plan, stitch, summary
from fairweir.formal.lemmas.suites import OnProgress, Request
from fairweir.formal.lemmas.view import FIXED
from fairweir.formal.models import MODELS
from fairweir.formal.rule import RULES, Rule
from fairweir.formal.solve import Outcome
from fairweir.formal.system import System

POINTS = 10
SOURCE = "thesis 4.2.3"
#: A quiet T* has room for three times the bound: T* + D + one step.
REACH = 3
#: Least C_L_lambda of the steady state; published for shorter traces: 0.23.
LEAST = Fraction(1, 10)
#: Largest q_U of the steady state, C R.
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
STALE = State("C_L_lambda > C", lambda s: s["C_L_lambda"] > 1)

_FALLS = Amount(lambda _: z3.Q(1, 10), "CR/10")
_QUEUE = Measure("q_U", lambda s: s["q_U"], Better.DOWN, _FALLS, lambda _: _q(MOST))
_RISES = Amount(lambda s: s["alpha"] / 5, "alpha/5")
_RATE = Measure("C_L_lambda", lambda s: s["C_L_lambda"], Better.UP, _RISES, lambda _: _q(LEAST))
_BACK = Measure("C_L_lambda", lambda s: s["C_L_lambda"], Better.DOWN, Factor(Fraction(19, 10)), lambda _: _ONE)

STAY_SOUND = Transition("rate bound stays sound", SOURCE, RATE_SOUND, ends=(RATE_SOUND,))
QUEUE_RECOVERS = Transition("q_U recovers", "ours", ANYWHERE, ends=(QUEUE_SOUND,))
STAY_SHORT = Transition("q_U stays", SOURCE, SOUND & SHORT, ends=(SHORT,))
DRAIN = Transition("q_U falls", SOURCE, SOUND & ~SHORT, ends=(SHORT,), progress=Progress((_QUEUE,)))
RISE = Transition("rate rises", SOURCE, SOUND & SHORT & ~HIGH, ends=(HIGH,), progress=Progress((_RATE,)))
STEADY = Transition("steady", SOURCE, SOUND & SHORT & HIGH, ends=(HIGH,), meets=True)
RECOVER = Transition("stale rate falls", SOURCE, STALE, ends=(RATE_SOUND,), progress=Progress((_BACK,)))
PLAN = Plan(
    ("C_L_lambda", "q_U", "bq", "alpha", "beta"),
    FIXED,
    State("alpha, beta > 0", lambda s: z3.And(s["alpha"] > 0, s["beta"] > 0)),
    (
        Phase(RATE_SOUND & ~QUEUE_SOUND, QUEUE_RECOVERS),
        Phase(SOUND & ~SHORT, DRAIN),
        Phase(SOUND & SHORT & ~HIGH, RISE),
        Phase(SOUND & SHORT & HIGH, STEADY),
    ),
    standing=(STAY_SOUND, QUEUE_RECOVERS, STAY_SHORT),
)


def build(points: int) -> System:
    """Give the rule on CBR-delay, with beliefs that may be stale at the start and time out at the end."""
    system = MODELS["cbr-delay"](Grid(points), Buffer.ARBITRARY)
    cbr_delay.attach(system, start=Start.ANY, expiry=Expiry.AT_END)
    Rule.load(RULES / "cc_probe_slow_3.toml").encode(system)
    return system


def two_probes(system: System) -> z3.BoolRef:
    """At least two steps send above three times the bound: what the published code assumes of stale beliefs."""
    own = system.flows[0]
    lower = own.beliefs["C_L_lambda"]
    probes = [own.rate[t] > REACH * lower[t - 1] for t in range(1, system.grid.points)]
    pairs = [z3.And(probes[i], probes[j]) for j in range(len(probes)) for i in range(j)]
    return z3.Or(*pairs)


def run(request: Request, on_progress: OnProgress) -> list[LemmaResult]:
    """Prove the suite."""
    system = build(request.points or POINTS)
    steady = State("steady", STEADY.start.holds)
    queue = Fraction(17, 10)
    bounded = queue_below(system, queue, 3)
    least = Constant("C_L_lambda >=", LEAST, Fraction(23, 100), "C")
    most = Constant("q_U <=", MOST, MOST, "CR")
    step = Constant("rises by", "alpha/5", "alpha/5")
    waiting = Constant("queue <=", queue, Fraction(3, 2), "C(R+D) + 3 MSS")
    packets = Constant("MSS lost in a step <=", Fraction(3), Fraction(2))
    factor = Constant("factor", Fraction(19, 10), Fraction(19, 10))
    inquiries = [
        inquire(system, STAY_SOUND),
        inquire(system, QUEUE_RECOVERS),
        inquire(system, STAY_SHORT, most),
        inquire(system, DRAIN, most),
        inquire(system, RISE, least, step),
        inquire(system, STEADY, least, waiting, objectives=bounded),
        inquire_bound(system, "losses", SOUND, "at most 3 MSS lost in any step", loss_below(system, 3), packets),
        inquire(system, RECOVER, factor, expects=Outcome.REFUTED),
        inquire(
            system,
            RECOVER,
            factor,
            assumed=(two_probes(system),),
            name="stale rate falls, if there are two probes",
            expects=Outcome.REFUTED,
        ),
        inquire_bound(
            system,
            "utilization",
            steady,
            "S >= 0.3 C(T-D)",
            system.S[system.grid.last] >= Fraction(3, 10) * (system.grid.span - system.grid.jitter),
            Constant("utilization >=", "none found", Fraction(3, 10), "C"),
            expects=Outcome.REFUTED,
        ),
    ]
    return [*answer_all(inquiries, request, on_progress), *summary(stitch(PLAN))]
