"""Compare the results published for Syntra's video with ours: table 1 and figure 4.

The paper's text is not available, only its public abstract and artifact. They state that the 95th percentile of delay
is more than 6 times smaller, that the median SSIM is more than 2 dB higher, and that the frame rate is higher. They do
not state with which system they compare, or on which link. Here, delay is compared with WebRTC's GCC, which lets queues
grow. Quality and frame rate are compared with GCC and with Salsify, the published system for short delays. A system
with which our senders are compared is a *baseline*. For every system, the metrics are measured at the receiver.

A check that fails has a reason if an experiment gives one (:mod:`fairweir.papers.syntra.experiments`): either a sender
that knows the link, or sends the smallest frames, does not reach the published bound, and ours is not far from what can
be reached; or ours reaches the bound without the cause that the experiment removes. Other checks fail without a reason.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fairweir.errors import ConfigError
from fairweir.judging.interval import Scale, interval
from fairweir.judging.outcome import Interval
from fairweir.papers.syntra.experiments import (
    AT_EVERY_FRAME,
    KNOWN,
    PLAINLY,
    QUICKEST,
    Check,
    Experiments,
    Measure,
    delay_reason,
    geometric_mean,
    why_not_better,
    why_not_faster,
    why_not_shorter,
)
from fairweir.play.pool import Done, Failed, map_jobs
from fairweir.reproduce.computed import Computation, Number, computed
from fairweir.reproduce.experiment import Bound
from fairweir.scenario.links import Link
from fairweir.units import Duration
from fairweir.video.evaluate import GCC, SALSIFY, Job, Kept, play_job
from fairweir.video.play import Session
from fairweir.video.scenario import VideoScenario
from fairweir.video.senders import Sender

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fairweir.play.batch import Archive

#: Environment variable that names the directory of mahimahi's cellular traces; the traces are not part of the package.
TRACES_VARIABLE: Final = "FAIRWEIR_MAHIMAHI"
TRACES: Final = ("ATT-LTE-driving.up", "TMobile-UMTS-driving.up", "Verizon-LTE-short.up")
SEEDS: Final = 3
#: Our senders: the published decision tree, which decides once per step, and rules that decide for every frame.
OURS: Final = ("published", "rules")
LINKS: Final = ("fixed", "varying", "aggregation", "shallow")
#: The factor and the dB in the abstract's statements.
SMALLER, HIGHER_DB = 6.0, 2.0
_SHORTER: Final = "95th percentile of the delay more than 6 times smaller"
_BETTER: Final = "median SSIM more than 2 dB higher"
_FASTER: Final = "frame rate higher"
#: A value that is lower than the baseline's (for SSIM: the limit's) by more than this is far from it. Units: a ratio,
#: dB, frames per second.
_NEAR: Final = {_SHORTER: 0.8, _BETTER: -1.0, _FASTER: -0.5}
_KEY_MS: Final = "delay_p95_ms"


@dataclass(frozen=True)
class Cellular:
    """A synthetic link that varies like a cellular link: the logarithm of the rate is a random walk, with outages.

    Attributes
    ----------
    name : str
    mean_mbps : mean of the rate
    spread : standard deviation of the logarithm of the rate
    memory : fraction of the logarithm's deviation from its mean that remains after a second
    outages : probability that an outage begins within a second
    """

    name: str
    mean_mbps: float
    spread: float
    memory: float
    outages: float

    def scenario(self, seconds: int, step_ms: int = 200) -> VideoScenario:
        """Return the scenario, with rates in steps of `step_ms`. The random rates are the same on every machine."""
        rng = random.Random(f"cellular/{self.name}")  # noqa: S311 (no secret)
        step_s = Duration.from_ms(step_ms).s
        keep = self.memory**step_s
        level, out_ms, steps = 0.0, 0, []
        for t_ms in range(0, round(Duration.from_s(seconds).ms), step_ms):
            level = keep * level + math.sqrt(1 - keep * keep) * self.spread * rng.gauss(0.0, 1.0)
            if out_ms <= 0 and rng.random() < self.outages * step_s:
                out_ms = rng.randrange(400, 2400, step_ms)
            out_ms -= step_ms
            # During an outage, the retransmissions of the radio link still carry a little data.
            mbps = 0.05 if out_ms > 0 else max(0.1, self.mean_mbps * math.exp(level - self.spread**2 / 2))
            steps.append((f"{t_ms}ms", f"{mbps:.2f}Mbps"))
        link = Link.model_validate({"steps": steps, "buffer": "infinite"})
        return VideoScenario.model_validate({"name": self.name, "duration": f"{seconds}s", "link": link})


_SETUP: Final = (
    "the numbers of table and figure are not available, nor the system to which each statement refers: delay is "
    "compared with WebRTC's GCC, SSIM with Salsify. Generated talking head, x264 tables of frames, metrics at the "
    "receiver for every system; `published` is the published tree once per step, `rules` decides at every frame. "
    "Reasons come from experiments on the same link: a sender that knows the link's future rate, a sender of the "
    "smallest frames, the published tree at every frame, and an encoder limited to GCC's median SSIM"
)
#: Links with about the mean rate and the variation of the three traces, which cannot be redistributed.
MADE_UP: Final = (
    Cellular("lte-like", 2.5, 0.7, 0.7, 0.02),
    Cellular("umts-like", 1.2, 0.9, 0.85, 0.05),
    Cellular("lte-like, fast", 5.0, 0.5, 0.4, 0.005),
)


@computed(
    "syntra-table-1",
    title="Video on a fixed, a varying, an aggregating and a shallow link",
    source="Syntra, table 1 (public abstract and artifact)",
    published=(
        "95th percentile of the delay more than 6 times smaller, median SSIM more than 2 dB higher, frame rate higher"
    ),
    setup=f"{_SETUP}; 3 minutes of each link",
    items=("syntra table 1",),
)
def table_1(archive: Archive) -> Computation:
    """Run three minutes of video on each of table 1's four links."""
    scenarios = [VideoScenario.load(name).override(duration="180s") for name in LINKS]
    return compare(scenarios, archive)


