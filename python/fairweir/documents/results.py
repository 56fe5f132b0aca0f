"""The default folder of a command's results, used if the command has no ``--out``."""

from __future__ import annotations

import hashlib
from pathlib import Path

from fairweir.documents.filenames import slug

#: Folder in the working directory; git ignores it in a clone of the repository.
RESULTS = Path("results")

#: Maximum length of a folder's name. File systems allow 255 characters; names of drafts next to it may be longer.
LONGEST = 120


def results_folder(command: str, *subjects: str) -> Path:
    """Return ``results/COMMAND/SUBJECTS``, or ``results/COMMAND`` for a command without subjects.

    Parameters
    ----------
    command : as typed; the words of a subcommand are joined by hyphens, as in ``guard-evaluate``
    subjects : the command's objects, such as CCAs or a scenario's name. They are joined to one name, without
        duplicates; a name longer than :data:`LONGEST` is truncated and ends in a digest.
    """
    folder = RESULTS / command.replace(" ", "-")
    if not subjects:
        return folder
    name = "-".join(map(slug, dict.fromkeys(subjects)))
    if len(name) > LONGEST:
        # The digest distinguishes names that differ only in the truncated part.
        name = f"{name[: LONGEST - 9].rstrip('-.')}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return folder / name
