"""The kernel world: run the helper ``fairweir-kernel``, the only program that needs root, libelf and BPF.

The helper reads ``fairweir_scenario::Config`` as JSON from stdin and prints one JSON document to stdout: a summary as
the simulator's, ``series`` (columns as base64 of little-endian numbers) and ``emulator`` (the lateness of packets, and
whether the run is judged). It prints progress and errors as lines on stderr. File descriptors own all its resources,
so that the kernel releases them even if the helper is killed.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from fairweir.errors import ConfigError, KernelError
from fairweir.play.columns import Columns
from fairweir.play.process import die_with_parent
from fairweir.play.simulate import Capture, RawRun
from fairweir.units import Duration

HELPER = "fairweir-kernel"
#: Environment variable with the path of the helper, if it is not in the interpreter's directory.
HELPER_VARIABLE = "FAIRWEIR_KERNEL"
INTERRUPTED = 130
#: Maximum time, s, for compiling and loading controllers and for the end of a run, in addition to its duration.
SETUP_S = 60.0
#: Maximum time, s, in which the helper must exit after a request, before it is killed.
TIMEOUT_S = 5.0
#: Number of the helper's last lines that an error shows if the helper did not print an error.
_LAST_LINES = 5


@dataclass(frozen=True)
class Guarding:
    """A guard at the receivers' device for the duration of a run.

    Attributes
    ----------
    program : Path of ``fairweir-guard``
    config : Path of the policy file, TOML
    hosts : Path of a file with names of senders, in the format of /etc/hosts; :func:`sender_address` has the addresses
    log : Path of the file to which decisions are appended
    """

    program: Path
    config: Path
    hosts: Path | None = None
    log: Path | None = None

    def words(self) -> list[str]:
        """Return the guard's arguments for ``fairweir-kernel run``."""
        files = {"--guard-program": self.program, "--guard": self.config}
        files |= {"--guard-hosts": self.hosts} if self.hosts is not None else {}
        files |= {"--guard-log": self.log} if self.log is not None else {}
        return [word for option, file in files.items() for word in (option, str(file))]


@dataclass(frozen=True)
class Options:
    """Options of a kernel run.

    Attributes
    ----------
    mode : "mtu" (packets of the MTU's size, accurate) or "tso" (packets of up to 64 KB, for rates of Gbit/s; a drop
        loses the whole 64 KB)
    traffic : "own" or "iperf3"
    record : Path of the file in which all calls of the BPF controllers are recorded, to be replayed natively
    cost : whether to measure the cost of the controllers' BPF programs
    windows : receive windows if the scenario does not set them: "unlimited", or "autotuned" as on ordinary hosts
    guarding : a guard at the receivers
    """

    mode: Literal["mtu", "tso"] = "mtu"
    traffic: Literal["own", "iperf3"] = "own"
    record: Path | None = None
    cost: bool = False
    windows: Literal["unlimited", "autotuned"] = "unlimited"
    guarding: Guarding | None = None

    def words(self) -> list[str]:
        """Return the arguments for ``fairweir-kernel run``."""
        words = [] if self.mode == "mtu" else ["--mode", self.mode]
        if self.traffic != "own":
            words += ["--traffic", self.traffic]
        if self.record is not None:
            words += ["--record", str(self.record)]
        words += [] if self.windows == "unlimited" else ["--receive-windows", self.windows]
        words += self.guarding.words() if self.guarding is not None else []
        return [*words, "--cost"] if self.cost else words


def sender_address(flow: int) -> str:
    """Return the address of the sender of flow number `flow`, counted from 0; equal to crates/emu/src/address.rs."""
    return _address("10.77", flow)


def receiver_address(flow: int) -> str:
    """Return the address of the receiver of flow number `flow`, counted from 0."""
    return _address("10.78", flow)


def _address(block: str, flow: int) -> str:
    per_block = 250
    return f"{block}.{flow // per_block}.{flow % per_block + 1}"


def find_helper() -> Path:
    """Return the path of ``fairweir-kernel``.

    Raises
    ------
    KernelError : the program was not found
    """
    return find_program(HELPER, HELPER_VARIABLE, "the kernel world's helper")


def find_program(name: str, variable: str, role: str) -> Path:
    """Return the path of a separately built program: from the environment, next to the interpreter, or on the PATH.

    Parameters
    ----------
    name : str, name of the file
    variable : str, environment variable that overrides the path
    role : str, role of the program, for messages

    Raises
    ------
    KernelError : the program was not found
    """
    if named := os.environ.get(variable):
        if os.access(named, os.X_OK) and Path(named).is_file():
            return Path(named)
        raise KernelError(f"not a program: `{named}`", hint=f"{variable} names {role}", key=variable)
    beside = Path(sys.executable).parent / name
    if beside.is_file():
        return beside
    if on_path := shutil.which(name):
        return Path(on_path)
    raise KernelError(
        f"{role} `{name}` is not built",
        hint="as root: apt-get install libelf-dev zlib1g-dev pkg-config clang libbpf-dev, then make",
    )


