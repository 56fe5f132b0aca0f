"""The folder of a command's results where its ``--out`` does not name one."""

from __future__ import annotations

import hashlib
from pathlib import Path

from fairweir.documents.filenames import slug

#: In the working directory, and ignored by git in a clone.
RESULTS = Path("results")

#: Characters of a folder's name; file systems allow 255, and files next to it have longer names while they are written.
LONGEST = 120


def results_folder(command: str, *subjects: str) -> Path:
    """Return ``results/COMMAND/SUBJECTS``, or ``results/COMMAND`` of a command without subject.

    Parameters
    ----------
    command : as typed; the words of a subcommand are joined, as in ``guard-evaluate``
    subjects : what the command is applied to, such as CCAs or a scenario's name; joined to one name, each once;
        a long name ends in a digest instead
    """
    folder = RESULTS / command.replace(" ", "-")
    if not subjects:
        return folder
    name = "-".join(map(slug, dict.fromkeys(subjects)))
    if len(name) > LONGEST:
        # The digest differs where the part that is cut off does.
        name = f"{name[: LONGEST - 9].rstrip('-.')}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return folder / name
