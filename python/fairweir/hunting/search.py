"""The starvation hunt: the smallest jitter on one flow that makes throughputs differ by more than a bound.

D is the maximum jitter. The *ratio* of a run is the largest throughput of a flow divided by the smallest. A *spot* is a
link together with a jitter on the first of the flows that share the link.

1. A coarse grid over kinds of jitter, D, link rate and buffer finds the spots whose ratio exceeds the bound.
2. Bisection on ln D reduces D at these spots.
3. The spots with the smallest D are confirmed with new seeds, and with runs four times as long, because starvation is
   permanent.
4. Rate and duration are halved as long as the ratio is confirmed to exceed the bound.
5. The ratio is measured at higher rates and in longer runs. A ratio that keeps growing is *starvation*: no finite s
   bounds it (starvation paper, definition 3). A ratio that stops growing is *bounded unfairness*, however large it is.

The hunt's budget is a number of packets, not a time, so that a hunt gives the same answer on every machine.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fairweir.ccas.cca_spec import require
from fairweir.documents.digits import plain
from fairweir.hunting.hunter import BudgetSpentError, Hunter, Progress
from fairweir.hunting.result import BOUND, Growth, GrowthPoint, HuntResult, OutcomeWord, Victim
from fairweir.hunting.space import KINDS, US, Space, Spot, believed, scenario
from fairweir.judging.metrics import exponent
from fairweir.play.measure import Measure, on_all_cores
from fairweir.scenario.dumbbell import Cca, cca_name
from fairweir.units import Duration

PACKET_BUDGET = 150_000_000
"""Budget in packets for built-in controllers: about 15 s on two cores at ten million packets per second and core."""

PYTHON_PACKET_BUDGET = 10_000_000
"""Budget in packets for Python classes, which are called for every ACK."""

PRECISION = 1.25
"""Bisection ends when D is known to within this factor. Differences between seeds hide finer differences of D."""

GROWTH_EXPONENT = 0.2
"""If the ratio grows with at least this power of the rate or duration, it counts as unbounded. At this exponent, eight
times the rate increases the ratio by half, which is well outside the confidence interval of a constant ratio.
"""

NONE = Duration.from_ns(0)
SEARCH_SEEDS = (1, 2)
CONFIRM_SEEDS = (101, 102, 103, 104, 105, 106)
GROWTH_SEEDS = (201, 202, 203)
RATE_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
DURATION_FACTORS = (1.0, 2.0, 4.0)
PERSISTENCE = 4.0
"""Runs this many times as long must still have a ratio above the bound."""

MAX_BISECTED = 8
MAX_CONFIRMED = 4
LARGEST_RUN = 8_000_000
"""Maximum number of packets of a run that measures growth."""


@dataclass(frozen=True)
class _Candidate:
    """A spot whose ratio exceeds the bound, and the largest D tried below the spot's without exceeding the bound. If no
    smaller D was tried, `below` is an eighth of the grid's smallest D.
    """

    spot: Spot
    below: Duration


def _affordable(space: Space, budget: int) -> tuple[Space, bool]:
    """Drop the highest rates while the coarse grid costs over half the budget (packets). Return the remaining search
    space, and whether a rate was dropped.
    """
    rates, cut = space.rates, False
    while len(rates) > 1 and sum(s.packets for s in _grid(space, _links(space.but(rates=rates)))) > budget // 2:
        rates, cut = rates[:-1], True
    return space.but(rates=rates), cut


def _links(space: Space) -> list[Spot]:
    """Return a spot without jitter for each link of the search space."""
    return [Spot("none", NONE, r, b, space.duration) for r, b in itertools.product(space.rates, space.buffers)]


def _grid(space: Space, links: Sequence[Spot]) -> list[Spot]:
    """Return the spots of the coarse grid: each of `links` with each kind of jitter and each D."""
    return [link.at(kind=k, d=d) for link in links for k in space.kinds for d in space.d]


def _is_calm(hunter: Hunter, link: Spot) -> bool:
    """Return whether the ratio without jitter is at most half the bound, so that jitter explains any larger ratio."""
    ratios = hunter.ratios(link, SEARCH_SEEDS)
    return bool(ratios) and max(ratios) <= hunter.bound / 2


def _crossings(hunter: Hunter, space: Space, links: Sequence[Spot]) -> list[_Candidate]:
    """Return, for each kind and link, the spot with the smallest D of the grid whose ratio exceeds the bound. The
    result is sorted by D.
    """
    found = []
    for link, kind in itertools.product(links, space.kinds):
        below = space.d[0] / 8
        for d in space.d:
            spot = link.at(kind=kind, d=d)
            if hunter.exceeds(spot, SEARCH_SEEDS[:1]):
                found.append(_Candidate(spot=spot, below=below))
                break
            below = d
    found.sort(key=lambda c: (c.spot.d, -max(hunter.ratios(c.spot, SEARCH_SEEDS[:1]))))
    return found


def _widest_first(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Return the candidates to bisect: the first candidate of each kind of jitter, so that every kind is represented,
    and then the others with the overall smallest D.
    """
    first: dict[str, _Candidate] = {}
    for candidate in candidates:
        first.setdefault(candidate.spot.kind, candidate)
    rest = [c for c in candidates if c not in first.values()]
    smallest = candidates[0].spot.d
    return [*first.values(), *(c for c in rest if c.spot.d == smallest)][:MAX_BISECTED]