def need_root(what: str, why: str = "it creates network namespaces, TUN devices and BPF programs") -> None:
    """Raise an error unless this process runs as root.

    Parameters
    ----------
    what : str, the action that needs root
    why : str, the reason, for the hint

    Raises
    ------
    KernelError : this process does not run as root
    """
    if os.geteuid() != 0:
        raise KernelError(f"{what} needs root", hint=f"{why}: use sudo")


def play(
    config: Mapping[str, Any],
    *,
    options: Options | None = None,
    capture: Capture | None = None,
    on_progress: Callable[[float], object] | None = None,
) -> RawRun:
    """Run a resolved scenario on the kernel's TCP, in real time.

    Parameters
    ----------
    config : dict, ``fairweir_scenario::Config``
    options : Options
    capture : Capture, the pcap file to write, with the packets' headers
    on_progress : called with the elapsed fraction of the duration, 0 to 1

    Returns
    -------
    RawRun

    Raises
    ------
    KernelError : the helper or root is missing, or this kernel lacks a feature
    ConfigError : the kernel world does not support a part of the scenario; the error's ``key`` names it
    KeyboardInterrupt : Ctrl-C; it is raised after the helper has released all resources
    """
    helper = find_helper()
    need_root("the kernel world")
    limit_s = Duration.from_ns(config["duration"]).s + SETUP_S
    captured = ["--pcap", str(capture.path), "--pcap-at", capture.side] if capture is not None else []
    words = [str(helper), "run", *(options or Options()).words(), *captured]
    document = _call(words, json.dumps(config), limit_s, on_progress)
    series = document.pop("series", None)
    return RawRun(document, (_decode(series["flows"]), _decode(series["links"])) if series else None)


def ask(words: Sequence[str], *, limit_s: float = SETUP_S) -> Any:
    """Run another command of the helper, such as ``ask(["list"])``; return the JSON that it prints.

    Raises
    ------
    KernelError, ConfigError : as for :func:`play`
    """
    return _call([str(find_helper()), *words], "", limit_s, None)


def _decode(columns: Mapping[str, str]) -> Columns:
    return {name: base64.b64decode(text) for name, text in columns.items()}


def _call(words: Sequence[str], text: str, limit_s: float, on_progress: Callable[[float], object] | None) -> Any:
    """Run the helper until it exits; return the document that it prints."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(  # noqa: S603
            words,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            process_group=0,  # so that Ctrl-C reaches the helper only once, through this process
            preexec_fn=die_with_parent(),  # noqa: PLW1509 - one system call, and its library is loaded already
        )
        timed_out = threading.Event()

        def expire() -> None:
            timed_out.set()
            process.kill()

        timer = threading.Timer(limit_s, expire)
        timer.start()
        try:
            lines = _talk(process, text, on_progress)
            code = process.wait()
        except BaseException:
            _stop(process)
            raise
        finally:
            timer.cancel()
            for pipe in (process.stdin, process.stderr):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
        if timed_out.is_set():
            raise KernelError(f"`{Path(words[0]).name} {words[1]}` did not end within {limit_s:.0f} s")
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        if code != 0:
            raise _error(code, lines)
        out.seek(0)
        return _document(out)


def _talk(process: subprocess.Popen[str], text: str, on_progress: Callable[[float], object] | None) -> deque[str]:
    """Send `text` to the helper and report its progress; return its last lines that are not progress."""
    assert process.stdin is not None and process.stderr is not None  # noqa: S101, PT018
    with suppress(BrokenPipeError):
        process.stdin.write(text)
        process.stdin.close()
    last: deque[str] = deque(maxlen=_LAST_LINES)
    for raw in process.stderr:
        line = raw.strip()
        fraction = _fraction(line)
        if fraction is None:
            last.append(line)
        elif on_progress is not None:
            on_progress(min(max(fraction, 0.0), 1.0))
    return last


def _fraction(line: str) -> float | None:
    """Return 0.25 for a line ``progress 0.25``; None for any other line."""
    word, _, number = line.partition(" ")
    if word != "progress":
        return None
    try:
        return float(number)
    except ValueError:
        return None


def _stop(process: subprocess.Popen[str]) -> None:
    """Stop the helper: first with a signal that lets it clean up and report, then by killing it."""
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
    try:
        process.wait(TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _error(code: int, lines: deque[str]) -> KernelError | ConfigError:
    """Convert the helper's last line, ``{"error": {"message", "key", "hint"}}``, to an exception."""
    reported: dict[str, Any] = {}
    if lines:
        with suppress(ValueError, AttributeError):
            reported = json.loads(lines[-1]).get("error", {})
    if message := reported.get("message"):
        kind = ConfigError if reported.get("key") else KernelError
        return kind(message, hint=reported.get("hint"), key=reported.get("key"))
    reason = f"signal {-code}" if code < 0 else f"exit code {code}"
    text = "; ".join(line for line in lines if line)
    return KernelError(f"`{HELPER}` failed ({reason}){f': {text}' if text else ''}", hint="fairweir doctor")


def _document(out: IO[bytes]) -> Any:
    raw = out.read()
    try:
        return json.loads(raw)
    except ValueError:
        start = raw[:60].decode("utf-8", "replace").strip()
        raise KernelError(f"`{HELPER}` printed invalid JSON: `{start}`", hint="build it again: make") from None
