"""The folder of a command's results where its ``--out`` does not name one."""

from __future__ import annotations

from pathlib import Path

from fairweir.documents.filenames import slug

#: In the working directory, and ignored by git in a clone.
RESULTS = Path("results")


def results_folder(command: str, *subjects: str) -> Path:
    """Return ``results/COMMAND/SUBJECTS``, or ``results/COMMAND`` of a command without subject.

    Parameters
    ----------
    command : as typed; the words of a subcommand are joined, as in ``guard-evaluate``
    subjects : what the command is applied to, such as CCAs or a scenario's name; joined to one name, each once
    """
    folder = RESULTS / command.replace(" ", "-")
    return folder / "-".join(map(slug, dict.fromkeys(subjects))) if subjects else folder
