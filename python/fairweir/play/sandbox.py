"""Run a simulation in a child process, so that a user's code that crashes, loops or exits causes only an error."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, Literal

from fairweir import _core
from fairweir.ccas import class_objects, lookup
from fairweir.errors import ControllerError, FairweirError, describe_exception
from fairweir.play.process import contain_output, describe_exit, die_with_parent, user_code
from fairweir.play.simulate import NO_RECORDING, RawRun, Recording, is_users, simulate
from fairweir.units import Duration

#: Real time without progress, s, after which a controller is assumed to loop. The child reports progress every 32 768
#: events (tens of milliseconds); it compiles the C before the first report.
TIMEOUT_S = 30
#: Factor by which this time is multiplied if the run has a Python class, which may be slow.
PYTHON_TIMEOUT = 10

#: Number of flows named in a message.
SHOWN_FLOWS = 3

_HINTS: dict[int, str] = {
    signal.SIGFPE: "check divisors before dividing: times, rates and windows can be 0 (in kernel BPF the result is 0)",
    signal.SIGSEGV: "check pointers and array indices; in kernel C, a flow's state is the struct at inet_csk_ca(sk), "
    "at most 104 bytes",
}
_HINTS[signal.SIGBUS] = _HINTS[signal.SIGSEGV]
# If the compiler detects that a divisor is 0, it emits a trap instead of the division.
_HINTS[signal.SIGILL] = _HINTS[signal.SIGFPE]


#: Input of the child: the configuration, the folder of its files, options of recording, classes of this process.
_Work = tuple[dict[str, Any], Path | None, Recording, class_objects.Parcel]


@dataclass(frozen=True)
class _Tidings:
    """Message of the child: the simulated time in ns, or at the end the result."""

    kind: Literal["at", "done", "failed"]
    value: Any


def play(
    config: dict[str, Any],
    base: Path | None,
    on_progress: Callable[[int], object] | None,
    recording: Recording = NO_RECORDING,
) -> RawRun:
    """Run `config` like :func:`fairweir.play.simulate.simulate`, in a child process.

    Parameters
    ----------
    config : dict, ``fairweir_scenario::Config``
    base : Path; folder in which files of Python controllers are looked up after the working directory
    on_progress : called periodically with the simulated time, ns
    recording : options of recording packets

    Raises
    ------
    ControllerError : a controller misbehaved; this includes crashes and endless loops
    """
    ours, theirs = Pipe()
    # The child has this process's module path, and does not run the user's main script.
    code = f"import sys; sys.path[:] = {sys.path!r}; from fairweir.play.sandbox import serve; serve({theirs.fileno()})"
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-P", "-c", code],
        stdin=subprocess.DEVNULL,
        stdout=2,  # the output of a user's code is not part of the result
        pass_fds=[theirs.fileno()],
        process_group=0,  # so that Ctrl-C does not reach the child, and its compiler ends with it
        preexec_fn=die_with_parent(),  # noqa: PLW1509 - one system call, and its library is loaded already
    )
    theirs.close()
    reached = 0

    def report(at_ns: int) -> None:
        nonlocal reached
        reached = at_ns
        if on_progress is not None:
            on_progress(at_ns)

    try:
        return _follow(ours, (config, base, recording, class_objects.parcel()), report)
    except (EOFError, ConnectionError):
        raise _fault(config, reached, *_death(process.wait(), config)) from None
    except TimeoutError as error:
        hint = "look for a loop whose end depends on computed values; the kernel's verifier rejects such loops"
        raise _fault(config, reached, str(error), hint) from None
    finally:
        ours.close()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _follow(child: Connection, work: _Work, report: Callable[[int], object]) -> RawRun:
    """Send the child its input, and return its result.

    Raises
    ------
    EOFError, ConnectionError : the child died
    TimeoutError : the child has not reported progress for too long
    FairweirError : the error of the simulation
    """
    child.send(work)
    has_classes = any(lookup.is_python(flow["cca"]) for flow in work[0]["flows"])
    patience = TIMEOUT_S * (PYTHON_TIMEOUT if has_classes else 1)
    silent = 0
    while True:
        # Seconds are counted one by one, so that a period in which both processes were stopped (Ctrl-Z) counts as one.
        if not child.poll(1.0):
            silent += 1
            if silent >= patience:
                raise TimeoutError(f"does not return (for {patience} s)")
            continue
        silent = 0
        tidings: _Tidings = child.recv()
        if tidings.kind == "done":
            played: RawRun = tidings.value
            return played
        if tidings.kind == "failed":
            raise tidings.value
        report(tidings.value)


def _death(code: int, config: dict[str, Any]) -> tuple[str, str | None]:
    """Return the reason why a process ended, and for C a hint."""
    has_c = any(lookup.is_native(flow["cca"]) for flow in config["flows"])
    return f"crashed ({describe_exit(code)})", _HINTS.get(-code) if has_c else None


def _fault(config: dict[str, Any], reached_ns: int, what: str, hint: str | None) -> ControllerError:
    """Return the error that names the flows with the user's code, one of which caused the failure."""
    suspects = [flow for flow in config["flows"] if is_users(flow["cca"])]
    ids = [str(flow["id"]) for flow in suspects]
    files = " or ".join(f"`{file}`" for file in sorted({flow["cca"] for flow in suspects}))
    shown = ", ".join(f"`{flow}`" for flow in ids[:SHOWN_FLOWS])
    more = f" and {len(ids) - SHOWN_FLOWS} more" if len(ids) > SHOWN_FLOWS else ""
    flows = f"flow {shown}" if len(ids) == 1 else f"one of the flows {shown}{more}"
    reason = f"{files} {what}"
    return ControllerError(
        f"{flows} at {_core.format_time(reached_ns)} or later: {reason}",
        hint=hint,
        flow=ids[0],
        at_s=Duration.from_ns(reached_ns).s,
        reason=reason,
    )


def serve(fd: int) -> None:
    """Run the child's part: read the input from the connection `fd`, report progress, and send the result."""
    contain_output()
    parent = Connection(fd)
    config, base, recording, parcel = parent.recv()
    class_objects.receive(parcel)
    try:
        with user_code():
            played = simulate(config, base, lambda at_ns: parent.send(_Tidings("at", at_ns)), recording)
        last = _Tidings("done", played)
    except FairweirError as error:
        last = _Tidings("failed", error)
    except Exception as error:  # noqa: BLE001 - the parent raises every type
        last = _Tidings("failed", RuntimeError(describe_exception(error)))
    # The parent kills this process when it has the result, and then output without a line end would be lost.
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    parent.send(last)