@computed(
    "syntra-figure-4",
    title="Video on cellular links",
    source="Syntra, figure 4 (public abstract and artifact)",
    published=(
        "95th percentile of the delay more than 6 times smaller, median SSIM more than 2 dB higher, frame rate higher"
    ),
    setup=(
        f"{_SETUP}; 10 minutes of each link. FAIRWEIR_MAHIMAHI=DIR plays mahimahi's AT&T-LTE, T-Mobile-UMTS and "
        "Verizon-LTE traces of that directory; without it they are replaced by links with a random rate and outages"
    ),
    items=("syntra figure 4",),
)
def figure_4(archive: Archive) -> Computation:
    """Run ten minutes of video on each cellular link: mahimahi's traces if available, otherwise synthetic links."""
    return compare(cellular(), archive)


def cellular(seconds: int = 600) -> list[VideoScenario]:
    """Return the links of figure 4.

    Raises
    ------
    ConfigError : :data:`TRACES_VARIABLE` is set, and its directory lacks a trace
    """
    folder = os.environ.get(TRACES_VARIABLE)
    if not folder:
        return [one.scenario(seconds) for one in MADE_UP]
    base = VideoScenario.load("fixed").override(duration=f"{seconds}s")
    found = []
    for name in TRACES:
        path = Path(folder) / name
        if not path.is_file():
            raise ConfigError(
                "no such trace", source=str(path), hint=f"{TRACES_VARIABLE} names the directory of mahimahi's traces"
            )
        found.append(base.over_trace(path))
    return found


