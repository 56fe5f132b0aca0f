"""Proof of a controller, leaf by leaf: does each claim hold on every link of every belief set that reaches the leaf?

A claim about a leaf is ``proved`` if its negation is unsatisfiable under three groups of constraints: the conditions on
the path to the leaf, the properties of belief sets, and the shield. Comparisons have a tolerance for rounding of
doubles. Two controls must also be satisfiable: some state reaches the leaf, and some other action violates the claim
there. Otherwise the claim is ``vacuous``. A claim is ``refuted`` only if :mod:`fairweir.game.realise` finds a window of
observations whose belief set reaches the leaf, and a link of that set on which the claim is violated. Otherwise it is
``unknown``, and the verdict has the features that violate it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from fairweir.ccas.controller_file import Condition, Controller, Leaf
from fairweir.errors import SolverError
from fairweir.formal.certificates.certificate import Certificate, certify
from fairweir.formal.solving.solve import NO_SENDER, Check, Prepared, ProofOutcome
from fairweir.formal.solving.solvers import ALL_SOLVERS, Budget, Satisfiable, SolverName
from fairweir.game.action import Action, on_path, shielded
from fairweir.game.claims import SLACK, Claim, Step
from fairweir.game.realise import Realiser, Refutation
from fairweir.game.state import TOLERANCE, State

if TYPE_CHECKING:
    import z3

#: Margins, in M, by which a refutation must violate the claim; they are tried in this order, so that the violation is
#: visible in a replay.
MARGINS: Final = (Fraction(1, 4), Fraction(1, 20), Fraction(1, 1000))
NOT_REACHED: Final = "no state reaches this leaf: the conditions on its path contradict each other"
EDGE: Final = "it can be broken only where a comparison is decided by rounding"


@dataclass(frozen=True)
class LeafVerdict:
    """The result of a claim about a leaf.

    Attributes
    ----------
    leaf : int, index of the leaf's node
    outcome : ProofOutcome
    cpu_s : float, CPU seconds of all solvers; claims that were proved together share them
    solver : str, the solver that answered
    reason : str, why the claim is vacuous or unknown
    features : features, in M, that violate the claim; empty if it holds
    refutation : Refutation, in packets
    certificate : Certificate, of a proof
    question : str, the question in SMT-LIB 2 that the certificate answers
    uncertified : str, why there is no certificate although one was requested
    """

    leaf: int
    claim: Claim
    outcome: ProofOutcome
    cpu_s: float = 0.0
    solver: str = ""
    reason: str = ""
    features: Mapping[str, Fraction] = field(default_factory=dict, repr=False)
    refutation: Refutation | None = field(default=None, repr=False)
    certificate: Certificate | None = field(default=None, repr=False)
    question: str = field(default="", repr=False)
    uncertified: str = ""

    def document(self) -> dict[str, Any]:
        """Return the verdict as a JSON document."""
        found: dict[str, Any] = {
            "claim": self.claim.text, "leaf": self.leaf, "status": self.outcome.value, "cpu_s": round(self.cpu_s, 4),
            "solver": self.solver, "reason": self.reason,
        }  # fmt: skip
        if self.features:
            found["features"] = {name: float(value) for name, value in self.features.items()}
        if self.refutation is not None:
            found["refutation"] = self.refutation.document()
        if self.certificate is not None:
            found["certificate"] = {
                "steps": len(self.certificate.lines),
                "propagations": self.certificate.propagations,
                "lemmas": self.certificate.lemmas,
            }
        if self.uncertified:
            found["uncertified"] = self.uncertified
        return found


@dataclass(frozen=True)
class Asked:
    """A leaf of a controller, as questions.

    Attributes
    ----------
    index : int, index of the leaf's node
    path : conditions on the path to the leaf
    """

    controller: Controller
    index: int
    leaf: Leaf
    path: Sequence[Condition]

    @cached_property
    def state(self) -> State:
        """The unknown state in which the controller decides."""
        return State.unknown()

    @cached_property
    def facts(self) -> list[z3.BoolRef]:
        """Constraints on every state."""
        return self.state.facts(self.controller)

    def reached(self, tolerance: Fraction = Fraction(0)) -> list[z3.BoolRef]:
        """Return the assertions under which a state reaches this leaf."""
        return [*self.facts, *on_path(self.state, self.path, tolerance)]

    def acted(self, tolerance: Fraction = Fraction(0)) -> tuple[Step, list[z3.BoolRef]]:
        """Return the step from such a state, and the assertions that it is the leaf's action after the shield."""
        action, held = shielded(self.state, self.controller, self.leaf, "", tolerance)
        return Step(self.state.truth, action), [*self.reached(tolerance), *held]

    def negated(self, claims: Iterable[Claim]) -> str:
        """Return the SMT-LIB text that is satisfiable if one of the claims can be violated, with rounding of
        doubles.
        """
        import z3

        step, held = self.acted(TOLERANCE)
        return Prepared(held).script([z3.Or(*(z3.Not(claim.over(step, SLACK)) for claim in claims))])

    def control(self, claims: Iterable[Claim]) -> Prepared:
        """Return the question whether a state reaches this leaf in which, for each claim, some action violates the
        claim.
        """
        import z3

        held = self.reached()
        for index, claim in enumerate(claims):
            action = Action.named(f"_any_{index}")
            held += [action.message >= 0, action.rate >= 0, action.encode >= 0]
            held.append(z3.Not(claim.over(Step(self.state.truth, action), Fraction(0))))
        return Prepared(held)


