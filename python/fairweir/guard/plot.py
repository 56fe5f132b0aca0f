"""Figure of the throughput over time without and with a guard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fairweir.guard.compare import Comparison, over_time
from fairweir.show import style
from fairweir.show.plots import save_figure
from fairweir.units import Duration

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE_INCHES = (8.0, 5.5)


def save(comparison: Comparison, path: Path) -> None:
    """Write the figure to `path`.

    Raises
    ------
    ConfigError : the extension is not .png, .svg or .pdf, or the directory does not exist
    """
    save_figure(figure(comparison), path)


def figure(comparison: Comparison) -> Figure:
    """Draw two panels, without and with the guard, each with a line per service and a line for their sum."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=SIZE_INCHES, layout="constrained")
    axes = drawn.subplots(2, 1, sharex=True, sharey=True)
    scenario = comparison.without.summary.document["scenario"]
    for axis, record, title in zip(
        axes, (comparison.without, comparison.guarded), ("without guard", "with guard"), strict=True
    ):
        t_s, services = over_time(record)
        for i, (name, mbps) in enumerate(services.items()):
            axis.plot(t_s, mbps, color=style.colour(i), linewidth=1.3, label=name)
        axis.plot(t_s, sum(services.values()), color="#888888", linewidth=0.8, linestyle=":", label="all")
        warmup_s = Duration.parse(record.scenario.warmup).s
        axis.axvspan(0, warmup_s, color="#888888", alpha=0.12, linewidth=0)
        axis.set_title(f"{scenario.get('description') or scenario['name']}: {title}", fontsize=10, loc="left")
        axis.set_ylabel(style.axis_label("throughput_mbps"))
        axis.set_ylim(bottom=0)
        axis.set_xlim(0, t_s[-1])
        axis.grid(True, color="#DDDDDD", linewidth=0.6)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    axes[1].set_xlabel(style.axis_label("t_s"))
    drawn.legend(*axes[0].get_legend_handles_labels(), loc="outside lower left", ncols=4, frameon=False, fontsize=8)
    return drawn