def compare(scenarios: Sequence[VideoScenario], archive: Archive) -> Computation:
    """Run our senders and the baselines on every link with every seed, and check the published statements."""
    names = (*OURS, GCC, SALSIFY, "vegas")
    sessions = sessions_of(scenarios, names, archive)
    experiments = experiments_of(scenarios, sessions, archive)
    numbers = [
        number
        for scenario in scenarios
        for ours in OURS
        for number in _numbers(scenario, ours, sessions[scenario.name], experiments[scenario.name])
    ]
    numbers += [_overall(ours, sessions, experiments) for ours in OURS]
    return Computation(numbers, lambda: _draw(sessions, names))


Sessions = dict[str, dict[str, list[Session]]]
#: Returns the reason for a failed check.
Reason = Callable[[Check, Experiments], str]


def sessions_of(scenarios: Sequence[VideoScenario], names: Sequence[str], archive: Archive) -> Sessions:
    """Return the sessions by link and sender, in the order of their seeds. Stored sessions are reused."""
    kept = Kept(archive.directory / "video") if archive.directory is not None else None
    jobs = [
        Job(scenario, Sender.parse(name), seed)
        for scenario in scenarios
        for name in names
        for seed in range(1, SEEDS + 1)
    ]
    found = {job.key: session for job in jobs if kept is not None and (session := kept.get(job.key)) is not None}
    missing = [job for job in jobs if job.key not in found]

    def finished(outcome: Done[Job, Session] | Failed[Job]) -> None:
        if isinstance(outcome, Failed):
            raise ConfigError(f"{outcome.job.scenario.name}, {outcome.job.sender}: {outcome.reason}")
        found[outcome.job.key] = outcome.value
        if kept is not None:
            kept.add(outcome.job.key, outcome.value)

    map_jobs(play_job, missing, timeout_s=600.0, on_done=finished)
    sessions: Sessions = {}
    for job in jobs:
        sessions.setdefault(job.scenario.name, {}).setdefault(str(job.sender), []).append(found[job.key])
    return sessions


def experiments_of(scenarios: Sequence[VideoScenario], sessions: Sessions, archive: Archive) -> dict[str, Experiments]:
    """Run the experiments on every link; `sessions` has those of GCC. Stored sessions are reused."""
    prompt = [AT_EVERY_FRAME[ours] for ours in OURS]
    smallest = [scenario.over_table(scenario.table().at_most(-math.inf)) for scenario in scenarios]
    plain = [
        scenario.over_table(scenario.table().at_most(_mean(sessions[scenario.name][GCC], "ssim_p50_db")))
        for scenario in scenarios
    ]
    usual = sessions_of(scenarios, (KNOWN, *prompt), archive)
    quickest = sessions_of(smallest, (QUICKEST,), archive)
    plainly = sessions_of(plain, prompt, archive)
    return {
        link: Experiments(
            known=usual[link][KNOWN],
            quickest=quickest[link][QUICKEST],
            at_every_frame={ours: usual[link][AT_EVERY_FRAME[ours]] for ours in OURS},
            plain={ours: plainly[link][AT_EVERY_FRAME[ours]] for ours in OURS},
        )
        for link in sessions
    }


def _against(ours: Sequence[Session], theirs: Sequence[Session], key: str, by: Callable[[float, float], float],
             scale: Scale) -> Interval | None:  # fmt: skip
    """Compare a metric of two senders seed by seed, and return the interval; None if a session showed no frame."""
    pairs = [(a.metrics[key], b.metrics[key]) for a, b in zip(ours, theirs, strict=True)]
    if any(a is None or b is None for a, b in pairs):
        return None
    return interval([by(a, b) for a, b in pairs], scale)


