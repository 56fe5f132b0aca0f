"""A user's network model in a child process, so that the user's code cannot change the process that checks traces.

The parent sends requests. The child answers with constraints as SMT-LIB text, or with violations (conditions of the
model that a trace does not satisfy). The child's memory is limited like that of users' controllers
(:mod:`fairweir.play.process`). If a method of the model does not return, the child is ended.

A trace is the value of each curve at each sample point; a step is the time between two points.
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

#: Wall time, in s, after which a method of a user's model is ended. The models in fairweir need 1 % of this time.
TIMEOUT_S: Final = 60


class HostError(Exception):
    """The child process has ended or does not answer. The message is a predicate; its subject is the model's method."""


@dataclass(frozen=True)
class Added:
    """The constraints that a model adds to a system (the variables and constraints of one question), as text.

    TA and ``left`` are curves that the model sets: the bytes that have left the bottleneck's queue, in total and per
    flow.

    Attributes
    ----------
    groups : for each constraint, the name of its group
    points : the number of points of TA, then of each curve of ``left``
    text : str, SMT-LIB: one assertion for each constraint, then one for each point of each curve
    """

    groups: tuple[str, ...]
    points: tuple[int, ...]
    text: str

    @classmethod
    def of(cls, constraints: Sequence[tuple[str, z3.BoolRef]], curves: Sequence[Curve]) -> Added:
        """Write constraints, each with the name of its group, and curves as text."""
        terms = [term for _, term in constraints] + [term for curve in curves for term in curve]
        solver = z3.Solver()
        for term in terms:
            # SMT-LIB can assert only Booleans. An uninterpreted Boolean function wraps a term of any sort.
            solver.add(z3.Function(f"term of {term.sort()}", term.sort(), z3.BoolSort())(term))
        return cls(tuple(group for group, _ in constraints), tuple(map(len, curves)), solver.sexpr())

    def read(self) -> tuple[list[tuple[str, Any]], list[list[Any]]]:
        """Return the constraints, each with the name of its group, and the curves."""
        terms = [wrapped.arg(0) for wrapped in z3.parse_smt2_string(self.text)]
        curves, start = [], len(self.groups)
        for length in self.points:
            curves.append(terms[start : start + length])
            start += length
        return list(zip(self.groups, terms, strict=False)), curves


class Host:
    """The child process of one model. The process starts at the first request, and again at a request if it has ended.

    Parameters
    ----------
    source : str, the file and the class of the model, such as ``mine.py:Mine``
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None

    def ask(self, method: str, *arguments: Any) -> Any:
        """Let the child call a method of the model, and return the result.

        Parameters
        ----------
        method : str, name of a method of :class:`fairweir.formal.models.user.CheckedModel`, or "load"
        arguments : arguments of the method, which must be picklable

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
            # Count waits of one second: a time in which both processes were stopped (Ctrl-Z) counts as one wait.
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
            stdout=2,  # stderr: output of a user's code is not part of the result
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
        # At interpreter shutdown, this module's names may be undefined. The child then ends together with the parent.
        try:  # noqa: SIM105 - suppress is one of these names
            self._end()
        except Exception:  # noqa: BLE001, S110
            pass
