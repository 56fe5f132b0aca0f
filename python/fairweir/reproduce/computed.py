"""Reproduce published figures and theorems that are computed by a function instead of a scenario's runs.

To add an entry, write a function ``compute(archive: Archive) -> Computation`` in ``fairweir.papers`` and decorate it
with :func:`computed`. The function returns numbers, each with the published value and a bound for fairweir's value, and
a figure for ``--plot``. If the function runs packet-level simulations, it passes the archive to ``play_all``, which
reuses finished runs.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fairweir.documents.digits import plain
from fairweir.judging.outcome import Interval, Outcome
from fairweir.play.batch import Archive
from fairweir.reproduce.experiment import Bound
from fairweir.reproduce.judge import Finding, bound_text, outcome_of, times_published

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Number:
    """A number that fairweir computed, with the published number.

    Attributes
    ----------
    case : str, the setting to which the number belongs, or the panel of the figure
    claim : str, the published statement that is checked
    reading : str, the meaning of `value`, with its unit
    value : float; None if the number could not be computed. The check then has the outcome unknown, and `why` states
        the reason
    bound : Bound of `value`; its ``within`` requires a published number
    published : float or str; the published number or statement
    why : str, the known reason why the number differs from the published one, or why there is no number
    """

    case: str
    claim: str
    reading: str
    value: float | None
    bound: Bound
    published: float | str = ""
    why: str = ""


@dataclass(frozen=True)
class Computation:
    """The result of a function decorated with :func:`computed`.

    Attributes
    ----------
    numbers : list of Number
    draw : function that returns the figure, called only if the figure is needed; None if there is no figure
    """

    numbers: Sequence[Number]
    draw: Callable[[], Figure] | None = None


Compute = Callable[[Archive], Computation]


@dataclass(frozen=True)
class Computed:
    """An entry of ``fairweir reproduce`` that a function computes.

    Attributes
    ----------
    id : str, the entry's name on the command line
    title, source, published, setup : str, as in :class:`fairweir.reproduce.experiment.Experiment`
    items : tuple of str; the reproduced items, such as "thesis figure 7.4": the id of a paper, and an item in the paper
    home : str, "module:function" of ``compute(archive) -> Computation``; imported at its first use
    """

    id: str
    title: str
    source: str
    published: str
    items: tuple[str, ...]
    home: str
    setup: str = ""

    def compute(self, archive: Archive, pictures: Path | None = None) -> list[Finding]:
        """Call the function, and judge its numbers.

        Parameters
        ----------
        pictures : Path of a directory to which the figure is written as PNG; None: no figure
        """
        module, _, function = self.home.partition(":")
        computation: Computation = getattr(importlib.import_module(module), function)(archive)
        if pictures is not None and computation.draw is not None:
            from fairweir.show.plots import save_figure

            save_figure(computation.draw(), pictures / f"{self.id}.png")
        return [judge_number(self.id, number) for number in computation.numbers]


def computed(
    name: str, /, *, title: str, source: str, published: str, items: tuple[str, ...], setup: str = ""
) -> Callable[[Compute], Compute]:
    """Return a decorator that registers a function as an entry of ``fairweir reproduce`` and returns it unchanged.

    The catalog (:mod:`fairweir.papers.catalogue`) reads the decorator's arguments from the source code, so that listing
    the entries imports none of the functions.

    Parameters
    ----------
    name : id of the entry
    title, source, published, items, setup : as in :class:`Computed`
    """
    del name, title, source, published, items, setup
    return lambda function: function


def judge_number(experiment: str, number: Number) -> Finding:
    """Return the outcome of comparing a number with its bound."""
    value, published = number.value, number.published
    is_relative = number.bound.within is not None
    reference = None if isinstance(published, str) else float(published)
    if value is not None and is_relative:
        value /= float(published)
    finding = Finding(
        experiment=experiment,
        case=number.case,
        claim=number.claim,
        world="computed",
        reading=number.reading,
        published=published if isinstance(published, str) else f"{plain(published)}",
        value=value,
        lo=value,
        hi=value,
        is_relative=is_relative,
        bound=bound_text(number.bound, [] if reference is None else [reference]),
        why=number.why,
    )
    if value is not None:
        finding.outcome = outcome_of(number.bound, Interval(value=value, lo=value, hi=value), reference)
        finding.times = times_published(number.bound, value, reference)
        finding.is_known = finding.outcome is Outcome.FAILS and bool(number.why)
    return finding
