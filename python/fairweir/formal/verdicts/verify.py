"""``fairweir verify``: prove or refute that all traces of a CCA on a network model satisfy a claim.

A trace lists the quantities of a link and its flows at equally spaced points in time. A refutation is a trace that
violates the claim. :mod:`fairweir.formal.exact` evaluates the solver's trace again in exact fractions; it shares no
code with the constraints for solvers. Then the simulator runs the trace packet by packet
(:mod:`fairweir.formal.replay.packets`). If a trace exists that violates the claim by a margin, the result is such a
trace, because a violation by less than a packet would not be visible in the simulator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

from fairweir.documents.arguments import member, one_of, words_for_enums
from fairweir.errors import InvariantError
from fairweir.formal.claims.claim import Assumption, Bound, Claim, parts
from fairweir.formal.encoding.buffers import Buffer, min_size
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.system import Acks, System
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact import violations
from fairweir.formal.models import MODELS
from fairweir.formal.models.user import UserModel, find_model
from fairweir.formal.solving.solve import Answer, ProofOutcome, Question, VacuousError, ask, control
from fairweir.formal.solving.solvers import ALL_SOLVERS, Budget, Race, SolverName
from fairweir.formal.verdicts.subjects import Subject

#: Margins, as fractions of the bound, by which a trace should violate the claim; tried in this order.
MARGINS = (Fraction(1, 2), Fraction(1, 5), Fraction(1, 20))
#: CPU seconds of each solver for each margin. Margins are tried only after the claim is refuted.
MARGIN_BUDGET_S = 10.0


#: Names of claims that bound only losses; with an infinite buffer, such claims are vacuous.
LOSSES = ("loss-events", "large-losses", "loss-amount")


@dataclass(frozen=True)
class Case:
    """Parameters of a verification.

    Attributes
    ----------
    subject : Subject, the CCA
    model : str, a name in `MODELS`, or a user's model as ``file.py:Class``
    claim : Claim
    grid : Grid, the number of points in a trace, their spacing, and the maximum jitter
    buffer : Buffer, the size of the link's buffer
    flows : int, number of flows that share the link; all flows use the subject's CCA
    given : assumptions about the trace
    """

    subject: Subject
    model: str
    claim: Claim
    grid: Grid
    buffer: Buffer
    flows: int = 1
    given: tuple[Assumption, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "buffer", member(Buffer, self.buffer, "buffer"))
        if ":" in self.model:
            object.__setattr__(self, "model", find_model(self.model).name)
        one_of(MODELS, self.model, "model")

    @cached_property
    def system(self) -> System:
        """The constraints of the network model and of the subject for each flow."""
        system = MODELS[self.model].build(self.grid, self.buffer, (self.subject.sender,) * self.flows)
        for flow in range(self.flows):
            self.subject.encode(system, flow)
        return system

    def question(self, claim: Claim) -> Question:
        """Return the question for the solvers whether all traces of this case satisfy `claim`."""
        given = [formula for assumption in self.given for formula in assumption.over(self.system)]
        name = f"{self.subject.name} on {self.model}: {claim.text}"
        anyone = [*self.system.of_any_sender(), *given]
        return Question(name, [*self.system.assertions(), *given], claim.over(self.system), anyone=anyone)

    def why_empty(self) -> str:
        """Return why no sender can violate the claim, if the parameters of the case show this; otherwise empty."""
        grid = self.system.grid
        if not isinstance(self.claim, Bound):
            return ""
        if self.claim.name == "utilization" and grid.span <= grid.jitter:
            needed = grid.d_steps + 2
            return f"T - 1 - D = {grid.span - grid.jitter} R requires no bytes; use --points {needed} or more"
        if self.claim.name in LOSSES and not self.buffer.is_finite:
            return "an infinite buffer loses nothing; use --buffer small, arbitrary or large"
        return ""

    def _whose(self) -> str:
        """Return the words that name the source file of a user's model; empty for other models."""
        own = MODELS[self.model]
        if not isinstance(own, UserModel):
            return ""
        return f" as the user's `{own.source}` (SHA-256 {own.digest[:16]}) defines and judges it"

    def assumed(self) -> list[str]:
        """Return all assumptions on which a verdict depends."""
        grid, floor = self.system.grid, min_size(self.buffer, self.system.grid)
        buffers = {
            Buffer.INFINITE: "an infinite buffer",
            Buffer.SMALL: f"a buffer of {floor} C R",
            Buffer.ARBITRARY: "a buffer of any size above MSS",
            Buffer.LARGE: f"a buffer of at least {floor} C R",
        }
        rests = (
            "never pause longer than a step (published code)"
            if self.system.acks is Acks.STEADY
            else "may pause as long as D allows"
        )
        return [
            f"the {self.system.model} link{self._whose()}, any rate C of more than 5 MSS/R, {buffers[self.buffer]}",
            f"D = {grid.jitter} R; acknowledgements {rests}",
            f"{grid.points} sample points, {grid.per_r} a R: traces of {grid.span} R, from any state of the link on",
            f"{self.flows} flow{'s' if self.flows > 1 else ''} with all its data to send; {self.subject.assumes}",
            *(
                ["C_L and C_U are bounds on C: the link serves within D of a server of rate C; not checked"]
                if self._whose()
                else []
            ),
            *(assumption.text + assumption.comparison.remarks(self.system) for assumption in self.given),
        ]


