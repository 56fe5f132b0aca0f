"""Report what works on this machine."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from fairweir import __version__
from fairweir.errors import FairweirError, KernelError
from fairweir.guard import daemon as guard_daemon
from fairweir.play import kernel, quic

#: For a package of each extra: the extra, and the commands that need the extra.
EXTRAS = {
    "matplotlib": ("plots", "--plot, figures"),
    "z3-solver": ("formal", "verify, prove, synth, contract, fluid, tradeoff"),
    "scikit-learn": ("guard", "guard, synth of games"),
    "av": ("video", "video tables, video live"),
    "distributed": ("cluster", "sweep --cluster"),
}


@dataclass(frozen=True)
class Check:
    """Result of one check.

    Attributes
    ----------
    name : str
    status : "ok", "missing" (an optional requirement is not met) or "broken" (the simulator is not reliable)
    detail : str, the finding
    serves : str, the commands that depend on it
    hint : str, how to meet the requirement
    """

    name: str
    status: Literal["ok", "missing", "broken"]
    detail: str
    serves: str
    hint: str = ""


def examine() -> list[Check]:
    """Check the requirements of all parts of fairweir."""
    return [
        Check("fairweir", "ok", f"{__version__}, Python {platform.python_version()}", "everything"),
        Check("machine", "ok", f"{_cores()}, {_memory()}, Linux {platform.release()}", "speed"),
        _simulator(),
        *(_package(name, serves, f"pip install 'fairweir[{extra}]'") for name, (extra, serves) in EXTRAS.items()),
        _compiler(),
        _quic_stacks(),
        _quiche(),
        *_kernel_world(),
    ]


def clean() -> dict[str, Any]:
    """Unload all controllers that were loaded permanently, also after a crash, and restore defaults.

    Returns
    -------
    dict; ``unloaded``, ``default_restored``, ``left_without_default`` (network namespaces), ``guard_filters`` (their
    number, left by a killed guard; absent without the daemon)

    Raises
    ------
    KernelError : the helper or root permission is missing, or the kernel does not release a resource
    """
    kernel.find_helper()
    kernel.need_root("unloading controllers")
    undone: dict[str, Any] = kernel.ask(["doctor", "--clean"])["undone"]
    with suppress(KernelError):
        undone["guard_filters"] = guard_daemon.clean()
    return undone


def _cores() -> str:
    n = len(os.sched_getaffinity(0))
    return f"{n} core" if n == 1 else f"{n} cores"


def _memory() -> str:
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB"


def _simulator() -> Check:
    """Run a scenario with a link of 96 Mbit/s twice, and check that both runs are identical."""
    from fairweir.play.run import run
    from fairweir.scenario.dumbbell import dumbbell

    serves = "run, sweep, audit"
    try:
        started = time.perf_counter()
        first, second = (run(dumbbell("reno", rtprop="20ms", duration="10s")).summary for _ in range(2))
        wall_s = time.perf_counter() - started
    except FairweirError as error:
        return Check("simulator", "broken", str(error), serves, "build it again: make clean && make")
    if (first.flows, first.links) != (second.flows, second.links):
        return Check("simulator", "broken", "two runs of the same scenario differ", serves, "please report it")
    packets = first.packets + second.packets
    return Check("simulator", "ok", f"deterministic; {packets / wall_s / 1e6:.1f} million packets/s", serves)


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


#: For checks of the helper, by name: how to meet the requirement.
_HINTS = {
    "root": "run these commands with sudo",
    "Linux 6.1 or later": "install a newer kernel",
    "kernel type information": "install a kernel with CONFIG_DEBUG_INFO_BTF",
    "clang for BPF": "apt-get install clang libbpf-dev",
    "BPF struct_ops": "install a kernel with CONFIG_BPF_SYSCALL and CONFIG_BPF_JIT",
    "TUN devices": "modprobe tun",
}
#: For checks of the helper, by name: the commands that need the requirement. The other checks are for ``--on kernel``.
_SERVES = {
    "root": "--on kernel, kernel load",
    "Linux 6.1 or later": "BPF controllers",
    "kernel type information": "BPF controllers",
    "clang for BPF": "BPF controllers",
    "BPF struct_ops": "BPF controllers",
}


def _quic_stacks() -> Check:
    """Check whether the program of the QUIC stacks is installed, and which stacks it has."""
    name, serves = "QUIC stacks", "--on quic"
    try:
        versions = quic.versions([])
    except FairweirError as error:
        return Check(name, "missing", str(error), serves, error.hint or "")
    return Check(name, "ok", ", ".join(f"{stack} {version}" for stack, version in versions.items()), serves)


def _quiche() -> Check:
    """Check whether the program of the stack quiche is installed; `make` does not build it: that takes minutes."""
    name, serves = "QUIC stack quiche", "--on quic with quiche/cubic"
    try:
        versions = quic.versions(["quiche/cubic"])
    except FairweirError as error:
        return Check(name, "missing", str(error), serves, error.hint or "")
    return Check(name, "ok", f"quiche {versions['quiche']}", serves)


def _kernel_world() -> list[Check]:
    """Return the checks that the helper makes; if there is no helper, one check that reports this."""
    name, serves = "kernel world", "--on kernel, agree, kernel load"
    try:
        helper = kernel.find_helper()
        reported = kernel.ask(["doctor"])
    except FairweirError as error:
        return [Check(name, "missing", str(error), serves, error.hint or "")]
    checks = [Check(name, "ok", str(helper), serves)]
    for row in reported["checks"]:
        status: Literal["ok", "missing"] = "ok" if row["ok"] else "missing"
        hint = "" if row["ok"] else _HINTS.get(row["name"], "")
        checks.append(Check(row["name"], status, row["detail"], _SERVES.get(row["name"], "--on kernel"), hint))
    if reported["left"]:
        names = ", ".join(entry["name"] for entry in reported["left"])
        checks.append(Check("loaded controllers", "ok", names, "every program", "fairweir doctor --clean unloads them"))
    return checks
