"""Against a baseline: what worsened beyond its interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairweir.verdict import Direction, Outcome

if TYPE_CHECKING:
    from fairweir.audit.results import AuditResults, CcaResults, ExhibitResult

RESOLUTION = 0.02
"""Relative change that is never called a worsening: deterministic exhibits have intervals of no width, and a change
in the third digit is not a regression."""


@dataclass(frozen=True)
class Worsening:
    """An exhibit that is worse than in the baseline."""

    cca: str
    exhibit: str
    before: str
    now: str
    reason: str

    def __str__(self) -> str:
        return f"{self.cca}: {self.exhibit} worsened: {self.before} -> {self.now} ({self.reason})"


def compare(baseline: AuditResults, results: AuditResults) -> list[Worsening]:
    """Everything that worsened, in the order of `results`.

    An exhibit worsens if its claim held and now fails, or if its whole interval moves to the bad side of the
    baseline's by more than `RESOLUTION`. Exhibits that only one of the two has, and those without a threshold (which
    have no bad side), do not count. A CCA that only one of the two has does not either.
    """
    found = []
    for now in results.ccas:
        before = baseline.cca(now.cca)
        if before is not None:
            found += _compare_cca(before, now)
    return found


def comparable(baseline: AuditResults, results: AuditResults) -> int:
    """Exhibits that both documents have: none means that the gate compares nothing."""
    return sum(
        1
        for now in results.ccas
        if (before := baseline.cca(now.cca)) is not None
        for exhibit in now.exhibits
        if before.exhibit(exhibit.name) is not None
    )


def _compare_cca(before: CcaResults, now: CcaResults) -> list[Worsening]:
    found = []
    for exhibit in now.exhibits:
        old = before.exhibit(exhibit.name)
        reason = _worse(old, exhibit) if old is not None else None
        if old is not None and reason is not None:
            found.append(Worsening(now.cca, exhibit.name, _text(old), _text(exhibit), reason))
    return found


def _worse(old: ExhibitResult, new: ExhibitResult) -> str | None:
    if new.verdict is Outcome.FAILS and old.verdict is Outcome.HOLDS:
        return "its claim held and now fails"
    if new.threshold is None or new.threshold != old.threshold:
        return None
    ends = (old.lo, old.hi, new.lo, new.hi)
    if any(end is None for end in ends):
        if new.verdict is Outcome.FAILS and old.verdict is not Outcome.FAILS:
            return "its claim now fails"
        return None
    old_lo, old_hi, new_lo, new_hi = (float(end) for end in ends if end is not None)
    if new.threshold.direction is Direction.AT_MOST:
        is_beyond = new_lo > old_hi + RESOLUTION * abs(old_hi)
    else:
        is_beyond = new_hi < old_lo - RESOLUTION * abs(old_lo)
    return "its whole interval is beyond the baseline's" if is_beyond else None


def _text(exhibit: ExhibitResult) -> str:
    if exhibit.value is None:
        return exhibit.verdict.value
    if exhibit.lo is None or exhibit.hi is None:
        return f"{exhibit.value:.3g} {exhibit.verdict}"
    return f"{exhibit.value:.3g} [{exhibit.lo:.3g}, {exhibit.hi:.3g}] {exhibit.verdict}"
