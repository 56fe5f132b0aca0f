"""Keep the temporary files of jobs where the command finds them: it ends processes in the middle of their jobs.

The folder has a name from the start, and is made with the first file, so that a command that is killed leaves nothing
if its jobs have no files.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
from pathlib import Path

#: Folder for this process's jobs; None outside of workers: the system's folder.
_folder: str | None = None


def unused_name() -> str:
    """Return the name of a folder for the jobs of one pool; it cannot be guessed."""
    return str(Path(tempfile.gettempdir()) / f"fairweir-jobs-{secrets.token_hex(8)}")


def use(folder: str) -> None:
    """Keep the temporary files of this process's jobs in `folder`."""
    global _folder  # noqa: PLW0603 - of a worker's process, once
    _folder = folder


def remove(folder: str) -> None:
    """Remove the folder of a pool whose processes have ended; it may not exist."""
    shutil.rmtree(folder, ignore_errors=True)


def new_folder(prefix: str) -> Path:
    """Return a new folder for the files of one job, which removes it."""
    if _folder is not None:
        Path(_folder).mkdir(mode=0o700, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=prefix, dir=_folder))