def _bisect(hunter: Hunter, candidates: list[_Candidate]) -> list[_Candidate]:
    """Reduce the D of all candidates by bisection on a logarithmic scale, and return the candidates sorted by D."""
    while any(c.spot.d / c.below > PRECISION for c in candidates):
        middles = {
            i: c.spot.at(d=(c.below * math.sqrt(c.spot.d / c.below)).rounded(US))
            for i, c in enumerate(candidates)
            if c.spot.d / c.below > PRECISION
        }
        try:
            hunter.measure("shrinking D", list(middles.values()), SEARCH_SEEDS)
        except BudgetSpentError:
            break
        candidates = [
            c
            if i not in middles
            else _Candidate(spot=middles[i], below=c.below)
            if hunter.exceeds(middles[i], SEARCH_SEEDS)
            else _Candidate(spot=c.spot, below=middles[i].d)
            for i, c in enumerate(candidates)
        ]
    return sorted(candidates, key=lambda c: c.spot.d)


def _unjittered(spot: Spot) -> Spot:
    return spot.at(kind="none", d=NONE, believed=None)


def _stands(hunter: Hunter, spot: Spot) -> bool:
    """Return whether the ratio's whole interval is above the bound and above the interval without jitter."""
    ratio, control = hunter.interval(spot, CONFIRM_SEEDS), hunter.interval(_unjittered(spot), CONFIRM_SEEDS)
    if ratio is None or control is None or ratio.lo <= hunter.bound:
        return False
    return spot.kind == "none" or control.hi < ratio.lo


def _persists(hunter: Hunter, spot: Spot) -> bool:
    """Return whether the ratio also exceeds the bound in runs four times as long."""
    longer = spot.at(duration=spot.duration * PERSISTENCE)
    hunter.measure("waiting longer", [longer], GROWTH_SEEDS)
    return hunter.exceeds(longer, GROWTH_SEEDS)


def _first_surviving(hunter: Hunter, spots: Sequence[Spot]) -> Spot | None:
    """Return the first spot whose ratio is confirmed to exceed the bound, in runs with seeds that the search did not
    use.

    If the ratio is as large without jitter, or does not exceed the bound in runs four times as long, the spot is not
    confirmed.
    """
    hunter.measure("confirming", [*spots, *map(_unjittered, spots)], CONFIRM_SEEDS)
    for spot in spots:
        if not _stands(hunter, spot):
            continue
        if _persists(hunter, spot):
            return spot
    return None


def _confirm(hunter: Hunter, candidates: Sequence[_Candidate], largest: Duration) -> _Candidate | None:
    """Return the first confirmed candidate. For each candidate, also try slightly larger D, because the seeds of the
    search may have been favorable.
    """
    for candidate in candidates[:MAX_CONFIRMED]:
        raised = [min(candidate.spot.d * PRECISION**i, largest).rounded(US) for i in range(3)]
        ladder = list(dict.fromkeys(raised))
        spot = _first_surviving(hunter, [candidate.spot.at(d=d) for d in ladder])
        if spot is not None:
            below = max((d for d in ladder if d < spot.d), default=candidate.below)
            return _Candidate(spot=spot, below=below)
    return None


