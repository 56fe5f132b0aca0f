"""Run an audit: all runs of all exhibits on all cores, then the searches, then the verdicts."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, get_args

from fairweir import extras
from fairweir.audit.battery import BUDGETS, QUIC_TIME_LIMITS, Budget
from fairweir.audit.conductor import MAX_TIMEOUTS, Case, Conductor
from fairweir.audit.contest import Contest
from fairweir.audit.exhibits.family import OTHER_SEEDS, Depth, Place, Subject
from fairweir.audit.exhibits.registry import CONTRACT, FAMILIES, HUNT, select
from fairweir.audit.jobs import CALIBRATION, TraceRequest, fills_buffers, show, whole_path
from fairweir.audit.meter import Meter, Progress, weight
from fairweir.audit.results import AuditResults
from fairweir.audit.searches import exhibit_not_tried, exhibit_of_contract, exhibit_of_hunt
from fairweir.audit.stored_runs import StoredRuns
from fairweir.audit.world import hosted, on_hosts
from fairweir.ccas import lookup
from fairweir.ccas.cca_spec import AnyCca, require, table_of, text_of
from fairweir.documents.arguments import one_of, words_for_enums
from fairweir.documents.digits import plain
from fairweir.errors import ConfigError
from fairweir.judging.outcome import Outcome
from fairweir.play import pool, quic
from fairweir.play.measure import Measured as MeasuredRun
from fairweir.play.run import VirtualWorld

if TYPE_CHECKING:
    from pathlib import Path

    from fairweir.scenario.dumbbell import ScenarioDict

SHIFT = 1_000_000
"""Added to the seeds of one side where a CCA is compared with itself: the same seeds would have no difference."""
CALIBRATION_TIMEOUT_S = 60.0


class InterruptedAuditError(KeyboardInterrupt):
    """An audit was interrupted by Ctrl-C; ``results`` has the finished runs and is marked incomplete."""

    def __init__(self, results: AuditResults) -> None:
        super().__init__(f"interrupted; the `results` of this exception have the {results.runs} finished runs")
        self.results = results


@words_for_enums
def run_audit(
    ccas: AnyCca | Iterable[AnyCca],
    *,
    depth: Depth | Literal["quick", "default", "deep"] = Depth.DEFAULT,
    seeds: int | None = None,
    only: Iterable[str] | None = None,
    against: AnyCca | AuditResults | None = None,
    on: VirtualWorld = "sim",
    first_seed: int = 1,
    is_baseline: bool = False,
    workers: pool.Where = None,
    command: str = "",
    resume_in: Path | None = None,
    on_progress: Progress | None = None,
) -> AuditResults:
    """Audit `ccas`: run all exhibits of the battery, the starvation hunt and the contract.

    Parameters
    ----------
    ccas : one or several CCAs: names, ``cubic{beta=0.5}``, ``mine.py:Class``, ``mine.bpf.c``, tables or classes
    depth : which battery; "quick", "default" or "deep"
    seeds : runs per point, at least 2; default the depth's number
    only : exhibits to run, as names or the first part of names; default all, but without the searches if `depth` is
        "quick"
    against : the reference, a CCA that is audited too, or the results of an audit with `is_baseline`. All CCAs run the
        reference's scenarios with the same seeds, and ``relative`` of the results has the differences. A CCA against
        itself runs with other seeds on one side
    on : "sim" or "quic", the world. In "quic", a CCA is audited on hosts of each of the settings
        `fairweir.audit.world.WAKES`, each as a CCA of its own in the results; a CCA without a stack, such as ``cubic``,
        runs in quinn's transport
    first_seed : seeds are consecutive numbers from here on; those of a baseline are used with a baseline
    is_baseline : run the seeds that confirm differences at every point, so that later audits can be compared
    workers : number of processes, default one per core; or a :class:`fairweir.Cluster`
    command : the command line, for the record
    resume_in : folder that stores the finished runs until the audit ends; the same call resumes an interrupted audit
    on_progress : called with a description and the completed fraction

    Returns
    -------
    AuditResults; without `resume_in`, nothing is written to disk

    Raises
    ------
    ConfigError : no such exhibit, too few seeds for an interval, or a baseline without runs that confirm differences
    CcaError : an unknown CCA, or one that cannot be loaded or run in this world
    ProgramError : the program of the QUIC stacks is not built
    InterruptedAuditError : Ctrl-C; the exception has the finished part
    """
    started = time.perf_counter()
    one_of(get_args(VirtualWorld), on, "on")
    depth = Depth(depth)
    listed = [only] if isinstance(only, str) else list(only or ())
    given = [text_of(cca) for cca in ([ccas] if isinstance(ccas, (str, type, Mapping)) else ccas)]
    chosen = list(dict.fromkeys(given))
    rival = text_of(against) if against is not None and not isinstance(against, AuditResults) else None
    names = [n for n in select(listed) if listed or depth is not Depth.QUICK or n in FAMILIES]
    budget = _with_seeds(BUDGETS[depth], seeds)
    if on == "quic":
        budget = replace(budget, timeout_s=budget.timeout_s * QUIC_TIME_LIMITS)
    report = on_progress or (lambda what, part: None)
    versions = _stack_versions([*chosen, *([rival] if rival is not None else [])], on)
    report("calibrating", 0.0)
    contest = None
    if isinstance(against, AuditResults):
        contest = Contest.with_baseline(against, depth, _unmeasured(chosen, on))
        first_seed, budget = (
            against.seeds[0],
            replace(budget, seeds=len(against.seeds), new_seeds=len(against.new_seeds)),
        )
        measured = [one for subject in _subjects(chosen, on, workers) for one in on_hosts(subject)]
        subjects = [replace(subject, buffer=contest.of(subject).buffer) for subject in measured]
    elif rival is not None:
        contest, subjects = _with_reference(chosen, rival, on, workers)
    else:
        subjects = [one for subject in _subjects(chosen, on, workers) for one in on_hosts(subject)]
    stored = StoredRuns(resume_in)
    conductor = Conductor(subjects, depth, budget, names, versions, first_seed, stored)
    conductor.contest = contest

    def document(*, complete: bool) -> AuditResults:
        return conductor.document(complete=complete, wall_s=time.perf_counter() - started, command=command)

    try:
        jobs = conductor.jobs()
        searches = [(case, name) for case in conductor.cases.values() for name in (HUNT, CONTRACT) if name in names]
        meter = Meter(report, sum(weight(job) for job in jobs), len(searches), len(subjects))
        conductor.play(jobs, workers, meter.did)
        more = conductor.refinements()
        meter.add(more)
        conductor.play(more, workers, meter.did)
        confirming = conductor.confirmations(everywhere=is_baseline)
        meter.add(confirming)
        conductor.play(confirming, workers, meter.did)
        for case, name in searches:
            _search(case, name, budget, workers, meter, stored)
        results = document(complete=True)
    except KeyboardInterrupt:
        raise InterruptedAuditError(document(complete=False)) from None
    report("done", 1.0)
    stored.delete()
    return results


def _with_seeds(budget: Budget, seeds: int | None) -> Budget:
    if seeds is None:
        return budget
    if seeds < 2:
        raise ConfigError(f"an interval needs at least two seeds: `{seeds}`", key="--seeds", hint="use --seeds 3")
    return replace(budget, seeds=seeds, refine_to=max(seeds, budget.refine_to), new_seeds=max(seeds, budget.new_seeds))


def _stack_versions(ccas: Sequence[str], world: VirtualWorld) -> dict[str, str]:
    """Return the versions of the QUIC stacks: those of the program, or in the simulator of the CCAs taken from a stack.

    Raises
    ------
    ProgramError : the program is not built
    """
    if world == "quic":
        return quic.versions(ccas)
    found = {cca: lookup.stack_version(table_of(cca)["name"]) for cca in ccas}
    return {cca: version for cca, version in found.items() if version is not None}


def _with_reference(
    ccas: Sequence[str], against: str, world: VirtualWorld, workers: pool.Where
) -> tuple[Contest, list[Subject]]:
    """Return the subjects of an audit with a reference: the candidates in the reference's buffers, then the reference.

    The reference is not a candidate, unless it is the only one; then it runs with other seeds. Candidate and reference
    are compared on the same hosts.
    """
    candidates = [cca for cca in ccas if cca != against]
    is_alone = not candidates
    *found, reference = _subjects([*(candidates or [against]), against], world, workers)
    if is_alone:
        reference = replace(reference, name=f"{against}{OTHER_SEEDS}", seed_shift=SHIFT)
    references = on_hosts(reference)
    subjects = [on_hosts(replace(subject, buffer=reference.buffer)) for subject in found]
    rivals = [(one, other.name) for hosts in subjects for one, other in zip(hosts, references, strict=True)]
    return Contest(tuple(rivals)), [*(one for hosts in subjects for one in hosts), *references]


def _unmeasured(ccas: Sequence[str], world: VirtualWorld) -> list[Subject]:
    """Return the subjects of an audit before the calibration, which chooses their buffers."""
    found = [Subject(cca, whole_path(cca), "", given=cca, world=world) for cca in ccas]
    return [one for subject in found for one in on_hosts(subject)]


def _subjects(ccas: Sequence[str], world: VirtualWorld, workers: pool.Where) -> list[Subject]:
    """Return one subject per CCA, with its buffer, on hosts that wake at once."""
    if not ccas:
        raise ConfigError("no CCA to audit", hint="name one or more: `fairweir audit bbr cubic`")
    for cca in ccas:
        require(cca)
    unmeasured = [Subject(cca, whole_path(cca), "", given=cca, world=world) for cca in ccas]
    limit_s = CALIBRATION_TIMEOUT_S * (QUIC_TIME_LIMITS if world == "quic" else 1.0)
    outcomes = pool.map_jobs(fills_buffers, unmeasured, workers=workers, timeout_s=limit_s)
    subjects = []
    for cca, subject, outcome in zip(ccas, unmeasured, outcomes, strict=True):
        if not outcome.ok and isinstance(outcome.error, ConfigError):
            error = outcome.error
            if error.source == CALIBRATION:
                # The user named a CCA, not a scenario, so the calibration scenario's name and keys would only confuse.
                error.source, error.key = cca, None
            raise error
        fills = outcome.ok and outcome.value
        subjects.append(replace(subject, buffer="3bdp" if fills else "100bdp"))
    return subjects


def _search(case: Case, name: str, budget: Budget, workers: pool.Where, meter: Meter, stored: StoredRuns) -> None:
    subject = case.subject
    if case.timeouts >= MAX_TIMEOUTS:
        case.searches.append(exhibit_not_tried(name, f"not run: {case.timeouts} runs exceeded their time limit"))
        return
    if name == CONTRACT and (lacking := extras.lacking("scipy", "a fit")):
        case.searches.append(exhibit_not_tried(name, f"not run: {lacking}; {lacking.hint}", Outcome.UNKNOWN))
        return
    on_cores = stored.on_all_cores(workers=workers, timeout_s=budget.timeout_s, world=subject.world)

    def plays(scenarios: Sequence[ScenarioDict]) -> list[MeasuredRun]:
        return on_cores([hosted(scenario, subject) for scenario in scenarios])

    if name == HUNT:
        from fairweir.hunting.search import hunt

        found = hunt(
            subject.cca,
            measure=plays,
            on_progress=lambda what, part: meter.searching(f"{subject.name}: hunting, {what}", part),
        )
        if found.scenario is not None:
            found = found.model_copy(update={"scenario": hosted(found.scenario, subject)})
        case.hunt = found.model_dump(mode="json")
        if found.found and found.scenario is not None:
            place = Place(
                found.rate_mbps or 0.0,
                f"{found.kind}, D = {plain(found.d_ms or 0.0, 3)} ms, {plain(found.rate_mbps or 0.0)} Mbps",
            )
            (shown,) = pool.map_jobs(
                show, [TraceRequest(subject, place, found.scenario)], workers=1, timeout_s=budget.timeout_s
            )
            case.hunt_trace = shown.value if shown.ok else None
        case.searches.append(exhibit_of_hunt(found, subject))
    else:
        from fairweir.contracts.empirical import derive

        derived = derive(
            subject.cca,
            measure=plays,
            has_oracle=subject.world == "sim",
            on_progress=lambda what: meter.searching(f"{subject.name}: contract, {what}", 0.5),
        )
        case.contract = derived.model_dump(mode="json")
        case.searches.append(exhibit_of_contract(derived, subject))
    meter.searched()
