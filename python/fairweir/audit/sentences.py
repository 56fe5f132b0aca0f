"""The results of a CCA in words: verdicts, the failing claims furthest from their bounds, and comparisons."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fairweir.judging.difference import Relation
from fairweir.judging.metrics import RATIO_CEILING
from fairweir.judging.outcome import Direction, Outcome, Threshold
from fairweir.show import formats

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fairweir.audit.profile import Profile
    from fairweir.audit.results import AuditResults, CcaResults, ClaimResult, Comparison
    from fairweir.audit.standings import Relative

WORST: Final = 3
"""Failing claims that are described; the others are counted."""
NAMES: Final = 4
"""Names in a list; the others are counted."""
REASON_CHARACTERS: Final = 160
"""Maximum length of a quoted reason, which may be the message of a user's exception."""


@dataclass(frozen=True)
class Sentence:
    """A sentence, and the claim that it describes."""

    text: str
    claim: ClaimResult | None = None


def sentences(results: AuditResults, cca: CcaResults) -> tuple[Sentence, ...]:
    """Describe a CCA: its verdicts, what fails, and how it compares with its reference, baseline or the known CCAs.

    A comparison with a reference comes first, because it decides the exit status.
    """
    own = (Sentence(_verdicts(cca)), *worst(cca))
    if results.relative:
        against = [_against_reference(relative) for relative in results.relative if relative.cca == cca.cca]
        return (*map(Sentence, against), *own)
    return (*own, *map(Sentence, _compared(results, cca)))


def worst(cca: CcaResults) -> tuple[Sentence, ...]:
    """Describe the failing claims that are furthest from their bounds, in decreasing order of the distance."""
    failing = sorted((e for e in cca.exhibits if e.verdict is Outcome.FAILS), key=_excess, reverse=True)
    found = [Sentence(_failure(claim), claim) for claim in failing[:WORST]]
    if len(failing) > WORST:
        others = len(failing) - WORST
        found.append(Sentence(f"{others} other {'claim fails' if others == 1 else 'claims fail'}."))
    return tuple(found)


def _verdicts(cca: CcaResults) -> str:
    judged = [e.verdict for e in cca.exhibits if e.verdict is not Outcome.INFO]
    if not judged:
        return "No claim was judged."
    words = {
        Outcome.FAILS: ("fails", "fail"),
        Outcome.UNKNOWN: ("is unknown", "are unknown"),
        Outcome.HOLDS: ("holds", "hold"),
    }
    counts = {outcome: judged.count(outcome) for outcome in words if outcome in judged}
    if len(counts) == 1:
        singular, plural = words[judged[0]]
        return (
            f"The only judged claim {singular}." if len(judged) == 1 else f"All {len(judged)} judged claims {plural}."
        )
    parts = [f"{n} {words[outcome][n > 1]}" for outcome, n in counts.items()]
    none = "" if Outcome.FAILS in counts else "no claim fails, "
    return f"Of {len(judged)} judged claims, {none}{_and(parts)}."


def _excess(claim: ClaimResult) -> float:
    """Return the factor between a failing claim's value and its bound; infinite without a value."""
    if claim.value is None or _is_unbounded(claim.value):
        return math.inf
    return _factor(claim.value, claim.threshold) or 1.0


def _factor(value: float, threshold: Threshold | None) -> float | None:
    """Return by which factor a value violates a bound; None if no factor expresses it."""
    if threshold is None or value < 0 or threshold.bound <= 0:
        return None
    is_above = threshold.direction is Direction.AT_MOST
    over, under = (value, threshold.bound) if is_above else (threshold.bound, value)
    if not under:
        return math.inf
    return over / under if over > under else None


def _is_unbounded(value: float) -> bool:
    return math.isinf(value) or math.isclose(value, RATIO_CEILING, rel_tol=1e-9)


