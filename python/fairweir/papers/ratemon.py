"""Figures 7 to 12 and table 2 of CMU-CS-24-129, for ``fairweir reproduce``, with a perfect classifier.

``fairweir guard evaluate`` runs the same with other policies and forests, and on real TCP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fairweir.guard.challenges import LINUX, draw
from fairweir.guard.evaluate import Kept, Play, evaluate
from fairweir.guard.outcome import HARM_PERCENT, Outcome, Verdict, sum_up
from fairweir.guard.treatments import treatments
from fairweir.reproduce.computed import Computation, Number
from fairweir.reproduce.experiment import Bound

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fairweir.play.batch import Archive

#: Configurations of each challenge; the report has 100, and 300 of figure 10.
CONFIGURATIONS: Final = 30
SEED: Final = 1


def play_challenges(names: tuple[str, ...], archive: Archive) -> list[Outcome]:
    """Run challenges in the simulator, except for stored ones; a failed one has no outcome."""
    plays = {
        name: {
            case: [Play(case, treatment) for treatment in treatments(name, [], "sim")]
            for case in draw(name, CONFIGURATIONS, SEED)
        }
        for name in names
    }
    every = [one for cases in plays.values() for several in cases.values() for one in several]
    kept = Kept(None if archive.directory is None else archive.directory / "guard")
    shares = evaluate(every, kept).shares
    return [outcome for name in names if (outcome := sum_up(name, plays[name], shares)) is not None]


def figure_7(archive: Archive) -> Computation:
    """A service of several flows against one of one."""
    return _computation(("services",), archive)


def figure_8(archive: Archive) -> Computation:
    """Reno and Cubic."""
    return _computation(("reno-cubic",), archive)


def figure_9(archive: Archive) -> Computation:
    """Vegas and Cubic."""
    return _computation(("vegas-cubic",), archive)


def figure_10(archive: Archive) -> Computation:
    """Cubic and BBR, and the newcomer's throughput."""
    return _computation(("cubic-bbr",), archive, with_newcomers=True)


def figure_11(archive: Archive) -> Computation:
    """One Cubic flow and several of each of Linux's CCAs."""
    return _computation(tuple(f"cubic-many-{cca}" for cca in LINUX), archive)


def figure_12(archive: Archive) -> Computation:
    """Cubic and HighSpeed, and the newcomer's throughput."""
    return _computation(("cubic-highspeed",), archive, with_newcomers=True)


def table_2(archive: Archive) -> Computation:
    """Guards at one of two receivers, at the other, at both."""
    return _computation(("deployments",), archive)


def limited_flows(archive: Archive) -> Computation:
    """Applications that send less than their share: all, the newcomer's, the incumbents'."""
    return _computation(("all-limited", "newcomer-limited", "incumbents-limited"), archive)


def _computation(names: tuple[str, ...], archive: Archive, *, with_newcomers: bool = False) -> Computation:
    outcomes = play_challenges(names, archive)
    numbers = [_number(one, verdict) for one in outcomes for verdict in one.verdicts]
    if with_newcomers:
        numbers += [_newcomers(one, verdict) for one in outcomes for verdict in one.verdicts]

    def draw_all() -> Figure:
        from fairweir.guard.picture import distributions

        return distributions(outcomes)

    return Computation(numbers, draw_all)


def _number(outcome: Outcome, verdict: Verdict) -> Number:
    published = verdict.published
    where = f"{outcome.challenge}, {verdict.treatment}"
    without, held = outcome.without.median_jain, verdict.measures.median_jain
    why = f"medians {without:.3f} > {held:.3f}; utilisation {verdict.utilization_percent:+.1f} %"
    if published.claim == "gains":
        low, _ = verdict.gain_interval
        reading = "gain of the median JFI, %, lower end of 95 %"
        return Number(where, "shares become more equal", reading, low, Bound(at_least=0.0), published.words, why)
    worse = min(verdict.gain_percent, verdict.utilization_percent)
    reading = "change of the median JFI or utilisation, %, whichever is worse"
    return Number(where, "nothing changes", reading, worse, Bound(at_least=-HARM_PERCENT), published.words, why)


def _newcomers(outcome: Outcome, verdict: Verdict) -> Number:
    fair = outcome.fair_newcomers
    before, after = abs(outcome.without.newcomers - fair), abs(verdict.measures.newcomers - fair)
    return Number(
        outcome.challenge,
        "the newcomer comes nearer to its fair share",
        "distance from it, with policies by without",
        after / before if before else None,
        Bound(at_most=1.0),
        "tracks the fair share",
    )
