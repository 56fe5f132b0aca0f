"""A user's network model in a child process, so that its code cannot change the process that judges its traces.

The parent sends requests; the child answers with z3 terms as SMT-LIB text, or with violations as data. Memory is
limited as for controllers (:mod:`fairweir.play.process`). If a method does not return, its process is ended.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from typing import Any, Final

import z3

from fairweir.formal.encoding.system import Curve
from fairweir.play.process import describe_exit, die_with_parent

#: Wall time, in s, after which a method of a user's model is ended; the shipped models need 1 % of it.
TIMEOUT_S: Final = 60


class HostError(Exception):
    """The child ended or does not answer. The message is a predicate whose subject is the model's method."""


@dataclass(frozen=True)
class Added:
    """The constraints that a model adds to a system, as text.

    Attributes
    ----------
    groups : names of the groups, one per constraint
    points : the number of terms of TA, then of each curve of ``left``
    text : str, SMT-LIB: one assertion for each constraint, then one for each term
    """

    groups: tuple[str, ...]
    points: tuple[int, ...]
    text: str

    @classmethod
    def of(cls, constraints: Sequence[tuple[str, z3.BoolRef]], curves: Sequence[Curve]) -> Added:
        """Write constraints with their groups, and curves, as text."""
        terms = [term for _, term in constraints] + [term for curve in curves for term in curve]
        solver = z3.Solver()
        for term in terms:
            # Only Booleans can be asserted. The uninterpreted function wraps terms of any sort, and keeps them
            # separate.
            solver.add(z3.Function(f"term of {term.sort()}", term.sort(), z3.BoolSort())(term))
        return cls(tuple(group for group, _ in constraints), tuple(map(len, curves)), solver.sexpr())

    def read(self) -> tuple[list[tuple[str, Any]], list[list[Any]]]:
        """Return the constraints with their groups, and the curves."""
        terms = [wrapped.arg(0) for wrapped in z3.parse_smt2_string(self.text)]
        curves, start = [], len(self.groups)
        for length in self.points:
            curves.append(terms[start : start + length])
            start += length
        return list(zip(self.groups, terms, strict=False)), curves


class Host:
    """The child process of one model. It starts at the first request, and again if it has ended since the last.

    Parameters
    ----------
    source : str, ``mine.py:Mine``
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None

    def ask(self, method: str, *arguments: Any) -> Any:
        """Return the child's answer.

        Parameters
        ----------
        method : str, name of a method of :class:`fairweir.formal.models.user.CheckedModel`, or "load"
        arguments : arguments of the method; they are pickled

        Raises
        ------
        HostError : the child ended, or does not answer
        FairweirError : the error that the child raised
        """
        if self._process is None or self._process.poll() is not None:
            self._start()
            if method != "load":
                self.ask("load", self._source)
        connection = self._connection
        assert connection is not None  # noqa: S101 - _start sets it
        try:
            connection.send((method, arguments))
            # Count seconds: a time in which both processes were stopped (Ctrl-Z) counts as one second.
            silent = 0
            while not connection.poll(1.0):
                silent += 1
                if silent >= TIMEOUT_S:
                    raise HostError(f"does not return (for {TIMEOUT_S} s)")
            kind, answer = connection.recv()
        except (EOFError, ConnectionError):
            raise HostError(f"ends the process ({describe_exit(self._end())})") from None
        except BaseException:
            self._end()
            raise
        if kind == "failed":
            raise answer
        return answer

    def _start(self) -> None:
        ours, theirs = Pipe()
        serve = f"from {__package__}.host_process import serve; serve({theirs.fileno()})"
        code = f"import sys; sys.path[:] = {sys.path!r}; {serve}"
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-P", "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=2,  # output of a user's code is not part of the result
            pass_fds=[theirs.fileno()],
            process_group=0,  # Ctrl-C must not reach the child
            preexec_fn=die_with_parent(),  # noqa: PLW1509 - one system call, and its library is loaded already
        )
        theirs.close()
        self._connection = ours

    def _end(self) -> int:
        """End the child and all processes that it started, and return its exit code."""
        process, connection = self._process, self._connection
        self._process = self._connection = None
        if connection is not None:
            connection.close()
        if process is None:
            return 0
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.2)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        return process.wait()

    def __del__(self) -> None:
        # At interpreter shutdown this module's names may be gone. The child then ends with its parent.
        try:  # noqa: SIM105 - suppress is one of these names
            self._end()
        except Exception:  # noqa: BLE001, S110
            pass
