"""Output: data to stdout, messages and progress to stderr.

Names and messages come from scenarios, captures and users' code. They are never interpreted as markup, and control
characters in them are escaped for terminals.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleDimensions, ConsoleRenderable, RenderHook
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.segment import Segment

from fairweir.cli import terminal
from fairweir.cli.progress_pipe import PipedProgress

if TYPE_CHECKING:
    from rich.console import ConsoleOptions, RenderResult

PIPE_WIDTH = 10_000
"""Number of columns of output to a file or a program, so that no cell of a table is cut; overridden by ``COLUMNS``."""
#: Characters that are not escaped, because our own texts use them: line ends, tabs, and spaces in numbers.
_KEPT = "\n\t\u00a0\u2009"
_TRAILING = re.compile(r"[ \t]+$", re.MULTILINE)


class _Escaped:
    """A renderable whose text is escaped after layout; control codes of Rich are not changed."""

    def __init__(self, renderable: ConsoleRenderable) -> None:
        self.renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(terminal.escape(segment.text, keep=_KEPT), segment.style)


class _Escape(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Escaped(renderable) for renderable in renderables]


class Output(Console):
    """A console that interprets no text as markup, escapes control characters, and cuts no table for a file or pipe."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)
        self.push_render_hook(_Escape())

    @property
    def size(self) -> ConsoleDimensions:
        """Columns and lines of the terminal; unlimited if there is none."""
        found = super().size
        if self.is_terminal:
            return found
        columns = os.environ.get("COLUMNS", "")
        return ConsoleDimensions(int(columns) if columns.isdecimal() else PIPE_WIDTH, found.height)

    @size.setter
    def size(self, new_size: tuple[int, int]) -> None:
        self.width, self.height = new_size

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as Rich does; for a file or a program, without the spaces that fill the last column of a table."""
        if self.is_terminal:
            super().print(*objects, **options)
            return
        with self.capture() as captured:
            super().print(*objects, **options)
        self.file.write(_TRAILING.sub("", captured.get()))


#: Tables and other data; without color if stdout is not a terminal.
stdout = Output()
#: Messages and progress.
stderr = Output(stderr=True)


def print_json(document: Any) -> None:
    """Print one JSON document on stdout; NaN and infinities become null."""
    json.dump(finite(document), sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")


def finite(document: Any) -> Any:
    """Return `document` with NaN and infinities replaced by None."""
    if isinstance(document, float):
        return document if abs(document) < float("inf") else None
    if isinstance(document, dict):
        return {key: finite(value) for key, value in document.items()}
    if isinstance(document, (list, tuple)):
        return [finite(value) for value in document]
    return document


def progress_bar(*, counts: bool) -> Progress:
    """Return a progress bar on stderr that shows nothing when stderr is not a terminal.

    Parameters
    ----------
    counts : show the number of finished jobs ("3/10") instead of a percentage
    """
    done = MofNCompleteColumn() if counts else TextColumn("{task.percentage:>3.0f} %", markup=False)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        done,
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    return PipedProgress(*columns, console=stderr, transient=True, disable=not stderr.is_terminal)
