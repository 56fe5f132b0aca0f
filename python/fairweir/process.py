"""Child processes: that none outlives this one, and how to say what one died of."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1

#: What a signal means for code that brought it upon itself.
_CAUSES = {
    signal.SIGABRT: "it gave up",
    signal.SIGBUS: "memory that is not there",
    signal.SIGFPE: "a division by zero",
    signal.SIGILL: "a trap that the compiler puts where C is undefined, such as a division by zero",
    signal.SIGKILL: "killed from outside, perhaps for want of memory",
    signal.SIGSEGV: "memory that is not its own",
}


def die_with_parent() -> Callable[[], None]:
    """Give what makes a child end when this process is killed: it must not outlive the one who asked for it."""
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getpid()

    def prepare() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return prepare


def describe_exit(code: int) -> str:
    """Say how a process ended.

    Parameters
    ----------
    code : int, as :mod:`subprocess` has it: negative for a signal

    Returns
    -------
    str, as ``SIGFPE: a division by zero`` or ``exit code 7``
    """
    if code >= 0:
        return f"exit code {code}"
    try:
        which = signal.Signals(-code)
    except ValueError:
        return f"signal {-code}"
    cause = _CAUSES.get(which)
    return f"{which.name}: {cause}" if cause else which.name
