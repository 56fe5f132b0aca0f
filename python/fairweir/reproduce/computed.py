"""Published figures and theorems that are computed by a function instead of a scenario.

To add one: write ``compute(archive: Archive) -> Computation`` in ``fairweir.papers``, decorated with :func:`computed`.
It returns numbers, each with the published value and the bound for ours, and a figure for ``--plot``. Its packet-level
runs go through the archive (``play_all``), so that finished ones are reused.
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
from fairweir.reproduce.judge import Finding, bound_text, outcome_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Number:
    """One of our numbers with the published one.

    Attributes
    ----------
    case : str, the setting or the panel
    claim : str, the published statement
    reading : str, the meaning of `value`, with its unit
    value : float; None if it could not be computed: the check is then unknown, and `why` has the reason
    bound : Bound; ``within`` needs a published number
    published : float, or words
    why : str, the known reason why ours differs, or why there is no value
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
    """Result of such a function.

    Attributes
    ----------
    numbers : list of Number
    draw : function that draws the figure, called only if needed; None if there is none
    """

    numbers: Sequence[Number]
    draw: Callable[[], Figure] | None = None


Compute = Callable[[Archive], Computation]


@dataclass(frozen=True)
class Computed:
    """An entry of ``fairweir reproduce`` that is computed.

    Attributes
    ----------
    id : str, its name on the command line
    title, source, published, setup : str, as of an experiment
    items : tuple of str, what it reproduces, as "thesis figure 7.4": a paper's id and an item of it in the index
    home : str, "module:function" of ``compute(archive) -> Computation``; imported when needed
    """

    id: str
    title: str
    source: str
    published: str
    items: tuple[str, ...]
    home: str
    setup: str = ""

    def compute(self, archive: Archive, pictures: Path | None = None) -> list[Finding]:
        """Compute it and judge its numbers.

        Parameters
        ----------
        pictures : Path, a directory for its figure as PNG
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
    """Register a function as an entry of ``fairweir reproduce``.

    The catalogue reads the values from the source (:mod:`fairweir.papers.catalogue`), so that listing the entries
    imports none of them; the function is left as it is.

    Parameters
    ----------
    name : its id
    title, source, published, items, setup : as of :class:`Computed`
    """
    del name, title, source, published, items, setup
    return lambda function: function


def judge_number(experiment: str, number: Number) -> Finding:
    """Compare a number with its bound."""
    value, published = number.value, number.published
    is_relative = number.bound.within is not None
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
        bound=bound_text(number.bound),
        why=number.why,
    )
    if value is not None:
        finding.outcome = outcome_of(number.bound, Interval(value=value, lo=value, hi=value))
        finding.is_known = finding.outcome is Outcome.FAILS and bool(number.why)
    return finding
