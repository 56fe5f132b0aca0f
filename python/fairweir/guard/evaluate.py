"""What a receiver's policies do over many simulated configurations: fairness and utilisation, with and without."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from fairweir import __version__, _core, metrics
from fairweir.errors import ConfigError
from fairweir.guard.challenges import CHALLENGES, Case
from fairweir.pool import Done, map_jobs
from fairweir.resolve import resolve
from fairweir.scenario import Scenario

RESAMPLES: Final = 2_000
"""Of the bootstrap over configurations."""
TIMEOUT_S: Final = 600.0


@dataclass(frozen=True)
class Job:
    """A configuration and the policies (TOML) that its receiver obeys."""

    case: Case
    policy: str

    @property
    def key(self) -> str:
        """A name for what is played."""
        text = json.dumps([__version__, asdict(self.case), self.policy], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]


@dataclass(frozen=True)
class Shares:
    """What became of one run after the newcomer came.

    Attributes
    ----------
    jain : float, between services or flows as the challenge says
    utilization : float, 0 to 1, of the bottleneck
    throughputs_mbps : list, a flow each
    mean_rtt_ms : float
    """

    jain: float
    utilization: float
    throughputs_mbps: list[float]
    mean_rtt_ms: float


@dataclass(frozen=True)
class Measured:
    """One configuration without and with policies."""

    without: Shares
    guarded: Shares


def play(job: Job) -> Measured:
    """Play a configuration twice."""
    config = resolve(Scenario.from_dict(job.case.scenario()))
    text = json.dumps(config)
    plain = json.loads(_core.run(text)[0])
    rate = config["links"][0]["hop"]["link"]["rate"]
    try:
        guarded = json.loads(_core.run_guarded(text, job.policy, job.case.senders(), rate))
    except ValueError as error:
        raise ConfigError(str(error), hint="policies/ has examples; docs/guard.md lists all keys") from None
    return Measured(_shares(job.case, plain), _shares(job.case, guarded))


def _shares(case: Case, summary: dict[str, Any]) -> Shares:
    rates = metrics.throughputs_mbps(summary)
    shares = rates
    if CHALLENGES[case.challenge].among == "services":
        senders = case.senders()
        shares = [sum(r for r, s in zip(rates, senders, strict=True) if s == one) for one in sorted(set(senders))]
    rtt = metrics.mean_rtt_ms(summary)
    return Shares(metrics.jain(shares), metrics.utilization(summary), rates, rtt if rtt is not None else float("nan"))


@dataclass(frozen=True)
class Kept:
    """Finished configurations in a directory, a file each; without a directory nothing is kept."""

    directory: Path | None

    def get(self, job: Job) -> Measured | None:
        """Give what is kept of a job."""
        if self.directory is None:
            return None
        try:
            found = json.loads(self._file(job).read_text(encoding="utf-8"))
            return Measured(Shares(**found["without"]), Shares(**found["guarded"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, job: Job, measured: Measured) -> None:
        """Keep a result; a file is whole or not there."""
        if self.directory is None:
            return
        self.directory.mkdir(parents=True, exist_ok=True)
        partial = self._file(job).with_suffix(".partial")
        partial.write_text(json.dumps(asdict(measured)), encoding="utf-8")
        partial.replace(self._file(job))

    def _file(self, job: Job) -> Path:
        return (self.directory or Path()) / f"{job.key}.json"


def evaluate(
    jobs: Iterable[Job],
    kept: Kept,
    *,
    workers: int | None = None,
    on_done: Callable[[str | None], object] | None = None,
) -> dict[Job, Measured]:
    """Play `jobs`, but for those that are kept.

    Parameters
    ----------
    workers : int, processes; default one a core
    on_done : called after each with its failure, None if there is none

    Returns
    -------
    dict from a job to what was measured; jobs that failed are missing

    Raises
    ------
    ConfigError : the policies are refused
    KeyboardInterrupt : Ctrl-C; what had ended is kept
    """
    results: dict[Job, Measured] = {}
    missing: list[Job] = []
    tell = on_done or (lambda _failure: None)
    for job in jobs:
        found = kept.get(job)
        if found is None:
            missing.append(job)
        else:
            results[job] = found
            tell(None)

    def settle(outcome: Any) -> None:
        if isinstance(outcome, Done):
            kept.put(outcome.job, outcome.value)
            results[outcome.job] = outcome.value
            tell(None)
        elif isinstance(outcome.error, ConfigError):
            raise outcome.error
        else:
            tell(f"{outcome.job.case}: {outcome.reason}")

    map_jobs(play, missing, workers=workers, timeout_s=TIMEOUT_S, on_done=settle)
    return results


@dataclass(frozen=True)
class Verdict:
    """One challenge over its configurations.

    Attributes
    ----------
    median_jain, p10_jain, median_utilization, p10_utilization : pairs, without and with policies
    gain_percent : float; by how much the median JFI rises
    gain_interval : pair; 95 % by bootstrap over configurations
    """

    challenge: str
    configurations: int
    median_jain: tuple[float, float]
    p10_jain: tuple[float, float]
    median_utilization: tuple[float, float]
    p10_utilization: tuple[float, float]
    gain_percent: float
    gain_interval: tuple[float, float]

    @property
    def holds(self) -> bool:
        """Is the gain beyond doubt?"""
        return self.gain_interval[0] > 0.0


def judge(challenge: str, measured: Sequence[Measured]) -> Verdict:
    """Sum up one challenge's configurations, at least one."""
    jain = np.array([[one.without.jain, one.guarded.jain] for one in measured])
    utilization = np.array([[one.without.utilization, one.guarded.utilization] for one in measured])
    dice = np.random.default_rng(1)
    picks = dice.integers(0, len(measured), (RESAMPLES, len(measured)))
    medians = np.median(jain[picks], axis=1)
    low, high = np.percentile(100.0 * (medians[:, 1] / medians[:, 0] - 1.0), [2.5, 97.5])

    def pair(values: Any, percentile: float) -> tuple[float, float]:
        without, guarded = np.percentile(values, percentile, axis=0)
        return float(without), float(guarded)

    median = pair(jain, 50)
    return Verdict(
        challenge,
        len(measured),
        median,
        pair(jain, 10),
        pair(utilization, 50),
        pair(utilization, 10),
        100.0 * (median[1] / median[0] - 1.0),
        (float(low), float(high)),
    )
