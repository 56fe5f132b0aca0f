"""Evaluate video senders over links and seeds: delay, quality and frame rate, compared with the senders GCC and
Salsify.

A session is one run of a sender over a link, with frames from an encoder table. A bar is a requirement on a metric,
which the thesis' Syntra should meet (docs/video.md). SSIM measures the quality of displayed pictures. A candidate is a
sender that is evaluated.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fairweir import __version__
from fairweir.documents.atomic_write import append_line
from fairweir.judging.interval import Scale, interval
from fairweir.judging.outcome import Interval, Outcome
from fairweir.play.pool import Done, Failed, Where, map_jobs
from fairweir.video.play import Session, play
from fairweir.video.scenario import VideoScenario
from fairweir.video.senders import Sender

#: Shipped scenario, which is named after its link -> maximum 95th percentile of the delay, ms.
P95_BARS_MS: Final = {"fixed": 110.0, "varying": 120.0, "aggregation": 140.0, "shallow": 110.0}
#: Minimum frame rate in these scenarios, frames per second.
FPS_BAR: Final = 29.0
#: Minimum of the candidate's median SSIM minus Salsify's median SSIM, dB.
SSIM_BAR_DB: Final = 1.5
#: Minimum, on links from traces, of GCC's 95th percentile of the delay divided by the candidate's.
GCC_BAR: Final = 4.0
#: Traces without a bar on delay, because GCC uses only a tenth of the link there and has almost no queue.
WITHOUT_GCC_BAR: Final = ("Verizon-LTE-short",)
FPS_SHARE_BAR: Final = 0.97
#: The senders with which candidates are compared.
GCC, SALSIFY = "gcc", "salsify"
FOUR: Final = tuple(P95_BARS_MS)
BASELINES: Final = (GCC, "vegas", SALSIFY, "published", "known")
#: Name of the file that stores finished sessions, one per line.
SESSIONS = "sessions.jsonl"


@dataclass(frozen=True)
class Job:
    """A session that has to be run."""

    scenario: VideoScenario
    sender: Sender
    seed: int

    @property
    def key(self) -> str:
        """A hash of everything on which the session's result depends: version, configuration and encoder table."""
        words = (__version__, self.scenario.config(self.sender, seed=self.seed), self.scenario.table().text)
        return hashlib.sha256("\0".join(words).encode()).hexdigest()


def play_job(job: Job) -> Session:
    """Run the session of a job; worker processes call this function."""
    return play(job.scenario, job.sender, seed=job.seed)


@dataclass(frozen=True)
class Bar:
    """A bar for one sender, with the measured value.

    Attributes
    ----------
    scenario, sender, encoder : names of the scenario, the sender and the encoder table
    quantity : the metric that the bar limits, with its unit
    bound : the bound
    measured : mean of the metric over seeds, with its 95 % interval
    is_upper : whether the bound is an upper bound
    """

    scenario: str
    sender: str
    encoder: str
    quantity: str
    bound: float
    measured: Interval
    is_upper: bool

    @property
    def holds(self) -> bool:
        """Whether the whole interval satisfies the bound."""
        return self.measured.hi <= self.bound if self.is_upper else self.measured.lo >= self.bound

    @property
    def verdict(self) -> Outcome:
        """The outcome of the claim that the sender meets the bar: `holds` if the whole interval satisfies the bound,
        else `fails`.
        """
        return Outcome.HOLDS if self.holds else Outcome.FAILS

    def to_dict(self) -> dict[str, Any]:
        """Return the bar as a JSON document."""
        ends = {"value": self.measured.value, "lo": self.measured.lo, "hi": self.measured.hi}
        return {**vars(self), "measured": ends, "holds": self.holds}


