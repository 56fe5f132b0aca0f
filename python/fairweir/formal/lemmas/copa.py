"""A Copa-like algorithm on a CCAC link with an infinite buffer: window and queue are bounded; throughput is not.

CCAC (SIGCOMM 2021), section 6. The published proofs state that a window above 4 BDP + MSS falls, a queue above 4 BDP +
2 MSS falls, a window below one BDP rises, and that these bounds persist. The published encoding excludes traces in
which a step passes without acknowledgments, although the jitter D permits them. With these traces the bounds are 5 BDP,
for traces of 15 points or more, and the window need not rise, even if tokens are wasted only when the queue is empty.
"""

from __future__ import annotations

from fractions import Fraction

import z3

from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.system import System
from fairweir.formal.hand_encoded import HAND_ENCODED
from fairweir.formal.lemmas.ask_transition import inquire, inquire_bound
from fairweir.formal.lemmas.inquiry import answer_all, elsewhere
from fairweir.formal.lemmas.result import Constant, LemmaResult
from fairweir.formal.lemmas.states import ANYWHERE, Amount, Better, Measure, Progress, State, Transition
from fairweir.formal.lemmas.stitch import Phase, Plan, stitch, summary
from fairweir.formal.lemmas.suites import OnProgress, Request
from fairweir.formal.lemmas.view import FIXED
from fairweir.formal.models import MODELS
from fairweir.formal.solving.solve import ProofOutcome

POINTS = 15
SOURCE = "CCAC section 6"
#: Bound on cwnd less one packet, and on the queue less two packets, in BDP. Published: 4.
BOUND = 5
_PACKET = Amount(lambda s: s["alpha"], "MSS")

WIDE = State(f"cwnd > {BOUND} BDP + MSS", lambda s: s["cwnd"] > BOUND + s["alpha"])
NARROW = State(f"cwnd <= {BOUND} BDP + MSS", lambda s: s["cwnd"] <= BOUND + s["alpha"])
LONG = State(f"queue > {BOUND} BDP + 2 MSS", lambda s: s["queue"] > BOUND + 2 * s["alpha"])
SHORT = State(f"queue <= {BOUND} BDP + 2 MSS", lambda s: s["queue"] <= BOUND + 2 * s["alpha"])
_WINDOW = Measure("cwnd", lambda s: s["cwnd"], Better.DOWN, _PACKET, lambda s: BOUND + s["alpha"])
_QUEUE = Measure("queue", lambda s: s["queue"], Better.DOWN, _PACKET, lambda s: BOUND + 2 * s["alpha"])
FALL = Transition("window falls", SOURCE, WIDE, ends=(NARROW,), progress=Progress((_WINDOW,)))
STAY = Transition("window stays", SOURCE, NARROW, ends=(NARROW,))
DRAIN = Transition("queue falls", SOURCE, NARROW & LONG, ends=(SHORT,), progress=Progress((_QUEUE,)))
STEADY = Transition("queue stays", SOURCE, NARROW & SHORT, ends=(SHORT,), meets=True)
PLAN = Plan(
    ("cwnd", "queue", "alpha"),
    FIXED & {"alpha"},
    State("alpha > 0", lambda s: s["alpha"] > 0),
    (Phase(WIDE, FALL), Phase(NARROW & LONG, DRAIN), Phase(NARROW & SHORT, STEADY)),
    standing=(STAY,),
)


def build(points: int, *, composes: bool, model: str = "ccac") -> System:
    """Return the algorithm on a network model.

    Parameters
    ----------
    points : int, number T of sample points
    composes : whether tokens may be wasted whenever no bytes wait for a token, so that two links in series are
        equivalent to one; otherwise tokens may be wasted only when no bytes wait at all
    model : str, a name in `MODELS`
    """
    cca = HAND_ENCODED["copa_like"]
    system = MODELS[model].build(Grid(points), Buffer.INFINITE, (cca.sender,))
    cca.encode(system)
    if not composes:
        step = system.grid.step
        for t in range(1, points):
            system.assume("single link", z3.Or(system.TA[t] >= system.TA[t - 1] + step, system.queue(t) <= 0))
    return system


def run(request: Request, on_progress: OnProgress) -> list[LemmaResult]:
    """Prove the suite."""
    points = request.points or POINTS
    model = request.model or "ccac"
    composing, single = build(points, composes=True, model=model), build(points, composes=False, model=model)
    window = Constant("cwnd <=", f"{BOUND} BDP + MSS", "4 BDP + MSS")
    queue = Constant("queue <=", f"{BOUND} BDP + 2 MSS", "4 BDP + 2 MSS")
    low = State("cwnd < BDP - MSS, queue short", lambda s: z3.And(s["cwnd"] < 1 - s["alpha"], SHORT.holds(s)))
    high = State("cwnd >= BDP - MSS", lambda s: s["cwnd"] >= 1 - s["alpha"])
    grows = Measure("cwnd", lambda s: s["cwnd"], Better.UP, _PACKET, lambda s: 1 - s["alpha"])
    rise = Transition("window rises", SOURCE, low, ends=(high,), progress=Progress((grows,)))
    most = BOUND + (2 + points) * composing.alpha
    bounded = z3.And(*(composing.queue(t) <= most for t in range(composing.grid.points)))
    tenth = Fraction(1, 10) * (composing.grid.span - composing.grid.jitter)
    inquiries = [
        inquire(composing, FALL, window),
        inquire(composing, STAY, window),
        inquire(composing, DRAIN, queue),
        inquire(composing, STEADY, queue, objectives=bounded),
        inquire(single, rise, expects=ProofOutcome.REFUTED, name="window rises, single link"),
        inquire_bound(
            composing, "utilization", ANYWHERE, "S >= 0.1 C(T-D)", composing.S[points - 1] >= tenth,
            expects=ProofOutcome.REFUTED,
        ),
    ]  # fmt: skip
    if model != "ccac":
        inquiries = elsewhere(inquiries)
    return [*answer_all(inquiries, request, on_progress), *summary(stitch(PLAN))]
