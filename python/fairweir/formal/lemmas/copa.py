"""A Copa-like algorithm on a CCAC link with an infinite buffer: cwnd and queue stay bounded; utilization may be low.

The module has the lemmas of ``fairweir prove copa``. CCAC is the network model of the CCAC paper (SIGCOMM 2021): a
token bucket serves the link, and tokens are wasted if too few bytes wait. The lemmas are from section 6 of that paper.
The published proofs state that a cwnd above 4 BDP + MSS falls, that a queue above 4 BDP + 2 MSS falls, that a cwnd
below one BDP rises, and that these bounds persist. The published encoding excludes traces in which no byte is
acknowledged during a step, although the jitter D permits such traces. With these traces, the bounds are 5 BDP instead
of 4 BDP for traces of 15 points or more. The cwnd need not rise, even if tokens are wasted only when the queue is
empty.

Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; BDP, C R; MSS (in code: alpha), bytes of one
packet; S, bytes served; TA, tokens admitted to the bucket; T, duration of a trace. The units are such that C = R = 1.
"""

from __future__ import annotations

from fractions import Fraction

import z3

from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.system import System
from fairweir.formal.hand_encoded import HAND_ENCODED
from fairweir.formal.lemmas.ask_transition import inquire, inquire_bound
from fairweir.formal.lemmas.inquiry import Inquiry, answer_all, elsewhere
from fairweir.formal.lemmas.result import Constant, LemmaResult
from fairweir.formal.lemmas.states import ANYWHERE, Amount, Better, Measure, Progress, State, Transition
from fairweir.formal.lemmas.stitch import Phase, Plan, stitch, summary
from fairweir.formal.lemmas.suites import OnProgress, Request
from fairweir.formal.lemmas.view import FIXED
from fairweir.formal.models import MODELS
from fairweir.formal.solving.solve import ProofOutcome

POINTS = 15
SOURCE = "CCAC section 6"
#: Bound in BDP: cwnd is at most BOUND BDP + MSS, and the queue is at most BOUND BDP + 2 MSS. Published: 4.
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
    """Return the constraints of one flow of the Copa-like algorithm on a network model.

    Parameters
    ----------
    points : int, number of sample points in a trace
    composes : True: tokens may be wasted when no byte waits for a token, although bytes may be delayed by jitter; one
        such link also covers two links in series. False: tokens may be wasted only when no byte waits for any reason
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
    """Ask the solvers all lemmas about the Copa-like algorithm, and return one result per lemma."""
    return [*answer_all(inquiries, request, on_progress), *summary(stitch(PLAN))]


def inquiries(request: Request) -> list[Inquiry]:
    """Return the lemmas."""
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
    found = [
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
    return found if model == "ccac" else elsewhere(found)