def _failure(claim: ClaimResult) -> str:
    where = ", ".join(part for part in (claim.family, claim.at) if part)
    subject = f"{claim.title[:1].upper()}{claim.title[1:]} ({where})"
    if claim.value is None or claim.threshold is None:
        why = " ".join(claim.why.split())
        reason = why if len(why) <= REASON_CHARACTERS else f"{why[: REASON_CHARACTERS - 1]}…"
        if claim.value is None:
            return f"{subject} fails without a value: {reason}"
        return f"{subject} is {_quantity(claim.value, claim.unit)} and fails: {reason}"
    is_above = claim.threshold.direction is Direction.AT_MOST
    bound = f"{'at most' if is_above else 'at least'} {_quantity(claim.threshold.bound, claim.unit)}"
    factor = _factor(claim.value, claim.threshold)
    how_far = ""
    if factor is not None and math.isfinite(factor) and not _is_unbounded(claim.value):
        text = formats.number(factor)
        how_far = f": {text} times the bound" if is_above else f": the bound is {text} times the value"
    return f"{subject} is {_quantity(claim.value, claim.unit)}; it should be {bound}{how_far}."


def _quantity(value: float, unit: str) -> str:
    number = formats.number(value)
    # "5.60" has three digits because measurements have; a bound of 5.6 is exact.
    if "." in number and float(f"{value:.3g}") == value:
        number = number.rstrip("0").rstrip(".")
    return f"{number} {unit}".strip()


def _compared(results: AuditResults, cca: CcaResults) -> Iterator[str]:
    comparison = results.comparison
    if comparison is not None and (not comparison.ccas or cca.cca in comparison.ccas):
        yield _against_baseline(comparison, cca)
    else:
        yield from (_among_known(profile) for profile in results.profiles if profile.cca == cca.cca and profile.places)


def _against_reference(relative: Relative) -> str:
    lead = f"Compared with {relative.reference}, "
    if relative.is_empty:
        return f"{lead}nothing could be judged."
    total = len(relative.standings)
    if len(relative.of(Relation.SAME)) == total:
        return f"{lead}{'the only metric is' if total == 1 else f'all {total} metrics are'} the same."
    words = {
        Relation.WORSE: "worse",
        Relation.BETTER: "better",
        Relation.SAME: "the same",
        Relation.UNDECIDED: "undecided",
    }
    parts = []
    for relation, word in words.items():
        found = relative.of(relation)
        if found:
            is_named = relation in (Relation.WORSE, Relation.BETTER)
            names = f" ({_names([standing.name for standing in found])})" if is_named else ""
            parts.append(f"{len(found)} {'is' if len(found) == 1 else 'are'} {word}{names}")
    return f"{lead}of {total} metrics {_and(parts)}."


def _against_baseline(comparison: Comparison, cca: CcaResults) -> str:
    lead = f"Compared with the baseline {comparison.baseline}, "
    parts = []
    for direction, changes in (("worsened", comparison.worsened), ("improved", comparison.improved)):
        names = [change.exhibit for change in changes if change.cca == cca.cca]
        if names:
            parts.append(f"{len(names)} {'claim' if len(names) == 1 else 'claims'} {direction} ({_names(names)})")
    return f"{lead}{_and(parts) or 'no claim changed'}."


def _among_known(profile: Profile) -> str:
    total = len(profile.places)
    best = [place.name for place in profile.places if place.rank == 1]
    last = [place.name for place in profile.places if place.rank == place.of > 1]
    parts = [f"{word} in {len(names)} ({_names(names)})" for word, names in (("best", best), ("last", last)) if names]
    properties = "1 property" if total == 1 else f"{total} properties"
    return f"Among the known CCAs, ranked by {properties}, it is {_and(parts) or 'neither best nor last in any'}."


def _names(names: Sequence[str]) -> str:
    if len(names) > NAMES:
        return f"{', '.join(names[:NAMES])} and {len(names) - NAMES} more"
    return ", ".join(names)


def _and(parts: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(parts[:-1]), *parts[-1:]) if part)
