"""Construct a network in which bounded jitter starves a flow of a CCA: theorems 1 and 2 of the starvation paper.

The construction runs one flow alone on ideal links of many rates (the scan). Two link rates form a pair if the flow's
delays on both links differ by at most D, the maximum jitter, but the throughputs differ by the required ratio. On one
shared link, jitter then shows one flow the slower and the other flow the faster link; such an imitated link is a
virtual link. Runs with several seeds confirm the throughput ratio. Theorem 2 is about a single flow, to which jitter
shows a link that is slower than the real link. If no pair is found, a search over scenarios (the hunt) is tried
instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fairweir.ccas.cca_spec import require
from fairweir.hunting.result import HuntResult
from fairweir.hunting.search import hunt
from fairweir.hunting.space import Space
from fairweir.judging.interval import Scale, interval
from fairweir.judging.metrics import RATIO_CEILING
from fairweir.judging.summary import Summary
from fairweir.play.batch import Archive, Task, TaskResult, play_all
from fairweir.play.measure import on_all_cores
from fairweir.play.pool import Where
from fairweir.scenario.dumbbell import cca_name
from fairweir.scenario.model import Scenario
from fairweir.starvation import links
from fairweir.starvation.pairs import hold, pairs, scanned_rates
from fairweir.starvation.question import Question
from fairweir.starvation.result import Confirmation, Pair, Point, Starvation, Underuse, Word
from fairweir.units import Duration, Rate

LONGER_RUN = 4.0
"""Factor by which runs are longer on links where the RTT has not settled."""
SLACK = 1.5
"""Factor by which D exceeds the minimum D of the converged flows. A flow that starts too fast must observe more delay
than after convergence; otherwise it cannot observe that its virtual queue is longer.
"""
HEADROOMS = (1.0, 1.1, 1.25, 1.5, 2.0)
"""Rates of the shared link divided by the sum of the rates of both flows' own links, in the order in which they are
tried. The proof's case 2 requires a link "large enough" that its queue never exceeds the queue of a flow's own link. If
the shared link has the sum of both rates, a burst of one flow delays the other flow.
"""
UNDERUSED = 10.0
"""Ratio of theorem 2's link rate to the fastest scanned link."""
HUNT_PACKETS = 60_000_000

Progress = Callable[[str, float], object]
"""Called with (description, completed fraction)."""


def starve(
    question: Question,
    *,
    archive: Archive | None = None,
    workers: Where = None,
    on_progress: Progress | None = None,
) -> Starvation:
    """Construct a network in which one flow of a CCA starves another flow of the same CCA, and run the network.

    Parameters
    ----------
    question : Question, the CCA, the bounds on jitter and link rates, and the required ratio
    archive : Archive from which runs with the same scenario are read, and in which new runs are stored
    workers : number of processes, None for one per core, or a :class:`fairweir.Cluster`
    on_progress : called with a description and the completed fraction

    Raises
    ------
    ConfigError, CcaError : the CCA does not exist, or its parameters are wrong
    KeyboardInterrupt : Ctrl-C; finished runs are in the archive

    References
    ----------
    Starvation paper, sections 2.2, 4.3 and 6.1, appendix A; docs/derivations.md
    """
    require(question.cca)
    player = Player(archive, workers, on_progress)
    points = scan(question, player)
    base: dict[str, Any] = {
        "cca": cca_name(question.cca),
        "asked_ratio": question.ratio,
        "jitter_ms": question.d.ms,
        "rtprop_ms": question.rtprop.ms,
        "points": points,
    }
    if restless := [point for point in points if not point.settles]:
        hunted = _hunt(question, Space().buffers, workers, on_progress)
        refusal = _refusal(restless[0])
        return Starvation(**base, **_by_hunt(hunted, "not-delay-convergent", refusal), hunt=hunted)
    base |= {"delta_max_ms": max(p.delta_ms for p in points), "efficiency": min(p.efficiency for p in points)}
    found = pairs(points, question.ratio)
    underuse, document = _underuse(question, points, player)
    scenarios = {document["name"]: document} if document else {}
    if not found or found[0].d_ms > question.d.ms:
        why = (
            f"the closest pair needs D = {found[0].d_ms:.3g} ms"
            if found
            else f"no two rates of the scan have a throughput ratio of {question.ratio:g}"
        )
        # The CCA bounds its queue, so the hunt can use an infinite buffer, like the scan.
        hunted = _hunt(question, (links.BUFFER,), workers, on_progress)
        answer = _by_hunt(hunted, "needs-more-jitter" if found else "not-shown", why)
        answer["scenarios"] |= scenarios
        return Starvation(**base, **answer, pair=found[0] if found else None, underuse=underuse, hunt=hunted)
    pair = found[0]
    d = min(Duration.from_ms(pair.d_ms) * SLACK, question.d).rounded(links.US)
    confirmation = _confirm(question, pair, d, player)
    link = Rate.from_mbps(confirmation.link_mbps if confirmation else pair.slow_mbps + pair.fast_mbps)
    shown = _shared(question, pair, link, d, question.seeds[0])
    starves = confirmation is not None and confirmation.starved == len(question.seeds)
    return Starvation(
        word="starves" if starves else "not-shown",
        why=_account(question, pair, confirmation),
        pair=pair,
        confirmation=confirmation,
        underuse=underuse,
        scenarios={shown["name"]: shown, **scenarios},
        **base,
    )


