"""The search: candidates are proposed, and then proved or refuted; each counterexample eliminates others (figure 4.1).

The search ends when no candidate is left. Which candidates are examined depends on the order of the answers, and
therefore on the number of workers. The classes that have a solution do not depend on it, and neither does the
representative of a class: the member with the smallest constants that holds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fairweir.documents.arguments import words_for_enums
from fairweir.errors import SolverError
from fairweir.formal.solving.solvers import ALL_SOLVERS, Budget, Satisfiable, SolverName
from fairweir.synth.archive import Archive
from fairweir.synth.checkers import Checkers, checkers
from fairweir.synth.query import Query
from fairweir.synth.space import Candidate, ClassKey
from fairweir.synth.survivors import Survivors
from fairweir.synth.verifier import Finding, Stage, steps_of

#: Seed of the order in which candidates are proposed.
SEED = 4
#: Maximum size of a space whose remaining candidates are counted; for larger spaces a bound is reported.
COUNTED_SIZE = 1_000_000
#: Minimum time between two counts, s.
COUNT_EVERY_S = 2.0


@dataclass(frozen=True)
class Progress:
    """State of a search.

    Attributes
    ----------
    iterations : number of candidates judged
    left : upper bound on the number of candidates that may still be solutions
    solutions : number of classes with a solution
    """

    iterations: int
    left: int
    solutions: int


@dataclass(frozen=True)
class Solution:
    """A class of candidates of which at least one satisfies the invariant.

    Attributes
    ----------
    key : ClassKey
    candidate : Candidate, the first member, in the order of the class, that holds
    size : number of members of the class
    holding : number of members that hold; None if not all were judged
    """

    key: ClassKey
    candidate: Candidate
    size: int
    holding: int | None


@dataclass
class Search:
    """The result of a search.

    Attributes
    ----------
    query : Query
    findings : all findings in order; those of earlier runs are first
    solutions : the solutions, in the order of their classes
    undecided : candidates on which every solver ran out of budget
    reused : number of findings of earlier runs
    unchecked : number of reused findings that state that a candidate holds, and are verified by their seal only
    doubts : reasons why findings of earlier runs were rejected and their candidates checked again
    control_cpu_s : CPU seconds to check that some sender violates the invariant
    """

    query: Query
    findings: list[Finding] = field(default_factory=list)
    solutions: list[Solution] = field(default_factory=list)
    undecided: list[Finding] = field(default_factory=list)
    reused: int = 0
    unchecked: int = 0
    doubts: list[str] = field(default_factory=list)
    control_cpu_s: float = 0.0

    @property
    def is_complete(self) -> bool:
        """Whether each candidate of the space is refuted or in a class with a solution."""
        return not self.undecided

    @property
    def iterations(self) -> int:
        """The number of candidates judged until none was left, without those judged to choose representatives of
        classes.
        """
        return sum(finding.stage is Stage.SEARCH for finding in self.findings)

    @property
    def counterexamples(self) -> list[Finding]:
        """The findings with a counterexample; together they refute all candidates outside the solutions' classes."""
        return [finding for finding in self.findings if finding.verdict is Satisfiable.SAT]

    @property
    def solver_cpu_s(self) -> float:
        """CPU seconds of the solvers in all runs."""
        return self.control_cpu_s + sum(finding.cpu_s for finding in self.findings)


@words_for_enums
def search(
    query: Query,
    archive: Archive,
    *,
    workers: int = 1,
    budget: Budget | None = None,
    solvers: Sequence[SolverName] = ALL_SOLVERS,
    every_member: bool = False,
    on_progress: Callable[[Progress], object] | None = None,
) -> Search:
    """Find all classes of candidates that satisfy a query's invariant.

    Parameters
    ----------
    archive : Archive, stores each finding, and returns the findings of earlier runs
    workers : int, number of candidates judged in parallel
    budget : Budget, of each solver for each candidate
    solvers : solvers to try, one after another until one answers
    every_member : whether to judge every member of each class that has a solution
    on_progress : called after each finding

    Raises
    ------
    VacuousError : no sender violates the invariant, or no trace satisfies the assumptions
    SolverError : a solver is missing, does not understand, or two contradict each other
    KeyboardInterrupt : Ctrl-C was pressed; the archive has all findings
    """
    found = Search(query)
    with checkers(query, workers, budget or Budget(), solvers) as pool:
        loop = _Loop(found, archive, pool, on_progress)
        earlier, found.doubts = archive.begin(pool.verifier)
        loop.resume(earlier)
        if not found.counterexamples:
            found.control_cpu_s = pool.control().cpu_s
        loop.run()
        for key in sorted(loop.settled):
            found.solutions.append(loop.represent(key, every_member=every_member))
    return found


