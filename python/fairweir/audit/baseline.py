"""Baselines: audits stored by name, and the comparison with an audit that has no runs to confirm differences.

A baseline written by ``audit --save-baseline`` has runs with new seeds at every point, and an audit is compared with it
as with any reference (`fairweir.audit.relative`). Any other ``results.json`` has only claims with intervals; then
`compare` lists what worsened and what improved beyond its interval.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fairweir.audit.results import Change, Comparison, Estimate
from fairweir.documents.filenames import slug
from fairweir.documents.results import RESULTS
from fairweir.errors import ConfigError
from fairweir.judging.outcome import Direction, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairweir.audit.results import AuditResults, CcaResults, ClaimResult

RESOLUTION = 0.02
"""Relative difference up to which an estimate counts as unchanged.

Deterministic exhibits have intervals of zero width; without this tolerance, a change in the third digit would count
as a regression.
"""


FOLDER = RESULTS / "baselines"


def baseline_file(name: str) -> Path:
    """Return the file of the baseline called `name`.

    Raises
    ------
    ConfigError : characters that a file's name should not have
    """
    if not name or slug(name) != name or name.startswith("."):
        raise ConfigError(
            f"not a name for a baseline: `{name}`",
            key="--save-baseline",
            hint="use letters, digits and .-_ such as `main` or `v1.2`",
        )
    return FOLDER / f"{name}.json"


def find_baseline(name: str) -> Path:
    """Return the file that ``--baseline`` names: a stored baseline, or a path.

    Raises
    ------
    ConfigError : neither exists
    """
    path = Path(name)
    if path.suffix == ".json" or len(path.parts) != 1 or path.is_file():
        return path
    stored = baseline_file(name)
    if not stored.is_file():
        known = sorted(file.stem for file in FOLDER.glob("*.json"))
        hint = f"{FOLDER} has {', '.join(known)}" if known else f"store one with `audit CCA --save-baseline {name}`"
        raise ConfigError(f"no baseline called `{name}`", key="--baseline", hint=hint)
    return stored


def save_baseline_file(results: AuditResults, path: Path) -> None:
    """Store an audit as a baseline, without time series."""
    ccas = [
        cca.model_copy(
            update={
                "families": [family.model_copy(update={"traces": []}) for family in cca.families],
                "hunt_trace": None,
            }
        )
        for cca in results.ccas
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    results.model_copy(update={"ccas": ccas, "relative": [], "comparison": None}).save(path)


def compare(baseline: AuditResults, results: AuditResults, source: str = "") -> Comparison:
    """Compare `results` with `baseline`.

    A claim worsens if it held and now fails, or if its whole interval is worse than the baseline's interval by more
    than `RESOLUTION`; it improves in the opposite case. Claims without a threshold have no direction and therefore
    neither worsen nor improve. Claims that are in only one of the documents are listed, not compared.

    Parameters
    ----------
    baseline, results : AuditResults, the earlier and the later one
    source : str, the baseline's file, for the record

    Returns
    -------
    Comparison, with changes in the order of `results`
    """
    changes: list[Change] = []
    compared = 0
    for now in results.ccas:
        before = baseline.cca(now.cca)
        if before is not None:
            compared += sum(before.exhibit(exhibit.name) is not None for exhibit in now.exhibits)
            changes += _changes(before, now)
    return Comparison(
        baseline=source,
        version=baseline.version,
        compared=compared,
        changes=changes,
        not_compared=[
            *_only_in(results, baseline, "only in this audit"),
            *_only_in(baseline, results, "only in the baseline"),
        ],
    )


def _only_in(one: AuditResults, other: AuditResults, why: str) -> Iterator[str]:
    for cca in one.ccas:
        known = other.cca(cca.cca)
        for exhibit in cca.exhibits:
            if known is None or known.exhibit(exhibit.name) is None:
                yield f"{cca.cca}: {exhibit.name} ({why})"


def _changes(before: CcaResults, now: CcaResults) -> Iterator[Change]:
    for exhibit in now.exhibits:
        old = before.exhibit(exhibit.name)
        found = _change(old, exhibit) if old is not None else None
        if old is not None and found is not None:
            direction, reason = found
            yield Change(
                cca=now.cca,
                exhibit=exhibit.name,
                direction=direction,
                before=Estimate.of(old),
                now=Estimate.of(exhibit),
                reason=reason,
            )


def _change(old: ClaimResult, new: ClaimResult) -> tuple[Literal["worsened", "improved"], str] | None:
    """Return the direction and the reason of a claim's change; None if it did not change."""
    if old.verdict is Outcome.HOLDS and new.verdict is Outcome.FAILS:
        return "worsened", "its claim held and now fails"
    if old.verdict is Outcome.FAILS and new.verdict is Outcome.HOLDS:
        return "improved", "its claim failed and now holds"
    if new.threshold is None or new.threshold != old.threshold:
        return None
    if any(end is None for end in (old.lo, old.hi, new.lo, new.hi)):
        fails = (old.verdict is Outcome.FAILS, new.verdict is Outcome.FAILS)
        if fails == (False, True):
            return "worsened", "its claim now fails"
        return ("improved", "its claim no longer fails") if fails == (True, False) else None
    if _is_beyond(old, new, new.threshold.direction):
        return "worsened", "its whole interval is beyond the baseline's"
    if _is_beyond(new, old, new.threshold.direction):
        return "improved", "its whole interval is better than the baseline's"
    return None


def _is_beyond(good: ClaimResult, bad: ClaimResult, direction: Direction) -> bool:
    """Return whether the whole interval of `bad` is worse than that of `good` by more than `RESOLUTION`."""
    good_lo, good_hi, bad_lo, bad_hi = (float(end) for end in (good.lo, good.hi, bad.lo, bad.hi) if end is not None)
    if direction is Direction.AT_MOST:
        return bad_lo > good_hi + RESOLUTION * abs(good_hi)
    return bad_hi < good_lo - RESOLUTION * abs(good_lo)
