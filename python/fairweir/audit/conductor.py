"""The state of an audit: which runs it has, which it still needs, and the verdicts that follow."""

from __future__ import annotations

import platform
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import cast

from fairweir import _core
from fairweir.audit.axis import Axis
from fairweir.audit.battery import Budget
from fairweir.audit.contest import Contest, scenarios_of
from fairweir.audit.exhibits.family import OTHER_SEEDS, Depth, Subject
from fairweir.audit.exhibits.registry import FAMILIES
from fairweir.audit.jobs import Job, Measured, measure, whole_path
from fairweir.audit.judge import curves, judge, undecided
from fairweir.audit.meter import weight
from fairweir.audit.profile import known, profile_of
from fairweir.audit.relative import Suspect, nearest_seed, relate, suspects, undecided_points
from fairweir.audit.results import AuditResults, CcaResults, ClaimResult, FamilyResult, Fault, Trace
from fairweir.audit.standings import Relative, Side, Standing
from fairweir.audit.stored_runs import StoredRuns
from fairweir.audit.world import why_too_long
from fairweir.documents.digits import plain
from fairweir.errors import CcaError, ConfigError, ControllerError, FairweirError, ProgramError
from fairweir.judging.difference import Relation
from fairweir.judging.outcome import Outcome, combine
from fairweir.play import pool
from fairweir.play.run import VirtualWorld

NEW_SEEDS_FROM = 10_000
"""Seeds that confirm differences begin here, counted from the first seed."""
FAULTLESS = FamilyResult(name="", title="", question="", setup="", axis=Axis(name=""))
MAX_TIMEOUTS = 3
"""Maximum number of runs of one CCA that may exceed their time limit before its remaining runs are skipped.

Without this limit, the audit of a CCA that loops would take hours.
"""


@dataclass
class Case:
    """The results of one CCA so far."""

    subject: Subject
    samples: dict[str, dict[int, dict[int, dict[str, float]]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(dict))
    )
    faults: dict[str, list[Fault]] = field(default_factory=lambda: defaultdict(list))
    new: dict[str, dict[int, dict[int, dict[str, float]]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(dict))
    )
    """Samples of the runs that confirm differences."""
    traces: dict[str, list[Trace]] = field(default_factory=lambda: defaultdict(list))
    planned: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    left_out: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    """Family -> point that is not run -> reason."""
    searches: list[ClaimResult] = field(default_factory=list)
    hunt: dict[str, object] | None = None
    hunt_trace: Trace | None = None
    contract: dict[str, object] | None = None
    timeouts: int = 0


