"""Check FRCC's two theorems for ``fairweir reproduce``: how many steps of the proofs hold, and with which constants.

Symbols: C, link rate; R, round-trip propagation delay; theta, the queueing delay per flow at which FRCC aims; N_T,
queueing delay / theta; N_C, a flow's estimate of the number of flows; N_G, number of flows; Delta_R, maximum error of a
measured RTT; gamma_R, maximum error factor of a measured throughput.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairweir.formal.frcc import published
from fairweir.formal.frcc.lemmas import PUBLISHED
from fairweir.formal.frcc.suite import Part, corrections, faults, ideal_link, jittery_link, settle
from fairweir.reproduce.computed import Computation, Number, computed
from fairweir.reproduce.experiment import Bound

if TYPE_CHECKING:
    from fairweir.play.batch import Archive


@computed(
    "thesis-theorem-7.5.1",
    title="FRCC is fair on the ideal link",
    source="thesis theorem 7.5.1, FRCC paper theorem 6.1",
    published="every flow's rate converges to C/N_G, and its RTT to R + theta N_G",
    setup="derived by sympy from the cwnd update for any number of flows; inequalities by z3 and yices",
    items=(
        "thesis theorem 7.5.1",
        "thesis lemma D.3.1",
        "frcc theorem 6.1",
        "frcc lemma C.1",
    ),
)
def theorem_7_5_1(archive: Archive) -> Computation:
    """Derive the equations of one round on the ideal link, and check that rounds converge."""
    return Computation([_stands("ideal link", "fair, with an RTT of R + theta N_G", ideal_link())])


@computed(
    "thesis-theorem-7.5.2",
    title="FRCC bounds the throughput ratio of two flows on the link with jitter",
    source="thesis theorem 7.5.2, FRCC paper theorem 6.2",
    published="at most 6.6 (alternate update, theta N_G > R)",
    setup=(
        "lemmas C.6 to C.8 by z3 and yices, each refutation checked in exact fractions; every step: fairweir prove frcc"
    ),
    items=(
        "thesis theorem 7.5.2",
        "frcc theorem 6.2",
    ),
)
def theorem_7_5_2(archive: Archive) -> Computation:
    """Check the lemmas for the link with jitter, the known errors in the published text, and their corrections."""
    stated = published.IN_THE_STATED_DIRECTION
    return Computation(
        [
            _stands(
                "with gamma_R as in the published proof",
                "N_T and N_C reach their ranges and stay there",
                jittery_link(),
            ),
            Number(
                "with gamma_R as in the published proof",
                "the maximum throughput ratio",
                "N_C - 1",
                float(PUBLISHED.ratio),
                Bound(at_most=6.6),
                6.6,
            ),
            _stands("as printed", "gamma_R as in assumption 7, theta > Delta_R/2, the kernel's clamps", faults()),
            _stands("corrected", "the same for other ranges", corrections()),
            Number(
                "corrected, gamma_R as stated",
                "the maximum throughput ratio",
                "N_C - 1",
                float(stated.ratio),
                Bound(at_most=6.6),
                6.6,
            ),
        ]
    )


def _stands(case: str, claim: str, steps: Sequence[Part]) -> Number:
    results = [settle(step) for step in steps]
    wrong = [result.name for result in results if not result.stands]
    reading = f"number of the {len(results)} steps with the stated result"
    bound = Bound(at_least=len(results))
    return Number(case, claim, reading, float(len(results) - len(wrong)), bound, "", ", ".join(wrong))