class _Loop:
    """The state of a search while it runs."""

    def __init__(
        self,
        found: Search,
        archive: Archive,
        pool: Checkers,
        on_progress: Callable[[Progress], object] | None,
    ) -> None:
        self._found, self._archive, self._pool, self._on_progress = found, archive, pool, on_progress
        self._space = found.query.space
        self._survivors = Survivors(self._space)
        self._verdicts: dict[Candidate, Satisfiable] = {}
        self._in_flight: set[Candidate] = set()
        self._counted_at = time.monotonic()
        self.settled: set[ClassKey] = set()

    def resume(self, findings: Sequence[Finding]) -> None:
        """Adopt findings of earlier runs; undecided candidates are checked again."""
        for finding in findings:
            if finding.verdict is not Satisfiable.UNKNOWN:
                self._apply(finding)
        self._found.reused = len(self._found.findings)
        self._found.unchecked = sum(one.verdict is Satisfiable.UNSAT for one in self._found.findings)

    def run(self) -> None:
        """Judge candidates until none is left."""
        while True:
            while len(self._in_flight) < self._pool.workers:
                undecided = {finding.candidate for finding in self._found.undecided}
                dice = np.random.default_rng([SEED, len(self._found.findings), len(self._in_flight)])
                candidate = self._survivors.pick(frozenset(self._in_flight | undecided), dice)
                if candidate is None:
                    break
                self._in_flight.add(candidate)
                self._pool.submit(candidate)
            if not self._in_flight:
                return
            self._judge(self._pool.next(), Stage.SEARCH)

    def represent(self, key: ClassKey, *, every_member: bool) -> Solution:
        """Find the first member of a class that holds, and, with `every_member`, the number of members that hold."""
        first, holding = None, 0
        for member in self._space.members(key):
            if self._holds(member):
                first, holding = first or member, holding + 1
                if not every_member:
                    break
        if first is None:
            raise SolverError("no member of a class was found to hold, although one had been", key=str(key))
        return Solution(key, first, self._space.class_size(key), holding if every_member else None)

    def _holds(self, member: Candidate) -> bool:
        known = self._verdicts.get(member)
        if known is None and self._survivors.kills(member) is None:
            self._pool.submit(member)
            self._judge(self._pool.next(), Stage.MEMBERS)
            known = self._verdicts.get(member)
        return known is Satisfiable.UNSAT

    def _judge(self, finding: Finding, stage: Stage) -> None:
        finding = replace(finding, stage=stage)
        self._in_flight.discard(finding.candidate)
        if finding.verdict is Satisfiable.UNKNOWN:
            self._found.undecided.append(finding)
        else:
            self._archive.add(finding, self._pool.verifier)
            self._apply(finding)
        if self._on_progress is not None:
            self._on_progress(Progress(len(self._found.findings), self._left(), len(self.settled)))

    def _left(self) -> int:
        """Return an upper bound on the number of candidates left; it is updated to the exact number occasionally."""
        now = time.monotonic()
        if self._space.size <= COUNTED_SIZE and now - self._counted_at > COUNT_EVERY_S:
            self._counted_at = now
            return self._survivors.count()
        return self._survivors.at_most()

    def _apply(self, finding: Finding) -> None:
        self._found.findings.append(finding)
        self._verdicts[finding.candidate] = finding.verdict
        if finding.trace is not None:
            self._survivors.kill(steps_of(finding.trace, self._space.family))
            if self._survivors.kills(finding.candidate) is None:
                raise SolverError(f"a counterexample does not match its own candidate: {finding.candidate}")
        else:
            self._survivors.settle(self._space.class_of(finding.candidate))
            self.settled.add(self._space.class_of(finding.candidate))
