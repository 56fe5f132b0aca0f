"""A run of the kernel world captured at its sender, as ``tcpdump`` there would: a packet socket in the namespace."""

from __future__ import annotations

import ctypes
import json
import os
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from fairweir.errors import KernelError
from fairweir.world_kernel import find_helper

#: The emulator's device in the senders' namespace.
DEVICE: Final = "path"
SNAPLEN: Final = 128
ALL_PROTOCOLS: Final = 3
RAW_IP: Final = 101
MAGIC_NS: Final = 0xA1B23C4D
CLONE_NEWNET: Final = 0x40000000
SO_RCVBUFFORCE: Final = 33
SO_TIMESTAMPNS: Final = 35
SOL_PACKET: Final = 263
PACKET_STATISTICS: Final = 6
BUFFER_BYTES: Final = 96 << 20
#: Until the namespace and its device are there, and for what the helper does beyond the run, s.
PATIENCE_S: Final = 20.0


def capture(config: dict[str, Any], path: Path) -> None:
    """Play a resolved scenario on the kernel and write what passes its senders' device to `path`; needs root.

    Raises
    ------
    KernelError : the run fails, or packets were missed
    """
    with tempfile.TemporaryFile() as question:
        question.write(json.dumps(config).encode())
        question.seek(0)
        quiet = subprocess.DEVNULL
        helper = subprocess.Popen([find_helper(), "run"], stdin=question, stdout=quiet, stderr=quiet)  # noqa: S603 - ours
    try:
        missed = _write(helper, path, config["duration"] * 1e-9 + PATIENCE_S)
    finally:
        helper.kill()
        code = helper.wait()
    if code or missed:
        raise KernelError(f"the run ended with code {code}, and {missed} packets were missed: `{path.name}`")


def _write(helper: subprocess.Popen[bytes], path: Path, limit_s: float) -> int:
    """Write packets until the helper ends; give how many the socket had no room for."""
    end = time.monotonic() + limit_s
    record, stamp = struct.Struct("<IIII").pack, struct.Struct("qq").unpack_from
    with _listen(helper, end) as tap, path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", MAGIC_NS, 2, 4, 0, 0, SNAPLEN, RAW_IP))
        while time.monotonic() < end:
            try:
                packet, notes, _, _ = tap.recvmsg(1 << 16, 64)
            except TimeoutError:
                if helper.poll() is not None:
                    break
                continue
            except OSError:
                # the device has gone, and the run with it
                helper.wait(PATIENCE_S)
                break
            seconds, ns = stamp(notes[0][2])
            file.write(record(seconds, ns, min(len(packet), SNAPLEN), len(packet)) + packet[:SNAPLEN])
        _, missed = struct.unpack("II", tap.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
    return int(missed)


@contextmanager
def _listen(helper: subprocess.Popen[bytes], end: float) -> Iterator[socket.socket]:
    """Give a packet socket in the first namespace that the helper opens: the senders'."""
    enter = ctypes.CDLL(None, use_errno=True).setns
    with Path("/proc/thread-self/ns/net").open() as home:
        namespace = _namespace(helper, end)
        entered = enter(namespace, CLONE_NEWNET) == 0
        os.close(namespace)
        if not entered:
            raise KernelError("the senders' namespace cannot be entered", hint="use sudo")
        try:
            tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ALL_PROTOCOLS))
        finally:
            enter(home.fileno(), CLONE_NEWNET)
    with tap:
        tap.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
        tap.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        while True:
            try:
                tap.bind((DEVICE, ALL_PROTOCOLS))
                break
            except OSError:
                if time.monotonic() > end or helper.poll() is not None:
                    raise
                time.sleep(0.0005)
        tap.settimeout(0.2)
        yield tap


def _namespace(helper: subprocess.Popen[bytes], end: float) -> int:
    files = Path(f"/proc/{helper.pid}/fd")
    while time.monotonic() < end and helper.poll() is None:
        for file in sorted(files.iterdir(), key=lambda one: int(one.name)):
            try:
                if str(file.readlink()).startswith("net:["):
                    return os.open(file, os.O_RDONLY)
            except OSError:
                continue
    raise KernelError("the helper made no namespace", hint="`fairweir doctor` says whether this machine can")