@dataclass(frozen=True)
class Prover:
    """Options for proofs about leaves.

    Attributes
    ----------
    budget : Budget, of each solver for one question
    with_certificates : bool, whether to find a certificate for each proof that both checkers accept
    realiser : Realiser, finds windows for refutations; None: violated claims stay unknown
    """

    budget: Budget = field(default_factory=lambda: Budget(20.0))
    solvers: Sequence[SolverName] = ALL_SOLVERS
    with_certificates: bool = False
    realiser: Realiser | None = None

    def prove(
        self, controller: Controller, claims: Sequence[Claim], on_leaf: Callable[[int], object] = lambda _: None
    ) -> list[LeafVerdict]:
        """Judge every claim of every leaf.

        Raises
        ------
        SolverError : a solver is missing, does not understand, or two contradict each other
        """
        found: list[LeafVerdict] = []
        for done, (index, leaf, path) in enumerate(controller.leaves):
            on_leaf(done)
            found += self._leaf(Asked(controller, index, leaf, path), claims)
        return found

    def _leaf(self, asked: Asked, claims: Sequence[Claim]) -> list[LeafVerdict]:
        control = self._ask(asked.control(claims))
        if control.verdict is not Satisfiable.SAT:
            reached = self._ask(Prepared(asked.reached()))
            if reached.verdict is Satisfiable.UNSAT:
                return [
                    LeafVerdict(asked.index, one, ProofOutcome.VACUOUS, reached.cpu_s, reason=NOT_REACHED)
                    for one in claims
                ]
            return [self._alone(asked, claim) for claim in claims]
        together = self._ask_text(asked.negated(claims))
        if together.verdict is not Satisfiable.UNSAT:
            return [self._claim(asked, claim) for claim in claims]
        cpu_s = (control.cpu_s + together.cpu_s) / len(claims)
        proved = LeafVerdict(asked.index, claims[0], ProofOutcome.PROVED, cpu_s, together.solver)
        proved = self._certified(proved, asked.negated(claims))
        return [replace(proved, claim=claim) for claim in claims]

    def _alone(self, asked: Asked, claim: Claim) -> LeafVerdict:
        """Judge a single claim, after the joint control of all claims was not satisfiable."""
        control = self._ask(asked.control([claim]))
        if control.verdict is Satisfiable.UNSAT:
            return LeafVerdict(asked.index, claim, ProofOutcome.VACUOUS, control.cpu_s, control.solver, NO_SENDER)
        if control.verdict is Satisfiable.UNKNOWN:
            return LeafVerdict(asked.index, claim, ProofOutcome.UNKNOWN, control.cpu_s, reason=control.reason)
        return self._claim(asked, claim)

    def _claim(self, asked: Asked, claim: Claim) -> LeafVerdict:
        text = asked.negated([claim])
        found = self._ask_text(text)
        verdict = LeafVerdict(asked.index, claim, ProofOutcome.UNKNOWN, found.cpu_s, found.solver, found.reason)
        if found.verdict is Satisfiable.UNSAT:
            return self._certified(replace(verdict, outcome=ProofOutcome.PROVED), text)
        if found.verdict is Satisfiable.UNKNOWN:
            return verdict
        return self._broken(asked, replace(verdict, features=_features(asked, found)))

    def _broken(self, asked: Asked, verdict: LeafVerdict) -> LeafVerdict:
        """Search for a window that refutes a claim."""
        step, held = asked.acted()
        prepared = Prepared(held)
        cpu_s, reason = verdict.cpu_s, EDGE
        for margin in MARGINS:
            found = self._ask(prepared, [_broken_by(verdict.claim, step, margin)])
            cpu_s += found.cpu_s
            if found.verdict is not Satisfiable.SAT:
                continue
            verdict = replace(verdict, features=_features(asked, found), cpu_s=cpu_s)
            if self.realiser is None:
                return replace(verdict, reason="features break the claim; no window of observations was searched for")
            refutation = self.realiser.find(asked.controller, asked.index, verdict.claim, margin)
            if refutation is not None:
                return replace(verdict, outcome=ProofOutcome.REFUTED, refutation=refutation, reason="")
            reason = f"features break the claim, but none of {self.realiser.size} windows of observations has them"
        return replace(verdict, cpu_s=cpu_s, reason=reason)

    def _certified(self, verdict: LeafVerdict, text: str) -> LeafVerdict:
        if not self.with_certificates:
            return verdict
        try:
            return replace(verdict, certificate=certify(text, self.budget.z3_steps), question=text)
        except SolverError as error:
            return replace(verdict, uncertified=str(error))

    def _ask(self, prepared: Prepared, further: Iterable[z3.BoolRef] = ()) -> Check:
        return prepared.check(further, self.budget, self.solvers)

    def _ask_text(self, text: str) -> Check:
        from fairweir.formal.solving.solve import check_text

        return check_text(text, self.budget, self.solvers)


def _broken_by(claim: Claim, step: Step, margin: Fraction) -> z3.BoolRef:
    import z3

    return z3.Not(claim.over(step, margin))


def _features(asked: Asked, found: Check) -> dict[str, Fraction]:
    """Return the features of a counterexample, its link, and the packets sent, in M."""
    names = [*asked.state.features, "C", "B", "queue"]
    last = len(asked.controller.shield)
    names += [f"{what}_{last}" for what in ("message", "rate", "encode")]
    shown = {name: found.values[name] for name in names if name in found.values}
    return {name.removesuffix(f"_{last}"): value for name, value in shown.items() if not isinstance(value, bool)}
