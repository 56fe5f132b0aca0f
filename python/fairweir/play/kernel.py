"""The kernel world: the helper ``fairweir-kernel``, the only part that needs root, libelf and BPF, as a subprocess.

The helper gets ``fairweir_scenario::Config`` as JSON on stdin and prints one JSON document on stdout: the same summary
as the simulator's, ``series`` (columns as base64 of little-endian numbers) and ``emulator`` (how late packets were
released, and whether the run may be judged). Progress and errors come as lines on stderr. All its resources are owned
by its file descriptors, so that they are released however it ends.
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
#: Seconds that compiling and loading controllers, and the end of a run, may take beyond its duration.
SETUP_S = 60.0
#: Seconds that the helper has to end by itself after a request.
TIMEOUT_S = 5.0
#: Lines of the helper's messages that an error without a better text shows.
_LAST_LINES = 5


@dataclass(frozen=True)
class Guarding:
    """A guard at the receivers' device, for as long as a run takes.

    Attributes
    ----------
    program : Path, of ``fairweir-guard``
    config : Path; policies, TOML
    hosts : Path; names of senders, as /etc/hosts: flow i's address is :func:`sender_address`
    log : Path; decisions are appended here
    """

    program: Path
    config: Path
    hosts: Path | None = None
    log: Path | None = None

    def words(self) -> list[str]:
        """Return the guard as ``fairweir-kernel run`` takes it."""
        files = {"--guard-program": self.program, "--guard": self.config}
        files |= {"--guard-hosts": self.hosts} if self.hosts is not None else {}
        files |= {"--guard-log": self.log} if self.log is not None else {}
        return [word for option, file in files.items() for word in (option, str(file))]


@dataclass(frozen=True)
class Options:
    """Options of a kernel run.

    Attributes
    ----------
    mode : "mtu" (every packet of its own, accurate) or "tso" (super-packets: for Gbit/s; drops take 64 KB at once)
    traffic : "own" or "iperf3"
    record : Path; every call of the BPF controllers is recorded here and replayed natively
    cost : measure the cost of the controllers' programs
    windows : receive windows that the scenario does not set: "unlimited", or "autotuned" as on ordinary hosts
    guarding : a guard at the receivers
    """

    mode: Literal["mtu", "tso"] = "mtu"
    traffic: Literal["own", "iperf3"] = "own"
    record: Path | None = None
    cost: bool = False
    windows: Literal["unlimited", "autotuned"] = "unlimited"
    guarding: Guarding | None = None

    def words(self) -> list[str]:
        """Return the options as ``fairweir-kernel run`` takes them."""
        words = [] if self.mode == "mtu" else ["--mode", self.mode]
        if self.traffic != "own":
            words += ["--traffic", self.traffic]
        if self.record is not None:
            words += ["--record", str(self.record)]
        words += [] if self.windows == "unlimited" else ["--receive-windows", self.windows]
        words += self.guarding.words() if self.guarding is not None else []
        return [*words, "--cost"] if self.cost else words


def sender_address(flow: int) -> str:
    """Return the address of the sender of flow number `flow`, from 0; as crates/emu/src/address.rs."""
    return _address("10.77", flow)


def receiver_address(flow: int) -> str:
    """Return the address of its receiver."""
    return _address("10.78", flow)


def _address(block: str, flow: int) -> str:
    per_block = 250
    return f"{block}.{flow // per_block}.{flow % per_block + 1}"


def find_helper() -> Path:
    """Return the path of ``fairweir-kernel``.

    Raises
    ------
    KernelError : not found
    """
    return find_program(HELPER, HELPER_VARIABLE, "the kernel world's helper")


def find_program(name: str, variable: str, role: str) -> Path:
    """Return the path of a program built separately: from the environment, next to the interpreter, or on the PATH.

    Parameters
    ----------
    name : str, of the file
    variable : str, of the environment; names another file
    role : str, the program's role, for messages

    Raises
    ------
    KernelError : not found
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
    """Raise an error if root is needed and missing, before anything is started.

    Parameters
    ----------
    what : str, the action that needs root
    why : str, for the hint: the reason

    Raises
    ------
    KernelError : this is not root
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
    capture : path of a pcap file with the packets' headers
    on_progress : called with the fraction of the duration that has passed, 0 to 1

    Returns
    -------
    RawRun

    Raises
    ------
    KernelError : no helper, no root, or something that this kernel cannot do
    ConfigError : the scenario needs something unsupported; its ``key`` says where
    KeyboardInterrupt : Ctrl-C; the helper has undone everything when this is raised
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
    """Return the JSON printed by another command of the helper, such as ``ask(["list"])``.

    Raises
    ------
    KernelError, ConfigError : as for :func:`play`
    """
    return _call([str(find_helper()), *words], "", limit_s, None)


def _decode(columns: Mapping[str, str]) -> Columns:
    return {name: base64.b64decode(text) for name, text in columns.items()}


def _call(words: Sequence[str], text: str, limit_s: float, on_progress: Callable[[float], object] | None) -> Any:
    """Run the helper until it exits, and return its document."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(  # noqa: S603
            words,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            process_group=0,  # so that Ctrl-C reaches it through us, once
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
    """Send `text`, process the helper's progress, and return its last lines that are not progress."""
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
    """Return the number of a line ``progress 0.25``; None for any other line."""
    word, _, number = line.partition(" ")
    if word != "progress":
        return None
    try:
        return float(number)
    except ValueError:
        return None


def _stop(process: subprocess.Popen[str]) -> None:
    """End the helper: first with a signal that lets it report its result."""
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
    try:
        process.wait(TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _error(code: int, lines: deque[str]) -> KernelError | ConfigError:
    """Turn the helper's last line, ``{"error": {"message", "key", "hint"}}``, into ours."""
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
