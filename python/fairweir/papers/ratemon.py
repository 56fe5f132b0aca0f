"""Compute figures 7 to 12 and table 2 of the RateMon report (CMU-CS-24-129) for ``fairweir reproduce``.

A *challenge* is a family of random configurations of competing flows: *incumbents*, and in some challenges a
*newcomer*, which starts later. Each configuration is run without and with a *policy*, by which a receiver's *guard*
limits flows through their receive windows. JFI is Jain's fairness index. The policies here use a perfect classifier: it
knows the link rate and the number of flows.

``fairweir guard evaluate`` runs the same challenges with other policies and classifiers, and with the kernel's TCP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fairweir.guard.challenges import LINUX, draw
from fairweir.guard.evaluate import Kept, Play, evaluate
from fairweir.guard.outcome import HARM_PERCENT, ChallengeResult, TreatmentResult, sum_up
from fairweir.guard.treatments import treatments
from fairweir.reproduce.computed import Computation, Number, computed
from fairweir.reproduce.experiment import Bound

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fairweir.play.batch import Archive

#: Number of configurations per challenge. The report uses 100, and 300 for figure 10.
CONFIGURATIONS: Final = 30
SEED: Final = 1
_TABLE_1: Final = "the report's table 1, 30 configurations, 100 s, in the simulator; "
_TOLD: Final = (
    f"{_TABLE_1}the classifier knows the link rate and the number of flows, so this is the policy's best case"
)


def play_challenges(names: tuple[str, ...], archive: Archive) -> list[ChallengeResult]:
    """Run the named challenges in the simulator. Stored runs are reused, and failed challenges are omitted."""
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


@computed(
    "ratemon-figure-7",
    title="A service with many flows against a service with one flow",
    source="cooperative rate control report, figure 7, section 6.1.1",
    published="ServicePolicy: median JFI between services +23.9 %, median utilization unchanged",
    setup=f"{_TABLE_1}policy `service`",
    items=("ratemon figure 7",),
)
def figure_7(archive: Archive) -> Computation:
    """Run a service with several flows against a service with one flow."""
    return _computation(("services",), archive)


@computed(
    "ratemon-figure-8",
    title="Cubic among Reno flows",
    source="cooperative rate control report, figure 8, section 6.1.2",
    published="FlowPolicy: median JFI +32.7 %",
    setup=_TOLD,
    items=("ratemon figure 8",),
)
def figure_8(archive: Archive) -> Computation:
    """Run Cubic among Reno flows."""
    return _computation(("reno-cubic",), archive)


@computed(
    "ratemon-figure-9",
    title="Cubic among Vegas flows",
    source="cooperative rate control report, figure 9, section 6.1.3",
    published="FlowPolicy: median JFI +220.8 %",
    setup=_TOLD,
    items=("ratemon figure 9",),
)
def figure_9(archive: Archive) -> Computation:
    """Run Cubic among Vegas flows."""
    return _computation(("vegas-cubic",), archive)


@computed(
    "ratemon-figure-10",
    title="BBR among Cubic flows",
    source="cooperative rate control report, figure 10, section 6.2.1",
    published=(
        "FlowPolicy: median JFI from 0.51 to 0.94; BBR's median share of the link from 48.4 % to 12.9 %, where 14.3 "
        "% is fair"
    ),
    setup=_TOLD,
    items=("ratemon figure 10",),
)
def figure_10(archive: Archive) -> Computation:
    """Run BBR among Cubic flows, and measure the newcomer's throughput."""
    return _computation(("cubic-bbr",), archive, with_newcomers=True)


@computed(
    "ratemon-figure-11",
    title="Many flows of each of Linux's CCAs against one Cubic flow",
    source="cooperative rate control report, figure 11, section 6.2.2",
    published="JFI rises for all of them, also for those that the model was not trained on",
    setup=_TOLD,
    items=("ratemon figure 11",),
)
def figure_11(archive: Archive) -> Computation:
    """Run one Cubic flow against several flows of each of Linux's CCAs."""
    return _computation(tuple(f"cubic-many-{cca}" for cca in LINUX), archive)


@computed(
    "ratemon-figure-12",
    title="HighSpeed among Cubic flows",
    source="cooperative rate control report, figure 12, section 6.2.2",
    published="HighSpeed gets less than Cubic; with FlowPolicy it gets its fair share, 2.1 times as much",
    setup=_TOLD,
    items=("ratemon figure 12",),
)
def figure_12(archive: Archive) -> Computation:
    """Run HighSpeed among Cubic flows, and measure the newcomer's throughput."""
    return _computation(("cubic-highspeed",), archive, with_newcomers=True)


@computed(
    "ratemon-table-2",
    title="Guards at only some receivers",
    source="cooperative rate control report, table 2, section 6.2.5",
    published=(
        "median JFI 0.68 without guards, 0.66 with a guard for incumbents only, 0.84 with one for the newcomer, 0.87 "
        "with guards for all"
    ),
    setup=_TOLD,
    items=("ratemon table 2",),
)
def table_2(archive: Archive) -> Computation:
    """Run a guard at the incumbents' receiver, at the newcomer's receiver, and at both receivers."""
    return _computation(("deployments",), archive)


@computed(
    "ratemon-6.2.4",
    title="App-limited flows",
    source="cooperative rate control report, section 6.2.4",
    published=(
        "no change if all flows are app-limited; JFI stays at 0.93 if the newcomer is, and rises from 0.40 to 0.57 "
        "if the incumbents are"
    ),
    setup=_TOLD,
    items=("ratemon figure 10",),
)
def limited_flows(archive: Archive) -> Computation:
    """Run flows that send less than their fair share: all flows, only the newcomer, or only the incumbents."""
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


def _number(outcome: ChallengeResult, verdict: TreatmentResult) -> Number:
    published = verdict.published
    where = f"{outcome.challenge}, {verdict.treatment}"
    without, held = outcome.without.median_jain, verdict.measures.median_jain
    why = (
        f"median JFI {without:.3f} without, {held:.3f} with policies; utilization {verdict.utilization_percent:+.1f} %"
    )
    if published.claim == "gains":
        low, _ = verdict.gain_interval
        reading = "gain of the median JFI, %, lower end of the 95 % interval"
        return Number(where, "shares become more equal", reading, low, Bound(at_least=0.0), published.words, why)
    worse = min(verdict.gain_percent, verdict.utilization_percent)
    reading = "the worse of the changes of the median JFI and of the median utilization, %"
    return Number(where, "no change", reading, worse, Bound(at_least=-HARM_PERCENT), published.words, why)


def _newcomers(outcome: ChallengeResult, verdict: TreatmentResult) -> Number:
    fair = outcome.fair_newcomers
    before, after = abs(outcome.without.newcomers - fair), abs(verdict.measures.newcomers - fair)
    return Number(
        outcome.challenge,
        "the newcomer's share is closer to its fair share",
        "distance from the fair share with policies, divided by that without",
        after / before if before else None,
        Bound(at_most=1.0),
        "the share is close to the fair share",
    )
