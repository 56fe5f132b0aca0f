"""Evaluate Syntra's senders over seeds: required delay, quality and frame rate, compared with GCC and Salsify."""

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
from fairweir.play.pool import Done, Failed, map_jobs
from fairweir.video.play import Session, play
from fairweir.video.scenario import VideoScenario
from fairweir.video.senders import Sender

#: Link of the evaluation -> maximum 95th percentile of the delay, ms.
P95_BARS_MS: Final = {"fixed": 110.0, "varying": 120.0, "aggregation": 140.0, "shallow": 110.0}
#: Minimum frame rate on these links, frames per second.
FPS_BAR: Final = 29.0
#: Minimum difference of the median SSIM from Salsify's, dB.
SSIM_BAR_DB: Final = 1.5
#: Minimum, on traces, of GCC's 95th percentile of the delay divided by ours.
GCC_BAR: Final = 4.0
#: Traces without a requirement for delay, because GCC uses a tenth of the link and has almost no queue.
WITHOUT_GCC_BAR: Final = ("Verizon-LTE-short",)
FPS_SHARE_BAR: Final = 0.97
#: The senders that are references.
GCC, SALSIFY = "gcc", "salsify"
FOUR: Final = tuple(P95_BARS_MS)
BASELINES: Final = (GCC, "vegas", SALSIFY, "published", "known")
#: Name of the file with finished sessions, one per line.
SESSIONS = "sessions.jsonl"


@dataclass(frozen=True)
class Job:
    """A session to run."""

    scenario: VideoScenario
    sender: Sender
    seed: int

    @property
    def key(self) -> str:
        """Identifier of the session's inputs: version, configuration, table."""
        words = (__version__, self.scenario.config(self.sender, seed=self.seed), self.scenario.table().text)
        return hashlib.sha256("\0".join(words).encode()).hexdigest()


def play_job(job: Job) -> Session:
    """Run a job, in a separate process."""
    return play(job.scenario, job.sender, seed=job.seed)


@dataclass(frozen=True)
class Bar:
    """A requirement and its measurement.

    Attributes
    ----------
    scenario, sender, encoder : names of the session's parts
    quantity : the bounded quantity, with its unit
    bound : the bound
    measured : mean over seeds and its 95 % interval
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
        """Outcome of the claim that a sender meets the bound; it fails if a part of the interval violates the bound."""
        return Outcome.HOLDS if self.holds else Outcome.FAILS

    def to_dict(self) -> dict[str, Any]:
        """Return the bar as JSON."""
        ends = {"value": self.measured.value, "lo": self.measured.lo, "hi": self.measured.hi}
        return {**vars(self), "measured": ends, "holds": self.holds}


class Kept:
    """A cache of finished sessions in a directory; cached sessions are not run again."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.path = directory / SESSIONS
        self._known: dict[str, Session] = {}
        lines = self.path.read_bytes().splitlines() if self.path.exists() else []
        for line in lines:
            # The session of a line that a crash truncated is run again.
            try:
                document = json.loads(line)
                key = document.pop("key")
                self._known[key] = Session(**document)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue

    def get(self, key: str) -> Session | None:
        """Return the finished session of a key; None if there is none."""
        return self._known.get(key)

    def add(self, key: str, session: Session) -> None:
        """Store a finished session."""
        self._known[key] = session
        append_line(self.path, json.dumps({"key": key, **session.to_dict()}))


@dataclass(frozen=True)
class Evaluation:
    """Sessions of all links, senders and seeds, and the requirements with their measurements."""

    sessions: list[Session]
    bars: list[Bar]
    failures: list[str]


def evaluate(
    scenarios: Sequence[VideoScenario],
    candidates: Sequence[Sender],
    *,
    seeds: int,
    kept: Kept,
    workers: int | None = None,
    on_done: Callable[[str, int, int], object] = lambda _what, _done, _total: None,
) -> Evaluation:
    """Run the candidates and the baselines on all links with all seeds, and compare them.

    Parameters
    ----------
    seeds : number of seeds, from 1 on
    kept : store of finished sessions, which are reused
    on_done : called with the failure or an empty text, the number of finished sessions, and the number of all sessions

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
    """Compare candidates with the requirements on each link and table; sessions with equal seeds are compared."""
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
    """Return for each link, table and sender the first session, and the metrics' means over seeds with intervals."""
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
