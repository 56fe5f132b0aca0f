"""Where output goes: data to stdout, words and progress to stderr."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

#: Tables and other data; no colour when it is not a terminal.
stdout = Console(highlight=False, soft_wrap=False)
#: Words and progress.
stderr = Console(stderr=True, highlight=False)


def print_json(document: Any) -> None:
    """Print one JSON document on stdout; numbers that JSON lacks become null."""
    json.dump(finite(document), sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")


def finite(document: Any) -> Any:
    """Give `document` with NaN and infinities replaced by None."""
    if isinstance(document, float):
        return document if abs(document) < float("inf") else None
    if isinstance(document, dict):
        return {key: finite(value) for key, value in document.items()}
    if isinstance(document, (list, tuple)):
        return [finite(value) for value in document]
    return document


def progress_bar(*, counts: bool) -> Progress:
    """Give a progress bar on stderr that shows nothing when stderr is not a terminal.

    Parameters
    ----------
    counts : show "3/10" (jobs) rather than a percentage
    """
    done = MofNCompleteColumn() if counts else TextColumn("{task.percentage:>3.0f} %")
    columns = (TextColumn("{task.description}"), BarColumn(), done, TimeElapsedColumn(), TimeRemainingColumn())
    return Progress(*columns, console=stderr, transient=True, disable=not stderr.is_terminal)
