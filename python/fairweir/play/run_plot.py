"""Draw a run over time into a file: an interactive page, or a figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fairweir.documents.atomic_write import write_text
from fairweir.errors import ConfigError

if TYPE_CHECKING:
    from fairweir.play.run import Run

_PAGE = ".html"


def plot_run(run: Run, path: str | Path) -> Path:
    """Draw throughput, cwnd, RTT and queue over time; in a page also losses and marks.

    Parameters
    ----------
    run : Run with time series
    path : str or Path, ending in .html, .png, .svg or .pdf

    Raises
    ------
    ConfigError : another extension, a directory that does not exist, or a run without time series
    MissingExtraError : Matplotlib, which draws other files than .html, is not installed
    """
    target = Path(path)
    check_run_plot_path(target)
    if target.suffix.lower() != _PAGE:
        from fairweir.show.plots import save_run_plot

        return save_run_plot(run, target)
    from fairweir.play.course import course_of
    from fairweir.play.runs_page import runs_page

    title = f"{run.scenario.name or 'run'}, seed {run.summary.seed}"
    write_text(target, runs_page(title, [course_of([run])], [(title, run.scenario.to_toml())]))
    return target


def check_run_plot_path(path: str | Path) -> None:
    """Check the name of a plot before a long run.

    Raises
    ------
    ConfigError : an unknown extension, or a directory that does not exist
    MissingExtraError : Matplotlib, which draws other files than .html, is not installed
    """
    target = Path(path)
    if target.suffix.lower() != _PAGE:
        from fairweir.show.plots import check_plot_path

        check_plot_path(target)
    elif not target.absolute().parent.is_dir():
        raise ConfigError(
            f"no such directory: `{target.parent}`", hint="create it, or choose another place for the plot"
        )