def _numbers(
    scenario: VideoScenario, ours: str, by_sender: Mapping[str, Sequence[Session]], experiments: Experiments
) -> list[Number]:
    mine, case = by_sender[ours], f"{scenario.name}, {ours}"

    def number(claim: str, what: str, measure: Measure, bound: float, published: str, reason: Reason) -> Number:
        reading = f"{what}; lower end of the 95 % interval over {SEEDS} seeds"
        measured = measure(mine)
        value = None if measured is None else measured.lo
        why = ""
        if value is not None and value < bound:
            why = reason(Check(ours, value, bound, _NEAR[claim], measure), experiments)
        return Number(case, claim, reading, value, Bound(at_least=bound), published, why)

    shorter = _measure(by_sender[GCC], _KEY_MS, lambda a, b: b / a, Scale.FACTOR)
    found = [number(_SHORTER, "GCC's over ours", shorter, SMALLER, "more than 6", why_not_shorter)]
    for name, label in ((GCC, "GCC's"), (SALSIFY, "Salsify's")):
        theirs = by_sender[name]
        better = _measure(theirs, "ssim_p50_db", lambda a, b: a - b, Scale.REAL)
        found.append(number(_BETTER, f"ours minus {label}, dB", better, HIGHER_DB, "more than 2", why_not_better))
        faster = _measure(theirs, "fps", lambda a, b: a - b, Scale.REAL)
        reason = partial(why_not_faster, theirs=_mean(theirs, "fps"), fps=scenario.fps)
        found.append(number(_FASTER, f"ours minus {label}, frames per second", faster, 0.0, "higher", reason))
    return found


def _measure(theirs: Sequence[Session], key: str, by: Callable[[float, float], float], scale: Scale) -> Measure:
    """Return a function that compares sessions with those of a baseline."""
    return lambda ours: _against(ours, theirs, key, by, scale)


def _mean(sessions: Sequence[Session], key: str) -> float:
    values = [one.metrics[key] for one in sessions if one.metrics[key] is not None]
    return sum(values) / len(values) if values else math.nan


def _overall(ours: str, sessions: Sessions, experiments: Mapping[str, Experiments]) -> Number:
    """Return the geometric mean over all links of GCC's delay divided by ours, as one number for all links."""

    def mean(
        one: Callable[[str], Sequence[Session]], end: Callable[[Interval], float] = lambda it: it.value
    ) -> float | None:
        found = [
            _against(one(link), by_sender[GCC], _KEY_MS, lambda a, b: b / a, Scale.FACTOR)
            for link, by_sender in sessions.items()
        ]
        return geometric_mean([None if factor is None else end(factor) for factor in found])

    value = mean(lambda link: sessions[link][ours])
    why = ""
    if value is not None and value < SMALLER:
        limit = mean(lambda link: experiments[link].quickest, lambda factor: factor.hi)
        plain = mean(lambda link: experiments[link].plain[ours])
        why = delay_reason(SMALLER, _NEAR[_SHORTER], value=value, limit=limit, plain=plain, change=PLAINLY[ours])
    reading = "GCC's over ours, geometric mean over the links"
    return Number(f"all links, {ours}", _SHORTER, reading, value, Bound(at_least=SMALLER), "more than 6", why)


def _draw(sessions: Sessions, names: Sequence[str]) -> Figure:
    from matplotlib.figure import Figure as Sheet

    from fairweir.show import style

    sheet = Sheet(figsize=(3.2 * len(sessions), 3.4), layout="constrained")
    panels = sheet.subplots(1, len(sessions), squeeze=False)[0]
    for panel, (link, by_sender) in zip(panels, sessions.items(), strict=True):
        for place, name in enumerate(names):
            shown = [one for one in by_sender[name] if one.metrics[_KEY_MS] is not None]
            delays = [one.metrics[_KEY_MS] for one in shown]
            qualities = [one.metrics["ssim_p50_db"] for one in shown]
            panel.plot(delays, qualities, ".", markersize=9, color=style.colour(place), label=name)
        panel.set_xscale("log")
        panel.set_title(link)
        panel.set_xlabel("p95 of delay (ms)")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("median SSIM (dB)")
    panels[0].legend(fontsize="x-small")
    return sheet
