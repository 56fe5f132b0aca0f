"""CEGIS' verifier: checks whether a candidate satisfies the invariant on every trace of the network."""

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

#: Precedence of the cases' answers: a trace in any case refutes; otherwise a case without an answer gives unknown.
_TELLING = (Satisfiable.SAT, Satisfiable.UNKNOWN, Satisfiable.UNSAT)


class Stage(StrEnum):
    """Purpose for which a candidate was judged."""

    SEARCH = "search"
    """Search for classes with a solution."""
    MEMBERS = "members"
    """Search for the members of such a class that hold."""


@dataclass(frozen=True)
class Finding:
    """The solvers' result for a candidate.

    Attributes
    ----------
    candidate : Candidate
    verdict : unsat if the candidate satisfies the invariant, sat if it does not, else unknown
    trace : Trace, the counterexample, or None
    solver : str, the solver that answered
    cpu_s : float, CPU seconds of the solvers
    reason : str, why the verdict is unknown
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
    """The network and the negated invariant of a query, encoded once.

    Parameters
    ----------
    query : Query
    budget : Budget, of each solver for each candidate
    solvers : solvers to try, one after another until one answers; at least one
    """

    def __init__(self, query: Query, budget: Budget | None = None, solvers: Sequence[SolverName] = ALL_SOLVERS) -> None:
        self.query = query
        self._budget, self._solvers = budget or Budget(), solvers

    @cached_property
    def system(self) -> System:
        """The network with the beliefs of the query's family attached."""
        query = self.query
        system = MODELS[query.model].build(query.grid, query.buffer, (Sender.RATE,), query.acks)
        beliefs = query.beliefs
        terms = Terms(beliefs.start, beliefs.expiry, beliefs.resolution)
        for name in dict.fromkeys(("ccac", query.family.name)):
            FAMILIES[name].attach(system, terms=terms)
        return system

    @cached_property
    def claim(self) -> z3.BoolRef:
        """The claim that a candidate must satisfy on every trace."""
        return invariant(self.system, self.query.demands)

    @cached_property
    def _cases(self) -> tuple[Prepared, ...]:
        """The network and the negated claim, split into cases; each trace satisfies one of them.

        Bounds on rates that never time out only tighten. They are constant in most counterexamples, because shrinking
        beliefs count as progress. Conditions that read only these bounds then take the same branch at every step, which
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
        """Search for a trace on which a candidate violates the invariant, and judge the trace exactly.

        Raises
        ------
        VacuousError : the candidate has no trace at all
        SolverError : a solver is missing, rejects the input, or returned an invalid counterexample
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
        """Check that some sender violates the invariant; otherwise every candidate would be a solution.

        Raises
        ------
        VacuousError : no sender violates it, or the network has no trace at all
        SolverError : a solver is missing, rejects the input, or gives no answer within the budget
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
        """Check that the network has a trace under these decisions, and return the solvers' CPU seconds."""
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
        """Return the hash of the solvers' questions about a candidate, for all cases together."""
        decisions = encode(self.query.space.rule(candidate, "candidate"), self.system)
        texts = (case.script(decisions) for case in self._cases)
        return hashlib.sha256("\0".join(texts).encode()).hexdigest()

    def doubt(self, finding: Finding, question: str, *, is_sealed: bool) -> str:
        """Return the reason why a finding of an earlier run is rejected; empty if it is accepted.

        A counterexample is judged again by definition. A finding without a counterexample is accepted if its seal is
        valid and its question is the same.

        Parameters
        ----------
        question : str, the hash stored with the finding
        is_sealed : whether this installation sealed the finding and it is unchanged
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
        """Check the cases in order until one has a trace; without a trace, return unknown if any case is unknown."""
        checks: list[Check] = []
        for case in self._cases:
            checks.append(self._ask(case, decisions))
            if checks[-1].verdict is Satisfiable.SAT:
                break
        telling = min(checks, key=lambda check: _TELLING.index(check.verdict))
        reasons = "; ".join(check.reason for check in checks if check.reason)
        return replace(telling, cpu_s=sum(check.cpu_s for check in checks), reason=reasons)

    def _ask(self, prepared: Prepared, further: Sequence[z3.BoolRef]) -> Check:
        """Try the solvers in order until one answers; running them in parallel would double the CPU time per
        candidate.
        """
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
        """Return the variables of a trace, including those that do not occur in the formulas."""
        flow = self.system.flows[0]
        columns = [*flow.beliefs.values(), *flow.delay, flow.rate, flow.past, flow.A, flow.S, self.system.TA]
        return [self.system.alpha, *(term for column in columns for term in column if _is_variable(term))]


def _is_variable(term: z3.ExprRef) -> bool:
    return z3.is_const(term) and bool(term.decl().kind() == z3.Z3_OP_UNINTERPRETED)


def steps_of(trace: Trace, family: BeliefFamily) -> tuple[Step, ...]:
    """Return a candidate's observations and the rate sent at each step of a trace."""
    flow, grid = trace.flows[0], trace.grid
    out = []
    for t in range(grid.r_steps, grid.points):
        seen = t - grid.r_steps
        quantities = {name: flow.beliefs[name][seen] for name in family.names if name != "qdel_L"}
        if "qdel_L" in family.names:
            quantities["qdel_L"] = max(0, flow.delay[seen] - grid.d_steps) * grid.step
        out.append(Step({**quantities, "alpha": trace.alpha, "R": Fraction(1)}, flow.rate[t]))
    return tuple(out)
