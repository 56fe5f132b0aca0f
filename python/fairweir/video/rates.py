"""Draw encoder tables: quality as a function of rate for each content, codec and age of the reference.

The reference of a frame is the earlier frame relative to which it is coded; the stride is its age in frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fairweir.show import style
from fairweir.show.plots import save_figure
from fairweir.video.tables import Table, decibels


def rates_figure(tables: Sequence[Table], path: Path) -> Path:
    """Draw quality (SSIM) as a function of rate, with a panel for each content, and return `path`, to which it is
    written.

    Solid lines show references that are one frame old. Dashed lines show the largest stride, with the rate of a video
    in which all references have this age.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter

    contents = list(dict.fromkeys(table.content for table in tables))
    codecs = list(dict.fromkeys(table.codec for table in tables))
    figure = Figure(figsize=(4.2 * min(2, len(contents)), 3.2 * -(-len(contents) // 2)), layout="constrained")
    panels = figure.subplots(-(-len(contents) // 2), min(2, len(contents)), squeeze=False).ravel()
    for panel in panels[len(contents) :]:
        panel.set_visible(False)
    for table in tables:
        panel = panels[contents.index(table.content)]
        colour = style.colour(codecs.index(table.codec))
        for stride, dash in ((0, "-"), (len(table.strides) - 1, "--")):
            mbps = table.mbps_at(stride)
            label = f"{table.codec}, reference {table.strides[stride]} old"
            panel.plot(mbps, decibels(table.ssim[stride].mean(axis=1)), dash, marker=".", color=colour, label=label)
    for content, panel in zip(contents, panels, strict=False):
        panel.set_title(content)
        panel.set_xscale("log")
        panel.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        panel.xaxis.set_major_formatter("{x:g}")
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.set_xlabel("Mbit/s at full frame rate")
        panel.set_ylabel("SSIM (dB)")
        panel.grid(alpha=0.3)
        panel.legend(fontsize="x-small")
    return save_figure(figure, path)
