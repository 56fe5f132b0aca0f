"""Effects of a receiver's policies in many configurations, simulated or on real TCP, compared with no policies."""

from __future__ import annotations

import json
import platform
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from fairweir import _core
from fairweir.documents import store as stores
from fairweir.documents.store import Store, to_json
from fairweir.errors import ConfigError, FairweirError, PolicyError
from fairweir.guard.challenges import Case
from fairweir.guard.compare import hosts
from fairweir.guard.daemon import find_daemon
from fairweir.guard.treatments import Treatment
from fairweir.judging import metrics
from fairweir.judging.summary import Summary
from fairweir.play import kernel
from fairweir.play.batch import LATE_RETRIES
from fairweir.play.pool import Done, Where, map_jobs
from fairweir.play.run import TcpWorld, run
from fairweir.play.sweep import fingerprint
from fairweir.scenario.model import Scenario

TIMEOUT_S: Final = 600.0
WINDOWS: Final = "autotuned"
"""Windows of the kernel's receivers: autotuned, as in the simulator.

With unlimited windows a guard would have little effect, because an advertised window cannot be withdrawn.
"""


@dataclass(frozen=True)
class Play:
    """A configuration, its treatment, and its world."""

    case: Case
    treatment: Treatment = field(default_factory=Treatment)
    world: TcpWorld = "sim"

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario to run."""
        return Scenario.from_dict(self.case.scenario())

    @cached_property
    def key(self) -> str:
        """Identifier of the run's inputs, which include the kernel in the kernel world."""
        policy = self.treatment.policy
        held = [] if policy is None else [policy.digest, self.treatment.deployment]
        where = [platform.release(), WINDOWS] if self.world == "kernel" else []
        return stores.fingerprint(fingerprint(self.scenario, self.world), self.case.challenge, *held, *where)


@dataclass(frozen=True)
class Shares:
    """Throughputs of one run, after the newcomers started.

    Attributes
    ----------
    jain : float, between services or flows, depending on the challenge
    utilization : float, 0 to 1, of the bottleneck
    throughputs_mbps : list with one value per flow, incumbents first
    mean_rtt_ms : float
    guard : dict; counters of the kernel world's guard: packets reported, lost, windows reduced, ``cpu_s``
    """

    jain: float
    utilization: float
    throughputs_mbps: list[float]
    mean_rtt_ms: float
    guard: dict[str, float] = field(default_factory=dict)


class NotJudgedError(FairweirError):
    """In all attempts of a kernel run, the emulator's lateness exceeded its limit."""


def play(one: Play) -> Shares:
    """Run a configuration in the simulator."""
    config = one.scenario.resolve()
    text, policy = json.dumps(config), one.treatment.policy
    if policy is None:
        return _shares(one.case, Summary(json.loads(_core.run(text)[0])))
    rate = config["links"][0]["hop"]["link"]["rate"]
    senders = one.case.senders(one.treatment.deployment)
    try:
        reported = _core.run_guarded(text, policy.text, senders, rate, policy.trees)
    except PolicyError as error:
        error.source = error.source or str(policy.file or policy.name)
        raise
    return _shares(one.case, Summary(json.loads(reported)))


def play_on_kernel(one: Play, on_progress: Callable[[float], object] | None = None) -> Shares:
    """Run a configuration on the kernel's TCP; a run that is not judged is repeated.

    Raises
    ------
    NotJudgedError : no attempt can be judged
    KernelError, ConfigError : as for :func:`fairweir.play.run.run`; the guard refuses its policies
    """
    with tempfile.TemporaryDirectory(prefix="fairweir-guard-") as directory:
        options = _options(one, Path(directory))
        for _ in range(1 + LATE_RETRIES):
            record = run(one.scenario, on="kernel", options=options, on_progress=on_progress)
            if record.is_judged:
                return _shares(one.case, record.summary)
    raise NotJudgedError(record.not_judged)


