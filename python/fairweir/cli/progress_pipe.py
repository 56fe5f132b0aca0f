"""Progress for the program that started this command, such as the studio: one JSON object per line, in a pipe."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any

from rich.progress import Progress, TaskID

from fairweir.play.process import PROGRESS_VARIABLE


class PipedProgress(Progress):
    """A progress bar that also writes each change to the pipe, if there is one.

    A line has ``what``, the description, and ``part``, the completed fraction, which is null if it is not known.
    """

    def update(self, task_id: TaskID, **changes: Any) -> None:
        """Change a task, and write it to the pipe."""
        super().update(task_id, **changes)
        descriptor = os.environ.get(PROGRESS_VARIABLE, "")
        if not descriptor.isdecimal():
            return
        task = next(one for one in self.tasks if one.id == task_id)
        part = task.completed / task.total if task.total else None
        line = json.dumps({"what": task.description.strip(), "part": part})
        with suppress(OSError):  # The reader has ended.
            os.write(int(descriptor), f"{line}\n".encode())
