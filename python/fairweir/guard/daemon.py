"""Interface to ``fairweir-guard``, the program that sets receive windows at a network device; it needs root."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from fairweir.errors import KernelError
from fairweir.play.kernel import BUILD_HINT
from fairweir.play.program import Program

#: Environment variable with the path of the daemon, if it is not in the interpreter's directory.
DAEMON_VARIABLE = "FAIRWEIR_GUARD"
_DAEMON = Program("fairweir-guard", DAEMON_VARIABLE, "the receiver's daemon", BUILD_HINT, KernelError)
#: Maximum time of a call of the daemon, s.
_TIMEOUT_S = 10.0


def find_daemon() -> Path:
    """Return the path of ``fairweir-guard``.

    Raises
    ------
    KernelError : the program was not found
    """
    return _DAEMON.find()


def clean() -> int:
    """Remove the filters that killed guards left in this network namespace, which happens on Linux before 6.6.

    Returns
    -------
    int, number of filters removed

    Raises
    ------
    KernelError : the daemon was not found, or it fails
    """
    done = subprocess.run(  # noqa: S603
        [str(find_daemon()), "clean"], capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
    )
    if done.returncode != 0:
        raise KernelError(done.stderr.strip().removeprefix("error: "))
    removed: int = json.loads(done.stdout)["removed"]
    return removed
