"""What this machine can do."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from fairweir import __version__
from fairweir.errors import FairweirError


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes
    ----------
    name : str
    status : "ok", "missing" (something optional cannot be done) or "broken" (the simulator cannot be trusted)
    detail : str, what was found
    serves : str, what needs it
    hint : str, how to get it
    """

    name: str
    status: Literal["ok", "missing", "broken"]
    detail: str
    serves: str
    hint: str = ""


def examine() -> list[Check]:
    """Look at everything that some part of fairweir needs."""
    return [
        Check("fairweir", "ok", f"{__version__}, Python {platform.python_version()}", "everything"),
        Check("machine", "ok", f"{_cores()}, {_memory()}, Linux {platform.release()}", "speed"),
        _simulator(),
        _package("distributed", "sweep --cluster", "pip install 'fairweir[cluster]'"),
        _compiler(),
        _bpf_compiler(),
        _struct_ops(),
        _root(),
        _tun(),
        _algorithms(),
    ]


def _cores() -> str:
    n = len(os.sched_getaffinity(0))
    return f"{n} core" if n == 1 else f"{n} cores"


def _memory() -> str:
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB"


def _simulator() -> Check:
    """Play a link of 96 Mbit/s twice: it must be full, and both runs the same."""
    from fairweir.run import run
    from fairweir.scenario import dumbbell

    serves = "run, sweep, audit"
    try:
        started = time.perf_counter()
        first, second = (run(dumbbell("reno", rtprop="20ms", duration="10s")).summary for _ in range(2))
        wall_s = time.perf_counter() - started
    except FairweirError as error:
        return Check("simulator", "broken", str(error), serves, "build it again: make clean && make")
    if first["flows"] != second["flows"] or first["links"] != second["links"]:
        return Check("simulator", "broken", "two runs of one scenario differ", serves, "please report it")
    packets = first["packets"] + second["packets"]
    return Check("simulator", "ok", f"repeats itself; {packets / wall_s / 1e6:.1f} million packets/s", serves)


def _package(name: str, serves: str, hint: str) -> Check:
    try:
        return Check(name, "ok", version(name), serves)
    except PackageNotFoundError:
        return Check(name, "missing", "not installed", serves, hint)


def _program(names: tuple[str, ...], name: str, serves: str, hint: str) -> Check:
    found = next((path for path in map(shutil.which, names) if path), None)
    if found is None:
        return Check(name, "missing", "not found", serves, hint)
    lines = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout.splitlines()  # noqa: S603
    return Check(name, "ok", lines[0] if lines else found, serves)


def _compiler() -> Check:
    return _program(("cc", "gcc", "clang"), "C compiler", "your own .bpf.c in the simulator", "apt-get install gcc")


def _bpf_compiler() -> Check:
    return _program(("clang",), "clang", "compiling .bpf.c for the kernel", "apt-get install clang")


def _struct_ops() -> Check:
    """Loading a congestion controller needs the kernel's own types and, in its configuration, BPF struct_ops."""
    if not Path("/sys/kernel/btf/vmlinux").exists():
        return Check(
            "kernel types",
            "missing",
            "no /sys/kernel/btf/vmlinux",
            "kernel load",
            "a kernel with CONFIG_DEBUG_INFO_BTF",
        )
    return Check("kernel types", "ok", "/sys/kernel/btf/vmlinux", "kernel load")


def _root() -> Check:
    is_root = os.geteuid() == 0
    return Check(
        "root",
        "ok" if is_root else "missing",
        "yes" if is_root else "no",
        "--on kernel, kernel load, guard",
        "" if is_root else "use sudo for those commands",
    )


def _tun() -> Check:
    if Path("/dev/net/tun").exists():
        return Check("TUN devices", "ok", "/dev/net/tun", "--on kernel")
    return Check("TUN devices", "missing", "no /dev/net/tun", "--on kernel", "modprobe tun")


def _algorithms() -> Check:
    path = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    try:
        return Check("kernel's CCAs", "ok", path.read_text(encoding="ascii").strip(), "--on kernel")
    except OSError:
        return Check("kernel's CCAs", "missing", f"cannot read {path}", "--on kernel", "this needs Linux")