class Player:
    """Runs scenarios in parallel, and stores the runs in an archive."""

    def __init__(
        self, archive: Archive | None = None, workers: Where = None, on_progress: Progress | None = None
    ) -> None:
        self._archive = archive or Archive(None)
        self._workers = workers
        self._on_progress = on_progress or (lambda what, part: None)

    def play(self, what: str, documents: Sequence[links.Document]) -> list[TaskResult]:
        """Run scenarios, and return one result per scenario; `what` describes the scenarios in progress reports."""
        tasks = [Task(Scenario.from_dict(document, source="starve")) for document in documents]
        outcomes = play_all(
            tasks,
            self._archive,
            workers=self._workers,
            on_done=lambda task, outcome, done, total: self._on_progress(what, done / total),
        )
        return [outcomes[task.key] for task in tasks]


def scan(question: Question, player: Player) -> list[Point]:
    """Run one flow on ideal links, and return one point per link rate.

    If the RTT does not settle on a link, the run is repeated with a longer duration.
    """
    rates = scanned_rates(question.lowest, question.highest, question.ratio)
    points = _points(question, rates, links.SCAN, player)
    again = [Rate.from_mbps(p.rate_mbps) for p in points if not p.settles and not p.fault]
    # If the RTT does not settle on the slowest link, the queue grows without bound. Longer runs at higher rates would
    # be expensive and show nothing new.
    if not again or not points[0].settles:
        return points
    longer = {p.rate_mbps: p for p in _points(question, again, links.SCAN * LONGER_RUN, player)}
    return [longer.get(p.rate_mbps, p) for p in points]


def _points(question: Question, rates: Sequence[Rate], duration: Duration, player: Player) -> list[Point]:
    documents = [
        links.ideal(question.cca, rate, question.rtprop, duration, share) for rate in rates for share in (0.5, 0.25)
    ]
    outcomes = player.play("one flow on ideal links", documents)
    return [_point(rate, question.rtprop, duration, *outcomes[2 * i : 2 * i + 2]) for i, rate in enumerate(rates)]


def _point(rate: Rate, rtprop: Duration, duration: Duration, half: TaskResult, quarter: TaskResult) -> Point:
    place = {"rate_mbps": rate.mbps, "rtprop_ms": rtprop.ms, "duration_s": duration.s}
    if half.summary is None or quarter.summary is None:
        return Point(**place, fault=half.failure or quarter.failure)
    flow, late = half.summary.flows[0], quarter.summary.flows[0]
    if flow.rtt_ms.min is None or late.rtt_ms.min is None:
        fault = "nothing was acknowledged after the warm-up"
        return Point(**place, fault=fault)
    return Point(
        **place,
        throughput_mbps=flow.throughput_mbps,
        dmin_ms=flow.rtt_ms.min,
        dmax_ms=flow.rtt_ms.max,
        late_dmin_ms=late.rtt_ms.min,
        late_dmax_ms=late.rtt_ms.max,
    )


def _refusal(point: Point) -> str:
    if point.fault:
        return f"at {point.rate_mbps:g} Mbps the run failed: {point.fault}"
    return (
        f"at {point.rate_mbps:g} Mbps the RTT does not settle: {point.dmin_ms:.4g} to {point.dmax_ms:.4g} ms in the "
        f"last half of {point.duration_s:g} s, {point.late_dmin_ms:.4g} to {point.late_dmax_ms:.4g} ms in the "
        "last quarter"
    )


def _hunt(question: Question, buffers: tuple[str, ...], workers: Where, on_progress: Progress | None) -> HuntResult:
    """Search scenarios for a path and jitter that starve a flow; used if the construction does not apply."""
    space = Space(rtprop=question.rtprop, buffers=buffers)
    # Maximum jitter of the scenarios: D/16, D/4 and D.
    grid = tuple((question.d / 4**i).rounded(links.US) for i in (2, 1, 0))
    return hunt(
        question.cca,
        measure=on_all_cores(workers=workers),
        space=space.but(d=grid),
        bound=question.ratio,
        packet_budget=HUNT_PACKETS,
        on_progress=on_progress,
    )