class Kept:
    """A store of finished sessions in a directory, so that they are not run again."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.path = directory / SESSIONS
        self._known: dict[str, Session] = {}
        lines = self.path.read_bytes().splitlines() if self.path.exists() else []
        for line in lines:
            # If a crash truncated a line, its session is run again.
            try:
                document = json.loads(line)
                key = document.pop("key")
                self._known[key] = Session(**document)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue

    def get(self, key: str) -> Session | None:
        """Return the finished session whose :attr:`Job.key` is `key`, or None."""
        return self._known.get(key)

    def add(self, key: str, session: Session) -> None:
        """Store a finished session."""
        self._known[key] = session
        append_line(self.path, json.dumps({"key": key, **session.to_dict()}))


@dataclass(frozen=True)
class Evaluation:
    """The sessions of all links, senders and seeds, and the bars."""

    sessions: list[Session]
    bars: list[Bar]
    failures: list[str]


def evaluate(
    scenarios: Sequence[VideoScenario],
    candidates: Sequence[Sender],
    *,
    seeds: int,
    kept: Kept,
    workers: Where = None,
    on_done: Callable[[str, int, int], object] = lambda _what, _done, _total: None,
) -> Evaluation:
    """Run the candidates and the senders with which they are compared, on all links and with all seeds.

    Parameters
    ----------
    seeds : number of seeds; the seeds are 1, 2, ...
    kept : store of finished sessions, which are reused
    on_done : function that is called after each session with an error message (empty if the session succeeded), the
        number of finished sessions and the number of all sessions

    Raises
    ------
    ConfigError : a scenario or a sender is invalid
    """
    everyone = list(dict.fromkeys([*map(Sender, BASELINES), *candidates]))
    jobs = {
        (job := Job(scenario, sender, seed)).key: job
        for scenario in scenarios
        for sender in everyone
        for seed in range(1, seeds + 1)
    }
    missing = {key: job for key, job in jobs.items() if kept.get(key) is None}
    done = len(jobs) - len(missing)
    failures: list[str] = []
    keys = list(missing)

    def finished(outcome: Done[Job, Session] | Failed[Job]) -> None:
        nonlocal done
        done += 1
        problem = ""
        if isinstance(outcome, Done):
            kept.add(keys[outcome.index], outcome.value)
        else:
            problem = f"{outcome.job.scenario.name}, {outcome.job.sender}, seed {outcome.job.seed}: {outcome.reason}"
            failures.append(problem)
        on_done(problem, done, len(jobs))

    map_jobs(play_job, list(missing.values()), workers=workers, timeout_s=600.0, on_done=finished)
    sessions = [found for key in jobs if (found := kept.get(key)) is not None]
    return Evaluation(sessions, bars_of(sessions, [str(one) for one in candidates]), failures)


def bars_of(sessions: Iterable[Session], candidates: Sequence[str]) -> list[Bar]:
    """Return the bars of each candidate on each link and with each encoder table.

    A candidate's session is compared with GCC's and Salsify's sessions that have the same seed.
    """
    found: dict[tuple[str, str], dict[str, dict[int, Session]]] = {}
    for one in sessions:
        found.setdefault((one.scenario, one.encoder), {}).setdefault(one.sender, {})[one.seed] = one
    bars = []
    for (scenario, encoder), by_sender in found.items():
        for sender in candidates:
            ours = by_sender.get(sender, {})
            others = [by_sender.get(name, {}) for name in (GCC, SALSIFY)]
            seeds = [seed for seed in ours if all(seed in other for other in others)]
            if seeds:
                sets = [[one[seed].metrics for seed in seeds] for one in (ours, *others)]
                bars += _bars(scenario, sender, encoder, *sets)
    return bars


Metrics = list[dict[str, Any]]


def _bars(scenario: str, sender: str, encoder: str, ours: Metrics, gcc: Metrics, salsify: Metrics) -> list[Bar]:
    def bar(quantity: str, bound: float, samples: Iterable[float], scale: Scale, *, is_upper: bool) -> list[Bar]:
        values = list(samples)
        if any(value is None for value in values):
            return []
        return [Bar(scenario, sender, encoder, quantity, bound, interval(values, scale), is_upper)]

    def per_seed(key: str, other: Metrics, by: Callable[[float, float], float]) -> list[Any]:
        pairs = [(a[key], b[key]) for a, b in zip(ours, other, strict=True)]
        return [None if a is None or b is None else by(a, b) for a, b in pairs]

    over_salsify = per_seed("ssim_p50_db", salsify, lambda a, b: a - b)
    ssim = bar("median SSIM minus Salsify's, dB", SSIM_BAR_DB, over_salsify, Scale.REAL, is_upper=False)
    if scenario in P95_BARS_MS:
        p95 = [one["delay_p95_ms"] for one in ours]
        fps = [one["fps"] for one in ours]
        return [
            *bar("p95 of delay, ms", P95_BARS_MS[scenario], p95, Scale.POSITIVE, is_upper=True),
            *bar("frames per second", FPS_BAR, fps, Scale.POSITIVE, is_upper=False),
            *ssim,
        ]
    ratio = per_seed("delay_p95_ms", gcc, lambda a, b: b / a)
    share = per_seed("fps", salsify, lambda a, b: a / b if b else 1.0)
    delay = bar("GCC's p95 of delay divided by ours", GCC_BAR, ratio, Scale.FACTOR, is_upper=False)
    return [
        *(delay if scenario not in WITHOUT_GCC_BAR else []),
        *bar("frame rate divided by Salsify's", FPS_SHARE_BAR, share, Scale.POSITIVE, is_upper=False),
        *ssim,
    ]


def mean_sessions(sessions: Iterable[Session]) -> list[tuple[Session, dict[str, Interval]]]:
    """Return, for each link, table and sender, the first session and the mean of each metric over seeds, with its
    interval.
    """
    groups: dict[tuple[str, str, str], list[Session]] = {}
    for one in sessions:
        groups.setdefault((one.scenario, one.encoder, one.sender), []).append(one)
    return [(several[0], _means(several)) for several in groups.values()]


def _means(several: list[Session]) -> dict[str, Interval]:
    means = {}
    for key in several[0].metrics:
        values = [one.metrics[key] for one in several if one.metrics[key] is not None]
        if values:
            means[key] = interval(values, Scale.REAL)
    return means