def _halve(hunter: Hunter, spot: Spot, name: str, *, persists: bool) -> Spot:
    """Halve the field `name` of the spot at most twice, while the ratio is confirmed to exceed the bound.

    If `persists` is true, the ratio must also exceed the bound in runs four times as long.
    """
    for _ in range(2):
        less = spot.at(**{name: getattr(spot, name) / 2})
        try:
            hunter.measure("minimising the jitter", [less, _unjittered(less)], CONFIRM_SEEDS)
            if not _stands(hunter, less) or (persists and not _persists(hunter, less)):
                break
        except BudgetSpentError:
            break
        spot = less
    return spot


def _grow(hunter: Hunter, spot: Spot) -> list[Growth]:
    """Measure the ratio as a function of the link rate and of the run's duration.

    Runs of more than LARGEST_RUN packets are omitted, and so are points at which the ratio is large without jitter.
    """
    curves: list[Growth] = []
    places: dict[str, Callable[[Spot], float]] = {
        "rate_mbps": lambda s: s.rate.mbps,
        "duration_s": lambda s: s.duration.s,
    }
    for axis, spots in (
        # The rate of the link that the jitter imitates stays the same; otherwise the ratio could not grow.
        (
            "rate_mbps",
            [spot.at(rate=spot.rate * f, believed=believed(spot)) for f in RATE_FACTORS],
        ),
        ("duration_s", [spot.at(duration=spot.duration * f) for f in DURATION_FACTORS]),
    ):
        affordable = [s for s in spots if s.packets <= LARGEST_RUN]
        try:
            hunter.measure("following it", [*affordable, *map(_unjittered, affordable)], GROWTH_SEEDS)
        except BudgetSpentError:
            continue
        points = [
            GrowthPoint(x=places[axis](s), ratio=ratio, control=control)
            for s in affordable
            if (ratio := hunter.interval(s, GROWTH_SEEDS)) is not None
            and (control := hunter.interval(_unjittered(s), GROWTH_SEEDS)) is not None
            and (s.kind == "none" or control.value <= hunter.bound / 2)
        ]
        if len(points) >= 2:
            # At small x the ratio may still rise towards a finite limit. The fit therefore uses only the points from
            # the spot's value upwards, if there are at least two.
            beyond = [p for p in points if p.x >= places[axis](spot)]
            fitted = beyond if len(beyond) >= 2 else points
            power = exponent([p.x for p in fitted], [p.ratio.value for p in fitted])
            curves.append(Growth.model_validate({"axis": axis, "points": points, "exponent": power}))
    return curves


def _victim(hunter: Hunter, spot: Spot) -> tuple[Victim, float, float]:
    """Return which flow starves in the confirming runs, and mean throughputs (Mbps) of the slowest and fastest flow."""
    runs = hunter.rates(spot, CONFIRM_SEEDS)
    slowest = {min(range(len(rates)), key=rates.__getitem__) for rates in runs}
    victim: Victim = "either" if spot.kind == "none" else "jittered" if slowest == {0} else "others"
    if 0 in slowest and slowest != {0}:
        victim = "either"
    return victim, sum(map(min, runs)) / len(runs), sum(map(max, runs)) / len(runs)


def _smallest_by_kind(space: Space, candidates: Sequence[_Candidate]) -> dict[str, float | None]:
    return {k: min((c.spot.d.ms for c in candidates if c.spot.kind == k), default=None) for k in space.kinds}