class Conductor:
    """The state of an audit, from which its results are computed."""

    def __init__(
        self,
        subjects: Sequence[Subject],
        depth: Depth,
        budget: Budget,
        names: Sequence[str],
        versions: dict[str, str],
        first_seed: int = 1,
        stored: StoredRuns | None = None,
    ) -> None:
        self.stored = stored or StoredRuns(None)
        self.cases = {subject.name: Case(subject) for subject in subjects}
        self.world = subjects[0].world
        self.depth, self.budget, self.names, self.versions = depth, budget, names, versions
        self.seeds = list(range(first_seed, first_seed + budget.seeds))
        self.new_seeds = [first_seed + NEW_SEEDS_FROM + i for i in range(budget.new_seeds)]
        self.runs = self.packets = 0
        self.contest: Contest | None = None
        self.suspected: dict[str, list[Suspect]] = {}

    def jobs(self) -> list[Job]:
        """Return all runs of the battery, longest first."""
        found = []
        for case in self.cases.values():
            for name in self.names:
                if name in FAMILIES:
                    found += self._family_jobs(case, name)
        return sorted(found, key=lambda job: -job.packets())

    def _family_jobs(self, case: Case, name: str) -> list[Job]:
        family = FAMILIES[name]
        traced = set(family.traced(self.depth))
        found = []
        for index, place in enumerate(family.places[self.depth]):
            jobs = [
                Job(case.subject, name, self.depth, index, seed, self.budget.patience, place.x in traced and seed == 1)
                for seed in self.seeds
            ]
            if why := why_too_long(case.subject, jobs[0].packets()):
                case.left_out[name][place.label] = why
            else:
                found += jobs
        case.planned[name] += len(found)
        return found

    def refinements(self) -> list[Job]:
        """Return runs with more seeds for points whose intervals contain a threshold: the cheapest, within a budget."""
        wanted: dict[Job, None] = {}
        for case in self.cases.values():
            for name, samples in case.samples.items():
                if case.faults[name]:
                    continue
                family = FAMILIES[name]
                by_metric = {c.metric: c for c in curves(family, self.depth, case.subject.stem, samples)}
                metrics = {m.name: m for m in family.metrics}
                places = {
                    index
                    for claim in family.claims
                    for index in undecided(claim, metrics[claim.metric], by_metric[claim.metric])
                }
                for index in sorted(places):
                    for seed in range(self.seeds[-1] + 1, self.seeds[0] + self.budget.refine_to):
                        wanted[Job(case.subject, name, self.depth, index, seed, self.budget.patience)] = None
        return self._affordable(list(wanted))

    def confirmations(self, *, everywhere: bool = False) -> list[Job]:
        """Return runs with new seeds: at every point where the first seeds suggest a difference from the reference, and
        at the cheapest of those where they could not exclude one, as many as cost what the first runs did.

        Parameters
        ----------
        everywhere : at every point of every CCA, for a baseline
        """
        if everywhere:
            return self._with_new_seeds(self.points())
        if self.contest is None:
            return []
        suspected: dict[tuple[str, str, str], None] = {}
        open_points: dict[tuple[str, str, str], None] = {}
        for name, reference in self.contest.pairs(lambda cca: self._judged(self.cases[cca])):
            candidate = self._judged(self.cases[name])
            self.suspected[name] = suspects(reference, candidate)
            sides = [side for side in (name, reference.cca) if side in self.cases]
            suspected.update(((side, s.family, s.label), None) for s in self.suspected[name] for side in sides)
            undecided_ones = undecided_points(reference, candidate)
            open_points.update(((side, *point), None) for point in undecided_ones for side in sides)
        certain = self._with_new_seeds(suspected)
        others = self._with_new_seeds([point for point in open_points if point not in suspected])
        return certain + self._within(others, sum(weight(job) for job in self.jobs()))

    def points(self) -> list[tuple[str, str, str]]:
        """Return every point of every CCA that had runs: (CCA, family, label)."""
        return [
            (case.subject.name, name, FAMILIES[name].place(self.depth, index).label)
            for case in self.cases.values()
            for name, samples in case.samples.items()
            for index in samples
        ]

    def _with_new_seeds(self, points: Iterable[tuple[str, str, str]]) -> list[Job]:
        found = []
        for cca, name, label in points:
            subject, places = self.cases[cca].subject, FAMILIES[name].places[self.depth]
            index = next(i for i, place in enumerate(places) if place.label == label)
            if label in self.cases[cca].left_out[name]:
                continue
            found += [Job(subject, name, self.depth, index, seed, self.budget.patience) for seed in self.new_seeds]
        for job in found:
            self.cases[job.subject.name].planned[job.family] += 1
        return sorted(found, key=lambda job: -job.packets())

    def _within(self, jobs: list[Job], most: float) -> list[Job]:
        """Select the cheapest places within the weight `most`, each with all seeds and on both sides."""
        places: dict[tuple[str, int], list[Job]] = defaultdict(list)
        for job in jobs:
            places[job.family, job.index].append(job)
        kept: list[Job] = []
        for group in sorted(places.values(), key=lambda group: sum(map(weight, group))):
            most -= sum(map(weight, group))
            if most >= 0.0:
                kept += group
            else:
                for job in group:
                    self.cases[job.subject.name].planned[job.family] -= 1
        return sorted(kept, key=lambda job: -job.packets())

    def _affordable(self, jobs: list[Job]) -> list[Job]:
        """Select points within the budget.

        A point gets all of its additional seeds or none, so that points are comparable.
        """
        points: dict[tuple[str, str, int], list[Job]] = defaultdict(list)
        for job in jobs:
            points[job.subject.name, job.family, job.index].append(job)
        left, kept = self.budget.refine_packets * len(self.cases), []
        for group in sorted(points.values(), key=lambda group: group[0].packets()):
            cost = sum(job.packets() for job in group)
            if cost <= left:
                left -= cost
                kept += group
        for job in kept:
            self.cases[job.subject.name].planned[job.family] += 1
        return sorted(kept, key=lambda job: -job.packets())

    def play(self, jobs: list[Job], workers: pool.Where, on_done: Callable[[Job], object]) -> None:
        """Run the jobs that are not stored.

        If a run exceeds its time limit, skip the rest of its family; after `MAX_TIMEOUTS`, of its CCA.

        Skipped jobs count as faults.
        """
        waiting = dict.fromkeys(jobs)
        for number, job in enumerate(jobs):
            if (measured := self.stored.get(job)) is not None:
                waiting.pop(job)
                self._absorb(pool.Done(number, job, measured))
                on_done(job)
        while waiting:
            given_up: Job | None = None
            outcomes = pool.iter_jobs(measure, list(waiting), workers=workers, timeout_s=self.budget.timeout_s)
            with closing(cast("Generator[pool.Ended[Job, Measured]]", outcomes)):
                for outcome in outcomes:
                    waiting.pop(outcome.job)
                    if outcome.ok:
                        self.stored.put(outcome.job, outcome.value)
                    on_done(outcome.job)
                    if self._absorb(outcome):
                        given_up = outcome.job
                        break
            if given_up is not None:
                self._give_up([job for job in waiting if self._is_given_up(job, given_up)], waiting, on_done)

    def _is_given_up(self, job: Job, after: Job) -> bool:
        if job.subject != after.subject:
            return False
        return job.family == after.family or self.cases[job.subject.name].timeouts >= MAX_TIMEOUTS

    def _give_up(self, jobs: list[Job], waiting: dict[Job, None], on_done: Callable[[Job], object]) -> None:
        for job in jobs:
            waiting.pop(job)
            on_done(job)
            self._fault(job, "timeout", f"not run: another run did not end within {plain(self.budget.timeout_s)} s")

    def _absorb(self, outcome: pool.Done[Job, Measured] | pool.Failed[Job]) -> bool:
        """Record the outcome of one run; return whether the run exceeded its time limit."""
        job = outcome.job
        case = self.cases[job.subject.name]
        if outcome.ok:
            self.runs += 1
            self.packets += outcome.value.packets
            samples = case.new if job.seed in self.new_seeds else case.samples
            samples[job.family][job.index][job.seed] = outcome.value.values
            if outcome.value.trace is not None:
                case.traces[job.family].append(outcome.value.trace)
            return False
        if outcome.kind == "error" and self.world == "quic" and isinstance(outcome.error, ConfigError):
            # The stack does not have what the scenario requires, such as a TCP option.
            case.left_out[job.family][job.place().label] = outcome.error.message
            case.planned[job.family] -= 1
        elif outcome.kind == "error":
            is_ccas = isinstance(outcome.error, (ControllerError, CcaError))
            is_stacks = isinstance(outcome.error, ProgramError)
            self._fault(job, "controller" if is_ccas else "stack" if is_stacks else "error", outcome.reason)
        elif outcome.kind == "timeout":
            self._fault(job, "timeout", outcome.reason)
            case.timeouts += 1
        elif outcome.kind == "crash":
            self._fault(job, "crash", outcome.reason)
        return outcome.kind == "timeout"

    def _fault(self, job: Job, kind: str, message: str) -> None:
        self.cases[job.subject.name].faults[job.family].append(
            Fault.model_validate(
                {
                    "family": job.family,
                    "label": job.place().label,
                    "seed": job.seed,
                    "kind": kind,
                    "message": message,
                    "scenario_toml": job.scenario().to_toml(),
                }
            )
        )

    def document(self, *, complete: bool, wall_s: float, command: str) -> AuditResults:
        """Return the results so far, with their verdicts."""
        ccas = [self._judged(case) for case in self.cases.values()]
        # The known CCAs were measured in the simulator.
        others = known(self.depth) if self.contest is None and self.world == "sim" else None
        profiles = [profile_of(cca, others) for cca in ccas] if others is not None else []
        return AuditResults(
            version=_core.__version__,
            depth=self.depth.value,
            world=self.world,
            command=command,
            seeds=self.seeds,
            complete=complete,
            wall_s=round(wall_s, 3),
            runs=self.runs,
            packets=self.packets,
            environment={
                "python": platform.python_version(),
                "machine": platform.machine(),
                "system": platform.system(),
                **self.versions,
            },
            ccas=ccas,
            profiles=[profile for profile in profiles if profile is not None],
            new_seeds=self.new_seeds if any(runs for case in self.cases.values() for runs in case.new.values()) else [],
            relative=self._relatives(),
        )

    def _relatives(self) -> list[Relative]:
        """Return each candidate compared with the reference, with a pair of runs for each metric that is worse."""
        if self.contest is None:
            return []
        comparisons = sum(map(len, self.suspected.values()))
        found = []
        for name, reference in self.contest.pairs(lambda cca: self._judged(self.cases[cca])):
            candidate = self._judged(self.cases[name])
            relative = relate(reference, candidate, self.suspected.get(name, []), comparisons)
            relative.baseline, relative.version = self.contest.source, self.contest.version or _core.__version__
            relative.notes = self.contest.notes()
            for standing in relative.of(Relation.WORSE):
                self._show(standing, reference, candidate)
            found.append(relative)
        return found

    def _show(self, standing: Standing, reference: CcaResults, candidate: CcaResults) -> None:
        """Add the scenarios of both sides to a metric that is worse."""
        if standing.family not in FAMILIES:
            return
        seed = nearest_seed(standing, reference, candidate)
        places = FAMILIES[standing.family].places[self.depth]
        index = next((i for i, place in enumerate(places) if place.label == standing.at), None)
        if index is None:
            return
        if seed is None:
            faults = [f for f in (candidate.family(standing.family) or FAULTLESS).faults if f.label == standing.at]
            seed = faults[0].seed if faults else self.seeds[0]
        sides = (candidate.cca, standing.candidate), (reference.cca, standing.reference)
        standing.shown_by = []
        for name, value in sides:
            subject = self.cases[name].subject if name in self.cases else _subject(reference, self.world)
            job = Job(subject, standing.family, self.depth, index, seed, self.budget.patience)
            try:
                text = job.scenario().to_toml()
            except FairweirError:
                # The reference of a baseline may be a file that is gone.
                text = None
            standing.shown_by.append(Side(cca=name, value=value, scenario_toml=text))

    def _judged(self, case: Case) -> CcaResults:
        families, exhibits = [], []
        left_out = {}
        for name in self.names:
            if name not in FAMILIES or not (case.samples[name] or case.faults[name]):
                if case.left_out[name] and not case.planned[name]:
                    left_out[name] = _reasons(case.left_out[name])
                continue
            family = FAMILIES[name]
            found = FamilyResult(
                name=name,
                title=family.title,
                question=family.question,
                setup=family.setup,
                axis=family.axis,
                curves=curves(family, self.depth, case.subject.stem, case.samples[name], case.new[name]),
                traces=sorted(case.traces[name], key=lambda t: (t.x, t.seed)),
                faults=sorted(case.faults[name], key=lambda f: (f.label, f.seed)),
                runs=sum(len(seeds) for runs in (case.samples, case.new) for seeds in runs[name].values()),
                planned=case.planned[name],
                left_out=list(case.left_out[name]),
                left_out_why=_reasons(case.left_out[name]),
            )
            families.append(found)
            for claim in family.claims:
                exhibit = judge(family, claim, case.subject.stem, found.curves, found.faults)
                if exhibit.value is None and not found.faults:
                    continue
                exhibit.scenario_toml = self._shown_by(case, found, exhibit)
                exhibits.append(exhibit)
        exhibits += case.searches
        return CcaResults(
            cca=case.subject.name,
            controller=case.subject.given,
            wake=case.subject.wake,
            verdict=combine(e.verdict for e in exhibits),
            buffer=case.subject.buffer,
            scenarios={family.name: scenarios_of(family.name, self.depth, case.subject) for family in families},
            left_out=left_out,
            exhibits=exhibits,
            families=families,
            hunt=case.hunt,
            hunt_trace=case.hunt_trace,
            contract=case.contract,
        )

    def _shown_by(self, case: Case, family: FamilyResult, exhibit: ClaimResult) -> str | None:
        """Return the scenario that shows a failure: of a fault, or the seed closest to the mean at the worst point."""
        if exhibit.verdict is not Outcome.FAILS:
            return None
        faulty = next((f for f in family.faults if f.kind != "error"), None)
        if faulty is not None:
            return faulty.scenario_toml
        metric = next(c.metric for c in FAMILIES[family.name].claims if c.key == exhibit.metric)
        curve = next(c for c in family.curves if c.metric == metric)
        indices = [i for i, point in enumerate(curve.points) if point.samples]
        index = next((i for i in indices if curve.points[i].label == exhibit.at), indices[-1])
        point = curve.points[index]
        value = point.value if point.value is not None else point.samples[0]
        seed = min(zip(point.seeds, point.samples, strict=True), key=lambda pair: (abs(pair[1] - value), pair[0]))[0]
        return Job(case.subject, family.name, self.depth, index, seed, self.budget.patience).scenario().to_toml()


def _reasons(points: Mapping[str, str]) -> str:
    return "; ".join(dict.fromkeys(points.values()))


def _subject(results: CcaResults, world: VirtualWorld) -> Subject:
    """Return a CCA of a baseline, which is not run again."""
    given = results.controller or results.cca.removesuffix(OTHER_SEEDS)
    return Subject(results.cca, whole_path(given), results.buffer, given=given, world=world, wake=results.wake)
