"""Interface to ``fairweir-guard``, the program that sets windows at a network device; it needs root."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from fairweir.errors import KernelError
from fairweir.play.kernel import find_program

DAEMON = "fairweir-guard"
#: Environment variable with the path of the daemon, if it is not in the interpreter's directory.
DAEMON_VARIABLE = "FAIRWEIR_GUARD"
#: Seconds that a question may take.
_TIMEOUT_S = 10.0


def find_daemon() -> Path:
    """Return the path of ``fairweir-guard``.

    Raises
    ------
    KernelError : not found
    """
    return find_program(DAEMON, DAEMON_VARIABLE, "the receiver's daemon")


def clean() -> int:
    """Remove what killed guards have left in this network namespace: filters, on Linux before 6.6.

    Returns
    -------
    int, how many there were

    Raises
    ------
    KernelError : no daemon, or it fails
    """
    done = subprocess.run(  # noqa: S603
        [str(find_daemon()), "clean"], capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
    )
    if done.returncode != 0:
        raise KernelError(done.stderr.strip().removeprefix("error: "))
    removed: int = json.loads(done.stdout)["removed"]
    return removed
