"""Fairness and utilisation over configurations, without and with a receiver's policies, as distributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from fairweir.drawing import style
from fairweir.drawing.plots import DOTS_PER_INCH, check_plot_path

if TYPE_CHECKING:
    from fairweir.guard.evaluate import Measured

COLUMN_INCHES: Final = 3.2
HEIGHT_INCHES: Final = 5.6


def save_distributions(results: Mapping[str, Sequence[Measured]], path: Path) -> None:
    """Draw the share of configurations up to each JFI and utilisation: a column a challenge.

    Raises
    ------
    ConfigError : an ending that is none of a picture's
    """
    kind = check_plot_path(path)
    import matplotlib as mpl
    from matplotlib.figure import Figure

    figure = Figure(figsize=(COLUMN_INCHES * max(len(results), 2), HEIGHT_INCHES), layout="constrained")
    axes = figure.subplots(2, len(results), squeeze=False, sharey=True)
    for column, (challenge, measured) in enumerate(results.items()):
        share = np.arange(1, len(measured) + 1) / len(measured)
        for row, (metric, label) in enumerate((("jain", "Jain's fairness index"), ("utilization", "link utilisation"))):
            axis = axes[row, column]
            for name, color, dash in (("without", style.PALETTE[1], "--"), ("guarded", style.PALETTE[0], "-")):
                values = sorted(getattr(getattr(one, name), metric) for one in measured)
                axis.step(values, share, dash, color=color, where="post", label=name)
            axis.set_xlabel(label)
            axis.set_xlim(0.0, 1.02)
            axis.set_ylim(0.0, 1.0)
            axis.grid(alpha=0.3)
        axes[0, column].set_title(f"{challenge} ({len(measured)})")
    for row in (0, 1):
        axes[row, 0].set_ylabel("share of configurations")
    axes[0, 0].legend(loc="upper left")
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
    with mpl.rc_context({"svg.hashsalt": "fairweir", "pdf.fonttype": 42}):
        figure.savefig(path, format=kind, dpi=DOTS_PER_INCH, metadata=metadata)
