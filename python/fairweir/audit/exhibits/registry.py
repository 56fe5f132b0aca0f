"""Every family, by name. To add a family, write a module with ``FAMILIES`` and add the module to `MODULES`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairweir.audit.exhibits import (
    aggregation,
    arrivals,
    coexistence,
    crowd,
    delayed_acks,
    disturbed_rtts,
    finite,
    ideal,
    parking_lot,
    policer,
    protection,
    random_jitter,
    random_loss,
    rate_steps,
    rtprops,
)
from fairweir.documents.suggestions import did_you_mean
from fairweir.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fairweir.audit.exhibits.family import Family, Metric

MODULES = (
    ideal,
    rtprops,
    aggregation,
    random_jitter,
    random_loss,
    delayed_acks,
    disturbed_rtts,
    policer,
    protection,
    parking_lot,
    arrivals,
    rate_steps,
    crowd,
    coexistence,
    finite,
)
FAMILIES: dict[str, Family] = {family.name: family for module in MODULES for family in module.FAMILIES}
HUNT, CONTRACT = SEARCHES = ("starvation-hunt", "contract")
"""Exhibits that are searches, not families; see `fairweir.hunting.search` and `fairweir.contracts.empirical`."""


def metric_of(family: str, name: str) -> Metric | None:
    """Return a family's metric by name; None if the family does not exist or has no such metric."""
    measured = FAMILIES[family].metrics if family in FAMILIES else ()
    return next((metric for metric in measured if metric.name == name), None)


def names() -> list[str]:
    """Return all names that ``--only`` accepts, in the order of the report."""
    return [*FAMILIES, *SEARCHES]


def select(only: Iterable[str] | None) -> list[str]:
    """Return the exhibits that `only` selects: an entry is a name or the first part of names (``ideal``,
    ``random-jitter``).

    Raises
    ------
    ConfigError : an entry matches no name
    """
    wanted = [w.strip() for entry in only or () for w in entry.split(",") if w.strip()]
    if not wanted:
        return names()
    for entry in wanted:
        if not any(_fits(name, entry) for name in names()):
            raise ConfigError(f"no exhibit called `{entry}`", key="--only", hint=did_you_mean(entry, names()))
    return [name for name in names() if any(_fits(name, entry) for entry in wanted)]


def _fits(name: str, entry: str) -> bool:
    return name == entry or name.startswith(entry + "-")
