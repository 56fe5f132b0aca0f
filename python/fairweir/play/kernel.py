"""Run scenarios on Linux TCP (the kernel world) with the helper ``fairweir-kernel``, which needs root, libelf and BPF.

The helper reads ``fairweir_scenario::Config`` as JSON from stdin and prints one JSON document to stdout. The document
has the keys of the simulator's summary, ``series`` (columns as base64 of little-endian numbers) and ``emulator`` (by
how much packets were released late, and whether the lateness is small enough for the run's numbers to count). The
helper prints progress and errors as lines on stderr. File descriptors own all its resources, so that the kernel
releases them even if the helper is killed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fairweir.errors import KernelError
from fairweir.play.program import Program
from fairweir.play.simulate import Capture, RawRun
from fairweir.units import Duration

#: Environment variable with the path of the helper, if it is not in the interpreter's directory.
HELPER_VARIABLE = "FAIRWEIR_KERNEL"
#: How to build the programs that need libelf and clang.
BUILD_HINT = "as root: apt-get install libelf-dev zlib1g-dev pkg-config clang libbpf-dev, then make"
PROGRAM = Program("fairweir-kernel", HELPER_VARIABLE, "the kernel world's helper", BUILD_HINT, KernelError)
#: Maximum time, s, for compiling and loading controllers and for the end of a run, in addition to its duration.
SETUP_S = 60.0


@dataclass(frozen=True)
class Guarding:
    """Parameters of ``fairweir-guard``, which applies a policy at the receivers' device for the duration of a run.

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
    windows : receive windows of flows without `rwnd`: "unlimited", or "autotuned" as on ordinary hosts; None: autotuned
        if the scenario's `transport` has autotuning
    guarding : the guard at the receivers; None: no guard
    """

    mode: Literal["mtu", "tso"] = "mtu"
    traffic: Literal["own", "iperf3"] = "own"
    record: Path | None = None
    cost: bool = False
    windows: Literal["unlimited", "autotuned"] | None = None
    guarding: Guarding | None = None

    def words(self) -> list[str]:
        """Return the arguments for ``fairweir-kernel run``."""
        words = [] if self.mode == "mtu" else ["--mode", self.mode]
        if self.traffic != "own":
            words += ["--traffic", self.traffic]
        if self.record is not None:
            words += ["--record", str(self.record)]
        words += [] if self.windows is None else ["--receive-windows", self.windows]
        words += self.guarding.words() if self.guarding is not None else []
        return [*words, "--cost"] if self.cost else words


def sender_address(flow: int) -> str:
    """Return the address of the sender of flow `flow`, counted from 0, by the rule of crates/emu/src/address.rs."""
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
    KernelError : not found
    """
    return PROGRAM.find()


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
    find_helper()
    need_root("the kernel world")
    limit_s = Duration.from_ns(config["duration"]).s + SETUP_S
    captured = ["--pcap", str(capture.path), "--pcap-at", capture.side] if capture is not None else []
    return PROGRAM.run(["run", *(options or Options()).words(), *captured], config, limit_s, on_progress)


def ask(words: Sequence[str], *, limit_s: float = SETUP_S) -> Any:
    """Run another command of the helper, such as ``ask(["list"])``; return the JSON that it prints.

    Raises
    ------
    KernelError, ConfigError : as for :func:`play`
    """
    return PROGRAM.call(words, "", limit_s, None)
