"""AIMD on a CCAC link: cwnd falls to at most C (R + D) + beta + MSS and stays there; undetected losses are bounded.

The module has the lemmas of ``fairweir prove aimd``. CCAC is the network model of the CCAC paper (SIGCOMM 2021); the
lemmas are from section 5 of that paper. The published proofs are for a buffer of one BDP, and have a third state, in
which three duplicate ACKs have not yet reported some losses. Here the buffer has any size up to 4 BDP. The network
models of fairweir report each loss after R, so the third state does not exist.

Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; beta, buffer; BDP, C R; MSS (in code: alpha),
bytes of one packet; L, bytes lost; Ld, bytes that the sender knows to be lost; S, bytes served; T, duration of the
trace. The units are such that C = R = D = 1. A window of time is the time that one trace covers.
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
from fairweir.formal.lemmas.states import ANYWHERE, Amount, Better, Measure, Progress, Snapshot, State, Transition
from fairweir.formal.lemmas.stitch import Phase, Plan, stitch, summary
from fairweir.formal.lemmas.suites import OnProgress, Request
from fairweir.formal.lemmas.view import FIXED
from fairweir.formal.models import MODELS
from fairweir.formal.solving.solve import ProofOutcome

POINTS = 10
#: The maximum buffer in the lemmas, BDP. Longer queues would require longer traces.
LARGEST_BUFFER = 4
SOURCE = "CCAC section 5"


def max_cwnd(now: Snapshot) -> z3.ArithRef:
    """Return the maximum cwnd in the steady state: C (R + D) + beta + MSS, in C R."""
    return 2 + now["beta"] + now["alpha"]


WIDE = State("cwnd > C(R+D) + beta + MSS", lambda s: s["cwnd"] > max_cwnd(s))
STEADY = State("cwnd <= C(R+D) + beta + MSS", lambda s: s["cwnd"] <= max_cwnd(s))
_PACKET = Amount(lambda s: s["alpha"], "MSS")
_WINDOW = Measure("cwnd", lambda s: s["cwnd"], Better.DOWN, _PACKET, max_cwnd)
FALL = Transition("window falls", SOURCE, WIDE, ends=(STEADY,), progress=Progress((_WINDOW,)))
STAY = Transition("window stays", SOURCE, STEADY, ends=(STEADY,), meets=True)
POSITIVE = State("alpha > 0", lambda s: s["alpha"] > 0)
PLAN = Plan(("cwnd", "alpha", "beta"), FIXED, POSITIVE, (Phase(WIDE, FALL), Phase(STEADY, STAY)))
#: Number of packets by which cwnd may exceed C (R + D) + beta + MSS within a trace whose first point is in `STEADY`.
EXCESS = 2


def build(points: int, model: str = "ccac") -> System:
    """Return the constraints of one AIMD flow on a network model, with any buffer up to `LARGEST_BUFFER`.

    Parameters
    ----------
    points : int, number of sample points in a trace
    model : str, a name in `MODELS`
    """
    cca = HAND_ENCODED["aimd"]
    system = MODELS[model].build(Grid(points), Buffer.ARBITRARY, (cca.sender,))
    cca.encode(system)
    system.assume("buffer of the suite", z3.Real("beta") <= LARGEST_BUFFER)
    return system


def bounded(system: System, packets: int = EXCESS) -> z3.BoolRef:
    """Return the constraint that cwnd never exceeds the steady state's maximum by more than `packets` packets.

    Parameters
    ----------
    system : System, of one flow
    packets : int, number of packets, each of one MSS
    """
    most = 2 + z3.Real("beta") + (1 + packets) * system.alpha
    return z3.And(*(cwnd <= most for cwnd in system.flows[0].cwnd))


def undetected_below(system: System, bound: z3.ArithRef) -> z3.BoolRef:
    """Return the constraint that the lost bytes of which the sender does not know are at most `bound`, from 2 R on.

    Parameters
    ----------
    system : System, of one flow
    bound : maximum of L - Ld, in C R
    """
    return z3.And(*(system.L[t] - system.Ld[t] <= bound for t in range(2, system.grid.points)))


def run(request: Request, on_progress: OnProgress) -> list[LemmaResult]:
    """Ask the solvers all lemmas about AIMD, and return one result per lemma."""
    return [*answer_all(inquiries, request, on_progress), *summary(stitch(PLAN))]


def inquiries(request: Request) -> list[Inquiry]:
    """Return the lemmas."""
    system = build(request.points or POINTS, request.model or "ccac")
    limit = Constant("cwnd <=", "C(R+D) + beta + MSS", "C(R+D) + beta + MSS")
    falls = Constant("cwnd falls by", "MSS", "MSS")
    one = (z3.Real("beta") == 1,)
    smaller = State("cwnd <= C(R+D) + beta", lambda s: s["cwnd"] <= 2 + s["beta"])
    tight = Transition("without the packet", "ours", smaller, ends=(smaller,))
    lossy = undetected_below(system, 2 + system.alpha)
    half = system.S[system.grid.last] >= Fraction(1, 2) * (system.grid.span - system.grid.jitter)
    in_flight = Constant("L - Ld <=", "C(R+D) + MSS", "C(R+D) + MSS")

    def within(packets: int, expects: ProofOutcome) -> Inquiry:
        words = f"cwnd within {packets} more MSS throughout"
        name = f"window on the way, {packets} MSS"
        return inquire_bound(system, name, STEADY, words, bounded(system, packets), expects=expects)

    found = [
        inquire(system, FALL, limit, falls),
        inquire(system, STAY, limit, objectives=bounded(system)),
        inquire(system, tight, expects=ProofOutcome.REFUTED),
        within(EXCESS, ProofOutcome.PROVED),
        within(EXCESS - 1, ProofOutcome.REFUTED),
        inquire_bound(
            system, "losses in flight, beta = BDP", STEADY, "L - Ld <= C(R+D) + MSS", lossy, in_flight, assumed=one
        ),
        inquire_bound(system, "utilization", ANYWHERE, "S >= C(T-D)/2", half, expects=ProofOutcome.REFUTED),
    ]
    return found if request.model in (None, "ccac") else elsewhere(found)