def hunt(
    cca: Cca,
    *,
    measure: Measure | None = None,
    space: Space | None = None,
    bound: float = BOUND,
    packet_budget: int | None = None,
    on_progress: Progress | None = None,
) -> HuntResult:
    """Search for the smallest jitter on one flow that starves a flow of the same CCA.

    Parameters
    ----------
    cca : name, path, or table with parameters, in scenario notation
    measure : function that runs scenarios; default: the simulator on all cores
    space : search space; default: :class:`Space` with its defaults
    bound : the ratio above which a flow counts as starved; `BOUND_REASON` explains the default
    packet_budget : number of data packets that may be simulated; the default depends on the language of the CCA
    on_progress : function that is called before each batch of runs

    Returns
    -------
    HuntResult : ``outcome`` is "starvation" (the ratio is confirmed to exceed the bound, and grows with the rate or
        with time), "bounded-unfairness" (confirmed, not growing), "none" (not confirmed), or "failed" (all runs failed)

    Raises
    ------
    ConfigError, CcaError : the CCA does not exist, or its parameters are wrong
    """
    if measure is None:
        require(cca)
    if packet_budget is None:
        packet_budget = PYTHON_PACKET_BUDGET if ":" in cca_name(cca) else PACKET_BUDGET
    space, was_cut = _affordable(space or Space(), packet_budget)
    hunter = Hunter(
        cca, space, measure or on_all_cores(), bound, packet_budget, on_progress or (lambda what, part: None)
    )
    best: _Candidate | None = None
    by_kind: dict[str, float | None] = {}
    left_out: list[str] = []
    try:
        hunter.measure("without jitter", _links(space.but(buffers=space.buffers[:1])), SEARCH_SEEDS)
        if sum(hunter.lossy.values()) <= len(hunter.lossy) / 2:
            space = space.but(buffers=space.buffers[:1])
        links = _links(space)
        hunter.measure("without jitter", links, SEARCH_SEEDS)
        if all(not hunter.ratios(link, SEARCH_SEEDS) for link in links):
            return _result(hunter, space, None, by_kind, left_out, was_cut, failed=True)
        unequal = [link for link in links if hunter.exceeds(link, SEARCH_SEEDS)]
        for link in unequal[:MAX_CONFIRMED]:
            if best is None and (spot := _first_surviving(hunter, [link])) is not None:
                best = _Candidate(spot=spot, below=NONE)
        calm = [link for link in links if _is_calm(hunter, link)]
        left_out = [f"{plain(link.rate.mbps)} Mbps, {link.buffer}" for link in links if link not in calm]
        if best is None and calm:
            hunter.measure("coarse grid", _grid(space, calm), SEARCH_SEEDS[:1])
            candidates = _crossings(hunter, space, calm)
            by_kind = _smallest_by_kind(space, candidates)
            if candidates:
                candidates = _bisect(hunter, _widest_first(candidates))
                by_kind |= {k: d for k, d in _smallest_by_kind(space, candidates).items() if d is not None}
                best = _confirm(hunter, candidates, space.d[-1])
    except BudgetSpentError:
        was_cut = True
    return _result(hunter, space, best, by_kind, left_out, was_cut)


def _result(
    hunter: Hunter,
    space: Space,
    best: _Candidate | None,
    by_kind: dict[str, float | None],
    left_out: list[str],
    was_cut: bool,
    failed: bool = False,
) -> HuntResult:
    grid = [r for s in _grid(space, _links(space)) for r in hunter.ratios(s, SEARCH_SEEDS[:1])]
    outcome: OutcomeWord = "failed" if failed else "none"
    found: dict[str, object] = {}
    if best is not None:
        modest = _halve(hunter, best.spot, "rate", persists=True)
        growth = _grow(hunter, modest)
        # Persistence has been checked, so the scenario that reproduces the result may be short.
        spot = _halve(hunter, modest, "duration", persists=False)
        outcome = "starvation" if any(g.exponent >= GROWTH_EXPONENT for g in growth) else "bounded-unfairness"
        victim, victim_mbps, winner_mbps = _victim(hunter, spot)
        found = {
            "kind": spot.kind,
            "kind_text": next((k.text for k in KINDS if k.name == spot.kind), "all flows disturbed"),
            "d_ms": spot.d.ms,
            "d_below_ms": best.below.ms,
            "rate_mbps": spot.rate.mbps,
            "buffer": spot.buffer,
            "duration_s": spot.duration.s,
            "ratio": hunter.interval(spot, CONFIRM_SEEDS),
            "seeds": list(CONFIRM_SEEDS),
            "control": hunter.interval(_unjittered(spot), CONFIRM_SEEDS),
            "victim": victim,
            "victim_mbps": victim_mbps,
            "winner_mbps": winner_mbps,
            "growth": growth,
            "scenario": scenario(hunter.cca, space, spot, CONFIRM_SEEDS[0]),
        }
    return HuntResult.model_validate(
        {
            "cca": cca_name(hunter.cca),
            "outcome": outcome,
            "bound": hunter.bound,
            "smallest_d_ms": by_kind,
            "left_out": left_out,
            "largest_ratio": max(grid, default=None),
            "rtprop_ms": space.rtprop.ms,
            "flows": space.flows,
            "searched_rates_mbps": [rate.mbps for rate in space.rates],
            "searched_buffers": list(space.buffers),
            "searched_d_ms": [d.ms for d in space.d],
            "runs": hunter.runs,
            "packets": hunter.packets,
            "budget_exhausted": was_cut,
            "faults": list(dict.fromkeys(hunter.faults)),
            **found,
        }
    )
