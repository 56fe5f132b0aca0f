"""Prove claims about a controller, leaf by leaf.

A *leaf* of the controller's decision tree has an action, which the *shield*, a list of rules, may limit. The *belief
set* is the set of all links that can explain the sender's observations; M is the minimum of their rates. The tree
decides by *features*, numbers computed from the belief set. A claim must hold on every link of every belief set whose
features lead to the leaf.

A claim about a leaf is ``proved`` if its negation contradicts the conditions on the path to the leaf, the properties of
belief sets, and the rules of the shield. Comparisons have a tolerance for rounding of doubles. Two control questions
must also be satisfiable: some features lead to the leaf, and some other action there violates the claim. If not, the
claim is ``vacuous``. A claim is ``refuted`` only if :mod:`fairweir.game.realise` finds observations whose belief set
leads to the leaf, and a link of this set on which the claim is violated. Otherwise the claim is ``unknown``, and the
verdict has the features for which the solver found a violation.
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

#: Amounts, in units of M, by which a refutation must violate the claim. They are tried in this order: the larger the
#: violation, the more clearly a replay shows it.
MARGINS: Final = (Fraction(1, 4), Fraction(1, 20), Fraction(1, 1000))
NOT_REACHED: Final = "no state reaches this leaf: the conditions on its path contradict each other"
EDGE: Final = "it can be broken only where a comparison is decided by rounding"


@dataclass(frozen=True)
class LeafVerdict:
    """The verdict on one claim about one leaf.

    Attributes
    ----------
    leaf : int, index of the leaf's node
    outcome : ProofOutcome
    cpu_s : float, CPU seconds of all solvers; if claims are proved together, the time is divided among them
    solver : str, the solver that answered
    reason : str, why the claim is vacuous or unknown
    features : features, in units of M, for which the claim is violated; empty if it is proved or vacuous
    refutation : Refutation, in packets, if the claim is refuted
    certificate : Certificate of the proof, if it was requested and found
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
    """A leaf of a controller, with the questions about it for the solvers.

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
        """The input of the decision, as unknowns."""
        return State.unknown()

    @cached_property
    def facts(self) -> list[z3.BoolRef]:
        """The constraints that hold in every state."""
        return self.state.facts(self.controller)

    def reached(self, tolerance: Fraction = Fraction(0)) -> list[z3.BoolRef]:
        """Return the constraints under which the tree reaches this leaf."""
        return [*self.facts, *on_path(self.state, self.path, tolerance)]

    def acted(self, tolerance: Fraction = Fraction(0)) -> tuple[Step, list[z3.BoolRef]]:
        """Return a step in which the tree reaches this leaf, and the constraints that its action is the leaf's action
        after the shield.
        """
        action, held = shielded(self.state, self.controller, self.leaf, "", tolerance)
        return Step(self.state.truth, action), [*self.reached(tolerance), *held]

    def negated(self, claims: Iterable[Claim]) -> str:
        """Return a question in SMT-LIB. It is satisfiable if one of the claims can be violated, given the rounding of
        doubles.
        """
        import z3

        step, held = self.acted(TOLERANCE)
        return Prepared(held).script([z3.Or(*(z3.Not(claim.over(step, SLACK)) for claim in claims))])

    def control(self, claims: Iterable[Claim]) -> Prepared:
        """Return the control question: does a state lead to this leaf in which, for each claim, some action violates
        the claim?
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
    budget : Budget of each solver for one question
    with_certificates : bool, whether to find a certificate for each proof; two independent checkers must accept it
    realiser : Realiser, which searches for observations that refute claims; None: violated claims stay unknown
    """

    budget: Budget = field(default_factory=lambda: Budget(20.0))
    solvers: Sequence[SolverName] = ALL_SOLVERS
    with_certificates: bool = False
    realiser: Realiser | None = None

    def prove(
        self, controller: Controller, claims: Sequence[Claim], on_leaf: Callable[[int], object] = lambda _: None
    ) -> list[LeafVerdict]:
        """Return a verdict on every claim about every leaf.

        Raises
        ------
        SolverError : a solver is missing, does not understand a question, or two solvers contradict each other
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
        """Return the verdict on one claim, if the control question for all claims together was not satisfiable."""
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
        """Search for observations that refute a claim, and return the verdict."""
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
    """Return the features, the link and the action of the solver's counterexample, in units of M."""
    names = [*asked.state.features, "C", "B", "queue"]
    last = len(asked.controller.shield)
    names += [f"{what}_{last}" for what in ("message", "rate", "encode")]
    shown = {name: found.values[name] for name in names if name in found.values}
    return {name.removesuffix(f"_{last}"): value for name, value in shown.items() if not isinstance(value, bool)}
