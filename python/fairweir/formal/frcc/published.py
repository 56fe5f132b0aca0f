"""The lemmas of theorem 7.5.2 about the CCA FRCC, with constants: as published, errors in print, and corrections.

The theorem bounds the throughput ratio of two FRCC flows on a link with jitter. In a round, each flow estimates N_C and
N_T, with errors that jitter causes, and updates its cwnd once. C.6, C.7 and C.8 are lemmas of the FRCC paper's appendix
C: C.6, N_C and N_T stay in their ranges; C.7, N_T enters its range; C.8, N_C enters its range. An error in print is a
statement of the text that differs from what the published proof shows; it is listed as a lemma that must be refuted.

Symbols: N_C, link rate divided by a flow's throughput; N_T, queueing delay divided by theta; theta, queueing delay per
flow; Delta_R, maximum error of a difference of RTTs; gamma_R, maximum factor by which a measured throughput is wrong;
sigma, minimum factor of progress per round.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Final

from fairweir.formal.frcc import lemmas as of
from fairweir.formal.frcc.jittery import AS_THE_TEXT_HAS_IT, EITHER, KERNEL, PROVED, STATED, Jitter
from fairweir.formal.frcc.lemmas import PUBLISHED, Lemma, Range
from fairweir.formal.frcc.rounds import no_jump
from fairweir.formal.lemmas.result import Constant
from fairweir.formal.solving.solve import ProofOutcome

#: The constants of C.7 in the published code, which are tighter than the printed constants.
IN_THE_CODE: Final = replace(PUBLISHED, n_t_low=Fraction(45, 100), n_t_high=Fraction(266, 100))


def bounded(name: str, jitter: Jitter, within: Range, note: str = "") -> list[Lemma]:
    """Return C.6: N_C stays in its range for any N_T, and N_T stays in its range for any N_C.

    Parameters
    ----------
    name : str, start of the lemmas' names
    jitter : Jitter, maximum errors
    within : Range, the lemma's constants
    note : str, comment for the table of results
    """
    return [
        Lemma(
            f"{name} N_C",
            f"N_C of both flows at most {number(within.n_c_high)} stays so, for any N_T",
            of.n_c_in(within),
            of.n_c_after_in(within),
            jitter,
            constants=(
                Constant("N_C", within.n_c_high, PUBLISHED.n_c_high),
                Constant("throughput ratio", within.ratio, PUBLISHED.n_c_high),
            ),
            note=note,
        ),
        Lemma(
            f"{name} N_T, floor",
            f"N_T in {_ends(within)} stays at least {number(within.n_t_low)}, for any N_C",
            of.n_t_in(within),
            lambda at: at.n_t_after >= within.n_t_low,
            jitter,
            constants=(Constant("N_T at least", within.n_t_low, PUBLISHED.n_t_low),),
        ),
        Lemma(
            f"{name} N_T, ceiling",
            f"N_T in {_ends(within)} stays at most {number(within.n_t_high)}, for any N_C",
            of.n_t_in(within),
            lambda at: at.n_t_after <= within.n_t_high,
            jitter,
            constants=(Constant("N_T at most", within.n_t_high, PUBLISHED.n_t_high),),
        ),
    ]


def converges(name: str, jitter: Jitter, within: Range) -> list[Lemma]:
    """Return C.7: an N_T outside its range moves by the factor sigma towards the range, or into it, but not across it.

    Parameters
    ----------
    name : str, start of the lemmas' names
    jitter : Jitter, maximum errors
    within : Range, the lemma's constants
    """
    low, high, sigma = number(within.n_t_low), number(within.n_t_high), number(within.sigma)
    return [
        Lemma(
            f"{name} from above",
            f"N_T > {high}: it falls by {sigma} or to {high}, and not below {low}",
            lambda at: at.n_t > within.n_t_high,
            of.falls_to_range(within),
            jitter,
        ),
        Lemma(
            f"{name} from below",
            f"N_T < {low}: it rises by {sigma} or to {low}, and not above {high}",
            lambda at: at.n_t < within.n_t_low,
            of.rises_to_range(within),
            jitter,
        ),
    ]


def moves(name: str, jitter: Jitter, within: Range) -> Lemma:
    """Return C.8: if N_C or N_T is out of range, both are in range after the round, or one improves and none degrades.

    Parameters
    ----------
    name : str, the lemma's name
    jitter : Jitter, maximum errors
    within : Range, the lemma's constants
    """
    band = f"[{number(within.band_low)}, {number(within.band_high)}]"
    return Lemma(
        name,
        f"N_C or N_T out of range: all comes in, or N_C falls by {number(within.sigma)} or N_T moves so much "
        f"towards {band}, and none moves away",
        of.outside(within),
        of.moves_on(within),
        jitter,
    )


def theorem() -> list[Lemma]:
    """Return the lemmas of theorem 7.5.2 with its published constants, under the assumptions of its proof."""
    return [
        *bounded("C.6", PROVED, PUBLISHED, "the throughput ratio is N_C - 1: 5.6, not 6.6"),
        *converges("C.7", PROVED, PUBLISHED),
        moves("C.8", PROVED, PUBLISHED),
        *converges("C.7, the code's range,", PROVED, IN_THE_CODE),
    ]


def controls() -> list[Lemma]:
    """Return lemmas whose constants are slightly too strong, so that solvers must refute each lemma."""
    small = replace(PUBLISHED, n_c_high=Fraction(65, 10))
    high = replace(PUBLISHED, n_t_low=Fraction(23, 10))
    wide = replace(PUBLISHED, band_low=Fraction(1))
    return [
        _wrong(
            bounded("control: C.6", PROVED, small)[0],
            "6.6 is the best of its tenth: C.6 breaks at 6.5, as published",
        ),
        _wrong(
            converges("control: C.7", PROVED, high)[0],
            "the no-overshoot half, which the published script hands to z3 as a context, is part of what is checked",
        ),
        _wrong(moves("control: C.8", PROVED, wide), "in a wider band N_C need not fall"),
    ]


def faults() -> list[Lemma]:
    """Return the errors in print, as lemmas that solvers must refute."""
    paper = Lemma(
        "C.8 as the paper prints it",
        "as C.8, with N_T' >= 1.8 in the second half of 'bad N_T improves'",
        of.outside(PUBLISHED),
        of.moves_on(PUBLISHED, of.n_t_improves_as_the_paper_prints),
    )
    return [
        _wrong(
            bounded("assumption 7: C.6", STATED, PUBLISHED)[2],
            "gamma_R: the text has throughputs measured too small, eq. C.10 and the published code too large",
        ),
        _wrong(converges("assumption 7: C.7", STATED, PUBLISHED)[0], "gamma_R's direction"),
        _wrong(moves("assumption 7: C.8", STATED, PUBLISHED), "gamma_R's direction"),
        _wrong(
            bounded("theta > Delta_R/2: C.6", AS_THE_TEXT_HAS_IT, PUBLISHED)[1],
            "proved is theta >= Delta_R, an error of N_T of 1/2",
        ),
        _wrong(
            Lemma(
                "theta > Delta_R/2: no floor",
                "N_T stays above 0",
                lambda at: at.n_t > 0,
                lambda at: at.n_t_after > 0,
                AS_THE_TEXT_HAS_IT,
            ),
            "so no floor above 0 exists",
        ),
        _wrong(paper, "a misprint that the thesis does not have"),
        _wrong(
            bounded("the kernel's clamps: C.6", KERNEL, PUBLISHED)[1],
            "196/256 instead of 0.8: the floor falls just below 0.15",
        ),
    ]


#: The constants that hold under assumption 7 as written: measured throughputs are at most the true throughputs.
IN_THE_STATED_DIRECTION: Final = Range(
    n_t_low=Fraction(1, 5),
    n_t_high=Fraction(591, 100),
    n_c_high=Fraction(58, 10),
    band_low=Fraction(5, 2),
    band_high=Fraction(4),
    sigma=Fraction(102, 100),
)
IN_EITHER_DIRECTION: Final = replace(IN_THE_STATED_DIRECTION, n_c_high=Fraction(106, 10), n_t_high=Fraction(6))
WITH_THE_KERNELS_CLAMPS: Final = replace(PUBLISHED, n_t_low=Fraction(148, 1000))


FASTER: Final = replace(PUBLISHED, sigma=Fraction(105, 100))
"""The published constants, but with a progress of at least 5 % per round instead of 1 %."""


def put_right() -> list[Lemma]:
    """Return the corrected lemmas, for each direction of throughput errors and for the kernel's clamps."""
    stated, either, kernel = IN_THE_STATED_DIRECTION, IN_EITHER_DIRECTION, WITH_THE_KERNELS_CLAMPS
    return [
        no_jump("C.8", PROVED, PUBLISHED),
        *converges("sigma 1.05: C.7", PROVED, FASTER),
        moves("sigma 1.05: C.8", PROVED, FASTER),
        *bounded("stated direction: C.6", STATED, stated),
        no_jump("stated direction: C.8", STATED, stated),
        *converges("stated direction: C.7", STATED, stated),
        moves("stated direction: C.8", STATED, stated),
        *bounded("either direction: C.6", EITHER, either),
        *converges("either direction: C.7", EITHER, either),
        moves("either direction: C.8", EITHER, either),
        *bounded("the kernel's clamps: C.6", KERNEL, kernel),
        *converges("the kernel's clamps: C.7", KERNEL, kernel),
        moves("the kernel's clamps: C.8", KERNEL, kernel),
    ]


def number(value: Fraction) -> str:
    """Return a constant as decimal text, for names and claims."""
    return f"{float(value):g}"


def _ends(within: Range) -> str:
    return f"[{number(within.n_t_low)}, {number(within.n_t_high)}]"


def _wrong(lemma: Lemma, note: str) -> Lemma:
    return replace(lemma, expects=ProofOutcome.REFUTED, note=note)
