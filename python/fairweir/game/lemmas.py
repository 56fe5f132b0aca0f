"""Prove properties of the link model that the proofs of controllers use.

Symbols: C and B, the link's rate and buffer; q, its queue; A, N, I, S, the cumulative packets sent, accepted by the
queue, served and delivered; M, the minimum of C over all links that explain the sender's observations; R0, the minimum
of C + B - q. :mod:`fairweir.game.model` has the equations.

Claims about a leaf of a controller's decision tree (:mod:`fairweir.game.claims`) concern one step on one link. Their
proofs use two lemmas: the queue is at most the buffer, and formulas give the loss and the queue of a step. Two further
lemmas state that a bound on the queue bounds the latency, and that the model's equations are equivalent to the
published min-plus model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fairweir.ccas.controller_file import POINTS, LinkRange
from fairweir.errors import SolverError
from fairweir.formal.certificates.certificate import Certificate, certify
from fairweir.formal.solving.solve import Answer, ProofOutcome, Question, ask
from fairweir.formal.solving.solvers import ALL_SOLVERS, Budget, SolverName
from fairweir.game.action import Action, is_maximum
from fairweir.game.claims import DRAINS, Step
from fairweir.game.model import Path, Terms, explains, step
from fairweir.game.state import Point

if TYPE_CHECKING:
    import z3

#: Number of steps over which the model's equations are compared with the min-plus model.
UNROLLED: Final = 4


@dataclass(frozen=True)
class Lemma:
    """A lemma: its name, its statement in words, and a function that returns the question for the solvers."""

    name: str
    statement: str
    question: Callable[[], Question]


@dataclass(frozen=True)
class Proved:
    """The solvers' answer to a lemma.

    Attributes
    ----------
    certificate : Certificate of the proof, if it was requested and found
    uncertified : str, why there is no certificate although one was requested
    """

    lemma: Lemma
    answer: Answer
    certificate: Certificate | None = None
    uncertified: str = ""

    def document(self) -> dict[str, object]:
        """Return the lemma and the answer as a JSON document."""
        return {
            "lemma": self.lemma.name, "statement": self.lemma.statement, "status": self.answer.outcome.value,
            "cpu_s": round(self.answer.cpu_s, 4), "is_certified": self.certificate is not None,
        }  # fmt: skip


def prove_lemmas(
    budget: Budget | None = None, solvers: Sequence[SolverName] = ALL_SOLVERS, *, with_certificates: bool = False
) -> list[Proved]:
    """Ask the solvers to prove every lemma.

    Raises
    ------
    SolverError : a solver is missing, does not understand a question, or two solvers contradict each other
    """
    budget = budget or Budget(60.0)
    found = []
    for lemma in lemmas():
        question = lemma.question()
        answer = ask(question, budget, solvers)
        certificate, why = None, ""
        if with_certificates and answer.outcome is ProofOutcome.PROVED:
            try:
                certificate = certify(question.negated(), budget.z3_steps)
            except SolverError as error:
                why = str(error)
        found.append(Proved(lemma, answer, certificate, why))
    return found


def lemmas() -> Iterator[Lemma]:
    """Yield every lemma."""
    for visible in range(POINTS + 1):
        yield Lemma(
            f"queue within buffer, {visible} of {POINTS} points visible",
            "every link that explains a window has 0 <= q <= B at the next point; so R0 >= M",
            lambda visible=visible: _queue_within_buffer(visible),  # type: ignore[misc]
        )
    yield Lemma(
        "a step", "loss = max(0, q + rate - (C + B)), and max(0, min(q + rate, C + B) - C) waits afterwards", _one_step
    )
    for steps in DRAINS:
        yield Lemma(
            f"drained in {steps} steps",
            f"a queue of at most {steps} C is served {steps} steps later, and delivered one step after that",
            lambda steps=steps: _drained(steps),  # type: ignore[misc]
        )
    yield Lemma(
        "min-plus",
        f"over {UNROLLED} steps: I[t] = min over s of N[t-s] + C s; N[t] = min over s of what B and arrivals allow",
        _min_plus,
    )


def _queue_within_buffer(visible: int) -> Question:
    import z3

    window, path = Terms.unknown(POINTS, visible), Path.named("", POINTS)
    assumed = [*window.orderly(), *explains(path, window, LinkRange())]
    held = z3.And(path.queue >= 0, path.queue <= path.b, path.room >= path.c)
    return Question("queue within buffer", assumed, held)


def _running() -> tuple[z3.ArithRef, z3.ArithRef, z3.ArithRef, z3.ArithRef, list[z3.BoolRef]]:
    """Return C, B, N and I of a link in an arbitrary state, and the constraints on them."""
    import z3

    c, b, accepted, served = (z3.Real(name) for name in ("C", "B", "N_0", "I_0"))
    return c, b, accepted, served, [c > 0, b >= 0, served >= 0, served <= accepted, accepted <= served + b]


def _one_step() -> Question:
    import z3

    c, b, accepted, served, held = _running()
    rate, after, left = z3.Real("rate"), z3.Real("N_1"), z3.Real("I_1")
    held += [rate >= 0, *step(c, b, (accepted, served), (after, left), rate)]
    reported = Step(Point(c, b, accepted - served), Action(z3.RealVal(0), rate, z3.RealVal(0)))
    waits = z3.If(reported.link.q + rate <= c + b, reported.link.q + rate, c + b) - c
    zero = z3.RealVal(0)
    claim = z3.And(is_maximum(accepted + rate - after, reported.loss, zero), is_maximum(after - left, waits, zero))
    return Question("a step", held, claim)


def _drained(steps: int) -> Question:
    import z3

    c, b, accepted, served, held = _running()
    first = accepted
    held.append(accepted - served <= steps * c)
    for t in range(1, steps + 1):
        after, left, arriving = z3.Real(f"N_{t}"), z3.Real(f"I_{t}"), z3.Real(f"a_{t}")
        held += [arriving >= 0, *step(c, b, (accepted, served), (after, left), arriving)]
        accepted, served = after, left
    delivered = z3.Real("S")
    # Packets served by t are delivered by t + 1: S[t+1] >= I[t].
    held.append(delivered >= served)
    return Question("drained", held, z3.And(served >= first, delivered >= first))


def _min_plus() -> Question:
    import z3

    c, b, first, start, held = _running()
    accepted, served, sent = [first], [start], [z3.Real("A_0")]
    held.append(sent[0] >= first)
    for t in range(1, UNROLLED + 1):
        accepted.append(z3.Real(f"N_{t}"))
        served.append(z3.Real(f"I_{t}"))
        sent.append(z3.Real(f"A_{t}"))
        arriving = sent[t] - sent[t - 1]
        held += [arriving >= 0, *step(c, b, (accepted[t - 1], served[t - 1]), (accepted[t], served[t]), arriving)]
    claims = []
    for t in range(1, UNROLLED + 1):
        service = [accepted[t - s] + c * s for s in range(t)] + [start + c * t]
        room = [served[t - s] + b + sent[t] - sent[t - s] for s in range(t + 1)]
        arrived = [accepted[t - s] + sent[t] - sent[t - s] for s in range(1, t + 1)]
        for value, several in ((served[t], service), (accepted[t], [*room, *arrived])):
            claims += [*(value <= one for one in several), z3.Or(*(value >= one for one in several))]
    return Question("min-plus", held, z3.And(*claims))
