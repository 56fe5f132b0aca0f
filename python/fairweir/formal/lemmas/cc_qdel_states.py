"""States of a cc_qdel flow, and the transitions between states that the lemmas of thesis appendix B.4 claim.

cc_qdel is a CCA that sets its rate from beliefs: bounds on the network's parameters that a flow computes from what the
flow observed. A belief is consistent if the true value satisfies the bound, otherwise stale. The thesis has four
states. One state is added here, in which the queue is longer than the observed delay implies: after the link rate fell,
a flow may recently have sent much faster than C. The thesis' state of stale beliefs is split into C_L > C and C_U < C.

Symbols: C, link rate; C_L and C_U, lower and upper bound on C (beliefs); R, round-trip propagation delay; D, maximum
jitter; bq, bytes that wait for link capacity; alpha, bytes of one packet (MSS). The units are such that C = R = D = 1.
A window is the time that one trace of the solvers covers. A window meets the objectives if utilization is at least, and
the queue at most, the value in :class:`Numbers`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import z3

from fairweir.formal.lemmas.result import About
from fairweir.formal.lemmas.states import Amount, Better, Factor, Measure, Progress, State, Transition
from fairweir.formal.lemmas.stitch import Phase, Plan
from fairweir.formal.lemmas.view import FIXED

SOURCE = "thesis B.4"
_ONE = z3.RealVal(1)


@dataclass(frozen=True)
class Numbers:
    """The constants of the lemmas.

    Attributes
    ----------
    moves : minimum factor by which a stale C_L or C_U moves towards C in a window
    least, most : lower limit on C_L and upper limit on C_U in the converged state, in C
    shrinks : minimum factor by which a consistent C_L or C_U moves towards C in a window
    drained : maximum bottleneck queue that counts as drained, in C (R + D)
    drains : minimum decrease of a longer bottleneck queue per window, in C R
    under_way : minimum utilization in windows that meet the objectives, before the steady state
    steady : minimum utilization in the steady state
    queue : maximum queue in windows that meet the objectives, in C (R + D)
    queue_packets : number of packets (alpha) added to `queue`
    """

    moves: Fraction = Fraction(11, 10)
    least: Fraction = Fraction(69, 100)
    most: Fraction = Fraction(301, 100)
    shrinks: Fraction = Fraction(3, 2)
    drained: Fraction = Fraction(33, 10)
    drains: Fraction = Fraction(1, 2)
    under_way: Fraction = Fraction(76, 100)
    steady: Fraction = Fraction(83, 100)
    queue: Fraction = Fraction(5)
    queue_packets: int = 0


OURS = Numbers()
#: The constants of lemmas B.4.2 to B.4.7. The converged range is the published code's; the thesis' text has [27/40, 3].
PUBLISHED = replace(
    OURS, shrinks=Fraction(17, 10), under_way=Fraction(83, 100), queue=Fraction(44, 10), queue_packets=3
)

FLOOR = State("alpha <= C_L", lambda s: s["alpha"] <= s["C_L"])
ORDERED = State("C_L <= C_U", lambda s: s["C_L"] <= s["C_U"])
VALID = State("alpha <= C_L <= C_U", lambda s: z3.And(s["alpha"] > 0, s["alpha"] <= s["C_L"], s["C_L"] <= s["C_U"]))
STALE_LOW = State("C_L > C", lambda s: s["C_L"] > 1)
STALE_HIGH = State("C_U < C", lambda s: s["C_U"] < 1)
LOW_SOUND = State("C_L <= C", lambda s: s["C_L"] <= 1)
HIGH_SOUND = State("C <= C_U", lambda s: s["C_U"] >= 1)
CONSISTENT = State("C_L <= C <= C_U", lambda s: z3.And(s["C_L"] <= 1, s["C_U"] >= 1))
SHOWN = State("delay shows the queue", lambda s: s["shows"] == 1)


def converged(n: Numbers) -> State:
    """Return the converged state: C_L >= `n.least` C and C_U <= `n.most` C."""
    name = f"beliefs in [{float(n.least):g}, {float(n.most):g}] C"
    return State(name, lambda s: z3.And(s["C_L"] >= z3.Q(*n.least.as_integer_ratio()), s["C_U"] <= _q(n.most)))


def drained(n: Numbers) -> State:
    """Return the state in which at most `n.drained` C (R + D) wait for link capacity."""
    return State(f"bq <= {float(n.drained):g} C(R+D)", lambda s: s["bq"] <= _q(2 * n.drained))


@dataclass(frozen=True)
class Lemmas:
    """The transitions of the lemmas for one set of constants.

    Attributes
    ----------
    numbers : Numbers, the constants
    loses_none : True: no belief worsens in a window that meets the objectives; False in the published lemmas
    """

    numbers: Numbers
    loses_none: bool = True

    @property
    def valid(self) -> tuple[Transition, ...]:
        """At a window's end, alpha <= C_L, and C_L <= C_U if a belief is stale, as the thesis assumes without a lemma.

        Consistent beliefs need no lemma for C_L <= C_U, because C is between C_L and C_U.
        """
        source = "tacit in the thesis"
        return (
            Transition("valid, C_L >= alpha", source, VALID, ends=(FLOOR,)),
            Transition("valid, C_L stale", source, STALE_LOW, ends=(ORDERED,), about=About.NETWORK),
            Transition("valid, C_U stale", source, STALE_HIGH, ends=(ORDERED,), about=About.NETWORK),
        )

    @property
    def sound(self) -> tuple[Transition, Transition]:
        """C_L stays consistent regardless of C_U, and C_U regardless of C_L; one lemma of the thesis states both."""
        return (
            Transition("B.4.1 C_L sound", SOURCE, LOW_SOUND, ends=(LOW_SOUND,), about=About.NETWORK),
            Transition("B.4.1 C_U sound", SOURCE, HIGH_SOUND, ends=(HIGH_SOUND,), about=About.NETWORK),
        )

    @property
    def shown(self) -> Transition:
        """After a window with consistent beliefs, the delay shows the queue, because the flow sent at most at 2 C."""
        return Transition("history", "ours", CONSISTENT, ends=(SHOWN,))

    @property
    def low(self) -> Transition:
        """If C_L is above C, because the link rate fell, C_L falls to at most C."""
        ends, rates = (CONSISTENT,), self._rates(Better.DOWN, Better.DOWN, self.numbers.moves)
        return Transition("B.4.2 C_L stale", SOURCE, STALE_LOW, ends, (), rates, True, self.loses_none)

    @property
    def high(self) -> Transition:
        """If C_U is below C, because the link rate rose, C_U rises to at least C."""
        ends, rates = (CONSISTENT,), self._rates(Better.UP, Better.UP, self.numbers.moves)
        return Transition("B.4.2 C_U stale", SOURCE, STALE_HIGH, ends, (), rates, True, self.loses_none)

    @property
    def stays_converged(self) -> Transition:
        """Converged beliefs stay converged in spite of timeouts."""
        near = converged(self.numbers)
        return Transition("B.4.3 range", SOURCE, CONSISTENT & near, ends=(near,))

    @property
    def shrink(self) -> Transition:
        """Consistent beliefs that have not converged move towards C until they have converged."""
        near, rates = converged(self.numbers), self._rates(Better.UP, Better.DOWN, self.numbers.shrinks)
        start = CONSISTENT & ~near
        return Transition("B.4.4 shrink", SOURCE, start, (near,), (), rates, True, self.loses_none)

    @property
    def stays_drained(self) -> Transition:
        """If the beliefs have converged and the bottleneck queue is short, the bottleneck queue stays short."""
        near, short = converged(self.numbers), drained(self.numbers)
        return Transition("B.4.5 queue stays", SOURCE, CONSISTENT & near & short, ends=(short,))

    @property
    def drain(self) -> Transition:
        """If the beliefs have converged and the bottleneck queue is long, the bottleneck queue drains."""
        near, short, n = converged(self.numbers), drained(self.numbers), self.numbers
        by = Amount(lambda _: _q(n.drains), f"{n.drains} CR")
        queue = Measure("bq", lambda s: s["bq"], Better.DOWN, by, lambda _: _q(2 * n.drained))
        start = CONSISTENT & near & ~short
        return Transition("B.4.6 drain", SOURCE, start, ends=(short,), progress=Progress((queue,)))

    def _rates(self, lower: Better, upper: Better, factor: Fraction) -> Progress:
        def of(name: str, better: Better) -> Measure:
            return Measure(name, lambda s: s[name], better, Factor(factor), lambda _: _ONE)

        return Progress((of("C_L", lower), of("C_U", upper)))


def plan() -> Plan:
    """Return the states in the order in which a flow passes them, each with its transition, if ACKs may pause."""
    lemmas = Lemmas(OURS)
    near, short = converged(OURS), drained(OURS)
    known = CONSISTENT & SHOWN
    steady = replace(with_history(lemmas.stays_drained), name="steady", meets=True)
    return Plan(
        ("C_L", "C_U", "bq", "shows", "alpha"),
        FIXED & {"alpha"},
        VALID,
        (
            Phase(STALE_LOW, lemmas.low),
            Phase(STALE_HIGH, lemmas.high),
            Phase(CONSISTENT & ~SHOWN, lemmas.shown),
            Phase(known & ~near, lemmas.shrink),
            Phase(known & near & ~short, with_history(lemmas.drain)),
            Phase(known & near & short, steady),
        ),
        standing=(*lemmas.valid, *lemmas.sound, lemmas.shown, lemmas.stays_converged),
    )


def with_history(transition: Transition) -> Transition:
    """Return the transition restricted to start states in which the delay shows the queue."""
    return replace(transition, name=f"{transition.name}, queue shown", start=transition.start & SHOWN)


def _q(value: Fraction) -> z3.RatNumRef:
    return z3.Q(value.numerator, value.denominator)
