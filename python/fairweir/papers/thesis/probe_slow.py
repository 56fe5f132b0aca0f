"""Compute thesis table 4.2: a cycle of cc_probe_slow (probe, drain, drain) on two paths that it cannot distinguish.

Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; beta, buffer; C_L,lambda, the lower bound on
C that the CCA infers from data acknowledged without loss; q_U, its upper bound on the queue; T*, duration of a probe;
alpha, the data that a probe sends in excess of what certainly fits into link and buffer; P_1 and P_2, the slow and the
fast path.

Each path is a link of rate C with a buffer beta. Within a phase of the cycle the CCA sends at a constant rate. Amounts
are exact fractions of C_L,lambda R, which is 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from fairweir.reproduce.computed import Computation, Number, computed
from fairweir.reproduce.experiment import Bound

if TYPE_CHECKING:
    from fairweir.play.batch import Archive

#: C_L,lambda, then R = D = T*, as the thesis sets them for the synthesized CCA. alpha is small compared to C_L,lambda
#: R.
BELIEVED: Final = Fraction(1)
R: Final = Fraction(1)
D: Final = R
T_STAR: Final = R
ALPHA: Final = Fraction(1, 100)


@dataclass(frozen=True)
class Phase:
    """One phase of the cycle on one path.

    Attributes
    ----------
    sent, serviced, lost : Fraction, data in the phase, in C_L,lambda R
    queue, believed_queue : Fraction, the queue and q_U at the end of the phase, in C_L,lambda R
    utilization : Fraction, of the link in the phase
    """

    sent: Fraction
    serviced: Fraction
    lost: Fraction
    queue: Fraction
    believed_queue: Fraction
    utilization: Fraction


def cycle(rate: Fraction, buffer: Fraction) -> list[Phase]:
    """Return the phases probe, drain and drain, which start with an empty queue.

    Parameters
    ----------
    rate : C of the path, divided by C_L,lambda
    buffer : beta of the path, divided by C_L,lambda R
    """
    queue = believed = Fraction(0)
    phases = []
    for length in (T_STAR, R, R):
        sent = _sent(believed, length)
        believed = max(Fraction(0), believed + sent - BELIEVED * length)
        queued, serviced = _serve(queue, sent, rate * length, buffer)
        lost = queue + sent - serviced - queued
        queue = queued
        phases.append(Phase(sent, serviced, lost, queue, believed, serviced / (rate * length)))
    return phases


def _sent(believed: Fraction, length: Fraction) -> Fraction:
    """Return the data sent in a phase (listing 4.2): a probe if q_U is 0; otherwise a drain, which sends at least
    alpha.
    """
    if believed == 0:
        return BELIEVED * (T_STAR + D) + ALPHA
    return max(ALPHA, BELIEVED * length - believed)


def _serve(queue: Fraction, sent: Fraction, capacity: Fraction, buffer: Fraction) -> tuple[Fraction, Fraction]:
    """Return the queue at the end of a phase, and the data served in the phase. Rates are constant within a phase, so
    the queue only grows or only shrinks.
    """
    if sent >= capacity:
        return min(buffer, queue + sent - capacity), capacity
    return max(Fraction(0), queue + sent - capacity), min(capacity, queue + sent)


@computed(
    "thesis-table-4.2",
    title="Equilibrium of cc_probe_slow on two paths that it cannot distinguish",
    source="thesis table 4.2, section 4.2.2",
    published=(
        "a cycle of probe, drain, drain loses alpha on both paths, and uses all of the slow path and T*/(T* + D) of "
        "the fast path"
    ),
    setup="R = D = T*, alpha = C_L,lambda R/100; exact fractions",
    items=("thesis table 4.2",),
)
def two_paths(_: Archive) -> Computation:
    """Compute table 4.2 from cycles of cc_probe_slow on both paths."""
    slow = cycle(BELIEVED, BELIEVED * D)
    fast = cycle(BELIEVED * (T_STAR + D) / T_STAR, Fraction(0))
    numbers = [
        _number("q_U", f"after {name}", "C_L,lambda R", ours.believed_queue, published)
        for name, ours, published in zip(_PHASES, slow, (BELIEVED * D + ALPHA, 2 * ALPHA, Fraction(0)), strict=True)
    ]
    numbers += [
        _number(path, f"lost in the {name}", "C_L,lambda R", ours.lost, published)
        for path, phases in (("P_1", slow), ("P_2", fast))
        for name, ours, published in zip(_PHASES, phases, (ALPHA, Fraction(0), Fraction(0)), strict=True)
    ]
    numbers += [
        _number("P_1", "queue after the probe", "C_L,lambda R", slow[0].queue, BELIEVED * D),
        _number("P_1", "queue after the first drain", "C_L,lambda R", slow[1].queue, 2 * ALPHA,
                "the printed 2 alpha is q_U; alpha was lost in the probe: C_L,lambda D + alpha - C_L,lambda R = alpha "
                "is queued"),
        _number("P_1", "queue after the second drain", "C_L,lambda R", slow[2].queue, Fraction(0)),
        _number("P_1", "utilization of a cycle", "of C", _mean(slow), Fraction(1), within=0.01),
        _number("P_2", "utilization of the first drain", "of C", fast[1].utilization, Fraction(0), within=0.01),
        _number("P_2", "utilization of the second drain", "of C", fast[2].utilization, T_STAR / (T_STAR + D),
                within=0.02),
        _number("P_2", "utilization of a cycle is T*/(T* + D)", "of C", _mean(fast), T_STAR / (T_STAR + D),
                within=0.01),
    ]  # fmt: skip
    return Computation(numbers)


_PHASES: Final = ("probe", "first drain", "second drain")


def _mean(phases: list[Phase]) -> Fraction:
    return sum((phase.serviced for phase in phases), Fraction(0)) / sum(
        phase.serviced / phase.utilization for phase in phases
    )


def _number(
    case: str, claim: str, unit: str, ours: Fraction, published: Fraction, why: str = "", *, within: float = 0.0
) -> Number:
    low, high = float(published) - within, float(published) + within
    return Number(case, claim, unit, float(ours), Bound(at_least=low, at_most=high), f"{float(published):g}", why)
