"""Figures of a run over time, for ``fairweir run --plot FILE``."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from fairweir import extras
from fairweir.documents.atomic_write import draft
from fairweir.errors import ConfigError
from fairweir.show import style
from fairweir.show.notebook import Image
from fairweir.units import NS_PER_S, Duration

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from fairweir.play.run import Run

FORMATS: Final = ("png", "svg", "pdf")
DASHES: Final = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
"""Plotly's name of a dash pattern -> matplotlib's."""

LEGEND_ROWS: Final = 3
LEGEND_COLUMNS: Final = 5
SIZE_INCHES: Final = (8.0, 9.0)
DOTS_PER_INCH: Final = 150
CSS_PX_PER_INCH: Final = 96


def save_run_plot(run: Run, path: str | Path) -> Path:
    """Write throughput, cwnd, RTT and queue over time to `path`.

    Parameters
    ----------
    run : Run with time series
    path : str or Path, ending in .png, .svg or .pdf; the same run gives the same bytes

    Raises
    ------
    ConfigError : another ending, a directory that is missing, or a run without time series
    """
    check_plot_path(path)
    return save_figure(run_figure(run), path)


def image_of_run(run: Run, title: str) -> Image:
    """Return throughput, cwnd, RTT and queue over time as an image.

    Raises
    ------
    ConfigError : the run has no time series
    MissingExtraError : Matplotlib is not installed
    """
    extras.require("matplotlib", "a static plot")
    return image_of(run_figure(run), title)


def image_of(figure: Figure, title: str) -> Image:
    """Return a figure as an image for a notebook."""
    file = BytesIO()
    figure.savefig(file, format="png", dpi=DOTS_PER_INCH)
    return Image(title, file.getvalue(), round(figure.get_figwidth() * CSS_PX_PER_INCH))


def save_figure(figure: Figure, path: str | Path) -> Path:
    """Write a figure to `path`; the same figure gives the same bytes.

    Parameters
    ----------
    figure : matplotlib figure
    path : str or Path, ending in .png, .svg or .pdf

    Raises
    ------
    ConfigError : the extension is unknown, or the directory does not exist
    """
    target = Path(path)
    kind = check_plot_path(target)
    import matplotlib as mpl

    # Without this, ids and dates in the file would differ between two writes.
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
    with mpl.rc_context({"svg.hashsalt": "fairweir", "pdf.fonttype": 42}), draft(target) as file:
        figure.savefig(file, format=kind, dpi=DOTS_PER_INCH, metadata=metadata)
    return target


def check_plot_path(path: str | Path) -> str:
    """Return the format of `path`; an invalid extension is reported before a long run.

    Returns
    -------
    str : one of `FORMATS`

    Raises
    ------
    ConfigError : the extension is unknown, or the directory does not exist
    MissingExtraError : Matplotlib is not installed
    """
    extras.require("matplotlib", "a plot")
    target = Path(path)
    kind = target.suffix.lower().lstrip(".")
    if kind not in FORMATS:
        raise ConfigError(
            f"plot must end in .html, {', '.join('.' + f for f in FORMATS)}: `{target.name}`",
            hint="try `--plot run.png`",
        )
    if not target.absolute().parent.is_dir():
        raise ConfigError(
            f"no such directory: `{target.parent}`", hint="create it, or choose another place for the plot"
        )
    return kind


def run_figure(run: Run) -> Figure:
    """Draw four stacked panels over time: throughput, cwnd and RTT with a line per flow, queues with a line per link.

    Raises
    ------
    ConfigError : the run has no time series
    """
    from matplotlib.figure import Figure

    panels = _panels(run)
    figure = Figure(figsize=SIZE_INCHES, layout="constrained")
    axes: list[Axes] = list(figure.subplots(len(style.SERIES_PANELS), 1, sharex=True))
    flow_names = [_flow_name(flow.id, flow.cca) for flow in run.summary.flows]
    link_names = [link.name for link in run.summary.links]
    for axis, name in zip(axes, style.SERIES_PANELS, strict=True):
        t_s, lines = panels[name]
        for i, values in enumerate(lines):
            if name == "queue_pkts":
                looks: dict[str, Any] = {"color": "#555555", "linestyle": DASHES[style.DASHES[i % len(style.DASHES)]]}
                label = link_names[i]
            else:
                looks = {"color": style.colour(i), "linestyle": DASHES[style.dash(i)]}
                label = flow_names[i]
            axis.plot(t_s[i], values, linewidth=1.2, label=label, **looks)
        _dress(axis, name)
    warmup_s = _seconds(run, "warmup")
    if warmup_s > 0:
        for axis in axes:
            axis.axvspan(0, warmup_s, color="#888888", alpha=0.12, linewidth=0)
    if len(link_names) > 1:
        axes[-1].legend(loc="upper right", fontsize=8, frameon=False, ncols=LEGEND_COLUMNS)
    axes[-1].set_xlabel(style.axis_label("t_s"))
    axes[-1].set_xlim(0, _seconds(run, "duration"))
    if len(flow_names) <= LEGEND_ROWS * LEGEND_COLUMNS:
        figure.legend(
            *axes[0].get_legend_handles_labels(),
            loc="outside lower left",
            fontsize=8,
            frameon=False,
            ncols=LEGEND_COLUMNS,
        )
    figure.align_ylabels(axes)
    title = run.scenario.name or "run"
    axes[0].set_title(f"{title}, seed {run.summary.seed}", fontsize=11, loc="left")
    return figure


_Lines: TypeAlias = "tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]"


def _panels(run: Run) -> dict[str, _Lines]:
    """Return for each panel the times and the values of its lines."""
    packet_bytes = float(run.scenario.resolve()["packet"])
    flows, links = run.flows, run.links
    return {
        "throughput_mbps": _lines(flows, "flow", "throughput_mbps"),
        "cwnd_pkts": _lines(flows, "flow", "cwnd_bytes", packet_bytes),
        "rtt_ms": _lines(flows, "flow", "rtt_ms"),
        "queue_pkts": _lines(links, "link", "queue_bytes", packet_bytes),
    }


def _lines(table: Any, index: str, column: str, divisor: float = 1.0) -> _Lines:
    which = table[index]
    t_s = table["t_ns"] / NS_PER_S
    values = table[column].astype(np.float64) / divisor
    numbers = range(int(which.max()) + 1) if which.size else range(0)
    return [t_s[which == i] for i in numbers], [values[which == i] for i in numbers]


def _dress(axis: Axes, name: str) -> None:
    axis.set_ylabel(style.axis_label(name))
    axis.set_ylim(bottom=0)
    axis.grid(True, color="#DDDDDD", linewidth=0.6)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _flow_name(flow_id: str, cca: str) -> str:
    return flow_id if flow_id.startswith(cca) else f"{flow_id} ({cca})"


def _seconds(run: Run, key: str) -> float:
    """Return a time of the scenario, s."""
    return Duration.from_ns(run.scenario.resolve()[key]).s
