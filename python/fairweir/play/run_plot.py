"""Draw a run over time: into a file, or as the output of a notebook's cell; interactive, or as an image."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from fairweir.documents.arguments import one_of
from fairweir.documents.atomic_write import write_text
from fairweir.errors import ConfigError
from fairweir.show.notebook import EmbeddedPage, Image

if TYPE_CHECKING:
    from fairweir.play.run import Run

#: Forms in which a notebook shows a run over time.
PlotKind = Literal["interactive", "static"]
_PAGE = ".html"
#: Height of the figures in a notebook, CSS pixels: panels of 130 px with their headings, the time axis, the buttons.
_HEIGHT_PX = 920


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

    title = _title(run)
    write_text(target, runs_page(title, [course_of([run])], [(title, run.scenario.to_toml())]))
    return target


def shown_plot(run: Run, kind: PlotKind) -> EmbeddedPage | Image:
    """Draw throughput, cwnd, RTT and queue over time for a notebook.

    Parameters
    ----------
    run : Run with time series
    kind : "interactive", with zoom and a common cursor; or "static", an image, for which Matplotlib is needed

    Raises
    ------
    ConfigError : an unknown kind, or a run without time series
    MissingExtraError : the kind is "static", and Matplotlib is not installed
    """
    one_of(get_args(PlotKind), kind, "kind")
    title = _title(run)
    if kind == "static":
        from fairweir.show.plots import image_of_run

        return image_of_run(run, title)
    from fairweir.play.course import course_of
    from fairweir.play.runs_page import course_page

    return EmbeddedPage(title, course_page(title, course_of([run])), _HEIGHT_PX)


def _title(run: Run) -> str:
    return f"{run.scenario.name or 'run'}, seed {run.summary.seed}"


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
