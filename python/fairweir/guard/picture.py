"""Figure of the distributions of fairness and utilization over configurations, without and with policies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from fairweir.show import style
from fairweir.show.plots import save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from fairweir.guard.outcome import ChallengeResult

COLUMN_INCHES: Final = 3.2
HEIGHT_INCHES: Final = 5.8
#: Line styles of the treatments; the first is for runs without policies.
_DASHES: Final = ("--", "-", "-.", ":")


def save_distributions(
    outcomes: Sequence[ChallengeResult], path: Path, on_kernel: Sequence[ChallengeResult] = ()
) -> None:
    """Write :func:`distributions` as .png, .svg or .pdf.

    Raises
    ------
    ConfigError : the file name extension is unknown
    """
    save_figure(distributions(outcomes, on_kernel), path)


def distributions(outcomes: Sequence[ChallengeResult], on_kernel: Sequence[ChallengeResult] = ()) -> Figure:
    """Draw the cumulative distributions of JFI and utilization: one column per challenge, one line per treatment.

    Parameters
    ----------
    on_kernel : results of the same challenges on the kernel, drawn with thinner lines
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(COLUMN_INCHES * max(len(outcomes), 2), HEIGHT_INCHES), layout="constrained")
    axes = figure.subplots(2, len(outcomes), squeeze=False, sharey=True)
    names = list(dict.fromkeys(name for outcome in outcomes for name in outcome.jain))
    looks = {name: (style.PALETTE[i % len(style.PALETTE)], _DASHES[i % len(_DASHES)]) for i, name in enumerate(names)}
    lines = {}
    for column, outcome in enumerate(outcomes):
        for row, (values, label) in enumerate(
            ((outcome.jain, "Jain's fairness index"), (outcome.utilization, "link utilization"))
        ):
            axis = axes[row, column]
            for name, several in values.items():
                lines[name] = _step(axis, several, *looks[name])
            axis.set_xlabel(label)
            axis.set_xlim(0.0, 1.02)
            axis.set_ylim(0.0, 1.0)
            axis.grid(alpha=0.3)
        title = f"{outcome.challenge} ({outcome.without.configurations})"
        for other in on_kernel:
            if other.challenge == outcome.challenge:
                title += f", kernel ({other.without.configurations})"
                for name in other.jain:
                    color, dash = looks.setdefault(name, (style.PALETTE[len(looks) % len(style.PALETTE)], ":"))
                    lines[f"{name}, kernel"] = _step(axes[0, column], other.jain[name], color, dash, width=0.8)
                    _step(axes[1, column], other.utilization[name], color, dash, width=0.8)
        axes[0, column].set_title(title)
    for row in (0, 1):
        axes[row, 0].set_ylabel("share of configurations")
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=max(len(outcomes), 2))
    return figure


def _step(axis: Axes, values: Sequence[float], color: str, dash: str, width: float = 1.6) -> Line2D:
    share = np.arange(1, len(values) + 1) / len(values)
    (line,) = axis.step(sorted(values), share, dash, color=color, linewidth=width, where="post")
    return line
