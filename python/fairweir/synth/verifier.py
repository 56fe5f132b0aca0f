"""Check with solvers whether a candidate satisfies the invariant on every trace of the network.

Terms: a query names a network model, a template of CCAs and requirements. A candidate is one CCA of the template. A
trace is a time series of what is sent, served, lost and delayed. The invariant is the property that the query requires
on every trace. A belief is a bound on a network parameter that a sender computes from what it observed. Solvers search
for a counterexample, which is a trace that violates the invariant: sat means that one was found, unsat that there is
none, unknown that neither is known.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from functools import cached_property

import z3

from fairweir.ccas.beliefs import QUANTITIES, BeliefFamily, Unit
from fairweir.errors import SolverError
from fairweir.formal.beliefs import Expiry, Terms
from fairweir.formal.beliefs.families import FAMILIES
from fairweir.formal.encoding.encode import encode
from fairweir.formal.encoding.invariant import invariant
from fairweir.formal.encoding.senders import Sender
from fairweir.formal.encoding.system import System
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.models import MODELS
from fairweir.formal.solving.solve import Check, Prepared, VacuousError, check_text
from fairweir.formal.solving.solvers import ALL_SOLVERS, Budget, Satisfiable, SolverName
from fairweir.synth.query import Query
from fairweir.synth.replay import objections
from fairweir.synth.space import Candidate
from fairweir.synth.survivors import Step

#: The traces are split into cases, one question for the solvers each. The first of these answers that any case has is
#: the answer for the candidate: a counterexample in any case refutes the candidate.
_TELLING = (Satisfiable.SAT, Satisfiable.UNKNOWN, Satisfiable.UNSAT)


class Stage(StrEnum):
    """The purpose for which a candidate was judged."""

    SEARCH = "search"
    """To find the classes (candidates that differ only in constants) that have a solution."""
    MEMBERS = "members"
    """To find the members of such a class that satisfy the invariant."""


@dataclass(frozen=True)
class Finding:
    """The solvers' answer for a candidate.

    Attributes
    ----------
    candidate : Candidate
    verdict : unsat if the candidate satisfies the invariant, sat if it does not, and otherwise unknown
    trace : Trace, the counterexample, or None
    solver : str, name of the solver that answered
    cpu_s : float, CPU seconds of the solvers
    reason : str, the reason if the verdict is unknown
    stage : the purpose for which the candidate was judged
    """

    candidate: Candidate
    verdict: Satisfiable
    trace: Trace | None = field(default=None, repr=False)
    solver: str = ""
    cpu_s: float = 0.0
    reason: str = ""
    stage: Stage = Stage.SEARCH


class Verifier:
    """Checks the candidates of a query. The network and the negated invariant are encoded once for all candidates.

    Parameters
    ----------
    query : Query
    budget : Budget, the limits of a solver for one candidate
    solvers : at least one solver; the second is tried if the first gives no answer, and so on
    """

    def __init__(self, query: Query, budget: Budget | None = None, solvers: Sequence[SolverName] = ALL_SOLVERS) -> None:
        self.query = query
        self._budget, self._solvers = budget or Budget(), solvers

    @cached_property
    def system(self) -> System:
        """The variables and constraints of the network and of the beliefs that candidates read."""
        query = self.query
        system = MODELS[query.model].build(query.grid, query.buffer, (Sender.RATE,), query.acks)
        beliefs = query.beliefs
        terms = Terms(beliefs.start, beliefs.expiry, beliefs.resolution)
        for name in dict.fromkeys(("ccac", query.family.name)):
            FAMILIES[name].attach(system, terms=terms)
        return system

    @cached_property
    def claim(self) -> z3.BoolRef:
        """The invariant as a formula over the variables of the network."""
        return invariant(self.system, self.query.demands)

    @cached_property
    def _cases(self) -> tuple[Prepared, ...]:
        """The network and the negated invariant, split into cases. Each trace belongs to one of the cases.

        If beliefs do not time out, a bound on a rate can only become tighter. Tighter beliefs count as progress, which
        the invariant accepts, so in most counterexamples these bounds are constant. In the first case they are
        constant. There, a condition that reads only these bounds selects the same branch at every step, which
        simplifies the solver's task.
        """
        broken = [*self.system.assertions(), z3.Not(self.claim)]
        variables = self._variables()
        if self.query.beliefs.expiry is not Expiry.NEVER:
            return (Prepared(broken, variables),)
        own = self.system.flows[0].beliefs
        # Without timeouts, bounds on rates only tighten.
        bounds = [curve for name, curve in own.items() if QUANTITIES.get(name) is Unit.RATE]
        still = [value == bound[0] for bound in bounds for value in bound[1:]]
        return Prepared([*broken, *still], variables), Prepared([*broken, z3.Not(z3.And(*still))], variables)

    def check(self, candidate: Candidate) -> Finding:
        """Search for a trace on which a candidate violates the invariant, and check such a trace in exact fractions.

        Raises
        ------
        VacuousError : no trace of the network contains the candidate's decisions
        SolverError : a solver is not installed, rejects the input, or returned a counterexample that is not one
        """
        rule = self.query.space.rule(candidate, "candidate")
        check = self._ask_cases(encode(rule, self.system))
        trace = None
        if check.verdict is Satisfiable.SAT:
            trace = Trace.from_values(self.system, check.values)
            wrong = objections(trace, rule, self.query)
            if wrong:
                raise SolverError(f"a counterexample of {check.solver} does not replay: {'; '.join(wrong[:3])}")
        elif check.verdict is Satisfiable.UNSAT:
            spent_s = self._has_trace(encode(rule, self.system), f"a candidate of `{self.query.name}` has no trace")
            check = replace(check, cpu_s=check.cpu_s + spent_s)
        return Finding(candidate, check.verdict, trace, check.solver, check.cpu_s, check.reason)

    def control(self) -> Check:
        """Check that some sender can violate the invariant. If no sender can, every candidate would be a solution.

        Raises
        ------
        VacuousError : no sender can violate the invariant, or the network has no trace at all
        SolverError : a solver is not installed, rejects the input, or gives no answer within the budget
        """
        check = self._ask_cases([])
        if check.verdict is Satisfiable.UNKNOWN:
            raise SolverError(f"no sender is known that violates the invariant: {check.reason}", hint="raise --budget")
        if check.verdict is Satisfiable.SAT:
            return check
        self._has_trace([], f"no trace of {self.query.points} points meets the assumptions of `{self.query.name}`")
        raise VacuousError(
            f"vacuous: no sender can violate the invariant of `{self.query.name}`",
            hint="every candidate would be a solution: require more, or use longer traces",
        )

    def _has_trace(self, decisions: Sequence[z3.BoolRef], otherwise: str) -> float:
        """Check that some trace of the network contains the given decisions; return the solvers' CPU seconds."""
        check = self._ask(Prepared(self.system.assertions()), decisions)
        if check.verdict is Satisfiable.UNSAT:
            raise VacuousError(
                f"vacuous: {otherwise}",
                hint="every candidate would be a solution: look for bounds that exclude every trace",
            )
        if check.verdict is Satisfiable.UNKNOWN:
            raise SolverError(
                f"no trace is known that satisfies the assumptions: {check.reason}", hint="raise --budget"
            )
        return check.cpu_s

    def question(self, candidate: Candidate) -> str:
        """Return a hash of the formulas that are given to the solvers for a candidate, for all cases together."""
        decisions = encode(self.query.space.rule(candidate, "candidate"), self.system)
        texts = (case.script(decisions) for case in self._cases)
        return hashlib.sha256("\0".join(texts).encode()).hexdigest()

    def doubt(self, finding: Finding, question: str, *, is_sealed: bool) -> str:
        """Return the reason why a finding of an earlier run is rejected; empty if it is accepted.

        A counterexample is checked again in exact fractions. A finding without a counterexample is accepted if its
        seal, a keyed hash, is valid and `question` equals :meth:`question` for the candidate.

        Parameters
        ----------
        question : str, the hash stored with the finding
        is_sealed : whether this installation sealed the finding, and the finding is unchanged
        """
        if finding.verdict is Satisfiable.SAT:
            if finding.trace is None:
                return "a counterexample without its trace"
            rule = self.query.space.rule(finding.candidate, "candidate")
            wrong = (
                objections(finding.trace, rule, self.query) if finding.trace.is_of(self.system) else ["another network"]
            )
            return f"its counterexample does not replay: {wrong[0]}" if wrong else ""
        if not is_sealed:
            return "it was changed, or was not written by this installation"
        return "" if question == self.question(finding.candidate) else "it answers another question"

    def _ask_cases(self, decisions: Sequence[z3.BoolRef]) -> Check:
        """Ask the solvers about one case after another until a case has a counterexample.

        If no case has a counterexample, the answer is unknown if it is unknown for any case, and otherwise unsat.
        """
        checks: list[Check] = []
        for case in self._cases:
            checks.append(self._ask(case, decisions))
            if checks[-1].verdict is Satisfiable.SAT:
                break
        telling = min(checks, key=lambda check: _TELLING.index(check.verdict))
        reasons = "; ".join(check.reason for check in checks if check.reason)
        return replace(telling, cpu_s=sum(check.cpu_s for check in checks), reason=reasons)

    def _ask(self, prepared: Prepared, further: Sequence[z3.BoolRef]) -> Check:
        """Ask one solver after another until one answers. Running all solvers in parallel would double the CPU time."""
        text = prepared.script(further)
        cpu_s, reasons = 0.0, []
        for solver in self._solvers:
            check = check_text(text, self._budget, [solver])
            cpu_s += check.cpu_s
            reasons += [check.reason] if check.reason else []
            if check.verdict is not Satisfiable.UNKNOWN:
                break
        return replace(check, cpu_s=cpu_s, reason="; ".join(reasons))

    def _variables(self) -> list[z3.ExprRef]:
        """Return all variables of a trace, including variables that do not occur in the formulas."""
        flow = self.system.flows[0]
        columns = [*flow.beliefs.values(), *flow.delay, flow.rate, flow.past, flow.A, flow.S, self.system.TA]
        return [self.system.alpha, *(term for column in columns for term in column if _is_variable(term))]


def _is_variable(term: z3.ExprRef) -> bool:
    return z3.is_const(term) and bool(term.decl().kind() == z3.Z3_OP_UNINTERPRETED)


def steps_of(trace: Trace, family: BeliefFamily) -> tuple[Step, ...]:
    """Return the steps of a trace at which the sender decides: its observations one R earlier, and the rate sent."""
    flow, grid = trace.flows[0], trace.grid
    out = []
    for t in range(grid.r_steps, grid.points):
        seen = t - grid.r_steps
        quantities = {name: flow.beliefs[name][seen] for name in family.names if name != "qdel_L"}
        if "qdel_L" in family.names:
            quantities["qdel_L"] = max(0, flow.delay[seen] - grid.d_steps) * grid.step
        out.append(Step({**quantities, "alpha": trace.alpha, "R": Fraction(1)}, flow.rate[t]))
    return tuple(out)
