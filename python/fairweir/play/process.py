"""Child processes: end them with their parent, limit those that run a user's code, and describe how they ended."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from io import TextIOWrapper

#: Environment variable with the number of the file descriptor to which a command writes its progress.
PROGRESS_VARIABLE = "FAIRWEIR_PROGRESS_FD"

_PR_SET_PDEATHSIG = 1

MIN_USER_MEMORY = 1 << 30
"""Minimum memory limit of a user's code, bytes, even on a small machine."""

#: Signal -> its cause in the code that received it.
_CAUSES = {
    signal.SIGABRT: "abort",
    signal.SIGBUS: "invalid memory access",
    signal.SIGFPE: "a division by zero",
    signal.SIGILL: "illegal instruction, a compiler's trap for undefined behavior such as division by zero",
    signal.SIGKILL: "killed, possibly out of memory",
    signal.SIGSEGV: "invalid memory access",
}


def die_with_parent() -> Callable[[], None]:
    """Return a function for a child process to call, after which the child ends when this process is killed."""
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getpid()

    def prepare() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return prepare


def contain_output() -> None:
    """Redirect the output of this process and of a user's code to stderr; stdout has only the command's result.

    Each line is written at once: the process may crash, or be killed when it has reported its result.
    """
    sys.stdout.flush()
    os.dup2(2, 1)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)


@contextmanager
def user_code() -> Iterator[None]:
    """Run a user's code safely in this process: limit its memory, and end each process that the code forks.

    The limit is half of the machine's memory divided by the number of cores, because one such process may run per core.
    Above it an allocation fails, in Python with a MemoryError. The limit remains after the block. A forked copy would
    run the scenario again, and in a pool it would continue as a worker that is never ended.
    """
    global _runs_user_code  # noqa: PLW0603 - the state belongs to the whole process
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
    code : int, as in :mod:`subprocess`: negative for a signal

    Returns
    -------
    str, such as ``SIGFPE: a division by zero`` or ``exit code 7``
    """
    if code >= 0:
        return f"exit code {code}"
    try:
        which = signal.Signals(-code)
    except ValueError:
        return f"signal {-code}"
    cause = _CAUSES.get(which)
    return f"{which.name}: {cause}" if cause else which.name
