"""Child processes: none outlives this one; limits for those that run a user's code; and how to report their end."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

_PR_SET_PDEATHSIG = 1

MIN_USER_MEMORY = 1 << 30
"""Bytes: a user's code always gets this much, however small the machine."""

#: Meaning of a signal for the code that caused it.
_CAUSES = {
    signal.SIGABRT: "abort",
    signal.SIGBUS: "invalid memory access",
    signal.SIGFPE: "a division by zero",
    signal.SIGILL: "illegal instruction, a compiler's trap for undefined behaviour such as division by zero",
    signal.SIGKILL: "killed, possibly out of memory",
    signal.SIGSEGV: "invalid memory access",
}


def die_with_parent() -> Callable[[], None]:
    """Return a function that ends a child when this process is killed, so that it does not outlive its parent."""
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getpid()

    def prepare() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return prepare


def contain_output() -> None:
    """Redirect output of this process and of a user's code to stderr: stdout has only the command's result."""
    sys.stdout.flush()
    os.dup2(2, 1)


@contextmanager
def user_code() -> Iterator[None]:
    """Make this process safe to run a user's code in: its memory is limited, and a copy that it forks ends at once.

    Above the limit, half of the machine's memory divided by its cores (as many such processes may run at once), an
    allocation fails, which is a MemoryError in Python; the limit stays. A forked copy would run the scenario again, and
    continue in a pool as a worker that is never ended.
    """
    global _runs_user_code  # noqa: PLW0603 - of the whole process
    _contain()
    _runs_user_code = True
    try:
        yield
    finally:
        _runs_user_code = False


_runs_user_code = False


@cache
def _contain() -> None:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = max(MIN_USER_MEMORY, memory // 2 // max(1, len(os.sched_getaffinity(0))))
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
    os.register_at_fork(after_in_child=_end_copy)


def _end_copy() -> None:
    if _runs_user_code:
        os._exit(0)


def describe_exit(code: int) -> str:
    """Return how a process ended.

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