@dataclass(frozen=True)
class Verification:
    """Result of a verification.

    Attributes
    ----------
    case : Case
    answer : Answer to the claim
    trace : Trace that violates the claim, by a margin if such a trace was found; None if the claim is not refuted
    value : Fraction, the number that the claim bounds, in `trace`; None if the claim does not bound one number
    margin : Fraction, minimum amount by which `trace` violates the claim, as a fraction of the bound
    shown : the values in `trace` of the quantities that the claim names, such as ``queue@1``
    empty : if the claim is proved and has parts joined by "and": the parts that no sender can violate
    cpu_s : float, CPU seconds of all solvers
    """

    case: Case
    answer: Answer
    trace: Trace | None = field(default=None, repr=False)
    value: Fraction | None = None
    margin: Fraction = Fraction(0)
    cpu_s: float = 0.0
    shown: Mapping[str, Fraction] = field(default_factory=dict)
    empty: tuple[Claim, ...] = ()

    @property
    def outcome(self) -> ProofOutcome:
        """The solvers' answer to the claim: proved, refuted, vacuous or unknown."""
        return self.answer.outcome


@words_for_enums
def verify(
    case: Case,
    budget: Budget | None = None,
    solvers: Sequence[SolverName] = ALL_SOLVERS,
    until: Race = Race.FIRST,
    on_step: Callable[[str], object] = lambda _: None,
) -> Verification:
    """Prove or refute the claim of a case; the trace of a refutation is evaluated again in exact fractions.

    Parameters
    ----------
    case : Case
    budget : Budget of each solver
    solvers, until : as for :func:`fairweir.formal.solving.solve.ask`
    on_step : function that is called with a description of each step

    Raises
    ------
    SolverError : a solver is missing or rejects its input, or two solvers contradict each other
    InvariantError : the trace does not violate the claim, or is not a trace of the model, which is a bug in fairweir
    """
    budget = budget or Budget()
    on_step("running the solvers")
    try:
        answer = ask(case.question(case.claim), budget, solvers, until)
    except VacuousError as error:
        words = "; ".join(filter(None, [error.message.removeprefix("vacuous: "), error.hint]))
        return Verification(case, Answer(ProofOutcome.VACUOUS, reason=words))
    if answer.outcome is ProofOutcome.VACUOUS and (why := case.why_empty()):
        answer = replace(answer, reason=f"{answer.reason}; {why}")
    if answer.outcome is ProofOutcome.PROVED:
        on_step("checking whether every sender satisfies a part")
        return _proved(case, answer, budget, solvers)
    if answer.outcome is not ProofOutcome.REFUTED:
        return Verification(case, answer, cpu_s=answer.cpu_s)
    cpu_s, margin, shown = answer.cpu_s, Fraction(0), answer
    on_step("simplifying the trace")
    for wanted in MARGINS:
        claim = case.claim.weaker(wanted)
        if claim is None:
            break
        trial = ask(case.question(claim), Budget(min(MARGIN_BUDGET_S, budget.cpu_s)), solvers)
        cpu_s += trial.cpu_s
        if trial.outcome is ProofOutcome.REFUTED:
            shown, margin = trial, wanted
            break
    on_step("checking the trace exactly")
    trace = Trace.from_values(case.system, shown.values)
    value = judge(case, trace)
    return Verification(case, answer, trace, value, margin, cpu_s, case.claim.shown(trace))


def _proved(case: Case, answer: Answer, budget: Budget, solvers: Sequence[SolverName]) -> Verification:
    """Return the result of a proved claim; check for each part of the claim whether every sender satisfies the part."""
    empty, cpu_s, reason = [], answer.cpu_s, answer.reason
    for part in parts(case.claim):
        found = control(case.question(part), budget, solvers)
        cpu_s += found.cpu_s
        if found.outcome is ProofOutcome.VACUOUS:
            empty.append(part)
        elif found.outcome is not ProofOutcome.PROVED:
            reason = "; ".join(filter(None, [reason, f"it is not known whether every sender satisfies `{part.text}`"]))
    return Verification(case, replace(answer, reason=reason), cpu_s=cpu_s, empty=tuple(empty))


def judge(case: Case, trace: Trace) -> Fraction | None:
    """Evaluate a trace in exact fractions; return the number that the claim bounds, None if it bounds no single number.

    Parameters
    ----------
    case : Case
    trace : Trace, from a solver

    Raises
    ------
    InvariantError : the trace does not violate the claim, or is not a trace of the model
    ConfigError : the trace is not a trace of a user's model; the model's encoding and its `violations` disagree
    """
    broken = violations(trace)
    for flow in range(case.flows):
        broken += case.subject.violations(trace, flow)
    if broken:
        if isinstance(own := MODELS[case.model], UserModel):
            own.fail(f"`constrain` and `violations` disagree: a trace breaks {broken[0]} ({len(broken)} in all)")
        raise InvariantError(f"a solver's trace is not one of the model's: {broken[0]} ({len(broken)} in all)")
    broken_assumptions = [one.text for one in case.given if not one.comparison.holds(trace, is_assumed=True)]
    if broken_assumptions:
        raise InvariantError(f"a solver's trace violates an assumption: {broken_assumptions[0]}")
    value = case.claim.value(trace)
    if case.claim.holds(trace) is not False:
        raise InvariantError(f"a solver's trace does not violate the claim: {case.claim.text}, and it has {value}")
    return value
