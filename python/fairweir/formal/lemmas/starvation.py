"""Two flows of one CCA that share a queue: bounds on the throughput ratio of periodic behavior.

The module has the lemmas of ``fairweir prove starvation``. A trace lists cwnd or rate, and the bytes sent, served and
lost, of both flows at equally spaced points in time. A trace is periodic if its last and its first point have equal
cwnd or rate, bytes in flight, undetected losses, and state of the algorithm. A property of all periodic traces holds
for all behaviors that repeat with the period of the trace forever.

The starvation paper (SIGCOMM 2022, section 5.4 and appendix C) bounds the throughput ratio over 10 R for AIMD with a
buffer of 1 BDP and for the exponential curve of section 6.3, a CCA whose target rate decreases exponentially with
delay. Jitter starves flows of delay-convergent CCAs (whose delay converges to a bounded range on an ideal link), such
as Vegas.

Symbols: R, round-trip propagation delay; BDP, link rate times R; S_1 and S_2, bytes served of the first and the second
flow.
"""

from __future__ import annotations

from fractions import Fraction

import z3

from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.system import Flow, System
from fairweir.formal.hand_encoded import HAND_ENCODED
from fairweir.formal.lemmas.inquiry import Inquiry, answer_all
from fairweir.formal.lemmas.result import Constant, LemmaResult
from fairweir.formal.lemmas.suites import OnProgress, Request
from fairweir.formal.models import MODELS
from fairweir.formal.solving.solve import ProofOutcome

#: Points per trace for AIMD. The paper's 10 R would be 11 points, for which the solvers need over two CPU minutes.
AIMD_POINTS = 7
POINTS = 11
#: Throughput ratios in the lemmas. The lemmas with a ratio named ``REACHED`` are refuted: a trace reaches the ratio.
AIMD_RATIO = 20
EXPO_RATIO, EXPO_REACHED = 20, 10
VEGAS_REACHED = (10, 100)
#: Minimum utilization by both flows together. Without it, a trace of an almost idle link would count.
BUSY = Fraction(1, 2)


def build(cca: str, model: str, buffer: Buffer, points: int) -> System:
    """Return the constraints of two flows of one CCA on a network model.

    Parameters
    ----------
    cca : str, a name in `HAND_ENCODED`
    model : str, a name in `MODELS`
    buffer : Buffer, the size of the link's buffer
    points : int, number of sample points in a trace
    """
    subject = HAND_ENCODED[cca]
    system = MODELS[model].build(Grid(points), buffer, (subject.sender, subject.sender))
    for flow in range(2):
        subject.encode(system, flow)
    return system


def periodic(system: System) -> list[z3.BoolRef]:
    """Return the constraints that the trace is periodic: its last point equals its first."""
    last = system.grid.last
    out = [system.bottleneck_queue(last) == system.bottleneck_queue(0)]
    for flow in system.flows:
        chosen = flow.cwnd or flow.rate
        out += [chosen[last] == chosen[0], flow.accepted(last) - flow.S[last] == flow.accepted(0) - flow.S[0]]
        out.append(flow.L[last] - flow.Ld[last] == flow.L[0] - flow.Ld[0])
        if "mark" in flow.beliefs:
            out += _aimd_returns(flow, last)
    return out


def _aimd_returns(flow: Flow, last: int) -> list[z3.BoolRef]:
    """Return the constraints that AIMD's state at the last point equals its state at the first point."""
    mark, recover = flow.beliefs["mark"], flow.beliefs["recover"]
    is_over = [recover[t] <= flow.S[t] for t in (0, last)]
    same = flow.accepted(last) - recover[last] == flow.accepted(0) - recover[0]
    return [flow.S[last] - mark[last] == flow.S[0] - mark[0], z3.Or(z3.And(*is_over), same)]


def busy(system: System) -> z3.BoolRef:
    """Return the constraint that the link's utilization is at least :data:`BUSY`."""
    return system.S[system.grid.last] >= BUSY * (system.grid.span - system.grid.jitter)


def fair(system: System, ratio: int) -> z3.BoolRef:
    """Return the constraint that S_2 < `ratio` S_1 at the end of the trace.

    Parameters
    ----------
    system : System, of two flows
    ratio : int, throughput ratio
    """
    first, second = (flow.S[system.grid.last] for flow in system.flows)
    return second < ratio * first


def _inquiry(system: System, name: str, ratio: int, expects: ProofOutcome, *further: z3.BoolRef) -> Inquiry:
    constant = Constant("ratio", f"{'<' if expects is ProofOutcome.PROVED else '>='} {ratio}")
    given = (*periodic(system), busy(system), *further)
    claim = f"periodic, link at least half used ⟹ S_2 < {ratio} S_1"
    return Inquiry(f"{name}, {ratio}", claim, system, given, fair(system, ratio), expects, (constant,))


def run(request: Request, on_progress: OnProgress) -> list[LemmaResult]:
    """Ask the solvers all lemmas about throughput ratios, and return one result per lemma."""
    return answer_all(inquiries, request, on_progress)


def inquiries(request: Request) -> list[Inquiry]:
    """Return the lemmas."""
    points = request.points or POINTS
    aimd = build("aimd", "ccac", Buffer.ARBITRARY, request.points or AIMD_POINTS)
    bdp = z3.Real("beta") == 1
    expo = build("expo", "cbr-delay", Buffer.INFINITE, points)
    vegas = build("vegas_like", "cbr-delay", Buffer.INFINITE, points)
    return [
        _inquiry(aimd, "AIMD, 1 BDP of buffer", AIMD_RATIO, ProofOutcome.PROVED, bdp),
        _inquiry(expo, "exponential curve", EXPO_RATIO, ProofOutcome.PROVED),
        _inquiry(expo, "exponential curve", EXPO_REACHED, ProofOutcome.REFUTED),
        *(_inquiry(vegas, "Vegas-like", ratio, ProofOutcome.REFUTED) for ratio in VEGAS_REACHED),
    ]
