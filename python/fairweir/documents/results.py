"""Choose the folder for a command's results if the user passes no ``--out``."""

from __future__ import annotations

import hashlib
from pathlib import Path

from fairweir.documents.filenames import slug

#: The folder of all results, in the working directory. In a clone of the repository, git ignores this folder.
RESULTS = Path("results")

#: Maximum length of a folder's name. File systems allow 255 characters; the names of temporary files next to the folder
#: are longer than its name.
LONGEST = 120


def results_folder(command: str, *subjects: str) -> Path:
    """Return ``results/COMMAND/SUBJECTS``, or ``results/COMMAND`` for a command without subjects.

    Parameters
    ----------
    command : the command as typed; the words of a subcommand are joined by hyphens, as in ``guard-evaluate``
    subjects : names of the CCAs or scenarios that the command uses. Without duplicates, they are joined to one name; a
        name longer than :data:`LONGEST` is truncated, and a digest of the whole name is appended
    """
    folder = RESULTS / command.replace(" ", "-")
    if not subjects:
        return folder
    name = "-".join(map(slug, dict.fromkeys(subjects)))
    if len(name) > LONGEST:
        # The digest distinguishes names that are equal up to the truncated part.
        name = f"{name[: LONGEST - 9].rstrip('-.')}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return folder / name
