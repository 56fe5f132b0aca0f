"""Search a template for all candidates that satisfy an invariant (thesis figure 4.1).

Terms: a template is a CCA with holes; a candidate fills the holes. The invariant is the property that a candidate must
have on every trace (time series of what is sent, served, lost and delayed) of a network model. A counterexample is a
trace on which a candidate violates the invariant. A class is the set of candidates that differ only in their additive
constants. CEGIS, counterexample-guided inductive synthesis, is this method: a candidate is proposed; solvers prove or
refute the candidate; each counterexample also eliminates other candidates.

The search ends when no candidate is left. The order in which solvers answer depends on the number of workers, and
decides which candidates are examined. The set of classes that have a solution does not depend on the number of workers.
Neither does the representative of a class: the member that holds (satisfies the invariant) and has the smallest
constants.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fairweir.documents.arguments import words_for_enums
from fairweir.errors import SolverError
from fairweir.formal.solving.solvers import ALL_SOLVERS, Budget, Satisfiable, SolverName
from fairweir.play.cluster import Cluster
from fairweir.synth.archive import Archive
from fairweir.synth.checkers import Checkers, checkers
from fairweir.synth.query import Query
from fairweir.synth.space import Candidate, ClassKey
from fairweir.synth.survivors import Survivors
from fairweir.synth.verifier import Finding, Stage, steps_of

#: Seed of the random order in which candidates are proposed.
SEED = 4
#: If a template has at most this many candidates, the remaining candidates are counted. Otherwise an upper bound is
#: reported.
COUNTED_SIZE = 1_000_000
#: Minimum time between two counts of the remaining candidates, s.
COUNT_EVERY_S = 2.0


@dataclass(frozen=True)
class Progress:
    """The state of a search, for display while the search runs.

    Attributes
    ----------
    iterations : number of candidates judged
    left : upper bound on the number of candidates that may still be solutions
    solutions : number of classes known to contain a solution
    """

    iterations: int
    left: int
    solutions: int


@dataclass(frozen=True)
class Solution:
    """A class of candidates, at least one of which satisfies the invariant.

    Attributes
    ----------
    key : ClassKey, which identifies the class
    candidate : Candidate, the member that satisfies the invariant and has the smallest constants
    size : number of members of the class
    holding : number of members that satisfy the invariant; None if not all members were judged
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
    query : Query, the template, the network and the requirements
    findings : the solvers' answers, one per candidate, in order; those of earlier runs come first
    solutions : one entry for each class that has a solution, sorted by class
    undecided : answers for candidates on which every solver ran out of time or memory
    reused : number of findings that were read from earlier runs
    unchecked : number of reused findings that state that a candidate holds, which only their seal (a keyed hash)
        verifies
    doubts : one reason for each finding of an earlier run that was rejected; its candidate was checked again
    control_cpu_s : CPU seconds of the check, before the search, that some sender violates the invariant
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
        """Whether every candidate is refuted or is in the class of a solution; False if any candidate is undecided."""
        return not self.undecided

    @property
    def iterations(self) -> int:
        """The number of candidates that were judged until none was left.

        Candidates that were judged afterwards, to choose the representatives of classes, are not counted.
        """
        return sum(finding.stage is Stage.SEARCH for finding in self.findings)

    @property
    def counterexamples(self) -> list[Finding]:
        """The findings with a counterexample.

        Together, the counterexamples refute all candidates that are not in the class of a solution.
        """
        return [finding for finding in self.findings if finding.verdict is Satisfiable.SAT]

    @property
    def solver_cpu_s(self) -> float:
        """CPU seconds of the solvers, including those of earlier runs."""
        return self.control_cpu_s + sum(finding.cpu_s for finding in self.findings)


@words_for_enums
def search(
    query: Query,
    archive: Archive,
    *,
    workers: int | Cluster = 1,
    budget: Budget | None = None,
    solvers: Sequence[SolverName] = ALL_SOLVERS,
    every_member: bool = False,
    on_progress: Callable[[Progress], object] | None = None,
) -> Search:
    """Find all classes that contain a candidate which satisfies a query's invariant.

    Parameters
    ----------
    archive : Archive, which stores each finding and returns the findings of earlier runs
    workers : int, number of candidates judged in parallel; or a :class:`fairweir.Cluster`
    budget : Budget, the limits of a solver for one candidate
    solvers : the solvers; the second is tried if the first gives no answer, and so on
    every_member : whether to judge every member of each class that has a solution
    on_progress : function that is called after each finding

    Raises
    ------
    ClusterError : the cluster cannot be used
    VacuousError : no sender can violate the invariant, or no trace satisfies the assumptions of the query
    SolverError : a solver is not installed or rejects the input, or two solvers give opposite answers
    KeyboardInterrupt : Ctrl-C was pressed; all findings until then are in the archive
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
    """A search while it runs: the remaining candidates, the verdicts, and the candidates that solvers work on."""

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
        """Take over findings of earlier runs, except for undecided candidates, which are checked again."""
        for finding in findings:
            if finding.verdict is not Satisfiable.UNKNOWN:
                self._apply(finding)
        self._found.reused = len(self._found.findings)
        self._found.unchecked = sum(one.verdict is Satisfiable.UNSAT for one in self._found.findings)

    def run(self) -> None:
        """Propose candidates and judge them until none is left."""
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
        """Find the member of a class that satisfies the invariant and has the smallest constants.

        If `every_member` is set, also count the members that satisfy the invariant.
        """
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
        """Return an upper bound on the number of candidates left.

        The candidates of a small template are counted again from time to time; directly after a count the bound is
        exact.
        """
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
