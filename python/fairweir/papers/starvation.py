"""Compute figure 3 and theorems 1 to 3 of the starvation paper for ``fairweir reproduce``.

Symbols: C, link rate; Rm, round-trip propagation delay; D, maximum jitter; d_min and d_max, the ends of the range of a
flow's RTT on an ideal link (constant rate, no jitter); delta(C) = d_max - d_min; delta_max, the maximum of delta(C)
over link rates; s, a ratio of two flows' throughputs.

A CCA is *delay-convergent* if on every ideal link the RTT eventually stays between d_min and d_max. A CCA *starves*
flows if for every s, jitter of at most D can make the throughputs of two flows differ by a factor of s. In the paper's
*strong model* the link rate may vary arbitrarily.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fairweir.reproduce.computed import Computation, Number, computed
from fairweir.reproduce.experiment import Bound
from fairweir.scenario.dumbbell import PACKET, Cca
from fairweir.starvation import links
from fairweir.starvation.certify import certify
from fairweir.starvation.check import check
from fairweir.starvation.construction import SLACK, Player, scan, starve
from fairweir.starvation.pairs import hold
from fairweir.starvation.question import Question
from fairweir.starvation.result import Starvation
from fairweir.starvation.strong import descend
from fairweir.units import Duration, Rate

if TYPE_CHECKING:
    from fairweir.play.batch import Archive

RTPROP: Final = Duration.from_ms(40)
#: A contract, that is, a rate as a function of delay: here the rate decreases by a factor of 10 for each ln(10) s0 of
#: delay. A flow with this contract never empties the queue.
EXPONENTIAL: Final[dict[str, Any]] = {"name": "contract", "function": "exponential", "s0": "1ms", "c0": "1Tbps"}
#: BBR with a pacing rate far above the link rate (as if jitter had made BBR overestimate the link rate), so that cwnd
#: limits the flow. The minimum RTT does not expire, because the CCA in the paper's proof knows the minimum RTT.
CWND_LIMITED: Final[dict[str, Any]] = {
    "name": "bbr",
    "cruise_gain": 1.5,
    "probe_up_gain": 1.5,
    "probe_down_gain": 1.5,
    "min_rtt_window": "1000s",
}
CURVES: Final[tuple[tuple[str, Cca], ...]] = (
    ("vegas", "vegas"),
    ("fast", "fast"),
    ("copa", "copa"),
    ("bbr", "bbr"),
    ("bbr, cwnd-limited", CWND_LIMITED),
    ("pcc_vivace", "pcc_vivace"),
)
#: Pairs of a CCA and the maximum jitter D.
STRONG: Final = (
    ("vegas", Duration.from_ms(6)),
    ("copa", Duration.from_ms(4)),
    ("aimd_delay", Duration.from_ms(4)),
)
SEEDS: Final = (101, 102, 103)
HIGHEST: Final = Rate.from_mbps(100)
LOWEST: Final = Rate.from_mbps(1)
SHOWN: Final = Rate.from_mbps(9)


@computed(
    "starvation-figure-3",
    title="The rate of each CCA as a function of delay",
    source="starvation paper, figure 3, section 5",
    published=(
        "the RTT of a single flow stays within [Rm + alpha/C, Rm + 5 alpha/C] (Copa), [Rm, 1.25 Rm] (BBR, pacing), "
        "[Rm, 1.05 Rm] (Vivace), or is constant (Vegas, FAST, BBR limited by cwnd)"
    ),
    setup="ideal links of 1 to 100 Mbps, Rm = 40 ms; the range of the last half of 100 s",
    items=("starvation figure 3",),
)
def figure_3(archive: Archive) -> Computation:
    """Compute the range of the RTT of a single flow on links of several rates."""
    player = Player(archive)
    curves = [(name, scan(_question(cca, LOWEST), player)) for name, cca in CURVES]
    points = {name: next(p for p in scanned if p.rate_mbps == 30.0) for name, scanned in curves}
    packet_ms = (PACKET / Rate.from_mbps(30)).ms
    copa, bbr, vivace = points["copa"], points["bbr"], points["pcc_vivace"]
    limited = points["bbr, cwnd-limited"]
    numbers = [
        *(
            Number("30 Mbps", "delta(C) = 0", f"{name}: delta(C), packets", points[name].delta_ms / packet_ms,
                   Bound(at_most=0.5), 0.0)
            for name in ("vegas", "fast")
        ),
        Number("30 Mbps", "delta(C) = 4 alpha/C, alpha = 1 packet", "copa: delta(C), packets",
               copa.delta_ms / packet_ms, Bound(within=0.1), 4.0),
        Number("30 Mbps", "pacing: d_max = 1.25 Rm", "bbr: d_max / Rm", bbr.dmax_ms / RTPROP.ms,
               Bound(within=0.05), 1.25),
        Number("30 Mbps", "cwnd-limited: RTT = 2 Rm + alpha/C", "bbr: d_max / (2 Rm + alpha/C",
               limited.dmax_ms / (2 * RTPROP.ms + 3 * packet_ms), Bound(within=0.05), 1.0),
        Number("30 Mbps", "d_max = 1.05 Rm", "pcc_vivace: d_max / Rm", vivace.dmax_ms / RTPROP.ms,
               Bound(within=0.05), 1.05),
    ]  # fmt: skip

    def draw() -> Any:
        from fairweir.starvation.picture import rate_delay

        return rate_delay(curves)

    return Computation(numbers, draw)


@computed(
    "starvation-theorem-1",
    title="Delay-convergent CCAs starve: construction, simulation, certificate",
    source="starvation paper, theorem 1, appendix A",
    published=(
        "for every s and every jitter D above 2 delta_max there is a network in which one of two flows gets s times "
        "the other's throughput"
    ),
    setup="s = 10, Rm = 40 ms, rates up to 100 Mbps; the shared queue empty (case 2) and standing (case 1)",
    items=("starvation theorem 1",),
)
def theorem_1(archive: Archive) -> Computation:
    """Construct a link on which one of two flows starves, and simulate the link with several seeds. Check from records
    of each flow alone on an ideal link that the necessary jitter is at most D.
    """
    numbers = []
    for cca, case in (("vegas", 2), ("copa", 2), ("bbr", 2), (EXPONENTIAL, 1)):
        question = _question(cca, SHOWN)
        result = starve(question, archive=archive)
        name = f"{question.name}, case {case}"
        found = None if result.pair is None or result.pair.case != case else result.pair
        certificate = None if found is None else certify(question, found, lambda what, part: None)
        untrue = None if certificate is None else [finding for finding in check(certificate) if not finding.is_true]
        numbers += [
            Number(name, "x_2 >= s x_1 for any s", f"smallest ratio over {len(SEEDS)} seeds, s = 10",
                   min(result.confirmation.ratios) if result.confirmation else None, Bound(at_least=10.0), "any s"),
            Number(name, "jitter stays in [0, D]", "failed checks of the certificate",
                   None if untrue is None else float(len(untrue)), Bound(at_most=0.0), "0 <= eta <= D"),
            Number(name, "starves with any D > 2 delta_max", "the certificate's D divided by the proof's",
                   None if certificate is None else Duration.from_ns(certificate.header.d_ns).ms / _proofs_d_ms(result),
                   Bound(at_most=1.0), "sufficient"),
        ]  # fmt: skip
    return Computation(numbers)


def _proofs_d_ms(result: Starvation) -> float:
    """Return the D that the paper's proof needs, in ms: twice the range of the RTTs on the two links on which the two
    flows were recorded.
    """
    rates_mbps = () if result.pair is None else (result.pair.slow_mbps, result.pair.fast_mbps)
    chosen = [p for p in result.points if p.rate_mbps in rates_mbps]
    return 2.0 * (max(p.dmax_ms for p in chosen) - min(p.dmin_ms for p in chosen))


def _question(cca: Cca, lowest: Rate) -> Question:
    return Question(cca, lowest=lowest, highest=HIGHEST, rtprop=RTPROP, seeds=SEEDS)


@computed(
    "starvation-theorem-2",
    title="Under-utilization without bound",
    source="starvation paper, theorem 2, section 6.1",
    published="a CCA whose delay on some ideal link stays below D can leave every faster link nearly idle",
    setup="jitter imitates a link of 9 Mbps on links of 10, 100 and 1000 times the rate; D = 1.5 (d_max - Rm)",
    items=("starvation theorem 2",),
)
def theorem_2(archive: Archive) -> Computation:
    """Show that jitter can make a single flow leave a link almost idle. The jitter needed follows from the flow's d_max
    on a slow link.
    """
    player = Player(archive)
    numbers = []
    for name in ("vegas", "copa", "bbr", "pcc_vivace"):
        question = Question(name, lowest=SHOWN, highest=1.001 * SHOWN, rtprop=RTPROP)
        (shown,) = scan(question, player)
        d, link = SLACK * hold(shown), Rate.from_mbps(shown.rate_mbps)
        for ceiling in (10.0, 1000.0):
            document = links.underused(name, link, link * ceiling, d, RTPROP)
            (outcome,) = player.play("theorem 2", [document])
            used = None if outcome.summary is None else outcome.summary.links[0].utilization
            numbers.append(
                Number(f"{name}, D = {d.ms:.3g} ms, C = {shown.rate_mbps:g} Mbps", "utilization without lower bound",
                       f"utilization of C' = {ceiling:g} C", used, Bound(at_most=1.05 / ceiling), "arbitrarily low")
            )  # fmt: skip
    return Computation(numbers)


@computed(
    "starvation-theorem-3",
    title="In the strong model every CCA that bounds delay can starve",
    source="starvation paper, theorem 3, section 6.5, appendix B",
    published=(
        "in the sequence of traces with delays max(0, d - D), two consecutive traces differ in throughput by more "
        "than a factor s"
    ),
    setup=(
        "s = 10, Rm = 40 ms; d_1 recorded on 10 Mbps and replayed on 1 Gbps; 40 s. aimd_delay does not converge. "
        "Appendix B uses D for the maximum of d_1, with which there is only one step; here D is the bound on jitter"
    ),
    items=("starvation theorem 3",),
)
def theorem_3(archive: Archive) -> Computation:
    """Construct links on which flows starve in the strong model, for CCAs that need not be delay-convergent."""
    numbers = []
    for name, d in STRONG:
        descent = descend(name, d=d, archive=archive)
        numbers.append(
            Number(f"{name}, D = {d.ms:g} ms", "two consecutive traces differ by more than a factor s",
                   f"largest ratio, trace {len(descent.traces)} / the trace before",
                   descent.ratio, Bound(at_least=10.0), "any s")
        )  # fmt: skip
    return Computation(numbers)