def _by_hunt(hunted: HuntResult, word: Word, why: str) -> dict[str, Any]:
    """Return the fields of the result: the hunt's result if the hunt found starvation, otherwise `word` and `why`."""
    if hunted.outcome != "starvation" or hunted.scenario is None:
        return {"word": word, "why": why, "scenarios": {}}
    name = f"{hunted.scenario['name']}-hunted"
    return {"word": "starves", "why": f"{hunted.text}; {why}", "scenarios": {name: hunted.scenario | {"name": name}}}


def _confirm(question: Question, pair: Pair, d: Duration, player: Player) -> Confirmation | None:
    """Run both flows on the shared link with every seed, and return the throughput ratios; None if a run fails."""
    best, best_ratio = Rate.from_mbps(0), 0.0
    for headroom in HEADROOMS:
        link = headroom * Rate.from_mbps(pair.slow_mbps + pair.fast_mbps)
        (first,) = player.play("choosing the shared link", [_shared(question, pair, link, d, question.seeds[0])])
        if first.summary is not None and (ratio := _ratio(first.summary)) > best_ratio:
            best, best_ratio = link, ratio
        if best_ratio >= question.ratio:
            break
    documents = [_shared(question, pair, best, d, seed) for seed in question.seeds] if best else []
    outcomes = player.play("both flows on one link", documents)
    runs = [outcome.summary for outcome in outcomes if outcome.summary is not None]
    if not runs or len(runs) < len(outcomes):
        return None
    shares = [[flow.throughput_mbps for flow in run.flows[:2]] for run in runs]
    ratios = [_ratio(run) for run in runs]
    return Confirmation(
        d_ms=d.ms,
        link_mbps=best.mbps,
        seeds=list(question.seeds),
        ratios=ratios,
        ratio=interval(ratios, Scale.POSITIVE),
        slow_mbps=sum(slow for slow, _ in shares) / len(shares),
        fast_mbps=sum(fast for _, fast in shares) / len(shares),
        violations=[_violations(run) for run in runs],
        starved=sum(ratio >= question.ratio for ratio in ratios),
    )


def _shared(question: Question, pair: Pair, link: Rate, d: Duration, seed: int) -> links.Document:
    slow, fast = Rate.from_mbps(pair.slow_mbps), Rate.from_mbps(pair.fast_mbps)
    standing = Duration.from_ms(pair.standing_ms)
    return links.shared(question.cca, slow, fast, link, d, question.rtprop, seed, standing)


def _ratio(summary: Summary) -> float:
    """Return the throughput of the flow with the faster virtual link divided by the other flow's throughput."""
    slow, fast = (flow.throughput_mbps for flow in summary.flows[:2])
    return min(fast / slow, RATIO_CEILING) if slow > 0.0 else RATIO_CEILING


def _violations(summary: Summary) -> int:
    return sum(flow.violations for flow in summary.flows)


def _account(question: Question, pair: Pair, confirmation: Confirmation | None) -> str:
    if confirmation is None:
        return "a run on the shared link failed"
    ratio = confirmation.ratio
    return (
        f"ratio {ratio.value:.3g} [{ratio.lo:.3g}, {ratio.hi:.3g}] with D = {confirmation.d_ms:.3g} ms on "
        f"{confirmation.link_mbps:.4g} Mbps; at least {question.ratio:g} with {confirmation.starved} of "
        f"{len(confirmation.seeds)} seeds"
    )


def _underuse(
    question: Question, points: Sequence[Point], player: Player
) -> tuple[Underuse | None, links.Document | None]:
    """Run the network of theorem 2: a flow on a fast link, with jitter that imitates a slow link.

    The imitated link is the slowest link of the scan for which the required jitter is at most D.
    """
    shown = next((p for p in points if hold(p) <= question.d), None)
    if shown is None:
        return None, None
    d = min(hold(shown) * SLACK, question.d).rounded(links.US)
    link = question.highest * UNDERUSED
    document = links.underused(question.cca, Rate.from_mbps(shown.rate_mbps), link, d, question.rtprop)
    (whole,) = player.play("theorem 2", [document])
    if whole.summary is None:
        return None, None
    underuse = Underuse(
        d_ms=d.ms,
        shown_mbps=shown.rate_mbps,
        link_mbps=link.mbps,
        utilization=whole.summary.links[0].utilization,
        violations=_violations(whole.summary),
    )
    return underuse, document