def _options(one: Play, directory: Path) -> kernel.Options:
    policy = one.treatment.policy
    if policy is None:
        return kernel.Options(windows=WINDOWS)
    names = directory / "hosts"
    config = policy.file or directory / "policies.toml"
    if policy.file is None:
        config.write_text(policy.text, encoding="utf-8")
    names.write_text(hosts(one.scenario), encoding="utf-8")
    guarding = kernel.Guarding(find_daemon(), config, names)
    return kernel.Options(windows=WINDOWS, guarding=guarding)


def _shares(case: Case, summary: Summary) -> Shares:
    rates = metrics.throughputs_mbps(summary)
    incumbents, _ = case.counts
    services = [sum(rates[:incumbents]), sum(rates[incumbents:])]
    rtt = metrics.mean_rtt_ms(summary)
    status = summary.document.get("guard")
    guard = {} if status is None else {key: status["kernel"][key] for key in ("summarised", "lost", "rewritten")}
    return Shares(
        metrics.jain(services if case.rules.among == "services" else rates),
        metrics.utilization(summary),
        rates,
        rtt if rtt is not None else float("nan"),
        guard if status is None else {**guard, "cpu_s": status["cpu_s"]},
    )


@dataclass(frozen=True)
class Kept:
    """Finished runs in a directory, one file each; without a directory nothing is stored."""

    directory: Path | None

    def get(self, one: Play) -> Shares | None:
        """Return the stored result of a run."""
        return self._store.get(one.key)

    def put(self, one: Play, shares: Shares) -> None:
        """Store a result."""
        self._store.put(one.key, shares)

    @property
    def _store(self) -> Store[Shares]:
        return Store(
            self.directory, lambda shares: to_json(asdict(shares)), lambda content: Shares(**json.loads(content))
        )


@dataclass(frozen=True)
class Results:
    """Results of runs.

    Attributes
    ----------
    shares : results of the runs that completed and are judged
    late : the runs that are not judged, because the emulator was late
    failures : one line per failed run
    """

    shares: dict[Play, Shares] = field(default_factory=dict)
    late: list[Play] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def evaluate(
    plays: Iterable[Play],
    kept: Kept,
    *,
    workers: Where = None,
    on_done: Callable[[str], object] | None = None,
    on_progress: Callable[[float], object] | None = None,
) -> Results:
    """Run all configurations whose results are not stored: simulations in parallel, then kernel runs one after another.

    Parameters
    ----------
    workers : int, number of processes for simulations, default one per core; or a :class:`fairweir.Cluster`
    on_done : called after each run with the failure, or with an empty text
    on_progress : called with the finished fraction of a run on the kernel, 0 to 1

    Raises
    ------
    ConfigError : the policies are rejected
    KernelError : the kernel world is not available; raised before the first run
    KeyboardInterrupt : Ctrl-C; finished runs are stored
    """
    every = list(dict.fromkeys(plays))
    if any(one.world == "kernel" for one in every):
        kernel.find_helper()
        find_daemon()
        kernel.need_root("the kernel world")
    results = Results()

    def settle(one: Play, shares: Shares | None, failure: str = "", *, is_new: bool = True) -> None:
        if shares is not None:
            results.shares[one] = shares
            if is_new:
                kept.put(one, shares)
        (on_done or (lambda _: None))(failure)

    def fail(one: Play, reason: str) -> None:
        failure = f"{one.treatment.name}: {one.case}: {reason}"
        results.failures.append(failure)
        settle(one, None, failure)

    def end(outcome: Any) -> None:
        if isinstance(outcome, Done):
            settle(outcome.job, outcome.value)
        elif isinstance(outcome.error, ConfigError):
            raise outcome.error
        else:
            fail(outcome.job, outcome.reason)

    missing: list[Play] = []
    for one in every:
        found = kept.get(one)
        if found is None:
            missing.append(one)
        else:
            settle(one, found, is_new=False)
    map_jobs(play, [one for one in missing if one.world == "sim"], workers=workers, timeout_s=TIMEOUT_S, on_done=end)
    for one in missing:
        if one.world == "kernel":
            try:
                settle(one, play_on_kernel(one, on_progress))
            except NotJudgedError as late:
                results.late.append(one)
                settle(one, None, f"not judged: {one.treatment.name}: {one.case}: {late}")
            except ConfigError:
                raise
            except FairweirError as error:
                fail(one, str(error))
    return results
