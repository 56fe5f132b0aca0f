"""Whether a candidate keeps the invariant on every trace of the network: CEGIS' verifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from functools import cached_property

import z3

from fairweir.errors import SolverError
from fairweir.formal import properties
from fairweir.formal.beliefs import cbr_delay, ccac
from fairweir.formal.encode import encode
from fairweir.formal.invariant import Demands, invariant, went_down
from fairweir.formal.models import MODELS
from fairweir.formal.rule import BeliefFamily
from fairweir.formal.senders import Sender
from fairweir.formal.smtlib import Value
from fairweir.formal.solve import Check, Prepared, VacuousError, check_text
from fairweir.formal.solvers import ALL_SOLVERS, Budget, Satisfiable, SolverName
from fairweir.formal.system import System
from fairweir.synth.query import LargeLoss, Query
from fairweir.synth.space import Candidate
from fairweir.synth.survivors import Step

#: A buffer is large from so many C (R + D) on (thesis section 4.2.1).
LARGE_BUFFER = 3


class Stage(StrEnum):
    """What a candidate was judged for."""

    SEARCH = "search"
    """To find classes with a solution."""
    MEMBERS = "members"
    """To see which members of such a class hold."""


@dataclass(frozen=True)
class Finding:
    """What the solvers say of a candidate.

    Attributes
    ----------
    candidate : Candidate
    verdict : unsat if it keeps the invariant, sat if it does not, else unknown
    steps : what candidates see and what was sent, of a counterexample
    values : dict from variable to exact value, of a counterexample
    solver : str, who answered
    cpu_s : float, CPU seconds of the solvers
    reason : str, why it is unknown
    stage : what it was asked for
    """

    candidate: Candidate
    verdict: Satisfiable
    steps: tuple[Step, ...] = field(default=(), repr=False)
    values: Mapping[str, Value] = field(default_factory=dict, repr=False)
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
    solvers : whom to ask, one after the other until one knows; at least one
    """

    def __init__(self, query: Query, budget: Budget | None = None, solvers: Sequence[SolverName] = ALL_SOLVERS) -> None:
        self.query = query
        self._budget, self._solvers = budget or Budget(), solvers

    @cached_property
    def system(self) -> System:
        """The network with the beliefs of the query's family attached."""
        query = self.query
        system = MODELS[query.model](query.grid, query.buffer, (Sender.RATE,), query.acks)
        beliefs = query.beliefs
        ccac.attach(system, start=beliefs.start, expiry=beliefs.expiry)
        if query.family is BeliefFamily.CBR_DELAY:
            cbr_delay.attach(system, start=beliefs.start, expiry=beliefs.expiry, resolution=beliefs.resolution)
        return system

    @cached_property
    def claim(self) -> z3.BoolRef:
        """What a candidate must ensure on every trace."""
        asked, system = self.query.objectives, self.system
        demands = Demands(
            asked.utilization, asked.queue, asked.large_loss is LargeLoss.ALWAYS, self.query.beliefs.start
        )
        claim = invariant(system, demands)
        if asked.large_loss is not LargeLoss.LARGE_BUFFERS or system.beta is None:
            return claim
        is_small = system.beta < LARGE_BUFFER * (1 + system.grid.jitter)
        return z3.And(claim, z3.Or(is_small, properties.large_losses(system), went_down(system)))

    @cached_property
    def _prepared(self) -> Prepared:
        return Prepared([*self.system.assertions(), z3.Not(self.claim)], self._variables())

    def check(self, candidate: Candidate) -> Finding:
        """Look for a trace on which a candidate breaks the invariant.

        Raises
        ------
        SolverError : a solver is missing, does not understand, or two contradict each other
        """
        rule = self.query.space.rule(candidate, "candidate")
        check = self._ask(self._prepared, encode(rule, self.system))
        steps = self.steps(check.values) if check.verdict is Satisfiable.SAT else ()
        return Finding(candidate, check.verdict, steps, check.values, check.solver, check.cpu_s, check.reason)

    def control(self) -> Check:
        """Check that the network has a trace at all, whoever sends: without one every candidate would be a solution.

        Raises
        ------
        VacuousError : there is none
        SolverError : a solver is missing or does not understand; or no answer within the budget
        """
        check = self._ask(Prepared(self.system.assertions()), [])
        if check.verdict is Satisfiable.UNSAT:
            raise VacuousError(
                f"vacuous: no trace of {self.query.points} points meets the assumptions of `{self.query.name}`",
                hint="every candidate would be a solution: look for bounds that leave no trace",
            )
        if check.verdict is Satisfiable.UNKNOWN:
            raise SolverError(f"no trace is known that meets the assumptions: {check.reason}", hint="raise --budget")
        return check

    def _ask(self, prepared: Prepared, further: Sequence[z3.BoolRef]) -> Check:
        """Ask one solver after the other until one knows: racing them would cost both their time on every candidate."""
        text = prepared.script(further)
        cpu_s, reasons = 0.0, []
        for solver in self._solvers:
            check = check_text(text, self._budget, [solver])
            cpu_s += check.cpu_s
            reasons += [check.reason] if check.reason else []
            if check.verdict is not Satisfiable.UNKNOWN:
                break
        return replace(check, cpu_s=cpu_s, reason="; ".join(reasons))

    def steps(self, values: Mapping[str, Value]) -> tuple[Step, ...]:
        """Give what candidates would have seen and what was sent at each step of a counterexample."""
        flow, delay = self.system.flows[0], self.query.grid.r_steps

        def exact(term: z3.ArithRef) -> Fraction:
            value = values[term.sexpr().strip("|")]
            if isinstance(value, bool):
                raise SolverError(f"a solver gave a truth value for the number `{term}`")
            return value

        alpha, out = exact(self.system.alpha), []
        for t in range(delay, self.query.points):
            seen = {name: exact(flow.beliefs[name][t - delay]) for name in self.query.family.names if name != "qdel_L"}
            if "qdel_L" in self.query.family.names:
                seen["qdel_L"] = self._qdel_l(values, t - delay)
            out.append(Step({**seen, "alpha": alpha, "R": Fraction(1)}, exact(flow.rate[t])))
        return tuple(out)

    def _qdel_l(self, values: Mapping[str, Value], t: int) -> Fraction:
        grid = self.query.grid
        bits = self.system.flows[0].delay[t][grid.d_steps + 1 :]
        return sum((grid.step for bit in bits if values[bit.sexpr().strip("|")]), Fraction(0))

    def _variables(self) -> list[z3.ExprRef]:
        flow = self.system.flows[0]
        beliefs = [value for name in self.query.family.names if name != "qdel_L" for value in flow.beliefs[name]]
        bits = [bit for row in flow.delay for bit in row[1:]]
        return [*beliefs, *bits, *flow.rate, self.system.alpha]
